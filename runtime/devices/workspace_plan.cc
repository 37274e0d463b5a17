#include "runtime/devices/workspace_plan.h"

#include <algorithm>

#include "launch/diagnostics.h"
#include "runtime/diagnostics.h"
#include "support/align.h"

namespace tarsia::runtime {
namespace {

using compiler::CompiledKernel;
using compiler::kWorkspaceAlignment;
using compiler::ReportHeader;
using compiler::ReportRecord;
using compiler::Workspace;

// Bytes of entries in a report buffer without a limit: for printed values, and for wrong extents,
// of which a few are enough.
constexpr uint64_t kPrintRoom = uint64_t{1} << 20;
constexpr uint64_t kExtentRoom = 2048;

uint64_t RequestedRoom(const CompiledKernel& kernel) {
  const auto has = [&](ReportRecord::Kind kind) {
    return std::any_of(kernel.records.begin(), kernel.records.end(),
                       [kind](const ReportRecord& record) { return record.kind == kind; });
  };
  if (has(ReportRecord::Kind::kPrint)) return kPrintRoom;
  return has(ReportRecord::Kind::kViewExtent) ? kExtentRoom : 0;
}

}  // namespace

Result<WorkspacePlan> WorkspacePlan::Make(const Program& program, const CompiledKernel& kernel,
                                          uint64_t limit) {
  WorkspacePlan out;
  out.limit_ = limit;
  for (size_t i = 0; i < kernel.workspace.size(); ++i) {
    out.pieces_.push_back({i, kernel.workspace[i]});
  }
  const auto rank = [](const Piece& piece) {
    return !piece.workspace.zeroed ? 2 : piece.workspace.size.constant() ? 0 : 1;
  };
  std::stable_sort(out.pieces_.begin(), out.pieces_.end(),
                   [&](const Piece& a, const Piece& b) { return rank(a) < rank(b); });
  const auto has = [&](int wanted) {
    return std::any_of(out.pieces_.begin(), out.pieces_.end(),
                       [&](const Piece& piece) { return rank(piece) == wanted; });
  };
  out.has_other_ = has(2);
  out.zeroes_before_launch_ = out.has_other_ && has(1);
  TARSIA_CHECK(out.ChooseRoom(program, kernel));
  return out;
}

uint64_t WorkspacePlan::ReportBytes(uint64_t room) const {
  return has_report_ ? AlignUp(sizeof(ReportHeader) + room, kWorkspaceAlignment) : 0;
}

Result<uint64_t> WorkspacePlan::ConstantBytes(uint64_t room) const {
  uint64_t bytes = ReportBytes(room);
  for (const Piece& piece : pieces_) {
    if (!piece.workspace.size.constant()) continue;
    TARSIA_TRY(const uint64_t more, BytesOf(piece.workspace, nullptr));
    bytes += more;
  }
  return bytes;
}

// With a limit the report gets the space that scratch does not need, half of it if scratch may
// grow.
Status WorkspacePlan::ChooseRoom(const Program& program, const CompiledKernel& kernel) {
  has_report_ = !kernel.records.empty();
  report_room_ = RequestedRoom(kernel);
  if (limit_ == 0) return OkStatus();
  TARSIA_TRY(const uint64_t least, ConstantBytes(0));
  TARSIA_CHECK(CheckLimit(program, least));
  const bool grows = std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return !piece.workspace.size.constant();
  });
  const uint64_t left = (limit_ - least) / kWorkspaceAlignment * kWorkspaceAlignment;
  report_room_ = std::min(report_room_, grows ? left / 2 : left);
  return OkStatus();
}

Status WorkspacePlan::CheckLimit(const Program& program, uint64_t bytes) const {
  if (limit_ == 0 || bytes <= limit_) return OkStatus();
  return MakeDiagnostic(diag::kWorkspaceLimit, program.kernel().location, program.name(), bytes,
                        limit_);
}

Result<uint64_t> WorkspacePlan::BytesOf(const Workspace& workspace, const uint64_t* scalars) {
  TileSize::Shape shape;
  if (!workspace.size.ShapeOf(scalars, &shape)) {
    const size_t last = shape.rank - 1;
    return MakeDiagnostic(diag::kScratchExtent, workspace.location, last, workspace.name,
                          shape.extents[last]);
  }
  Result<uint64_t> bytes = workspace.size.BytesOf(shape);
  if (bytes.ok()) return AlignUp(*bytes, kWorkspaceAlignment);
  Diagnostic error = bytes.TakeError();
  error.location = workspace.location;
  return error;
}

Status WorkspacePlan::LayOut(const Program& program, const uint64_t* scalars,
                             WorkspaceLayout* out) const {
  *out = {};
  for (size_t i = 0; i < pieces_.size(); ++i) out->offsets.push_back(0);
  out->bytes = ReportBytes(report_room_);
  out->zeroed = out->zeroed_by_scalars = out->other = out->bytes;
  for (const Piece& piece : pieces_) {
    out->offsets[piece.index] = out->bytes;
    TARSIA_TRY(const uint64_t bytes, BytesOf(piece.workspace, scalars));
    out->bytes += bytes;
    if (!piece.workspace.zeroed) continue;
    out->other = out->bytes;
    if (piece.workspace.size.constant()) out->zeroed_by_scalars = out->bytes;
  }
  return CheckLimit(program, out->bytes);
}

}  // namespace tarsia::runtime
