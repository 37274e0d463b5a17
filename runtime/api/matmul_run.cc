// The C API: plans of the quantised matmul are kept, loaded and executed.
#include "runtime/api/matmul.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/api/plan_bytes.h"
#include "runtime/log.h"
#include "runtime/matmul/matmul_blob.h"
#include "runtime/weights/packed_order.h"

using tarsia::runtime::MatmulPlan;

tarsia_matmul_plan::tarsia_matmul_plan(std::unique_ptr<const MatmulPlan> made)
    : plan(std::move(made)),
      layout_id(
          tarsia::PackedLayoutId(plan->problem().weights.type, plan->problem().weights.compute)) {
  for (const MatmulPlan::Range& range : plan->ranges()) {
    candidates.push_back(range.candidate.Text());
  }
}

namespace tarsia::api {
namespace {

tarsia_status Execute(const MatmulPlan& plan, const tarsia_matmul_args& args, void* stream) {
  runtime::MatmulArguments to;
  to.m = args.m;
  to.x = {args.x, args.x_bytes};
  to.row_scales = {args.row_scales, args.row_scales_bytes};
  to.weights = {args.weights, args.weights_bytes};
  to.bias = {args.bias, args.bias_bytes};
  to.residual = {args.residual, args.residual_bytes};
  to.y = args.y;
  to.y_bytes = args.y_bytes;
  to.workspace = args.workspace;
  to.workspace_bytes = args.workspace_bytes;
  to.stream = stream;
  const Status done = plan.Execute(to);
  if (done.ok() && IsLogEnabled(TARSIA_LOG_DEBUG)) {
    Log(TARSIA_LOG_DEBUG, fmt::format("matmul of {} rows", args.m));
  }
  return done.ok() ? TARSIA_STATUS_OK : FailWith(done.error(), TARSIA_STATUS_LAUNCH_FAILED);
}

Result<std::string> MatmulBytesOf(const tarsia_matmul_plan& plan) {
  return runtime::EncodeMatmulPlan(*plan.plan);
}

Result<tarsia_matmul_plan*> MatmulPlanOf(std::shared_ptr<runtime::Device> device,
                                         std::string_view bytes) {
  TARSIA_TRY(auto plan, runtime::DecodeMatmulPlan(bytes, std::move(device)));
  return new tarsia_matmul_plan(std::move(plan));
}

}  // namespace
}  // namespace tarsia::api

using namespace tarsia;
using namespace tarsia::api;

void tarsia_matmul_plan_destroy(tarsia_matmul_plan* plan) { delete plan; }

tarsia_status tarsia_matmul_plan_get(const tarsia_matmul_plan* plan, tarsia_matmul_plan_info* out) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    tarsia_matmul_plan_info info = {};
    info.device = plan->plan->device().name().c_str();
    info.layout_id = plan->layout_id.c_str();
    info.weight_bytes = plan->plan->places().bytes;
    info.workspace_bytes = plan->plan->workspace_bytes();
    info.range_count = plan->candidates.size();
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_matmul_plan_range(const tarsia_matmul_plan* plan, size_t index,
                                       tarsia_matmul_range* out) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    if (index >= plan->candidates.size()) return BadIndex("index", index, plan->candidates.size());
    const MatmulPlan::Range& range = plan->plan->ranges()[index];
    const auto floor = FloorOf(plan->plan->problem(), plan->plan->places(), range.m_max);
    tarsia_matmul_range to = {};
    to.m_min = range.m_min;
    to.m_max = range.m_max;
    to.candidate = plan->candidates[index].c_str();
    to.kernel_count = plan->plan->KernelsOf(index).size();
    to.microseconds = range.candidate.microseconds;
    to.floor_bytes = floor.bytes;
    to.floor_operations = floor.operations;
    return WriteStruct(to, "out", out);
  });
}

tarsia_status tarsia_matmul_execute(const tarsia_matmul_plan* plan, const tarsia_matmul_args* args,
                                    void* stream) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    if (args == nullptr) return NullArgument("args");
    tarsia_matmul_args read;
    const auto status = ReadStruct(args, "args", &read);
    return status == TARSIA_STATUS_OK ? Execute(*plan->plan, read, stream) : status;
  });
}

tarsia_status tarsia_matmul_workspace_init(const tarsia_matmul_plan* plan, void* workspace,
                                           uint64_t bytes, void* stream) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    const Status done = plan->plan->InitWorkspace(workspace, bytes, stream);
    return done.ok() ? TARSIA_STATUS_OK : FailWith(done.error(), TARSIA_STATUS_LAUNCH_FAILED);
  });
}

tarsia_status tarsia_matmul_plan_save(const tarsia_matmul_plan* plan, tarsia_blob** out) {
  return SavePlan(plan, out, MatmulBytesOf);
}

tarsia_status tarsia_matmul_plan_save_file(const tarsia_matmul_plan* plan, const char* path) {
  return SavePlanFile(plan, path, MatmulBytesOf);
}

tarsia_status tarsia_matmul_plan_load(tarsia_device* device, const void* data, size_t data_size,
                                      tarsia_matmul_plan** out) {
  return LoadPlan(device, data, data_size, out, MatmulPlanOf);
}

tarsia_status tarsia_matmul_plan_load_file(tarsia_device* device, const char* path,
                                           tarsia_matmul_plan** out) {
  return LoadPlanFile(device, path, out, MatmulPlanOf);
}
