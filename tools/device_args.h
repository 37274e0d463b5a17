// The arguments of a launch in the memory of its device: the arguments of `tarsia run` are copied
// there from the host, and back after the launch. On the device cpu the host's memory is used and
// nothing is copied.
#ifndef TARSIA_TOOLS_DEVICE_ARGS_H_
#define TARSIA_TOOLS_DEVICE_ARGS_H_

#include <cstdint>
#include <vector>

#include "tools/handles.h"
#include "tools/run_args.h"

namespace tarsia::tools {

class DeviceArgs {
 public:
  DeviceArgs() = default;
  DeviceArgs(const DeviceArgs&) = delete;
  DeviceArgs& operator=(const DeviceArgs&) = delete;
  ~DeviceArgs();

  // Every function returns an exit code; errors are printed. Call in this order. Allocates, copies
  // inputs, and initialises the workspace. Outputs that are not inputs stay undefined.
  int Upload(const tarsia_plan* plan, const RunArgs& host);
  // Copies the outputs to the host.
  int Download(RunArgs* host) const;

  [[nodiscard]] const std::vector<tarsia_arg>& args() const { return args_; }
  [[nodiscard]] void* workspace() const { return workspace_; }

 private:
  int Allocate(uint64_t bytes, void** out);
  int UploadParam(const BoundParam& param, tarsia_arg* arg);

  Handle<tarsia_device> device_;
  bool on_host_ = false;
  std::vector<tarsia_arg> args_;
  std::vector<void*> owned_;
  void* workspace_ = nullptr;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_DEVICE_ARGS_H_
