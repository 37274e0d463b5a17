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
struct NegOp {
  template <typename T>
  static T Run(T a) {
    return arith::Neg(a);
  }
};
struct AbsOp {
  template <typename T>
  static T Run(T a) {
    return arith::Abs(a);
  }
};
struct NotOp {
  template <typename T>
  static T Run(T a) {
    return arith::Not(a);
  }
};
struct PopcOp {
  template <typename T>
  static T Run(T a) {
    return static_cast<T>(std::popcount(a));
  }
};
struct ClzOp {
  template <typename T>
  static T Run(T a) {
    return static_cast<T>(std::countl_zero(a));
  }
};
struct HalfNegOp {
  static uint16_t Run(uint16_t a) { return static_cast<uint16_t>(a ^ 0x8000); }
};
struct HalfAbsOp {
  static uint16_t Run(uint16_t a) { return static_cast<uint16_t>(a & 0x7FFF); }
};
struct SqrtOp {
  template <typename T>
  static T Run(T a) {
    return std::sqrt(a);
  }
};
struct RsqrtOp {
  static float Run(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
  static double Run(double a) { return 1.0 / std::sqrt(a); }
};
struct RcpOp {
  template <typename T>
  static T Run(T a) {
    return T{1} / a;
  }
};
struct FloorOp {
  template <typename T>
  static T Run(T a) {
    return std::floor(a);
  }
};
struct CeilOp {
  template <typename T>
  static T Run(T a) {
    return std::ceil(a);
  }
};
struct RoundOp {
  template <typename T>
  static T Run(T a) {
    return std::rint(a);  // in the default mode: ties to even
  }
};
struct TruncOp {
  template <typename T>
  static T Run(T a) {
    return std::trunc(a);
  }
};
struct ExpOp {
  static float Run(float a) { return ExpF32(a); }
  static double Run(double a) { return tarsia::Exp(a); }
};
struct Exp2Op {
  static float Run(float a) { return Exp2F32(a); }
  static double Run(double a) { return tarsia::Exp2(a); }
};
struct LogOp {
  static float Run(float a) { return LogF32(a); }
  static double Run(double a) { return tarsia::Log(a); }
};
struct Log2Op {
  static float Run(float a) { return Log2F32(a); }
  static double Run(double a) { return tarsia::Log2(a); }
};
struct TanhOp {
  static float Run(float a) { return TanhF32(a); }
  static double Run(double a) { return tarsia::Tanh(a); }
};
struct ErfOp {
  static float Run(float a) { return ErfF32(a); }
  static double Run(double a) { return tarsia::Erf(a); }
};
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

struct UnaryRow {
  Opcode op;
  UnaryKernel kernels[kLanes];
};

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

UnaryKernel UnaryFor(Opcode op, Lane lane) {
  for (const UnaryRow& row : kRows) {
    if (row.op == op) return row.kernels[static_cast<size_t>(lane)];
  }
  return nullptr;
}

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
