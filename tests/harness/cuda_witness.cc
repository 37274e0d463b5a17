#include "tests/harness/cuda_witness.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "runtime/cuda_device.h"
#include "tests/emulated_driver/hooks.h"

namespace tarsia::harness {

using runtime::Device;
using runtime::DevicePointer;
using runtime::LoadedKernel;

// The device, opened anew after a kernel has ended its context, where that can be done.
class CudaWitness::Machine {
 public:
  explicit Machine(std::string library) : library_(std::move(library)) {
    if (library_.empty()) return;
    void* const handle = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    reset_ = reinterpret_cast<emulated::ResetHook>(dlsym(handle, emulated::kResetHook));
    report_ = reinterpret_cast<emulated::ReportHook>(dlsym(handle, emulated::kReportHook));
  }

  Status Open() {
    if (device_ != nullptr) return OkStatus();
    if (library_.empty()) {
      TARSIA_TRY(device_, runtime::OpenCudaDevice(0));
      return OkStatus();
    }
    if (reset_ != nullptr) reset_();
    TARSIA_TRY(driver_, cuda::Driver::Open(library_));
    TARSIA_TRY(device_, runtime::OpenCudaDevice(*driver_, 0));
    return OkStatus();
  }

  // After a kernel did what stops a context.
  void Drop() {
    if (reset_ != nullptr) device_ = nullptr;
  }

  // What the emulated driver found since it was opened.
  [[nodiscard]] std::string Findings() const {
    if (report_ == nullptr) return "";
    std::string text(report_(nullptr, 0) + 1, '\0');
    report_(text.data(), text.size());
    text.pop_back();
    return text;
  }

  [[nodiscard]] Device& device() { return *device_; }

 private:
  std::string library_;
  emulated::ResetHook reset_ = nullptr;
  emulated::ReportHook report_ = nullptr;
  const cuda::Driver* driver_ = nullptr;
  std::shared_ptr<Device> device_;
};

namespace {

// Device memory for one launch.
class Memory {
 public:
  explicit Memory(Device& device) : device_(device) {}
  ~Memory() {
    for (const DevicePointer pointer : pointers_) (void)device_.Free(pointer).ok();
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  Result<DevicePointer> Allocate(uint64_t bytes) {
    TARSIA_TRY(const DevicePointer pointer, device_.Allocate(bytes));
    pointers_.push_back(pointer);
    return pointer;
  }

 private:
  Device& device_;
  std::vector<DevicePointer> pointers_;
};

Status Launch(Device& device, const Program& program, std::span<const Argument> arguments,
              const vm::LaunchOptions& options) {
  TARSIA_TRY(const std::unique_ptr<LoadedKernel> kernel, device.Load(program));
  Memory memory(device);
  vm::LaunchArgs args;
  std::vector<uint64_t> scalars;
  for (const Argument& argument : arguments) {
    if (const auto* const scalar = std::get_if<ScalarArgument>(&argument)) {
      args.params.emplace_back(vm::ScalarValue{scalar->type, scalar->code});
      scalars.push_back(scalar->code);
      continue;
    }
    const auto& host = std::get<MemoryArgument>(argument);
    TARSIA_TRY(const DevicePointer pointer, memory.Allocate(host.bytes));
    TARSIA_CHECK(device.Write(pointer, host.data, host.bytes, nullptr));
    args.params.emplace_back(vm::Buffer{pointer, host.bytes, host.writable});
    scalars.push_back(0);
  }
  runtime::LaunchRequest request;
  request.args = &args;
  request.options = &options;
  // Extents that make no workspace are the launch's to explain.
  const Result<uint64_t> bytes = kernel->WorkspaceBytes(scalars);
  if (bytes.ok() && *bytes > 0) {
    TARSIA_TRY(request.workspace, memory.Allocate(*bytes));
    TARSIA_CHECK(kernel->InitWorkspace(scalars, request.workspace, nullptr));
  }
  const auto launched = kernel->Launch(request);
  if (!launched.ok()) return launched.error();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* const host = std::get_if<MemoryArgument>(&arguments[i]);
    if (host == nullptr) continue;
    const auto& buffer = std::get<vm::Buffer>(args.params[i]);
    TARSIA_CHECK(device.Read(host->data, buffer.data, host->bytes, nullptr));
  }
  return OkStatus();
}

// No case comes near; a loop without end does.
constexpr const char* kMaxInstructions = "20000000";

std::string_view Which() {
  const char* const text = std::getenv("TARSIA_CUDA_WITNESS");
  return text != nullptr ? text : "emulated";
}

}  // namespace

CudaWitness::CudaWitness() {
  if (Which() == "none") {
    unavailable_ = "TARSIA_CUDA_WITNESS says none";
    return;
  }
  emulated_ = Which() != "gpu";
  name_ = emulated_ ? "cuda:0 over the emulated driver" : "cuda:0";
  if (emulated_) {
    setenv(runtime::kCudaCodeVariable, "ptx", 0);  // do not ask an assembler in vain
    setenv("TARSIA_EMULATED_LIMIT", kMaxInstructions, 0);
  }
  machine_ = std::make_unique<Machine>(emulated_ ? TARSIA_EMULATED_DRIVER : "");
  const Status opened = machine_->Open();
  if (!opened.ok()) unavailable_ = opened.error().message;
}

CudaWitness::~CudaWitness() = default;

Outcome CudaWitness::Run(const Program& program, const SourceFile& source,
                         std::span<const Argument> arguments) const {
  Outcome out;
  vm::LaunchOptions options;
  options.print = [&out](std::string_view line) { out.lines.emplace_back(line); };
  Status status = machine_->Open();
  if (status.ok()) status = Launch(machine_->device(), program, arguments, options);
  if (status.ok()) return out;
  if (std::string_view(status.error().info->id) == "device-lost") {
    out.fault = status.error().message + "\n" + machine_->Findings();
    machine_->Drop();
  } else {
    out.error = Render(status.error(), source);
  }
  return out;
}

}  // namespace tarsia::harness
