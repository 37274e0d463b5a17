#include "compiler/llvm/code/register_tiles.h"

#include "support/extents.h"

namespace tarsia::compiler {

RegisterTiles::RegisterTiles(const Program& program, const LayoutPlan& plan,
                             FunctionBuilder& function, Layouts& layouts, Exchange& exchange)
    : program_(program),
      plan_(plan),
      f_(function),
      b_(function.b()),
      layouts_(layouts),
      exchange_(exchange),
      slots_(program.types().size()),
      words_(program.types().size()),
      keeps_words_(program.types().size(), false) {
  FindWords();
}

// ---- slots -------------------------------------------------------------------------------------

std::vector<llvm::AllocaInst*>& RegisterTiles::SlotVariables(uint32_t value) {
  std::vector<llvm::AllocaInst*>& variables = slots_[value];
  const auto count = Size(layouts_[LayoutOf(value)].slots());
  while (variables.size() < count) {
    variables.push_back(f_.Variable(f_.TypeOf(program_.type(value).dtype),
                                    llvm::StringRef(program_.kernel().ValueName(value))));
  }
  return variables;
}

Slots RegisterTiles::Read(uint32_t value) {
  Slots out;
  llvm::Type* type = f_.TypeOf(program_.type(value).dtype);
  for (llvm::AllocaInst* slot : SlotVariables(value)) out.push_back(b_.CreateLoad(type, slot));
  return out;
}

void RegisterTiles::Write(uint32_t value, const Slots& slots, const Slots& words) {
  std::vector<llvm::AllocaInst*>& variables = SlotVariables(value);
  for (size_t i = 0; i < variables.size(); ++i) b_.CreateStore(slots[i], variables[i]);
  if (!KeepsWords(value)) return;
  const DType type = program_.type(value).dtype;
  Slots stored = words;
  if (stored.empty()) {
    Slots codes;
    for (llvm::Value* slot : slots) codes.push_back(ToCode(b_, slot, type));
    stored = WordsOfCodes(b_, *CodeBits(value), codes);
  }
  std::vector<llvm::AllocaInst*>& places = WordVariables(value);
  for (size_t i = 0; i < places.size(); ++i) b_.CreateStore(stored[i], places[i]);
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

// Words are worth keeping where a recipe reads them: codes in lanes always, others if an
// instruction gives them as words.
void RegisterTiles::FindWords() {
  const size_t values = program_.types().size();
  std::vector<bool> read(values, false), loaded(values, false);
  for (const ResolvedInst& inst : program_.instructions()) {
    for (const uint32_t result : inst.results) {
      loaded[result] = loaded[result] || inst.row->Has(kGivesCodes);
    }
    if (inst.row->Has(kReadsCodes) && inst.operand[0].IsTile()) read[inst.operand[0].value] = true;
  }
  for (uint32_t value = 0; value < values; ++value) {
    if (!read[value] || !LowPrecision(program_.type(value).dtype)) continue;
    const Result<BitLayout> bits = CodeBits(value);
    keeps_words_[value] = bits.ok() && bits->count() == layouts_[LayoutOf(value)].slots() &&
                          (bits->order() == BitOrder::kLanes || loaded[value]);
  }
}

Result<BitLayout> RegisterTiles::CodeBits(uint32_t value) const {
  const ConcreteType& type = program_.type(value);
  if (type.bit_layout) return *type.bit_layout;
  return BitLayout::Contiguous(type.dtype, layouts_[LayoutOf(value)].slots());
}

std::vector<llvm::AllocaInst*>& RegisterTiles::WordVariables(uint32_t value) {
  std::vector<llvm::AllocaInst*>& variables = words_[value];
  const auto count = Size(CodeBits(value)->words());
  while (variables.size() < count) variables.push_back(f_.Variable(f_.I(32), "words"));
  return variables;
}

Slots RegisterTiles::ReadWords(uint32_t value) {
  Slots out;
  for (llvm::AllocaInst* word : WordVariables(value)) out.push_back(b_.CreateLoad(f_.I(32), word));
  return out;
}

}  // namespace tarsia::compiler
