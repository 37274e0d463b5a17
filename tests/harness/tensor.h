// A tensor of a case: codes in row-major order, independent of its order in memory.
#ifndef TARSIA_TESTS_HARNESS_TENSOR_H_
#define TARSIA_TESTS_HARNESS_TENSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dtypes/dtype.h"

namespace tarsia::harness {

using Shape = std::vector<int64_t>;

inline int64_t Elements(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

// The index of row-major element `k`.
inline Shape IndexOf(const Shape& shape, int64_t k) {
  Shape index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = k % shape[d];
    k /= shape[d];
  }
  return index;
}

// "[2, 3]"
inline std::string ToText(const Shape& shape) {
  std::string out = "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    out += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  }
  return out + "]";
}

struct Tensor {
  DType type;
  Shape shape;
  std::vector<uint64_t> codes;  // in the low bits
};

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_TENSOR_H_
