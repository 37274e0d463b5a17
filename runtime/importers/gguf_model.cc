#include "runtime/importers/gguf_model.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "runtime/diagnostics.h"
#include "runtime/files/file.h"
#include "runtime/importers/gguf_blocks.h"
#include "runtime/importers/gguf_file.h"
#include "runtime/importers/tensor_set.h"

namespace tarsia {
namespace {

// A .gguf file that stays open while its weights are read.
struct OpenedGguf {
  MappedFile file;
  GgufHeader header;
};
using SharedGguf = std::shared_ptr<const OpenedGguf>;

Result<SharedGguf> OpenGguf(const std::string& path) {
  TARSIA_TRY(MappedFile file, MappedFile::Open(path));
  auto header = ParseGguf(file.bytes());
  if (!header.ok()) return header.TakeError();
  return std::make_shared<const OpenedGguf>(OpenedGguf{std::move(file), *std::move(header)});
}

// The end of the name of a part.
std::string PartName(uint64_t part, uint64_t parts) {
  return fmt::format("-{:05}-of-{:05}.gguf", part + 1, parts);
}

// All parts of the model of which this file is one.
Result<std::vector<SharedGguf>> OpenParts(const std::string& path) {
  TARSIA_TRY(SharedGguf first, OpenGguf(path));
  const GgufHeader& header = first->header;
  if (header.parts <= 1) return std::vector<SharedGguf>{std::move(first)};
  const auto refuse = [&](std::string_view why) {
    return MakeDiagnostic(diag::kGgufPart, {}, header.part + 1, header.parts, why);
  };
  const std::string end = PartName(header.part, header.parts);
  if (!path.ends_with(end)) return refuse(fmt::format("its name does not end in {}", end));
  const std::string start = path.substr(0, path.size() - end.size());
  std::vector<SharedGguf> out;
  for (uint64_t i = 0; i < header.parts; ++i) {
    const std::string name = start + PartName(i, header.parts);
    auto part = OpenGguf(name);
    if (!part.ok()) {
      const bool closed = part.error().info == &diag::kFileOpen;
      return refuse((closed ? "" : name + ": ") + part.error().message);
    }
    if ((*part)->header.part != i || (*part)->header.parts != header.parts) {
      return refuse(fmt::format("{} is part {} of {}", name, (*part)->header.part + 1,
                                (*part)->header.parts));
    }
    out.push_back(*std::move(part));
  }
  return out;
}

// How many matrices a tensor has that is not one of plain numbers.
Result<int64_t> MatricesOf(const GgufTensor& tensor) {
  const auto block = GgufBlockSize(tensor.type);
  if (!block) {
    return TensorError(tensor.name, fmt::format("weights of the type {} cannot be imported",
                                                GgufTypeName(tensor.type)));
  }
  if (tensor.extents.size() < 2) return TensorError(tensor.name, "it is no matrix");
  int64_t matrices = 1;
  for (size_t i = 0; i < tensor.extents.size(); ++i) {
    if (tensor.extents[i] == 0) return TensorError(tensor.name, "an extent of its shape is 0");
    if (i >= 2) matrices *= tensor.extents[i];
  }
  if (matrices > kMostMatrices) return TooManyMatrices(tensor.name, matrices);
  return matrices;
}

void AddTensor(const SharedGguf& model, const GgufTensor& tensor, std::vector<ModelWeights>* out) {
  const std::string type = GgufTypeName(tensor.type);
  const auto matrices = MatricesOf(tensor);
  if (!matrices.ok()) {
    out->push_back(RefusedWeights(tensor.name, type, tensor.bytes, matrices.error()));
    return;
  }
  for (int64_t i = 0; i < *matrices; ++i) {
    const std::string name = *matrices > 1 ? fmt::format("{}.{}", tensor.name, i) : tensor.name;
    out->push_back(
        {name, type, tensor.bytes / static_cast<uint64_t>(*matrices),
         [model, &tensor, i] { return ReadGguf(tensor, model->file.bytes().data(), i); }});
  }
}

}  // namespace

Status FindGguf(const std::string& path, std::vector<ModelWeights>* weights,
                std::vector<std::string>* others) {
  TARSIA_TRY(const auto parts, OpenParts(path));
  std::map<std::string_view, std::pair<SharedGguf, const GgufTensor*>> tensors;
  for (const SharedGguf& part : parts) {
    for (const GgufTensor& tensor : part->header.tensors) {
      const auto [other, is_new] = tensors.emplace(tensor.name, std::pair(part, &tensor));
      if (is_new) continue;
      return TensorError(tensor.name,
                         fmt::format("it stands in {} and in {}", other->second.first->file.name(),
                                     part->file.name()));
    }
  }
  for (const auto& [name, found] : tensors) {
    const auto& [part, tensor] = found;
    const auto block = GgufBlockSize(tensor->type);
    if (block && !block->weights) {
      others->emplace_back(name);
    } else {
      AddTensor(part, *tensor, weights);
    }
  }
  return OkStatus();
}

}  // namespace tarsia
