// What the printers of kernels and of graphs share. Internal to isa/.
#ifndef TARSIA_ISA_TEXT_TEXT_WRITER_H_
#define TARSIA_ISA_TEXT_TEXT_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "isa/module.h"
#include "isa/text/trivia.h"

namespace tarsia {

// Appends to a text. `trivia` is null if there are no comments to keep.
class TextWriter {
 protected:
  TextWriter(const Module& module, Trivia* trivia, std::string& out)
      : module_(module), trivia_(trivia), out_(out) {}

  void Expr(ExprId id) { Print(module_.pool, id, names_, out_); }
  // An expression where the grammar has a sum: weaker operators get parentheses.
  void Sum(ExprId id);
  [[nodiscard]] std::string_view Text(StringId id) const { return module_.pool.strings()[id]; }

  // The comments before a line and its indentation; the comment behind it and its end.
  void Begin(uint32_t line, int indent, bool first);
  void End(uint32_t line);

  // The clauses. Constants of one line of the text stay on one line if comments are kept.
  void PrintConstants(const std::vector<Constant>& constants);
  void PrintRequires(const std::vector<Require>& requirements);

  const Module& module_;
  Trivia* const trivia_;
  std::string& out_;
  const ValueNames* names_ = nullptr;

 private:
  void PrintConstant(const Constant& constant);
};

}  // namespace tarsia

#endif  // TARSIA_ISA_TEXT_TEXT_WRITER_H_
