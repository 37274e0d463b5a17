#include "vm/ptx/table.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "vm/ptx/bind.h"

namespace tarsia::ptx {
namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool TakeSuffix(std::string_view* text, char suffix) {
  if (text->empty() || text->back() != suffix) return false;
  text->remove_suffix(1);
  return true;
}

ModifierSlot ParseSlot(std::string_view text) {
  ModifierSlot slot;
  slot.optional = TakeSuffix(&text, '?');
  slot.words = Split(text, '|');
  return slot;
}

OperandShape ParseShape(std::string_view text) {
  OperandShape shape;
  if (text == "call" || text == "brx" || text == "l") {
    shape.role = text == "call"  ? OperandRole::kCall
                 : text == "brx" ? OperandRole::kBrx
                                 : OperandRole::kLabel;
    return shape;
  }
  shape.optional = TakeSuffix(&text, '?');
  if (text == "m" || text == "mt") {
    shape.role = text == "m" ? OperandRole::kAddress : OperandRole::kBox;
    return shape;
  }
  shape.parts = TakeSuffix(&text, '@');
  shape.or_predicate = TakeSuffix(&text, '!');
  shape.relaxed = TakeSuffix(&text, '~');
  if (text[0] == '|') {
    shape.behind_bar = true;
    shape.optional = true;
    text.remove_prefix(1);
  }
  shape.role = text[0] == 'd' ? OperandRole::kDest : OperandRole::kSource;
  shape.count = text[1] == 'v'   ? OperandCount::kByModifier
                : text[1] == '*' ? OperandCount::kAny
                : text[1] == 'g' ? OperandCount::kConcat
                : text[1] == 'm' ? OperandCount::kListOrDescriptor
                                 : OperandCount::kOne;
  text.remove_prefix(text.find(':') + 1);
  if (text[0] == 'w') {
    shape.twice = true;
    text.remove_prefix(1);
  }
  if (text == "p") {
    shape.type = Type::kPred;
  } else if (text[0] >= '0' && text[0] <= '9') {
    shape.type_index = text[0] - '0';
  } else {
    shape.type = FindType(text).value_or(Type::kNone);
  }
  return shape;
}

Row MakeRow(Op op, std::string_view name, std::string_view mnemonic, std::string_view modifiers,
            std::string_view operands, UndefRule undef, Binder bind) {
  Row row{op, name, mnemonic, modifiers, operands, undef, bind, {}, {}, {}, {}};
  for (const std::string_view text : Split(modifiers, ' ')) row.slots.push_back(ParseSlot(text));
  for (const std::string_view text : Split(operands, ' ')) row.shapes.push_back(ParseShape(text));
  return row;
}

// Whether a word is one of the table's, in which `*` stands for a number of up to three digits.
bool FitsWord(std::string_view pattern, std::string_view word, uint16_t* number) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == word;
  const std::string_view tail = pattern.substr(star + 1);
  if (word.size() < pattern.size() || word.size() > pattern.size() + 2) return false;
  if (!word.starts_with(pattern.substr(0, star)) || !word.ends_with(tail)) return false;
  const std::string_view digits = word.substr(star, word.size() - tail.size() - star);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  return error == std::errc() && stop == digits.data() + digits.size() && digits[0] != '0';
}

struct Table {
  std::vector<Row> rows;
  std::map<std::string_view, std::vector<const Row*>> by_mnemonic;
  std::vector<std::string_view> mnemonics;

  Table() {
#define PTX(name, mnemonic, modifiers, operands, undef, ...)                                      \
  rows.push_back(                                                                                 \
      MakeRow(Op::k##name, #name, mnemonic, modifiers, operands, UndefRule::undef, &Bind##name)); \
  rows.back().since = ParseSince("" __VA_ARGS__);
#include "vm/ptx/instructions.def"
#undef PTX
#define PTX_SINCE(row, word, since) \
  rows[static_cast<size_t>(Op::k##row)].later_words.emplace_back(word, ParseSince(since));
#include "vm/ptx/since.def"
#undef PTX_SINCE
    for (const Row& row : rows) by_mnemonic[row.mnemonic].push_back(&row);
    for (const auto& [mnemonic, list] : by_mnemonic) mnemonics.push_back(mnemonic);
  }
};

const Table& TheTable() {
  static const Table table;
  return table;
}

}  // namespace

std::span<const Row> Rows() { return TheTable().rows; }

std::span<const Row* const> RowsOf(std::string_view mnemonic) {
  const auto found = TheTable().by_mnemonic.find(mnemonic);
  if (found == TheTable().by_mnemonic.end()) return {};
  return found->second;
}

std::span<const std::string_view> Mnemonics() { return TheTable().mnemonics; }

ModifierMatch MatchModifiers(const Row& row, std::span<const std::string_view> words) {
  ModifierMatch match;
  size_t types = 0;
  for (const ModifierSlot& slot : row.slots) {
    const auto here = match.matched == words.size()
                          ? slot.words.end()
                          : std::ranges::find_if(slot.words, [&](std::string_view pattern) {
                              return FitsWord(pattern, words[match.matched], &match.number);
                            });
    if (here == slot.words.end()) {
      if (slot.optional) continue;
      if (match.matched == words.size()) match.missing = &slot;
      return match;
    }
    const std::string_view word = *here;
    ++match.matched;
    if (const auto type = FindType(word); type && types < match.types.size()) {
      match.types[types++] = *type;
    } else if (const auto mod = FindMod(word)) {
      match.mods.set(static_cast<size_t>(*mod));
    }
  }
  match.complete = match.matched == words.size();
  return match;
}

}  // namespace tarsia::ptx
