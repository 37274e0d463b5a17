// The inner part of a matrix product, compiled for several vector units, one of which is chosen at
// run time: a block of C of a few rows and two or three vectors of columns stays in registers while
// k runs.
#ifndef TARSIA_VM_HOST_DOT_KERNELS_H_
#define TARSIA_VM_HOST_DOT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "dtypes/dtype.h"

namespace tarsia::host::internal {

// out = c + a * b over one block, row-major, strides in elements. `c` may be null (zero) or `out`.
template <typename T>
struct GemmArgs {
  const T* a = nullptr;
  size_t a_stride = 0;
  // [k, n] in elements of b_type; for T = float, f16 and bf16 are converted while packing.
  const void* b = nullptr;
  size_t b_stride = 0;
  DType b_type;
  const T* c = nullptr;
  size_t c_stride = 0;
  T* out = nullptr;
  size_t out_stride = 0;
  size_t m = 0;
  size_t n = 0;
  size_t k = 0;
  // Room for kPanelElements elements, aligned to 64 bytes.
  T* panel = nullptr;
};

inline constexpr size_t kMaxBlockK = 256;
inline constexpr size_t kMaxPanelColumns = 64;
inline constexpr size_t kPanelElements = kMaxBlockK * kMaxPanelColumns;

// k at most kMaxBlockK.
void GemmBlockF32(const GemmArgs<float>& args);
void GemmBlockF64(const GemmArgs<double>& args);

// out[i] = c[i] + src[i], where src holds integers, modulo 2^32; c null: zero.
void AddAsInteger(const float* src, const uint32_t* c, uint32_t* out, size_t n);

}  // namespace tarsia::host::internal

#endif  // TARSIA_VM_HOST_DOT_KERNELS_H_
