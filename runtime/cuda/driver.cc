#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/diagnostics.h"
#include "support/environment.h"

namespace tarsia::cuda {
namespace {

struct Closer {
  void operator()(void* handle) const { dlclose(handle); }
};
using Library = std::unique_ptr<void, Closer>;

// The first symbol that the library lacks, or null.
const char* ReadSymbols(void* library, Driver& driver) {
#define DRIVER(name, symbol, parameters)                                         \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(library, symbol)); \
  if (driver.name == nullptr) return symbol;
#include "runtime/cuda/driver.def"
#undef DRIVER
  return nullptr;
}

}  // namespace

std::string VersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string Driver::ErrorText(CuResult error) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (GetErrorName(error, &name) != kSuccess || name == nullptr) {
    return fmt::format("error {}", error);
  }
  if (GetErrorString(error, &text) != kSuccess || text == nullptr) return name;
  return fmt::format("{} ({})", name, text);
}

bool IsLost(CuResult error) {
  switch (error) {
    case kErrorDeinitialized:
    case kErrorDeviceUnavailable:
    case kErrorEccUncorrectable:
    case kErrorNvlinkUncorrectable:
    case kErrorContained:
    case kErrorIllegalAddress:
    case kErrorLaunchTimeout:
    case kErrorContextIsDestroyed:
    case kErrorAssert:
    case kErrorHardwareStackError:
    case kErrorIllegalInstruction:
    case kErrorMisalignedAddress:
    case kErrorInvalidAddressSpace:
    case kErrorInvalidPc:
    case kErrorLaunchFailed:
    case kErrorUnknown:
      return true;
    default:  // an open set of numbers
      return false;
  }
}

bool IsOfCapture(CuResult error) {
  return error >= kErrorStreamCaptureUnsupported && error <= kErrorStreamCaptureWrongThread;
}

namespace {

// The diagnostic of an error, by its meaning for the caller.
const DiagInfo& InfoOf(CuResult error) {
  if (error == kErrorOutOfMemory) return diag::kCudaOutOfMemory;
  if (IsLost(error)) return diag::kCudaDeviceLost;
  if (error == kErrorStreamCaptureUnsupported || error == kErrorStreamCaptureImplicit) {
    return diag::kCudaCaptured;
  }
  return IsOfCapture(error) ? diag::kCudaCaptureEnded : diag::kCudaError;
}

// Open drivers stay open until the process ends, since code may run while it does.
const Driver* KeepOpen(std::unique_ptr<Driver> driver) {
  static std::mutex mutex;
  static auto& all = *new std::vector<std::unique_ptr<const Driver>>();
  const std::lock_guard lock(mutex);
  return all.emplace_back(std::move(driver)).get();
}

}  // namespace

Status Driver::Check(CuResult result, std::string_view call) const {
  if (result == kSuccess) return OkStatus();
  return MakeDiagnostic(InfoOf(result), {}, call, ErrorText(result));
}

Result<const Driver*> Driver::Open(const std::string& name) {
  Library library(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) {
    const char* const why = dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread
    return MakeDiagnostic(diag::kCudaNoDriver, {}, name, VersionText(kOldestDriver),
                          why != nullptr ? why : "it cannot be opened");
  }
  auto driver = std::make_unique<Driver>();
  driver->library_ = name;
  // Old drivers lack functions; an error about the version is clearer, so it is checked first.
  const auto get_version = reinterpret_cast<decltype(driver->DriverGetVersion)>(
      dlsym(library.get(), "cuDriverGetVersion"));
  if (get_version != nullptr && get_version(&driver->version_) == kSuccess &&
      driver->version_ < kOldestDriver) {
    return MakeDiagnostic(diag::kCudaDriverOld, {}, name, VersionText(driver->version_),
                          VersionText(kOldestDriver));
  }
  if (const char* const missing = ReadSymbols(library.get(), *driver)) {
    return MakeDiagnostic(diag::kCudaSymbol, {}, name, missing, VersionText(kOldestDriver),
                          VersionText(driver->version_));
  }
  const CuResult initialised = driver->Init(0);
  if (initialised == kErrorNoDevice) return MakeDiagnostic(diag::kCudaNoDevice, {}, name);
  TARSIA_CHECK(driver->Check(initialised, "cuInit"));
  TARSIA_CHECK(driver->Check(driver->DeviceGetCount(&driver->device_count_), "cuDeviceGetCount"));
  if (driver->device_count_ <= 0) return MakeDiagnostic(diag::kCudaNoDevice, {}, name);
  static_cast<void>(library.release());
  return KeepOpen(std::move(driver));
}

Result<const Driver*> Driver::Get() {
  static std::mutex mutex;
  static std::optional<Result<const Driver*>> opened;
  const std::lock_guard lock(mutex);
  if (!opened) {
    const std::string other(Environment(kDriverVariable));
    opened = Open(!other.empty() ? other : kDriverLibrary);
  }
  return *opened;
}

}  // namespace tarsia::cuda
