#include "isa/tile_size.h"

namespace tarsia {

TileSize::TileSize(const Program& program, uint32_t value) {
  const ConcreteType& type = program.type(value);
  const auto parameters = static_cast<uint32_t>(program.kernel().params.size());
  for (size_t d = 0; d < type.shape.size() && known_; ++d) {
    if (type.shape[d] >= 0) {
      extents_.push_back(ScalarExpr::Constant(type.shape[d]));
      continue;
    }
    constant_ = false;
    const ScalarExpr& extent = program.scalar(type.shape_exprs[d]);
    known_ = extent.UsesOnlyBelow(parameters);
    if (known_) extents_.push_back(extent);
  }
  size_ = LayoutSize(type.mem_layout, type.dtype);
}

bool TileSize::ShapeOf(const uint64_t* scalars, Shape* out) const {
  for (const ScalarExpr& expr : extents_) {
    const int64_t extent = expr.Int(scalars);
    out->extents[out->rank++] = extent;
    if (extent < 0 || extent > kMaxExtent) return false;
  }
  return true;
}

}  // namespace tarsia
