#include "runtime/compiled_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/workspace.h"
#include "runtime/diagnostics.h"
#include "vm/diagnostics.h"
#include "vm/plan.h"
#include "vm/trace.h"

namespace tarsia::runtime {
namespace {

using compiler::CompiledKernel;
using compiler::KernelParameter;
using compiler::ReportHeader;
using compiler::ReportRecord;

// Bytes of entries that one report buffer holds: of what is printed, and of extents to complain
// about, of which a few will do.
constexpr uint64_t kPrintRoom = uint64_t{1} << 20;
constexpr uint64_t kExtentRoom = 2048;
// What CUDA allows along y and z.
constexpr int64_t kMaxGridYZ = 65535;

uint64_t AlignUp(uint64_t bytes) {
  constexpr uint64_t kMask = compiler::kWorkspaceAlignment - 1;
  return (bytes + kMask) & ~kMask;
}

uint64_t ReportRoom(const CompiledKernel& kernel) {
  const auto has = [&](ReportRecord::Kind kind) {
    return std::any_of(kernel.records.begin(), kernel.records.end(),
                       [kind](const ReportRecord& record) { return record.kind == kind; });
  };
  if (has(ReportRecord::Kind::kPrint)) return kPrintRoom;
  return has(ReportRecord::Kind::kViewExtent) ? kExtentRoom : 0;
}

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

}  // namespace

Result<CompiledProgram> CompiledProgram::Make(const Program& program, compiler::Target target) {
  TARSIA_TRY(std::shared_ptr<const Code> code, Code::Make(program, target));
  return CompiledProgram(program, std::move(code));
}

// ---- workspace -----------------------------------------------------------------------------

Result<WorkspaceLayout> CompiledProgram::LayOutWorkspace(
    const std::vector<uint64_t>& scalars) const {
  WorkspaceLayout layout;
  for (const compiler::Workspace& workspace : kernel().workspace) {
    TARSIA_TRY(const uint64_t bytes, compiler::WorkspaceBytes(program_, workspace, scalars));
    layout.areas.push_back({layout.bytes, bytes, workspace.zeroed});
    layout.bytes = AlignUp(layout.bytes + bytes);
  }
  layout.has_report = !kernel().records.empty();
  if (layout.has_report) {
    layout.report = layout.bytes;
    layout.report_room = ReportRoom(kernel());
    layout.bytes = AlignUp(layout.report + sizeof(ReportHeader) + layout.report_room);
  }
  return layout;
}

ReportHeader CompiledProgram::EmptyReport(const WorkspaceLayout& layout) {
  ReportHeader header;
  header.room = layout.report_room;
  return header;
}

Status CompiledProgram::InitWorkspace(Device& device, const std::vector<uint64_t>& scalars,
                                      DevicePointer workspace, StreamHandle stream) const {
  TARSIA_TRY(const WorkspaceLayout layout, LayOutWorkspace(scalars));
  auto* const base = static_cast<uint8_t*>(workspace);
  for (const WorkspaceLayout::Area& area : layout.areas) {
    if (area.zeroed) TARSIA_CHECK(device.Fill(base + area.offset, 0, area.bytes, stream));
  }
  if (!layout.has_report) return OkStatus();
  const ReportHeader header = EmptyReport(layout);
  return device.Write(base + layout.report, &header, sizeof(header), stream);
}

// ---- launch --------------------------------------------------------------------------------

Status CompiledProgram::CheckPointers(const vm::LaunchArgs& args) const {
  const Kernel& source = program_.kernel();
  const std::vector<bool> written = vm::WrittenValues(program_);
  for (const Inst& inst : source.code) {
    if (inst.opcode != Opcode::kView || !source.Slots(inst)[0].is_value()) continue;
    const uint32_t pointer = source.Slots(inst)[0].value();
    if (pointer >= args.params.size() || !written[source.Results(inst)[0].value()]) continue;
    const auto* buffer = std::get_if<vm::Buffer>(&args.params[pointer]);
    if (buffer == nullptr || buffer->writable) continue;
    return MakeDiagnostic(diag::kReadOnlyBuffer, source.LocationOf(inst), program_.name(),
                          source.ValueName(pointer));
  }
  for (size_t i = 0; i < args.params.size(); ++i) {
    const auto* buffer = std::get_if<vm::Buffer>(&args.params[i]);
    if (buffer == nullptr) continue;
    const uint32_t alignment = kernel().parameters[i].alignment;
    const auto address = reinterpret_cast<uintptr_t>(buffer->data);
    if (address % alignment == 0) continue;
    return MakeDiagnostic(diag::kPointerAlignment, source.params[i].location,
                          source.ValueName(static_cast<uint32_t>(i)), address, alignment);
  }
  return OkStatus();
}

Status CompiledProgram::PackParameters(const vm::LaunchArgs& args, DevicePointer workspace,
                                       CompiledLaunch* launch) const {
  launch->parameters.resize(kernel().parameter_bytes);
  const auto base = reinterpret_cast<uintptr_t>(workspace);
  size_t areas = 0;
  for (size_t i = 0; i < kernel().parameters.size(); ++i) {
    const KernelParameter& parameter = kernel().parameters[i];
    uint64_t value = 0;
    switch (parameter.kind) {
      case KernelParameter::Kind::kPointer:
        value = reinterpret_cast<uintptr_t>(std::get<vm::Buffer>(args.params[i]).data);
        break;
      case KernelParameter::Kind::kScalar: {
        const auto& scalar = std::get<vm::ScalarValue>(args.params[i]);
        value = scalar.code & CodeMask(scalar.type);
        break;
      }
      case KernelParameter::Kind::kWorkspace:
        value = base + launch->workspace.areas[areas++].offset;
        break;
      case KernelParameter::Kind::kReport:
        value = base + launch->workspace.report;
        break;
    }
    std::memcpy(launch->parameters.data() + parameter.offset, &value, parameter.bytes);
  }
  return OkStatus();
}

Result<CompiledLaunch> CompiledProgram::Prepare(const LaunchRequest& request) const {
  TARSIA_TRY(const vm::LaunchShape shape, vm::CheckLaunch(program_, *request.args));
  CompiledLaunch launch;
  launch.grid = shape.grid;
  if (launch.Empty()) return launch;
  TARSIA_CHECK(CheckGrid(program_, shape.grid));
  TARSIA_CHECK(CheckPointers(*request.args));
  TARSIA_TRY(launch.workspace, LayOutWorkspace(shape.scalars));
  const auto address = reinterpret_cast<uintptr_t>(request.workspace);
  if (launch.workspace.bytes != 0 && address == 0) {
    return MakeDiagnostic(diag::kNoWorkspace, program_.kernel().location, program_.name(),
                          launch.workspace.bytes);
  }
  if (address % compiler::kWorkspaceAlignment != 0) {
    return MakeDiagnostic(diag::kPointerAlignment, program_.kernel().location, "workspace", address,
                          compiler::kWorkspaceAlignment);
  }
  TARSIA_CHECK(PackParameters(*request.args, request.workspace, &launch));
  return launch;
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
    if (entry.record >= kernel().records.size()) break;  // not what a kernel writes
    const uint64_t size = kernel().records[entry.record].EntryBytes();
    if (at + size > bytes.size()) break;
    entry.elements = bytes.data() + at + compiler::kEntryHeaderBytes;
    out.push_back(entry);
    at += size;
  }
  return out;
}

void CompiledProgram::Print(const std::vector<Entry>& entries, const std::array<int64_t, 3>& grid,
                            const vm::LineSink& sink) const {
  for (const Entry& entry : entries) {
    const ReportRecord& record = kernel().records[entry.record];
    if (record.kind != ReportRecord::Kind::kPrint) continue;
    const auto [x, y, z] = BlockOf(entry.block, grid);
    vm::WriteRows(fmt::format("({}, {}, {}) {}", x, y, z, record.text), record.type, record.shape,
                  entry.elements, 0, sink);
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
      // That of this block, or of another one where this one found no room.
      const Entry* told = nullptr;
      for (const Entry& entry : entries) {
        if (entry.record != number) continue;
        if (told == nullptr || entry.block == block) told = &entry;
      }
      int64_t extent = -1;
      if (told != nullptr) std::memcpy(&extent, told->elements, sizeof(extent));
      return MakeDiagnostic(diag::kViewExtent, record.location, record.dim, extent);
    }
    case ReportRecord::Kind::kPrint:
      break;
  }
  return MakeDiagnostic(diag::kReportDamaged, program_.kernel().location, program_.name());
}

Status CompiledProgram::ReadReport(Device& device, const CompiledLaunch& launch,
                                   const LaunchRequest& request) const {
  if (!launch.workspace.has_report) return OkStatus();
  auto* const at = static_cast<uint8_t*>(request.workspace) + launch.workspace.report;
  ReportHeader header;
  TARSIA_CHECK(device.Read(&header, at, sizeof(header), request.stream));
  std::vector<uint8_t> bytes(std::min(header.EntryBytes(), launch.workspace.report_room));
  if (!bytes.empty()) {
    TARSIA_CHECK(device.Read(bytes.data(), at + sizeof(header), bytes.size(), request.stream));
  }
  const std::vector<Entry> entries = ReadEntries(bytes);
  if (header.wanted != 0 || header.failure != ReportHeader::kNoFailure) {
    const ReportHeader empty = EmptyReport(launch.workspace);
    TARSIA_CHECK(device.Write(at, &empty, sizeof(empty), request.stream));
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
