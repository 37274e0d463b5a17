#include "isa/tile_size.h"

#include <string>
#include <utility>
#include <variant>

#include "layout/text/eval.h"

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

// The layout is written as text, which names every family.
void TileSize::Write(ByteSink* out) const {
  out->U64(extents_.size());
  for (const ScalarExpr& extent : extents_) extent.Write(out);
  out->U8(DTypeCode(size_.type()));
  const bool plain = size_.family() == MemLayoutFamily();
  out->Text(plain ? "" : ToString(size_.family()));
}

TileSize TileSize::Read(ByteSource* in, uint32_t parameters) {
  TileSize out;
  const size_t rank = in->Count(sizeof(uint64_t));
  in->Require(rank <= kMaxRank);
  for (size_t d = 0; d < rank && in->ok(); ++d) {
    out.extents_.push_back(ScalarExpr::Read(in, parameters));
    out.constant_ = out.constant_ && out.extents_.back().IsConstant();
    in->Require(out.extents_.back().kind() == ScalarKind::kInt);
  }
  const std::optional<DType> type = DTypeFromCode(in->U8());
  const std::string_view text = in->Text();
  if (!in->Require(type.has_value())) return {};
  MemLayoutFamily family;
  if (!text.empty()) {
    Result<EvalValue> value = EvaluateText(text);
    auto* const made = value.ok() ? std::get_if<MemLayoutFamily>(&*value) : nullptr;
    if (!in->Require(made != nullptr)) return {};
    family = std::move(*made);
  }
  out.size_ = LayoutSize(family, *type);
  return out;
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
