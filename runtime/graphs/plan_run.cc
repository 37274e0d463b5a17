#include "runtime/graphs/plan_run.h"

#include <algorithm>

#include "runtime/diagnostics.h"
#include "runtime/files/file.h"
#include "runtime/graphs/chunk_runs.h"
#include "runtime/graphs/device_memory.h"
#include "runtime/graphs/transfer_queue.h"

namespace tarsia::runtime {
namespace {

constexpr uint64_t kMostPiece = uint64_t{1} << 20;  // of a transfer, which can stop behind each

class PlanRunner {
 public:
  explicit PlanRunner(const PlanRunRequest& request)
      : request_(request), plan_(*request.plan), device_(*request.device) {
    options_.threads = request.threads;
    options_.stop = request.stop;
    if (request.host_limit != 0) piece_ = std::min(kMostPiece, request.host_limit);
  }

  Result<PlanRunReport> Run() {
    TARSIA_CHECK(FindPlaces());
    TARSIA_CHECK(ClearChunks());
    TARSIA_CHECK(FillOwned());
    FindLastLaunches();
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      TARSIA_CHECK(CheckStop());
      TARSIA_CHECK(RunStep(i));
      if (request_.progress) request_.progress(i + 1, plan_.steps.size());
    }
    TARSIA_CHECK(queue_.WaitForAll());
    TARSIA_CHECK(EmptyOwned());
    return report_;
  }

 private:
  Result<DevicePointer> Own(uint64_t bytes) {
    TARSIA_TRY(DeviceMemory memory, DeviceMemory::Allocate(&device_, bytes));
    owned_.push_back(std::move(memory));
    return owned_.back().get();
  }

  [[nodiscard]] const PlanPort& PortOf(size_t b) const {
    const PlanBuffer& buffer = plan_.buffers[b];
    const bool input = buffer.kind == PlanBuffer::Kind::kInput;
    return (input ? request_.inputs : request_.outputs)[buffer.tensor];
  }

  // What the limit does not count is used where the caller has it; an input that an output
  // overwrites only if the caller has both in one place.
  [[nodiscard]] bool InPlace(size_t b) const {
    const PlanBuffer& buffer = plan_.buffers[b];
    if (buffer.offset || PortOf(b).memory == nullptr) return false;
    if (buffer.in_place) return PortOf(*buffer.in_place).memory == PortOf(b).memory;
    for (size_t other = 0; other < plan_.buffers.size(); ++other) {
      if (plan_.buffers[other].in_place == b) return PortOf(other).memory == PortOf(b).memory;
    }
    return true;
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
      if (buffer.in_place) {
        place = places_[*buffer.in_place];
      } else if (buffer.offset) {
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

  // A chunk at the end of a range may be shorter than its buffer. Kernels compute tiles of what is
  // behind it, too, and nothing reads those results; a GPU's memory checker wants them defined.
  Status ClearChunks() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      const bool chunk = buffer.second || buffer.shared;
      const bool input = buffer.kind == PlanBuffer::Kind::kInput && places_[b] != nullptr;
      if (!chunk || !input || IsHostMemory(device_)) continue;
      TARSIA_CHECK(device_.Fill(places_[b], 0, buffer.bytes, nullptr));
    }
    return OkStatus();
  }

  // What the limit does not count, and the caller has no memory for.
  [[nodiscard]] bool IsOwned(size_t b) const {
    return !plan_.buffers[b].offset && places_[b] != nullptr && !InPlace(b);
  }

  Status FillOwned() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind != PlanBuffer::Kind::kInput || !IsOwned(b)) continue;
      TARSIA_CHECK(ForEachOwnRun(b, [&](uint64_t offset, uint8_t* place, uint64_t bytes) {
        return Fill(PortOf(b), offset, place, bytes);
      }));
    }
    return OkStatus();
  }

  Status EmptyOwned() {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind != PlanBuffer::Kind::kOutput || !IsOwned(b)) continue;
      TARSIA_CHECK(ForEachOwnRun(b, [&](uint64_t offset, uint8_t* place, uint64_t bytes) {
        const PlanTensor& tensor = plan_.outputs[buffer.tensor];
        return Empty(PortOf(b), offset, place, bytes, &tensor);
      }));
    }
    return OkStatus();
  }

  // The part of a tensor that this rank has, whose buffer has room for all of it.
  template <typename Use>
  Status ForEachOwnRun(size_t b, const Use& use) {
    const PlanBuffer& buffer = plan_.buffers[b];
    const bool input = buffer.kind == PlanBuffer::Kind::kInput;
    const PlanTensor& tensor = (input ? plan_.inputs : plan_.outputs)[buffer.tensor];
    std::vector<StepRange> ranges;
    // Of packed inputs, a range need not begin with a byte.
    if (tensor.shared && (!input || tensor.dtype.bits >= 8)) {
      ranges.push_back({plan_.share->axis, plan_.share->low(), plan_.share->high()});
      if (ranges[0].low == ranges[0].high) return OkStatus();
    }
    return ForEachRun(tensor, buffer, ranges, [&](const ChunkRun& run) {
      return use(run.outside, static_cast<uint8_t*>(places_[b]) + run.outside, run.bytes);
    });
  }

  Status Transfer(const PlanStep& step) {
    const size_t b = step.buffers[0];
    const PlanBuffer& buffer = plan_.buffers[b];
    const bool load = step.kind == PlanStep::Kind::kLoad;
    const PlanTensor& tensor = (load ? plan_.inputs : plan_.outputs)[buffer.tensor];
    auto* const place = static_cast<uint8_t*>(places_[b]);
    return ForEachRun(tensor, buffer, step.ranges, [&](const ChunkRun& run) {
      return load ? Fill(PortOf(b), run.outside, place + run.inside, run.bytes)
                  : Empty(PortOf(b), run.outside, place + run.inside, run.bytes, &tensor);
    });
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

  // The bits behind the last element of a packed tensor are 0 outside.
  static void ClearBehind(const PlanTensor& tensor, uint64_t offset, std::span<uint8_t> bytes) {
    if (tensor.dtype.bits >= 8 || bytes.empty() || offset + bytes.size() != tensor.bytes) return;
    uint64_t bits = tensor.dtype.bits;
    for (const int64_t extent : tensor.extents) bits *= static_cast<uint64_t>(extent);
    if (bits % 8 == 0) return;
    bytes.back() = static_cast<uint8_t>(bytes.back() & ((1u << bits % 8) - 1));
  }

  // The other way. `tensor`: the output that it is; null: none.
  Status Empty(const PlanPort& port, uint64_t offset, uint8_t* from, uint64_t bytes,
               const PlanTensor* tensor) {
    if (port.memory != nullptr) {
      auto* const to = static_cast<uint8_t*>(port.memory) + offset;
      TARSIA_CHECK(device_.Read(to, from, bytes, nullptr));
      if (tensor != nullptr) ClearBehind(*tensor, offset, std::span(to, bytes));
      return OkStatus();
    }
    if (!port.write) return OkStatus();  // nobody wants it
    return InPieces(offset, from, bytes,
                    [&](uint64_t at, std::span<uint8_t> piece, uint8_t* there) -> Status {
                      if (piece.data() != there) {
                        TARSIA_CHECK(device_.Read(piece.data(), there, piece.size(), nullptr));
                      }
                      if (tensor != nullptr) ClearBehind(*tensor, at, piece);
                      return port.write(at, piece);
                    });
  }

  // Calls `use` with one piece after the other, in memory of the host: that of the device itself
  // if it is.
  template <typename Use>
  Status InPieces(uint64_t offset, uint8_t* memory, uint64_t bytes, const Use& use) {
    const bool direct = IsHostMemory(device_);
    if (!direct && staging_.size() == 0) {
      TARSIA_TRY(staging_, HostBuffer::Allocate(piece_));
    }
    for (uint64_t done = 0; done < bytes; done += piece_) {
      TARSIA_CHECK(CheckStop());
      const uint64_t size = std::min(piece_, bytes - done);
      uint8_t* const host = direct ? memory + done : staging_.data();
      TARSIA_CHECK(use(offset + done, std::span(host, size), memory + done));
    }
    return OkStatus();
  }

  // ---- steps ----------------------------------------------------------------------------------

  Status CheckStop() {
    if (request_.stop == nullptr || request_.stop->Ask() == StopReason::kNone) return OkStatus();
    return MakeDiagnostic(diag::kPlanCancelled, Location());
  }

  // Of a parameter that is no tensor.
  [[nodiscard]] launch::Argument ScalarOf(const KernelParam& param, const PlanStep& step) const {
    if (param.kind == KernelParam::Kind::kFresh) return launch::ScalarValue{kBoolType, step.fresh};
    if (param.kind == KernelParam::Kind::kBase) {
      return launch::ScalarValue{kI64, static_cast<uint64_t>(plan_.share->low())};
    }
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

  [[nodiscard]] TransferQueue::Place PlaceOf(size_t b) const {
    const PlanBuffer& buffer = plan_.buffers[b];
    if (!buffer.offset) return {};
    return {*buffer.offset, *buffer.offset + buffer.bytes};
  }

  // What the interpreter has for a kernel it frees behind the kernel's last launch.
  void FindLastLaunches() {
    last_launches_.resize(std::max<size_t>(plan_.kernels.size(), 1), SIZE_MAX);
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].kind == PlanStep::Kind::kLaunch) last_launches_[plan_.steps[i].kernel] = i;
    }
  }

  // Transfers run beside launches only if there are chunks to alternate between.
  Status RunStep(size_t number) {
    const PlanStep& step = plan_.steps[number];
    options_.last = last_launches_[step.kernel] == number;
    if (step.kind == PlanStep::Kind::kLaunch) return Launch(step);
    if (step.kind == PlanStep::Kind::kMerge) return Merge(step);
    const size_t b = step.buffers[0];
    if (!plan_.buffers[b].second) {
      TARSIA_CHECK(queue_.WaitForAll());
      return Transfer(step);
    }
    queue_.Add(PlaceOf(b), [this, &step] { return Transfer(step); });
    return OkStatus();
  }

  Status Launch(const PlanStep& step) {
    for (const size_t b : step.buffers) TARSIA_CHECK(queue_.WaitFor(PlaceOf(b)));
    launch::ArgumentList args;
    size_t tensor = 0;
    for (const KernelParam& param : plan_.kernels[step.kernel].params) {
      if (param.kind != KernelParam::Kind::kTensor) {
        args.push_back(ScalarOf(param, step));
        continue;
      }
      const size_t b = step.buffers[tensor++];
      args.push_back(launch::Buffer{places_[b], plan_.buffers[b].bytes, param.written});
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

  // ---- merges ---------------------------------------------------------------------------------

  Status Merge(const PlanStep& step) {
    TARSIA_CHECK(queue_.WaitForAll());  // which use the staging buffer, too
    std::vector<size_t> states;
    std::vector<size_t> incoming;
    size_t tensor = 0;
    for (const KernelParam& param : plan_.kernels[step.kernel].params) {
      if (param.kind != KernelParam::Kind::kTensor) continue;
      (param.written ? states : incoming).push_back(step.buffers[tensor++]);
    }
    const PlanShare& share = *plan_.share;
    if (share.rank != 0) {
      if (!share.IsEmpty(share.rank)) TARSIA_CHECK(SendAll(0, states));
      return ReceiveAll(0, states);
    }
    for (size_t rank = 1; rank < share.ranks(); ++rank) {
      if (share.IsEmpty(rank)) continue;
      TARSIA_CHECK(ReceiveAll(rank, incoming));
      TARSIA_CHECK(Launch(step));
    }
    for (size_t rank = 1; rank < share.ranks(); ++rank) TARSIA_CHECK(SendAll(rank, states));
    return OkStatus();
  }

  Status SendAll(size_t to, const std::vector<size_t>& buffers) {
    PlanPort port;
    port.write = [&](uint64_t, std::span<const uint8_t> bytes) {
      return request_.exchange->Send(to, bytes);
    };
    for (const size_t b : buffers) {
      TARSIA_CHECK(
          Empty(port, 0, static_cast<uint8_t*>(places_[b]), plan_.buffers[b].bytes, nullptr));
    }
    return OkStatus();
  }

  Status ReceiveAll(size_t from, const std::vector<size_t>& buffers) {
    PlanPort port;
    port.read = [&](uint64_t, std::span<uint8_t> bytes) {
      return request_.exchange->Receive(from, bytes);
    };
    for (const size_t b : buffers) {
      TARSIA_CHECK(Fill(port, 0, static_cast<uint8_t*>(places_[b]), plan_.buffers[b].bytes));
    }
    return OkStatus();
  }

  const PlanRunRequest& request_;
  const Plan& plan_;
  Device& device_;
  vm::LaunchOptions options_;
  std::vector<DeviceMemory> owned_;
  std::vector<DevicePointer> places_;  // by buffer
  std::vector<DevicePointer> workspaces_;
  std::vector<size_t> last_launches_;  // by kernel: the step
  uint64_t piece_ = kMostPiece;
  HostBuffer staging_;
  PlanRunReport report_;
  TransferQueue queue_;  // ends before what its transfers use
};

}  // namespace

Result<PlanRunReport> RunPlan(const PlanRunRequest& request) { return PlanRunner(request).Run(); }

}  // namespace tarsia::runtime
