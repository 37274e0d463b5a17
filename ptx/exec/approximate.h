// Approximate instructions: the true result, worked out in f64, moved as the launch asks.
#ifndef TARSIA_PTX_EXEC_APPROXIMATE_H_
#define TARSIA_PTX_EXEC_APPROXIMATE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ptx/exec/exec.h"
#include "ptx/machine/block.h"
#include "ptx/machine/emulator.h"
#include "ptx/machine/numeric.h"
#include "ptx/table/approximations.h"

namespace tarsia::ptx {

namespace internal {

// Half of all operands, without a pattern that a program could follow.
inline bool PicksUpperEnd(double operand) {
  return (std::bit_cast<uint64_t>(operand) * 0x9E3779B97F4A7C15U) >> 63 != 0;
}

// The f32 nearest to `value` that is not beyond it, seen from below if `up`.
inline float WithinEnd(double value, bool up) {
  const auto rounded = static_cast<float>(value);
  if (up && static_cast<double>(rounded) > value) return std::nextafter(rounded, -INFINITY);
  if (!up && static_cast<double>(rounded) < value) return std::nextafter(rounded, INFINITY);
  return rounded;
}

// The end of what `bound` allows around a `truth` whose rounding is finite, or the largest number
// if that is nearer.
inline float EndOf(const ErrorBound& bound, double truth, bool up) {
  double from = truth;
  double error = bound.bound;
  if (bound.unit == ErrorUnit::kUlp) {
    const float magnitude = std::abs(static_cast<float>(truth));
    from = static_cast<double>(static_cast<float>(truth));
    const float next = std::nextafter(magnitude, INFINITY);
    const float before = std::nextafter(magnitude, 0.0F);
    error *= static_cast<double>(std::isinf(next) ? magnitude - before : next - magnitude);
  } else if (bound.unit == ErrorUnit::kRelative) {
    error *= std::abs(truth);
  }
  return WithinEnd(up ? from + error : from - error, up);
}

constexpr bool AllAreRelative(Op op) {
  for (const ErrorBound& row : kErrorBounds) {
    if (row.op == op && row.unit != ErrorUnit::kRelative) return false;
  }
  return true;
}

}  // namespace internal

// What an instruction gives for an `operand` (the last, of two), whose result is `truth`. Results
// for zeros, infinities and NaN are exact, and so are those that overflow, or round to zero without
// an absolute error.
template <Approximations kWhere, Op kOp, typename T>
T Displaced(double truth, T operand) {
  const T rounded = static_cast<T>(truth);
  if constexpr (kWhere == Approximations::kBest) return rounded;
  if (operand == 0 || !std::isfinite(operand) || !std::isfinite(rounded)) return rounded;
  const ErrorBound bound = ErrorBoundOf(kOp, std::abs(static_cast<double>(operand)));
  const bool is_exact = rounded == 0 && bound.unit != ErrorUnit::kAbsolute;
  if (bound.bound == 0 || is_exact) return rounded;
  const bool up =
      kWhere == Approximations::kHigh ||
      (kWhere == Approximations::kMixed && internal::PicksUpperEnd(static_cast<double>(operand)));
  if constexpr (std::is_same_v<T, double>) {
    static_assert(internal::AllAreRelative(kOp));
    const double error = std::abs(truth) * bound.bound;
    return truth + (up ? error : -error);
  } else {
    return internal::EndOf(bound, truth, up);
  }
}

// Map of the function that the launch's setting names.
template <auto kBest, auto kLow, auto kHigh, auto kMixed, typename T, typename... S>
Step MapApproximately(Warp& warp, const Inst& inst) {
  switch (warp.launch().config->approximations) {
    case Approximations::kBest:
      break;
    case Approximations::kLow:
      return Map<kLow, T, S...>(warp, inst);
    case Approximations::kHigh:
      return Map<kHigh, T, S...>(warp, inst);
    case Approximations::kMixed:
      return Map<kMixed, T, S...>(warp, inst);
  }
  return Map<kBest, T, S...>(warp, inst);
}

// A function F of one f32, computed in f64.
template <auto F, Op kOp, bool kFtz, Approximations kWhere>
float ApproximateF32(float a) {
  if (kFtz) a = FlushF32(a);
  const float value = Displaced<kWhere, kOp>(Call<F>(static_cast<double>(a)), a);
  return CanonicalF32(kFtz ? FlushF32(value) : value);
}

template <auto F, Op kOp, bool kFtz>
Handler ApproximationF32For() {
  return &MapApproximately<&ApproximateF32<F, kOp, kFtz, Approximations::kBest>,
                           &ApproximateF32<F, kOp, kFtz, Approximations::kLow>,
                           &ApproximateF32<F, kOp, kFtz, Approximations::kHigh>,
                           &ApproximateF32<F, kOp, kFtz, Approximations::kMixed>, float, float>;
}

template <auto F, Op kOp>
Handler ApproximationF32(const Inst& inst) {
  return inst.Has(Mod::kFtz) ? ApproximationF32For<F, kOp, true>()
                             : ApproximationF32For<F, kOp, false>();
}

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_EXEC_APPROXIMATE_H_
