// A matrix of floats in memory, as a source of weights: f16, bf16, f32 or f64, in rows or in
// columns.
#ifndef TARSIA_RUNTIME_WEIGHTS_FLOAT_MATRIX_H_
#define TARSIA_RUNTIME_WEIGHTS_FLOAT_MATRIX_H_

#include <cstdint>

#include "dtypes/dtype.h"
#include "runtime/weights/tile_map.h"

namespace tarsia {

struct FloatMatrix {
  const uint8_t* data = nullptr;  // must outlive the matrix; need not be aligned
  DType type = kF32;
  int64_t k = 0;
  int64_t n = 0;
  bool transposed = false;  // the memory is [n, k]

  // Converts a region to f32 (f64 rounds once). Safe from any thread.
  void Read(const Region& region, float* out, int64_t stride) const;
};

// Whether a matrix may have this type.
constexpr bool IsFloatMatrixType(DType type) {
  return type == kF16 || type == kBF16 || type == kF32 || type == kF64;
}

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_FLOAT_MATRIX_H_
