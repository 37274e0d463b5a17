#include "launch/launch_template.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "isa/limits.h"
#include "isa/prune.h"
#include "launch/diagnostics.h"
#include "launch/extent_error.h"

namespace tarsia::launch {
namespace {

std::string UseText(const ConcreteType& type, std::span<const int64_t> shape) {
  return "global<" + std::string(DTypeName(type.dtype)) + ">" + ToString(shape);
}

bool ShareBytes(const Buffer& a, const Buffer& b) {
  const auto first = std::bit_cast<uintptr_t>(a.data);
  const auto second = std::bit_cast<uintptr_t>(b.data);
  if (a.bytes == 0 || b.bytes == 0) return false;
  return first <= second ? second - first < a.bytes : first - second < b.bytes;
}

}  // namespace

// ---- what is worked out once ---------------------------------------------------------------

LaunchTemplate LaunchTemplate::Make(const Program& program,
                                    std::span<const int64_t> code_alignments) {
  LaunchTemplate out;
  const auto parameters = static_cast<uint32_t>(program.kernel().params.size());
  out.writes_.resize(parameters);
  for (uint32_t i = 0; i < parameters; ++i) {
    const int64_t code = i < code_alignments.size() ? code_alignments[i] : 1;
    out.alignments_.push_back(std::max(program.PointerAlignment(i), code));
  }
  out.AddGrid(program);
  out.AddAssumptions(program);
  out.AddViews(program);
  return out;
}

void LaunchTemplate::AddGrid(const Program& program) {
  const Kernel& kernel = program.kernel();
  for (size_t d = 0; d < 3; ++d) {
    if (!kernel.grid[d].none()) grid_[d] = program.scalar(kernel.grid[d]);
  }
}

void LaunchTemplate::AddAssumptions(const Program& program) {
  const Kernel& kernel = program.kernel();
  for (const Assume& assume : kernel.assumes) {
    if (!assume.alignment.none()) continue;
    assumptions_.push_back({.condition = program.scalar(assume.condition),
                            .index = static_cast<size_t>(&assume - kernel.assumes.data())});
  }
}

void LaunchTemplate::AddViews(const Program& program) {
  const Kernel& kernel = program.kernel();
  size_t block_end = 0;
  for (size_t i = 0; i < kernel.code.size(); ++i) {
    const ResolvedInst& inst = program.instructions()[i];
    if (inst.row->Has(kOpensBlock) && !RunsItsBlock(program.pool(), kernel, *inst.inst)) {
      block_end = std::max<size_t>(block_end, inst.inst->end);
    }
    if (inst.row->Allocates() == Space::kGlobal) AddExtents(program, i, 0);
    if (!inst.row->MakesView()) continue;
    const uint32_t source = inst.operand[0].value;
    if (program.type(source).kind != ValueKind::kPointer) {
      AddExtents(program, i, 0);
      continue;
    }
    View view;
    view.inst = i;
    view.parameter = source;
    view.size = TileSize(program, inst.results[0]);
    view.unconditional = i >= block_end;
    view.written = program.resolved().WritesThrough(inst.results[0]);
    AddView(program, std::move(view));
  }
}

void LaunchTemplate::AddView(const Program& program, View view) {
  const Kernel& kernel = program.kernel();
  if (view.written && view.parameter < kernel.params.size() && !writes_[view.parameter].written) {
    writes_[view.parameter] = {true, kernel.LocationOf(kernel.code[view.inst])};
  }
  AddExtents(program, view.inst, view.size.rank());
  views_.push_back(std::move(view));
}

void LaunchTemplate::AddExtents(const Program& program, size_t inst, size_t first) {
  const Kernel& kernel = program.kernel();
  const auto parameters = static_cast<uint32_t>(kernel.params.size());
  const ConcreteType& type = program.type(kernel.Results(kernel.code[inst])[0].value());
  for (size_t d = first; d < type.shape.size(); ++d) {
    if (type.shape[d] >= 0) continue;
    const ScalarExpr& expr = program.scalar(type.shape_exprs[d]);
    if (expr.UsesOnlyBelow(parameters)) extents_.push_back({inst, d, expr});
  }
}

// ---- a launch ------------------------------------------------------------------------------

Status LaunchTemplate::CheckArgument(const Program& program, size_t i, const Argument& arg) {
  const Kernel& kernel = program.kernel();
  const Location location = kernel.params[i].location;
  const auto name = [&] { return kernel.ValueName(static_cast<uint32_t>(i)); };
  const auto* buffer = std::get_if<Buffer>(&arg);
  if ((buffer != nullptr) != kernel.params[i].is_pointer) {
    return MakeDiagnostic(diag::kLaunchArgumentKind, location, name(),
                          kernel.params[i].is_pointer ? "pointer" : "scalar",
                          buffer != nullptr ? "buffer" : "scalar");
  }
  if (buffer == nullptr) {
    const DType given = std::get_if<ScalarValue>(&arg)->type;
    const DType wanted = program.type(static_cast<uint32_t>(i)).dtype;
    if (given == wanted) return OkStatus();
    return MakeDiagnostic(diag::kArgumentType, location, name(), DTypeName(wanted),
                          DTypeName(given));
  }
  if (buffer->data == nullptr && buffer->bytes != 0) {
    return MakeDiagnostic(diag::kNullBuffer, location, name(), buffer->bytes);
  }
  return OkStatus();
}

Status LaunchTemplate::Check(const Program& program, std::span<const Argument> args,
                             LaunchShape* out) const {
  const Kernel& kernel = program.kernel();
  if (args.size() != kernel.params.size()) {
    return MakeDiagnostic(diag::kArgumentCount, kernel.location, program.name(),
                          kernel.params.size(), args.size());
  }
  for (size_t i = 0; i < args.size(); ++i) TARSIA_CHECK(CheckArgument(program, i, args[i]));
  out->scalars = CodesOf(args);
  TARSIA_CHECK(CheckAlignment(program, args));
  TARSIA_CHECK(CheckAssumptions(program, out->scalars.data()));
  TARSIA_CHECK(ResolveGrid(program, out->scalars.data(), out->grid.data()));
  if (!out->Empty()) TARSIA_CHECK(CheckExtents(program, out->scalars.data()));
  return CheckViews(program, args, *out);
}

Status LaunchTemplate::CheckAlignment(const Program& program,
                                      std::span<const Argument> args) const {
  for (uint32_t i = 0; i < args.size(); ++i) {
    const auto* buffer = std::get_if<Buffer>(&args[i]);
    if (buffer == nullptr) continue;
    const auto address = std::bit_cast<uintptr_t>(buffer->data);
    if (address % static_cast<uint64_t>(alignments_[i]) == 0) continue;
    return MakeDiagnostic(diag::kPointerAlignment, program.kernel().params[i].location,
                          program.kernel().ValueName(i), address, alignments_[i]);
  }
  return OkStatus();
}

Status LaunchTemplate::CheckAssumptions(const Program& program, const uint64_t* scalars) const {
  const Kernel& kernel = program.kernel();
  for (const Assumption& assumption : assumptions_) {
    if (assumption.condition.Bool(scalars)) continue;
    const Assume& source = kernel.assumes[assumption.index];
    return MakeDiagnostic(diag::kAssumption, source.location,
                          ToString(program.pool(), source.condition, &kernel));
  }
  return OkStatus();
}

Status LaunchTemplate::ResolveGrid(const Program& program, const uint64_t* scalars,
                                   int64_t grid[3]) const {
  static constexpr char kAxes[] = {'x', 'y', 'z'};
  const Location location = program.kernel().grid_location;
  bool empty = false;
  for (size_t d = 0; d < 3; ++d) {
    grid[d] = grid_[d].Int(scalars);
    if (grid[d] < 0 || grid[d] > kMaxGridExtent) {
      return MakeDiagnostic(diag::kGridExtent, location, grid[d], kAxes[d]);
    }
    empty = empty || grid[d] == 0;
  }
  const __int128 blocks = static_cast<__int128>(grid[0]) * grid[1] * grid[2];
  if (!empty && blocks > kMaxBlocks) {
    return MakeDiagnostic(diag::kGridTooLarge, location, grid[0], grid[1], grid[2]);
  }
  return OkStatus();
}

// Compiled kernels rely on it.
Status LaunchTemplate::CheckExtents(const Program& program, const uint64_t* scalars) const {
  for (const Extent& extent : extents_) {
    const int64_t value = extent.expr.Int(scalars);
    if (value >= 0 && value <= kMaxExtent) continue;
    return ExtentError(program, program.kernel().code[extent.inst], extent.dimension, value);
  }
  return OkStatus();
}

Status LaunchTemplate::ShapeOf(const Program& program, const View& view, const uint64_t* scalars,
                               TileSize::Shape* out) {
  if (view.size.ShapeOf(scalars, out)) return OkStatus();
  const size_t last = out->rank - 1;
  return ExtentError(program, program.kernel().code[view.inst], last, out->extents[last]);
}

Result<uint64_t> LaunchTemplate::BytesOf(const Program& program, const View& view,
                                         const TileSize::Shape& shape) {
  Result<uint64_t> bytes = view.size.BytesOf(shape);
  if (bytes.ok()) return bytes;
  Diagnostic error = bytes.TakeError();
  error.location = program.kernel().TypeLocation(program.kernel().code[view.inst]);
  return error;
}

// Invalid extents are errors even if the grid is empty: a count of -1 that rounds to no blocks is
// still an error of the caller.
Status LaunchTemplate::CheckViews(const Program& program, std::span<const Argument> args,
                                  const LaunchShape& launch) const {
  const Kernel& kernel = program.kernel();
  for (const View& view : views_) {
    TileSize::Shape shape;
    TARSIA_CHECK(ShapeOf(program, view, launch.scalars.data(), &shape));
    if (!view.size.known() || launch.Empty()) continue;
    TARSIA_TRY(const uint64_t bytes, BytesOf(program, view, shape));
    const auto* buffer = std::get_if<Buffer>(&args[view.parameter]);
    if (!view.unconditional || bytes <= buffer->bytes) continue;
    const Inst& inst = kernel.code[view.inst];
    const ConcreteType& type = program.type(kernel.Results(inst)[0].value());
    return MakeDiagnostic(diag::kBufferTooSmall, kernel.LocationOf(inst),
                          kernel.ValueName(view.parameter), buffer->bytes,
                          UseText(type, shape.span()), bytes);
  }
  return OkStatus();
}

// ---- queries and findings ------------------------------------------------------------------

Result<std::vector<PointerUse>> LaunchTemplate::Uses(const Program& program,
                                                     const uint64_t* scalars) const {
  const Kernel& kernel = program.kernel();
  std::vector<PointerUse> uses;
  for (const View& view : views_) {
    const Inst& inst = kernel.code[view.inst];
    const ConcreteType& type = program.type(kernel.Results(inst)[0].value());
    TileSize::Shape shape;
    TARSIA_CHECK(ShapeOf(program, view, scalars, &shape));
    if (!view.size.known()) continue;
    PointerUse use;
    TARSIA_TRY(use.bytes, BytesOf(program, view, shape));
    TARSIA_TRY(const MemLayout layout, Apply(type.mem_layout, shape.span(), type.dtype));
    use.parameter = view.parameter;
    use.location = kernel.LocationOf(inst);
    use.type = type.dtype;
    use.shape.assign(shape.span().begin(), shape.span().end());
    use.unconditional = view.unconditional;
    use.written = view.written;
    use.row_major = layout.IsRowMajor();
    use.text = UseText(type, shape.span());
    uses.push_back(std::move(use));
  }
  return uses;
}

void LaunchTemplate::AddOverlaps(const Program& program, std::span<const Argument> args,
                                 std::vector<Finding>* findings) const {
  const Kernel& kernel = program.kernel();
  std::vector<Finding> overlaps;
  for (size_t i = 0; i < args.size() && i < writes_.size(); ++i) {
    const auto* written = std::get_if<Buffer>(&args[i]);
    if (written == nullptr || !writes_[i].written) continue;
    for (size_t j = 0; j < args.size(); ++j) {
      const auto* other = std::get_if<Buffer>(&args[j]);
      if (i == j || other == nullptr || !ShareBytes(*written, *other)) continue;
      if (j < i && writes_[j].written) continue;  // reported once, at the first of the two
      Finding finding;
      finding.diagnostic = MakeDiagnostic(diag::kBuffersOverlap, kernel.params[i].location,
                                          kernel.ValueName(static_cast<uint32_t>(i)),
                                          kernel.ValueName(static_cast<uint32_t>(j)));
      overlaps.push_back(std::move(finding));
    }
  }
  findings->insert(findings->begin(), std::make_move_iterator(overlaps.begin()),
                   std::make_move_iterator(overlaps.end()));
}

// ---- one launch ----------------------------------------------------------------------------

namespace {

// Codes for every parameter, 0 if none is given.
std::vector<uint64_t> Codes(const Program& program, const std::vector<uint64_t>& scalars) {
  std::vector<uint64_t> codes = scalars;
  codes.resize(std::max(codes.size(), program.kernel().params.size()));
  return codes;
}

}  // namespace

Status ResolveGrid(const Program& program, const std::vector<uint64_t>& scalars, int64_t grid[3]) {
  return LaunchTemplate::Make(program).ResolveGrid(program, Codes(program, scalars).data(), grid);
}

Result<std::vector<PointerUse>> PointerUses(const Program& program,
                                            const std::vector<uint64_t>& scalars) {
  return LaunchTemplate::Make(program).Uses(program, Codes(program, scalars).data());
}

}  // namespace tarsia::launch
