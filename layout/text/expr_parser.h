// Reads the expressions of layout/text/expr.h from a lexer.
#ifndef TARSIA_LAYOUT_TEXT_EXPR_PARSER_H_
#define TARSIA_LAYOUT_TEXT_EXPR_PARSER_H_

#include <optional>
#include <string_view>

#include "layout/text/expr.h"
#include "layout/text/lexer.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tarsia {

// Maps the values (`%x`) of an expression to their numbers. Reports an unknown value and then
// returns nothing.
class ValueResolver {
 public:
  virtual ~ValueResolver() = default;
  virtual std::optional<ExprId> ResolveValue(std::string_view name, Location location) = 0;
};

class ExprParser {
 public:
  // `values` may be null: then a `%x` is an error.
  ExprParser(Lexer& lexer, ExprPool& pool, ValueResolver* values, Diagnostics& diagnostics)
      : lexer_(lexer), pool_(pool), values_(values), diagnostics_(diagnostics) {}

  // Each returns a none id after reporting an error; the lexer is then at the token that was not
  // accepted.
  ExprId Parse();
  // A sum: everything that binds tighter than comparisons, for places where `<` and `>` mean
  // something else.
  ExprId ParseSum();
  // `[a, b, ...]`; the lexer is at `[`.
  ExprId ParseList();
  // A number, a string, a name, a call, a list, a value, or an expression in parentheses.
  ExprId ParsePrimary();
  // Behind a minus at `minus`: whether a number follows, which is then part of the literal.
  [[nodiscard]] bool AtNumber() const;
  ExprId ParseNegativeNumber(Location minus);

 private:
  ExprId ParseBinary(int precedence);
  ExprId ParseBinaryRest(ExprId left, int precedence);
  ExprId ParseUnary();
  ExprId ResolveValue();
  ExprId ConvertInteger();
  ExprId ParseParentheses();
  ExprId ParseName();
  ExprId ParseSequence(Token close, ExprKind kind, uint8_t code);
  ExprId ParseArgument();
  ExprId Expected(std::string_view what);
  ExprId TooDeep();
  ExprId Checked(ExprId id);

  Lexer& lexer_;
  ExprPool& pool_;
  ValueResolver* values_;
  Diagnostics& diagnostics_;
  int depth_ = 0;
};

// The operator at the current token, if it is one.
std::optional<BinaryOp> BinaryOpOf(const Lexer& lexer);

// A whole text as one expression without values; the first error if there is one.
Result<ExprId> ParseExpression(std::string_view text, ExprPool& pool);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_EXPR_PARSER_H_
