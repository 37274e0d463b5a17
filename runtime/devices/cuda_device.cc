#include "runtime/devices/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "launch/cancel.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/module.h"
#include "runtime/cuda/stream.h"
#include "runtime/devices/device_model.h"
#include "runtime/devices/loaded_code.h"
#include "runtime/diagnostics.h"
#include "runtime/log.h"
#include "support/environment.h"

namespace tarsia::runtime {
namespace {

using GpuPointer = std::shared_ptr<const cuda::Gpu>;

cuda::CuDevicePtr DeviceAddress(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}
cuda::CuStream ToStream(StreamHandle stream) { return static_cast<cuda::CuStream>(stream); }

// Whether a kernel itself waits for the one before it.
bool WaitsForThePrevious(const Program& program) {
  return std::ranges::any_of(program.kernel().code,
                             [](const Inst& inst) { return inst.opcode == Opcode::kGriddepWait; });
}

bool LeavesCodeToDriver() { return Environment(kCudaCodeVariable) == "ptx"; }

// Machine code runs on GPUs of its generation that are at least as new; code for a target with an
// `a` in its name runs only on that GPU.
bool RunsCubinsOf(const cuda::GpuProperties& gpu, compiler::Target target) {
  const int capability = Row(target).capability;
  return capability / 10 == gpu.major && capability <= gpu.capability();
}

// A wait for a stream that is captured fails here: the driver would end the capture.
Status CheckNotCaptured(const cuda::Gpu& gpu, cuda::CuStream stream, std::string_view what) {
  TARSIA_TRY(const bool captured, cuda::IsCapturing(gpu, stream));
  if (!captured) return OkStatus();
  return MakeDiagnostic(diag::kCudaCaptured, {}, what, "it has to wait for the stream");
}

class CudaKernel final : public LoadedCode {
 public:
  CudaKernel(Device& device, GpuPointer gpu, CompiledProgram program,
             std::unique_ptr<cuda::Kernel> kernel)
      : LoadedCode(device, std::move(program)), gpu_(std::move(gpu)), kernel_(std::move(kernel)) {}

  Result<LaunchResult> Collect(const LaunchRequest& request) const override {
    CompiledLaunch launch;
    TARSIA_CHECK(program().Prepare(request, &launch));
    LaunchResult result;
    result.report.grid = launch.grid;
    TARSIA_CHECK(CheckNotCaptured(*gpu_, ToStream(request.stream), "reading a workspace"));
    TARSIA_CHECK(cuda::Synchronize(*gpu_, ToStream(request.stream)));
    if (!launch.Empty()) TARSIA_CHECK(program().ReadReport(device(), launch, request));
    return result;
  }

  [[nodiscard]] Result<int64_t> LocalBytes() const override {
    TARSIA_TRY(const cuda::KernelAttributes attributes, kernel_->Attributes());
    return attributes.local_bytes;
  }

 private:
  [[nodiscard]] Status CheckRequest(const LaunchRequest& request) const override {
    const vm::LaunchOptions& options = request.OptionsOrDefault();
    TARSIA_CHECK(CheckOptions(options, device().name()));
    if (options.max_instructions == 0) return OkStatus();
    return MakeDiagnostic(diag::kOptionOfInterpreter, Location(), "a limit of instructions",
                          device().name());
  }

  Status Run(const CompiledLaunch& launch, const LaunchRequest& request,
             LaunchResult* result) const override {
    const cuda::CuStream stream = ToStream(request.stream);
    if (request.wait) TARSIA_CHECK(CheckNotCaptured(*gpu_, stream, "waiting for a launch"));
    TARSIA_CHECK(CheckWanted(request));
    TARSIA_CHECK(program().FillBeforeLaunch(device(), launch, request));
    if (!request.wait) return kernel_->Launch(launch.grid, launch.parameters(), stream);
    TARSIA_TRY(result->nanoseconds, LaunchAndWait(launch, stream));
    result->report.blocks = static_cast<uint64_t>(launch.grid[0]) *
                            static_cast<uint64_t>(launch.grid[1]) *
                            static_cast<uint64_t>(launch.grid[2]);
    return program().ReadReport(device(), launch, request);
  }

  // A running kernel cannot be stopped, so this is checked once, before the launch.
  [[nodiscard]] Status CheckWanted(const LaunchRequest& request) const {
    StopCheck* const stop = request.OptionsOrDefault().stop;
    if (stop != nullptr) (void)stop->Ask();
    return launch::CheckNotStopped(program().program(), stop);
  }

  // Measures the time on the GPU, from before to after the kernel.
  Result<uint64_t> LaunchAndWait(const CompiledLaunch& launch, cuda::CuStream stream) const {
    TARSIA_TRY(const cuda::Event start, cuda::Event::Create(gpu_));
    TARSIA_TRY(const cuda::Event end, cuda::Event::Create(gpu_));
    TARSIA_CHECK(start.Record(stream));
    TARSIA_CHECK(kernel_->Launch(launch.grid, launch.parameters(), stream));
    TARSIA_CHECK(end.Record(stream));
    TARSIA_CHECK(cuda::Synchronize(*gpu_, stream));
    TARSIA_TRY(const double milliseconds, cuda::Milliseconds(start, end));
    return static_cast<uint64_t>(milliseconds * 1e6);
  }

  const GpuPointer gpu_;
  const std::unique_ptr<cuda::Kernel> kernel_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(GpuPointer gpu, compiler::Target target)
      : gpu_(std::move(gpu)),
        target_(target),
        name_("cuda:" + std::to_string(gpu_->properties().ordinal)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }

  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::kGpu; }
  [[nodiscard]] std::string Description() const override {
    const cuda::GpuProperties& gpu = gpu_->properties();
    return fmt::format("{}: compute capability {}.{}, {} multiprocessors, {:.1f} GiB", gpu.name,
                       gpu.major, gpu.minor, gpu.multiprocessors,
                       static_cast<double>(gpu.memory_bytes) / (1 << 30));
  }

  // GPUs that share a target may have less shared memory than the first one.
  [[nodiscard]] TargetLimits Limits() const override {
    TargetLimits limits = compiler::LimitsOf(target_);
    limits.shared_bytes =
        std::min(limits.shared_bytes, static_cast<int64_t>(gpu_->properties().shared_bytes));
    return limits;
  }

  // GPUs of a target differ most in the number of their processors.
  [[nodiscard]] DeviceModel Model() const override {
    DeviceModel model = ModelOf(target_);
    model.operations_per_us *=
        static_cast<double>(gpu_->properties().multiprocessors) / model.processors;
    model.processors = gpu_->properties().multiprocessors;
    return model;
  }

  [[nodiscard]] std::optional<compiler::Target> CodeTarget() const override { return target_; }

  Result<std::unique_ptr<LoadedKernel>> LoadImage(const Program& program,
                                                  std::shared_ptr<const KernelImage> image,
                                                  const LoadOptions& options) override {
    TARSIA_TRY(CompiledProgram compiled,
               CompiledProgram::Make(program, std::move(image), options.workspace_limit));
    const compiler::CompiledKernel& made = compiled.kernel();
    cuda::KernelCode code;
    code.entry = made.name;
    code.ptx = made.ptx;
    code.threads = made.threads;
    code.shared_bytes = made.shared_bytes;
    code.begins_early = gpu_->properties().major >= 9 && WaitsForThePrevious(program);
    if (!LeavesCodeToDriver() && RunsCubinsOf(gpu_->properties(), target_)) {
      // Without an assembler the driver compiles and reports errors.
      const Result<KernelImage::Machine> machine = compiled.image()->FindMachine(options.stop);
      if (machine.ok()) {
        code.cubin = machine->cubin;
      } else if (options.stop != nullptr && options.stop->stopped()) {
        return machine.error();
      } else {
        api::Log(TARSIA_LOG_WARNING,
                 fmt::format("{} for {}: the driver compiles the PTX, since there is no machine "
                             "code: {}",
                             made.name, name_, machine.error().message));
      }
    }
    TARSIA_TRY(std::unique_ptr<cuda::Kernel> kernel, cuda::Kernel::Load(gpu_, std::move(code)));
    return std::unique_ptr<LoadedKernel>(
        new CudaKernel(*this, gpu_, std::move(compiled), std::move(kernel)));
  }

  Result<DevicePointer> Allocate(uint64_t bytes) override {
    TARSIA_TRY(const cuda::CuDevicePtr address, cuda::AllocateMemory(*gpu_, bytes));
    return reinterpret_cast<DevicePointer>(address);  // NOLINT(performance-no-int-to-ptr)
  }

  Status Free(DevicePointer memory) override {
    return cuda::FreeMemory(*gpu_, DeviceAddress(memory));
  }

  Status Write(DevicePointer to, const void* from, uint64_t bytes, StreamHandle stream) override {
    if (bytes == 0) return OkStatus();
    TARSIA_CHECK(CheckNotCaptured(*gpu_, ToStream(stream), "writing memory"));
    TARSIA_CHECK(cuda::CopyIn(*gpu_, DeviceAddress(to), from, bytes, ToStream(stream)));
    return Synchronize(stream);
  }

  Status Read(void* to, DevicePointer from, uint64_t bytes, StreamHandle stream) override {
    if (bytes == 0) return OkStatus();
    TARSIA_CHECK(CheckNotCaptured(*gpu_, ToStream(stream), "reading memory"));
    TARSIA_CHECK(cuda::CopyOut(*gpu_, to, DeviceAddress(from), bytes, ToStream(stream)));
    return Synchronize(stream);
  }

  Status Fill(DevicePointer to, uint8_t value, uint64_t bytes, StreamHandle stream) override {
    return cuda::Fill(*gpu_, DeviceAddress(to), value, bytes, ToStream(stream));
  }

  Status FillWords(DevicePointer to, uint32_t value, uint64_t words, StreamHandle stream) override {
    return cuda::Fill(*gpu_, DeviceAddress(to), value, words, ToStream(stream));
  }

  Result<StreamHandle> CreateStream() override {
    TARSIA_TRY(cuda::Stream stream, cuda::Stream::Create(gpu_));
    return static_cast<StreamHandle>(stream.Release());
  }

  Status DestroyStream(StreamHandle stream) override {
    return stream == nullptr ? OkStatus() : cuda::DestroyStream(*gpu_, ToStream(stream));
  }

  Status Synchronize(StreamHandle stream) override {
    TARSIA_CHECK(CheckNotCaptured(*gpu_, ToStream(stream), "waiting for a stream"));
    return cuda::Synchronize(*gpu_, ToStream(stream));
  }

  Result<std::vector<double>> TimeCalls(
      int calls, int replays,
      const std::function<Status(int call, StreamHandle stream)>& enqueue) override {
    TARSIA_TRY(const cuda::Stream stream, cuda::Stream::Create(gpu_));
    TARSIA_TRY(const cuda::Event start, cuda::Event::Create(gpu_));
    TARSIA_TRY(const cuda::Event end, cuda::Event::Create(gpu_));
    const auto all = [&]() -> Status {
      for (int i = 0; i < calls; ++i) TARSIA_CHECK(enqueue(i, stream.handle()));
      return OkStatus();
    };
    TARSIA_TRY(const cuda::Graph graph, cuda::Graph::Capture(gpu_, stream.handle(), all));
    std::vector<double> out;
    for (int i = -1; i < replays; ++i) {
      TARSIA_CHECK(start.Record(stream.handle()));
      TARSIA_CHECK(graph.Launch(stream.handle()));
      TARSIA_CHECK(end.Record(stream.handle()));
      TARSIA_CHECK(end.Synchronize());
      TARSIA_TRY(const double milliseconds, cuda::Milliseconds(start, end));
      if (i >= 0) out.push_back(milliseconds * 1e3 / calls);
    }
    return out;
  }

 private:
  const GpuPointer gpu_;
  const compiler::Target target_;
  const std::string name_;
};

}  // namespace

Result<int> CudaDeviceCount() {
  TARSIA_TRY(const cuda::Driver* const driver, cuda::Driver::Get());
  return driver->device_count();
}

// PTX for a target without an `a` in its name runs on every newer GPU, machine code on its
// generation.
Result<compiler::Target> TargetFor(const cuda::GpuProperties& gpu) {
  const int capability = gpu.capability();
  if (capability < Row(compiler::Target::kSm80).capability) {
    return MakeDiagnostic(diag::kCudaCapability, {}, gpu.Label(), gpu.major, gpu.minor);
  }
  if (capability < Row(compiler::Target::kSm89).capability) return compiler::Target::kSm80;
  if (capability == Row(compiler::Target::kSm90a).capability) return compiler::Target::kSm90a;
  return compiler::Target::kSm89;
}

Result<std::shared_ptr<Device>> OpenCudaDevice(int ordinal) {
  TARSIA_TRY(const cuda::Driver* const driver, cuda::Driver::Get());
  return OpenCudaDevice(*driver, ordinal);
}

Result<std::shared_ptr<Device>> OpenCudaDevice(const cuda::Driver& driver, int ordinal) {
  TARSIA_TRY(const cuda::GpuProperties properties, cuda::ReadProperties(driver, ordinal));
  TARSIA_TRY(const compiler::Target target, TargetFor(properties));
  TARSIA_TRY(GpuPointer gpu, cuda::Gpu::Open(driver, ordinal));
  return std::shared_ptr<Device>(std::make_shared<CudaDevice>(std::move(gpu), target));
}

}  // namespace tarsia::runtime
