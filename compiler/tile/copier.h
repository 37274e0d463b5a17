// Copies of operations, for passes that make several turns of a loop out of one.
#ifndef TARSIA_COMPILER_TILE_COPIER_H_
#define TARSIA_COMPILER_TILE_COPIER_H_

#include <unordered_map>
#include <vector>

#include "compiler/tile/form.h"

namespace tarsia::compiler::tile {

// What a copy defines are new values, and copies after it use these.
class Copier {
 public:
  explicit Copier(Form& form) : form_(form) {}

  // From now on, copies have an expression in place of a value. It has to be a value if an operand
  // or a carried value is meant (IsOperand), not part of an expression.
  void Set(ValueId value, ExprId now) { now_[value] = now; }
  [[nodiscard]] ExprId Now(ValueId value) const;
  [[nodiscard]] ValueId ValueNow(ValueId value) const { return Now(value).value(); }
  [[nodiscard]] std::vector<ValueId> ValuesNow(const std::vector<ValueId>& values) const;

  // A new value in place of this one.
  ValueId Fresh(ValueId value);
  // A copy of an operation and of its regions at the end of a region.
  OpId Copy(OpId op, RegionId into);
  // Of the operations of a region, in their order.
  void CopyOps(RegionId from, RegionId into);
  // A new `for` like another one at the end of a region: other bounds, `inits`, and a body without
  // operations, whose arguments copies use from now on.
  OpId CopyLoop(OpId loop, ExprId start, ExprId stop, int64_t step,
                const std::vector<ValueId>& inits, RegionId into);

 private:
  RegionId NewRegion(OpId owner, RegionId parent, const std::vector<ValueId>& arguments);

  Form& form_;
  std::unordered_map<ValueId, ExprId> now_;
};

// Whether operations of the region, or of those inside, have the value as an operand or carry it:
// where no expression can stand.
bool IsOperand(const Form& form, RegionId region, ValueId value);

// Puts other values in the place of some, everywhere. By value: kNone stays.
void ReplaceValues(Form& form, const std::vector<ValueId>& by);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_COPIER_H_
