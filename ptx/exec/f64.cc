// Arithmetic on f64.
#include "ptx/exec/approximate.h"
#include "ptx/exec/exec.h"
#include "ptx/exec/round.h"
#include "ptx/machine/numeric.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

// An invalid operation gives the positive quiet NaN; an operand's NaN is passed on.
template <typename... S>
double Settled(double value, S... sources) {
  if (!std::isnan(value) || (std::isnan(sources) || ...)) return value;
  return std::bit_cast<double>(uint64_t{0x7FF8000000000000});
}

template <auto F, RoundMode kMode, typename... S>
double Compute(S... sources) {
  return Settled(Call<F>(sources..., kMode), sources...);
}

template <auto F, typename... S>
Handler Rounded(const Inst& inst) {
  switch (RoundingOf(inst)) {
    case RoundMode::kNearest:
    case RoundMode::kAway:
      break;
    case RoundMode::kZero:
      return &Map<&Compute<F, RoundMode::kZero, S...>, double, S...>;
    case RoundMode::kDown:
      return &Map<&Compute<F, RoundMode::kDown, S...>, double, S...>;
    case RoundMode::kUp:
      return &Map<&Compute<F, RoundMode::kUp, S...>, double, S...>;
  }
  return &Map<&Compute<F, RoundMode::kNearest, S...>, double, S...>;
}

constexpr auto kSubF64 = [](double a, double b, RoundMode mode) { return AddF64(a, -b, mode); };
constexpr auto kRcp = [](double a, RoundMode mode) { return DivideF64(1, a, mode); };

template <bool kLess>
double ExtremeF64(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    if (std::isnan(a) && std::isnan(b)) return std::bit_cast<double>(uint64_t{0x7FF8000000000000});
    return std::isnan(a) ? b : a;
  }
  const bool a_first = a < b || (a == b && std::signbit(a));
  return a_first == kLess ? a : b;
}

double Flush(double a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0, a) : a; }

// The approximations leave the low half of the result zero.
double UpperHalf(double a) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(a) & 0xFFFFFFFF00000000U);
}

template <Approximations kWhere>
double ApproximateReciprocal(double a) {
  return UpperHalf(Flush(Displaced<kWhere, Op::kRcpApproxF64>(1 / Flush(a), a)));
}

template <Approximations kWhere>
double ApproximateRoot(double a) {
  a = Flush(a);
  return UpperHalf(Displaced<kWhere, Op::kRsqrtF64>(1 / std::sqrt(a), a));
}

template <auto F>
constexpr Handler kUnaryBits = &Map<F, uint64_t, uint64_t>;

}  // namespace

PTX_BIND(AddF64) { return Rounded<&AddF64, double, double>(inst); }
PTX_BIND(SubF64) { return Rounded<kSubF64, double, double>(inst); }
PTX_BIND(MulF64) { return Rounded<&MulF64, double, double>(inst); }
PTX_BIND(FmaF64) { return Rounded<&FmaF64, double, double, double>(inst); }
PTX_BIND(MadF64) { return Rounded<&FmaF64, double, double, double>(inst); }
PTX_BIND(DivF64) { return Rounded<&DivideF64, double, double>(inst); }
PTX_BIND(RcpF64) { return Rounded<kRcp, double>(inst); }
PTX_BIND(SqrtF64) { return Rounded<&SqrtF64, double>(inst); }
PTX_BIND(RcpApproxF64) {
  return &MapApproximately<&ApproximateReciprocal<Approximations::kBest>,
                           &ApproximateReciprocal<Approximations::kLow>,
                           &ApproximateReciprocal<Approximations::kHigh>,
                           &ApproximateReciprocal<Approximations::kMixed>, double, double>;
}
PTX_BIND(RsqrtF64) {
  if (inst.Has(Mod::kFtz)) {
    return &MapApproximately<&ApproximateRoot<Approximations::kBest>,
                             &ApproximateRoot<Approximations::kLow>,
                             &ApproximateRoot<Approximations::kHigh>,
                             &ApproximateRoot<Approximations::kMixed>, double, double>;
  }
  return &Map<[](double a) { return Settled(1 / std::sqrt(a), a); }, double, double>;
}
PTX_BIND(AbsF64) {
  return kUnaryBits<[](uint64_t a) { return a & ~kSign; }>;
}
PTX_BIND(NegF64) {
  return kUnaryBits<[](uint64_t a) { return a ^ kSign; }>;
}
PTX_BIND(MinF64) { return &Map<&ExtremeF64<true>, double, double, double>; }
PTX_BIND(MaxF64) { return &Map<&ExtremeF64<false>, double, double, double>; }
PTX_BIND(CopysignF64) {
  return &Map<[](uint64_t a, uint64_t b) { return (a & kSign) | (b & ~kSign); }, uint64_t, uint64_t,
              uint64_t>;
}

}  // namespace tarsia::ptx
