#include "runtime/importers/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/diagnostics.h"
#include "runtime/importers/gguf_model.h"
#include "runtime/importers/importers.h"
#include "runtime/importers/model_config.h"
#include "runtime/importers/model_files.h"
#include "runtime/importers/tensor_set.h"

namespace tarsia {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Of the tensors of a layer, in any format.
constexpr const char* kSuffixes[] = {".qweight",
                                     ".qzeros",
                                     ".scales",
                                     ".g_idx",
                                     ".weight_packed",
                                     ".weight_shape",
                                     ".weight_scale",
                                     ".weight_zero_point",
                                     ".weight_g_idx",
                                     ".weight_global_scale",
                                     ".weight",
                                     ".weight_scale_2",
                                     ".weight_scale_inv",
                                     ".W_q",
                                     ".scale",
                                     ".zero",
                                     ".shape",
                                     ".nbits",
                                     ".axis",
                                     ".weight.absmax",
                                     ".weight.quant_map",
                                     ".weight.nested_absmax",
                                     ".weight.nested_quant_map",
                                     ".weight.quant_state.bitsandbytes__nf4",
                                     ".weight.quant_state.bitsandbytes__fp4",
                                     "_blocks",
                                     "_scales"};

using ReadLayer = Result<CodeSource> (*)(const TensorSet& set, const std::string& layer,
                                         const LayerOptions& options);

// A layer that was found: which reader, and the tensors that it takes.
struct Found {
  const char* format;
  ReadLayer read;
};

// Finds the layers in a set of tensors by the names and the types of these.
class Finder {
 public:
  Finder(std::shared_ptr<const TensorSet> set, const ModelConfig& config,
         const ModelOptions& options)
      : set_(std::move(set)), config_(config), options_(options) {}

  Status Find(std::vector<ModelWeights>* weights, std::vector<std::string>* others);

 private:
  // The layer whose main tensor this is.
  [[nodiscard]] std::optional<std::string> LayerOf(const TensorView& tensor) const;
  [[nodiscard]] std::optional<Found> FormatOf(const std::string& layer) const;
  [[nodiscard]] Found QweightFormat(const std::string& layer) const;
  [[nodiscard]] std::optional<Found> WeightFormat(const std::string& layer) const;
  Status Add(const std::string& layer, const Found& found, std::vector<ModelWeights>* out);
  void AddExperts(const std::string& layer, std::vector<ModelWeights>* out);
  // A tensor of the layer whose type is unknown; null if there is none.
  [[nodiscard]] const TensorView* UnknownOf(const std::string& layer) const;
  // The bytes of the tensors of a layer, which are noted as taken.
  uint64_t Take(const std::string& layer);
  [[nodiscard]] const TensorView* Tensor(const std::string& layer, const char* suffix) const {
    return set_->Find(layer + suffix);
  }

  // Whether there is one, even of an unknown type.
  [[nodiscard]] bool Has(const std::string& layer, const char* suffix) const {
    return Tensor(layer, suffix) != nullptr || set_->FindUnknown(layer + suffix) != nullptr;
  }

  std::shared_ptr<const TensorSet> set_;
  const ModelConfig& config_;
  const ModelOptions& options_;
  std::set<std::string> taken_;
};

std::optional<std::string> Finder::LayerOf(const TensorView& tensor) const {
  for (const char* const suffix : {".qweight", ".weight_packed", ".W_q", ".weight", "_blocks"}) {
    if (EndsWith(tensor.name, suffix)) {
      return tensor.name.substr(0, tensor.name.size() - std::strlen(suffix));
    }
  }
  return std::nullopt;
}

Found Finder::QweightFormat(const std::string& layer) const {
  const TensorView* const qweight = Tensor(layer, ".qweight");
  const TensorView* const scales = Tensor(layer, ".scales");
  // AWQ packs along N, so qweight is narrower than the scales.
  const bool narrow = scales != nullptr && qweight->rank() == 2 && scales->rank() == 2 &&
                      qweight->extent(1) < scales->extent(1);
  const bool awq =
      options_.format.empty() ? config_.method == "awq" || narrow : options_.format == "awq";
  if (awq) return {"awq", ReadAwq};
  const bool second = options_.format == "gptq-v2" ||
                      (options_.format.empty() && config_.checkpoint_format == "gptq_v2");
  return {second ? "gptq-v2" : "gptq-v1", ReadGptq};
}

std::optional<Found> Finder::WeightFormat(const std::string& layer) const {
  const DType type = *Tensor(layer, ".weight")->info.type;
  if (type == kU8 && Has(layer, ".weight.absmax")) {
    return Found{"bitsandbytes", ReadBitsandbytes};
  }
  if (type == kU8 && Has(layer, ".weight_scale_2")) return Found{"nvfp4", ReadNvfp4};
  if (type == kF8E4M3FN && Has(layer, ".weight_scale_inv")) {
    return Found{"fp8-blocks", ReadFp8Blocks};
  }
  const bool bytes = type == kI8 || type == kF8E4M3FN || type == kF8E5M2;
  if (bytes && Has(layer, ".weight_scale")) {
    return Found{"compressed-tensors", ReadBytes};
  }
  return std::nullopt;
}

std::optional<Found> Finder::FormatOf(const std::string& layer) const {
  if (Tensor(layer, ".qweight") != nullptr) return QweightFormat(layer);
  if (const TensorView* const packed = Tensor(layer, ".weight_packed"); packed != nullptr) {
    if (packed->info.type == kU8) return Found{"nvfp4", ReadNvfp4};
    return Found{"compressed-tensors", ReadPackedIntegers};
  }
  if (Tensor(layer, ".W_q") != nullptr) return Found{"hqq", ReadHqq};
  if (Tensor(layer, ".weight") != nullptr) return WeightFormat(layer);
  return std::nullopt;
}

uint64_t Finder::Take(const std::string& layer) {
  uint64_t bytes = 0;
  for (const char* const suffix : kSuffixes) {
    const TensorView* const tensor = Tensor(layer, suffix);
    if (tensor == nullptr) continue;
    bytes += tensor->info.bytes;
    taken_.insert(tensor->name);
  }
  return bytes;
}

const TensorView* Finder::UnknownOf(const std::string& layer) const {
  for (const char* const suffix : kSuffixes) {
    const TensorView* const tensor = set_->FindUnknown(layer + suffix);
    if (tensor != nullptr) return tensor;
  }
  return nullptr;
}

Status Finder::Add(const std::string& layer, const Found& found, std::vector<ModelWeights>* out) {
  LayerOptions options;
  options.bits = options_.bits != 0 ? options_.bits : config_.bits;
  options.group = options_.group != 0 ? options_.group : config_.group;
  if (options_.group == 0) options.group_field = config_.group_field;
  options.zeros_minus_one = std::string_view(found.format) == "gptq-v1";
  const bool version_known =
      !options_.format.empty() || !config_.checkpoint_format.empty() || config_.method == "gptq";
  if (found.read == &ReadGptq && !version_known) {
    return MakeDiagnostic(diag::kImportGptqVersion, {});
  }
  const uint64_t bytes = Take(layer);
  if (const TensorView* const unknown = UnknownOf(layer)) {
    out->push_back(RefusedWeights(layer, found.format, bytes, UnknownType(*unknown)));
    return OkStatus();
  }
  out->push_back({layer, found.format, bytes, [set = set_, layer, options, read = found.read] {
                    return read(*set, layer, options);
                  }});
  return OkStatus();
}

void Finder::AddExperts(const std::string& layer, std::vector<ModelWeights>* out) {
  const TensorView& blocks = *Tensor(layer, "_blocks");
  const bool several = blocks.rank() == 4;
  const int64_t experts = several ? blocks.extent(0) : 1;
  const uint64_t bytes = Take(layer);
  if (const TensorView* const unknown = UnknownOf(layer)) {
    out->push_back(RefusedWeights(layer, "mxfp4", bytes, UnknownType(*unknown)));
    return;
  }
  if (experts < 1 || experts > kMostMatrices) {
    const Diagnostic why = experts < 1 ? TensorError(blocks.name, "an extent of its shape is 0")
                                       : TooManyMatrices(blocks.name, experts);
    out->push_back(RefusedWeights(layer, "mxfp4", bytes, why));
    return;
  }
  for (int64_t i = 0; i < experts; ++i) {
    out->push_back({several ? layer + "." + std::to_string(i) : layer, "mxfp4",
                    bytes / static_cast<uint64_t>(experts),
                    [set = set_, layer, i] { return ReadMxfp4(*set, layer, i); }});
  }
}

Status Finder::Find(std::vector<ModelWeights>* weights, std::vector<std::string>* others) {
  for (const TensorView& tensor : set_->all()) {
    const auto layer = LayerOf(tensor);
    if (!layer || taken_.count(tensor.name) != 0) continue;
    if (EndsWith(tensor.name, "_blocks")) {
      if (Has(*layer, "_scales")) AddExperts(*layer, weights);
      continue;
    }
    const auto found = FormatOf(*layer);
    if (!found) continue;
    TARSIA_CHECK(Add(*layer, *found, weights));
  }
  for (const TensorView& tensor : set_->unknown()) {
    if (const auto layer = LayerOf(tensor)) {
      weights->push_back(
          RefusedWeights(*layer, tensor.info.type_name, tensor.info.bytes, UnknownType(tensor)));
    } else {
      others->push_back(tensor.name);
    }
  }
  for (const TensorView& tensor : set_->all()) {
    if (taken_.count(tensor.name) == 0) others->push_back(tensor.name);
  }
  return OkStatus();
}

}  // namespace

ModelWeights RefusedWeights(std::string name, std::string format, uint64_t bytes,
                            const Diagnostic& why) {
  return {std::move(name), std::move(format), bytes, [why] { return Result<CodeSource>(why); }};
}

Diagnostic TooManyMatrices(std::string_view tensor, int64_t matrices) {
  return TensorError(tensor, fmt::format("it has {} matrices, and at most {} can be imported",
                                         matrices, kMostMatrices));
}

Result<Model> Model::Open(const std::string& path, const ModelOptions& options) {
  Model out;
  if (EndsWith(path, ".gguf")) {
    TARSIA_CHECK(FindGguf(path, &out.weights_, &out.others_));
  } else {
    TARSIA_TRY(const ModelFiles files, FindModelFiles(path));
    TARSIA_TRY(const ModelConfig config, ReadModelConfig(files.folder, options));
    TARSIA_TRY(TensorSet set, TensorSet::Open(files.paths));
    TARSIA_CHECK(CheckPlaces(files, set));
    Finder finder(std::make_shared<const TensorSet>(std::move(set)), config, options);
    TARSIA_CHECK(finder.Find(&out.weights_, &out.others_));
    for (const std::string& name : files.ignored) {
      out.notes_.push_back(fmt::format("{} is not read: {} does not name it", name, files.index));
    }
  }
  if (out.weights_.empty()) return MakeDiagnostic(diag::kImportNothing, {});
  return out;
}

std::string FileNameOf(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_';
    out += plain ? c : '_';
  }
  if (out.empty() || out[0] == '.') out.insert(0, "_");
  return out.substr(0, 200);
}

}  // namespace tarsia
