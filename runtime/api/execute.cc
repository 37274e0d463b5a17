// The C API: execution and its reports.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "runtime/api/api.h"
#include "runtime/api/args.h"
#include "runtime/api/handles.h"
#include "runtime/api/report.h"
#include "runtime/devices/device.h"
#include "runtime/log.h"
#include "vm/interpreter.h"

using namespace tarsia;
using namespace tarsia::api;

namespace {

constexpr uint32_t kKnownFlags = TARSIA_EXECUTE_CHECK;

launch::LineSink Sink(tarsia_text_fn callback, void* user) {
  if (callback == nullptr) return nullptr;
  return [callback, user](std::string_view line) {
    const std::string text(line);
    callback(user, text.c_str(), text.size());
  };
}

// A name to trace must be one of the program's values.
tarsia_status CheckTraceValue(const tarsia_plan& plan, std::string_view name) {
  const auto& names = plan.program.kernel().value_names;
  for (const std::string_view known : names) {
    if (known == name) return TARSIA_STATUS_OK;
  }
  Diagnostic error = MakeDiagnostic(diag::kApiUnknownValue, Location(), plan.text.name, name);
  error.help = DidYouMean(name, names);
  return Fail(TARSIA_STATUS_INVALID_ARGUMENT, error);
}

tarsia_status ReadExecuteOptions(const tarsia_plan& plan, const tarsia_execute_options* options,
                                 vm::LaunchOptions* out, std::optional<StopCheck>* stop) {
  if (options == nullptr) return TARSIA_STATUS_OK;
  tarsia_execute_options with = {};
  if (const auto s = ReadStruct(options, "options", &with); s != TARSIA_STATUS_OK) return s;
  if ((with.flags & ~kKnownFlags) != 0) {
    return Invalid(diag::kApiFlagsUnknown, "options.flags", with.flags, kKnownFlags);
  }
  constexpr uint32_t kMaxThreads = 1024;
  out->check = (with.flags & TARSIA_EXECUTE_CHECK) != 0;
  out->threads = static_cast<int>(std::min(with.threads, kMaxThreads));
  out->max_instructions = with.max_instructions;
  out->print = Sink(with.print, with.print_user);
  if (with.cancel != nullptr) {
    out->stop = &stop->emplace(Asker(with.cancel, with.cancel_user));
  }
  if (with.progress != nullptr) {
    out->progress = [callback = with.progress, user = with.progress_user](
                        uint64_t done, uint64_t total) { callback(user, done, total); };
  }
  if (with.trace == nullptr) return TARSIA_STATUS_OK;
  out->trace.enabled = true;
  out->trace.sink = Sink(with.trace, with.trace_user);
  std::copy(with.trace_block, with.trace_block + 3, out->trace.block.begin());
  if (with.trace_value == nullptr) return TARSIA_STATUS_OK;
  out->trace.value = with.trace_value;
  return CheckTraceValue(plan, out->trace.value);
}

// A finding says how often it occurred, and in which block first.
Diagnostic ToDiagnostic(const launch::Finding& finding) {
  Diagnostic out = finding.diagnostic;
  const auto [x, y, z] = finding.block;
  std::string where = fmt::format("in block ({}, {}, {})", x, y, z);
  if (finding.count > 1) where += fmt::format(", and {} times more", finding.count - 1);
  out.notes.push_back({Location(), std::move(where)});
  return out;
}

tarsia_status FailLaunch(const tarsia_plan& plan, Diagnostic error, tarsia_report** report) {
  const std::string text = Render(error, *plan.source);
  const tarsia_status status = StatusOf(error, TARSIA_STATUS_LAUNCH_FAILED);
  if (status != TARSIA_STATUS_LAUNCH_FAILED) return FailText(status, text);
  if (report != nullptr) {
    auto out = std::make_unique<tarsia_report>();
    out->findings.source = plan.source;
    out->findings.list.Add(std::move(error));
    *report = out.release();
  }
  return FailText(TARSIA_STATUS_LAUNCH_FAILED, text);
}

tarsia_status Finish(const tarsia_plan& plan, const runtime::LaunchResult& result,
                     tarsia_report** report) {
  tarsia_diagnostics findings;
  findings.source = plan.source;
  for (const launch::Finding& finding : result.report.findings)
    findings.list.Add(ToDiagnostic(finding));
  tarsia_status status = TARSIA_STATUS_OK;
  if (!result.report.findings.empty()) {
    status = FailText(TARSIA_STATUS_FINDINGS, findings.list.Render(*plan.source));
  }
  if (report != nullptr) {
    auto out = std::make_unique<tarsia_report>();
    out->info.blocks = result.report.blocks;
    out->info.instructions = result.report.instructions;
    out->info.nanoseconds = result.nanoseconds;
    out->findings = std::move(findings);
    *report = out.release();
  }
  return status;
}

// The arguments of tarsia_execute and tarsia_workspace_report in the form of the runtime.
struct Request {
  launch::ArgumentList args;
  std::optional<StopCheck> stop;
  vm::LaunchOptions options;
  runtime::LaunchRequest launch;
};

tarsia_status ReadRequest(const tarsia_plan* plan, const tarsia_arg* args, size_t arg_count,
                          void* workspace, void* stream, const tarsia_execute_options* options,
                          bool report, Request* out) {
  if (plan == nullptr) return NullArgument("plan");
  if (const auto s = ReadArgs(*plan, args, arg_count, &out->args); s != TARSIA_STATUS_OK) return s;
  if (const auto s = ReadExecuteOptions(*plan, options, &out->options, &out->stop);
      s != TARSIA_STATUS_OK) {
    return s;
  }
  out->launch.args = out->args;
  out->launch.workspace = workspace;
  out->launch.stream = stream;
  out->launch.options = &out->options;
  out->launch.wait = report || out->options.print != nullptr;
  return TARSIA_STATUS_OK;
}

tarsia_status Finish(const tarsia_plan& plan, Result<runtime::LaunchResult> result,
                     tarsia_report** report) {
  if (!result.ok()) return FailLaunch(plan, result.TakeError(), report);
  if (IsLogEnabled(TARSIA_LOG_DEBUG)) {
    Log(TARSIA_LOG_DEBUG, fmt::format("{}: {} blocks in {} us", plan.text.name,
                                      result->report.blocks, result->nanoseconds / 1000));
  }
  return Finish(plan, *result, report);
}

}  // namespace

tarsia_status tarsia_execute(const tarsia_plan* plan, const tarsia_arg* args, size_t arg_count,
                             void* workspace, void* stream, const tarsia_execute_options* options,
                             tarsia_report** report) {
  return Guarded([&] {
    if (report != nullptr) *report = nullptr;
    Request request;
    if (const auto s = ReadRequest(plan, args, arg_count, workspace, stream, options,
                                   report != nullptr, &request);
        s != TARSIA_STATUS_OK) {
      return s;
    }
    return Finish(*plan, plan->ready->Launch(request.launch), report);
  });
}

tarsia_status tarsia_workspace_init(const tarsia_plan* plan, const tarsia_arg* args,
                                    size_t arg_count, void* workspace, uint64_t workspace_bytes,
                                    void* stream) {
  return Guarded([&] {
    if (plan == nullptr) return NullArgument("plan");
    launch::ArgumentList launch;
    if (const auto s = ReadArgs(*plan, args, arg_count, &launch); s != TARSIA_STATUS_OK) return s;
    const launch::CodeList scalars = launch::CodesOf(launch);
    const Result<uint64_t> bytes = plan->ready->WorkspaceBytes(scalars);
    if (!bytes.ok()) return FailWith(bytes.error(), TARSIA_STATUS_REJECTED);
    if (workspace_bytes < *bytes) {
      return Invalid(diag::kApiWorkspaceSize, workspace_bytes, *bytes);
    }
    if (*bytes == 0) return TARSIA_STATUS_OK;
    if (workspace == nullptr) return NullArgument("workspace");
    const Status status = plan->ready->InitWorkspace(scalars, workspace, workspace_bytes, stream);
    return status.ok() ? TARSIA_STATUS_OK
                       : FailWith(status.error(), TARSIA_STATUS_INVALID_ARGUMENT);
  });
}

tarsia_status tarsia_workspace_report(const tarsia_plan* plan, const tarsia_arg* args,
                                      size_t arg_count, void* workspace, void* stream,
                                      const tarsia_execute_options* options,
                                      tarsia_report** report) {
  return Guarded([&] {
    if (report != nullptr) *report = nullptr;
    Request request;
    if (const auto s =
            ReadRequest(plan, args, arg_count, workspace, stream, options, true, &request);
        s != TARSIA_STATUS_OK) {
      return s;
    }
    return Finish(*plan, plan->ready->Collect(request.launch), report);
  });
}

tarsia_status tarsia_report_get(const tarsia_report* report, tarsia_report_info* out) {
  return Guarded([&] {
    return report == nullptr ? NullArgument("report") : WriteStruct(report->info, "out", out);
  });
}

const tarsia_diagnostics* tarsia_report_findings(const tarsia_report* report) {
  return report == nullptr ? nullptr : &report->findings;
}

void tarsia_report_destroy(tarsia_report* report) { delete report; }
