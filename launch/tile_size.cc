#include "launch/tile_size.h"

#include "launch/diagnostics.h"

namespace tarsia::launch {

Diagnostic ExtentError(const Program& program, const Inst& inst, size_t dimension, int64_t extent) {
  const Kernel& kernel = program.kernel();
  if (Row(inst.opcode).Allocates() == Space::kGlobal) {
    return MakeDiagnostic(diag::kScratchExtent, kernel.TypeLocation(inst), dimension,
                          kernel.ValueName(kernel.Results(inst)[0].value()), extent);
  }
  const bool is_slice = inst.opcode == Opcode::kSlice;
  return MakeDiagnostic(diag::kViewExtent,
                        is_slice ? kernel.LocationOf(inst) : kernel.TypeLocation(inst), dimension,
                        extent);
}

TileSize::TileSize(const Program& program, size_t inst) : inst_(inst) {
  const Kernel& kernel = program.kernel();
  const ConcreteType& type = program.type(kernel.Results(kernel.code[inst])[0].value());
  const auto parameters = static_cast<uint32_t>(kernel.params.size());
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

Status TileSize::ShapeOf(const Program& program, const uint64_t* scalars, Shape* out) const {
  for (const ScalarExpr& expr : extents_) {
    const int64_t extent = expr.Int(scalars);
    if (extent < 0 || extent > kMaxExtent) {
      return ExtentError(program, program.kernel().code[inst_], out->rank, extent);
    }
    out->extents[out->rank++] = extent;
  }
  return OkStatus();
}

Result<uint64_t> TileSize::BytesOf(const Program& program, const Shape& shape) const {
  Result<uint64_t> bytes = size_.Bytes(shape.span());
  if (bytes.ok()) return bytes;
  const Kernel& kernel = program.kernel();
  Diagnostic error = bytes.TakeError();
  error.location = kernel.TypeLocation(kernel.code[inst_]);
  return error;
}

}  // namespace tarsia::launch
