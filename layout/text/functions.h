// The functions that layout text can call: one table (layout/text/functions.def) for the parser,
// the evaluator, the static kinds and the documentation.
#ifndef TARSIA_LAYOUT_TEXT_FUNCTIONS_H_
#define TARSIA_LAYOUT_TEXT_FUNCTIONS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tarsia {

// Static kinds of expressions. kMemLayout is a family or a concrete memory layout.
enum class ExprType : uint8_t {
  kUnknown,
  kBool,
  kInt,
  kFloat,
  kDType,
  kRegLayout,
  kMemLayout,
  kBitLayout,
  kList
};

// "an integer", "a register layout", ... for messages.
std::string_view ExprTypeName(ExprType type);

enum class Func : uint8_t {
#define FUNC(id, name, parameters, result, doc) id,
#include "layout/text/functions.def"
#undef FUNC
};

struct FuncInfo {
  Func func;
  std::string_view name;
  std::string_view parameters;  // see layout/text/functions.def
  ExprType result;
  std::string_view doc;
};

// All rows, in the order of their numbers.
std::span<const FuncInfo> Functions();
const FuncInfo& InfoOf(Func func);
inline std::string_view FuncName(Func func) { return InfoOf(func).name; }
std::optional<Func> FindFunc(std::string_view name);
// Only the names, for suggestions.
std::span<const std::string_view> FuncNames();

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_FUNCTIONS_H_
