#include "tools/tensor_io.h"

#include <fmt/format.h>

#include <algorithm>

#include "dtypes/bits.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "runtime/weights/packed_weights.h"
#include "tools/command.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

constexpr std::string_view kSafetensors = ".safetensors";
constexpr std::string_view kPacked = ".tsw";

int Complain(const std::string& source, const Diagnostic& error) {
  PrintError(source + ": " + error.message, error.help);
  return kRejected;
}

// The first names of a file's tensors, for the error if none is given.
std::string SomeNames(const std::vector<NamedTensor>& tensors) {
  constexpr size_t kShown = 8;
  std::string out;
  for (size_t i = 0; i < std::min(tensors.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + tensors[i].name;
  }
  if (tensors.size() > kShown) out += fmt::format(" and {} more", tensors.size() - kShown);
  return out;
}

int OpenSafetensors(const std::string& path, const std::string& name, InputTensorFile* out) {
  auto file = InputFile::Open(path);
  if (!file.ok()) {
    PrintError(file.error());
    return kRejected;
  }
  const auto tensors = ReadSafetensorsHeader(*file);
  if (!tensors.ok()) return Complain(path, tensors.error());
  if (name.empty()) {
    PrintError(fmt::format("{}: say which tensor, as in {}:NAME", path, path),
               "it has " + SomeNames(*tensors));
    return kUsage;
  }
  auto found = FindTensor(*tensors, name);
  if (!found.ok()) {
    Diagnostic error = found.TakeError();
    if (error.help.empty()) error.help = "it has " + SomeNames(*tensors);
    return Complain(path, error);
  }
  out->npy = false;
  out->info = *std::move(found);
  out->file = *std::move(file);
  return kDone;
}

int OpenNpy(const std::string& path, InputTensorFile* out) {
  auto file = InputFile::Open(path);
  if (!file.ok()) {
    PrintError(file.error());
    return kRejected;
  }
  auto info = ReadNpyHeader(*file);
  if (!info.ok()) return Complain(file->name(), info.error());
  out->info = *std::move(info);
  out->file = *std::move(file);
  return kDone;
}

bool CanNameType(bool npy, DType type) {
  return npy ? !NpyTypeName(type).empty() : !SafetensorsTypeName(type).empty();
}

}  // namespace

bool InputTensor::CanName(DType type) const { return !packed && CanNameType(npy, type); }
bool InputTensorFile::CanName(DType type) const { return !packed && CanNameType(npy, type); }

namespace {

// A part of a .tsw file, which is verified as a whole.
int OpenPacked(const std::string& path, const std::string& part, InputTensorFile* out) {
  const std::pair<std::string_view, WeightPart> parts[] = {{"codes", WeightPart::kCodes},
                                                           {"scales", WeightPart::kScales},
                                                           {"zeros", WeightPart::kZeros}};
  const auto* const found = std::find_if(std::begin(parts), std::end(parts),
                                         [&](const auto& row) { return row.first == part; });
  if (found == std::end(parts)) {
    PrintError(fmt::format("{}: say which part, as in {}:codes", path, path),
               "the parts are codes, scales and zeros");
    return kUsage;
  }
  const auto weights = PackedWeights::Load(path);
  if (!weights.ok()) return Complain(path, weights.error());
  const PartRange& range = weights->places()[found->second];
  if (range.bytes == 0) {
    PrintError(fmt::format("{}: the weights have no {}", path, part));
    return kRejected;
  }
  auto file = InputFile::Open(path);
  if (!file.ok()) return Complain(path, file.error());
  out->packed = true;
  out->info.type_name = "packed " + part;
  out->info.shape = {static_cast<int64_t>(range.bytes)};
  out->info.offset = range.offset;
  out->info.bytes = range.bytes;
  out->file = *std::move(file);
  return kDone;
}

}  // namespace

// Where the file ends and the name of a part of it begins; npos: it has none.
static size_t ColonOf(const std::string& spec) {
  const size_t at = spec.find(std::string(kSafetensors) + ":");
  if (at != std::string::npos) return at + kSafetensors.size();
  const size_t packed = spec.rfind(std::string(kPacked) + ":");
  return packed == std::string::npos ? packed : packed + kPacked.size();
}

std::string FileOfInput(const std::string& spec) { return spec.substr(0, ColonOf(spec)); }

int OpenInput(const std::string& spec, InputTensorFile* out) {
  out->source = spec == "-" ? "standard input" : spec;
  const size_t colon = ColonOf(spec);
  const std::string file = FileOfInput(spec);
  const std::string part = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (file.ends_with(kSafetensors)) return OpenSafetensors(file, part, out);
  return file.ends_with(kPacked) ? OpenPacked(file, part, out) : OpenNpy(file, out);
}

int ReadInput(const std::string& spec, InputTensor* out) {
  InputTensorFile opened;
  if (const int code = OpenInput(spec, &opened); code != kDone) return code;
  auto data = ReadTensor(*opened.file, opened.info);
  if (!data.ok()) return Complain(opened.file->name(), data.error());
  out->source = opened.source;
  out->npy = opened.npy;
  out->packed = opened.packed;
  out->info = std::move(opened.info);
  out->data = *std::move(data);
  return kDone;
}

// ---- outputs -------------------------------------------------------------------------------

namespace {

// "[16, 128]" into extents.
bool ParseShape(std::string_view text, std::vector<int64_t>* out) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  bool wants = false;
  while (!text.empty() || wants) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return !wants;
    text.remove_prefix(begin);
    size_t digits = 0;
    int64_t value = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 16) {
      value = value * 10 + (text[digits++] - '0');
    }
    if (digits == 0 || out->size() == 8) return false;
    out->push_back(value);
    text.remove_prefix(digits);
    const size_t next = text.find_first_not_of(' ');
    if (next == std::string_view::npos) return true;
    if (text[next] != ',') return false;
    text.remove_prefix(next + 1);
    wants = true;
  }
  return true;
}

}  // namespace

int ParseOutputSpec(const std::string& text, OutputSpec* out) {
  out->path = text;
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.back() != ']') return kDone;
  const size_t bracket = text.find('[', colon);
  if (bracket == std::string::npos) return kDone;
  const std::string name = text.substr(colon + 1, bracket - colon - 1);
  out->path = text.substr(0, colon);
  out->type = FindDType(name);
  if (!out->type) {
    PrintError(fmt::format("--out: unknown element type `{}`", name),
               DidYouMean(name, DTypeNames()));
    return kUsage;
  }
  if (ParseShape(std::string_view(text).substr(bracket), &out->shape)) return kDone;
  PrintError(fmt::format("--out: `{}` is not a shape such as [16, 128]", text.substr(bracket)));
  return kUsage;
}

std::optional<uint64_t> DenseBytes(DType type, std::span<const int64_t> shape) {
  uint64_t bits = type.bits;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(bits, static_cast<uint64_t>(extent), &bits)) return std::nullopt;
  }
  if (bits > uint64_t{1} << 62) return std::nullopt;
  return BytesForBits(bits);
}

namespace {

// What NumPy calls a tensor: its type, and its shape, which is that of its bytes if it has no name.
struct NpyForm {
  std::string type;
  std::vector<int64_t> shape;
};

NpyForm NpyFormOf(DType type, std::span<const int64_t> shape, bool dense, uint64_t bytes) {
  const std::string name = NpyTypeName(type);
  std::vector<int64_t> extents(shape.begin(), shape.end());
  if (dense && !name.empty()) return {name, std::move(extents)};
  if (dense && type.bits >= 8) return {fmt::format("|V{}", type.bits / 8), std::move(extents)};
  return {"|u1", {static_cast<int64_t>(bytes)}};
}

}  // namespace

Result<OutputTensorFile> OutputTensorFile::Create(const std::string& path, DType type,
                                                  std::span<const int64_t> shape, uint64_t bytes) {
  const NpyForm form = NpyFormOf(type, shape, true, bytes);
  const std::string header = NpyHeader(form.type, form.shape);
  TARSIA_TRY(OutputFile file, OutputFile::Create(path));
  TARSIA_CHECK(file.Write(header));
  return OutputTensorFile(std::move(file), header.size());
}

Status WriteOutput(const std::string& path, DType type, std::span<const int64_t> shape, bool dense,
                   std::span<const uint8_t> data) {
  const NpyForm form = NpyFormOf(type, shape, dense, data.size());
  return WriteNpy(path, form.type, form.shape, data);
}

}  // namespace tarsia::tools
