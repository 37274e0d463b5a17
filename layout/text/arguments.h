// Assigns the arguments of a call to the parameters of layout/text/functions.def. Purely syntactic:
// the evaluator and the static kinds both use it.
#ifndef TARSIA_LAYOUT_TEXT_ARGUMENTS_H_
#define TARSIA_LAYOUT_TEXT_ARGUMENTS_H_

#include <span>
#include <string_view>
#include <vector>

#include "layout/text/expr.h"
#include "layout/text/functions.h"
#include "support/result.h"

namespace tarsia {

struct FuncParameter {
  std::string_view name;
  ExprType type = ExprType::kUnknown;  // kBool for a flag
  bool flag = false;
  bool optional = false;
  bool variadic = false;  // the last one; takes all positional arguments that are left
};

// The parameters of a function, in order. Thread-safe.
std::span<const FuncParameter> ParametersOf(Func func);

// For each parameter its expressions: none, one, or (variadic) several. A bare flag is represented
// by its own name.
using BoundArguments = std::vector<std::vector<ExprId>>;
Result<BoundArguments> BindArguments(const ExprPool& pool, ExprId call);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_ARGUMENTS_H_
