// The C API: plans of the quantised matmul are described and made.
#include "runtime/api/matmul.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/api.h"
#include "runtime/api/handles.h"
#include "runtime/api/weights.h"
#include "runtime/devices/code.h"
#include "runtime/devices/device.h"
#include "runtime/log.h"
#include "runtime/matmul/matmul_plan.h"
#include "runtime/weights/packed_order.h"
#include "support/stop.h"

namespace tarsia::api {

using runtime::MatmulPlan;
using runtime::MatmulProblem;

tarsia_status ReadLayerWeights(const tarsia_matmul& from, MatmulProblem* out) {
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

namespace {

tarsia_status ReadProblem(const tarsia_matmul* problem, MatmulProblem* out) {
  if (problem == nullptr) return NullArgument("problem");
  tarsia_matmul from;
  auto status = ReadStruct(problem, "problem", &from);
  if (status == TARSIA_STATUS_OK) status = ReadLayerWeights(from, out);
  if (status != TARSIA_STATUS_OK) return status;
  out->m_min = from.m_min;
  out->m_max = from.m_max;
  out->output = runtime::UsualOutput(out->activations());
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
  out->choice.workspace_limit = given.workspace_limit;
  auto device = runtime::OpenDevice(given.device != nullptr ? given.device : "");
  if (!device.ok()) return FailWith(device.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  out->device = *std::move(device);
  return TARSIA_STATUS_OK;
}

void LogPlan(const MatmulPlan& plan) {
  if (!IsLogEnabled(TARSIA_LOG_DEBUG)) return;
  const WeightInfo& w = plan.problem().weights;
  for (const MatmulPlan::Range& range : plan.ranges()) {
    Log(TARSIA_LOG_DEBUG,
        fmt::format("matmul of {} to {} rows by {} [{}, {}] on {}: {}", range.m_min, range.m_max,
                    DTypeName(w.type), w.k, w.n, plan.device().name(), range.candidate.Text()));
  }
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
  make.stop = &stop;
  if (with.given.candidate != nullptr) make.candidate = with.given.candidate;
  auto plan = MatmulPlan::Make(described, std::move(with.device), make);
  if (!plan.ok()) return FailWith(plan.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  LogPlan(**plan);
  *out = new tarsia_matmul_plan(*std::move(plan));
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
  if (index >= all.size()) return FailBehindEnd("index", index, all.size());
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

tarsia_status GiveCode(const MatmulPlan& plan, size_t range, size_t kernel, tarsia_code** out) {
  if (range >= plan.ranges().size()) return BadIndex("range", range, plan.ranges().size());
  const auto kernels = plan.KernelsOf(range);
  if (kernel >= kernels.size()) return BadIndex("kernel", kernel, kernels.size());
  const MatmulPlan::Kernel& of = kernels[kernel];
  if (of.image == nullptr) {
    return Fail(TARSIA_STATUS_UNSUPPORTED, diag::kApiCodeKind, plan.device().name());
  }
  *out = new tarsia_code{runtime::Code::Of(*of.program, of.image)};
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

tarsia_status tarsia_matmul_plan_code(const tarsia_matmul_plan* plan, size_t range, size_t kernel,
                                      tarsia_code** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    return plan == nullptr ? NullArgument("plan") : GiveCode(*plan->plan, range, kernel, out);
  });
}
