#include "isa/names.h"

#include <algorithm>
#include <array>

#include "dtypes/dtype.h"
#include "isa/instruction.h"
#include "layout/text/functions.h"

namespace tarsia {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The words of expressions, then those of the syntax around them.
constexpr std::array<std::string_view, 7> kExpressionWords = {"true", "false", "inf", "nan",
                                                              "and",  "or",    "not"};
constexpr std::array<std::string_view, 11> kSyntaxWords = {
    "to",     "step", "bits", "tune",      "align",       "global",
    "shared", "reg",  "ptr",  "row_major", "column_major"};

template <typename Words>
bool IsOneOf(std::string_view name, const Words& words) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

}  // namespace

bool IsPlainName(std::string_view name) {
  if (name.empty() || !IsLetter(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return IsLetter(c) || IsDigit(c); });
}

bool IsDottedName(std::string_view name) {
  if (name.empty() || !IsLetter(name[0]) || name.back() == '.') return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.' ? name[i - 1] == '.' : !IsLetter(name[i]) && !IsDigit(name[i])) return false;
  }
  return true;
}

bool IsExpressionName(std::string_view name) {
  return IsPlainName(name) && !IsOneOf(name, kExpressionWords) && !FindDType(name);
}

std::string_view ReservedAs(std::string_view name) {
  if (IsOneOf(name, kExpressionWords) || IsOneOf(name, kSyntaxWords))
    return "a word of the language";
  if (FindFunc(name)) return "the name of a function";
  if (FindDType(name)) return "a type";
  if (FindAttr(name)) return "the name of an attribute";
  if (name.find('.') != std::string_view::npos || FindMnemonic(name)) {
    return "the name of an instruction or of a fragment";
  }
  return "";
}

std::span<const OtherName> OtherNames() {
  static constexpr OtherName kNames[] = {
#define OTHER_NAME(name, help) {name, help},
#include "isa/other_names.def"
#undef OTHER_NAME
  };
  return kNames;
}

std::string_view HelpForOtherName(std::string_view name) {
  for (const OtherName& other : OtherNames()) {
    if (other.name == name) return other.help;
  }
  return "";
}

}  // namespace tarsia
