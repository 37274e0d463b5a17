#include "ptx/table/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "ptx/table/bind.h"

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
  slot.leading = text.starts_with('.');
  if (slot.leading) text.remove_prefix(1);
  slot.optional = TakeSuffix(&text, '?');
  slot.words = Split(text, '|');
  return slot;
}

// Words of one kind mean something else in another order: which space is copied from, which type is
// converted to.
enum class WordKind : uint8_t { kOther, kType, kSpace, kLayout, kOperation };

WordKind KindOf(std::string_view word) {
  constexpr std::string_view kSpaces[] = {"global", "shared", "shared::cta", "shared::cluster"};
  constexpr std::string_view kOperations[] = {"and", "or", "xor", "popc"};
  if (FindType(word)) return WordKind::kType;
  if (std::ranges::find(kSpaces, word) != std::end(kSpaces)) return WordKind::kSpace;
  if (word == "row" || word == "col") return WordKind::kLayout;
  if (std::ranges::find(kOperations, word) != std::end(kOperations)) return WordKind::kOperation;
  return WordKind::kOther;
}

void OrderKinds(std::vector<ModifierSlot>* slots) {
  std::array<int, 5> last;
  last.fill(-1);
  for (size_t i = 0; i < slots->size(); ++i) {
    const WordKind kind = KindOf((*slots)[i].words[0]);
    if (kind == WordKind::kOther) continue;
    int& before = last[static_cast<size_t>(kind)];
    (*slots)[i].previous = before;
    before = static_cast<int>(i);
  }
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
    shape.after_bar = true;
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
  OrderKinds(&row.slots);
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
#include "ptx/table/instructions.def"
#undef PTX
#define PTX_SINCE(row, word, since) \
  rows[static_cast<size_t>(Op::k##row)].later_words.emplace_back(word, ParseSince(since));
#include "ptx/table/since.def"
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

namespace {

// Which places of a row have their word.
class Taken {
 public:
  explicit Taken(const Row& row) : slots_(row.slots) {}

  // Takes the place of the next word and gives the table's form of it; nothing if there is none.
  std::string_view Take(std::string_view word, uint16_t* number) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!IsOpen(i)) continue;
      const auto& words = slots_[i].words;
      const auto here = std::ranges::find_if(
          words, [&](std::string_view pattern) { return FitsWord(pattern, word, number); });
      if (here == words.end()) continue;
      taken_ |= uint32_t{1} << i;
      leading_ = leading_ && slots_[i].leading;
      last_ = i;
      return *here;
    }
    return {};
  }

  // The first place that must be taken and is not, or null.
  [[nodiscard]] const ModifierSlot* Missing() const {
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].optional && !Has(i)) return &slots_[i];
    }
    return nullptr;
  }

 private:
  [[nodiscard]] bool Has(size_t i) const { return (taken_ >> i & 1) != 0; }
  [[nodiscard]] bool IsOpen(size_t i) const {
    if (Has(i)) return false;
    if (slots_[i].leading) return leading_ && (taken_ == 0 || i > last_);
    return slots_[i].previous < 0 || Has(static_cast<size_t>(slots_[i].previous));
  }

  const std::vector<ModifierSlot>& slots_;
  uint32_t taken_ = 0;
  bool leading_ = true;  // no word so far was of another place
  size_t last_ = 0;
};

}  // namespace

ModifierMatch MatchModifiers(const Row& row, std::span<const std::string_view> words) {
  ModifierMatch match;
  Taken taken(row);
  size_t types = 0;
  for (const std::string_view given : words) {
    const std::string_view word = taken.Take(given, &match.number);
    if (word.empty()) return match;
    ++match.matched;
    if (const auto type = FindType(word); type && types < match.types.size()) {
      match.types[types++] = *type;
    } else if (const auto mod = FindMod(word)) {
      match.mods.set(static_cast<size_t>(*mod));
    }
  }
  match.missing = taken.Missing();
  match.complete = match.missing == nullptr;
  return match;
}

}  // namespace tarsia::ptx
