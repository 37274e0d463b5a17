#include "compiler/llvm/element/float_codec.h"

#include <algorithm>
#include <cmath>

#include "dtypes/exact.h"

namespace tarsia::compiler {
namespace {

using internal::MaxMagnitude;
using internal::Saturates;
using internal::UnusedLowBits;

// An IEEE format that values pass through: f32 or f64.
struct HubFormat {
  unsigned width;
  int mantissa;
  int bias;

  [[nodiscard]] uint64_t Hidden() const { return uint64_t{1} << mantissa; }
  [[nodiscard]] uint64_t Fraction() const { return Hidden() - 1; }
  [[nodiscard]] uint64_t Sign() const { return uint64_t{1} << (width - 1); }
  [[nodiscard]] uint64_t Infinity() const {
    return Sign() - Hidden();  // exponent field all ones
  }
};
constexpr HubFormat kHub32 = {32, 23, 127};
constexpr HubFormat kHub64 = {64, 52, 1023};

HubFormat FormatOf(HubFloat hub) { return hub.wide() ? kHub64 : kHub32; }

// Rounds a hub magnitude (sign cleared) to the magnitude code that the value has when the exponent
// field has no end. Values of 2^(width of the field) binades and more, infinities and NaNs give
// some code above the largest.
class MagnitudeRounder {
 public:
  MagnitudeRounder(Ir& ir, HubFormat hub, DType to)
      : ir_(ir),
        hub_(hub),
        mantissa_(to.mantissa),
        shift_(hub.mantissa - to.mantissa),
        least_field_(hub.bias + 1 - to.bias),
        subnormals_(least_field_ > 1) {}

  Value* Round(Value* magnitude, const RoundingMode& mode) {
    if (shift_ == 0) return magnitude;  // the hub's own format
    switch (mode.rounding) {
      case Rounding::kNearestEven:
        return Nearest(magnitude);
      case Rounding::kTowardZero:
        return Truncate(magnitude, nullptr);
      case Rounding::kStochastic:
        return Truncate(magnitude, mode.random);
    }
    return nullptr;
  }

 private:
  // Half an ulp less one is added, and one more where the kept part is odd; a carry goes up into
  // the exponent field as it should. Below the least normal number the hub's own addition rounds:
  // to 2^mantissa_ of the least steps it adds so much that its last place is one such step.
  Value* Nearest(Value* magnitude) {
    Value* odd = ir_.And(ir_.Shr(magnitude, Shift()), 1);
    Value* rounded = ir_.Add(ir_.Add(magnitude, (uint64_t{1} << (shift_ - 1)) - 1), odd);
    Value* code = Rebase(ir_.Shr(rounded, Shift()));
    if (!subnormals_) return code;
    const double magic = std::ldexp(1.0, least_field_ - hub_.bias - mantissa_ + hub_.mantissa);
    Value* sum = ir_.Bits(ir_.FAdd(ir_.AsFloat(magnitude), magic));
    Value* small = ir_.Sub(sum, ir_.Bits(Ir::Float(ir_.AsFloat(magnitude), magic)));
    return ir_.Select(ir_.Ult(magnitude, LeastNormal()), small, code);
  }

  // floor(value / least place + random / 2^32), random 0 if there is none.
  Value* Truncate(Value* magnitude, Value* random) {
    if (!subnormals_) {
      return random == nullptr ? Rebase(ir_.Shr(magnitude, Shift()))
                               : Rebase(AddRandom(magnitude, nullptr, random));
    }
    // The hidden bit in a value whose field is 0 does no harm: such values are too small for any
    // code but 0.
    Value* field = ir_.Shr(magnitude, static_cast<unsigned>(hub_.mantissa));
    const auto least = static_cast<uint64_t>(least_field_);
    Value* below = ir_.SubSat(least, field);
    Value* binade = ir_.Shl(ir_.SubSat(field, least), static_cast<unsigned>(mantissa_));
    Value* significand = ir_.Or(ir_.And(magnitude, hub_.Fraction()), hub_.Hidden());
    if (random != nullptr) return ir_.Add(binade, AddRandom(significand, below, random));
    Value* shift = ir_.Umin(ir_.Add(below, Shift()), hub_.width - 1);
    return ir_.Add(binade, ir_.b.CreateLShr(significand, shift));
  }

  // floor(x / 2^(shift_ + below) + random / 2^32): all bits of x down to 32 below the last place
  // in 64 bits, the rest cannot matter.
  Value* AddRandom(Value* x, Value* below, Value* random) {
    const int guard = std::min(shift_, 32);  // bits of x below the last place that are kept anyway
    Value* fixed = ir_.Shl(ir_.Zext(x, 64), static_cast<unsigned>(32 - guard));
    fixed = ir_.Shr(fixed, static_cast<unsigned>(shift_ - guard));
    if (below != nullptr) {
      fixed = ir_.b.CreateLShr(fixed, ir_.Umin(ir_.Zext(below, 64), 63));
    }
    Value* sum = ir_.Add(fixed, ir_.Zext(random, 64));
    return ir_.Zext(ir_.Shr(sum, 32), hub_.width);
  }

  // From the hub's exponent field to the type's.
  Value* Rebase(Value* code) {
    return ir_.Sub(code, static_cast<uint64_t>(least_field_ - 1) << mantissa_);
  }
  [[nodiscard]] unsigned Shift() const { return static_cast<unsigned>(shift_); }
  [[nodiscard]] uint64_t LeastNormal() const {
    return static_cast<uint64_t>(least_field_) << hub_.mantissa;
  }

  Ir& ir_;
  HubFormat hub_;
  int mantissa_;
  int shift_;
  int least_field_;  // the hub's exponent field of the type's least normal number
  bool subnormals_;  // whether that is not the hub's own least one
};

// Applies the overflow rule to a magnitude code. `infinite`: the value was an infinity.
Value* LimitMagnitude(Ir& ir, Value* code, Value* infinite, DType to, const RoundingMode& mode) {
  const uint64_t most = MaxMagnitude(to);
  if (Saturates(to, mode.overflow)) return ir.Umin(code, most);
  // Infinity, and the NaN of fn types, is the code after the largest. That of fnuz is 0 with the
  // sign set: see FnuzCode.
  if (mode.rounding != Rounding::kTowardZero) return ir.Umin(code, most + 1);
  return ir.Select(infinite, most + 1, ir.Umin(code, most));
}

// A code of an fnuz type from its magnitude: no -0, and 0x80 for NaN and what overflows to it.
Value* FnuzCode(Ir& ir, Value* magnitude, Value* sign, Value* is_nan, DType to) {
  Value* special = ir.b.CreateOr(is_nan, ir.Ugt(magnitude, MaxMagnitude(to)));
  Value* code = ir.Select(ir.Eq(magnitude, 0), uint64_t{0}, ir.Or(magnitude, sign));
  return ir.Select(special, uint64_t{0x80}, code);
}

}  // namespace

bool FitsHalf(DType type) {
  const bool top_is_infinity = type.specials == Specials::kIeee;
  return type.exponent < kF16.exponent || (type.exponent == kF16.exponent && top_is_infinity);
}

namespace {

// The magnitude of a code, moved to the places of `format`: the value times 2^(type.bias -
// format.bias).
Value* MoveMagnitude(Ir& ir, Value* code, DType type, DType format) {
  Value* magnitude = ir.And(ir.Zext(code, format.bits), CodeMask(type) >> 1);
  return ir.Shl(magnitude, static_cast<unsigned>(format.mantissa - type.mantissa));
}

// Its sign, at the top.
Value* MoveSign(Ir& ir, Value* code, DType type, DType format) {
  Value* moved = ir.Shl(ir.Zext(code, format.bits), static_cast<unsigned>(format.bits - type.bits));
  return ir.And(moved, uint64_t{1} << (format.bits - 1));
}

// One multiplication corrects the exponent. It is exact, subnormals included.
Value* MoveBits(Ir& ir, Value* code, DType type, DType format) {
  Value* bits = MoveMagnitude(ir, code, type, format);
  if (format.bias != type.bias) {
    Value* moved = format == kF16 ? ir.AsHalf(bits) : ir.AsFloat(bits);
    bits = ir.Bits(ir.FMul(moved, std::ldexp(1.0, format.bias - type.bias)));
  }
  return ir.Or(bits, MoveSign(ir, code, type, format));
}

// Replaces the bits of codes that are no finite numbers, for which moving bits is wrong.
Value* MendSpecials(Ir& ir, Value* bits, Value* code, DType type, DType format) {
  if (!type.HasNan()) return bits;
  const bool same_specials = type.specials == Specials::kIeee && type.exponent == format.exponent;
  if (same_specials && type.bias == format.bias) return bits;
  const uint64_t sign = uint64_t{1} << (format.bits - 1);
  const uint64_t infinity = MaxFiniteCode(format) + 1;
  const uint64_t quiet_nan = internal::NanCode(format, false);
  if (type.specials == Specials::kFnuz) {
    return ir.Select(ir.Eq(code, 0x80), sign | quiet_nan, bits);
  }
  Value* magnitude = ir.And(code, CodeMask(type) >> 1);
  const uint64_t most = MaxMagnitude(type);
  Value* special = type.HasInfinity()
                       ? ir.Select(ir.Eq(magnitude, most + 1), Ir::Const(bits, infinity),
                                   Ir::Const(bits, quiet_nan))
                       : Ir::Const(bits, quiet_nan);
  special = ir.Or(special, ir.And(bits, sign));
  return ir.Select(ir.Ugt(magnitude, most), special, bits);
}

}  // namespace

Value* DecodeSmallFloat(Ir& ir, Value* code, DType type) {
  return MendSpecials(ir, MoveBits(ir, code, type, kF32), code, type, kF32);
}

Value* DecodeSmallFloatToHalf(Ir& ir, Value* code, DType type) {
  return MendSpecials(ir, MoveBits(ir, code, type, kF16), code, type, kF16);
}

Value* DecodeExponent(Ir& ir, Value* code) {
  Value* field = ir.Shl(ir.Zext(code, 32), 23);
  Value* least = ir.Select(ir.Eq(code, 0), uint64_t{0x00400000}, field);
  return ir.Select(ir.Eq(code, 0xFF), uint64_t{0x7FC00000}, least);
}

Value* WithSign(Ir& ir, Value* magnitude, Value* signed_bits, Value* is_nan, DType type) {
  const int sign_place = type.bits - 1;
  const int from_place = static_cast<int>(Ir::Width(signed_bits)) - 1;
  Value* sign = signed_bits;
  if (from_place > sign_place) sign = ir.Shr(sign, static_cast<unsigned>(from_place - sign_place));
  sign = ir.Zext(sign, Ir::Width(magnitude));
  if (from_place < sign_place) sign = ir.Shl(sign, static_cast<unsigned>(sign_place - from_place));
  sign = ir.And(sign, uint64_t{1} << sign_place);
  if (type.specials == Specials::kFnuz) return FnuzCode(ir, magnitude, sign, is_nan, type);
  Value* code = ir.Or(magnitude, sign);
  Value* nan = Ir::Const(code, internal::NanCode(type, false));
  if (type.HasNan()) nan = ir.Or(sign, nan);
  return ir.Select(is_nan, nan, code);
}

Value* EncodeFloat(Ir& ir, HubFloat from, DType to, const RoundingMode& mode) {
  const HubFormat hub = FormatOf(from);
  Value* magnitude = ir.And(from.bits, hub.Sign() - 1);
  Value* code = MagnitudeRounder(ir, hub, to).Round(magnitude, mode);
  code = LimitMagnitude(ir, code, ir.Eq(magnitude, hub.Infinity()), to, mode);
  const unsigned width = static_cast<unsigned>(ContainerBytes(to)) * 8;
  // Types of at most 8 bits are compared in 32 bits, because PTX has no shorter comparisons.
  const unsigned working = std::min(hub.width, std::max(width, 32u));
  code = ir.Shl(ir.Zext(code, working), static_cast<unsigned>(UnusedLowBits(to)));
  code = WithSign(ir, code, from.bits, ir.Ugt(magnitude, hub.Infinity()), to);
  return ir.Zext(code, width);
}

namespace {

// A magnitude on a scale where the exponent field is the code of e8m0 and the fraction the rest,
// 0 for all below 2^-127. In f32 the values from 2^-127 to 2^-126 are subnormal: doubled, they look
// like the normal ones.
Value* ExponentScale(Ir& ir, const HubFormat& hub, Value* magnitude) {
  if (hub.width == 64) {
    const auto least = static_cast<uint64_t>(hub.bias - kE8M0.bias) << hub.mantissa;
    return ir.SubSat(magnitude, least);
  }
  Value* doubled = ir.SubSat(ir.Shl(magnitude, 1), hub.Hidden());
  return ir.Select(ir.Ult(magnitude, hub.Hidden()), doubled, magnitude);
}

Value* RoundExponent(Ir& ir, const HubFormat& hub, Value* scaled, const RoundingMode& mode) {
  const auto shift = static_cast<unsigned>(hub.mantissa);
  switch (mode.rounding) {
    case Rounding::kTowardZero:
      return ir.Shr(scaled, shift);
    case Rounding::kNearestEven: {
      Value* odd = ir.And(ir.Shr(scaled, shift), 1);
      return ir.Shr(ir.Add(ir.Add(scaled, hub.Hidden() / 2 - 1), odd), shift);
    }
    case Rounding::kStochastic: {
      Value* fixed = ir.ShiftLeft(ir.Zext(scaled, 64), 32 - hub.mantissa);
      Value* sum = ir.Add(fixed, ir.Zext(mode.random, 64));
      return ir.Zext(ir.Shr(sum, 32), hub.width);
    }
  }
  return nullptr;
}

}  // namespace

Value* EncodeExponent(Ir& ir, HubFloat from, const RoundingMode& mode) {
  const HubFormat hub = FormatOf(from);
  Value* magnitude = ir.And(from.bits, hub.Sign() - 1);
  Value* code = RoundExponent(ir, hub, ExponentScale(ir, hub, magnitude), mode);
  code = LimitMagnitude(ir, code, ir.Eq(magnitude, hub.Infinity()), kE8M0, mode);
  code = ir.Select(ir.Negative(from.bits), uint64_t{0}, code);
  code = ir.Select(ir.Ugt(magnitude, hub.Infinity()), uint64_t{0xFF}, code);
  return ir.Zext(code, 8);
}

}  // namespace tarsia::compiler
