#include "runtime/devices/compiled_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "launch/diagnostics.h"
#include "launch/launch_template.h"
#include "launch/rows.h"
#include "runtime/diagnostics.h"
#include "vm/diagnostics.h"

namespace tarsia::runtime {
namespace {

using compiler::CompiledKernel;
using compiler::KernelParameter;
using compiler::ReportHeader;
using compiler::ReportRecord;

// The limit of CUDA along y and z.
constexpr int64_t kMaxGridYZ = 65535;

std::array<int64_t, 3> BlockOf(uint64_t linear, const std::array<int64_t, 3>& grid) {
  const auto x = static_cast<uint64_t>(std::max<int64_t>(1, grid[0]));
  const auto y = static_cast<uint64_t>(std::max<int64_t>(1, grid[1]));
  return {static_cast<int64_t>(linear % x), static_cast<int64_t>(linear / x % y),
          static_cast<int64_t>(linear / x / y)};
}

Status CheckGrid(const Program& program, const std::array<int64_t, 3>& grid) {
  for (size_t d = 1; d < 3; ++d) {
    if (grid[d] <= kMaxGridYZ) continue;
    return MakeDiagnostic(diag::kGridBeyondDevice, program.kernel().grid_location, grid[d],
                          "xyz"[d], kMaxGridYZ);
  }
  return OkStatus();
}

// The alignments that the code needs of the addresses of pointers, by parameter.
std::vector<int64_t> PointerAlignments(const CompiledKernel& kernel) {
  std::vector<int64_t> out;
  for (const KernelParameter& parameter : kernel.parameters) {
    out.push_back(parameter.kind == KernelParameter::Kind::kPointer ? parameter.alignment : 1);
  }
  return out;
}

}  // namespace

Result<CompiledProgram> CompiledProgram::Make(const Program& program,
                                              std::shared_ptr<const KernelImage> image,
                                              uint64_t workspace_limit) {
  const CompiledKernel& kernel = image->kernel();
  launch::LaunchTemplate launch = launch::LaunchTemplate::Make(program, PointerAlignments(kernel));
  TARSIA_TRY(WorkspacePlan workspace, WorkspacePlan::Make(program, kernel, workspace_limit));
  return CompiledProgram(program, std::move(image), std::move(launch), std::move(workspace));
}

// ---- workspace -----------------------------------------------------------------------------

Result<uint64_t> CompiledProgram::WorkspaceBytes(std::span<const uint64_t> scalars) const {
  WorkspaceLayout layout;
  TARSIA_CHECK(workspace_.LayOut(program_, scalars.data(), &layout));
  return layout.bytes;
}

Status CompiledProgram::InitWorkspace(Device& device, std::span<const uint64_t> scalars,
                                      DevicePointer workspace, uint64_t bytes,
                                      StreamHandle stream) const {
  WorkspaceLayout layout;
  TARSIA_CHECK(workspace_.LayOut(program_, scalars.data(), &layout));
  auto* const base = static_cast<uint8_t*>(workspace);
  // If nothing follows it, zeroed scratch may grow up to the end.
  const uint64_t end = workspace_.has_other() ? layout.other : std::max(layout.other, bytes);
  if (!kernel().workspace.empty() && end > layout.zeroed) {
    TARSIA_CHECK(device.Fill(base + layout.zeroed, 0, end - layout.zeroed, stream));
  }
  return workspace_.has_report() ? WriteEmptyReport(device, workspace, stream) : OkStatus();
}

// Uses fills, which can be captured, unlike a copy from the host's memory that needs a wait.
Status CompiledProgram::WriteEmptyReport(Device& device, DevicePointer workspace,
                                         StreamHandle stream) const {
  ReportHeader header;
  auto* const base = static_cast<uint8_t*>(workspace);
  static_assert(offsetof(ReportHeader, failure) == 0 && offsetof(ReportHeader, wanted) == 8 &&
                offsetof(ReportHeader, room) == 16 && offsetof(ReportHeader, end) == 24);
  TARSIA_CHECK(device.Fill(base, 0xff, sizeof(header), stream));
  TARSIA_CHECK(device.Fill(base + offsetof(ReportHeader, wanted), 0,
                           sizeof(header.wanted) + sizeof(header.room), stream));
  return device.FillWords(base + offsetof(ReportHeader, room),
                          static_cast<uint32_t>(workspace_.report_room()), 1, stream);
}

// ---- launch --------------------------------------------------------------------------------

Status CompiledProgram::CheckWritable(std::span<const launch::Argument> args) const {
  const Kernel& source = program_.kernel();
  for (size_t i = 0; i < args.size(); ++i) {
    const auto* buffer = std::get_if<launch::Buffer>(&args[i]);
    if (buffer == nullptr) continue;
    if (const Location* written = launch_.WrittenAt(i); written != nullptr && !buffer->writable) {
      return MakeDiagnostic(diag::kReadOnlyBuffer, *written, program_.name(),
                            source.ValueName(static_cast<uint32_t>(i)));
    }
  }
  return OkStatus();
}

void CompiledProgram::PackParameters(std::span<const launch::Argument> args,
                                     DevicePointer workspace, CompiledLaunch* launch) const {
  launch->parameter_bytes = kernel().parameter_bytes;
  std::memset(launch->parameter_room.data(), 0, launch->parameter_bytes);
  const auto base = reinterpret_cast<uintptr_t>(workspace);
  size_t areas = 0;
  for (size_t i = 0; i < kernel().parameters.size(); ++i) {
    const KernelParameter& parameter = kernel().parameters[i];
    uint64_t value = 0;
    switch (parameter.kind) {
      case KernelParameter::Kind::kPointer:
        value = reinterpret_cast<uintptr_t>(std::get_if<launch::Buffer>(&args[i])->data);
        break;
      case KernelParameter::Kind::kScalar: {
        const auto* scalar = std::get_if<launch::ScalarValue>(&args[i]);
        value = scalar->code & CodeMask(scalar->type);
        break;
      }
      case KernelParameter::Kind::kWorkspace:
        value = base + launch->workspace.offsets[areas++];
        break;
      case KernelParameter::Kind::kReport:
        value = base;
        break;
    }
    std::memcpy(launch->parameter_room.data() + parameter.offset, &value, parameter.bytes);
  }
}

Status CompiledProgram::CheckWorkspace(const CompiledLaunch& launch,
                                       DevicePointer workspace) const {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  if (launch.workspace.bytes != 0 && address == 0) {
    return MakeDiagnostic(diag::kNoWorkspace, program_.kernel().location, program_.name(),
                          launch.workspace.bytes);
  }
  if (address % compiler::kWorkspaceAlignment != 0) {
    return MakeDiagnostic(diag::kMisalignedWorkspace, program_.kernel().location, address,
                          compiler::kWorkspaceAlignment);
  }
  return OkStatus();
}

Status CompiledProgram::Prepare(const LaunchRequest& request, CompiledLaunch* out) const {
  launch::LaunchShape shape;
  TARSIA_CHECK(launch_.Check(program_, request.args, &shape));
  out->grid = shape.grid;
  if (out->Empty()) return OkStatus();
  TARSIA_CHECK(CheckGrid(program_, shape.grid));
  TARSIA_CHECK(CheckWritable(request.args));
  TARSIA_CHECK(workspace_.LayOut(program_, shape.scalars.data(), &out->workspace));
  TARSIA_CHECK(CheckWorkspace(*out, request.workspace));
  PackParameters(request.args, request.workspace, out);
  return OkStatus();
}

Status CompiledProgram::FillBeforeLaunch(Device& device, const CompiledLaunch& launch,
                                         const LaunchRequest& request) const {
  const WorkspaceLayout& layout = launch.workspace;
  if (!workspace_.ZeroesBeforeLaunch() || layout.other == layout.zeroed_by_scalars) {
    return OkStatus();
  }
  return device.Fill(static_cast<uint8_t*>(request.workspace) + layout.zeroed_by_scalars, 0,
                     layout.other - layout.zeroed_by_scalars, request.stream);
}

Status CheckOptions(const vm::LaunchOptions& options, std::string_view device) {
  if (options.trace.enabled) {
    return MakeDiagnostic(diag::kOptionOfInterpreter, Location(), "a trace", device);
  }
  if (options.check) {
    return MakeDiagnostic(diag::kOptionOfInterpreter, Location(), "checking the program", device);
  }
  return OkStatus();
}

// ---- report --------------------------------------------------------------------------------

std::vector<CompiledProgram::Entry> CompiledProgram::ReadEntries(
    const std::vector<uint8_t>& bytes) const {
  std::vector<Entry> out;
  for (size_t at = 0; at + compiler::kEntryHeaderBytes <= bytes.size();) {
    Entry entry;
    std::memcpy(&entry.record, bytes.data() + at, sizeof(entry.record));
    std::memcpy(&entry.block, bytes.data() + at + sizeof(entry.record), sizeof(entry.block));
    if (entry.record >= kernel().records.size()) break;  // not written by a kernel
    const uint64_t size = kernel().records[entry.record].EntryBytes();
    if (at + size > bytes.size()) break;
    entry.elements = bytes.data() + at + compiler::kEntryHeaderBytes;
    out.push_back(entry);
    at += size;
  }
  return out;
}

void CompiledProgram::Print(const std::vector<Entry>& entries, const std::array<int64_t, 3>& grid,
                            const launch::LineSink& sink) const {
  for (const Entry& entry : entries) {
    const ReportRecord& record = kernel().records[entry.record];
    if (record.kind != ReportRecord::Kind::kPrint) continue;
    const auto [x, y, z] = BlockOf(entry.block, grid);
    launch::WriteRows(fmt::format("({}, {}, {}) {}", x, y, z, record.text), record.type,
                      record.shape, entry.elements, 0, sink);
  }
}

Status CompiledProgram::FailureOf(uint64_t failure, const std::vector<Entry>& entries,
                                  const std::array<int64_t, 3>& grid) const {
  const uint64_t number = failure & ((uint64_t{1} << compiler::kRecordBits) - 1);
  if (number >= kernel().records.size()) {
    return MakeDiagnostic(diag::kReportDamaged, program_.kernel().location, program_.name());
  }
  const ReportRecord& record = kernel().records[number];
  const uint64_t block = failure >> compiler::kRecordBits;
  const auto [x, y, z] = BlockOf(block, grid);
  switch (record.kind) {
    case ReportRecord::Kind::kAssert:
      return MakeDiagnostic(diag::kAssertFailed, record.location, x, y, z, record.text);
    case ReportRecord::Kind::kStepIsZero:
      return MakeDiagnostic(diag::kStepIsZero, record.location, x, y, z);
    case ReportRecord::Kind::kViewOfSlice:
      return MakeDiagnostic(diag::kViewOfSlice, record.location, record.text);
    case ReportRecord::Kind::kViewExtent: {
      // The entry of this block, or of another one if there was no room for this one's.
      const Entry* found = nullptr;
      for (const Entry& entry : entries) {
        if (entry.record != number) continue;
        if (found == nullptr || entry.block == block) found = &entry;
      }
      int64_t extent = -1;
      if (found != nullptr) std::memcpy(&extent, found->elements, sizeof(extent));
      return MakeDiagnostic(diag::kViewExtent, record.location, record.dim, extent);
    }
    case ReportRecord::Kind::kPrint:
      break;
  }
  return MakeDiagnostic(diag::kReportDamaged, program_.kernel().location, program_.name());
}

Status CompiledProgram::ReadReport(Device& device, const CompiledLaunch& launch,
                                   const LaunchRequest& request) const {
  if (!workspace_.has_report()) return OkStatus();
  auto* const at = static_cast<uint8_t*>(request.workspace);
  ReportHeader header;
  TARSIA_CHECK(device.Read(&header, at, sizeof(header), request.stream));
  std::vector<uint8_t> bytes(std::min(header.EntryBytes(), workspace_.report_room()));
  if (!bytes.empty()) {
    TARSIA_CHECK(device.Read(bytes.data(), at + sizeof(header), bytes.size(), request.stream));
  }
  std::vector<Entry> entries = ReadEntries(bytes);
  // Blocks write as they run. Their lines come in the order of the grid, so that two launches print
  // the same.
  std::ranges::stable_sort(entries, {}, &Entry::block);
  if (header.wanted != 0 || header.failure != ReportHeader::kNoFailure) {
    TARSIA_CHECK(WriteEmptyReport(device, at, request.stream));
    TARSIA_CHECK(device.Synchronize(request.stream));  // the caller may free the workspace
  }
  if (request.options != nullptr && request.options->print != nullptr) {
    Print(entries, launch.grid, request.options->print);
    if (header.wanted > bytes.size()) {
      request.options->print(
          fmt::format("[print: {} bytes more did not fit into the report buffer]",
                      header.wanted - bytes.size()));
    }
  }
  if (header.failure == ReportHeader::kNoFailure) return OkStatus();
  return FailureOf(header.failure, entries, launch.grid);
}

}  // namespace tarsia::runtime
