// Rules of the reduce family.
#include <algorithm>

#include "isa/validate/rule_context.h"

namespace tarsia {
namespace {

ExprId ReducedShape(RuleContext& check, const Inst& inst, ExprId shape,
                    const std::vector<size_t>& axes) {
  const bool keep = check.kernel.HasAttr(inst, Attr::kKeepdims);
  std::vector<ExprId> extents;
  for (size_t d = 0; d < Rank(check.pool, shape); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      extents.push_back(Extent(check.pool, shape, d));
    } else if (keep) {
      extents.push_back(ExprId::Small(1));
    }
  }
  return check.pool.List(extents);
}

void Reduce(RuleContext& check, const Inst& inst) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const auto axes = check.attributes.Axes(inst, Attr::kAxes, Rank(check.pool, source.type->shape));
  if (!axes) return;
  check.results.Define(
      inst, 0,
      RegisterTile(source.type->dtype, ReducedShape(check, inst, source.type->shape, *axes)));
}

void ReduceArg(RuleContext& check, const Inst& inst) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const auto axis = check.attributes.Axis(inst, Rank(check.pool, source.type->shape));
  if (!axis) return;
  const ExprId shape = ReducedShape(check, inst, source.type->shape, {*axis});
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, shape));
  check.results.Define(inst, 1, RegisterTile(check.pool.Type(kI32), shape));
}

void Scan(RuleContext& check, const Inst& inst) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  if (!check.attributes.Axis(inst, Rank(check.pool, source.type->shape))) return;
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, source.type->shape));
}

void FindTopK(RuleContext& check, const Inst& inst) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const CheckedOperand k = check.operands.Get(inst, 1);
  const ExprId count = check.context.Fold(k.id);
  const auto known = check.expressions.KnownInt(k.id, k.location);
  if (known && (*known < 1 || *known > kMostTopK)) {
    check.context.Error(diag::kTopKRange, k.location, +kMostTopK, *known);
    return;
  }
  const auto axis = check.attributes.Axis(inst, Rank(check.pool, source.type->shape));
  if (!axis) return;
  const auto extents = check.pool.children(source.type->shape);
  std::vector<ExprId> found(extents.begin(), extents.end());
  found[*axis] = count;
  const ExprId shape = check.pool.List(found);
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, shape));
  check.results.Define(inst, 1, RegisterTile(check.pool.Type(kI32), shape));
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
VALIDATE(ScanSum) { Scan(check, inst); }
VALIDATE(ScanProd) { Scan(check, inst); }
VALIDATE(ScanMin) { Scan(check, inst); }
VALIDATE(ScanMax) { Scan(check, inst); }
VALIDATE(TopK) { FindTopK(check, inst); }

}  // namespace tarsia
