// Makes text of unknown origin safe to show: names, messages, file names, output of programs. A
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

// `text` with everything escaped that is not a printable character: bytes as `\x1b`, characters
// beyond ASCII as `\u202e`. Escaped are control characters (C0, DEL, C1), bytes that are not UTF-8,
// the marks of bidirectional text, the separators of lines and paragraphs, and the byte order mark.
// Idempotent.
std::string Printable(std::string_view text, Keep keep = Keep::kNothing);

// The same, cut after `limit` bytes of `text` with a note of its length.
std::string PrintableStart(std::string_view text, size_t limit, Keep keep = Keep::kNothing);

// A character of UTF-8, or one byte that is not part of one.
struct Character {
  size_t bytes = 1;
  bool printable = false;  // may be shown as it is
};
// The character at `at`, which is less than the size of `text`.
Character CharacterAt(std::string_view text, size_t at);

// Something that is not text: bytes that are not UTF-8, and control characters other than white
// space.
struct NoText {
  size_t at = 0;  // bytes before it
  Location location;
  std::string what;  // "the byte 0x8f", "the control character 0x1b"
};
// The first such place in `text`; empty if all of it is text.
std::optional<NoText> FindNoText(std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_PRINTABLE_H_
