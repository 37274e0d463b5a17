#include "tools/device_args.h"

#include <string_view>

#include "tools/command.h"
#include "tools/modules.h"
#include "tools/workspace.h"

namespace tarsia::tools {

DeviceArgs::~DeviceArgs() {
  for (void* const memory : owned_) tarsia_memory_free(device_.get(), memory);
}

int DeviceArgs::Allocate(uint64_t bytes, void** out) {
  const auto status = tarsia_memory_alloc(device_.get(), bytes, out);
  if (status != TARSIA_STATUS_OK) return ReportFailure(status);
  owned_.push_back(*out);
  return kDone;
}

int DeviceArgs::UploadParam(const BoundParam& param, tarsia_arg* arg) {
  const uint64_t bytes = param.buffer.size();
  if (const int code = Allocate(bytes, &arg->value.pointer.data); code != kDone) return code;
  if (!param.input && !param.zeros) return kDone;
  const auto status = tarsia_memory_write(device_.get(), arg->value.pointer.data,
                                          param.buffer.data(), bytes, nullptr);
  return status == TARSIA_STATUS_OK ? kDone : ReportFailure(status);
}

int DeviceArgs::Upload(const tarsia_plan* plan, const RunArgs& host) {
  auto info = Sized<tarsia_plan_info>();
  tarsia_plan_get(plan, &info);
  tarsia_device* device = nullptr;
  const auto status = tarsia_device_open(info.device, &device);
  device_.reset(device);
  if (status != TARSIA_STATUS_OK) return ReportFailure(status);
  on_host_ = std::string_view(info.device) == "cpu";
  args_ = host.args();
  for (size_t i = 0; i < args_.size() && !on_host_; ++i) {
    if (!host.params()[i].is_pointer) continue;
    if (const int code = UploadParam(host.params()[i], &args_[i]); code != kDone) return code;
  }
  const auto made = MakeWorkspace(device_.get(), plan, args_.data(), args_.size(), &workspace_);
  if (made != TARSIA_STATUS_OK) return ReportFailure(made);
  owned_.push_back(workspace_);
  return kDone;
}

int DeviceArgs::Download(RunArgs* host) const {
  for (size_t i = 0; i < args_.size() && !on_host_; ++i) {
    const BoundParam& param = host->params()[i];
    if (!param.is_pointer || !param.output) continue;
    const auto status =
        tarsia_memory_read(device_.get(), host->HostData(i), args_[i].value.pointer.data,
                           param.buffer.size(), nullptr);
    if (status != TARSIA_STATUS_OK) return ReportFailure(status);
  }
  return kDone;
}

}  // namespace tarsia::tools
