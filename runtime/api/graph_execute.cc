// The C API: execution of plans of graphs.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "runtime/api/api.h"
#include "runtime/api/graph.h"
#include "runtime/api/report.h"
#include "runtime/graphs/plan_run.h"
#include "runtime/log.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

// What inputs and outputs of the C API have in common.
struct Given {
  const char* what = "input";
  bool output = false;
  bool memory = false, callback = false;
  uint64_t bytes = 0;
};

tarsia_status CheckGiven(const tarsia_graph_plan& plan, const PlanTensor& tensor,
                         const Given& given) {
  if (!tensor.used || tensor.bytes == 0) return TARSIA_STATUS_OK;
  if (given.memory && given.callback) {
    return Invalid(diag::kPlanTensorTwice, given.what, tensor.name);
  }
  const bool dropped = given.output && plan.plan.limit_kind == LimitKind::kTotal;
  if (!given.memory && !given.callback && !dropped) {
    return Invalid(diag::kPlanTensorMissing, given.what, tensor.name);
  }
  if (given.memory && given.bytes != tensor.bytes) {
    return Invalid(diag::kPlanTensorBytes, given.what, tensor.name, tensor.bytes, given.bytes);
  }
  return TARSIA_STATUS_OK;
}

tarsia_status ReadInput(const tarsia_graph_plan& plan, const PlanTensor& tensor,
                        const tarsia_graph_input& input, runtime::PlanPort* out) {
  out->memory = const_cast<void*>(input.data);
  if (input.read != nullptr) {
    out->read = [&tensor, input](uint64_t offset, std::span<uint8_t> to) -> Status {
      if (input.read(input.user, offset, to.data(), to.size())) return OkStatus();
      return MakeDiagnostic(diag::kPlanCallback, Location(), "input", tensor.name);
    };
  }
  return CheckGiven(plan, tensor,
                    {"input", false, input.data != nullptr, input.read != nullptr, input.bytes});
}

tarsia_status ReadOutput(const tarsia_graph_plan& plan, const PlanTensor& tensor,
                         const tarsia_graph_output& output, runtime::PlanPort* out) {
  out->memory = output.data;
  if (output.write != nullptr) {
    out->write = [&tensor, output](uint64_t offset, std::span<const uint8_t> from) -> Status {
      if (output.write(output.user, offset, from.data(), from.size())) return OkStatus();
      return MakeDiagnostic(diag::kPlanCallback, Location(), "output", tensor.name);
    };
  }
  return CheckGiven(
      plan, tensor,
      {"output", true, output.data != nullptr, output.write != nullptr, output.bytes});
}

// Reads an array of inputs or outputs with `read`.
template <typename T, typename Read>
tarsia_status ReadTensors(const tarsia_graph_plan& plan, const std::vector<PlanTensor>& tensors,
                          const T* list, size_t count, const char* name, const Read& read,
                          std::vector<runtime::PlanPort>* out) {
  if (count != tensors.size()) return Invalid(diag::kPlanTensorCount, count, name, tensors.size());
  if (count != 0 && list == nullptr) return NullArgument(name);
  for (size_t i = 0; i < count; ++i) {
    T given = {};
    if (const auto s = ReadElement(list, i, name, &given); s != TARSIA_STATUS_OK) return s;
    if (const auto s = read(plan, tensors[i], given, &out->emplace_back()); s != TARSIA_STATUS_OK) {
      return s;
    }
  }
  return TARSIA_STATUS_OK;
}

// The callbacks of the caller.
class GivenExchange : public runtime::Exchange {
 public:
  explicit GivenExchange(const tarsia_graph_execute_options& options) : options_(options) {}
  Status Send(size_t to, std::span<const uint8_t> bytes) override {
    const auto rank = static_cast<uint32_t>(to);
    if (options_.send(options_.exchange_user, rank, bytes.data(), bytes.size())) return OkStatus();
    return MakeDiagnostic(diag::kPlanExchange, Location(), "sends to", to);
  }
  Status Receive(size_t from, std::span<uint8_t> bytes) override {
    const auto rank = static_cast<uint32_t>(from);
    if (options_.receive(options_.exchange_user, rank, bytes.data(), bytes.size())) {
      return OkStatus();
    }
    return MakeDiagnostic(diag::kPlanExchange, Location(), "receives from", from);
  }

 private:
  const tarsia_graph_execute_options& options_;
};

tarsia_status CheckExchange(const tarsia_graph_plan& plan,
                            const tarsia_graph_execute_options& options) {
  const std::optional<PlanShare>& share = plan.plan.share;
  if (!share || (options.send != nullptr && options.receive != nullptr)) return TARSIA_STATUS_OK;
  return Invalid(diag::kPlanExchangeMissing, share->rank, share->ranks());
}

tarsia_status CheckArena(const tarsia_graph_plan& plan,
                         const tarsia_graph_execute_options& options) {
  if (options.arena == nullptr) return TARSIA_STATUS_OK;
  if (options.arena_bytes < plan.plan.peak) {
    return Invalid(diag::kPlanArena, options.arena_bytes, plan.plan.peak);
  }
  const auto address = reinterpret_cast<uintptr_t>(options.arena);
  if (address % kArenaAlignment != 0) {
    return Invalid(diag::kPlanArenaAlignment, address, kArenaAlignment);
  }
  return TARSIA_STATUS_OK;
}

tarsia_status FailRun(const tarsia_graph_plan& plan, const Diagnostic& error) {
  return FailText(StatusOf(error, TARSIA_STATUS_LAUNCH_FAILED), Render(error, *plan.source));
}

tarsia_status Run(const tarsia_graph_plan& plan, const runtime::PlanRunRequest& request,
                  tarsia_report** report) {
  const auto done = runtime::RunPlan(request);
  if (!done.ok()) return FailRun(plan, done.error());
  if (IsLogEnabled(TARSIA_LOG_DEBUG)) {
    Log(TARSIA_LOG_DEBUG, fmt::format("{}: {} steps in {} us", plan.name, plan.plan.steps.size(),
                                      done->nanoseconds / 1000));
  }
  if (report == nullptr) return TARSIA_STATUS_OK;
  auto out = std::make_unique<tarsia_report>();
  out->info.blocks = done->blocks;
  out->info.instructions = done->instructions;
  out->info.nanoseconds = done->nanoseconds;
  out->findings.source = plan.source;
  *report = out.release();
  return TARSIA_STATUS_OK;
}

}  // namespace

tarsia_status tarsia_graph_execute(const tarsia_graph_plan* plan, const tarsia_graph_input* inputs,
                                   size_t input_count, const tarsia_graph_output* outputs,
                                   size_t output_count, const tarsia_graph_execute_options* options,
                                   tarsia_report** report) {
  return Guarded([&] {
    if (report != nullptr) *report = nullptr;
    if (plan == nullptr) return NullArgument("plan");
    if (plan->device == nullptr) return Invalid(diag::kPlanNotLoaded);
    tarsia_graph_execute_options with = {};
    if (options != nullptr) {
      if (const auto s = ReadStruct(options, "options", &with); s != TARSIA_STATUS_OK) return s;
    }
    std::vector<runtime::PlanPort> from;
    std::vector<runtime::PlanPort> to;
    auto status =
        ReadTensors(*plan, plan->plan.inputs, inputs, input_count, "inputs", ReadInput, &from);
    if (status == TARSIA_STATUS_OK) {
      status =
          ReadTensors(*plan, plan->plan.outputs, outputs, output_count, "outputs", ReadOutput, &to);
    }
    if (status == TARSIA_STATUS_OK) status = CheckArena(*plan, with);
    if (status == TARSIA_STATUS_OK) status = CheckExchange(*plan, with);
    if (status == TARSIA_STATUS_OK && with.host_limit != 0 &&
        with.host_limit < runtime::kLeastHostLimit) {
      status = Invalid(diag::kPlanHostLimit, runtime::kLeastHostLimit, with.host_limit);
    }
    if (status != TARSIA_STATUS_OK) return status;
    constexpr uint32_t kMaxThreads = 1024;
    StopCheck stop(Asker(with.cancel, with.cancel_user));
    runtime::PlanRunRequest request;
    request.plan = &plan->plan;
    request.device = plan->device.get();
    request.kernels = plan->kernels;
    request.inputs = from;
    request.outputs = to;
    GivenExchange exchange(with);
    request.exchange = &exchange;
    request.arena = with.arena;
    request.threads = static_cast<int>(std::min(with.threads, kMaxThreads));
    request.host_limit = with.host_limit;
    request.stop = with.cancel == nullptr ? nullptr : &stop;
    if (with.progress != nullptr) {
      request.progress = [&with](uint64_t done, uint64_t total) {
        with.progress(with.progress_user, done, total);
      };
    }
    return Run(*plan, request, report);
  });
}
