// What words and types of other languages are called in graphs.
#ifndef TARSIA_ISA_GRAPH_OTHER_WORDS_H_
#define TARSIA_ISA_GRAPH_OTHER_WORDS_H_

#include <span>
#include <string_view>

namespace tarsia {

struct OtherWord {
  std::string_view word;
  std::string_view here;  // how to write it; of a type: its name
};
std::span<const OtherWord> OtherGraphWords();
std::span<const OtherWord> OtherTypes();
// "" for a word that is not among them.
std::string_view FindOther(std::span<const OtherWord> words, std::string_view word);

}  // namespace tarsia

#endif  // TARSIA_ISA_GRAPH_OTHER_WORDS_H_
