#include "runtime/devices/workspace_plan.h"

#include <algorithm>

#include "compiler/diagnostics.h"
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

// The alloc.global that makes a value.
size_t AllocationOf(const Program& program, uint32_t value) {
  const std::vector<ResolvedInst>& instructions = program.instructions();
  const auto found =
      std::find_if(instructions.begin(), instructions.end(), [value](const ResolvedInst& inst) {
        return inst.row->Allocates() == Space::kGlobal && inst.results[0] == value;
      });
  return static_cast<size_t>(found - instructions.begin());
}

}  // namespace

Result<WorkspacePlan> WorkspacePlan::Make(const Program& program, const CompiledKernel& kernel,
                                          uint64_t limit) {
  WorkspacePlan out;
  out.limit_ = limit;
  for (size_t i = 0; i < kernel.workspace.size(); ++i) {
    TARSIA_TRY(Piece piece, MakePiece(program, kernel.workspace[i], i));
    out.pieces_.push_back(std::move(piece));
  }
  const auto rank = [](const Piece& piece) {
    return !piece.zeroed ? 2 : piece.size.constant() ? 0 : 1;
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

Result<WorkspacePlan::Piece> WorkspacePlan::MakePiece(const Program& program,
                                                      const Workspace& workspace, size_t index) {
  Piece out;
  out.index = index;
  out.zeroed = workspace.zeroed;
  out.size = launch::TileSize(program, AllocationOf(program, workspace.value));
  if (!out.size.known()) {
    return MakeDiagnostic(diag::kWorkspaceSize, program.kernel().location,
                          program.kernel().ValueName(workspace.value));
  }
  return out;
}

uint64_t WorkspacePlan::ReportBytes(uint64_t room) const {
  return has_report_ ? AlignUp(sizeof(ReportHeader) + room, kWorkspaceAlignment) : 0;
}

Result<uint64_t> WorkspacePlan::ConstantBytes(const Program& program, uint64_t room) const {
  uint64_t bytes = ReportBytes(room);
  for (const Piece& piece : pieces_) {
    if (!piece.size.constant()) continue;
    TARSIA_TRY(const uint64_t more, BytesOf(program, piece, nullptr));
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
  TARSIA_TRY(const uint64_t least, ConstantBytes(program, 0));
  TARSIA_CHECK(CheckLimit(program, least));
  const bool grows = std::any_of(pieces_.begin(), pieces_.end(),
                                 [](const Piece& piece) { return !piece.size.constant(); });
  const uint64_t left = (limit_ - least) / kWorkspaceAlignment * kWorkspaceAlignment;
  report_room_ = std::min(report_room_, grows ? left / 2 : left);
  return OkStatus();
}

Status WorkspacePlan::CheckLimit(const Program& program, uint64_t bytes) const {
  if (limit_ == 0 || bytes <= limit_) return OkStatus();
  return MakeDiagnostic(diag::kWorkspaceLimit, program.kernel().location, program.name(), bytes,
                        limit_);
}

Result<uint64_t> WorkspacePlan::BytesOf(const Program& program, const Piece& piece,
                                        const uint64_t* scalars) {
  launch::TileSize::Shape shape;
  TARSIA_CHECK(piece.size.ShapeOf(program, scalars, &shape));
  TARSIA_TRY(const uint64_t bytes, piece.size.BytesOf(program, shape));
  return AlignUp(bytes, kWorkspaceAlignment);
}

Status WorkspacePlan::LayOut(const Program& program, const uint64_t* scalars,
                             WorkspaceLayout* out) const {
  *out = {};
  for (size_t i = 0; i < pieces_.size(); ++i) out->offsets.push_back(0);
  out->bytes = ReportBytes(report_room_);
  out->zeroed = out->zeroed_by_scalars = out->other = out->bytes;
  for (const Piece& piece : pieces_) {
    out->offsets[piece.index] = out->bytes;
    TARSIA_TRY(const uint64_t bytes, BytesOf(program, piece, scalars));
    out->bytes += bytes;
    if (piece.zeroed) out->other = out->bytes;
    if (piece.zeroed && piece.size.constant()) out->zeroed_by_scalars = out->bytes;
  }
  return CheckLimit(program, out->bytes);
}

}  // namespace tarsia::runtime
