#include "compiler/llvm/code/register_tiles.h"

#include "layout/recipe.h"
#include "support/extents.h"

namespace tarsia::compiler {

RegisterTiles::RegisterTiles(const Program& program, const LayoutPlan& plan,
                             FunctionBuilder& function, CurrentValues& values, Layouts& layouts,
                             Exchange& exchange)
    : program_(program),
      plan_(plan),
      f_(function),
      b_(function.b()),
      values_(values),
      layouts_(layouts),
      exchange_(exchange),
      keeps_words_(program.types().size(), false) {
  FindWords();
}

// ---- slots -------------------------------------------------------------------------------------

Slots RegisterTiles::Read(uint32_t value) {
  return KeepsWords(value) ? SlotsOfWords(*CodeBits(value), values_[value]) : values_[value];
}

void RegisterTiles::Write(uint32_t value, const Slots& slots) {
  values_.Assign(value, KeepsWords(value) ? WordsOfSlots(*CodeBits(value), slots) : slots);
}

Slots RegisterTiles::Convert(const Slots& slots, DType type, LayoutId from, LayoutId to) {
  if (from == to) return slots;
  const auto order = SlotPermutation(layouts_[from], layouts_[to]);
  if (!order) return exchange_.Convert(slots, type, from, to);
  Slots out;
  for (const int64_t slot : *order) {
    out.push_back(slot < 0 ? llvm::Constant::getNullValue(f_.TypeOf(type)) : slots[Size(slot)]);
  }
  return out;
}

// ---- words of codes -------------------------------------------------------------------------

// Words are worth keeping where a recipe or a view reads them: codes in lanes always, others if an
// instruction gives them as words.
void RegisterTiles::FindWords() {
  const size_t values = program_.types().size();
  std::vector<bool> read(values, false), loaded(values, false);
  for (const ResolvedInst& inst : program_.instructions()) {
    for (const uint32_t result : inst.results) {
      loaded[result] = loaded[result] || inst.row->Has(kGivesCodes);
    }
    if (!inst.row->Has(kReadsCodes) || !inst.operand[0].IsTile()) continue;
    const DType result = program_.type(inst.results[0]).dtype;
    if (HasRecipeTo(result, inst.operand[0].value) || inst.row->Has(kGivesCodes))
      read[inst.operand[0].value] = true;
  }
  for (uint32_t value = 0; value < values; ++value) {
    if (!read[value] || !LowPrecision(program_.type(value).dtype)) continue;
    const Result<BitLayout> bits = CodeBits(value);
    keeps_words_[value] = bits.ok() && bits->count() == layouts_[LayoutOf(value)].slots() &&
                          (bits->order() == BitOrder::kLanes || loaded[value]);
  }
}

bool RegisterTiles::HasRecipeTo(DType compute, uint32_t codes) const {
  const Result<BitLayout> bits = CodeBits(codes);
  return bits.ok() && HasRecipe(*bits, compute, RecipeForm::kUnpack);
}

Result<BitLayout> RegisterTiles::CodeBits(uint32_t value) const {
  const ConcreteType& type = program_.type(value);
  if (type.bit_layout) return *type.bit_layout;
  return BitLayout::Contiguous(type.dtype, layouts_[LayoutOf(value)].slots());
}

Result<Slots> RegisterTiles::ReadWords(uint32_t value) {
  if (KeepsWords(value)) return values_[value];
  TARSIA_TRY(const BitLayout bits, CodeBits(value));
  return WordsOfSlots(bits, values_[value]);
}

Status RegisterTiles::WriteWords(uint32_t value, const Slots& words) {
  TARSIA_TRY(const BitLayout bits, CodeBits(value));
  values_.Assign(value, KeepsWords(value) ? words : SlotsOfWords(bits, words));
  return OkStatus();
}

Slots RegisterTiles::SlotsOfWords(const BitLayout& bits, const Slots& words) {
  Slots out;
  for (int64_t slot = 0; slot < bits.count(); ++slot) {
    out.push_back(FromCode(b_, CodeOfWords(b_, bits, slot, words), bits.type()));
  }
  return out;
}

Slots RegisterTiles::WordsOfSlots(const BitLayout& bits, const Slots& slots) {
  Slots codes;
  for (llvm::Value* slot : slots) codes.push_back(ToCode(b_, slot, bits.type()));
  return WordsOfCodes(b_, bits, codes);
}

}  // namespace tarsia::compiler
