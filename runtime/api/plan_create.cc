// The C API: making plans, which needs the compiler.
#include <fmt/format.h>

#include "isa/specialise.h"
#include "launch/launch_template.h"
#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/api/kernel_choice.h"
#include "runtime/devices/code.h"
#include "runtime/devices/device.h"
#include "runtime/log.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

tarsia_status ReadPlanOptions(const tarsia_plan_options* options, tarsia_plan_options* out) {
  if (options == nullptr) return TARSIA_STATUS_OK;
  const auto status = ReadStruct(options, "options", out);
  if (status != TARSIA_STATUS_OK) return status;
  if (out->flags != 0) return Invalid(diag::kApiFlagsUnknown, "options.flags", out->flags, 0);
  return TARSIA_STATUS_OK;
}

tarsia_status MakePlan(const tarsia_module* module, std::shared_ptr<runtime::Device> device,
                       const std::string& kernel, const std::vector<Binding>& bindings,
                       const runtime::LoadOptions& options, tarsia_plan** out,
                       tarsia_diagnostics** errors) {
  Diagnostics list;
  auto program = Specialise(module->valid, kernel, bindings, device->Limits(), list);
  if (!program) return Reject(TARSIA_STATUS_REJECTED, module->source, std::move(list), errors);
  auto ready = device->Load(*program, options);
  if (!ready.ok()) return RejectOne(*module, ready.TakeError(), errors);
  KernelDescription text = Describe(*program);
  auto checks = launch::LaunchTemplate::Make(*program);
  if (IsLogEnabled(TARSIA_LOG_DEBUG)) {
    Log(TARSIA_LOG_DEBUG, fmt::format("plan of {} on {}", kernel, device->name()));
  }
  *out = new tarsia_plan{module->source,         *std::move(program), std::move(checks),
                         std::move(device),      *std::move(ready),   std::move(text),
                         options.workspace_limit};
  return TARSIA_STATUS_OK;
}

}  // namespace

tarsia_status tarsia_plan_create(const tarsia_module* module, const tarsia_plan_options* options,
                                 tarsia_plan** out, tarsia_diagnostics** diagnostics) {
  return Guarded([&] {
    if (diagnostics != nullptr) *diagnostics = nullptr;
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (module == nullptr) return NullArgument("module");
    tarsia_plan_options with = {};
    std::vector<Binding> bindings;
    std::string kernel;
    if (const auto s = ReadPlanOptions(options, &with); s != TARSIA_STATUS_OK) return s;
    if (const auto s = ReadBindings(with.bindings, with.binding_count, &bindings);
        s != TARSIA_STATUS_OK) {
      return s;
    }
    auto device = runtime::OpenDevice(with.device != nullptr ? with.device : "");
    if (!device.ok()) return FailWith(device.error(), TARSIA_STATUS_INVALID_ARGUMENT);
    if (const auto s = FindKernelName(*module, with.kernel, &kernel); s != TARSIA_STATUS_OK) {
      return s;
    }
    StopCheck stop(Asker(with.cancel, with.cancel_user), CompileLimit(with.compile_limit_ms));
    runtime::LoadOptions load;
    load.workspace_limit = with.workspace_limit;
    load.stop = &stop;
    if (const auto s = ReadPasses(with.without, with.without_count, &load.without);
        s != TARSIA_STATUS_OK) {
      return s;
    }
    return MakePlan(module, *std::move(device), kernel, bindings, load, out, diagnostics);
  });
}

tarsia_status tarsia_plan_code(const tarsia_plan* plan, tarsia_code** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (plan == nullptr) return NullArgument("plan");
    const auto image = plan->ready->image();
    if (image == nullptr) {
      return Fail(TARSIA_STATUS_UNSUPPORTED, diag::kApiCodeKind, plan->device->name());
    }
    *out = new tarsia_code{runtime::Code::Of(plan->program, image)};
    return TARSIA_STATUS_OK;
  });
}
