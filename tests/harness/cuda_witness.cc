#include "tests/harness/cuda_witness.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include "runtime/devices/cuda_device.h"
#include "support/environment.h"
#include "tests/emulated_driver/hooks.h"
#include "tests/harness/device_launch.h"

namespace tarsia::harness {

using runtime::Device;

// The device, reopened after a kernel has destroyed its context, if that is possible.
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

  // Call after a kernel has destroyed the context.
  void Drop() {
    if (reset_ != nullptr) device_ = nullptr;
  }

  // The findings of the emulated driver since it was opened.
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

Status Launch(Device& device, const Program& program, std::span<const Argument> arguments,
              const vm::LaunchOptions& options) {
  TARSIA_TRY(const std::unique_ptr<runtime::LoadedKernel> kernel, device.Load(program));
  const auto launched = LaunchOn(device, *kernel, arguments, options);
  return launched.ok() ? OkStatus() : Status(launched.error());
}

// More than any case needs; stops endless loops.
constexpr const char* kDriverLimit = "20000000";

std::string_view Which() {
  const std::string_view text = Environment("TARSIA_CUDA_WITNESS");
  return text.empty() ? "emulated" : text;
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
    setenv(runtime::kCudaCodeVariable, "ptx", 0);  // do not search for an assembler
    setenv("TARSIA_EMULATED_LIMIT", kDriverLimit, 0);
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
