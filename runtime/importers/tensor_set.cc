#include "runtime/importers/tensor_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dtypes/bulk.h"
#include "dtypes/convert.h"
#include "runtime/diagnostics.h"
#include "runtime/files/safetensors.h"
#include "support/extents.h"
#include "support/printable.h"

namespace tarsia {
namespace {

Result<std::vector<NamedTensor>> HeaderOf(const MappedFile& file) {
  const auto bytes = file.bytes();
  TARSIA_TRY(const uint64_t length,
             SafetensorsHeaderLength(bytes.first(std::min<size_t>(bytes.size(), 8)), bytes.size()));
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + 8,
                                Size(static_cast<int64_t>(length)));
  return ParseSafetensorsHeader(header, bytes.size());
}

bool ComesBefore(const TensorView& a, const TensorView& b) { return a.name < b.name; }

// `tensors` are sorted.
const TensorView* FindIn(std::span<const TensorView> tensors, std::string_view name) {
  const auto found = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const TensorView& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

// "[-1, 8]" as "[any, 8]".
std::string WantedShape(std::initializer_list<int64_t> shape) {
  std::string out;
  for (const int64_t extent : shape) {
    out += (out.empty() ? "" : ", ") + (extent < 0 ? std::string("any") : std::to_string(extent));
  }
  return "[" + out + "]";
}

}  // namespace

Diagnostic TensorError(std::string_view name, std::string_view why) {
  return MakeDiagnostic(diag::kImportTensor, {}, PrintableStart(name, 200), why);
}

Diagnostic UnknownType(const TensorView& tensor) {
  return TensorError(tensor.name,
                     fmt::format("its type {} is unknown", Printable(tensor.info.type_name)));
}

Result<TensorSet> TensorSet::Open(std::span<const std::string> paths) {
  TensorSet out;
  for (const std::string& path : paths) {
    TARSIA_TRY(MappedFile file, MappedFile::Open(path));
    auto tensors = HeaderOf(file);
    if (!tensors.ok()) {
      Diagnostic error = tensors.TakeError();
      error.message = path + ": " + error.message;
      return error;
    }
    for (NamedTensor& named : *tensors) {
      const uint8_t* const data = file.bytes().data() + named.tensor.offset;
      auto& to = named.tensor.type ? out.tensors_ : out.unknown_;
      to.push_back({std::move(named.name), std::move(named.tensor), data, out.files_.size()});
    }
    out.files_.push_back(std::move(file));
  }
  std::sort(out.tensors_.begin(), out.tensors_.end(), ComesBefore);
  std::sort(out.unknown_.begin(), out.unknown_.end(), ComesBefore);
  const auto twice =
      std::adjacent_find(out.tensors_.begin(), out.tensors_.end(),
                         [](const TensorView& a, const TensorView& b) { return a.name == b.name; });
  if (twice != out.tensors_.end()) {
    return TensorError(twice->name, fmt::format("it stands in {} and in {}", out.FileOf(twice[0]),
                                                out.FileOf(twice[1])));
  }
  return out;
}

const TensorView* TensorSet::Find(std::string_view name) const { return FindIn(tensors_, name); }
const TensorView* TensorSet::FindUnknown(std::string_view name) const {
  return FindIn(unknown_, name);
}

Result<const TensorView*> TensorSet::Need(const std::string& name,
                                          std::initializer_list<DType> types,
                                          std::initializer_list<int64_t> shape) const {
  const TensorView* const tensor = Find(name);
  if (tensor == nullptr) {
    const TensorView* const unknown = FindUnknown(name);
    return unknown == nullptr ? TensorError(name, "it is missing") : UnknownType(*unknown);
  }
  if (std::find(types.begin(), types.end(), *tensor->info.type) == types.end()) {
    std::string wanted;
    for (const DType type : types) {
      wanted += (wanted.empty() ? "" : ", ") + std::string(DTypeName(type));
    }
    return TensorError(name, fmt::format("its type is {}, and should be {}",
                                         DTypeName(*tensor->info.type), wanted));
  }
  for (const int64_t extent : tensor->info.shape) {
    if (extent == 0 || extent > INT32_MAX) {
      return TensorError(name, fmt::format("the extent {} of its shape is not between 1 and {}",
                                           extent, INT32_MAX));
    }
  }
  const bool fits =
      std::equal(shape.begin(), shape.end(), tensor->info.shape.begin(), tensor->info.shape.end(),
                 [](int64_t wanted, int64_t has) { return wanted < 0 || wanted == has; });
  if (fits) return tensor;
  return TensorError(name, fmt::format("its shape is {}, and should be {}",
                                       ShapeText(tensor->info.shape), WantedShape(shape)));
}

std::vector<float> FloatsOf(const TensorView& tensor) {
  std::vector<float> out(Size(tensor.elements()));
  CastBulk(*tensor.info.type, tensor.data, kF32, out.data(), out.size());
  return out;
}

Result<double> NumberOf(const TensorView& tensor) {
  if (tensor.elements() != 1) return TensorError(tensor.name, "it should be one number");
  return DecodeToDouble(*tensor.info.type, LoadContainer(*tensor.info.type, tensor.data, 0));
}

}  // namespace tarsia
