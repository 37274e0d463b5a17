#include "runtime/devices/ptx_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "launch/cancel.h"
#include "ptx/machine/emulator.h"
#include "runtime/devices/device_model.h"
#include "runtime/devices/loaded_code.h"
#include "runtime/diagnostics.h"
#include "support/elapsed.h"

namespace tarsia::runtime {
namespace {

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The memory of the device and its launches, one at a time.
struct Machine {
  std::mutex mutex;
  ptx::Memory memory;
};

bool StopsTheProgram(const ptx::Finding& finding) {
  return finding.kind == ptx::FindingKind::kDeadlock || finding.kind == ptx::FindingKind::kTrap ||
         finding.kind == ptx::FindingKind::kLimit;
}

class PtxKernel final : public LoadedCode {
 public:
  PtxKernel(Device& device, std::shared_ptr<Machine> machine, CompiledProgram program,
            std::unique_ptr<ptx::Image> image)
      : LoadedCode(device, std::move(program)),
        machine_(std::move(machine)),
        image_(std::move(image)) {}
  ~PtxKernel() override {
    const std::lock_guard lock(machine_->mutex);
    image_.reset();
  }

 private:
  [[nodiscard]] Status CheckRequest(const LaunchRequest& request) const override {
    const vm::LaunchOptions& options = request.OptionsOrDefault();
    if (options.trace.enabled) TARSIA_CHECK(CheckOptions(options, device().name()));
    return device().CheckNoStream(request.stream);
  }

  Status Run(const CompiledLaunch& launch, const LaunchRequest& request,
             LaunchResult* result) const override {
    const vm::LaunchOptions& options = request.OptionsOrDefault();
    TARSIA_CHECK(program().FillBeforeLaunch(device(), launch, request));
    const auto start = std::chrono::steady_clock::now();
    TARSIA_TRY(ptx::LaunchReport report, Emulate(launch, options, request.counts != nullptr));
    TARSIA_CHECK(launch::CheckNotStopped(program().program(), options.stop));
    result->nanoseconds = NanosecondsSince(start);
    if (request.counts != nullptr) *request.counts = std::move(report.counts);
    result->report.blocks = report.blocks;
    result->report.instructions = report.thread_instructions;
    TARSIA_TRY(result->report.findings, FindingsOf(report));
    if (options.check) program().AddOverlaps(request.args, &result->report.findings);
    if (!result->report.findings.empty()) return OkStatus();
    return program().ReadReport(device(), launch, request);
  }

  // Errors: the finding that stopped the program. Findings of one kind on one line of the text are
  // combined, as on the device cpu.
  [[nodiscard]] Result<std::vector<launch::Finding>> FindingsOf(
      const ptx::LaunchReport& report) const {
    for (const ptx::Finding& finding : report.findings) {
      if (StopsTheProgram(finding)) return ToDiagnostic(finding);
    }
    std::vector<launch::Finding> findings;
    for (const ptx::FindingGroup& group : ptx::GroupBySourceLine(report.findings)) {
      const ptx::Finding& first = group.first;
      findings.push_back(
          {ToDiagnostic(first), {first.block.x, first.block.y, first.block.z}, first.count});
    }
    return findings;
  }

  Result<ptx::LaunchReport> Emulate(const CompiledLaunch& launch, const vm::LaunchOptions& options,
                                    bool counts) const {
    const compiler::CompiledKernel& kernel = program().kernel();
    ptx::LaunchConfig config;
    config.grid = {static_cast<uint32_t>(launch.grid[0]), static_cast<uint32_t>(launch.grid[1]),
                   static_cast<uint32_t>(launch.grid[2])};
    config.block = {static_cast<uint32_t>(kernel.threads), 1, 1};
    config.dynamic_shared = kernel.shared_bytes;
    config.parameters = launch.parameters();
    config.counts = counts;
    config.seed = options.seed;
    config.instruction_limit = options.max_instructions;
    config.stop = options.stop;
    config.max_shared = static_cast<uint64_t>(Row(program().image()->target()).shared_bytes);
    config.host_threads = options.threads > 0
                              ? options.threads
                              : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const std::lock_guard lock(machine_->mutex);
    return ptx::Launch(*image_, kernel.name, config);
  }

  // The instruction at a line of the text, from the line information.
  Location PlaceOf(uint32_t line) const {
    const Kernel& kernel = program().program().kernel();
    for (const Inst& inst : kernel.code) {
      if (const Location place = kernel.LocationOf(inst); place.line == line) return place;
    }
    return kernel.location;
  }

  Location PlaceOf(const ptx::FindingPlace& place) const {
    return PlaceOf(image_->module().lines.Own(place.loc).line);
  }

  // The diagnostic points into the text of the program; the line of the PTX is a note.
  Diagnostic ToDiagnostic(const ptx::Finding& finding) const {
    Diagnostic out = MakeDiagnostic(diag::kPtxFinding, PlaceOf(finding.source_line),
                                    ptx::NameOf(finding.kind), finding.message);
    out.notes.push_back(
        {Location(), fmt::format("line {} of the PTX, thread ({}, {}, {})", finding.location.line,
                                 finding.thread.x, finding.thread.y, finding.thread.z)});
    if (finding.origin) {
      out.notes.push_back({PlaceOf(*finding.origin),
                           fmt::format("the bits come from {} of the PTX's line {}",
                                       finding.origin_name, finding.origin->location.line)});
    }
    if (finding.other) out.notes.push_back({PlaceOf(*finding.other), "the other access"});
    return out;
  }

  const std::shared_ptr<Machine> machine_;
  std::unique_ptr<ptx::Image> image_;
};

class PtxDevice final : public Device {
 public:
  explicit PtxDevice(compiler::Target target)
      : target_(target), name_("ptx:" + std::string(Row(target).name)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kEmulator; }
  [[nodiscard]] std::string Description() const override {
    return fmt::format("the PTX emulator, with code for {}", Row(target_).name);
  }
  [[nodiscard]] TargetLimits Limits() const override { return compiler::LimitsOf(target_); }
  [[nodiscard]] DeviceModel Model() const override { return ModelOf(target_); }

  [[nodiscard]] std::optional<compiler::Target> CodeTarget() const override { return target_; }

  Result<std::unique_ptr<LoadedKernel>> LoadImage(const Program& program,
                                                  std::shared_ptr<const KernelImage> image,
                                                  const LoadOptions& options) override {
    TARSIA_TRY(CompiledProgram compiled,
               CompiledProgram::Make(program, std::move(image), options.workspace_limit));
    const SourceFile text(compiled.kernel().name + ".ptx", compiled.kernel().ptx);
    Diagnostics diagnostics;
    std::shared_ptr<const ptx::Module> module = ptx::ParseModule(text, &diagnostics);
    if (module == nullptr) {
      return MakeDiagnostic(diag::kPtxUnknown, program.kernel().location, diagnostics.Render(text));
    }
    const std::lock_guard lock(machine_->mutex);
    TARSIA_TRY(std::unique_ptr<ptx::Image> loaded,
               ptx::Image::Load(std::move(module), &machine_->memory));
    return std::unique_ptr<LoadedKernel>(
        new PtxKernel(*this, machine_, std::move(compiled), std::move(loaded)));
  }

  Result<DevicePointer> Allocate(uint64_t bytes) override {
    if (bytes == 0) return DevicePointer{nullptr};
    const std::lock_guard lock(machine_->mutex);
    TARSIA_TRY(const uint64_t address, machine_->memory.Allocate(bytes));
    return reinterpret_cast<DevicePointer>(address);  // NOLINT(performance-no-int-to-ptr)
  }

  Status Free(DevicePointer memory) override {
    if (memory == nullptr) return OkStatus();
    const std::lock_guard lock(machine_->mutex);
    return machine_->memory.Free(AddressOf(memory));
  }

  Status Write(DevicePointer to, const void* from, uint64_t bytes, StreamHandle stream) override {
    TARSIA_CHECK(CheckNoStream(stream));
    if (bytes == 0) return OkStatus();
    const std::lock_guard lock(machine_->mutex);
    return machine_->memory.CopyIn(AddressOf(to), {static_cast<const uint8_t*>(from), bytes});
  }

  Status Read(void* to, DevicePointer from, uint64_t bytes, StreamHandle stream) override {
    TARSIA_CHECK(CheckNoStream(stream));
    if (bytes == 0) return OkStatus();
    const std::lock_guard lock(machine_->mutex);
    return machine_->memory.CopyOut(AddressOf(from), {static_cast<uint8_t*>(to), bytes});
  }

  Status Fill(DevicePointer to, uint8_t value, uint64_t bytes, StreamHandle stream) override {
    TARSIA_CHECK(CheckNoStream(stream));
    if (bytes == 0) return OkStatus();
    const std::lock_guard lock(machine_->mutex);
    return machine_->memory.Fill(AddressOf(to), value, 1, bytes);
  }

  Status FillWords(DevicePointer to, uint32_t value, uint64_t words, StreamHandle stream) override {
    TARSIA_CHECK(CheckNoStream(stream));
    const std::lock_guard lock(machine_->mutex);
    return machine_->memory.Fill(AddressOf(to), value, sizeof(value), words);
  }

 private:
  const compiler::Target target_;
  const std::string name_;
  const std::shared_ptr<Machine> machine_ = std::make_shared<Machine>();
};

}  // namespace

std::shared_ptr<Device> MakePtxDevice(compiler::Target target) {
  return std::make_shared<PtxDevice>(target);
}

}  // namespace tarsia::runtime
