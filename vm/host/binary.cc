// The loops of binary operations and comparisons, compiled for each vector unit.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "dtypes/arith.h"
#include "vm/host/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vm/host/binary.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "dtypes/simd_dispatch.h"

#ifndef TARSIA_VM_HOST_BINARY_ONCE_
#define TARSIA_VM_HOST_BINARY_ONCE_
namespace tarsia::host::internal {
namespace {

// Operations on one pair of elements. Each is inlined into the loops of every vector unit.
#define TARSIA_BINARY_OP(Name)  \
  struct Name##Op {             \
    template <typename T>       \
    static T Run(T a, T b) {    \
      return arith::Name(a, b); \
    }                           \
  };
TARSIA_BINARY_OP(Add)
TARSIA_BINARY_OP(Sub)
TARSIA_BINARY_OP(Mul)
TARSIA_BINARY_OP(Div)
TARSIA_BINARY_OP(Rem)
TARSIA_BINARY_OP(And)
TARSIA_BINARY_OP(Or)
TARSIA_BINARY_OP(Xor)
TARSIA_BINARY_OP(Shl)
TARSIA_BINARY_OP(Shr)
#undef TARSIA_BINARY_OP

// The codes of a float as integers in the order of their values, -0 below +0.
inline int32_t OrderedBits(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}
inline int64_t OrderedBits(double x) {
  const auto bits = std::bit_cast<int64_t>(x);
  return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF);
}

// `ordered` is the result for two numbers.
template <typename T>
inline T PassNan(T a, T b, T ordered) {
  T result = ordered;
  result = b != b ? a : result;
  result = a != a ? b : result;
  return (a != a) & (b != b) ? std::numeric_limits<T>::quiet_NaN() : result;
}

struct MinOp {
  template <typename T>
  static T Run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return PassNan(a, b, OrderedBits(b) < OrderedBits(a) ? b : a);
    } else {
      return b < a ? b : a;
    }
  }
};
struct MaxOp {
  template <typename T>
  static T Run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return PassNan(a, b, OrderedBits(a) < OrderedBits(b) ? b : a);
    } else {
      return a < b ? b : a;
    }
  }
};
#define TARSIA_COMPARISON(Name, compare) \
  struct Name##Op {                      \
    template <typename T>                \
    static uint8_t Run(T a, T b) {       \
      return a compare b ? 1 : 0;        \
    }                                    \
  };
TARSIA_COMPARISON(Eq, ==)
TARSIA_COMPARISON(Ne, !=)
TARSIA_COMPARISON(Lt, <)
TARSIA_COMPARISON(Le, <=)
TARSIA_COMPARISON(Gt, >)
TARSIA_COMPARISON(Ge, >=)
#undef TARSIA_COMPARISON

using BinaryRow = KernelRow<BinaryKernel>;

}  // namespace
}  // namespace tarsia::host::internal
#endif  // TARSIA_VM_HOST_BINARY_ONCE_

HWY_BEFORE_NAMESPACE();
namespace tarsia::host::internal {
namespace HWY_NAMESPACE {
namespace {

template <typename T, typename R, typename Op>
void Map(const void* a, const void* b, void* out, size_t n) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  R* z = static_cast<R*>(out);
  TARSIA_VECTOR_LOOP
  for (size_t i = 0; i < n; ++i) z[i] = Op::Run(x[i], y[i]);
}

template <typename T, typename Op>
constexpr BinaryKernel Get() {
  return &Map<T, decltype(Op::Run(T{}, T{})), Op>;
}

// Operations that are the same for signed and unsigned integers.
template <typename Op>
constexpr BinaryRow Bits(Opcode op, BinaryKernel f32 = nullptr, BinaryKernel f64 = nullptr) {
  return {op,
          {Get<uint8_t, Op>(), Get<uint16_t, Op>(), Get<uint32_t, Op>(), Get<uint64_t, Op>(),
           Get<uint8_t, Op>(), Get<uint16_t, Op>(), Get<uint32_t, Op>(), Get<uint64_t, Op>(), f32,
           f64, nullptr}};
}

template <typename Op>
constexpr BinaryRow Signs(Opcode op, BinaryKernel f32 = nullptr, BinaryKernel f64 = nullptr) {
  return {op,
          {Get<uint8_t, Op>(), Get<uint16_t, Op>(), Get<uint32_t, Op>(), Get<uint64_t, Op>(),
           Get<int8_t, Op>(), Get<int16_t, Op>(), Get<int32_t, Op>(), Get<int64_t, Op>(), f32, f64,
           nullptr}};
}

template <typename Op>
constexpr BinaryRow BitsAndFloats(Opcode op) {
  return Bits<Op>(op, Get<float, Op>(), Get<double, Op>());
}

template <typename Op>
constexpr BinaryRow SignsAndFloats(Opcode op) {
  return Signs<Op>(op, Get<float, Op>(), Get<double, Op>());
}

constexpr BinaryRow kRows[] = {
    BitsAndFloats<AddOp>(Opcode::kAdd),
    BitsAndFloats<SubOp>(Opcode::kSub),
    BitsAndFloats<MulOp>(Opcode::kMul),
    SignsAndFloats<DivOp>(Opcode::kDiv),
    SignsAndFloats<RemOp>(Opcode::kRem),
    SignsAndFloats<MinOp>(Opcode::kMin),
    SignsAndFloats<MaxOp>(Opcode::kMax),
    Bits<AndOp>(Opcode::kAnd),
    Bits<OrOp>(Opcode::kOr),
    Bits<XorOp>(Opcode::kXor),
    Bits<ShlOp>(Opcode::kShl),
    Signs<ShrOp>(Opcode::kShr),
    BitsAndFloats<EqOp>(Opcode::kEq),
    BitsAndFloats<NeOp>(Opcode::kNe),
    SignsAndFloats<LtOp>(Opcode::kLt),
    SignsAndFloats<LeOp>(Opcode::kLe),
    SignsAndFloats<GtOp>(Opcode::kGt),
    SignsAndFloats<GeOp>(Opcode::kGe),
};

}  // namespace

BinaryKernel BinaryFor(Opcode op, Lane lane) { return FindKernel(kRows, op, lane); }

}  // namespace HWY_NAMESPACE
}  // namespace tarsia::host::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tarsia::host::internal {

namespace {
HWY_EXPORT(BinaryFor);
}  // namespace

BinaryKernel FindBinary(Opcode op, Lane lane) { return TARSIA_DISPATCH(BinaryFor)(op, lane); }

}  // namespace tarsia::host::internal
#endif  // HWY_ONCE
