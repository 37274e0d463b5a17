// set and setp.
#include <cmath>

#include "ptx/exec/exec.h"
#include "ptx/machine/numeric.h"

namespace tarsia::ptx {
namespace {

// The comparisons, by the operator's number below. The unordered ones hold if an operand is NaN.
enum class Compare : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kNum, kNan };

struct Comparison {
  Compare compare = Compare::kEq;
  bool unordered = false;
  bool as_unsigned = false;  // lo, ls, hi, hs
};

Comparison ComparisonOf(const Inst& inst) {
  struct Name {
    Mod mod;
    Comparison comparison;
  };
  static constexpr Name kNames[] = {
      {Mod::kEq, {Compare::kEq, false, false}},   {Mod::kNe, {Compare::kNe, false, false}},
      {Mod::kLt, {Compare::kLt, false, false}},   {Mod::kLe, {Compare::kLe, false, false}},
      {Mod::kGt, {Compare::kGt, false, false}},   {Mod::kGe, {Compare::kGe, false, false}},
      {Mod::kLo, {Compare::kLt, false, true}},    {Mod::kLs, {Compare::kLe, false, true}},
      {Mod::kHi, {Compare::kGt, false, true}},    {Mod::kHs, {Compare::kGe, false, true}},
      {Mod::kEqu, {Compare::kEq, true, false}},   {Mod::kNeu, {Compare::kNe, true, false}},
      {Mod::kLtu, {Compare::kLt, true, false}},   {Mod::kLeu, {Compare::kLe, true, false}},
      {Mod::kGtu, {Compare::kGt, true, false}},   {Mod::kGeu, {Compare::kGe, true, false}},
      {Mod::kNum, {Compare::kNum, false, false}}, {Mod::kNan, {Compare::kNan, false, false}},
  };
  for (const Name& name : kNames) {
    if (inst.Has(name.mod)) return name.comparison;
  }
  return {};
}

template <typename T>
bool Holds(const Comparison& comparison, T a, T b) {
  bool nan = false;
  if constexpr (std::is_floating_point_v<T>) nan = std::isnan(a) || std::isnan(b);
  switch (comparison.compare) {
    case Compare::kNum:
      return !nan;
    case Compare::kNan:
      return nan;
    case Compare::kEq:
      return nan ? comparison.unordered : a == b;
    case Compare::kNe:
      return nan ? comparison.unordered : a != b;
    case Compare::kLt:
      return nan ? comparison.unordered : a < b;
    case Compare::kLe:
      return nan ? comparison.unordered : a <= b;
    case Compare::kGt:
      return nan ? comparison.unordered : a > b;
    case Compare::kGe:
      return nan ? comparison.unordered : a >= b;
  }
  return false;
}

uint32_t Combine(const Inst& inst, uint32_t lanes, uint32_t with) {
  if (inst.Has(Mod::kAnd)) return lanes & with;
  if (inst.Has(Mod::kOr)) return lanes | with;
  return inst.Has(Mod::kXor) ? lanes ^ with : lanes;
}

// The lanes in which the comparison of operands `a` and `b` holds; Read gives what is compared.
template <typename T, auto Read, typename Raw>
uint32_t CompareLanes(Warp& warp, const Inst& inst, const Operand& a, const Operand& b) {
  const Comparison comparison = ComparisonOf(inst);
  const bool ftz = inst.Has(Mod::kFtz);
  const uint8_t* left = warp.Values(a);
  const uint8_t* right = warp.Values(b);
  uint32_t lanes = 0;
  ForLanes(warp.mask(), [&](int lane) {
    const T x = Call<Read>(LoadLane<Raw>(left, lane), ftz);
    const T y = Call<Read>(LoadLane<Raw>(right, lane), ftz);
    lanes |= static_cast<uint32_t>(Holds(comparison, x, y)) << lane;
  });
  return lanes;
}

template <typename T, auto Read, typename Raw>
Step Setp(Warp& warp, const Inst& inst) {
  const uint32_t lanes = CompareLanes<T, Read, Raw>(warp, inst, inst[2], inst[3]);
  const uint32_t with = inst.CountAt(4) != 0 ? warp.Predicate(inst[4]) : 0;
  warp.SetPredicate(inst[0], Combine(inst, lanes, with));
  if (inst.CountAt(1) != 0) warp.SetPredicate(inst[1], Combine(inst, ~lanes, with));
  return Step::kNext;
}

constexpr auto kAsIs = [](auto value, bool) { return value; };
constexpr auto kF32 = [](float value, bool ftz) { return ftz ? FlushF32(value) : value; };

// What an integer is compared as.
template <typename Maker>
Handler ForCompared(const Inst& inst, Type type, const Maker& maker) {
  const bool is_signed = IsSigned(type) && !ComparisonOf(inst).as_unsigned;
  const int bytes = BytesOf(type);
  const Type as = is_signed ? (bytes == 2   ? Type::kS16
                               : bytes == 4 ? Type::kS32
                                            : Type::kS64)
                            : (bytes == 2   ? Type::kU16
                               : bytes == 4 ? Type::kU32
                                            : Type::kU64);
  return ForInteger(as, maker);
}

constexpr auto kF16 = [](uint16_t code, bool ftz) {
  const bool subnormal = (code & 0x7C00) == 0;
  return FromFormat(ftz && subnormal ? code & 0x8000 : code, kFormatF16);
};
constexpr auto kBF16 = [](uint16_t code, bool) { return FromFormat(code, kFormatBF16); };

// set: what stands for true in the destination's type.
uint64_t TrueOf(Type type) {
  if (type == Type::kF32) return 0x3F800000;
  if (type == Type::kF16) return 0x3C00;
  if (type == Type::kBF16) return 0x3F80;
  return ~uint64_t{0};
}

template <typename T, auto Read, typename Raw>
Step Set(Warp& warp, const Inst& inst) {
  const uint32_t compared = CompareLanes<T, Read, Raw>(warp, inst, inst[1], inst[2]);
  const uint32_t with = inst.CountAt(3) != 0 ? warp.Predicate(inst[3]) : 0;
  const uint32_t lanes = Combine(inst, compared, with);
  const uint64_t value = TrueOf(inst.type[0]);
  ForLanes(warp.mask(),
           [&](int lane) { warp.SetBits(inst[0], lane, (lanes >> lane & 1) != 0 ? value : 0); });
  return Step::kNext;
}

// Compares the 16-bit halves at `shift` of two packed operands.
template <auto Read>
uint32_t CompareHalves(Warp& warp, const Inst& inst, const Operand& a, const Operand& b,
                       int shift) {
  const Comparison comparison = ComparisonOf(inst);
  const bool ftz = inst.Has(Mod::kFtz);
  uint32_t lanes = 0;
  ForLanes(warp.mask(), [&](int lane) {
    const auto x = Call<Read>(static_cast<uint16_t>(warp.Get<uint32_t>(a, lane) >> shift), ftz);
    const auto y = Call<Read>(static_cast<uint16_t>(warp.Get<uint32_t>(b, lane) >> shift), ftz);
    lanes |= static_cast<uint32_t>(Holds(comparison, x, y)) << lane;
  });
  return lanes;
}

// p of the low halves, q of the high ones.
template <auto Read>
Step SetpHalves(Warp& warp, const Inst& inst) {
  const uint32_t low = CompareHalves<Read>(warp, inst, inst[2], inst[3], 0);
  const uint32_t high = CompareHalves<Read>(warp, inst, inst[2], inst[3], 16);
  const uint32_t with = inst.CountAt(4) != 0 ? warp.Predicate(inst[4]) : 0;
  warp.SetPredicate(inst[0], Combine(inst, low, with));
  if (inst.CountAt(1) != 0) warp.SetPredicate(inst[1], Combine(inst, high, with));
  return Step::kNext;
}

template <auto Read>
Step SetHalves(Warp& warp, const Inst& inst) {
  const uint32_t with = inst.CountAt(3) != 0 ? warp.Predicate(inst[3]) : 0;
  const uint32_t low = Combine(inst, CompareHalves<Read>(warp, inst, inst[1], inst[2], 0), with);
  const uint32_t high = Combine(inst, CompareHalves<Read>(warp, inst, inst[1], inst[2], 16), with);
  const uint32_t one = inst.type[0] == Type::kF16X2 ? 0x3C00 : 0x3F80;
  ForLanes(warp.mask(), [&](int lane) {
    const uint32_t bits = (low >> lane & 1) * one | (high >> lane & 1) * (one << 16);
    warp.SetBits(inst[0], lane, bits);
  });
  return Step::kNext;
}

template <typename T>
bool Tests(const Inst& inst, T value) {
  if (inst.Has(Mod::kFinite)) return std::isfinite(value);
  if (inst.Has(Mod::kInfinite)) return std::isinf(value);
  if (inst.Has(Mod::kNumber)) return !std::isnan(value);
  if (inst.Has(Mod::kNotANumber)) return std::isnan(value);
  if (inst.Has(Mod::kNormal)) return std::isnormal(value);
  return std::fpclassify(value) == FP_SUBNORMAL;
}

template <typename T>
Step Testp(Warp& warp, const Inst& inst) {
  uint32_t lanes = 0;
  ForLanes(warp.mask(), [&](int lane) {
    lanes |= static_cast<uint32_t>(Tests(inst, warp.Get<T>(inst[1], lane))) << lane;
  });
  warp.SetPredicate(inst[0], lanes);
  return Step::kNext;
}

// Bits are equal or not; lo, ls, hi and hs are of unsigned numbers.
bool Compares(const Inst& inst, Type type) {
  if (inst.Has(Mod::kLo) || inst.Has(Mod::kLs) || inst.Has(Mod::kHi) || inst.Has(Mod::kHs)) {
    return InfoOf(type).kind == TypeKind::kUnsigned;
  }
  return InfoOf(type).kind != TypeKind::kBits || inst.Has(Mod::kEq) || inst.Has(Mod::kNe);
}

}  // namespace

PTX_BIND(SetpInt) {
  if (!Compares(inst, inst.type[0])) return nullptr;
  return ForCompared(inst, inst.type[0],
                     []<typename T>(T) -> Handler { return &Setp<T, kAsIs, T>; });
}
PTX_BIND(SetpF32) { return &Setp<float, kF32, float>; }
PTX_BIND(SetpF64) { return &Setp<double, kAsIs, double>; }

PTX_BIND(SetpHalf) {
  if (inst.Has(Mod::kFtz) && !IsF16(inst.type[0])) return nullptr;
  if (inst.type[0] == Type::kF16) return &Setp<double, kF16, uint16_t>;
  if (inst.type[0] == Type::kF16X2) return &SetpHalves<kF16>;
  return inst.type[0] == Type::kBF16 ? &Setp<double, kBF16, uint16_t> : &SetpHalves<kBF16>;
}
PTX_BIND(SetInt) {
  if (!Compares(inst, inst.type[1])) return nullptr;
  return ForCompared(inst, inst.type[1],
                     []<typename T>(T) -> Handler { return &Set<T, kAsIs, T>; });
}
PTX_BIND(SetF32) { return &Set<float, kF32, float>; }
PTX_BIND(SetF64) { return &Set<double, kAsIs, double>; }
PTX_BIND(SetHalf) {
  const bool crossed = IsFloat(inst.type[0]) && inst.type[0] != inst.type[1];
  if (crossed || (inst.Has(Mod::kFtz) && !IsF16(inst.type[1]))) return nullptr;
  return inst.type[1] == Type::kF16 ? &Set<double, kF16, uint16_t> : &Set<double, kBF16, uint16_t>;
}
PTX_BIND(SetHalf2) {
  if (inst.type[0] != inst.type[1]) return nullptr;
  if (inst.Has(Mod::kFtz) && !IsF16(inst.type[1])) return nullptr;
  return inst.type[1] == Type::kF16X2 ? &SetHalves<kF16> : &SetHalves<kBF16>;
}
PTX_BIND(Testp) { return inst.type[0] == Type::kF32 ? &Testp<float> : &Testp<double>; }

}  // namespace tarsia::ptx
