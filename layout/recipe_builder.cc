#include "layout/recipe_builder.h"

#include <cmath>
#include <utility>

#include "dtypes/convert.h"

namespace tarsia::internal {
namespace {

using Register = RecipeBuilder::Register;

// Functions of three bits, as `lop3` counts them.
constexpr uint8_t kA = 0xF0, kB = 0xCC, kC = 0xAA;
constexpr uint8_t Not(uint8_t x) { return static_cast<uint8_t>(~x); }

RecipeOperand In(Register r) { return {false, r}; }
RecipeOperand Is(uint32_t constant) { return {true, constant}; }

constexpr uint32_t kSigns = 0x80008000;
constexpr uint32_t kNegativeZeros = kSigns;

}  // namespace

RecipeBuilder::RecipeBuilder(const BitLayout& layout, DType compute, RecipeForm form)
    : layout_(layout), compute_(compute), form_(form) {
  recipe_.compute = compute;
  recipe_.words = static_cast<uint32_t>(layout.words());
}

Register RecipeBuilder::Step(RecipeOp op, uint8_t table, RecipeOperand a, RecipeOperand b,
                             RecipeOperand c) {
  recipe_.steps.push_back({op, table, a, b, c});
  return recipe_.words + static_cast<Register>(recipe_.steps.size()) - 1;
}

Register RecipeBuilder::Once(RecipeOp op, Register a, Register b, uint32_t constant) {
  const auto [known, is_new] = known_.try_emplace({op, a, b, constant}, 0);
  if (is_new) known->second = Step(op, 0, In(a), In(b), Is(constant));
  return known->second;
}

Register RecipeBuilder::Turn(Register a, Register b, uint32_t bits) {
  if (bits == 0) return a;
  return Once(RecipeOp::kTurn, a, b, bits);
}

Register RecipeBuilder::Permute(Register a, Register b, uint32_t selector) {
  return Once(RecipeOp::kPermute, a, b, selector);
}

Register RecipeBuilder::PermuteConstant(Register a, uint32_t b, uint32_t selector) {
  return Step(RecipeOp::kPermute, 0, In(a), Is(b), Is(selector));
}

Register RecipeBuilder::And(Register a, uint32_t mask) {
  return Step(RecipeOp::kLop3, kA & kB, In(a), Is(mask), Is(0));
}

Register RecipeBuilder::MaskXor(Register a, uint32_t mask, uint32_t flip) {
  return Step(RecipeOp::kLop3, (kA & kB) ^ kC, In(a), Is(mask), Is(flip));
}

Register RecipeBuilder::Select(Register a, Register b, uint32_t mask) {
  return Step(RecipeOp::kLop3, (kA & kC) | (kB & Not(kC)), In(a), In(b), Is(mask));
}

Register RecipeBuilder::Choose(Register condition, Register a, Register b) {
  return Step(RecipeOp::kLop3, (kA & kC) | (kB & Not(kC)), In(a), In(b), In(condition));
}

Register RecipeBuilder::XorWhere(Register a, Register condition, uint32_t bits) {
  return Step(RecipeOp::kLop3, kA ^ (kB & kC), In(a), In(condition), Is(bits));
}

Register RecipeBuilder::OrWhere(Register a, Register condition, uint32_t bits) {
  return Step(RecipeOp::kLop3, kA | (kB & kC), In(a), In(condition), Is(bits));
}

Register RecipeBuilder::ClearWhere(Register a, Register condition, uint32_t bits) {
  return Step(RecipeOp::kLop3, kA & Not(kB & kC), In(a), In(condition), Is(bits));
}

Register RecipeBuilder::AndNot(Register a, Register b) {
  return Step(RecipeOp::kLop3, kA & Not(kB), In(a), In(b), Is(0));
}

Register RecipeBuilder::OrAnd(Register a, Register b, uint32_t mask) {
  return Step(RecipeOp::kLop3, (kA | kB) & kC, In(a), In(b), Is(mask));
}

Register RecipeBuilder::Add(Register a, uint32_t b) {
  return Step(RecipeOp::kAdd, 0, In(a), Is(b), Is(0));
}

Register RecipeBuilder::Fma(Register a, uint32_t b, uint32_t c) {
  return Step(RecipeOp::kFma, 0, In(a), Is(b), Is(c));
}

uint32_t RecipeBuilder::Code(double value) const {
  return static_cast<uint32_t>(EncodeFromDouble(compute_, value));
}

// ---- integers --------------------------------------------------------------------------------

uint32_t RecipeBuilder::Magic(int position) const {
  const int exponent = compute_.bias + compute_.mantissa - position;
  uint32_t magic = static_cast<uint32_t>(exponent) << compute_.mantissa;
  if (type().IsSigned()) magic ^= 1U << (type().bits - 1 + position);
  return magic;
}

void RecipeBuilder::EndInteger(Register q, std::array<double, 2> excess,
                               std::array<double, 2> bias) {
  if (form_ != RecipeForm::kUnpack) bias = {0, 0};
  const std::array<double, 2> add = {bias[0] - excess[0], bias[1] - excess[1]};
  if (add[0] == 0 && add[1] == 0) return End(q);
  End(Fma(q, Both(Code(1)), Lanes(Code(add[0]), Code(add[1]))));
}

// As a bfloat's code an integer below 2^15 is itself times the least subnormal number, 2^-133.
// Undoing that needs two factors.
void RecipeBuilder::EndWideInteger(Register bits) {
  const int least = 1 - compute_.bias - compute_.mantissa;
  const int half = compute_.bias;
  const Register scaled = Fma(bits, Both(Code(std::ldexp(1, half))), kNegativeZeros);
  const double excess = type().IsSigned() ? std::ldexp(1, type().bits - 1) : 0;
  const uint32_t add = excess == 0 ? kNegativeZeros : Both(Code(-excess));
  End(Fma(scaled, Both(Code(std::ldexp(1, -least - half))), add));
}

// ---- floats ----------------------------------------------------------------------------------

Register RecipeBuilder::SpreadSigns(Register x) { return Permute(x, x, 0xBB99); }

Register RecipeBuilder::AtLeast(Register magnitude, uint32_t threshold) {
  return SpreadSigns(Add(magnitude, Both(0x8000 - threshold)));
}

void RecipeBuilder::EndFloat(Register bits) {
  const bool all_numbers =
      type().exponent == compute_.exponent && type().specials != Specials::kIeee;
  const int scale = compute_.bias - type().bias;
  const bool scales = scale != 0 && (all_numbers || form_ != RecipeForm::kUnpack);
  const bool largest = all_numbers && (type().mantissa > 0 || scale != 0);
  const bool finite = form_ == RecipeForm::kFiniteCast || !type().HasNan();
  if (!largest && finite) {
    return End(scales ? Fma(bits, Both(Code(std::ldexp(1, scale))), kNegativeZeros) : bits);
  }
  const Register magnitude = And(bits, ~kSigns);
  if (largest && !scales) {
    Register value = MendLargest(bits, magnitude);
    if (!finite && type().specials == Specials::kFn) value = MendFn(value, magnitude, 0);
    return End(value);
  }
  Register value = scales ? Fma(bits, Both(Code(std::ldexp(1, scale))), kNegativeZeros) : bits;
  if (largest) {
    // Half of a number with the largest exponent is the number with the one below it.
    const uint32_t exponent_bit = 1U << compute_.mantissa;
    const Register halved = MaskXor(bits, 0xFFFFFFFF, Both(exponent_bit));
    value = Choose(AtLeast(magnitude, Infinity()), halved, value);
  }
  if (finite) return End(value);
  switch (type().specials) {
    case Specials::kNone:
    case Specials::kFinite:
      break;
    case Specials::kIeee:
      value = MendIeee(value, magnitude, scales ? scale : 0);
      break;
    case Specials::kFn:
      value = MendFn(value, magnitude, scales ? scale : 0);
      break;
    case Specials::kFnuz:
      value = MendFnuz(value, bits, magnitude);
      break;
  }
  End(value);
}

uint32_t RecipeBuilder::Infinity() const {
  return static_cast<uint32_t>(MaxFiniteCode(compute_)) + 1;
}

uint32_t RecipeBuilder::QuietNan() const { return Infinity() | 1U << (compute_.mantissa - 1); }

// Exponents of all ones become those of the compute type; NaNs get the quiet mantissa.
Register RecipeBuilder::MendIeee(Register value, Register magnitude, int scale) {
  const int shift = compute_.mantissa - type().mantissa;
  const uint32_t exponent = (1U << type().exponent) - 1;
  const uint32_t infinity = exponent << compute_.mantissa;
  const uint32_t all = (1U << compute_.exponent) - 1;
  const uint32_t change = ((exponent + static_cast<uint32_t>(scale)) ^ all) << compute_.mantissa;
  if (change != 0) value = XorWhere(value, AtLeast(magnitude, infinity), Both(change));
  const Register is_nan = AtLeast(magnitude, infinity + (1U << shift));
  value = ClearWhere(value, is_nan, Both((1U << compute_.mantissa) - 1));
  return OrWhere(value, is_nan, Both(1U << (compute_.mantissa - 1)));
}

// The one NaN has all bits of the magnitude set; the value it was converted to is known.
Register RecipeBuilder::MendFn(Register value, Register magnitude, int scale) {
  const int shift = compute_.mantissa - type().mantissa;
  const uint32_t nan = ((1U << (type().bits - 1)) - 1) << shift;
  uint32_t now = nan + (static_cast<uint32_t>(scale) << compute_.mantissa);
  if (type().exponent == compute_.exponent) now = Infinity();
  return XorWhere(value, AtLeast(magnitude, nan), Both(now ^ QuietNan()));
}

// The one NaN has the code of -0.
Register RecipeBuilder::MendFnuz(Register value, Register bits, Register magnitude) {
  const Register not_zero = Add(magnitude, Both(0x7FFF));
  const Register is_nan = SpreadSigns(AndNot(bits, not_zero));
  return XorWhere(value, is_nan, Both(QuietNan()));
}

Register RecipeBuilder::MendLargest(Register bits, Register magnitude) {
  const Register beyond = AtLeast(magnitude, Infinity());
  return ClearWhere(bits, beyond, Both((1U << compute_.mantissa) - 1));
}

}  // namespace tarsia::internal
