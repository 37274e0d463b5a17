// Parts of texts.
#ifndef TARSIA_SUPPORT_TEXT_H_
#define TARSIA_SUPPORT_TEXT_H_

#include <string_view>

namespace tarsia {

// The text without white space at its ends.
inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kWhiteSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) + 1 - first);
}

// Removes the first line from the text, and returns it without its end.
inline std::string_view TakeLine(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_TEXT_H_
