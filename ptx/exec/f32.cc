// Arithmetic on f32.
#include <algorithm>

#include "ptx/exec/approximate.h"
#include "ptx/exec/exec.h"
#include "ptx/exec/round.h"
#include "ptx/machine/numeric.h"
#include "support/elementary.h"

namespace tarsia::ptx {
namespace {

// One operation: to nearest by the host's own, in other modes by way of double, rounded to odd.
struct Add {
  static float Nearest(float a, float b) { return a + b; }
  static double Odd(RoundMode mode, double a, double b) { return AddOdd(a, b, mode); }
};
struct Sub {
  static float Nearest(float a, float b) { return a - b; }
  static double Odd(RoundMode mode, double a, double b) { return AddOdd(a, -b, mode); }
};
struct Mul {
  static float Nearest(float a, float b) { return a * b; }
  static double Odd(RoundMode, double a, double b) { return a * b; }
};
struct Fma {
  static float Nearest(float a, float b, float c) { return std::fma(a, b, c); }
  static double Odd(RoundMode mode, double a, double b, double c) { return FmaOdd(a, b, c, mode); }
};
struct Div {
  static float Nearest(float a, float b) { return a / b; }
  static double Odd(RoundMode, double a, double b) { return DivideOdd(a, b); }
};
struct Rcp {
  static float Nearest(float a) { return 1 / a; }
  static double Odd(RoundMode, double a) { return DivideOdd(1, a); }
};
struct Sqrt {
  static float Nearest(float a) { return std::sqrt(a); }
  static double Odd(RoundMode, double a) { return SqrtOdd(a); }
};

float Saturated(float value) {
  return std::isnan(value) ? 0.0F : value <= 0 ? 0.0F : std::min(value, 1.0F);
}

template <typename Operation, RoundMode kMode, bool kFtz, bool kSat, typename... S>
float Compute(S... sources) {
  float value = 0;
  if constexpr (kFtz) ((sources = FlushF32(sources)), ...);
  if constexpr (kMode == RoundMode::kNearest) {
    value = Operation::Nearest(sources...);
  } else {
    const double odd = Operation::Odd(kMode, static_cast<double>(sources)...);
    value = std::bit_cast<float>(RoundToFormat(odd, kFormatF32, kMode));
  }
  if constexpr (kFtz) value = FlushF32(value);
  return kSat ? Saturated(value) : CanonicalF32(value);
}

template <typename Operation, RoundMode kMode, typename... S>
Handler WithFlags(const Inst& inst) {
  const bool ftz = inst.Has(Mod::kFtz);
  if (inst.Has(Mod::kSat)) {
    return ftz ? &Map<&Compute<Operation, kMode, true, true, S...>, float, S...>
               : &Map<&Compute<Operation, kMode, false, true, S...>, float, S...>;
  }
  return ftz ? &Map<&Compute<Operation, kMode, true, false, S...>, float, S...>
             : &Map<&Compute<Operation, kMode, false, false, S...>, float, S...>;
}

// maker<mode>() for the instruction's rounding.
template <typename Maker>
Handler ForRounding(const Inst& inst, const Maker& maker) {
  switch (RoundingOf(inst)) {
    case RoundMode::kNearest:
    case RoundMode::kAway:
      break;
    case RoundMode::kZero:
      return maker.template operator()<RoundMode::kZero>();
    case RoundMode::kDown:
      return maker.template operator()<RoundMode::kDown>();
    case RoundMode::kUp:
      return maker.template operator()<RoundMode::kUp>();
  }
  return maker.template operator()<RoundMode::kNearest>();
}

template <typename Operation, typename... S>
Handler Rounded(const Inst& inst) {
  return ForRounding(inst,
                     [&]<RoundMode kMode>() { return WithFlags<Operation, kMode, S...>(inst); });
}

// What holds two of T.
template <typename T>
using Word = std::conditional_t<sizeof(T) == 4, uint64_t, void>;

// One operation on both halves of a pair.
template <auto F, typename... W>
uint64_t OnPairs(W... words) {
  const auto half = [](uint64_t word, int shift) {
    return std::bit_cast<float>(static_cast<uint32_t>(word >> shift));
  };
  const uint64_t low = std::bit_cast<uint32_t>(F(half(words, 0)...));
  const uint64_t high = std::bit_cast<uint32_t>(F(half(words, 32)...));
  return high << 32 | low;
}

template <typename Operation, RoundMode kMode, typename... S>
Handler PairsWithFlags(const Inst& inst) {
  return inst.Has(Mod::kFtz)
             ? &Map<&OnPairs<&Compute<Operation, kMode, true, false, S...>, Word<S>...>, uint64_t,
                    Word<S>...>
             : &Map<&OnPairs<&Compute<Operation, kMode, false, false, S...>, Word<S>...>, uint64_t,
                    Word<S>...>;
}

template <typename Operation, typename... S>
Handler RoundedPairs(const Inst& inst) {
  return ForRounding(
      inst, [&]<RoundMode kMode>() { return PairsWithFlags<Operation, kMode, S...>(inst); });
}

// div.approx is only good for divisors up to 2^126: beyond, it multiplies by a zero.
template <bool kFtz, bool kFull, Approximations kWhere = Approximations::kBest>
float DivideApproximately(float a, float b) {
  if (kFtz) {
    a = FlushF32(a);
    b = FlushF32(b);
  }
  if (!kFull && std::abs(b) > 0x1p126F && std::isfinite(b)) {
    const float zero = std::copysign(0.0F, b);
    return CanonicalF32(a * zero);
  }
  float value = a / b;
  if constexpr (!kFull && kWhere != Approximations::kBest) {
    value = Displaced<kWhere, Op::kDivApprox>(static_cast<double>(a) / static_cast<double>(b), b);
  }
  return CanonicalF32(kFtz ? FlushF32(value) : value);
}

template <bool kFtz>
constexpr Handler kDivApprox =
    &MapApproximately<&DivideApproximately<kFtz, false, Approximations::kBest>,
                      &DivideApproximately<kFtz, false, Approximations::kLow>,
                      &DivideApproximately<kFtz, false, Approximations::kHigh>,
                      &DivideApproximately<kFtz, false, Approximations::kMixed>, float, float,
                      float>;

template <bool kLess>
float Extreme(float a, float b, bool nan) {
  if (std::isnan(a) || std::isnan(b)) {
    if (nan || (std::isnan(a) && std::isnan(b))) return std::bit_cast<float>(0x7FFFFFFFU);
    return std::isnan(a) ? b : a;
  }
  // -0 is less than +0.
  const bool a_first = a < b || (a == b && std::signbit(a));
  return a_first == kLess ? a : b;
}

template <bool kLess>
Step MinMax(Warp& warp, const Inst& inst) {
  const bool ftz = inst.Has(Mod::kFtz);
  const bool nan = inst.Has(Mod::kNaN);
  const bool xorsign = inst.Has(Mod::kXorsign);
  uint8_t* dest = warp.Dest(inst.operands[0]);
  ForLanes(warp.mask(), [&](int lane) {
    auto a = warp.Get<float>(inst.operands[1], lane);
    auto b = warp.Get<float>(inst.operands[2], lane);
    if (ftz) {
      a = FlushF32(a);
      b = FlushF32(b);
    }
    float value = 0;
    if (xorsign) {
      value = Extreme<kLess>(std::abs(a), std::abs(b), nan);
      value = std::copysign(value, std::signbit(a) != std::signbit(b) ? -1.0F : 1.0F);
    } else {
      value = Extreme<kLess>(a, b, nan);
    }
    StoreLane(dest, lane, std::isnan(value) ? std::bit_cast<float>(0x7FFFFFFFU) : value);
  });
  return Step::kNext;
}

template <bool kLess>
Step MinMaxOfThree(Warp& warp, const Inst& inst) {
  const bool ftz = inst.Has(Mod::kFtz);
  const bool nan = inst.Has(Mod::kNaN);
  const auto source = [&](int n, int lane) {
    auto value = warp.Get<float>(inst.operands[static_cast<size_t>(n)], lane);
    if (ftz) value = FlushF32(value);
    return inst.Has(Mod::kAbs) ? std::abs(value) : value;
  };
  uint8_t* dest = warp.Dest(inst.operands[0]);
  ForLanes(warp.mask(), [&](int lane) {
    const float first = Extreme<kLess>(source(1, lane), source(2, lane), nan);
    StoreLane(dest, lane, CanonicalF32(Extreme<kLess>(first, source(3, lane), nan)));
  });
  return Step::kNext;
}

// ---- f32 of sources that are partly halves -----------------------------------------------------

template <FloatFormat kFormat>
float WidenHalf(uint16_t code) {
  return static_cast<float>(FromFormat(code, kFormat));
}

// The last source is an f32, those before it are halves.
template <typename Operation, FloatFormat kFormat, RoundMode kMode, bool kSat, typename... Halves>
Handler MixedOf() {
  return &Map<[](Halves... halves, float last) {
    return Compute<Operation, kMode, false, kSat>(WidenHalf<kFormat>(halves)..., last);
  },
              float, Halves..., float>;
}

template <typename Operation, FloatFormat kFormat, typename... Halves>
Handler MixedFor(const Inst& inst) {
  return ForRounding(inst, [&]<RoundMode kMode>() {
    return inst.Has(Mod::kSat) ? MixedOf<Operation, kFormat, kMode, true, Halves...>()
                               : MixedOf<Operation, kFormat, kMode, false, Halves...>();
  });
}

template <typename Operation, typename... Halves>
Handler Mixed(const Inst& inst) {
  return inst.type[1] == Type::kF16 ? MixedFor<Operation, kFormatF16, Halves...>(inst)
                                    : MixedFor<Operation, kFormatBF16, Halves...>(inst);
}

float FlippedSign(float a) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(a) ^ 0x80000000U);
}
float WithoutSign(float a) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(a) & 0x7FFFFFFFU);
}

template <auto F>
Handler SignOf(const Inst& inst) {
  return inst.Has(Mod::kFtz) ? &Map<[](float a) { return Call<F>(FlushF32(a)); }, float, float>
                             : &Map<F, float, float>;
}

constexpr auto kReciprocal = [](double a) { return 1 / a; };
constexpr auto kSquareRoot = [](double a) { return std::sqrt(a); };
constexpr auto kRsqrt = [](double a) { return 1 / std::sqrt(a); };
constexpr auto kSin = [](double a) { return tarsia::Sin(a); };
constexpr auto kCos = [](double a) { return tarsia::Cos(a); };
constexpr auto kLg2 = [](double a) { return tarsia::Log2(a); };
constexpr auto kEx2 = [](double a) { return tarsia::Exp2(a); };
constexpr auto kTanh = [](double a) { return tarsia::Tanh(a); };

}  // namespace

PTX_BIND(AddF32) { return Rounded<Add, float, float>(inst); }
PTX_BIND(SubF32) { return Rounded<Sub, float, float>(inst); }
PTX_BIND(MulF32) { return Rounded<Mul, float, float>(inst); }
PTX_BIND(FmaF32) { return Rounded<Fma, float, float, float>(inst); }
PTX_BIND(AddF32x2) { return RoundedPairs<Add, float, float>(inst); }
PTX_BIND(SubF32x2) { return RoundedPairs<Sub, float, float>(inst); }
PTX_BIND(MulF32x2) { return RoundedPairs<Mul, float, float>(inst); }
PTX_BIND(FmaF32x2) { return RoundedPairs<Fma, float, float, float>(inst); }

PTX_BIND(MadF32) { return Rounded<Fma, float, float, float>(inst); }
PTX_BIND(DivF32) { return Rounded<Div, float, float>(inst); }
PTX_BIND(DivFull) {
  return inst.Has(Mod::kFtz) ? &Map<&DivideApproximately<true, true>, float, float, float>
                             : &Map<&DivideApproximately<false, true>, float, float, float>;
}
PTX_BIND(DivApprox) { return inst.Has(Mod::kFtz) ? kDivApprox<true> : kDivApprox<false>; }
PTX_BIND(RcpF32) {
  return inst.Has(Mod::kApprox) ? ApproximationF32<kReciprocal, Op::kRcpF32>(inst)
                                : Rounded<Rcp, float>(inst);
}
PTX_BIND(SqrtF32) {
  return inst.Has(Mod::kApprox) ? ApproximationF32<kSquareRoot, Op::kSqrtF32>(inst)
                                : Rounded<Sqrt, float>(inst);
}
PTX_BIND(RsqrtF32) { return ApproximationF32<kRsqrt, Op::kRsqrtF32>(inst); }
PTX_BIND(SinF32) { return ApproximationF32<kSin, Op::kSinF32>(inst); }
PTX_BIND(CosF32) { return ApproximationF32<kCos, Op::kCosF32>(inst); }
PTX_BIND(Lg2F32) { return ApproximationF32<kLg2, Op::kLg2F32>(inst); }
PTX_BIND(Ex2F32) { return ApproximationF32<kEx2, Op::kEx2F32>(inst); }
PTX_BIND(TanhF32) { return ApproximationF32<kTanh, Op::kTanhF32>(inst); }
PTX_BIND(AbsF32) { return SignOf<&WithoutSign>(inst); }
PTX_BIND(NegF32) { return SignOf<&FlippedSign>(inst); }
PTX_BIND(MinF32) { return &MinMax<true>; }
PTX_BIND(MaxF32) { return &MinMax<false>; }
PTX_BIND(MinThreeF32) { return &MinMaxOfThree<true>; }
PTX_BIND(MaxThreeF32) { return &MinMaxOfThree<false>; }
PTX_BIND(AddMixed) { return Mixed<Add, uint16_t>(inst); }
PTX_BIND(SubMixed) { return Mixed<Sub, uint16_t>(inst); }
PTX_BIND(FmaMixed) { return Mixed<Fma, uint16_t, uint16_t>(inst); }
// The sign of a on b.
PTX_BIND(CopysignF32) {
  return &Map<[](uint32_t a, uint32_t b) { return (a & 0x80000000U) | (b & 0x7FFFFFFFU); },
              uint32_t, uint32_t, uint32_t>;
}

}  // namespace tarsia::ptx
