// The C API: graphs and their plans.
#include "runtime/api/graph.h"

#include <fmt/format.h>

#include <utility>

#include "isa/gradient/expand.h"
#include "isa/graph/specialise.h"
#include "isa/rewrite/complex_parts.h"
#include "planner/certificate.h"
#include "runtime/api/api.h"
#include "runtime/api/kernel_choice.h"
#include "runtime/log.h"

namespace tarsia::api {
namespace {

std::vector<std::string_view> GraphNames(const tarsia_module& module) {
  std::vector<std::string_view> out;
  const Module& program = module.valid.module();
  for (const Graph& graph : program.graphs) out.push_back(program.Name(graph));
  return out;
}

// `wanted` may be null if there is only one.
tarsia_status FindGraphName(const tarsia_module& module, const char* wanted, std::string* out) {
  const std::vector<std::string_view> names = GraphNames(module);
  const std::string& file = module.source->name();
  if (wanted != nullptr) {
    *out = wanted;
    if (std::find(names.begin(), names.end(), *out) != names.end()) return TARSIA_STATUS_OK;
    Diagnostic error = MakeDiagnostic(diag::kApiUnknownGraph, Location(), file, *out);
    error.help = DidYouMean(*out, names);
    if (error.help.empty()) error.help = fmt::format("the graphs are {}", fmt::join(names, ", "));
    return Fail(TARSIA_STATUS_NOT_FOUND, error);
  }
  if (names.empty()) return Invalid(diag::kApiNoGraph, file);
  if (names.size() > 1) {
    Diagnostic error = MakeDiagnostic(diag::kApiGraphNotNamed, Location(), file, names.size());
    error.help = fmt::format("the graphs are {}", fmt::join(names, ", "));
    return Fail(TARSIA_STATUS_INVALID_ARGUMENT, error);
  }
  *out = names[0];
  return TARSIA_STATUS_OK;
}

tarsia_status ReadLimitKind(tarsia_limit_kind kind, LimitKind* out) {
  if (kind != TARSIA_LIMIT_TOTAL && kind != TARSIA_LIMIT_SCRATCH) {
    return Invalid(diag::kApiEnumValue, "options.limit_kind", static_cast<int>(kind),
                   "tarsia_limit_kind");
  }
  *out = kind == TARSIA_LIMIT_TOTAL ? LimitKind::kTotal : LimitKind::kScratch;
  return TARSIA_STATUS_OK;
}

}  // namespace

tarsia_status MakeGraphPlan(const tarsia_module& module, const tarsia_graph_plan_options& options,
                            std::unique_ptr<tarsia_graph_plan>* out, tarsia_diagnostics** errors) {
  std::string name;
  std::vector<Binding> bindings;
  PlanOptions with;
  with.limit = options.limit == 0 ? kNoLimit : options.limit;
  with.fast = (options.flags & TARSIA_GRAPH_FAST) != 0;
  with.strict_order = (options.flags & TARSIA_GRAPH_STRICT_ORDER) != 0;
  with.recompute = (options.flags & TARSIA_GRAPH_NO_RECOMPUTE) == 0;
  with.machine = runtime::MachineOf(options.device != nullptr ? options.device : "");
  if (const auto s = ReadLimitKind(options.limit_kind, &with.limit_kind); s != TARSIA_STATUS_OK) {
    return s;
  }
  if (options.ranks > kMostRanks || (options.rank != 0 && options.rank >= options.ranks)) {
    return Invalid(diag::kPlanRanks, options.rank, options.ranks);
  }
  with.rank = options.rank;
  with.ranks = options.ranks;
  if (const auto s = ReadBindings(options.bindings, options.binding_count, &bindings);
      s != TARSIA_STATUS_OK) {
    return s;
  }
  if (const auto s = FindGraphName(module, options.graph, &name); s != TARSIA_STATUS_OK) return s;
  Diagnostics found;
  auto graph = SpecialiseGraph(module.valid, name, bindings, found);
  if (graph) graph = SplitComplex(*graph, found);
  if (graph) graph = ExpandGradients(*graph, {with.fast}, found);
  auto plan = graph ? MakePlan(*graph, with, found) : std::nullopt;
  if (!plan) return Reject(TARSIA_STATUS_REJECTED, module.source, std::move(found), errors);
  auto made = std::unique_ptr<tarsia_graph_plan>(
      new tarsia_graph_plan{*std::move(graph), *std::move(plan), name, "", nullptr, {}, {}});
  if (made->plan.share) made->shared_axis = made->graph.axes()[made->plan.share->axis].name;
  if (IsLogEnabled(TARSIA_LOG_DEBUG)) {
    Log(TARSIA_LOG_DEBUG, fmt::format("plan of the graph {}: {} bytes", name, made->plan.peak));
  }
  *out = std::move(made);
  return TARSIA_STATUS_OK;
}

tarsia_status LoadGraphPlan(const tarsia_graph_plan_options& options, tarsia_graph_plan* plan,
                            tarsia_diagnostics** errors) {
  auto device = runtime::OpenDevice(options.device != nullptr ? options.device : "");
  if (!device.ok()) return FailWith(device.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  StopCheck stop(Asker(options.cancel, options.cancel_user),
                 CompileLimit(options.compile_limit_ms));
  runtime::LoadOptions load;
  load.stop = &stop;
  plan->source = runtime::KernelSource(plan->plan);
  Diagnostics found;
  auto kernels = runtime::LoadPlanKernels(plan->plan, *plan->source, **device, load, found);
  if (!kernels) {
    const tarsia_status status = StatusOf(found.list()[0], TARSIA_STATUS_REJECTED);
    return Reject(status, plan->source, std::move(found),
                  status == TARSIA_STATUS_REJECTED ? errors : nullptr);
  }
  plan->kernels = *std::move(kernels);
  plan->device = *std::move(device);
  return TARSIA_STATUS_OK;
}

}  // namespace tarsia::api

using namespace tarsia;
using namespace tarsia::api;

namespace {

constexpr uint32_t kPlanFlags = TARSIA_GRAPH_PLAN_ONLY | TARSIA_GRAPH_FAST |
                                TARSIA_GRAPH_STRICT_ORDER | TARSIA_GRAPH_NO_RECOMPUTE;

tarsia_status ReadOptions(const tarsia_graph_plan_options* options,
                          tarsia_graph_plan_options* out) {
  if (options == nullptr) return TARSIA_STATUS_OK;
  if (const auto s = ReadStruct(options, "options", out); s != TARSIA_STATUS_OK) return s;
  if ((out->flags & ~kPlanFlags) != 0) {
    return Invalid(diag::kApiFlagsUnknown, "options.flags", out->flags, kPlanFlags);
  }
  return TARSIA_STATUS_OK;
}

tarsia_status WriteTensor(const tarsia_graph_plan* plan, size_t index, bool input,
                          tarsia_graph_tensor* out) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    const std::vector<PlanTensor>& list = input ? plan->plan.inputs : plan->plan.outputs;
    if (index >= list.size()) return BadIndex("index", index, list.size());
    const PlanTensor& found = list[index];
    tarsia_graph_tensor tensor = {};
    tensor.name = found.name.c_str();
    tensor.dtype = api::ToC(found.dtype);
    tensor.rank = found.extents.size();
    tensor.shape = found.extents.data();
    tensor.bytes = found.bytes;
    tensor.used = found.used;
    tensor.shared = found.shared;
    return WriteStruct(tensor, "out", out);
  });
}

}  // namespace

size_t tarsia_module_graph_count(const tarsia_module* module) {
  return module == nullptr ? 0 : module->valid.module().graphs.size();
}

tarsia_status tarsia_module_graph(const tarsia_module* module, size_t graph,
                                  tarsia_graph_info* out) {
  return Guarded([&] {
    if (module == nullptr) return NullArgument("module");
    if (graph >= module->graph_names.size()) {
      return BadIndex("graph", graph, module->graph_names.size());
    }
    const Graph& found = module->valid.module().graphs[graph];
    tarsia_graph_info info = {};
    info.name = module->graph_names[graph].c_str();
    info.input_count = found.inputs.size();
    info.output_count = found.outputs.size();
    info.line = found.location.line;
    info.column = found.location.IsText() ? found.location.column : 0;
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_graph_plan_create(const tarsia_module* module,
                                       const tarsia_graph_plan_options* options,
                                       tarsia_graph_plan** out, tarsia_diagnostics** diagnostics) {
  return Guarded([&] {
    if (diagnostics != nullptr) *diagnostics = nullptr;
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (module == nullptr) return NullArgument("module");
    tarsia_graph_plan_options with = {};
    std::unique_ptr<tarsia_graph_plan> made;
    if (const auto s = ReadOptions(options, &with); s != TARSIA_STATUS_OK) return s;
    if (const auto s = MakeGraphPlan(*module, with, &made, diagnostics); s != TARSIA_STATUS_OK) {
      return s;
    }
    if ((with.flags & TARSIA_GRAPH_PLAN_ONLY) == 0) {
      const auto s = LoadGraphPlan(with, made.get(), diagnostics);
      if (s != TARSIA_STATUS_OK) return s;
    }
    *out = made.release();
    return TARSIA_STATUS_OK;
  });
}

void tarsia_graph_plan_destroy(tarsia_graph_plan* plan) { delete plan; }

tarsia_status tarsia_graph_plan_get(const tarsia_graph_plan* plan, tarsia_graph_plan_info* out) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    tarsia_graph_plan_info info = {};
    info.graph = plan->name.c_str();
    info.device = plan->device == nullptr ? "" : plan->device->name().c_str();
    info.peak = plan->plan.peak;
    info.limit = plan->plan.limit == kNoLimit ? 0 : plan->plan.limit;
    info.limit_kind =
        plan->plan.limit_kind == LimitKind::kTotal ? TARSIA_LIMIT_TOTAL : TARSIA_LIMIT_SCRATCH;
    info.input_count = plan->plan.inputs.size();
    info.output_count = plan->plan.outputs.size();
    info.kernel_count = plan->plan.kernels.size();
    info.step_count = plan->plan.steps.size();
    const std::optional<PlanShare>& share = plan->plan.share;
    info.shared_axis = share ? plan->shared_axis.c_str() : "";
    info.share_begin = share ? share->low() : 0;
    info.share_end = share ? share->high() : 0;
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_graph_plan_input(const tarsia_graph_plan* plan, size_t index,
                                      tarsia_graph_tensor* out) {
  return WriteTensor(plan, index, true, out);
}

tarsia_status tarsia_graph_plan_output(const tarsia_graph_plan* plan, size_t index,
                                       tarsia_graph_tensor* out) {
  return WriteTensor(plan, index, false, out);
}

tarsia_status tarsia_graph_plan_certificate(const tarsia_graph_plan* plan, tarsia_blob** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (plan == nullptr) return NullArgument("plan");
    return GiveBlob(CertificateText(plan->plan, plan->graph), out);
  });
}

tarsia_status tarsia_graph_plan_kernels(const tarsia_graph_plan* plan, tarsia_blob** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (plan == nullptr) return NullArgument("plan");
    return GiveBlob(plan->plan.Text(), out);
  });
}
