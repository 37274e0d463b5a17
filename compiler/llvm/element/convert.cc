#include "compiler/llvm/element/convert.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/llvm/element/float_codec.h"
#include "compiler/llvm/element/instruction.h"
#include "compiler/llvm/element/ir.h"
#include "dtypes/exact.h"

namespace tarsia::compiler {
namespace {

using internal::Saturates;
using llvm::Intrinsic::ID;

// One cast between types that are not complex, whose meaning is not the identity of codes.
class Caster {
 public:
  Caster(Ir& ir, Target target, const CastRequest& cast)
      : ir_(ir),
        b_(ir.b),
        target_(target),
        value_(cast.value),
        from_(cast.from),
        to_(cast.to),
        mode_{cast.options.rounding, cast.options.overflow, cast.random} {
    if (from_.IsBool()) {
      from_ = kU1;
      value_ = ir.Zext(value_, 8);
    }
  }

  Value* Run() {
    if (to_.IsBool()) return Truth();
    if (to_.IsInteger()) return from_.IsInteger() ? IntegerToInteger() : FloatToInteger();
    return from_.IsInteger() ? IntegerToFloat() : FloatToFloat(Hub());
  }

 private:
  // --- to bool ---

  Value* Truth() {
    if (from_.IsInteger()) return ir_.Ne(value_, 0);
    HubFloat hub = Hub();
    return ir_.Ne(ir_.Shl(hub.bits, 1), 0);
  }

  // --- to integers ---

  // An integer's value in 32 bits, or 64 if it needs them.
  Value* Extend(unsigned width) {
    if (from_.IsUnsigned()) return ir_.Zext(value_, width);
    if (!from_.IsSubByte()) return ir_.Sext(value_, width);
    Value* code = ir_.Zext(value_, width);
    return ir_.Sar(ir_.Shl(code, width - from_.bits), width - from_.bits);
  }

  // The low bits of an integer, as a code.
  Value* IntegerCode(Value* v) {
    return ir_.Zext(to_.IsSubByte() ? ir_.And(v, CodeMask(to_)) : v, Container(to_));
  }

  Value* IntegerToInteger() {
    const unsigned width = std::max(from_.bits, to_.bits) > 32 ? 64 : 32;
    Value* v = Extend(width);
    if (mode_.overflow == Overflow::kWrap) return IntegerCode(v);
    const int from_magnitude_bits = from_.bits - (from_.IsSigned() ? 1 : 0);
    const int to_magnitude_bits = to_.bits - (to_.IsSigned() ? 1 : 0);
    const uint64_t most = to_.IsSigned() ? CodeMask(to_) >> 1 : CodeMask(to_);
    const bool may_exceed = from_magnitude_bits > to_magnitude_bits;
    if (from_.IsUnsigned()) return IntegerCode(may_exceed ? ir_.Umin(v, most) : v);
    if (to_.IsUnsigned()) v = ir_.Smax(v, 0);
    if (may_exceed) v = ir_.Smin(v, static_cast<int64_t>(most));
    if (may_exceed && to_.IsSigned()) v = ir_.Smax(v, -static_cast<int64_t>(most) - 1);
    return IntegerCode(v);
  }

  Value* FloatToInteger() {
    Value* x = ir_.AsFloat(Hub().bits);
    return IntegerCode(mode_.rounding == Rounding::kStochastic ? StochasticInteger(x)
                                                               : TruncatedInteger(x));
  }

  Value* SaturatingConversion(ID id, Value* x, unsigned width) {
    return b_.CreateIntrinsic(id, {ir_.IntType(width), x->getType()}, {x});
  }

  // Toward zero, NaN to 0, saturating; first to 32 or 64 bits, then to the type.
  Value* TruncatedInteger(Value* x) {
    const unsigned width = to_.bits > 32 ? 64 : 32;
    const uint64_t most = to_.IsSigned() ? CodeMask(to_) >> 1 : CodeMask(to_);
    if (to_.IsUnsigned()) {
      Value* v = SaturatingConversion(llvm::Intrinsic::fptoui_sat, x, width);
      return to_.bits < width ? ir_.Umin(v, most) : v;
    }
    Value* v = SaturatingConversion(llvm::Intrinsic::fptosi_sat, x, width);
    if (to_.bits == width) return v;
    return ir_.Smax(ir_.Smin(v, static_cast<int64_t>(most)), -static_cast<int64_t>(most) - 1);
  }

  // The magnitude truncated, one more where fraction + random / 2^32 reaches 1; then the sign.
  Value* StochasticInteger(Value* x) {
    Value* magnitude = ir_.FAbs(x);
    Value* whole = SaturatingConversion(llvm::Intrinsic::fptoui_sat, magnitude, 64);
    Value* fraction = ir_.FSub(magnitude, ir_.Call(llvm::Intrinsic::trunc, magnitude));
    Value* scaled =
        SaturatingConversion(llvm::Intrinsic::fptoui_sat, ir_.FMul(fraction, 0x1p32), 64);
    Value* carry = ir_.Shr(ir_.Add(scaled, ir_.Zext(mode_.random, 64)), 32);
    Value* rounded = ir_.Add(whole, carry);  // whole is far from its end where there is a fraction
    Value* negative = b_.CreateFCmpOLT(x, Ir::Float(x, 0));
    const uint64_t most = to_.IsSigned() ? CodeMask(to_) >> 1 : CodeMask(to_);
    Value* positive = ir_.Umin(rounded, most);
    Value* below = Ir::Const(rounded, 0);
    if (to_.IsSigned()) below = b_.CreateNeg(ir_.Umin(rounded, most + 1));
    return ir_.Select(negative, below, positive);
  }

  // --- from integers to floats ---

  Value* IntegerToFloat() {
    if (from_.bits <= 8 && to_ == kF16) return ByMagic(kF16);
    if (from_.bits <= 16) return FloatToFloat({ir_.Bits(ByMagic(kF32))});
    const bool nearest = mode_.rounding == Rounding::kNearestEven;
    const bool exact = to_ == kF64 && from_.bits == 32;
    if (exact || (nearest && (to_ == kF32 || to_ == kF64))) return ToNative(value_, ElementOf(to_));
    if (from_.bits == 32) return FloatToFloat({ir_.Bits(ToNative(value_, b_.getDoubleTy()))});
    return to_ == kF32 || to_ == kF64 ? TruncatedFloat() : FloatToFloat({Sticky()});
  }

  // A code of at most 8 (for f16) or 16 bits as the low mantissa bits of a float whose last place
  // is worth 1, minus that float: exact, and cheaper than a conversion. The sign bit is flipped on
  // the way, which adds half of the range.
  Value* ByMagic(DType format) {
    const uint64_t sign = from_.IsSigned() ? uint64_t{1} << (from_.bits - 1) : 0;
    const auto one_a_place = static_cast<uint64_t>(format.bias + format.mantissa)
                             << format.mantissa;
    Value* code = ir_.Zext(ir_.Xor(value_, sign), format.bits);
    Value* bits = ir_.Or(code, one_a_place);
    Value* x = format == kF16 ? ir_.AsHalf(bits) : ir_.AsFloat(bits);
    return ir_.FAdd(x, -std::ldexp(1.0, format.mantissa) - static_cast<double>(sign));
  }

  Value* ToNative(Value* v, llvm::Type* type) {
    return from_.IsSigned() ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
  }

  Value* Magnitude64() {
    return from_.IsSigned() ? ir_.b.CreateIntrinsic(llvm::Intrinsic::abs, {ir_.IntType(64)},
                                                    {value_, b_.getFalse()})
                            : value_;
  }
  // The sign of the source at the top of 64 bits.
  Value* Sign64() {
    return from_.IsSigned() ? ir_.And(value_, uint64_t{1} << 63) : Ir::Const(value_, 0);
  }

  // A 64-bit integer as an f64: of one of more than 53 bits the low 11 are dropped and, to round to
  // nearest, marked in the last one that stays. At least 43 bits stay: enough for 11 bits and the
  // 32 that a random operand meets.
  Value* Sticky() {
    Value* magnitude = Magnitude64();
    Value* dropped = ir_.And(magnitude, ~uint64_t{0x7FF});
    if (mode_.rounding == Rounding::kNearestEven) {
      Value* inexact = ir_.Ne(ir_.And(magnitude, 0x7FF), 0);
      dropped = ir_.Select(inexact, ir_.Or(dropped, 0x800), dropped);
    }
    Value* kept = ir_.Select(ir_.Ult(magnitude, uint64_t{1} << 53), magnitude, dropped);
    return ir_.Or(ir_.Bits(b_.CreateUIToFP(kept, b_.getDoubleTy())), Sign64());
  }

  // A 64-bit integer to f32 or f64, toward zero or stochastic: random / 2^32 of the last place that
  // stays is added, the bits below it are cleared, and what stays is exact.
  Value* TruncatedFloat() {
    const int precision = to_.mantissa + 1;
    const auto most_dropped = static_cast<uint64_t>(64 - precision);  // 40 or 11
    Value* magnitude = Magnitude64();
    Value* zeros = b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {magnitude->getType()},
                                      {magnitude, b_.getFalse()});
    Value* dropped = ir_.SubSat(most_dropped, zeros);
    Value* sum = magnitude;
    if (mode_.rounding == Rounding::kStochastic) {
      // random * 2^(dropped - 32), rounded down.
      Value* random = ir_.Shl(ir_.Zext(mode_.random, 64), 8);
      sum = ir_.Add(sum, b_.CreateLShr(random, ir_.SubSat(40, dropped)));
    }
    Value* overflow = b_.CreateICmpULT(sum, magnitude);
    Value* cleared = b_.CreateShl(b_.CreateLShr(sum, dropped), dropped);
    Value* real = b_.CreateUIToFP(cleared, ElementOf(to_));
    real = ir_.Select(overflow, Ir::Float(real, 0x1p64), real);
    return from_.IsSigned() ? ir_.Select(ir_.Negative(value_), ir_.FNeg(real), real) : real;
  }

  // --- from floats to floats ---

  HubFloat Hub() {
    if (from_.IsExponent()) return {DecodeExponent(ir_, value_)};
    if (from_.bits <= 8) return {DecodeSmallFloat(ir_, value_, from_)};
    if (from_ == kBF16) return {ir_.Shl(ir_.Zext(ir_.Bits(value_), 32), 16)};
    if (from_ == kTF32) return {ir_.And(value_, ~uint64_t{0x1FFF} & 0xFFFFFFFFu)};
    if (from_ != kF16) return {ir_.Bits(value_)};
    Value* wide = b_.CreateFPExt(value_, b_.getFloatTy());
    return {ir_.Bits(wide), wide};
  }

  Value* RealOf(HubFloat hub) { return hub.real != nullptr ? hub.real : ir_.AsFloat(hub.bits); }

  [[nodiscard]] bool HasInstructionsFor(DType type) const { return ConvertsPairs(target_, type); }

  Value* DecodeByInstruction() {
    return ir_.AsHalf(ir_.Zext(EmitDecodePair(b_, from_, ir_.Zext(value_, 16)), 16));
  }

  // To the nearest, saturating.
  Value* EncodeByInstruction(HubFloat hub) {
    const char* text = to_ == kF8E5M2 ? "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;"
                                      : "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;";
    Value* x = RealOf(hub);
    Value* code = EmitInstruction(b_, text, "=h,f,f", b_.getInt16Ty(), {Ir::Float(x, 0), x});
    return ir_.Zext(code, 8);
  }

  Value* FloatToFloat(HubFloat hub) {
    if (to_.IsExponent()) return EncodeExponent(ir_, hub, mode_);
    const bool small = from_.bits <= 8 && !from_.IsExponent() && from_.IsFloat();
    if (to_ == kF16 && HasInstructionsFor(from_) && !SaturatesInfinity()) {
      return DecodeByInstruction();
    }
    if (small && to_ == kF16 && FitsHalf(from_) && !SaturatesInfinity()) {
      return ir_.AsHalf(DecodeSmallFloatToHalf(ir_, value_, from_));
    }
    if (to_ == kF64 || (to_ == kF32 && !hub.wide())) return Widen(hub);
    if (small && to_ == kBF16 && !SaturatesInfinity()) {
      return ir_.AsBfloat(ir_.Zext(ir_.Shr(hub.bits, 16), 16));  // exact
    }
    const bool native = to_ == kF16 || (to_ == kF32 && hub.wide()) || (to_ == kBF16 && !hub.wide());
    const bool nearest = mode_.rounding == Rounding::kNearestEven;
    if (native && nearest) return RoundNatively(hub);
    if (HasInstructionsFor(to_) && nearest && !hub.wide() && Saturates(to_, mode_.overflow)) {
      return EncodeByInstruction(hub);
    }
    return FromCode(b_, EncodeFloat(ir_, hub, to_, mode_), to_);
  }

  [[nodiscard]] bool SaturatesInfinity() const {
    return from_.HasInfinity() && Saturates(to_, mode_.overflow);
  }

  // To a format that has every value of the hub: only infinities may need more than a move.
  Value* Widen(HubFloat hub) {
    Value* x = RealOf(hub);
    if (to_ == kF64 && !hub.wide()) x = b_.CreateFPExt(x, b_.getDoubleTy());
    return SaturatesInfinity() ? ir_.AsFloat(Saturate(ir_.Bits(x), hub)) : x;
  }

  // By the single instruction that PTX has for the cast.
  Value* RoundNatively(HubFloat hub) {
    Value* x = b_.CreateFPTrunc(RealOf(hub), ElementOf(to_));
    return Saturates(to_, mode_.overflow) ? FromCode(b_, Saturate(ir_.Bits(x), hub), to_) : x;
  }

  // The bits of a result, with the largest finite value for infinities.
  Value* Saturate(Value* bits, HubFloat hub) {
    Value* is_nan = ir_.IsNan(RealOf(hub));
    Value* magnitude = ir_.Umin(ir_.And(bits, CodeMask(to_) >> 1), MaxFiniteCode(to_));
    return WithSign(ir_, magnitude, hub.bits, is_nan, to_);
  }

  // --- types ---

  static unsigned Container(DType type) { return static_cast<unsigned>(ContainerBytes(type)) * 8; }
  llvm::Type* ElementOf(DType type) { return ElementType(ir_.context(), type); }

  Ir& ir_;
  llvm::IRBuilderBase& b_;
  Target target_;
  Value* value_;
  DType from_;
  DType to_;
  RoundingMode mode_;
};

Value* CastToComplex(Ir& ir, Target target, const CastRequest& cast) {
  CastRequest part = cast;
  part.to = ComponentOf(cast.to);
  if (!cast.from.IsComplex()) {
    Value* real = EmitCast(ir.b, target, part);
    return EmitComplex(ir.b, real, Ir::Float(real, 0), cast.to);
  }
  Value* parts[2];
  part.from = ComponentOf(cast.from);
  for (int i = 0; i < 2; ++i) {
    part.value = EmitComponent(ir.b, cast.value, cast.from, i);
    parts[i] = EmitCast(ir.b, target, part);
  }
  return EmitComplex(ir.b, parts[0], parts[1], cast.to);
}

}  // namespace

bool ConvertsPairs(Target target, DType type) {
  return Row(target).capability >= 89 && (type == kF8E4M3FN || type == kF8E5M2);
}

llvm::Value* EmitDecodePair(llvm::IRBuilderBase& builder, DType type, llvm::Value* codes) {
  const char* text =
      type == kF8E5M2 ? "cvt.rn.f16x2.e5m2x2 $0, $1;" : "cvt.rn.f16x2.e4m3x2 $0, $1;";
  return EmitInstruction(builder, text, "=r,h", builder.getInt32Ty(), {codes});
}

// The f16 of seeeemmm is s0eeeemm m0000000, times 2^8 for the bias. All four upper bytes are made
// at once, and all four lower ones.
std::vector<llvm::Value*> EmitDecodeFour(llvm::IRBuilderBase& builder, llvm::Value* codes) {
  Ir ir(builder);
  Value* const magnitude = ir.And(ir.Shr(codes, 1), 0x3F3F3F3F);
  Value* const upper = ir.Or(ir.And(codes, 0x80808080), magnitude);
  Value* const lower = ir.And(ir.Shl(codes, 7), 0x80808080);
  auto* const pair = llvm::FixedVectorType::get(builder.getHalfTy(), 2);
  std::vector<Value*> out;
  for (const char* const text : {"prmt.b32 $0, $1, $2, 0x5140;", "prmt.b32 $0, $1, $2, 0x7362;"}) {
    Value* const bits =
        EmitInstruction(builder, text, "=r,r,r", builder.getInt32Ty(), {lower, upper});
    Value* const product =
        builder.CreateFMul(builder.CreateBitCast(bits, pair), llvm::ConstantFP::get(pair, 256));
    out.push_back(builder.CreateBitCast(product, builder.getInt32Ty()));
  }
  return out;
}

llvm::Value* EmitComponent(llvm::IRBuilderBase& builder, llvm::Value* complex, DType type,
                           int index) {
  Ir ir(builder);
  const DType part = ComponentOf(type);
  const auto shift = static_cast<unsigned>(index * part.bits);
  return FromCode(builder, ir.Zext(ir.Shr(complex, shift), part.bits), part);
}

llvm::Value* EmitComplex(llvm::IRBuilderBase& builder, llvm::Value* real, llvm::Value* imaginary,
                         DType type) {
  Ir ir(builder);
  const DType part = ComponentOf(type);
  Value* low = ir.Zext(ToCode(builder, real, part), type.bits);
  Value* high = ir.Zext(ToCode(builder, imaginary, part), type.bits);
  return ir.Or(low, ir.Shl(high, part.bits));
}

llvm::Value* EmitCast(llvm::IRBuilderBase& builder, Target target, const CastRequest& cast) {
  Ir ir(builder);
  if (cast.from == cast.to && cast.options.overflow == Overflow::kDefault) {
    return cast.to == kTF32 ? ir.And(cast.value, 0xFFFFE000u) : cast.value;
  }
  if (cast.to.IsComplex()) return CastToComplex(ir, target, cast);
  return Caster(ir, target, cast).Run();
}

}  // namespace tarsia::compiler
