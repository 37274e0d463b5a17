// cvt.
#include <algorithm>
#include <limits>

#include "ptx/exec/exec.h"
#include "ptx/exec/round.h"
#include "ptx/machine/numeric.h"

namespace tarsia::ptx {
namespace {

// An integer of any type, with room for both signs.
using Integer = __int128;

Integer ReadInteger(uint64_t bits, Type type) {
  const int width = InfoOf(type).bits;
  const uint64_t value = bits & AllBits(width / 8);
  if (!IsSigned(type) || (value >> (width - 1)) == 0) return value;
  return static_cast<Integer>(value) - (static_cast<Integer>(1) << width);
}

Integer LeastOf(Type type) {
  return IsSigned(type) ? -(static_cast<Integer>(1) << (InfoOf(type).bits - 1)) : 0;
}
Integer MostOf(Type type) {
  return (static_cast<Integer>(1) << (InfoOf(type).bits - (IsSigned(type) ? 1 : 0))) - 1;
}

// Truncated to its type, and extended to the register's 64 bits.
uint64_t WriteInteger(Integer value, Type type) {
  return static_cast<uint64_t>(ReadInteger(static_cast<uint64_t>(value), type));
}

const FloatFormat& FormatOf(Type type) {
  if (type == Type::kF16) return kFormatF16;
  return type == Type::kBF16 ? kFormatBF16 : kFormatF32;
}

double ReadFloat(uint64_t bits, Type type) {
  if (type == Type::kF64) return std::bit_cast<double>(bits);
  const auto code = static_cast<uint32_t>(bits & AllBits(BytesOf(type)));
  return FromFormat(code, FormatOf(type));
}

// Rounded once; `value` is exact or rounded to odd.
uint64_t WriteFloat(double value, Type type, RoundMode mode) {
  if (type == Type::kF64) return std::bit_cast<uint64_t>(value);
  return RoundToFormat(value, FormatOf(type), mode);
}

uint64_t IntegerToFloat(Integer value, Type type, RoundMode mode) {
  const bool negative = value < 0;
  const auto magnitude = static_cast<uint64_t>(negative ? -value : value);
  const double exact = type == Type::kF64 ? IntegerToF64(negative, magnitude, mode)
                                          : IntegerToOdd(negative, magnitude);
  return WriteFloat(exact, type, mode);
}

// Beyond the type's range the nearest end; NaN is zero, or for 64 bits and f64 the highest bit.
uint64_t FloatToInteger(double value, Type from, Type to, RoundMode mode) {
  if (std::isnan(value)) {
    if (from != Type::kF64 && InfoOf(to).bits != 64) return 0;
    return WriteInteger(static_cast<Integer>(1) << (InfoOf(to).bits - 1), to);
  }
  const double whole = RoundToIntegral(value, mode);
  if (whole <= static_cast<double>(LeastOf(to))) return WriteInteger(LeastOf(to), to);
  if (whole >= static_cast<double>(MostOf(to))) return WriteInteger(MostOf(to), to);
  return WriteInteger(static_cast<Integer>(whole), to);
}

bool RoundsToIntegral(const Inst& inst) {
  return inst.Has(Mod::kRni) || inst.Has(Mod::kRzi) || inst.Has(Mod::kRmi) || inst.Has(Mod::kRpi);
}

uint64_t FloatToFloat(const Inst& inst, double value, uint64_t bits) {
  const Type to = inst.type[0];
  const Type from = inst.type[1];
  const RoundMode mode = RoundingOf(inst);
  if (RoundsToIntegral(inst)) value = RoundToIntegral(value, mode);
  if (inst.Has(Mod::kSat)) {
    value = std::isnan(value) || value <= 0 ? 0.0 : std::min(value, 1.0);
  } else if (from == to && !RoundsToIntegral(inst) && !std::isnan(value)) {
    return bits;
  }
  return WriteFloat(value, to, mode);
}

Step Convert(Warp& warp, const Inst& inst) {
  const Type to = inst.type[0];
  const Type from = inst.type[1];
  const RoundMode mode = RoundingOf(inst);
  const bool ftz = inst.Has(Mod::kFtz);
  const Operand& source = inst.operands[1];
  const Operand& dest = inst.operands[0];
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t bits = warp.Bits(source, lane);
    if (!IsFloat(from)) {
      const Integer value = ReadInteger(bits, from);
      uint64_t out = IsFloat(to) ? IntegerToFloat(value, to, mode) : WriteInteger(value, to);
      if (inst.Has(Mod::kSat) && IsFloat(to)) {
        out = WriteFloat(value <= 0 ? 0.0 : 1.0, to, mode);
      }
      return warp.SetBits(dest, lane, out);
    }
    double value = ReadFloat(bits, from);
    if (ftz && from == Type::kF32) value = FlushF32(static_cast<float>(value));
    uint64_t out = 0;
    if (IsFloat(to)) {
      out = FloatToFloat(inst, value, ftz ? WriteFloat(value, from, mode) : bits);
      if (ftz && to == Type::kF32) {
        out = std::bit_cast<uint32_t>(FlushF32(std::bit_cast<float>(static_cast<uint32_t>(out))));
      }
    } else {
      out = FloatToInteger(value, from, to, mode);
    }
    warp.SetBits(dest, lane, out);
  });
  return Step::kNext;
}

Step ConvertInteger(Warp& warp, const Inst& inst) {
  const Type to = inst.type[0];
  const bool sat = inst.Has(Mod::kSat);
  ForLanes(warp.mask(), [&](int lane) {
    Integer value = ReadInteger(warp.Bits(inst.operands[1], lane), inst.type[1]);
    if (sat) value = std::clamp(value, LeastOf(to), MostOf(to));
    warp.SetBits(inst.operands[0], lane, WriteInteger(value, to));
  });
  return Step::kNext;
}

// The common case of integers: what of a register S is a T, extended to a register D.
template <typename S, typename T, typename D>
Step Extend(Warp& warp, const Inst& inst) {
  return Map<[](S a) { return static_cast<D>(static_cast<T>(a)); }, D, S>(warp, inst);
}

template <typename S, typename T>
Handler ExtendTo(int bytes) {
  if (bytes == 2) return &Extend<S, T, uint16_t>;
  return bytes == 4 ? &Extend<S, T, uint32_t> : &Extend<S, T, uint64_t>;
}

template <typename T>
Handler ExtendFrom(const Inst& inst) {
  const int from = inst.operands[1].bytes;
  const int to = inst.operands[0].bytes;
  if (from == 2) return ExtendTo<uint16_t, T>(to);
  return from == 4 ? ExtendTo<uint32_t, T>(to) : ExtendTo<uint64_t, T>(to);
}

// Cut to the narrower of both types and extended by its sign; null if the types and the registers
// are such that this is not all.
Handler ExtendFor(const Inst& inst) {
  const bool narrows = BytesOf(inst.type[0]) <= BytesOf(inst.type[1]);
  const Type kept = inst.type[narrows ? 0 : 1];
  if (!narrows && inst.operands[0].bytes != BytesOf(inst.type[0])) return nullptr;
  if (inst.operands[0].bytes == 1 || inst.operands[1].bytes == 1) return nullptr;
  if (BytesOf(kept) == 1) {
    return IsSigned(kept) ? ExtendFrom<int8_t>(inst) : ExtendFrom<uint8_t>(inst);
  }
  return ForInteger(kept, [&]<typename T>(T) -> Handler { return ExtendFrom<T>(inst); });
}

// ---- the common cases that round, without other modifiers -----------------------------------

// From f32 in its own register to 16 bits, to nearest.
template <FloatFormat kInto>
Step NarrowToNearest(Warp& warp, const Inst& inst) {
  return Map<[](float a) { return static_cast<uint16_t>(NearestCode(double{a}, kInto)); }, uint16_t,
             float>(warp, inst);
}

// From 16 bits to f32, which is exact.
template <FloatFormat kFrom>
Step Widen(Warp& warp, const Inst& inst) {
  return Map<[](uint16_t a) { return CanonicalF32(static_cast<float>(FromFormat(a, kFrom))); },
             float, uint16_t>(warp, inst);
}

template <typename T>
Step IntegerToF32(Warp& warp, const Inst& inst) {
  return Map<[](T a) { return static_cast<float>(a); }, float, T>(warp, inst);
}

// Null if the conversion is none of them.
Handler CommonCase(const Inst& inst) {
  const Type to = inst.type[0];
  const Type from = inst.type[1];
  const bool fits =
      inst.operands[0].bytes == BytesOf(to) && inst.operands[1].bytes == BytesOf(from);
  if (!fits || inst.Has(Mod::kSat) || inst.Has(Mod::kFtz)) return nullptr;
  if (to == Type::kF32 && from == Type::kF16) return &Widen<kFormatF16>;
  if (to == Type::kF32 && from == Type::kBF16) return &Widen<kFormatBF16>;
  if (!inst.Has(Mod::kRn)) return nullptr;
  if (from == Type::kF32 && to == Type::kF16) return &NarrowToNearest<kFormatF16>;
  if (from == Type::kF32 && to == Type::kBF16) return &NarrowToNearest<kFormatBF16>;
  if (to != Type::kF32) return nullptr;
  if (from == Type::kS32) return &IntegerToF32<int32_t>;
  return from == Type::kU32 ? &IntegerToF32<uint32_t> : nullptr;
}

// ---- to narrow formats --------------------------------------------------------------------------

// Negative values (not NaN) become zero where relu is asked for.
uint32_t Narrowed(const Inst& inst, double value, const FloatFormat& format) {
  if (inst.Has(Mod::kRelu) && std::signbit(value) && !std::isnan(value)) value = 0;
  return RoundToFormat(value, format, RoundingOf(inst), inst.Has(Mod::kSatfinite));
}

template <FloatFormat kFormat>
Step Narrow(Warp& warp, const Inst& inst) {
  ForLanes(warp.mask(), [&](int lane) {
    const auto value = warp.Get<float>(inst.operands[1], lane);
    warp.SetBits(inst.operands[0], lane, Narrowed(inst, double{value}, kFormat));
  });
  return Step::kNext;
}

// d = {a, b}: a goes to the upper half.
template <FloatFormat kFormat, int kBits>
Step NarrowPair(Warp& warp, const Inst& inst) {
  ForLanes(warp.mask(), [&](int lane) {
    const auto high = warp.Get<float>(inst.operands[1], lane);
    const auto low = warp.Get<float>(inst.operands[2], lane);
    const uint32_t bits =
        Narrowed(inst, double{low}, kFormat) | Narrowed(inst, double{high}, kFormat) << kBits;
    warp.SetBits(inst.operands[0], lane, bits);
  });
  return Step::kNext;
}

template <FloatFormat kFrom, int kFromBits, FloatFormat kInto, int kIntoBits>
Step ConvertPair(Warp& warp, const Inst& inst) {
  ForLanes(warp.mask(), [&](int lane) {
    const auto bits = static_cast<uint32_t>(warp.Bits(inst.operands[1], lane));
    const uint32_t mask = (uint32_t{1} << kFromBits) - 1;
    const uint32_t low = Narrowed(inst, FromFormat(bits & mask, kFrom), kInto);
    const uint32_t high = Narrowed(inst, FromFormat(bits >> kFromBits & mask, kFrom), kInto);
    warp.SetBits(inst.operands[0], lane, low | high << kIntoBits);
  });
  return Step::kNext;
}

// d = {a, b} saturated to 16 bits; d = {c's low half, a, b} saturated to 8.
Step PackIntegers(Warp& warp, const Inst& inst) {
  const Type to = inst.type[0];
  const int bits = InfoOf(to).bits;
  ForLanes(warp.mask(), [&](int lane) {
    const auto saturated = [&](int operand) {
      const Integer value = warp.Get<int32_t>(inst[operand], lane);
      return static_cast<uint32_t>(std::clamp(value, LeastOf(to), MostOf(to))) &
             static_cast<uint32_t>(AllBits(bits / 8));
    };
    uint32_t out = saturated(1) << bits | saturated(2);
    if (bits == 8) out |= warp.Get<uint32_t>(inst[3], lane) << 16;
    warp.SetBits(inst[0], lane, out);
  });
  return Step::kNext;
}

}  // namespace

PTX_BIND(CvtInt) {
  const bool all_fit = LeastOf(inst.type[1]) >= LeastOf(inst.type[0]) &&
                       MostOf(inst.type[1]) <= MostOf(inst.type[0]);
  if (inst.Has(Mod::kSat) && all_fit) return nullptr;  // there is nothing to saturate
  const Handler extend = inst.Has(Mod::kSat) ? nullptr : ExtendFor(inst);
  return extend != nullptr ? extend : &ConvertInteger;
}
PTX_BIND(Cvt) {
  const Handler common = CommonCase(inst);
  return common != nullptr ? common : &Convert;
}
PTX_BIND(CvtNarrow) {
  if (inst.type[0] == Type::kTF32) return &Narrow<kFormatTF32>;
  if (inst.Has(Mod::kRna)) return nullptr;
  return inst.type[0] == Type::kF16 ? &Narrow<kFormatF16> : &Narrow<kFormatBF16>;
}
PTX_BIND(CvtPair) {
  return inst.type[0] == Type::kF16X2 ? &NarrowPair<kFormatF16, 16> : &NarrowPair<kFormatBF16, 16>;
}
PTX_BIND(CvtF8Pair) {
  return inst.type[0] == Type::kE4M3X2 ? &NarrowPair<kFormatE4M3, 8> : &NarrowPair<kFormatE5M2, 8>;
}
PTX_BIND(CvtF8Half) {
  return inst.type[0] == Type::kE4M3X2 ? &ConvertPair<kFormatF16, 16, kFormatE4M3, 8>
                                       : &ConvertPair<kFormatF16, 16, kFormatE5M2, 8>;
}
PTX_BIND(CvtHalfF8) {
  return inst.type[1] == Type::kE4M3X2 ? &ConvertPair<kFormatE4M3, 8, kFormatF16, 16>
                                       : &ConvertPair<kFormatE5M2, 8, kFormatF16, 16>;
}
PTX_BIND(CvtPack) { return &PackIntegers; }
PTX_BIND(CvtPackBytes) { return &PackIntegers; }

}  // namespace tarsia::ptx
