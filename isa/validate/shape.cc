// Rules of the shape family.
#include <algorithm>

#include "isa/validate/checker.h"

namespace tarsia {

VALIDATE(Reshape) {
  const Checker::Operand source = check.Get(inst, 0);
  const ExprId shape = check.Annotation(inst).shape;
  const auto a = check.Elements(source.type->shape);
  const auto b = check.Elements(shape);
  if (a && b && *a != *b) {
    check.Error(diag::kElementCount, check.AtType(inst), check.Text(shape), *b,
                check.Text(source.type->shape), *a);
    return;
  }
  check.Define(inst, 0, check.RegisterTile(source.type->dtype, shape));
}

VALIDATE(Permute) {
  const Checker::Operand source = check.Get(inst, 0);
  const size_t rank = check.Rank(source.type->shape);
  const auto order = check.Axes(inst, Attr::kOrder, rank);
  if (!order) return;
  if (order->size() != rank) {
    check.Error(diag::kOrderNotPermutation, check.AtAttr(inst, Attr::kOrder),
                check.Text(check.kernel().AttrOf(inst, Attr::kOrder)), rank);
    return;
  }
  std::vector<ExprId> extents;
  for (const size_t axis : *order) extents.push_back(check.Extent(source.type->shape, axis));
  check.Define(inst, 0, check.RegisterTile(source.type->dtype, check.Shape(extents)));
}

VALIDATE(Squeeze) {
  const Checker::Operand source = check.Get(inst, 0);
  const auto axes = check.Axes(inst, Attr::kAxes, check.Rank(source.type->shape));
  if (!axes) return;
  std::vector<ExprId> extents;
  for (size_t d = 0; d < check.Rank(source.type->shape); ++d) {
    const ExprId extent = check.Extent(source.type->shape, d);
    if (std::find(axes->begin(), axes->end(), d) == axes->end()) {
      extents.push_back(extent);
    } else if (check.Differ(extent, ExprId::Small(1))) {
      check.Error(diag::kSqueezeExtent, check.AtAttr(inst, Attr::kAxes), d, check.Text(extent));
      return;
    }
  }
  check.Define(inst, 0, check.RegisterTile(source.type->dtype, check.Shape(extents)));
}

VALIDATE(Unsqueeze) {
  const Checker::Operand source = check.Get(inst, 0);
  const ExprId list = check.kernel().AttrOf(inst, Attr::kAxes);
  const size_t rank = check.Rank(source.type->shape) + check.Rank(list);
  const auto axes = check.Axes(inst, Attr::kAxes, rank);
  if (!axes) return;
  std::vector<ExprId> extents;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) {
    const bool inserted = std::find(axes->begin(), axes->end(), d) != axes->end();
    extents.push_back(inserted ? ExprId::Small(1) : check.Extent(source.type->shape, next++));
  }
  check.Define(inst, 0, check.RegisterTile(source.type->dtype, check.Shape(extents)));
}

VALIDATE(Broadcast) {
  const Checker::Operand source = check.Get(inst, 0);
  const ExprId shape = check.Annotation(inst).shape;
  const size_t rank = check.Rank(source.type->shape);
  if (check.Rank(shape) != rank) {
    check
        .Error(diag::kRankDiffers, check.AtType(inst), "the source", rank, "the annotation",
               check.Rank(shape))
        .help = "`unsqueeze` and `reshape` change the rank";
    return;
  }
  for (size_t d = 0; d < rank; ++d) {
    const ExprId from = check.Extent(source.type->shape, d);
    const ExprId to = check.Extent(shape, d);
    if (check.Differ(from, ExprId::Small(1)) && check.Differ(from, to)) {
      check.Error(diag::kBroadcastExtent, check.AtType(inst), d, check.Text(from), check.Text(to));
      return;
    }
  }
  check.Define(inst, 0, check.RegisterTile(source.type->dtype, shape));
}

VALIDATE(ConvertLayout) {
  const Checker::Operand source = check.Get(inst, 0);
  check.Define(inst, 0, check.RegisterTile(source.type->dtype, source.type->shape));
}

}  // namespace tarsia
