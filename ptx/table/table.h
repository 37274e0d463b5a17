// The table of instructions (instructions.def) as data: patterns of modifiers and operand shapes.
#ifndef TARSIA_PTX_TABLE_TABLE_H_
#define TARSIA_PTX_TABLE_TABLE_H_

#include <bitset>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/table/code.h"
#include "ptx/table/since.h"
#include "ptx/table/types.h"

namespace tarsia::ptx {

// One place after the mnemonic: one of several words.
struct ModifierSlot {
  std::vector<std::string_view> words;
  bool optional = false;
  bool leading = false;  // belongs to the name: comes directly after it
  int previous = -1;     // the place that comes before this one if both are there; -1: none
};

enum class OperandRole : uint8_t { kDest, kSource, kAddress, kBox, kLabel, kCall, kBrx };
enum class OperandCount : uint8_t { kOne, kByModifier, kAny, kConcat, kListOrDescriptor };

struct OperandShape {
  OperandRole role = OperandRole::kSource;
  OperandCount count = OperandCount::kOne;
  int type_index = -1;        // the n-th type among the modifiers, or
  Type type = Type::kNone;    // a fixed one
  bool twice = false;         // as wide
  bool relaxed = false;       // the register may be wider
  bool or_predicate = false;  // or a predicate in its place
  bool optional = false;
  bool after_bar = false;  // `|` instead of a comma
  bool parts = false;      // of the register may be named
};

// Picks the handler for an instruction of the row; null if the operands' numbers do not fit.
using Binder = Handler (*)(const Inst& inst);

struct Row {
  Op op = Op{};
  std::string_view name;
  std::string_view mnemonic;
  std::string_view modifiers;  // as written in the table
  std::string_view operands;
  UndefRule undef = UndefRule::kAll;
  Binder bind = nullptr;
  std::vector<ModifierSlot> slots;
  std::vector<OperandShape> shapes;
  Since since;
  std::vector<std::pair<std::string_view, Since>> later_words;
};

// All rows, in the order of Op.
std::span<const Row> Rows();
inline const Row& RowOf(Op op) { return Rows()[static_cast<size_t>(op)]; }
// The rows of a mnemonic, in the order of the table; empty for an unknown one.
std::span<const Row* const> RowsOf(std::string_view mnemonic);
// For "did you mean".
std::span<const std::string_view> Mnemonics();

// Fits the words after a mnemonic to a row, in any order but for leading places and those that
// keep theirs. Returns how many words fit (all of them if the row fits) and fills the modifiers and
// types; `missing` is set to the place that a word is lacking for, if all words fit and the row is
// still not complete.
struct ModifierMatch {
  size_t matched = 0;
  bool complete = false;
  const ModifierSlot* missing = nullptr;
  std::bitset<kModCount> mods;
  std::array<Type, 4> types{};
  uint16_t number = 0;  // what stood for the `*` of a word
};
ModifierMatch MatchModifiers(const Row& row, std::span<const std::string_view> words);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_TABLE_H_
