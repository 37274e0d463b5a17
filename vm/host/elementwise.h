// Elementwise arithmetic on contiguous arrays of native containers: each element in 1, 2, 4 or 8
// bytes (ContainerBytes), sub-byte codes one a byte, f16 and bf16 as their 16-bit codes, bool one
// byte 0 or 1. isa.def and dtypes/arith.h define every operation; errors of approximations are
// within the ULP of the row. All functions are thread-safe and allocate nothing. Arrays are aligned
// to their container. `out` may be the same array as an input whose container has the same size,
// and may not overlap one otherwise. The vector unit is chosen at run time. An operation or type
// that the row does not allow is an error of the caller (the validator refuses it) and leaves `out`
// unchanged.
#ifndef TARSIA_VM_HOST_ELEMENTWISE_H_
#define TARSIA_VM_HOST_ELEMENTWISE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia::host {

// out[i] = op a[i] for neg, abs, not, sqrt, rsqrt, rcp, exp, exp2, log, log2, sin, cos, tanh, erf,
// floor, ceil, round, trunc, popc, clz.
void Unary(Opcode op, DType type, const void* a, void* out, size_t n);

// out[i] = a[i] op b[i] for add to shr, and eq to ge, which write one bool byte per element. A
// uniform operand is one element that is used n times.
void Binary(Opcode op, DType type, const void* a, bool a_uniform, const void* b, bool b_uniform,
            void* out, size_t n);

// out[i] = a[i] * b[i] + c[i] with one rounding, for f16, bf16, f32, f64. For c32 and c64:
//   re = fma(-a.im, b.im, fma(a.re, b.re, c.re)), im = fma(a.im, b.re, fma(a.re, b.im, c.im)),
// each fma rounded once to the component's type.
void Fma(DType type, const void* a, bool a_uniform, const void* b, bool b_uniform, const void* c,
         bool c_uniform, void* out, size_t n);

// out[i] = condition[i] ? a[i] : b[i]; any nonzero byte is true.
void Select(int container_bytes, const uint8_t* condition, bool condition_uniform, const void* a,
            bool a_uniform, const void* b, bool b_uniform, void* out, size_t n);

// The loop of one operation and type, found once for arrays that are computed piece by piece.
class Loop {
 public:
  // None for what Unary, Binary, Fma and Select do not compute.
  static std::optional<Loop> Find(Opcode op, DType type);
  // out[i] = op(operands[0][i], ..), for n elements of arrays that are not uniform. The arrays of
  // kSelect are the condition and the two choices.
  void Run(const void* const* operands, void* out, size_t n) const;

 private:
  Opcode op_ = Opcode::kAdd;
  DType type_;
  // The loop, if it computes in the type; at most one is not null.
  void (*unary_)(const void*, void*, size_t) = nullptr;
  void (*binary_)(const void*, const void*, void*, size_t) = nullptr;
  void (*ternary_)(const void*, const void*, const void*, void*, size_t) = nullptr;
};

// out[i] = the low `container_bytes` bytes of code.
void Fill(int container_bytes, uint64_t code, void* out, size_t n);

// out[i] = the code of the integer first + i in the type, as `cast` from i64 makes it (rounded
// once to nearest even; saturating for integers).
void IotaRun(DType type, int64_t first, void* out, size_t n);

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011):
// out[i] is word (offset + i) mod 4 of the block with counter ((offset + i) / 4, 0) and key
// `seed`, low words first. offset + i wraps at 2^64.
void Philox(uint64_t seed, uint64_t offset, uint32_t* out, size_t n);
// One block, for any counter and key.
void PhiloxBlock(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

}  // namespace tarsia::host

#endif  // TARSIA_VM_HOST_ELEMENTWISE_H_
