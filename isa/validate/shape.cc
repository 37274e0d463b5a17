// Rules of the shape family.
#include <algorithm>

#include "isa/validate/rule_context.h"

namespace tarsia {

VALIDATE(Reshape) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const ExprId shape = check.annotations.Get(inst).shape;
  const auto a = Elements(check.pool, source.type->shape);
  const auto b = Elements(check.pool, shape);
  if (a && b && *a != *b) {
    check.context.Error(diag::kElementCount, check.kernel.TypeLocation(inst),
                        check.context.Text(shape), *b, check.context.Text(source.type->shape), *a);
    return;
  }
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, shape));
}

VALIDATE(Permute) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const size_t rank = Rank(check.pool, source.type->shape);
  const auto order = check.attributes.Axes(inst, Attr::kOrder, rank);
  if (!order) return;
  if (order->size() != rank) {
    check.context.Error(diag::kOrderNotPermutation, check.kernel.AttrLocation(inst, Attr::kOrder),
                        check.context.Text(check.kernel.AttrOf(inst, Attr::kOrder)), rank);
    return;
  }
  std::vector<ExprId> extents;
  for (const size_t axis : *order) extents.push_back(Extent(check.pool, source.type->shape, axis));
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, check.pool.List(extents)));
}

VALIDATE(Squeeze) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const auto axes = check.attributes.Axes(inst, Attr::kAxes, Rank(check.pool, source.type->shape));
  if (!axes) return;
  std::vector<ExprId> extents;
  for (size_t d = 0; d < Rank(check.pool, source.type->shape); ++d) {
    const ExprId extent = Extent(check.pool, source.type->shape, d);
    if (std::find(axes->begin(), axes->end(), d) == axes->end()) {
      extents.push_back(extent);
    } else if (Differ(check.pool, extent, ExprId::Small(1))) {
      check.context.Error(diag::kSqueezeExtent, check.kernel.AttrLocation(inst, Attr::kAxes), d,
                          check.context.Text(extent));
      return;
    }
  }
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, check.pool.List(extents)));
}

VALIDATE(Unsqueeze) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const ExprId list = check.kernel.AttrOf(inst, Attr::kAxes);
  const size_t rank = Rank(check.pool, source.type->shape) + Rank(check.pool, list);
  const auto axes = check.attributes.Axes(inst, Attr::kAxes, rank);
  if (!axes) return;
  std::vector<ExprId> extents;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) {
    const bool inserted = std::find(axes->begin(), axes->end(), d) != axes->end();
    extents.push_back(inserted ? ExprId::Small(1) : Extent(check.pool, source.type->shape, next++));
  }
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, check.pool.List(extents)));
}

VALIDATE(Broadcast) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const ExprId shape = check.annotations.Get(inst).shape;
  const size_t rank = Rank(check.pool, source.type->shape);
  if (Rank(check.pool, shape) != rank) {
    check.context
        .Error(diag::kRankDiffers, check.kernel.TypeLocation(inst), "the source", rank,
               "the annotation", Rank(check.pool, shape))
        .help = "`unsqueeze` and `reshape` change the rank";
    return;
  }
  for (size_t d = 0; d < rank; ++d) {
    const ExprId from = Extent(check.pool, source.type->shape, d);
    const ExprId to = Extent(check.pool, shape, d);
    if (Differ(check.pool, from, ExprId::Small(1)) && Differ(check.pool, from, to)) {
      check.context.Error(diag::kBroadcastExtent, check.kernel.TypeLocation(inst), d,
                          check.context.Text(from), check.context.Text(to));
      return;
    }
  }
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, shape));
}

VALIDATE(ConvertLayout) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, source.type->shape));
}

}  // namespace tarsia
