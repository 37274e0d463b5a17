#include "support/json.h"

#include <fmt/format.h>

#include <utility>

#include "support/printable.h"

namespace tarsia {

void Json::Separate() {
  if (!first_) out_ += ", ";
  first_ = false;
}

Json& Json::Begin(char bracket) {
  Separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

Json& Json::End(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

Json& Json::Key(std::string_view key) {
  String(key);
  out_ += ": ";
  first_ = true;
  return *this;
}

namespace {

// RFC 8259, section 7. Bytes that are not UTF-8 are not allowed in JSON and become U+FFFD;
// characters that control a terminal are written as numbers.
void AppendJsonCharacter(std::string_view bytes, bool printable, std::string* out) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (bytes == "\"" || bytes == "\\") {
    *out += '\\';
    *out += bytes;
  } else if (printable) {
    *out += bytes;
  } else if (bytes == "\n") {
    *out += "\\n";
  } else if (bytes == "\t") {
    *out += "\\t";
  } else if (bytes.size() == 1) {
    *out += fmt::format("\\u{:04x}", first < 0x80 ? first : 0xFFFD);
  } else {  // two or three bytes: no hidden character has more
    *out += Printable(bytes);
  }
}

}  // namespace

Json& Json::String(std::string_view text) {
  Separate();
  out_ += '"';
  for (size_t i = 0; i < text.size();) {
    const Character character = CharacterAt(text, i);
    AppendJsonCharacter(text.substr(i, character.bytes), character.printable, &out_);
    i += character.bytes;
  }
  out_ += '"';
  return *this;
}

Json& Json::Number(int64_t value) { return Raw(std::to_string(value)); }

Json& Json::Bool(bool value) { return Raw(value ? "true" : "false"); }

Json& Json::Null() { return Raw("null"); }

Json& Json::Raw(std::string_view json) {
  Separate();
  out_ += json;
  return *this;
}

std::string Json::Take() {
  out_ += '\n';
  return std::move(out_);
}

}  // namespace tarsia
