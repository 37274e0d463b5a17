#include "ptx/parse/instruction_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/table/bind.h"

namespace tarsia::ptx {
namespace {

Space SpaceOf(const Inst& inst) {
  if (inst.Has(Mod::kGlobal)) return Space::kGlobal;
  if (inst.Has(Mod::kShared) || inst.Has(Mod::kSharedCta) || inst.Has(Mod::kSharedCluster)) {
    return Space::kShared;
  }
  if (inst.Has(Mod::kLocal)) return Space::kLocal;
  if (inst.Has(Mod::kConst)) return Space::kConst;
  if (inst.Has(Mod::kParam) || inst.Has(Mod::kParamEntry) || inst.Has(Mod::kParamFunc)) {
    return Space::kParam;
  }
  return Space::kGeneric;
}

// Whether so many operands, separated by commas, are as many as the row has places.
bool TakesOperands(const Row& row, int count) {
  int least = 0;
  int most = 0;
  for (const OperandShape& shape : row.shapes) {
    if (shape.after_bar) continue;
    ++most;
    if (!shape.optional) ++least;
  }
  return least <= count && count <= most;
}

}  // namespace

bool InstructionParser::Parse() {
  Inst inst;
  if (!operands_.ParseGuard(&inst)) return false;
  inst.location = lexer_.location();
  inst.loc = state_.loc;
  inst.source_file = state_.module->lines[state_.loc].file;
  inst.source_line = state_.module->lines[state_.loc].line;
  const auto mnemonic = ParseName();
  if (!mnemonic) return false;
  const Row* row = nullptr;
  if (!ParseModifiers(&inst, &row, *mnemonic)) return false;
  inst.op = row->op;
  inst.undef = row->undef;
  inst.space = SpaceOf(inst);
  if (!operands_.ParseOperands(*row, &inst) || !Expect(';')) return false;
  Finish(*row, std::move(inst));
  return true;
}

void InstructionParser::Finish(const Row& row, Inst inst) {
  inst.handler = row.bind(inst);
  const auto is_clock = [&](const FrameValue& value) {
    return value.kind == FrameValue::Kind::kSpecial && IsClock(value.special) &&
           std::ranges::any_of(inst.operands, [&](const Operand& operand) {
             return operand.bank == 0 && operand.offset == value.where.offset;
           });
  };
  // bar is barrier.aligned, but for bar.warp.
  inst.aligned = inst.Has(Mod::kAligned) || (row.mnemonic == "bar" && !inst.Has(Mod::kWarp));
  if (inst.handler != nullptr && inst.aligned) {
    inst.wrapped = inst.handler;
    inst.handler = &RunTogether;
  } else if (inst.handler != nullptr &&
             std::ranges::any_of(state_.builder->function().frame_values, is_clock)) {
    inst.wrapped = inst.handler;
    inst.handler = &RunWithClock;
  }
  if (inst.handler == nullptr) {
    diagnostics_.Error(diag::kNoSuchForm, inst.location, row.mnemonic);
    return;
  }
  state_.builder->function().code.push_back(std::move(inst));
}

bool InstructionParser::ParseModifiers(Inst* inst, const Row** row, std::string_view mnemonic) {
  std::vector<std::string_view> words;
  std::vector<Location> places;
  while (lexer_.token() == Token::kDot) {
    words.push_back(lexer_.text());
    places.push_back(lexer_.location());
    lexer_.Next();
  }
  *row = FindRow(mnemonic, words);
  if (*row == nullptr) {
    places.push_back(inst->location);
    ReportModifiers(mnemonic, words, places);
    return false;
  }
  const ModifierMatch match = MatchModifiers(**row, words);
  inst->mods = match.mods;
  inst->number = match.number;
  inst->type = match.types;
  CheckSince((*row)->since, fmt::format("`{}`", mnemonic), inst->location);
  for (const auto& [word, since] : (*row)->later_words) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) continue;
    CheckSince(since, fmt::format("`.{}` of `{}`", word, mnemonic),
               places[static_cast<size_t>(found - words.begin())]);
  }
  return true;
}

// The row that takes the words; of several, the first that takes as many operands as follow.
const Row* InstructionParser::FindRow(std::string_view mnemonic,
                                      const std::vector<std::string_view>& words) {
  const Row* first = nullptr;
  for (const Row* row : RowsOf(mnemonic)) {
    if (!MatchModifiers(*row, words).complete) continue;
    if (first == nullptr) {
      first = row;
    } else if (const int count = operands_.OperandsLeft(true); !TakesOperands(*first, count)) {
      if (TakesOperands(*row, count)) return row;
    }
  }
  return first;
}

// Reports what the module's target or version does not have.
void InstructionParser::CheckSince(const Since& since, const std::string& what, Location location) {
  if (!std::ranges::all_of(state_.targets,
                           [&](const Target& target) { return since.Takes(target); })) {
    diagnostics_.Error(diag::kTooOldTarget, location, what, since.TargetText(),
                       state_.module->targets[0]);
  } else if (!since.Takes(state_.version)) {
    diagnostics_.Error(diag::kTooOldVersion, location, what, since.version.major,
                       since.version.minor, state_.module->version);
  }
}

// No row fits: names the first word that no row could take.
void InstructionParser::ReportModifiers(std::string_view mnemonic,
                                        const std::vector<std::string_view>& words,
                                        const std::vector<Location>& places) {
  const auto rows = RowsOf(mnemonic);
  if (rows.empty()) {
    Diagnostic& error =
        diagnostics_.Error(diag::kUnknownInstruction, places.back(), std::string(mnemonic));
    error.help = DidYouMean(mnemonic, Mnemonics());
    return;
  }
  size_t matched = 0;
  std::vector<std::string_view> expected;  // where all words fit
  for (const Row* row : rows) {
    const ModifierMatch match = MatchModifiers(*row, words);
    matched = std::max(matched, match.matched);
    if (match.missing == nullptr) continue;
    for (const std::string_view word : match.missing->words) {
      if (std::ranges::find(expected, word) == expected.end()) expected.push_back(word);
    }
  }
  if (matched < words.size()) {
    diagnostics_.Error(diag::kUnknownModifier, places[matched], mnemonic, words[matched]);
    return;
  }
  diagnostics_.Error(diag::kMissingModifier, places.back(), mnemonic,
                     fmt::format(".{}", fmt::join(expected, ", .")));
}

void CheckWgmmaRegisters(Function* function) {
  for (const Inst& inst : function->code) {
    function->has_wgmma = function->has_wgmma || inst.Has(Mod::kMmaAsync);
  }
  if (!function->has_wgmma) return;
  const Op wgmma[] = {Op::kWgmmaFence, Op::kWgmmaCommit, Op::kWgmmaWait};
  for (Inst& inst : function->code) {
    if (inst.Has(Mod::kMmaAsync) || std::ranges::find(wgmma, inst.op) != std::end(wgmma)) continue;
    inst.wgmma_checked = inst.handler;
    inst.handler = &RunWgmmaChecked;
  }
}

}  // namespace tarsia::ptx
