// Comments and blank lines of a text, for the formatter. Internal to isa/.
#ifndef TARSIA_ISA_TEXT_TRIVIA_H_
#define TARSIA_ISA_TEXT_TRIVIA_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layout/text/lexer.h"

namespace tarsia {

// Assigns the comments and blank lines of a text to the printed lines they belong to.
class Trivia {
 public:
  Trivia() = default;
  Trivia(std::string_view text, const std::vector<Comment>& comments,
         const std::set<uint32_t>& items) {
    blank_.push_back(true);  // line 0
    while (!text.empty()) {
      const size_t newline = std::min(text.find('\n'), text.size());
      blank_.push_back(text.substr(0, newline).find_first_not_of(" \t\r") ==
                       std::string_view::npos);
      text.remove_prefix(std::min(newline + 1, text.size()));
    }
    for (const Comment& comment : comments) {
      const auto item = items.lower_bound(comment.location.line);
      const bool trails =
          !comment.own_line && item != items.end() && *item == comment.location.line;
      if (trails) {
        trailing_[*item] += " " + std::string(comment.text);
      } else {
        leading_[item == items.end() ? UINT32_MAX : *item].push_back(
            {comment.location.line, std::string(comment.text)});
      }
    }
  }

  // Appends the comments before the item of a line and the blank line before it, and forgets them.
  // `first`: the item is the first of its block, which has no blank line before it.
  void TakeLeading(uint32_t line, int indent, bool first, std::string& out) {
    const auto found = leading_.find(line);
    if (found != leading_.end()) {
      for (const Line& comment : found->second) {
        if (!first && BlankAbove(comment.line)) out += '\n';
        first = false;
        out.append(static_cast<size_t>(indent), ' ');
        out += comment.text + "\n";
      }
      leading_.erase(found);
    }
    if (!first && BlankAbove(line)) out += '\n';
  }
  // Returns the comment after the item of a line, and forgets it.
  std::string TakeTrailing(uint32_t line) {
    const auto found = trailing_.find(line);
    if (found == trailing_.end()) return "";
    std::string text = " " + found->second;
    trailing_.erase(found);
    return text;
  }

 private:
  struct Line {
    uint32_t line;
    std::string text;
  };
  [[nodiscard]] bool BlankAbove(uint32_t line) const {
    return line >= 2 && line - 1 < blank_.size() && blank_[line - 1];
  }
  std::vector<bool> blank_;
  std::map<uint32_t, std::vector<Line>> leading_;
  std::map<uint32_t, std::string> trailing_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_TRIVIA_H_
