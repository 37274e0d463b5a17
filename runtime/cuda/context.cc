#include "runtime/cuda/context.h"

#include <fmt/format.h>

#include <array>

#include "runtime/diagnostics.h"

namespace tarsia::cuda {
namespace {

class AttributeReader {
 public:
  AttributeReader(const Driver& driver, CuDevice device) : driver_(driver), device_(device) {}

  template <typename T>
  void Read(CuDeviceAttribute attribute, T* out) {
    int value = 0;
    const CuResult result = driver_.DeviceGetAttribute(&value, attribute, device_);
    if (result != kSuccess && error_ == kSuccess) error_ = result;
    *out = static_cast<T>(value);
  }
  [[nodiscard]] CuResult error() const { return error_; }

 private:
  const Driver& driver_;
  CuDevice device_;
  CuResult error_ = kSuccess;
};

}  // namespace

std::string GpuProperties::Label() const { return fmt::format("cuda:{} ({})", ordinal, name); }

Result<GpuProperties> ReadProperties(const Driver& driver, int ordinal) {
  if (ordinal < 0 || ordinal >= driver.device_count()) {
    return MakeDiagnostic(diag::kCudaOrdinal, {}, ordinal, driver.file(), driver.device_count());
  }
  GpuProperties out;
  out.ordinal = ordinal;
  CuDevice device = 0;
  TARSIA_CHECK(driver.Check(driver.DeviceGet(&device, ordinal), "cuDeviceGet"));
  std::array<char, 256> name{};
  TARSIA_CHECK(
      driver.Check(driver.DeviceGetName(name.data(), name.size(), device), "cuDeviceGetName"));
  out.name = name.data();
  size_t bytes = 0;
  TARSIA_CHECK(driver.Check(driver.DeviceTotalMem(&bytes, device), "cuDeviceTotalMem"));
  out.memory_bytes = bytes;
  AttributeReader reader(driver, device);
  reader.Read(kAttributeComputeCapabilityMajor, &out.major);
  reader.Read(kAttributeComputeCapabilityMinor, &out.minor);
  reader.Read(kAttributeMultiprocessorCount, &out.multiprocessors);
  reader.Read(kAttributeMaxThreadsPerMultiprocessor, &out.threads_per_multiprocessor);
  reader.Read(kAttributeL2CacheSize, &out.l2_bytes);
  reader.Read(kAttributeMaxSharedMemoryPerBlockOptin, &out.shared_bytes);
  TARSIA_CHECK(driver.Check(reader.error(), "cuDeviceGetAttribute"));
  return out;
}

Result<std::shared_ptr<const Gpu>> Gpu::Open(const Driver& driver, int ordinal) {
  TARSIA_TRY(GpuProperties properties, ReadProperties(driver, ordinal));
  CuDevice device = 0;
  TARSIA_CHECK(driver.Check(driver.DeviceGet(&device, ordinal), "cuDeviceGet"));
  CuContext primary = nullptr;
  TARSIA_CHECK(
      driver.Check(driver.DevicePrimaryCtxRetain(&primary, device), "cuDevicePrimaryCtxRetain"));
  std::shared_ptr<Gpu> gpu(new Gpu(driver, std::move(properties)));
  gpu->device_ = device;
  gpu->primary_ = primary;
  return std::shared_ptr<const Gpu>(std::move(gpu));
}

Gpu::~Gpu() {
  if (primary_ != nullptr) driver_.DevicePrimaryCtxRelease(device_);
}

Result<CurrentContext> CurrentContext::Enter(const Gpu& gpu) {
  const Driver& driver = gpu.driver();
  CuContext current = nullptr;
  TARSIA_CHECK(driver.Check(driver.CtxGetCurrent(&current), "cuCtxGetCurrent"));
  CuDevice device = 0;
  if (current != nullptr && driver.CtxGetDevice(&device) == kSuccess && device == gpu.device()) {
    return CurrentContext(&driver, current, false);
  }
  return Enter(gpu, gpu.primary());
}

Result<CurrentContext> CurrentContext::Enter(const Gpu& gpu, CuContext context) {
  TARSIA_CHECK(gpu.driver().Check(gpu.driver().CtxPushCurrent(context), "cuCtxPushCurrent"));
  return CurrentContext(&gpu.driver(), context, true);
}

CurrentContext::CurrentContext(CurrentContext&& other) noexcept
    : driver_(other.driver_), context_(other.context_), pushed_(other.pushed_) {
  other.pushed_ = false;
}

CurrentContext::~CurrentContext() {
  CuContext popped = nullptr;
  if (pushed_) driver_->CtxPopCurrent(&popped);
}

Result<uint64_t> CurrentContext::Id() const {
  unsigned long long id = 0;
  TARSIA_CHECK(driver_->Check(driver_->CtxGetId(context_, &id), "cuCtxGetId"));
  return uint64_t{id};
}

}  // namespace tarsia::cuda
