// The C API: the quantised matmul.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/api/weights.h"
#include "runtime/devices/code.h"
#include "runtime/devices/device.h"
#include "runtime/matmul/matmul_plan.h"
#include "runtime/weights/packed_order.h"
#include "support/stop.h"

struct tarsia_matmul_plan {
  std::unique_ptr<const tarsia::runtime::MatmulPlan> plan;
  std::string layout_id;
  std::vector<std::string> candidates;  // by range
};

namespace tarsia::api {
namespace {

using runtime::MatmulPlan;
using runtime::MatmulProblem;

tarsia_status ReadWeights(const tarsia_matmul& from, MatmulProblem* out) {
  WeightInfo& w = out->weights;
  auto status = ReadTypeCode(from.type, "problem.type", &w.type);
  if (status == TARSIA_STATUS_OK)
    status = ReadTypeCode(from.compute, "problem.compute", &w.compute);
  if (status == TARSIA_STATUS_OK) {
    status = ReadTypeCode(from.scale_type, "problem.scale_type", &w.scale_type);
  }
  if (status == TARSIA_STATUS_OK) status = ReadZeroPoint(from.zero, "problem.zero", &w.zero);
  if (status != TARSIA_STATUS_OK) return status;
  if (w.zero != ZeroPoint::kNone) {
    status = ReadTypeCode(from.zero_type, "problem.zero_type", &w.zero_type);
    if (status != TARSIA_STATUS_OK) return status;
  }
  w.k = w.whole_k = from.k;
  w.n = w.whole_n = from.n;
  w.group = from.group;
  w.tensor_scale = from.tensor_scale == 0 ? 1 : from.tensor_scale;
  w.finite = from.finite;
  w.gathers = from.gathers;
  out->codebook = from.codebook;
  return TARSIA_STATUS_OK;
}

tarsia_status ReadProblem(const tarsia_matmul* problem, MatmulProblem* out) {
  if (problem == nullptr) return NullArgument("problem");
  tarsia_matmul from;
  auto status = ReadStruct(problem, "problem", &from);
  if (status == TARSIA_STATUS_OK) status = ReadWeights(from, out);
  if (status != TARSIA_STATUS_OK) return status;
  out->m_min = from.m_min;
  out->m_max = from.m_max;
  out->output = out->weights.compute;
  if (from.y_type != TARSIA_DTYPE_NONE) {
    status = ReadTypeCode(from.y_type, "problem.y_type", &out->output);
  }
  if (status == TARSIA_STATUS_OK && from.bias_type != TARSIA_DTYPE_NONE) {
    status = ReadTypeCode(from.bias_type, "problem.bias_type", &out->bias.emplace());
  }
  if (status != TARSIA_STATUS_OK) return status;
  if (from.activation < 0 || from.activation >= runtime::kActivations) {
    return Invalid(diag::kApiEnumValue, "problem.activation", static_cast<int64_t>(from.activation),
                   "tarsia_activation");
  }
  out->activation = static_cast<runtime::Activation>(from.activation);
  out->gated = from.gated;
  out->residual = from.residual;
  if (from.experts > 1) {
    return Fail(TARSIA_STATUS_UNSUPPORTED, diag::kMatmulExperts, from.experts);
  }
  return TARSIA_STATUS_OK;
}

struct Options {
  tarsia_matmul_options given = {};
  std::shared_ptr<runtime::Device> device;
  runtime::MatmulChoice choice;
};

tarsia_status ReadOptions(const tarsia_matmul_options* options, Options* out) {
  constexpr uint32_t kKnownFlags = TARSIA_MATMUL_DETERMINISTIC | TARSIA_MATMUL_BATCH_INVARIANT;
  tarsia_matmul_options& given = out->given;
  if (options != nullptr) {
    if (const auto s = ReadStruct(options, "options", &given); s != TARSIA_STATUS_OK) return s;
  }
  if ((given.flags & ~kKnownFlags) != 0) {
    return Invalid(diag::kApiFlagsUnknown, "options.flags", given.flags, kKnownFlags);
  }
  out->choice.batch_invariant = (given.flags & TARSIA_MATMUL_BATCH_INVARIANT) != 0;
  out->choice.deterministic = given.flags != 0;
  auto device = runtime::OpenDevice(given.device != nullptr ? given.device : "");
  if (!device.ok()) return FailWith(device.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  out->device = *std::move(device);
  return TARSIA_STATUS_OK;
}

tarsia_status MakePlan(const tarsia_matmul* problem, const tarsia_matmul_options* options,
                       tarsia_matmul_plan** out) {
  MatmulProblem described;
  Options with;
  if (const auto s = ReadProblem(problem, &described); s != TARSIA_STATUS_OK) return s;
  if (const auto s = ReadOptions(options, &with); s != TARSIA_STATUS_OK) return s;
  StopCheck stop(Asker(with.given.cancel, with.given.cancel_user),
                 CompileLimit(with.given.compile_limit_ms));
  runtime::MatmulOptions make;
  make.choice = with.choice;
  make.workspace_limit = with.given.workspace_limit;
  make.stop = &stop;
  if (with.given.candidate != nullptr) make.candidate = with.given.candidate;
  auto plan = MatmulPlan::Make(described, std::move(with.device), make);
  if (!plan.ok()) return FailWith(plan.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  auto handle = std::make_unique<tarsia_matmul_plan>();
  handle->plan = *std::move(plan);
  handle->layout_id = PackedLayoutId(described.weights.type, described.weights.compute);
  for (const MatmulPlan::Range& range : handle->plan->ranges()) {
    handle->candidates.push_back(range.candidate.Text());
  }
  *out = handle.release();
  return TARSIA_STATUS_OK;
}

tarsia_status GiveCandidate(const tarsia_matmul* problem, const tarsia_matmul_options* options,
                            int64_t m, size_t index, tarsia_blob** text, double* microseconds) {
  MatmulProblem described;
  Options with;
  if (const auto s = ReadProblem(problem, &described); s != TARSIA_STATUS_OK) return s;
  if (const auto s = ReadOptions(options, &with); s != TARSIA_STATUS_OK) return s;
  described.m_min = described.m_max = m;
  if (const auto places = CheckMatmul(described); !places.ok()) {
    return FailWith(places.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  }
  const auto all = RankMatmul(described, with.device->Model(), with.device->Limits().shared_bytes,
                              with.choice, m);
  if (index >= all.size()) {
    return Fail(TARSIA_STATUS_NOT_FOUND, diag::kApiIndexRange, "index", index, all.size());
  }
  if (microseconds != nullptr) *microseconds = all[index].microseconds;
  return GiveBlob(all[index].Text(), text);
}

tarsia_matmul Description(const tarsia_weights& weights) {
  const WeightInfo& w = weights.packed.info();
  tarsia_matmul out = {};
  out.m_min = out.m_max = 1;
  out.k = w.k;
  out.n = w.n;
  out.type = ToC(w.type);
  out.compute = ToC(w.compute);
  out.group = w.group;
  out.scale_type = ToC(w.scale_type);
  out.zero = static_cast<tarsia_zero_point>(w.zero);
  out.zero_type = w.zero == ZeroPoint::kNone ? TARSIA_DTYPE_NONE : ToC(w.zero_type);
  out.tensor_scale = w.tensor_scale;
  out.finite = w.finite;
  out.gathers = w.gathers;
  out.codebook = !w.codebook.empty();
  out.bias_type = TARSIA_DTYPE_NONE;
  out.y_type = TARSIA_DTYPE_NONE;
  return out;
}

tarsia_status Execute(const MatmulPlan& plan, const tarsia_matmul_args& args, void* stream) {
  runtime::MatmulArguments to;
  to.m = args.m;
  to.x = {args.x, args.x_bytes};
  to.weights = {args.weights, args.weights_bytes};
  to.bias = {args.bias, args.bias_bytes};
  to.residual = {args.residual, args.residual_bytes};
  to.y = args.y;
  to.y_bytes = args.y_bytes;
  to.workspace = args.workspace;
  to.workspace_bytes = args.workspace_bytes;
  to.stream = stream;
  const Status done = plan.Execute(to);
  return done.ok() ? TARSIA_STATUS_OK : FailWith(done.error(), TARSIA_STATUS_LAUNCH_FAILED);
}

tarsia_status GiveCode(const MatmulPlan& plan, size_t range, size_t kernel, tarsia_code** out) {
  if (range >= plan.ranges().size()) return BadIndex("range", range, plan.ranges().size());
  auto code = plan.CodeFor(plan.ranges()[range].m_max);
  if (kernel >= code.size()) return BadIndex("kernel", kernel, code.size());
  if (code[kernel] == nullptr) {
    return Fail(TARSIA_STATUS_UNSUPPORTED, diag::kApiCodeKind, plan.device().name());
  }
  *out = new tarsia_code{std::move(code[kernel])};
  return TARSIA_STATUS_OK;
}

}  // namespace
}  // namespace tarsia::api

using namespace tarsia;
using namespace tarsia::api;

tarsia_status tarsia_matmul_describe(const tarsia_weights* weights, tarsia_matmul* out) {
  return Guarded([&] {
    return weights == nullptr ? NullArgument("weights")
                              : WriteStruct(Description(*weights), "out", out);
  });
}

tarsia_status tarsia_matmul_candidate(const tarsia_matmul* problem,
                                      const tarsia_matmul_options* options, int64_t m, size_t index,
                                      tarsia_blob** text, double* microseconds) {
  return Guarded([&] {
    if (text == nullptr) return NullArgument("text");
    *text = nullptr;
    return GiveCandidate(problem, options, m, index, text, microseconds);
  });
}

tarsia_status tarsia_matmul_plan_create(const tarsia_matmul* problem,
                                        const tarsia_matmul_options* options,
                                        tarsia_matmul_plan** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    return MakePlan(problem, options, out);
  });
}

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
    to.kernel_count = plan->plan->CodeFor(range.m_max).size();
    to.microseconds = range.candidate.microseconds;
    to.floor_bytes = floor.bytes;
    to.floor_operations = floor.operations;
    return WriteStruct(to, "out", out);
  });
}

tarsia_status tarsia_matmul_plan_code(const tarsia_matmul_plan* plan, size_t range, size_t kernel,
                                      tarsia_code** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    return plan == nullptr ? NullArgument("plan") : GiveCode(*plan->plan, range, kernel, out);
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
