// The convert family.
#include <cmath>

#include "compiler/llvm/code/recipe_emit.h"
#include "compiler/llvm/lower/lower.h"
#include "support/extents.h"

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

// Whether every code is a byte as it is.
bool AreBytes(const BitLayout& bits) {
  for (int64_t slot = 0; slot < bits.count(); ++slot) {
    const BitPlace first = bits.Place(slot, 0);
    if (bits.Complement(slot) != 0 || first.bit % 8 != 0) return false;
    for (int bit = 1; bit < 8; ++bit) {
      const BitPlace place = bits.Place(slot, bit);
      if (place.word != first.word || place.bit != first.bit + bit) return false;
    }
  }
  return true;
}

// The two words of f16 that a word of four 8-bit floats becomes.
Slots PairsOf(Emitter& e, DType type, llvm::Value* word) {
  if (!e.elements().ConvertsPairs(type)) return e.elements().DecodeFour(word);
  llvm::IRBuilder<>& b = e.function().b();
  Slots out;
  for (const int bit : {0, 16}) {
    out.push_back(e.elements().DecodePair(type, CodeInRun(b, {word}, 32, bit, 16)));
  }
  return out;
}

// A cast of 8-bit floats to f16, several codes of a word at once, where the target has an
// instruction for two, or a promise that none is NaN makes all four short.
std::optional<Slots> CastByPairs(Emitter& e, DType to) {
  const Operand& codes = e.inst().operand[0];
  RegisterTiles& tiles = e.register_tiles();
  const bool is_short =
      e.elements().ConvertsPairs(codes.type) || (e.inst().finite && codes.type == kF8E4M3FN);
  if (to != kF16 || !is_short) return std::nullopt;
  if (!tiles.KeepsWords(codes.value)) return std::nullopt;
  const Result<BitLayout> bits = tiles.CodeBits(codes.value);
  if (!bits.ok() || !AreBytes(*bits)) return std::nullopt;
  const Result<Slots> words = tiles.ReadWords(codes.value);
  if (!words.ok()) return std::nullopt;
  llvm::IRBuilder<>& b = e.function().b();
  Slots pairs;
  for (llvm::Value* word : *words) {
    const Slots two = PairsOf(e, codes.type, word);
    pairs.insert(pairs.end(), two.begin(), two.end());
  }
  Slots out;
  for (int64_t slot = 0; slot < bits->count(); ++slot) {
    const BitPlace place = bits->Place(slot, 0);
    llvm::Value* pair = pairs[Size(int64_t{2} * place.word + place.bit / 16)];
    out.push_back(FromCode(b, CodeInRun(b, {pair}, 32, place.bit % 16 * 2, 16), kF16));
  }
  return out;
}

// A cast of codes as they lie in words: by pairs, or by the recipe of their bit layout. Both know
// only the default rounding and overflow.
std::optional<Slots> CastByWords(Emitter& e, DType to, const CastOptions& options) {
  const bool plain =
      options.rounding == Rounding::kNearestEven && options.overflow == Overflow::kDefault;
  const Operand& codes = e.inst().operand[0];
  if (!plain || !codes.IsTile()) return std::nullopt;
  if (auto values = CastByPairs(e, to)) return values;
  return DecodeByRecipe(e.function(), e.register_tiles(), codes.value, to,
                        e.inst().finite ? RecipeForm::kFiniteCast : RecipeForm::kCast);
}

// The constant that takes q back to the value.
llvm::Value* UnpackBack(Emitter& e, DType type, DType compute, const UnpackForm& form) {
  const double back = type.IsInteger() ? form.bias : std::ldexp(1.0, form.exponent);
  return e.function().Constant(compute, EncodeFromDouble(compute, back));
}

Status TakeParts(Emitter& e, int part) {
  Slots out;
  for (llvm::Value* const slot : e.TileOperand(0)) {
    out.push_back(e.elements().Component(slot, e.inst().operand[0].type, part));
  }
  e.SetResult(0, out);
  return OkStatus();
}

}  // namespace

LOWER(Real) { return TakeParts(e, 0); }
LOWER(Imag) { return TakeParts(e, 1); }

LOWER(Complex) {
  const DType type = e.program().type(e.inst().results[0]).dtype;
  const Slots re = e.TileOperand(0);
  const Slots im = e.TileOperand(1);
  Slots out;
  for (size_t i = 0; i < re.size(); ++i) {
    out.push_back(e.elements().Complex(re[i], im[i], type));
  }
  e.SetResult(0, out);
  return OkStatus();
}

LOWER(Cast) {
  const Operand& source = e.inst().operand[0];
  const uint32_t result = e.inst().results[0];
  const DType to = e.program().type(result).dtype;
  const CastOptions options = e.inst().cast;
  if (!IsRegisterTile(e.program().type(result))) {
    e.scalars().Write(result, e.elements().Cast(e.ScalarOperand(0), source.type, to, options));
    return OkStatus();
  }
  if (const auto values = CastByWords(e, to, options)) {
    e.SetResult(0, *values);
    return OkStatus();
  }
  const Slots slots = e.TileOperand(0);
  const Slots random = e.inst().operand[1].present() ? e.TileOperand(1) : Slots();
  e.SetResult(0, e.elements().CastAll(slots, source.type, to, options, random));
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
