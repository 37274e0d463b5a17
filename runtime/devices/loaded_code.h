// A compiled program made ready for a device: what is the same on every device that runs code.
#ifndef TARSIA_RUNTIME_DEVICES_LOADED_CODE_H_
#define TARSIA_RUNTIME_DEVICES_LOADED_CODE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "runtime/devices/compiled_launch.h"
#include "runtime/devices/device.h"

namespace tarsia::runtime {

class LoadedCode : public LoadedKernel {
 public:
  LoadedCode(Device& device, CompiledProgram program)
      : device_(device), program_(std::move(program)) {}

  Result<LaunchResult> Launch(const LaunchRequest& request) const final;
  Result<uint64_t> WorkspaceBytes(std::span<const uint64_t> scalars) const final;
  Status InitWorkspace(std::span<const uint64_t> scalars, DevicePointer workspace, uint64_t bytes,
                       StreamHandle stream) const final;
  [[nodiscard]] std::shared_ptr<const KernelImage> image() const final { return program_.image(); }

 protected:
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] const CompiledProgram& program() const { return program_; }

 private:
  // Errors: options and streams that the device does not have.
  [[nodiscard]] virtual Status CheckRequest(const LaunchRequest& request) const = 0;
  // Runs a grid that has blocks, with the parameters that Prepare packed.
  virtual Status Run(const CompiledLaunch& launch, const LaunchRequest& request,
                     LaunchResult* result) const = 0;

  Device& device_;
  const CompiledProgram program_;
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_DEVICES_LOADED_CODE_H_
