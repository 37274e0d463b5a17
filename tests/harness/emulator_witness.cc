#include "tests/harness/emulator_witness.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "compiler/workspace.h"
#include "tests/harness/kernel_cache.h"
#include "vm/diagnostics.h"
#include "vm/interpreter.h"
#include "vm/ptx/emulator.h"
#include "vm/trace.h"

namespace tarsia::harness {
namespace {

using compiler::CompiledKernel;
using compiler::KernelParameter;
using compiler::ReportHeader;
using compiler::ReportRecord;

// No case comes near; a loop without end does.
constexpr uint64_t kMaxInstructions = 4'000'000;
constexpr uint64_t kReportRoom = 1 << 20;

// One launch: device memory, the parameter block, and the way back.
class Launcher {
 public:
  Launcher(const Program& program, const SourceFile& source, const CachedKernel& made,
           std::span<const Argument> arguments)
      : program_(program),
        source_(source),
        made_(made),
        kernel_(made.kernel),
        arguments_(arguments) {}

  Outcome Run(compiler::Target target) {
    const Status status = Launch(target);
    if (!status.ok()) outcome_.error = Render(status.error(), source_);
    return std::move(outcome_);
  }

 private:
  struct Buffer {
    uint64_t address = 0;
    const MemoryArgument* host = nullptr;
  };

  Status Launch(compiler::Target target) {
    for (const Argument& argument : arguments_) {
      const auto* scalar = std::get_if<ScalarArgument>(&argument);
      scalars_.push_back(scalar != nullptr ? scalar->code : 0);
    }
    int64_t grid[3];
    TARSIA_CHECK(vm::ResolveGrid(program_, scalars_, grid));
    TARSIA_CHECK(CheckBuffers());
    TARSIA_CHECK(BindAll());
    if (grid[0] != 0 && grid[1] != 0 && grid[2] != 0) {
      ptx::LaunchConfig config;
      config.grid = {static_cast<uint32_t>(grid[0]), static_cast<uint32_t>(grid[1]),
                     static_cast<uint32_t>(grid[2])};
      config.block = {static_cast<uint32_t>(kernel_.threads), 1, 1};
      config.dynamic_shared = kernel_.shared_bytes;
      config.parameters = block_;
      config.instruction_limit = kMaxInstructions;
      config.max_shared = static_cast<uint64_t>(Row(target).shared_bytes);
      TARSIA_CHECK(RunGrid(config));
    }
    for (const Buffer& buffer : buffers_) {
      TARSIA_CHECK(memory_.CopyOut(buffer.address, {buffer.host->data, buffer.host->bytes}));
    }
    grid_[0] = grid[0];
    grid_[1] = grid[1];
    return ReadReport();
  }

  // What whoever launches must check, for the kernel cannot.
  Status CheckBuffers() {
    TARSIA_TRY(const std::vector<vm::PointerUse> uses, vm::PointerUses(program_, scalars_));
    for (const vm::PointerUse& use : uses) {
      const auto& buffer = std::get<MemoryArgument>(arguments_[use.parameter]);
      if (!use.unconditional || use.bytes <= buffer.bytes) continue;
      return MakeDiagnostic(diag::kBufferTooSmall, use.location,
                            program_.kernel().ValueName(use.parameter), buffer.bytes, use.text,
                            use.bytes);
    }
    return OkStatus();
  }

  void Put(const KernelParameter& parameter, uint64_t value) {
    std::memcpy(block_.data() + parameter.offset, &value, parameter.bytes);
  }

  Status BindAll() {
    block_.resize(kernel_.parameter_bytes);
    size_t workspaces = 0;
    for (size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const KernelParameter& parameter = kernel_.parameters[i];
      switch (parameter.kind) {
        case KernelParameter::Kind::kScalar:
          Put(parameter, scalars_[i]);
          break;
        case KernelParameter::Kind::kPointer:
          TARSIA_CHECK(BindBuffer(parameter, std::get<MemoryArgument>(arguments_[i])));
          break;
        case KernelParameter::Kind::kWorkspace:
          TARSIA_CHECK(BindWorkspace(parameter, kernel_.workspace[workspaces++]));
          break;
        case KernelParameter::Kind::kReport:
          TARSIA_CHECK(BindReport(parameter));
          break;
      }
    }
    return OkStatus();
  }

  Status BindBuffer(const KernelParameter& parameter, const MemoryArgument& host) {
    Buffer buffer;
    buffer.host = &host;
    TARSIA_TRY(buffer.address, memory_.Allocate(host.bytes));
    TARSIA_CHECK(memory_.CopyIn(buffer.address, {host.data, host.bytes}));
    Put(parameter, buffer.address);
    buffers_.push_back(buffer);
    return OkStatus();
  }

  Status BindWorkspace(const KernelParameter& parameter, const compiler::Workspace& workspace) {
    TARSIA_TRY(const uint64_t bytes, compiler::WorkspaceBytes(program_, workspace, scalars_));
    TARSIA_TRY(const uint64_t address, memory_.Allocate(bytes));
    if (workspace.zeroed) TARSIA_CHECK(memory_.Fill(address, 0, 1, bytes));
    Put(parameter, address);
    return OkStatus();
  }

  Status BindReport(const KernelParameter& parameter) {
    TARSIA_TRY(report_, memory_.Allocate(sizeof(ReportHeader) + kReportRoom));
    std::vector<uint8_t> bytes(sizeof(ReportHeader) + kReportRoom);
    ReportHeader header;
    header.room = kReportRoom;
    std::memcpy(bytes.data(), &header, sizeof(header));
    TARSIA_CHECK(memory_.CopyIn(report_, bytes));
    Put(parameter, report_);
    return OkStatus();
  }

  Status RunGrid(const ptx::LaunchConfig& config) {
    if (made_.module == nullptr) {
      outcome_.fault = made_.unread;
      return OkStatus();
    }
    TARSIA_TRY(const std::unique_ptr<ptx::Image> image, ptx::Image::Load(made_.module, &memory_));
    TARSIA_TRY(const ptx::LaunchReport report, ptx::Launch(*image, kernel_.name, config));
    for (const ptx::Finding& finding : report.findings) {
      outcome_.fault += "line " + std::to_string(finding.source_line) + ": " +
                        ptx::ToString(finding, kernel_.name + ".ptx") + "\n";
    }
    if (!report.finished && outcome_.fault.empty()) outcome_.fault = "did not finish";
    return OkStatus();
  }

  std::array<int64_t, 3> BlockOf(uint64_t linear) const {
    const auto x = static_cast<uint64_t>(std::max<int64_t>(1, grid_[0]));
    const auto y = static_cast<uint64_t>(std::max<int64_t>(1, grid_[1]));
    return {static_cast<int64_t>(linear % x), static_cast<int64_t>(linear / x % y),
            static_cast<int64_t>(linear / x / y)};
  }

  Status ReadReport() {
    if (report_ == 0) return OkStatus();
    ReportHeader header;
    TARSIA_CHECK(memory_.CopyOut(report_, {reinterpret_cast<uint8_t*>(&header), sizeof(header)}));
    std::vector<uint8_t> entries(std::min(header.wanted, kReportRoom));
    TARSIA_CHECK(memory_.CopyOut(report_ + sizeof(header), entries));
    for (size_t at = 0; at + compiler::kEntryHeaderBytes <= entries.size();) {
      uint64_t number = 0, block = 0;
      std::memcpy(&number, entries.data() + at, 8);
      std::memcpy(&block, entries.data() + at + 8, 8);
      const ReportRecord& record = kernel_.records[number];
      const auto index = BlockOf(block);
      const bool printed = record.kind == ReportRecord::Kind::kPrint;
      if (!printed) std::memcpy(&details_[{number, block}], entries.data() + at + 16, 8);
      if (printed)
        vm::WriteRows("(" + std::to_string(index[0]) + ", " + std::to_string(index[1]) + ", " +
                          std::to_string(index[2]) + ") " + record.text,
                      record.type, record.shape, entries.data() + at + compiler::kEntryHeaderBytes,
                      0, [this](std::string_view line) { outcome_.lines.emplace_back(line); });
      at += record.EntryBytes();
    }
    if (header.failure == ReportHeader::kNoFailure) return OkStatus();
    const ReportRecord& record =
        kernel_.records[header.failure & ((uint64_t{1} << compiler::kRecordBits) - 1)];
    const uint64_t linear = header.failure >> compiler::kRecordBits;
    const auto block = BlockOf(linear);
    switch (record.kind) {
      case ReportRecord::Kind::kAssert:
        return MakeDiagnostic(diag::kAssertFailed, record.location, block[0], block[1], block[2],
                              record.text);
      case ReportRecord::Kind::kStepIsZero:
        return MakeDiagnostic(diag::kStepIsZero, record.location, block[0], block[1], block[2]);
      case ReportRecord::Kind::kViewOfSlice:
        return MakeDiagnostic(diag::kViewOfSlice, record.location, record.text);
      case ReportRecord::Kind::kViewExtent:
        return MakeDiagnostic(diag::kViewExtent, record.location, record.dim,
                              details_[{header.failure & 0xFFFF, linear}]);
      case ReportRecord::Kind::kPrint:
        break;
    }
    return OkStatus();
  }

  const Program& program_;
  const SourceFile& source_;
  const CachedKernel& made_;
  const CompiledKernel& kernel_;
  const std::span<const Argument> arguments_;
  std::vector<uint64_t> scalars_;
  ptx::Memory memory_;
  std::vector<Buffer> buffers_;
  std::vector<uint8_t> block_;  // of parameters
  uint64_t report_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, int64_t> details_;  // of failures, by record and block
  int64_t grid_[2] = {1, 1};
  Outcome outcome_;
};

}  // namespace

EmulatorWitness::EmulatorWitness(compiler::Target target)
    : target_(target), name_("emulator of " + std::string(Row(target).name)) {}

std::string EmulatorWitness::CodeOf(const Program& program, const SourceFile& source) const {
  return CompileCached(program, source, target_)->body;
}

Outcome EmulatorWitness::Run(const Program& program, const SourceFile& source,
                             std::span<const Argument> arguments) const {
  const std::shared_ptr<const CachedKernel> made = CompileCached(program, source, target_);
  if (made->error.empty()) return Launcher(program, source, *made, arguments).Run(target_);
  Outcome out;
  out.error = made->error;
  return out;
}

}  // namespace tarsia::harness
