#include "tools/settings_list.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "support/text.h"
#include "tools/diagnostics.h"
#include "tools/modules.h"

namespace tarsia::tools {
namespace {

constexpr std::string_view kBlanks = " \t";

struct ListOption {
  std::string_view name;
  ListedOption ListedSettings::* value;
};
constexpr ListOption kListOptions[] = {
    {"--kernel", &ListedSettings::kernel},
    {"--target", &ListedSettings::target},
    {"--output", &ListedSettings::output},
};

// Reads one line from left to right.
class LineReader {
 public:
  LineReader(std::string_view text, uint32_t line) : text_(text), line_(line) {}

  ListedSettings Read() {
    ListedSettings out;
    while (const auto word = NextWord()) {
      if (out.location.line == 0) out.location = PlaceOf(*word);
      if (word->starts_with("--")) {
        ReadOption(*word, &out);
      } else {
        ReadSetting(*word, &out);
      }
      out.location.length = static_cast<uint32_t>(end_ + 1) - out.location.column;
    }
    return out;
  }

 private:
  // The next text without blanks outside of brackets; none before a comment and at the end.
  std::optional<std::string_view> NextWord() {
    at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
    if (at_ == text_.size() || text_[at_] == '#') return std::nullopt;
    const size_t begin = at_;
    for (size_t depth = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (depth == 0 && kBlanks.find(c) != std::string_view::npos) break;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    }
    end_ = at_;
    return text_.substr(begin, end_ - begin);
  }

  // From the beginning of a word to the end of the last one.
  [[nodiscard]] std::string_view From(std::string_view word) const {
    const auto begin = static_cast<size_t>(word.data() - text_.data());
    return text_.substr(begin, end_ - begin);
  }

  [[nodiscard]] Location PlaceOf(std::string_view word) const {
    return {line_, static_cast<uint32_t>(word.data() - text_.data() + 1),
            static_cast<uint32_t>(word.size())};
  }

  void ReadSetting(std::string_view word, ListedSettings* out) {
    Binding binding;
    if (!SplitAssignment(word, &binding.name, &binding.text)) {
      out->errors.Error(diag::kBadListWord, PlaceOf(word), word);
      return;
    }
    binding.location = PlaceOf(word);
    out->settings.push_back(std::move(binding));
  }

  // `--name value` or `--name=value`.
  void ReadOption(std::string_view word, ListedSettings* out) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const auto* option = std::ranges::find(kListOptions, name, &ListOption::name);
    if (option == std::end(kListOptions)) {
      RefuseOption(word, name, out);
      return;
    }
    ListedOption& value = out->*option->value;
    if (value.location.line != 0) out->errors.Error(diag::kRepeatedListOption, PlaceOf(word), name);
    std::string_view text = word.substr(std::min(equals + 1, word.size()));
    if (equals == word.size()) text = NextWord().value_or(std::string_view());
    if (text.empty()) {
      out->errors.Error(diag::kListOptionWithoutValue, PlaceOf(word), name);
      return;
    }
    value = {std::string(text), PlaceOf(From(word))};
  }

  // Leaves the rest of the line, since it may be the value of the option.
  void RefuseOption(std::string_view word, std::string_view name, ListedSettings* out) {
    at_ = text_.size();
    std::vector<std::string_view> names;
    for (const ListOption& option : kListOptions) names.push_back(option.name);
    Diagnostic& error = out->errors.Error(diag::kUnknownListOption, PlaceOf(word), name);
    if (std::string help = DidYouMean(name, names); !help.empty()) error.help = std::move(help);
  }

  const std::string_view text_;
  const uint32_t line_;
  size_t at_ = 0;
  size_t end_ = 0;  // of the last word
};

}  // namespace

std::vector<ListedSettings> ReadSettingsList(const SourceFile& list) {
  std::vector<ListedSettings> out;
  std::string_view rest = list.text();
  for (uint32_t line = 1; !rest.empty(); ++line) {
    std::string_view text = TakeLine(rest);
    if (text.ends_with('\r')) text.remove_suffix(1);
    ListedSettings settings = LineReader(text, line).Read();
    if (settings.location.line != 0) out.push_back(std::move(settings));
  }
  return out;
}

}  // namespace tarsia::tools
