#include "runtime/devices/device.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <mutex>

#include "runtime/devices/cpu_device.h"
#include "runtime/devices/cuda_device.h"
#include "runtime/devices/ptx_device.h"
#include "runtime/diagnostics.h"
#include "runtime/log.h"

namespace tarsia::runtime {
namespace {

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kPtx = "ptx";
constexpr std::string_view kCuda = "cuda";
constexpr compiler::Target kPtxDefault = compiler::Target::kSm90a;

// The devices in use, by full name.
class Registry {
 public:
  template <typename Make>
  Result<std::shared_ptr<Device>> Get(const std::string& name, const Make& make) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<Device>& known = devices_[name];
    if (std::shared_ptr<Device> device = known.lock()) return device;
    TARSIA_TRY(std::shared_ptr<Device> device, make());
    known = device;
    return device;
  }
  static Registry& Instance() {
    static Registry registry;
    return registry;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Device>> devices_;
};

// Splits "cuda:1" into "cuda" and "1"; without a colon the second is empty.
struct DeviceName {
  std::string_view kind;
  std::string_view which;
  bool colon = false;

  explicit DeviceName(std::string_view name) {
    const size_t at = name.find(':');
    kind = name.substr(0, at);
    colon = at != std::string_view::npos;
    if (colon) which = name.substr(at + 1);
  }
};

Diagnostic Unknown(std::string_view name) {
  return MakeDiagnostic(diag::kApiUnknownDevice, Location(), name);
}

Result<std::shared_ptr<Device>> OpenPtx(const DeviceName& name) {
  compiler::Target target = kPtxDefault;
  if (name.colon) {
    TARSIA_TRY(target, compiler::FindTarget(name.which));
  }
  return Registry::Instance().Get(
      "ptx:" + std::string(Row(target).name),
      [target]() -> Result<std::shared_ptr<Device>> { return MakePtxDevice(target); });
}

Result<std::shared_ptr<Device>> OpenCuda(const DeviceName& name, std::string_view text) {
  int ordinal = 0;
  if (name.colon) {
    const char* const end = name.which.data() + name.which.size();
    const auto [rest, error] = std::from_chars(name.which.data(), end, ordinal);
    if (error != std::errc() || rest != end || ordinal < 0) return Unknown(text);
  }
  return Registry::Instance().Get("cuda:" + std::to_string(ordinal),
                                  [ordinal] { return OpenCudaDevice(ordinal); });
}

Result<std::shared_ptr<Device>> OpenCpu() {
  return Registry::Instance().Get(std::string(kCpu), [] { return MakeCpuDevice(); });
}

// A machine without a GPU is not worth a warning; a GPU that cannot be used is.
Result<std::shared_ptr<Device>> OpenDefault() {
  const Status has_gpu = DefaultIsGpu();
  if (!has_gpu.ok()) {
    api::Log(TARSIA_LOG_INFO,
             fmt::format("the default device is cpu: {}", has_gpu.error().message));
    return OpenCpu();
  }
  Result<std::shared_ptr<Device>> gpu = OpenCuda(DeviceName(kCuda), kCuda);
  if (gpu.ok()) return gpu;
  api::Log(TARSIA_LOG_WARNING,
           fmt::format("the default device is cpu, since the GPU cannot be used: {}",
                       gpu.error().message));
  return OpenCpu();
}

}  // namespace

const vm::LaunchOptions& LaunchRequest::OptionsOrDefault() const {
  static const vm::LaunchOptions kDefault;
  return options != nullptr ? *options : kDefault;
}

Result<uint64_t> LoadedKernel::WorkspaceBytes(std::span<const uint64_t>) const {
  return uint64_t{0};
}
Status LoadedKernel::InitWorkspace(std::span<const uint64_t>, DevicePointer, uint64_t,
                                   StreamHandle) const {
  return OkStatus();
}
Result<LaunchResult> LoadedKernel::Collect(const LaunchRequest&) const { return LaunchResult(); }

Result<StreamHandle> Device::CreateStream() { return StreamHandle{nullptr}; }
Status Device::DestroyStream(StreamHandle stream) { return CheckNoStream(stream); }
Status Device::Synchronize(StreamHandle stream) { return CheckNoStream(stream); }

Result<std::vector<double>> Device::TimeCalls(
    int, int, const std::function<Status(int call, StreamHandle stream)>&) {
  return MakeDiagnostic(diag::kDeviceNoGraphs, Location(), name());
}

Status Device::CheckNoStream(StreamHandle stream) const {
  if (stream == nullptr) return OkStatus();
  return MakeDiagnostic(diag::kApiStreamNotNull, Location(), name());
}

Status DefaultIsGpu() {
  const Result<int> count = CudaDeviceCount();
  return count.ok() ? OkStatus() : Status(count.error());
}

Result<std::shared_ptr<Device>> OpenDevice(std::string_view name) {
  if (name.empty()) return OpenDefault();
  const DeviceName parts(name);
  if (name == kCpu) return OpenCpu();
  if (parts.kind == kPtx) return OpenPtx(parts);
  if (parts.kind == kCuda) return OpenCuda(parts, name);
  return Unknown(name);
}

}  // namespace tarsia::runtime
