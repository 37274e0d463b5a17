// The value of an expression: integers, types, layouts; and its static kind while names are open.
#ifndef TARSIA_LAYOUT_TEXT_EVAL_H_
#define TARSIA_LAYOUT_TEXT_EVAL_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "dtypes/dtype.h"
#include "layout/bit_layout.h"
#include "layout/mem_layout.h"
#include "layout/reg_layout.h"
#include "layout/text/expr.h"
#include "layout/text/functions.h"
#include "support/result.h"

namespace tarsia {

struct EvalList;
using EvalValue = std::variant<std::monostate, bool, int64_t, double, DType, RegLayout,
                               MemLayoutFamily, BitLayoutFamily, std::string, EvalList>;
// A list keeps replications (`~4`) as the negative number ~4.
struct EvalList {
  std::vector<EvalValue> items;
};
bool operator==(const EvalList& a, const EvalList& b);

// The kind of a value; kUnknown for none and for strings.
ExprType TypeOf(const EvalValue& value);
// Its text, which evaluates to the same value.
std::string ToString(const EvalValue& value);

// The values of names and `%values`. Null: not known here, an error that suggests one of `Names`.
class EvalEnv {
 public:
  virtual ~EvalEnv() = default;
  [[nodiscard]] virtual const EvalValue* FindName(StringId name) const = 0;
  [[nodiscard]] virtual const EvalValue* FindValue(uint32_t value) const = 0;
  // All known names, for suggestions.
  [[nodiscard]] virtual std::vector<std::string_view> Names() const { return {}; }
};
// An environment that knows nothing.
const EvalEnv& EmptyEnv();

// Every error has `location`; `failed`, if not null, is set to the innermost expression that
// failed. Integer arithmetic is checked: overflow and division by zero are errors; / and % of
// integers truncate towards zero. Work is bounded: an expression that needs more than 2^16 steps,
// because it shares its parts, is refused. Thread-safe while the pool does not change.
Result<EvalValue> Evaluate(const ExprPool& pool, ExprId id, const EvalEnv& env,
                           Location location = {}, ExprId* failed = nullptr);

// The static kinds of names and values; nullopt: not known here.
class TypeEnv {
 public:
  virtual ~TypeEnv() = default;
  [[nodiscard]] virtual std::optional<ExprType> NameType(StringId name) const = 0;
  [[nodiscard]] virtual std::optional<ExprType> ValueType(uint32_t value) const = 0;
  [[nodiscard]] virtual std::vector<std::string_view> Names() const { return {}; }
};

// The kind of an expression for all values of its names; an error if there is none. A name whose
// kind is kUnknown fits everywhere.
Result<ExprType> StaticType(const ExprPool& pool, ExprId id, const TypeEnv& env,
                            Location location = {}, ExprId* failed = nullptr);

// Where `id` is written in `text`, an expression that was parsed into `pool`: the first place that
// reads as the same expression, or the whole text.
Location FindExpression(std::string_view text, ExprPool& pool, ExprId id);

// Parses and evaluates a text without names of constants; the error points into the text.
Result<EvalValue> EvaluateText(std::string_view text);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_TEXT_EVAL_H_
