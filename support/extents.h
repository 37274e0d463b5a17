// Extents and indices of tensors, which are int64_t: as sizes of the standard library, and what
// follows from the extents of a shape.
#ifndef TARSIA_SUPPORT_EXTENTS_H_
#define TARSIA_SUPPORT_EXTENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace tarsia {

// `x` is not negative.
constexpr size_t Size(int64_t x) { return static_cast<size_t>(x); }

// The elements of a tensor with these extents; 1 without any. The caller knows that they fit.
constexpr int64_t Product(std::span<const int64_t> extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) product *= extent;
  return product;
}

// Writes the distance in elements between neighbours along each dimension, the last one fastest.
constexpr void RowMajorStrides(std::span<const int64_t> shape, int64_t* strides) {
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
}

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_EXTENTS_H_
