// The convert family.
#include <cmath>

#include "compiler/llvm/code/recipe_emit.h"
#include "compiler/llvm/lower/lower.h"

namespace tarsia::compiler {
namespace {

// q = (value + bias) * 2^-exponent of a code, rounded once, by plain arithmetic: for codes whose
// bit layout has no recipe. All steps in f32 are exact except for the last.
llvm::Value* UnpackOne(Emitter& e, llvm::Value* code, DType type, DType compute,
                       const UnpackForm& form) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  llvm::Value* value = e.elements().Cast(code, type, kF32);
  if (form.exponent != 0) {
    value = b.CreateFMul(value,
                         f.Constant(kF32, EncodeFromDouble(kF32, std::ldexp(1.0, -form.exponent))));
  }
  if (form.bias != 0) {
    value = b.CreateFAdd(value, f.Constant(kF32, EncodeFromDouble(kF32, form.bias)));
  }
  return e.elements().Cast(value, kF32, compute);
}

// A cast of codes by the recipe of their bit layout. Recipes know only the default rounding and
// overflow.
std::optional<Slots> CastByRecipe(Emitter& e, DType to, const CastOptions& options) {
  const bool plain =
      options.rounding == Rounding::kNearestEven && options.overflow == Overflow::kDefault;
  const Operand& codes = e.inst().operand[0];
  if (!plain || !codes.IsTile()) return std::nullopt;
  return DecodeByRecipe(e.function(), e.register_tiles(), codes.value, to, RecipeForm::kCast);
}

// The constant that takes q back to the value.
llvm::Value* UnpackBack(Emitter& e, DType type, DType compute, const UnpackForm& form) {
  const double back = type.IsInteger() ? form.bias : std::ldexp(1.0, form.exponent);
  return e.function().Constant(compute, EncodeFromDouble(compute, back));
}

}  // namespace

LOWER(Cast) {
  const Operand& source = e.inst().operand[0];
  const uint32_t result = e.inst().results[0];
  const DType to = e.program().type(result).dtype;
  const CastOptions options = e.inst().cast;
  if (!IsRegisterTile(e.program().type(result))) {
    e.scalars().Write(result, e.elements().Cast(e.ScalarOperand(0), source.type, to, options));
    return OkStatus();
  }
  if (const auto values = CastByRecipe(e, to, options)) {
    e.SetResult(0, *values);
    return OkStatus();
  }
  Slots slots = e.TileOperand(0);
  const Slots random = e.inst().operand[1].present() ? e.TileOperand(1) : Slots();
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i] =
        e.elements().Cast(slots[i], source.type, to, options, random.empty() ? nullptr : random[i]);
  }
  e.SetResult(0, slots);
  return OkStatus();
}

LOWER(Unpack) {
  const uint32_t codes = e.inst().operand[0].value;
  const ConcreteType& type = e.program().type(codes);
  const DType compute = e.program().type(e.inst().results[0]).dtype;
  const Slots slots = e.TileOperand(0);
  BitLayout bits;
  if (type.bit_layout) {
    bits = *type.bit_layout;
  } else {
    TARSIA_TRY(bits, BitLayout::Contiguous(type.dtype, static_cast<int64_t>(slots.size())));
  }
  const std::optional<Slots> values =
      DecodeByRecipe(e.function(), e.register_tiles(), codes, compute, RecipeForm::kUnpack);
  Slots q, back;
  for (size_t i = 0; i < slots.size(); ++i) {
    TARSIA_TRY(const UnpackForm form, bits.Unpack(static_cast<int64_t>(i), compute));
    q.push_back(values ? (*values)[i] : UnpackOne(e, slots[i], type.dtype, compute, form));
    back.push_back(UnpackBack(e, type.dtype, compute, form));
  }
  e.SetResult(0, q);
  e.SetResult(1, back);
  return OkStatus();
}

}  // namespace tarsia::compiler
