// Loops of the reductions over one native type, each compiled for several vector units, one of
// which is chosen at run time.
#ifndef TARSIA_VM_HOST_REDUCE_KERNELS_H_
#define TARSIA_VM_HOST_REDUCE_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace tarsia::host::internal {

enum class Reduction : uint8_t { kSum, kProd, kMin, kMax };
inline constexpr size_t kReductions = 4;

// f16 and bf16 have kMin and kMax only.
enum class ReduceLane : uint8_t {
  kU8,
  kU16,
  kU32,
  kU64,
  kI8,
  kI16,
  kI32,
  kI64,
  kF32,
  kF64,
  kF16,
  kBF16
};
inline constexpr size_t kReduceLanes = 12;

struct ReduceKernels {
  // out[0] = the reduction of n contiguous elements.
  void (*row)(const void* src, size_t n, void* out) = nullptr;
  // out[i] = out[i] op src[i].
  void (*into)(const void* src, void* out, size_t n) = nullptr;
  // The code of the reduction of no elements.
  uint64_t empty = 0;
};

ReduceKernels FindReduce(Reduction reduction, ReduceLane lane);

// index[i] = at where src[i] and value[i] are the same code; otherwise it stays.
using MarkKernel = void (*)(const void* src, const void* value, int32_t at, int32_t* index,
                            size_t n);
MarkKernel FindMark(int container_bytes);

}  // namespace tarsia::host::internal

#endif  // TARSIA_VM_HOST_REDUCE_KERNELS_H_
