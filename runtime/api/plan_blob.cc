// The C API: plans as bytes.
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "launch/launch_template.h"
#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/devices/device.h"
#include "runtime/files/file.h"
#include "runtime/plans/plan_blob.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

Result<std::string> BytesOf(const tarsia_plan& plan) {
  runtime::PlanParts parts;
  parts.device = plan.device->name();
  parts.workspace_limit = plan.workspace_limit;
  parts.image = plan.ready->image();
  for (const ConstantText& constant : plan.text.constants) {
    parts.constants.push_back(
        {static_cast<uint32_t>(constant.kind), constant.name, constant.value_text});
  }
  return runtime::EncodePlan(plan.program, parts);
}

KernelDescription TextOf(const runtime::DecodedPlan& plan) {
  KernelDescription out = Describe(plan.program);
  for (const runtime::PlanConstant& constant : plan.parts.constants) {
    out.constants.push_back({.kind = static_cast<tarsia_constant_kind>(constant.kind),
                             .name = constant.name,
                             .has_value = true,
                             .value_text = constant.value,
                             .candidates = {}});
  }
  return out;
}

Result<tarsia_plan*> LoadPlan(std::shared_ptr<runtime::Device> device, std::string_view bytes) {
  TARSIA_TRY(runtime::DecodedPlan plan, runtime::DecodePlan(bytes, *device));
  runtime::LoadOptions options;
  options.workspace_limit = plan.parts.workspace_limit;
  TARSIA_TRY(auto ready, device->LoadImage(plan.program, plan.parts.image, options));
  KernelDescription text = TextOf(plan);
  auto checks = launch::LaunchTemplate::Make(plan.program);
  auto source = std::make_shared<const SourceFile>(plan.program.source_name(), std::string());
  return new tarsia_plan{std::move(source),      std::move(plan.program), std::move(checks),
                         std::move(device),      std::move(ready),        std::move(text),
                         options.workspace_limit};
}

tarsia_status Load(const tarsia_device* device, std::string_view bytes, tarsia_plan** out) {
  std::shared_ptr<runtime::Device> on;
  if (const auto s = DeviceOrDefault(device, &on); s != TARSIA_STATUS_OK) return s;
  Result<tarsia_plan*> plan = LoadPlan(std::move(on), bytes);
  if (!plan.ok()) return FailWith(plan.error(), TARSIA_STATUS_REJECTED);
  *out = *plan;
  return TARSIA_STATUS_OK;
}

}  // namespace

tarsia_status tarsia_plan_save(const tarsia_plan* plan, tarsia_blob** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (plan == nullptr) return NullArgument("plan");
    Result<std::string> bytes = BytesOf(*plan);
    if (!bytes.ok()) return FailWith(bytes.error(), TARSIA_STATUS_REJECTED);
    return GiveBlob(*std::move(bytes), out);
  });
}

tarsia_status tarsia_plan_save_file(const tarsia_plan* plan, const char* path) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    if (path == nullptr) return NullArgument("path");
    const Result<std::string> bytes = BytesOf(*plan);
    if (!bytes.ok()) return FailWith(bytes.error(), TARSIA_STATUS_REJECTED);
    const Status written = WriteFile(path, *bytes);
    return written.ok() ? TARSIA_STATUS_OK : FailWith(written.error(), TARSIA_STATUS_NO_DEVICE);
  });
}

tarsia_status tarsia_plan_load(tarsia_device* device, const void* data, size_t data_size,
                               tarsia_plan** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (data == nullptr) return NullArgument("data");
    return Load(device, {static_cast<const char*>(data), data_size}, out);
  });
}

tarsia_status tarsia_plan_load_file(tarsia_device* device, const char* path, tarsia_plan** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (path == nullptr) return NullArgument("path");
    const Result<std::string> bytes = ReadFile(path);
    if (!bytes.ok()) return FailWith(bytes.error(), TARSIA_STATUS_INVALID_ARGUMENT);
    return Load(device, *bytes, out);
  });
}
