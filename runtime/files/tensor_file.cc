#include "runtime/files/tensor_file.h"

#include "runtime/diagnostics.h"

namespace tarsia {

std::string ShapeText(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return out + "]";
}

Status CountBytes(TensorInfo* tensor) {
  constexpr uint64_t kLimit = uint64_t{1} << 62;
  uint64_t product = tensor->item_bytes;
  bool empty = false;
  bool too_large = false;
  for (const int64_t extent : tensor->shape) {
    const auto n = static_cast<uint64_t>(extent);
    if (n == 0) {
      empty = true;
    } else if (product > kLimit / n) {
      too_large = true;
    } else {
      product *= n;
    }
  }
  if (too_large && !empty) {
    return MakeDiagnostic(diag::kTensorTooLarge, Location(), ShapeText(tensor->shape),
                          tensor->type_name);
  }
  tensor->bytes = empty ? 0 : product;
  return OkStatus();
}

Result<HostBuffer> ReadTensor(const InputFile& file, const TensorInfo& tensor) {
  // Checked before memory is allocated, so that a wrong header costs nothing.
  if (tensor.offset > file.size() || tensor.bytes > file.size() - tensor.offset) {
    return MakeDiagnostic(diag::kFileRead, Location(), file.name(), "it ends too early");
  }
  TARSIA_TRY(HostBuffer buffer, HostBuffer::Allocate(tensor.bytes));
  TARSIA_CHECK(file.Read(tensor.offset, buffer.bytes()));
  return buffer;
}

}  // namespace tarsia
