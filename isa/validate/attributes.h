// The attributes of an instruction.
#ifndef TARSIA_ISA_VALIDATE_ATTRIBUTES_H_
#define TARSIA_ISA_VALIDATE_ATTRIBUTES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "isa/validate/expressions.h"

namespace tarsia {

class Attributes {
 public:
  Attributes(KernelContext& context, Expressions& expressions)
      : context_(context), expressions_(expressions) {}

  // False after an error: an attribute is not of its kind in isa/attributes.def.
  bool Check(const Inst& inst, const InstRow& row);

  // ---- for rules ---------------------------------------------------------------------------

  // The number if it is known; `fallback` if the attribute is not set.
  std::optional<int64_t> KnownInt(const Inst& inst, Attr attr, int64_t fallback);
  [[nodiscard]] std::string_view Word(const Inst& inst, Attr attr) const;
  // The axis below `rank`, 0 if it is not set; empty after an error.
  std::optional<size_t> Axis(const Inst& inst, size_t rank);
  // A list attribute as axes below `rank`, each at most once; empty after an error.
  std::optional<std::vector<size_t>> Axes(const Inst& inst, Attr attr, size_t rank);

 private:
  bool CheckOne(const Inst& inst, const AttrRow& row, ExprId value);
  bool CheckNumbers(const AttrRow& row, ExprId value, Location location);
  // False after an error.
  bool InRange(int64_t axis, size_t rank, Location location);

  KernelContext& context_;
  Expressions& expressions_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_VALIDATE_ATTRIBUTES_H_
