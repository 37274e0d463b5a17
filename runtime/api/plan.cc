// The C API: plans and queries.
#include <algorithm>

#include "launch/launch_template.h"
#include "runtime/api/api.h"
#include "runtime/api/args.h"
#include "runtime/api/handles.h"
#include "runtime/devices/device.h"

using namespace tarsia;
using namespace tarsia::api;

struct tarsia_query {
  tarsia_geometry geometry = {};
  std::vector<launch::PointerUse> uses;
  std::vector<uint64_t> pointer_bytes;  // by parameter; 0 for scalars
  std::vector<bool> is_pointer;
};

namespace {

// Errors that the scalars cause are errors of the caller, so their text is the last error.
tarsia_status FailQuery(const tarsia_plan& plan, const Diagnostic& error) {
  return FailText(TARSIA_STATUS_REJECTED, Render(error, *plan.source));
}

tarsia_status FillQuery(const tarsia_plan& plan, const launch::CodeList& scalars,
                        tarsia_query* query) {
  int64_t grid[3] = {};
  if (const Status status = plan.launch.ResolveGrid(plan.program, scalars.data(), grid);
      !status.ok()) {
    return FailQuery(plan, status.error());
  }
  std::copy(grid, grid + 3, query->geometry.grid);
  query->geometry.warps = static_cast<uint32_t>(plan.program.warps());
  query->geometry.threads = query->geometry.warps * 32;
  const auto workspace = plan.ready->WorkspaceBytes(scalars);
  if (!workspace.ok()) return FailQuery(plan, workspace.error());
  query->geometry.workspace_bytes = *workspace;
  auto uses = plan.launch.Uses(plan.program, scalars.data());
  if (!uses.ok()) return FailQuery(plan, uses.error());
  query->uses = *std::move(uses);
  for (const ParamText& param : plan.text.params) {
    query->is_pointer.push_back(param.kind == TARSIA_PARAM_POINTER);
  }
  query->pointer_bytes.assign(plan.text.params.size(), 0);
  for (const launch::PointerUse& use : query->uses) {
    uint64_t& bytes = query->pointer_bytes[use.parameter];
    if (use.unconditional) bytes = std::max(bytes, use.bytes);
  }
  return TARSIA_STATUS_OK;
}

}  // namespace

void tarsia_plan_destroy(tarsia_plan* plan) { delete plan; }

tarsia_status tarsia_plan_get(const tarsia_plan* plan, tarsia_plan_info* out) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    tarsia_plan_info info = {};
    info.kernel = plan->text.name.c_str();
    info.device = plan->device->name().c_str();
    info.param_count = plan->text.params.size();
    info.constant_count = plan->text.constants.size();
    info.warps = static_cast<uint32_t>(plan->program.warps());
    return WriteStruct(info, "out", out);
  });
}

tarsia_status tarsia_plan_param(const tarsia_plan* plan, size_t param, tarsia_param_info* out) {
  return Guarded(
      [&] { return plan == nullptr ? NullArgument("plan") : WriteParam(plan->text, param, out); });
}

tarsia_status tarsia_plan_constant(const tarsia_plan* plan, size_t constant,
                                   tarsia_constant_info* out) {
  return Guarded([&] {
    return plan == nullptr ? NullArgument("plan") : WriteConstant(plan->text, constant, out);
  });
}

// ---- queries -------------------------------------------------------------------------------

tarsia_status tarsia_query_create(const tarsia_plan* plan, const tarsia_arg* args, size_t arg_count,
                                  tarsia_query** out) {
  return Guarded([&] {
    if (out == nullptr) return NullArgument("out");
    *out = nullptr;
    if (plan == nullptr) return NullArgument("plan");
    launch::ArgumentList launch;
    if (const auto s = ReadArgs(*plan, args, arg_count, &launch); s != TARSIA_STATUS_OK) return s;
    auto query = std::make_unique<tarsia_query>();
    if (const auto s = FillQuery(*plan, launch::CodesOf(launch), query.get());
        s != TARSIA_STATUS_OK) {
      return s;
    }
    *out = query.release();
    return TARSIA_STATUS_OK;
  });
}

void tarsia_query_destroy(tarsia_query* query) { delete query; }

tarsia_status tarsia_query_geometry(const tarsia_query* query, tarsia_geometry* out) {
  return Guarded([&] {
    return query == nullptr ? NullArgument("query") : WriteStruct(query->geometry, "out", out);
  });
}

size_t tarsia_query_view_count(const tarsia_query* query) {
  return query == nullptr ? 0 : query->uses.size();
}

tarsia_status tarsia_query_view(const tarsia_query* query, size_t index, tarsia_view* out) {
  return Guarded([&] {
    if (query == nullptr) return NullArgument("query");
    if (index >= query->uses.size()) return BadIndex("index", index, query->uses.size());
    const launch::PointerUse& use = query->uses[index];
    static_assert(kMaxLayoutRank == TARSIA_MAX_RANK);
    tarsia_view view = {};
    view.param = use.parameter;
    view.dtype = api::ToC(use.type);
    view.rank = std::min<size_t>(use.shape.size(), TARSIA_MAX_RANK);
    std::copy_n(use.shape.begin(), view.rank, view.shape);
    view.bytes = use.bytes;
    view.row_major = use.row_major;
    view.unconditional = use.unconditional;
    view.writes = use.written;
    view.text = use.text.c_str();
    view.line = use.location.line;
    view.column = use.location.IsText() ? use.location.column : 0;
    return WriteStruct(view, "out", out);
  });
}

tarsia_status tarsia_query_pointer_bytes(const tarsia_query* query, size_t param, uint64_t* bytes) {
  return Guarded([&] {
    if (query == nullptr) return NullArgument("query");
    if (bytes == nullptr) return NullArgument("bytes");
    if (param >= query->is_pointer.size()) {
      return BadIndex("param", param, query->is_pointer.size());
    }
    if (!query->is_pointer[param]) return Invalid(diag::kApiNotPointer, param);
    *bytes = query->pointer_bytes[param];
    return TARSIA_STATUS_OK;
  });
}
