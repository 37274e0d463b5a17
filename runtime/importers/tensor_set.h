// The tensors of one or several .safetensors files, mapped into memory.
#ifndef TARSIA_RUNTIME_IMPORTERS_TENSOR_SET_H_
#define TARSIA_RUNTIME_IMPORTERS_TENSOR_SET_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/file.h"
#include "runtime/files/tensor_file.h"
#include "support/result.h"

namespace tarsia {

struct TensorView {
  std::string name;
  TensorInfo info;
  const uint8_t* data = nullptr;  // info.bytes of them; perhaps not aligned
  size_t file = 0;                // its number

  [[nodiscard]] int64_t extent(size_t dim) const { return info.shape[dim]; }
  [[nodiscard]] size_t rank() const { return info.shape.size(); }
  [[nodiscard]] int64_t elements() const {
    return static_cast<int64_t>(info.bytes / info.item_bytes);
  }
};

// Immutable once made; safe from any thread.
class TensorSet {
 public:
  // Errors: a file that cannot be read, a bad header, a name that stands in two files.
  static Result<TensorSet> Open(std::span<const std::string> paths);

  [[nodiscard]] std::span<const TensorView> all() const { return tensors_; }  // by name
  [[nodiscard]] const TensorView* Find(std::string_view name) const;          // null: none
  // Those of an element type that is unknown, which are not among the others; only their names,
  // type_name, bytes and file mean something.
  [[nodiscard]] std::span<const TensorView> unknown() const { return unknown_; }
  [[nodiscard]] const TensorView* FindUnknown(std::string_view name) const;

  // The path of its file.
  [[nodiscard]] const std::string& FileOf(const TensorView& tensor) const {
    return files_[tensor.file].name();
  }

  // A tensor with one of these types and this shape, in which -1 stands for any extent. Errors name
  // the tensor and what it should be.
  [[nodiscard]] Result<const TensorView*> Need(const std::string& name,
                                               std::initializer_list<DType> types,
                                               std::initializer_list<int64_t> shape) const;

 private:
  std::vector<MappedFile> files_;
  std::vector<TensorView> tensors_;
  std::vector<TensorView> unknown_;
};

// "tensor `x`: why".
Diagnostic TensorError(std::string_view name, std::string_view why);
Diagnostic UnknownType(const TensorView& tensor);

// The elements of a tensor of real numbers, or some of them.
std::vector<float> FloatsOf(const TensorView& tensor);
// The only element of a tensor of integers or floats. Errors: it has several.
Result<double> NumberOf(const TensorView& tensor);

inline constexpr int kStreamWordBits = 32;  // of words that codes are packed into

// Numbers at any address, little-endian.
inline uint32_t LoadU32(const uint8_t* at) {
  uint32_t out = 0;
  std::memcpy(&out, at, sizeof out);
  return out;
}
inline float LoadF16(const uint8_t* at) {
  uint16_t half = 0;
  std::memcpy(&half, at, sizeof half);
  const uint32_t magnitude = half & 0x7FFFU, sign = (half & 0x8000U) << 16;
  // As the exponent and mantissa of an f32 it is 2^112 times too small, subnormal numbers included.
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112F);
  const uint32_t bits = magnitude >= 0x7C00 ? magnitude << 13 | 0x7F800000U : finite;
  return std::bit_cast<float>(bits | sign);
}

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_TENSOR_SET_H_
