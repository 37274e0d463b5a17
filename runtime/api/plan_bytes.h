// The functions of the C API that keep a plan as bytes and load it, for plans of any kind. `encode`
// gives a Result<std::string> of a plan; `decode` a Result<Plan*> of a device and bytes.
#ifndef TARSIA_RUNTIME_API_PLAN_BYTES_H_
#define TARSIA_RUNTIME_API_PLAN_BYTES_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/devices/device.h"
#include "runtime/files/file.h"

namespace tarsia::api {

template <typename Plan, typename Encode>
tarsia_status SavePlan(const Plan* plan, tarsia_blob** out, const Encode& encode) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (plan == nullptr) return NullArgument("plan");
    Result<std::string> bytes = encode(*plan);
    if (!bytes.ok()) return FailWith(bytes.error(), TARSIA_STATUS_REJECTED);
    return GiveBlob(*std::move(bytes), out);
  });
}

template <typename Plan, typename Encode>
tarsia_status SavePlanFile(const Plan* plan, const char* path, const Encode& encode) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    if (path == nullptr) return NullArgument("path");
    const Result<std::string> bytes = encode(*plan);
    if (!bytes.ok()) return FailWith(bytes.error(), TARSIA_STATUS_REJECTED);
    const Status written = WriteFile(path, *bytes);
    return written.ok() ? TARSIA_STATUS_OK : FailWith(written.error(), TARSIA_STATUS_NO_DEVICE);
  });
}

// The device of a null handle is the default one.
template <typename Plan, typename Decode>
tarsia_status DecodeFor(const tarsia_device* device, std::string_view bytes, Plan** out,
                        const Decode& decode) {
  std::shared_ptr<runtime::Device> on;
  if (device != nullptr) {
    on = device->device;
  } else {
    auto found = runtime::OpenDevice("");
    if (!found.ok()) return FailWith(found.error(), TARSIA_STATUS_INVALID_ARGUMENT);
    on = *std::move(found);
  }
  Result<Plan*> plan = decode(std::move(on), bytes);
  if (!plan.ok()) return FailWith(plan.error(), TARSIA_STATUS_REJECTED);
  *out = *plan;
  return TARSIA_STATUS_OK;
}

template <typename Plan, typename Decode>
tarsia_status LoadPlan(const tarsia_device* device, const void* data, size_t data_size, Plan** out,
                       const Decode& decode) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (data == nullptr) return NullArgument("data");
    return DecodeFor(device, {static_cast<const char*>(data), data_size}, out, decode);
  });
}

template <typename Plan, typename Decode>
tarsia_status LoadPlanFile(const tarsia_device* device, const char* path, Plan** out,
                           const Decode& decode) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (path == nullptr) return NullArgument("path");
    const Result<std::string> bytes = ReadFile(path);
    if (!bytes.ok()) return FailWith(bytes.error(), TARSIA_STATUS_INVALID_ARGUMENT);
    return DecodeFor(device, *bytes, out, decode);
  });
}

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_PLAN_BYTES_H_
