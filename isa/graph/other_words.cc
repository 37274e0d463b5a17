#include "isa/graph/other_words.h"

#include <algorithm>

namespace tarsia {

std::span<const OtherWord> OtherGraphWords() {
  static constexpr OtherWord kWords[] = {
#define OTHER_WORD(word, help) {word, help},
#define OTHER_TYPE(name, type)
#include "isa/graph/other_words.def"
#undef OTHER_WORD
#undef OTHER_TYPE
  };
  return kWords;
}

std::span<const OtherWord> OtherTypes() {
  static constexpr OtherWord kTypes[] = {
#define OTHER_WORD(word, help)
#define OTHER_TYPE(name, type) {name, type},
#include "isa/graph/other_words.def"
#undef OTHER_WORD
#undef OTHER_TYPE
  };
  return kTypes;
}

std::string_view FindOther(std::span<const OtherWord> words, std::string_view word) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const OtherWord& other) { return other.word == word; });
  return found == words.end() ? std::string_view() : found->here;
}

}  // namespace tarsia
