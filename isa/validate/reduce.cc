// Rules of the reduce family.
#include <algorithm>

#include "isa/validate/checker.h"

namespace tarsia {
namespace {

ExprId ReducedShape(Checker& check, const Inst& inst, ExprId shape,
                    const std::vector<size_t>& axes) {
  const bool keep = check.Flag(inst, Attr::kKeepdims);
  std::vector<ExprId> extents;
  for (size_t d = 0; d < check.Rank(shape); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      extents.push_back(check.Extent(shape, d));
    } else if (keep) {
      extents.push_back(ExprId::Small(1));
    }
  }
  return check.Shape(extents);
}

void Reduce(Checker& check, const Inst& inst) {
  const Checker::Operand source = check.Get(inst, 0);
  const auto axes = check.Axes(inst, Attr::kAxes, check.Rank(source.type->shape));
  if (!axes) return;
  check.Define(
      inst, 0,
      check.RegisterTile(source.type->dtype, ReducedShape(check, inst, source.type->shape, *axes)));
}

void ReduceArg(Checker& check, const Inst& inst) {
  const Checker::Operand source = check.Get(inst, 0);
  const auto axis = check.Axis(inst, check.Rank(source.type->shape));
  if (!axis) return;
  const ExprId shape = ReducedShape(check, inst, source.type->shape, {*axis});
  check.Define(inst, 0, check.RegisterTile(source.type->dtype, shape));
  check.Define(inst, 1, check.RegisterTile(check.pool().Type(kI32), shape));
}

}  // namespace

VALIDATE(ReduceSum) { Reduce(check, inst); }
VALIDATE(ReduceProd) { Reduce(check, inst); }
VALIDATE(ReduceMin) { Reduce(check, inst); }
VALIDATE(ReduceMax) { Reduce(check, inst); }
VALIDATE(ReduceAny) { Reduce(check, inst); }
VALIDATE(ReduceAll) { Reduce(check, inst); }
VALIDATE(ReduceArgmin) { ReduceArg(check, inst); }
VALIDATE(ReduceArgmax) { ReduceArg(check, inst); }

}  // namespace tarsia
