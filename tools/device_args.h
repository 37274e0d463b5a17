// The arguments of a launch in the memory of its device: what `tarsia run` binds on the host is
// copied there, and copied back after the launch. On the device cpu the host's memory is the
// device's, and nothing is copied.
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

  // Every function returns an exit code; what is wrong is printed. Call in this order.
  // Allocates, copies inputs, and makes the workspace ready. Bytes of outputs that are no inputs
  // stay undefined.
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
