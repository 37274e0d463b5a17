// How libFuzzer changes PTX: as text that mostly stays PTX. Statements are added, removed and
// moved, words are replaced, and new statements are made from the table of instructions. Some
// changes are of bytes, to test the lexer.
#include <algorithm>
#include <array>
#include <cctype>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/table/table.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace tarsia::ptx {
namespace {

constexpr size_t kMaxText = 3000;

class Mutator {
 public:
  Mutator(std::string_view text, unsigned seed) : random_(seed) { Split(text); }

  std::string Run() {
    if (!statements_.empty()) {
      for (size_t i = 0, count = 1 + Pick(3); i < count; ++i) Change();
    }
    std::string text;
    for (const std::string& statement : statements_) text += statement;
    return text;
  }

 private:
  size_t Pick(size_t count) { return random_() % count; }
  bool OneIn(size_t count) { return Pick(count) == 0; }
  template <typename T>
  auto& Any(T& list) {
    return list[Pick(std::size(list))];
  }

  void Split(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find_first_of(";\n"), text.size() - 1);
      statements_.emplace_back(text.substr(0, end + 1));
      text.remove_prefix(end + 1);
    }
  }

  // Mostly a statement of a body, which begins with its registers, not the lines around it.
  size_t PickStatement() {
    if (OneIn(16)) return Pick(statements_.size());
    size_t first = 0;
    while (first < statements_.size() && !statements_[first].starts_with(".reg")) ++first;
    if (first >= statements_.size()) first = 0;
    for (int tries = 0; tries < 16; ++tries) {
      const size_t at = first + Pick(statements_.size() - first);
      const std::string& found = statements_[at];
      const bool holds = found.starts_with('.') || found.starts_with('}') || found.ends_with(":\n");
      if (!holds) return at;
    }
    return Pick(statements_.size());
  }

  void Change() {
    const size_t at = PickStatement();
    const auto here = statements_.begin() + static_cast<std::ptrdiff_t>(at);
    switch (Pick(8)) {
      case 0:
        if (statements_.size() > 1) statements_.erase(here);
        break;
      case 1:
        statements_.insert(here, std::string(statements_[PickStatement()]));
        break;
      case 2:
        std::swap(*here, statements_[PickStatement()]);
        break;
      case 3:
      case 4:
        ReplaceWord(&statements_[at]);
        break;
      default:
        statements_.insert(here, Instruction());
    }
  }

  // ---- words ----------------------------------------------------------------------------------
  struct Word {
    size_t begin = 0;
    size_t length = 0;
  };
  static std::vector<Word> WordsOf(std::string_view text) {
    const auto in_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("%_:$", c) != nullptr;
    };
    std::vector<Word> words;
    for (size_t i = 0; i < text.size(); ++i) {
      const size_t begin = i;
      while (i < text.size() && text[i] != 0 && in_word(text[i])) ++i;
      if (i > begin) words.push_back({begin, i - begin});
    }
    return words;
  }

  std::string Number() {
    static constexpr std::array<const char*, 18> kNumbers = {
        "0",  "1",  "-1", "2",   "4",   "7",  "8",    "16",         "31",
        "32", "33", "64", "128", "255", "-8", "1024", "0x7FFFFFFF", "0x8000000000000000"};
    return Any(kNumbers);
  }

  // Replaces it by a number, or by a word from anywhere.
  void ReplaceWord(std::string* statement) {
    const auto words = WordsOf(*statement);
    if (words.empty()) return;
    const Word old = Any(words);
    std::string fresh = Number();
    if (!OneIn(3)) {
      const std::string& other = statements_[PickStatement()];
      const auto others = WordsOf(other);
      if (others.empty()) return;
      const Word from = Any(others);
      fresh = other.substr(from.begin, from.length);
    }
    statement->replace(old.begin, old.length, fresh);
  }

  // ---- instructions ---------------------------------------------------------------------------
  // Registers are those that seeds declare: %p<4>, %h<4>, %r<8>, %d<8>, %q<2>, and `buffer`.
  std::string Register(int bytes) {
    switch (bytes) {
      case 0:
        return "%p" + std::to_string(Pick(4));
      case 1:
      case 2:
        return "%h" + std::to_string(Pick(4));
      case 4:
        return "%r" + std::to_string(Pick(8));
      case 8:
        return "%d" + std::to_string(Pick(8));
      default:
        return "%q" + std::to_string(Pick(2));
    }
  }
  std::string Address() {
    static constexpr std::array<const char*, 4> kBases = {"buffer", "%d0", "%d1", "%r0"};
    return std::string("[") + Any(kBases) + "+" + std::to_string(8 * Pick(16)) + "]";
  }
  std::string Box(size_t dimensions) {
    return "[%d0, " + List(dimensions, [&] { return Register(4); }) + "]";
  }
  template <typename F>
  std::string List(size_t count, const F& element) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + element();
    return text + "}";
  }

  // The modifiers of a mnemonic that operands depend on.
  struct Chosen {
    std::vector<Type> types;
    size_t vector = 1;
    size_t dimensions = 1;
    std::string text;
  };
  Chosen Modifiers(const Row& row) {
    Chosen chosen;
    for (const ModifierSlot& slot : row.slots) {
      if (slot.optional && !OneIn(3)) continue;
      std::string word(Any(slot.words));
      if (const auto type = FindType(word)) chosen.types.push_back(*type);
      if (word.size() == 2 && word[0] == 'v') chosen.vector = static_cast<size_t>(word[1] - '0');
      if (word.size() == 2 && word[1] == 'd') {
        chosen.dimensions = static_cast<size_t>(word[0] - '0');
      }
      const size_t star = word.find('*');
      if (star != std::string::npos) word.replace(star, 1, std::to_string(8 * (1 + Pick(8))));
      chosen.text += "." + word;
    }
    return chosen;
  }

  std::string Value(const OperandShape& shape, const Chosen& chosen) {
    Type type = shape.type;
    const auto index = static_cast<size_t>(shape.type_index);
    if (shape.type_index >= 0 && index < chosen.types.size()) type = chosen.types[index];
    const int bytes = BytesOf(type) * (shape.twice ? 2 : 1);
    const auto one = [&] {
      const bool number = shape.role == OperandRole::kSource && OneIn(4);
      return number ? Number() : Register(bytes);
    };
    switch (shape.count) {
      case OperandCount::kOne:
        return one();
      case OperandCount::kByModifier:
        return chosen.vector == 1 ? one() : List(chosen.vector, one);
      case OperandCount::kConcat:
        if (!OneIn(3)) return one();
        return List(2, [&] { return Register(bytes / 2); });
      case OperandCount::kListOrDescriptor:
        return OneIn(2) ? Register(8) : List(4, one);
      case OperandCount::kAny:
        return List(size_t{1} << Pick(6), [&] { return Register(bytes); });
    }
    return "";
  }

  std::string Operand(const OperandShape& shape, const Chosen& chosen) {
    switch (shape.role) {
      case OperandRole::kDest:
      case OperandRole::kSource:
        return Value(shape, chosen);
      case OperandRole::kAddress:
        return Address();
      case OperandRole::kBox:
        return Box(chosen.dimensions);
      case OperandRole::kLabel:
      case OperandRole::kCall:
      case OperandRole::kBrx:
        return "end";
    }
    return "";
  }

  std::string Instruction() {
    const Row& row = Rows()[Pick(Rows().size())];
    const Chosen chosen = Modifiers(row);
    std::string text = OneIn(6) ? "@" + Register(0) + " " : "";
    text += std::string(row.mnemonic) + chosen.text;
    bool first = true;
    for (const OperandShape& shape : row.shapes) {
      if ((shape.optional || shape.after_bar) && OneIn(2)) continue;
      text += first ? " " : shape.after_bar ? "|" : ", ";
      text += Operand(shape, chosen);
      first = false;
    }
    return text + ";\n";
  }

  std::mt19937 random_;
  std::vector<std::string> statements_;
};

}  // namespace
}  // namespace tarsia::ptx

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string out = tarsia::ptx::Mutator(text, seed).Run();
  if (out.empty() || out.size() > std::min(max_size, tarsia::ptx::kMaxText)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::copy(out.begin(), out.end(), data);
  return out.size();
}
