// Text of unknown origin, made safe to show: names, messages, file names, what a program prints. A
// terminal obeys control bytes and escape sequences, and marks of direction change the order in
// which the rest of a line is read.
#ifndef TARSIA_SUPPORT_PRINTABLE_H_
#define TARSIA_SUPPORT_PRINTABLE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace tarsia {

// Which white space stays as it is.
enum class Keep {
  kNothing,   // a name within a line
  kTabs,      // a line
  kNewlines,  // several lines: newlines and tabs
};

// `text` with everything written out that is no printable character: bytes as `\x1b`, characters
// beyond ASCII as `\u202e`. Those are: control characters (C0, DEL, C1), bytes that are not UTF-8,
// the marks of bidirectional text, the separators of lines and paragraphs, and the byte order mark.
// Doing it twice changes nothing more.
std::string Printable(std::string_view text, Keep keep = Keep::kNothing);

// The same, cut behind `limit` bytes of `text` with a word on how long it is.
std::string PrintableStart(std::string_view text, size_t limit, Keep keep = Keep::kNothing);

// A character of UTF-8, or one byte that is none.
struct Character {
  size_t bytes = 1;
  bool printable = false;  // may be shown as it is
};
// The one at `at`, which is less than the size of `text`.
Character CharacterAt(std::string_view text, size_t at);

// What is no text: bytes that are not UTF-8, and control characters other than white space.
struct NoText {
  size_t at = 0;  // bytes before it
  Location location;
  std::string what;  // "the byte 0x8f", "the control character 0x1b"
};
// The first of that in `text`; none in a text.
std::optional<NoText> FindNoText(std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_PRINTABLE_H_
