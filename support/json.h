// Writes JSON as it goes, without a tree of values in memory.
#ifndef TARSIA_SUPPORT_JSON_H_
#define TARSIA_SUPPORT_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tarsia {

// Builds one JSON value; adds commas and escapes. Call `Key` before each value of an object.
class Json {
 public:
  Json& Begin(char bracket);  // '{' or '['
  Json& End(char bracket);    // '}' or ']'
  Json& Key(std::string_view key);
  Json& String(std::string_view text);
  Json& Number(int64_t value);
  Json& Bool(bool value);
  Json& Null();
  Json& Raw(std::string_view json);  // a value that is already JSON
  // The value with a newline.
  [[nodiscard]] std::string Take();

 private:
  void Separate();
  std::string out_;
  bool first_ = true;
};

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_JSON_H_
