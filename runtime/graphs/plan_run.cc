#include "runtime/graphs/plan_run.h"

#include <algorithm>

#include "runtime/diagnostics.h"
#include "runtime/files/file.h"
#include "runtime/graphs/device_memory.h"

namespace tarsia::runtime {
namespace {

constexpr uint64_t kStaged = uint64_t{1} << 20;  // bytes on their way to memory of a device

class PlanRunner {
 public:
  explicit PlanRunner(const PlanRunRequest& request)
      : request_(request), plan_(*request.plan), device_(*request.device) {
    options_.threads = request.threads;
    options_.stop = request.stop;
  }

  Result<PlanRunReport> Run() {
    TARSIA_CHECK(FindPlaces());
    TARSIA_CHECK(ReadInputs());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      TARSIA_CHECK(CheckStop());
      TARSIA_CHECK(RunStep(plan_.steps[i]));
      if (request_.progress) request_.progress(i + 1, plan_.steps.size());
    }
    TARSIA_CHECK(WriteOutputs());
    return report_;
  }

 private:
  Result<DevicePointer> Own(uint64_t bytes) {
    TARSIA_TRY(DeviceMemory memory, DeviceMemory::Allocate(&device_, bytes));
    owned_.push_back(std::move(memory));
    return owned_.back().get();
  }

  // The port of a buffer that is an input or an output.
  [[nodiscard]] const PlanPort& PortOf(size_t b) const {
    const PlanBuffer& buffer = plan_.buffers[b];
    if (buffer.kind == PlanBuffer::Kind::kInput) return request_.inputs[buffer.value];
    const auto before = std::count_if(
        plan_.buffers.begin(), plan_.buffers.begin() + static_cast<ptrdiff_t>(b),
        [](const PlanBuffer& other) { return other.kind == PlanBuffer::Kind::kOutput; });
    return request_.outputs[static_cast<size_t>(before)];
  }

  // What the limit does not count is used where the caller has it.
  [[nodiscard]] bool InPlace(size_t b) const {
    return !plan_.buffers[b].offset && PortOf(b).memory != nullptr;
  }

  Status FindPlaces() {
    DevicePointer arena = request_.arena;
    if (arena == nullptr) {
      TARSIA_TRY(arena, Own(plan_.peak));
    }
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      DevicePointer& place = places_.emplace_back();
      if (buffer.bytes == 0 || !buffer.used) continue;
      if (buffer.offset) {
        place = static_cast<uint8_t*>(arena) + *buffer.offset;
      } else if (InPlace(b)) {
        place = PortOf(b).memory;
      } else {
        TARSIA_TRY(place, Own(buffer.bytes));
      }
    }
    return OkStatus();
  }

  // ---- ports ----------------------------------------------------------------------------------

  Status ReadInputs() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind != PlanBuffer::Kind::kInput || places_[b] == nullptr || InPlace(b)) continue;
      TARSIA_CHECK(Fill(PortOf(b), 0, static_cast<uint8_t*>(places_[b]), buffer.bytes));
    }
    return OkStatus();
  }

  Status WriteOutputs() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind != PlanBuffer::Kind::kOutput || places_[b] == nullptr || InPlace(b)) continue;
      TARSIA_CHECK(Empty(PortOf(b), 0, static_cast<uint8_t*>(places_[b]), buffer.bytes));
    }
    return OkStatus();
  }

  // Bytes of a port, from `offset` on, into memory of the device.
  Status Fill(const PlanPort& port, uint64_t offset, uint8_t* to, uint64_t bytes) {
    if (port.memory != nullptr) {
      return device_.Write(to, static_cast<uint8_t*>(port.memory) + offset, bytes, nullptr);
    }
    return InPieces(offset, to, bytes,
                    [&](uint64_t at, std::span<uint8_t> piece, uint8_t* there) -> Status {
                      TARSIA_CHECK(port.read(at, piece));
                      if (piece.data() == there) return OkStatus();
                      return device_.Write(there, piece.data(), piece.size(), nullptr);
                    });
  }

  // The other way.
  Status Empty(const PlanPort& port, uint64_t offset, uint8_t* from, uint64_t bytes) {
    if (port.memory != nullptr) {
      return device_.Read(static_cast<uint8_t*>(port.memory) + offset, from, bytes, nullptr);
    }
    if (!port.write) return OkStatus();  // nobody wants it
    return InPieces(offset, from, bytes,
                    [&](uint64_t at, std::span<uint8_t> piece, uint8_t* there) -> Status {
                      if (piece.data() != there) {
                        TARSIA_CHECK(device_.Read(piece.data(), there, piece.size(), nullptr));
                      }
                      return port.write(at, piece);
                    });
  }

  // Calls `use` with memory of the host: that of the device itself if it is, else some for one
  // piece after the other.
  template <typename Use>
  Status InPieces(uint64_t offset, uint8_t* memory, uint64_t bytes, const Use& use) {
    if (IsHostMemory(device_)) return use(offset, std::span(memory, bytes), memory);
    if (staging_.size() == 0) {
      TARSIA_TRY(staging_, HostBuffer::Allocate(kStaged));
    }
    for (uint64_t done = 0; done < bytes; done += kStaged) {
      TARSIA_CHECK(CheckStop());
      const uint64_t size = std::min(kStaged, bytes - done);
      TARSIA_CHECK(use(offset + done, staging_.bytes().first(size), memory + done));
    }
    return OkStatus();
  }

  // ---- steps ----------------------------------------------------------------------------------

  Status CheckStop() {
    if (request_.stop == nullptr || request_.stop->Ask() == StopReason::kNone) return OkStatus();
    return MakeDiagnostic(diag::kPlanCancelled, Location());
  }

  [[nodiscard]] launch::Argument ArgumentOf(const KernelParam& param, const PlanStep& step) const {
    if (param.kind == KernelParam::Kind::kTensor) {
      return launch::Buffer{places_[param.id], plan_.buffers[param.id].bytes, param.written};
    }
    if (param.kind == KernelParam::Kind::kFresh) return launch::ScalarValue{kBoolType, step.fresh};
    const auto range = std::find_if(step.ranges.begin(), step.ranges.end(),
                                    [&](const StepRange& r) { return r.axis == param.id; });
    const bool low = param.kind == KernelParam::Kind::kLow;
    return launch::ScalarValue{kI64, static_cast<uint64_t>(low ? range->low : range->high)};
  }

  // The workspace of a kernel; few need one.
  Result<DevicePointer> WorkspaceOf(size_t kernel, const launch::ArgumentList& args) {
    const LoadedKernel& ready = *request_.kernels[kernel].ready;
    const launch::CodeList scalars = launch::CodesOf(args);
    TARSIA_TRY(const uint64_t bytes, ready.WorkspaceBytes(scalars));
    if (bytes == 0) return DevicePointer{nullptr};
    workspaces_.resize(plan_.kernels.size());
    if (workspaces_[kernel] == nullptr) {
      TARSIA_TRY(workspaces_[kernel], Own(bytes));
      TARSIA_CHECK(ready.InitWorkspace(scalars, workspaces_[kernel], bytes, nullptr));
    }
    return workspaces_[kernel];
  }

  Status RunStep(const PlanStep& step) {
    launch::ArgumentList args;
    for (const KernelParam& param : plan_.kernels[step.kernel].params) {
      args.push_back(ArgumentOf(param, step));
    }
    LaunchRequest launch;
    TARSIA_TRY(launch.workspace, WorkspaceOf(step.kernel, args));
    launch.args = args;
    launch.options = &options_;
    TARSIA_TRY(const LaunchResult result, request_.kernels[step.kernel].ready->Launch(launch));
    report_.blocks += result.report.blocks;
    report_.instructions += result.report.instructions;
    report_.nanoseconds += result.nanoseconds;
    return OkStatus();
  }

  const PlanRunRequest& request_;
  const Plan& plan_;
  Device& device_;
  vm::LaunchOptions options_;
  std::vector<DeviceMemory> owned_;
  std::vector<DevicePointer> places_;  // by buffer
  std::vector<DevicePointer> workspaces_;
  HostBuffer staging_;
  PlanRunReport report_;
};

}  // namespace

Result<PlanRunReport> RunPlan(const PlanRunRequest& request) { return PlanRunner(request).Run(); }

}  // namespace tarsia::runtime
