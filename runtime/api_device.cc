#include "runtime/device.h"

#include <array>
#include <string_view>
#include <thread>

#include "runtime/api.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

// The widest vector unit that the loops of the interpreter are compiled for and this machine has.
const char* VectorUnit() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
    return "AVX-512";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "AVX2";
  return __builtin_cpu_supports("sse4.2") ? "SSE4" : "SSE2";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "none";
#endif
}

constexpr const char* kCpu = "cpu";
constexpr const char* kCuda = "cuda";
constexpr const char* kPtx = "ptx";

std::array<tarsia_device_info, 3> Devices() {
  const unsigned threads = std::thread::hardware_concurrency();
  tarsia_device_info cpu = {};
  cpu.name = kCpu;
  cpu.description = "the interpreter, on the processor";
  cpu.available = true;
  cpu.is_default = true;
  cpu.threads = threads != 0 ? threads : 1;
  cpu.vector_unit = VectorUnit();
  tarsia_device_info cuda = {};
  cuda.name = kCuda;
  cuda.description = "NVIDIA GPUs: not in this build";
  cuda.vector_unit = "";
  tarsia_device_info ptx = cuda;
  ptx.name = kPtx;
  ptx.description = "the PTX emulator: not in this build";
  return {cpu, cuda, ptx};
}

// "cuda" or "cuda:N".
bool IsCuda(std::string_view name) {
  if (name == kCuda) return true;
  if (name.substr(0, 5) != "cuda:" || name.size() == 5 || name.size() > 8) return false;
  return name.substr(5).find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

namespace tarsia::api {

tarsia_status FindDevice(const char* name, std::string* out) {
  if (name == nullptr || std::string_view(name) == kCpu) {
    *out = kCpu;
    return TARSIA_STATUS_OK;
  }
  if (IsCuda(name) || std::string_view(name) == kPtx) {
    return Fail(TARSIA_STATUS_NO_DEVICE, diag::kApiDeviceNotInBuild, name);
  }
  return Invalid(diag::kApiUnknownDevice, name);
}

}  // namespace tarsia::api

size_t tarsia_device_count(void) { return 3; }

tarsia_status tarsia_device_get(size_t index, tarsia_device_info* out) {
  return Guarded([&] {
    const auto devices = Devices();
    if (index >= devices.size()) return BadIndex("index", index, devices.size());
    return WriteStruct(devices[index], "out", out);
  });
}
