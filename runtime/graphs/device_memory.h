// Memory of a device that frees itself, and copies between it and ports of a plan.
#ifndef TARSIA_RUNTIME_GRAPHS_DEVICE_MEMORY_H_
#define TARSIA_RUNTIME_GRAPHS_DEVICE_MEMORY_H_

#include <cstdint>

#include "runtime/devices/device.h"
#include "support/result.h"

namespace tarsia::runtime {

class DeviceMemory {
 public:
  // Errors: out of memory. Zero bytes give no memory.
  static Result<DeviceMemory> Allocate(Device* device, uint64_t bytes);
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();
  [[nodiscard]] DevicePointer get() const { return memory_; }

 private:
  Device* device_ = nullptr;
  DevicePointer memory_ = nullptr;
};

// Whether the device's memory is this process's, so that functions can fill it themselves.
bool IsHostMemory(const Device& device);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_GRAPHS_DEVICE_MEMORY_H_
