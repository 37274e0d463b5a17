// The TextMate grammar that editors colour programs with, from the tables of the language.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "dtypes/dtype.h"
#include "isa/graph/op.h"
#include "layout/text/functions.h"
#include "tools/isa/text.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

// A regular expression of the words, longest first; dots are literal, and a word does not end
// before a dot.
std::string Words(std::vector<std::string_view> words) {
  std::stable_sort(words.begin(), words.end(),
                   [](std::string_view a, std::string_view b) { return a.size() > b.size(); });
  std::string out = "(?<![\\w.%])(?:";
  for (size_t i = 0; i < words.size(); ++i) {
    if (i != 0) out += '|';
    for (const char c : words[i]) out += c == '.' ? "\\." : std::string(1, c);
  }
  return out + ")(?![\\w.])";
}

std::vector<std::string_view> AttributeWords() {
  std::vector<std::string_view> out;
  for (const AttrRow& row : kAttrRows) {
    out.push_back(row.text);
    for (const std::string_view word : AttrWords(row.kind)) out.push_back(word);
  }
  for (const OptionRow& row : kOptionRows) {
    if (std::find(out.begin(), out.end(), row.word) == out.end()) out.push_back(row.word);
    if (!row.value.empty() && !FindDType(row.value)) out.push_back(row.value);
  }
  return out;
}

// Those of operations of graphs that no instruction has.
std::vector<std::string_view> GraphWordsOnce() {
  std::vector<std::string_view> out;
  for (const std::string_view word : GraphWords()) {
    const bool known = std::find(out.begin(), out.end(), word) != out.end();
    if (!known && !FindMnemonic(word)) out.push_back(word);
  }
  return out;
}

void Pattern(Json* json, std::string_view name, const std::string& match) {
  json->Begin('{').Key("name").String(fmt::format("{}.tarsia", name));
  json->Key("match").String(match).End('}');
}

void StringPattern(Json* json) {
  json->Begin('{').Key("name").String("string.quoted.double.tarsia");
  json->Key("begin").String("\"").Key("end").String("\"|$").Key("patterns").Begin('[');
  Pattern(json, "constant.character.escape", "\\\\(?:[nt\"\\\\]|x[0-9A-Fa-f]{2})");
  json->End(']').End('}');
}

// One pattern per line, so that a change of the table changes one line.
std::string Break(std::string json) {
  std::string out;
  for (size_t i = 0; i < json.size(); ++i) {
    out += json[i];
    if (json.compare(i, 3, "}, ") == 0 || json.compare(i, 2, "[{") == 0) {
      if (json[i] == '}') out += json[++i], ++i;
      out += "\n  ";
    }
  }
  return out;
}

}  // namespace

std::string IsaGrammar() {
  const std::vector<std::string_view> declarations = {"kernel", "graph", "const", "require",
                                                      "assume", "grid",  "warps", "registers",
                                                      "fast",   "tune",  "return"};
  const std::vector<std::string_view> words = {"else", "to", "step", "align", "bits"};
  const std::vector<std::string_view> types = {"ptr",       "global",   "shared", "reg",
                                               "int",       "bool",     "dtype",  "reglayout",
                                               "memlayout", "bitlayout"};
  const auto mnemonics = Mnemonics();
  const auto dtypes = DTypeNames();
  const auto functions = FuncNames();
  Json json;
  json.Begin('{').Key("information_for_contributors");
  json.String("Made by `tarsia isa --grammar > editors/tarsia.tmLanguage.json`. Do not edit.");
  json.Key("name").String("Tarsia").Key("scopeName").String("source.tarsia");
  json.Key("fileTypes").Begin('[').String("tsa").End(']').Key("patterns").Begin('[');
  Pattern(&json, "comment.line.double-slash", "//.*$");
  StringPattern(&json);
  Pattern(&json, "variable.other", "%[A-Za-z_]\\w*");
  Pattern(&json, "support.constant.fragment", "(?<![\\w.%])mma\\.[\\w.]+");
  Pattern(&json, "keyword.other.declaration", Words(declarations));
  Pattern(&json, "keyword.control", Words(words));
  Pattern(&json, "keyword.operator.word", Words({"and", "or", "not"}));
  Pattern(&json, "keyword.mnemonic", Words({mnemonics.begin(), mnemonics.end()}));
  Pattern(&json, "storage.type", Words(types));
  Pattern(&json, "storage.type.element", Words({dtypes.begin(), dtypes.end()}));
  Pattern(&json, "support.function.graph", Words(GraphWordsOnce()));
  Pattern(&json, "support.function.layout", Words({functions.begin(), functions.end()}));
  Pattern(&json, "entity.other.attribute-name", Words(AttributeWords()));
  Pattern(&json, "constant.language", Words({"true", "false", "inf", "nan"}));
  Pattern(&json, "constant.numeric",
          "(?<![\\w.])(?:0x[0-9A-Fa-f]+|\\d+(?:\\.\\d*)?(?:[eE][+-]?\\d+)?)(?!\\w)");
  json.End(']').End('}');
  return Break(json.Take());
}

}  // namespace tarsia::tools
