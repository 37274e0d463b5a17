// Arithmetic on f16 and bf16, one value or two in a register.
#include <algorithm>

#include "ptx/exec/exec.h"
#include "ptx/machine/numeric.h"
#include "support/elementary.h"

namespace tarsia::ptx {
namespace {

struct F16 {
  static constexpr FloatFormat kFormat = kFormatF16;
  static constexpr uint16_t kOne = 0x3C00;
};
struct BF16 {
  static constexpr FloatFormat kFormat = kFormatBF16;
  static constexpr uint16_t kOne = 0x3F80;
};

// What the modifiers ask for; the same for all lanes.
struct Flags {
  bool ftz = false;
  bool sat = false;
  bool relu = false;
  bool nan = false;
  bool xorsign = false;
  bool operator==(const Flags&) const = default;
};

Flags FlagsOf(const Inst& inst) {
  return {inst.Has(Mod::kFtz), inst.Has(Mod::kSat), inst.Has(Mod::kRelu), inst.Has(Mod::kNaN),
          inst.Has(Mod::kXorsign)};
}

template <typename H>
uint16_t Flush(uint16_t code) {
  const bool subnormal = (code & H::kFormat.top()) == 0;
  return subnormal ? static_cast<uint16_t>(code & 0x8000) : code;
}

template <typename H>
bool IsNan(uint16_t code) {
  return (code & 0x7FFF) > H::kFormat.top();
}

// Rounds a result once and does what the modifiers say.
template <typename H>
uint16_t Finish(double odd, const Flags& flags) {
  auto code = static_cast<uint16_t>(NearestCode(odd, H::kFormat));
  if (flags.ftz) code = Flush<H>(code);
  if (flags.sat) {
    if (IsNan<H>(code) || (code & 0x8000) != 0) return 0;
    return std::min(code, H::kOne);
  }
  if (flags.relu && !IsNan<H>(code) && (code & 0x8000) != 0) return 0;
  return code;
}

// One operation on values; F works in double, rounded to odd.
template <typename H, auto F>
struct Arithmetic {
  template <typename... S>
  static uint16_t Compute(const Flags& flags, S... codes) {
    if (flags.ftz) ((codes = Flush<H>(codes)), ...);
    return Finish<H>(Call<F>(FromFormat(codes, H::kFormat)...), flags);
  }
};

// 53 bits are more than twice as many as both formats have and two: the second rounding of a sum
// gives what one would have given (S. A. Figueroa, "When is double rounding innocuous?").
constexpr auto kAddHalf = [](double a, double b) { return a + b; };
constexpr auto kSubHalf = [](double a, double b) { return a - b; };
constexpr auto kMulHalf = [](double a, double b) { return a * b; };
constexpr auto kFma = [](double a, double b, double c) {
  return FmaOdd(a, b, c, RoundMode::kNearest);
};
constexpr auto kEx2Half = [](double a) { return tarsia::Exp2(a); };
constexpr auto kTanhHalf = [](double a) { return tarsia::Tanh(a); };

template <typename H>
struct Abs {
  static uint16_t Compute(const Flags& flags, uint16_t a) {
    return (flags.ftz ? Flush<H>(a) : a) & 0x7FFF;
  }
};

template <typename H>
struct Neg {
  static uint16_t Compute(const Flags& flags, uint16_t a) {
    return (flags.ftz ? Flush<H>(a) : a) ^ 0x8000;
  }
};

template <typename H, bool kLess>
struct ExtremeHalf {
  static uint16_t Pick(uint16_t a, uint16_t b, bool nan) {
    if (IsNan<H>(a) || IsNan<H>(b)) {
      if (nan || (IsNan<H>(a) && IsNan<H>(b))) return 0x7FFF;
      return IsNan<H>(a) ? b : a;
    }
    // Codes as integers in the order of their values; -0 comes before +0.
    const auto order = [](uint16_t code) { return (code & 0x8000) != 0 ? 0x7FFF - code : code; };
    return (order(a) < order(b)) == kLess ? a : b;
  }
  static uint16_t Compute(const Flags& flags, uint16_t a, uint16_t b) {
    if (flags.ftz) {
      a = Flush<H>(a);
      b = Flush<H>(b);
    }
    if (!flags.xorsign) return Pick(a, b, flags.nan);
    const uint16_t picked = Pick(a & 0x7FFF, b & 0x7FFF, flags.nan);
    return IsNan<H>(picked) ? picked : static_cast<uint16_t>(picked | ((a ^ b) & 0x8000));
  }
};

template <typename Operation, typename Word, size_t... N>
Step Run(Warp& warp, const Inst& inst, const Flags& flags, std::index_sequence<N...> /*numbers*/) {
  uint8_t* dest = warp.Dest(inst.operands[0]);
  const uint8_t* const sources[] = {warp.Values(inst.operands[N + 1])...};
  ForLanes(warp.mask(), [&](int lane) {
    Word out = 0;
    for (size_t shift = 0; shift < sizeof(Word) * 8; shift += 16) {
      const uint16_t code = Operation::Compute(
          flags, static_cast<uint16_t>(LoadLane<Word>(sources[N], lane) >> shift)...);
      out = static_cast<Word>(out | (static_cast<Word>(code) << shift));
    }
    StoreLane(dest, lane, out);
  });
  return Step::kNext;
}

// Without modifiers, as nearly always, the compiler leaves their code out.
template <typename Operation, typename Word, int kSources>
Step RunWithFlags(Warp& warp, const Inst& inst) {
  constexpr auto kNumbers = std::make_index_sequence<kSources>();
  const Flags flags = FlagsOf(inst);
  if (flags == Flags()) return Run<Operation, Word>(warp, inst, Flags(), kNumbers);
  return Run<Operation, Word>(warp, inst, flags, kNumbers);
}

// One value or two, by the width of the type.
template <typename Operation, int kSources>
Handler ByWidth(Type type) {
  return BytesOf(type) == 2 ? &RunWithFlags<Operation, uint16_t, kSources>
                            : &RunWithFlags<Operation, uint32_t, kSources>;
}

// bf16 knows neither .ftz nor .sat, and .sat does not go with .relu.
bool FlagsFit(const Inst& inst) {
  if (!IsF16(inst.type[0]) && (inst.Has(Mod::kFtz) || inst.Has(Mod::kSat))) return false;
  return !inst.Has(Mod::kSat) || !inst.Has(Mod::kRelu);
}

template <auto F, int kSources>
Handler ArithmeticFor(const Inst& inst) {
  const Type type = inst.type[0];
  return IsF16(type) ? ByWidth<Arithmetic<F16, F>, kSources>(type)
                     : ByWidth<Arithmetic<BF16, F>, kSources>(type);
}

template <template <typename> typename Operation>
Handler SignFor(const Inst& inst) {
  if (!FlagsFit(inst)) return nullptr;
  const Type type = inst.type[0];
  return IsF16(type) ? ByWidth<Operation<F16>, 1>(type) : ByWidth<Operation<BF16>, 1>(type);
}

template <bool kLess>
Handler ExtremeFor(const Inst& inst) {
  if (!FlagsFit(inst)) return nullptr;
  const Type type = inst.type[0];
  return IsF16(type) ? ByWidth<ExtremeHalf<F16, kLess>, 2>(type)
                     : ByWidth<ExtremeHalf<BF16, kLess>, 2>(type);
}

}  // namespace

PTX_BIND(AddHalf) { return FlagsFit(inst) ? ArithmeticFor<kAddHalf, 2>(inst) : nullptr; }
PTX_BIND(SubHalf) { return FlagsFit(inst) ? ArithmeticFor<kSubHalf, 2>(inst) : nullptr; }
PTX_BIND(MulHalf) { return FlagsFit(inst) ? ArithmeticFor<kMulHalf, 2>(inst) : nullptr; }
PTX_BIND(FmaHalf) { return FlagsFit(inst) ? ArithmeticFor<kFma, 3>(inst) : nullptr; }
// bf16 always flushes, f16 never does.
PTX_BIND(Ex2Half) {
  if (inst.Has(Mod::kFtz) == IsF16(inst.type[0])) return nullptr;
  return ArithmeticFor<kEx2Half, 1>(inst);
}
PTX_BIND(TanhHalf) { return ArithmeticFor<kTanhHalf, 1>(inst); }
PTX_BIND(AbsHalf) { return SignFor<Abs>(inst); }
PTX_BIND(NegHalf) { return SignFor<Neg>(inst); }
PTX_BIND(MinHalf) { return ExtremeFor<true>(inst); }
PTX_BIND(MaxHalf) { return ExtremeFor<false>(inst); }

}  // namespace tarsia::ptx
