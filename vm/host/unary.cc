// The loops of unary operations, compiled for each vector unit.
#include <algorithm>
#include <bit>
#include <cmath>

#include "dtypes/arith.h"
#include "support/elementary.h"
#include "vm/host/kernels.h"
#include "vm/host/math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vm/host/unary.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

#ifndef TARSIA_VM_HOST_UNARY_ONCE_
#define TARSIA_VM_HOST_UNARY_ONCE_
namespace tarsia::host::internal {
namespace {

// Operations on one element. Each is inlined into the loops of every vector unit.
#define TARSIA_UNARY_OP(Name, result) \
  struct Name##Op {                   \
    template <typename T>             \
    static T Run(T a) {               \
      return result;                  \
    }                                 \
  };
TARSIA_UNARY_OP(Neg, arith::Neg(a))
TARSIA_UNARY_OP(Abs, arith::Abs(a))
TARSIA_UNARY_OP(Not, arith::Not(a))
TARSIA_UNARY_OP(Popc, static_cast<T>(std::popcount(a)))
TARSIA_UNARY_OP(Clz, static_cast<T>(std::countl_zero(a)))
TARSIA_UNARY_OP(Sqrt, std::sqrt(a))
TARSIA_UNARY_OP(Rcp, T{1} / a)
TARSIA_UNARY_OP(Floor, std::floor(a))
TARSIA_UNARY_OP(Ceil, std::ceil(a))
TARSIA_UNARY_OP(Round, std::rint(a))  // in the default mode: ties to even
TARSIA_UNARY_OP(Trunc, std::trunc(a))
#undef TARSIA_UNARY_OP

struct HalfNegOp {
  static uint16_t Run(uint16_t a) { return static_cast<uint16_t>(a ^ 0x8000); }
};
struct HalfAbsOp {
  static uint16_t Run(uint16_t a) { return static_cast<uint16_t>(a & 0x7FFF); }
};
struct RsqrtOp {
  static float Run(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
  static double Run(double a) { return 1.0 / std::sqrt(a); }
};

// Functions of support/elementary.h, which have a form for f32 in math.h.
#define TARSIA_ELEMENTARY_OP(Name)                          \
  struct Name##Op {                                         \
    static float Run(float a) { return Name##F32(a); }      \
    static double Run(double a) { return tarsia::Name(a); } \
  };
TARSIA_ELEMENTARY_OP(Exp)
TARSIA_ELEMENTARY_OP(Exp2)
TARSIA_ELEMENTARY_OP(Log)
TARSIA_ELEMENTARY_OP(Log2)
TARSIA_ELEMENTARY_OP(Tanh)
TARSIA_ELEMENTARY_OP(Erf)
#undef TARSIA_ELEMENTARY_OP

struct SinOp {
  static constexpr int kQuadrants = 0;
  static float Run(float a) { return static_cast<float>(tarsia::Sin(static_cast<double>(a))); }
  static double Run(double a) { return tarsia::Sin(a); }
};
struct CosOp {
  static constexpr int kQuadrants = 1;
  static float Run(float a) { return static_cast<float>(tarsia::Cos(static_cast<double>(a))); }
  static double Run(double a) { return tarsia::Cos(a); }
};

using UnaryRow = KernelRow<UnaryKernel>;

}  // namespace
}  // namespace tarsia::host::internal
#endif  // TARSIA_VM_HOST_UNARY_ONCE_

HWY_BEFORE_NAMESPACE();
namespace tarsia::host::internal {
namespace HWY_NAMESPACE {
namespace {

template <typename T, typename Op>
void Map(const void* a, void* out, size_t n) {
  const T* x = static_cast<const T*>(a);
  T* y = static_cast<T*>(out);
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) y[i] = Op::Run(x[i]);
}

// Sine and cosine of f32: the vector form if all arguments of a run are small enough, else in f64.
template <typename Op>
void MapSinCos(const void* a, void* out, size_t n) {
  constexpr size_t kRun = 64;
  const float* x = static_cast<const float*>(a);
  float* y = static_cast<float*>(out);
  for (size_t first = 0; first < n; first += kRun) {
    const size_t end = std::min(n, first + kRun);
    unsigned large = 0;  // or NaN
    for (size_t i = first; i < end; ++i) {
      large |= std::fabs(x[i]) <= kSinCosLimit ? 0u : 1u;
    }
    if (large != 0) {
      for (size_t i = first; i < end; ++i) y[i] = Op::Run(x[i]);
    } else {
      TARSIA_VECTOR_LOOP
      for (size_t i = first; i < end; ++i) y[i] = SinCosF32<Op::kQuadrants>(x[i]);
    }
  }
}

// Operations that are the same for signed and unsigned integers.
template <typename Op>
constexpr UnaryRow Bits(Opcode op) {
  return {op,
          {&Map<uint8_t, Op>, &Map<uint16_t, Op>, &Map<uint32_t, Op>, &Map<uint64_t, Op>,
           &Map<uint8_t, Op>, &Map<uint16_t, Op>, &Map<uint32_t, Op>, &Map<uint64_t, Op>, nullptr,
           nullptr, nullptr}};
}

template <typename Op, typename HalfOp>
constexpr UnaryRow Arithmetic(Opcode op) {
  return {op,
          {&Map<uint8_t, Op>, &Map<uint16_t, Op>, &Map<uint32_t, Op>, &Map<uint64_t, Op>,
           &Map<int8_t, Op>, &Map<int16_t, Op>, &Map<int32_t, Op>, &Map<int64_t, Op>,
           &Map<float, Op>, &Map<double, Op>, &Map<uint16_t, HalfOp>}};
}

constexpr UnaryRow Floats(Opcode op, UnaryKernel f32, UnaryKernel f64) {
  return {
      op,
      {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, f32, f64, nullptr}};
}

template <typename Op>
constexpr UnaryRow Floats(Opcode op) {
  return Floats(op, &Map<float, Op>, &Map<double, Op>);
}

constexpr UnaryRow kRows[] = {
    Arithmetic<NegOp, HalfNegOp>(Opcode::kNeg),
    Arithmetic<AbsOp, HalfAbsOp>(Opcode::kAbs),
    Bits<NotOp>(Opcode::kNot),
    Bits<PopcOp>(Opcode::kPopc),
    Bits<ClzOp>(Opcode::kClz),
    Floats<SqrtOp>(Opcode::kSqrt),
    Floats<RsqrtOp>(Opcode::kRsqrt),
    Floats<RcpOp>(Opcode::kRcp),
    Floats<ExpOp>(Opcode::kExp),
    Floats<Exp2Op>(Opcode::kExp2),
    Floats<LogOp>(Opcode::kLog),
    Floats<Log2Op>(Opcode::kLog2),
    Floats(Opcode::kSin, &MapSinCos<SinOp>, &Map<double, SinOp>),
    Floats(Opcode::kCos, &MapSinCos<CosOp>, &Map<double, CosOp>),
    Floats<TanhOp>(Opcode::kTanh),
    Floats<ErfOp>(Opcode::kErf),
    Floats<FloorOp>(Opcode::kFloor),
    Floats<CeilOp>(Opcode::kCeil),
    Floats<RoundOp>(Opcode::kRound),
    Floats<TruncOp>(Opcode::kTrunc),
};

}  // namespace

UnaryKernel UnaryFor(Opcode op, Lane lane) { return FindKernel(kRows, op, lane); }

}  // namespace HWY_NAMESPACE
}  // namespace tarsia::host::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::host::internal {

namespace {
HWY_EXPORT(UnaryFor);
}  // namespace

UnaryKernel FindUnary(Opcode op, Lane lane) { return TARSIA_DISPATCH(UnaryFor)(op, lane); }

}  // namespace tarsia::host::internal
#endif  // HWY_ONCE
