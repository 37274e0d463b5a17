// The C API: plans as bytes.
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "launch/launch_template.h"
#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/api/plan_bytes.h"
#include "runtime/devices/device.h"
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

Result<tarsia_plan*> PlanOf(std::shared_ptr<runtime::Device> device, std::string_view bytes) {
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

}  // namespace

tarsia_status tarsia_plan_save(const tarsia_plan* plan, tarsia_blob** out) {
  return SavePlan(plan, out, BytesOf);
}

tarsia_status tarsia_plan_save_file(const tarsia_plan* plan, const char* path) {
  return SavePlanFile(plan, path, BytesOf);
}

tarsia_status tarsia_plan_load(tarsia_device* device, const void* data, size_t data_size,
                               tarsia_plan** out) {
  return LoadPlan(device, data, data_size, out, PlanOf);
}

tarsia_status tarsia_plan_load_file(tarsia_device* device, const char* path, tarsia_plan** out) {
  return LoadPlanFile(device, path, out, PlanOf);
}
