#include "runtime/graphs/device_memory.h"

#include <utility>

namespace tarsia::runtime {

Result<DeviceMemory> DeviceMemory::Allocate(Device* device, uint64_t bytes) {
  DeviceMemory out;
  TARSIA_TRY(out.memory_, device->Allocate(bytes));
  out.device_ = device;
  return out;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      memory_(std::exchange(other.memory_, nullptr)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(memory_, other.memory_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (device_ != nullptr && memory_ != nullptr) static_cast<void>(device_->Free(memory_));
}

bool IsHostMemory(const Device& device) { return device.name() == "cpu"; }

}  // namespace tarsia::runtime
