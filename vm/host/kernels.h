// The loops of the elementwise layer over arrays of one native type, found by operation and type,
// each compiled for several vector units, one of which is chosen at run time.
#ifndef TARSIA_VM_HOST_KERNELS_H_
#define TARSIA_VM_HOST_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

// For a loop whose iterations are independent even if input and output are the same array.
#if defined(__clang__)
#define TARSIA_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TARSIA_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

namespace tarsia::host::internal {

// The types that loops exist for. f16 and bf16 are computed in f32; kHalf is their bits, for
// operations that need only the bits.
enum class Lane : uint8_t { kU8, kU16, kU32, kU64, kI8, kI16, kI32, kI64, kF32, kF64, kHalf };
inline constexpr size_t kLanes = 11;

using UnaryKernel = void (*)(const void* a, void* out, size_t n);
using BinaryKernel = void (*)(const void* a, const void* b, void* out, size_t n);
using TernaryKernel = void (*)(const void* a, const void* b, const void* c, void* out, size_t n);

// The loops of one operation, by Lane.
template <typename Kernel>
struct KernelRow {
  Opcode op;
  Kernel kernels[kLanes];
};
template <typename Kernel, size_t n>
Kernel FindKernel(const KernelRow<Kernel> (&rows)[n], Opcode op, Lane lane) {
  for (const KernelRow<Kernel>& row : rows) {
    if (row.op == op) return row.kernels[static_cast<size_t>(lane)];
  }
  return nullptr;
}

// Null if the operation has no loop for the type.
UnaryKernel FindUnary(Opcode op, Lane lane);
BinaryKernel FindBinary(Opcode op, Lane lane);
// kF32, kF64; kHalf: three f32 arrays that hold f16 or bf16 values to the f64 a * b + c rounded to
// odd, which rounds to either type like the exact value.
TernaryKernel FindFma(Lane lane);
// a: f32 pairs (real, imaginary).
TernaryKernel FindFmaComplex();
// a: condition bytes; b, c: containers.
TernaryKernel FindSelect(int container_bytes);

}  // namespace tarsia::host::internal

#endif  // TARSIA_VM_HOST_KERNELS_H_
