#include "support/printable.h"

#include <fmt/format.h>

namespace tarsia {
namespace {

unsigned char ByteAt(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// A character of UTF-8: its code point and its length in bytes; 0 bytes if no character begins
// here.
struct Decoded {
  char32_t code = 0;
  size_t bytes = 0;
};

// The Unicode Standard, table 3-7: the shortest form only, no surrogates, nothing above U+10FFFF.
Decoded Decode(std::string_view text, size_t at) {
  const unsigned char lead = ByteAt(text, at);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < bytes) return {};
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const unsigned char next = ByteAt(text, at + i);
    if ((next & 0xC0) != 0x80) return {};
    code = code << 6 | (next & 0x3F);
  }
  const bool short_form = code < (bytes == 2 ? 0x80U : bytes == 3 ? 0x800U : 0x10000U);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (short_form || surrogate || code > 0x10FFFF) return {};
  return {code, bytes};
}

bool IsControl(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Unicode Standard Annex 9 lists the marks of direction.
bool IsHidden(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

bool Kept(char c, Keep keep) {
  switch (keep) {
    case Keep::kNothing:
      return false;
    case Keep::kTabs:
      return c == '\t';
    case Keep::kNewlines:
      return c == '\t' || c == '\n';
  }
  return false;
}

}  // namespace

Character CharacterAt(std::string_view text, size_t at) {
  const Decoded character = Decode(text, at);
  if (character.bytes == 0) return {};
  return {character.bytes, !IsControl(character.code) && !IsHidden(character.code)};
}

std::string Printable(std::string_view text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Character character = CharacterAt(text, i);
    if (character.printable || Kept(text[i], keep)) {
      out.append(text, i, character.bytes);
    } else if (character.bytes == 1) {
      out += fmt::format("\\x{:02x}", ByteAt(text, i));
    } else {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(Decode(text, i).code));
    }
    i += character.bytes;
  }
  return out;
}

std::string PrintableStart(std::string_view text, size_t limit, Keep keep) {
  if (text.size() <= limit) return Printable(text, keep);
  while (limit > 0 && (ByteAt(text, limit) & 0xC0) == 0x80) --limit;
  return fmt::format("{}... ({} bytes)", Printable(text.substr(0, limit), keep), text.size());
}

std::optional<NoText> FindNoText(std::string_view text) {
  NoText found;
  size_t line_start = 0;
  for (found.location = {1, 0, 1}; found.at < text.size();) {
    const unsigned char byte = ByteAt(text, found.at);
    const bool blank = byte == ' ' || (byte >= '\t' && byte <= '\r');
    const Decoded character = blank ? Decoded{byte, 1} : Decode(text, found.at);
    const bool control = !blank && IsControl(character.code);
    if (character.bytes == 0 || control) {
      found.location.column = static_cast<uint32_t>(found.at - line_start + 1);
      found.what = character.bytes == 0 ? fmt::format("the byte 0x{:02x}", byte)
                                        : fmt::format("the control character 0x{:02x}",
                                                      static_cast<uint32_t>(character.code));
      return found;
    }
    found.at += character.bytes;
    if (byte == '\n') {
      ++found.location.line;
      line_start = found.at;
    }
  }
  return std::nullopt;
}

}  // namespace tarsia
