// The CUDA driver, opened at run time: a build needs no CUDA, and on a machine without a GPU
// opening it fails.
#ifndef TARSIA_RUNTIME_CUDA_DRIVER_H_
#define TARSIA_RUNTIME_CUDA_DRIVER_H_

#include <memory>
#include <string>
#include <string_view>

#include "runtime/cuda/driver_types.h"
#include "support/result.h"

namespace tarsia::cuda {

// The library's name for the loader, and an environment variable that names another one (the tests'
// emulated driver; a driver in an unusual place).
inline constexpr const char* kDriverLibrary = "libcuda.so.1";
inline constexpr const char* kDriverVariable = "TARSIA_CUDA_DRIVER";
// The oldest driver that loads our code, as cuDriverGetVersion reports it: 12.0.
inline constexpr int kOldestDriver = 12000;

// The functions of runtime/cuda/driver.def as members: driver.MemAlloc(&pointer, bytes). All may be
// called from any thread. A Driver is never destroyed: the driver must not be unloaded.
class Driver {
 public:
#define DRIVER(name, symbol, parameters) CuResult(*name) parameters = nullptr;
#include "runtime/cuda/driver.def"
#undef DRIVER

  // Opens the library and initialises it. Errors: the library cannot be opened, a function is
  // missing, the driver is older than kOldestDriver, it cannot be initialised, or there is no GPU;
  // each names the library and, if it matters, the version that is required and the one found.
  static Result<const Driver*> Open(const std::string& name);
  // The driver of this process: from kDriverVariable, else kDriverLibrary. The first call opens it;
  // its result is kept. Thread-safe.
  static Result<const Driver*> Get();

  [[nodiscard]] const std::string& file() const { return library_; }
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] int device_count() const { return device_count_; }
  // "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  [[nodiscard]] std::string ErrorText(CuResult error) const;
  // Success, or an error that names the call: "cuMemAlloc: CUDA_ERROR_..". Its id distinguishes out
  // of memory and a lost device from other errors.
  [[nodiscard]] Status Check(CuResult result, std::string_view call) const;

 private:
  std::string library_;
  int version_ = 0;
  int device_count_ = 0;
};

// Whether an error ends all work in its context: the GPU is lost, or a kernel failed.
bool IsLost(CuResult error);
// Whether a call failed because a stream is captured.
bool IsOfCapture(CuResult error);
// "12.4" of 12040.
std::string VersionText(int version);

}  // namespace tarsia::cuda

#endif  // TARSIA_RUNTIME_CUDA_DRIVER_H_
