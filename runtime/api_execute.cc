// The C API: execution and its reports.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/api.h"
#include "runtime/args.h"
#include "runtime/handles.h"
#include "runtime/log.h"
#include "vm/diagnostics.h"
#include "vm/interpreter.h"

using namespace tarsia;
using namespace tarsia::api;

struct tarsia_report {
  tarsia_report_info info = {};
  tarsia_diagnostics findings;
};

namespace {

constexpr uint32_t kKnownFlags = TARSIA_EXECUTE_CHECK;

// Errors of a launch that never began, because the arguments do not fit.
constexpr const DiagInfo* kArgumentErrors[] = {
    &diag::kArgumentCount,  &diag::kLaunchArgumentKind, &diag::kArgumentType, &diag::kNullBuffer,
    &diag::kBufferTooSmall, &diag::kReadOnlyBuffer,     &diag::kAssumption,   &diag::kGridExtent,
    &diag::kGridTooLarge,   &diag::kAssumedAlignment,   &diag::kViewExtent,
};

vm::LineSink Sink(tarsia_text_fn callback, void* user) {
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
                                 vm::LaunchOptions* out) {
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

// A finding says how often it was met, and in which block first.
Diagnostic Describe(const vm::Finding& finding) {
  Diagnostic out = finding.diagnostic;
  const auto [x, y, z] = finding.block;
  std::string where = fmt::format("in block ({}, {}, {})", x, y, z);
  if (finding.count > 1) where += fmt::format(", and {} times more", finding.count - 1);
  out.notes.push_back({Location(), std::move(where)});
  return out;
}

tarsia_status FailLaunch(const tarsia_plan& plan, Diagnostic error, tarsia_report** report) {
  if (error.info == &diag::kOutOfMemory) return Fail(TARSIA_STATUS_OUT_OF_MEMORY, error);
  const std::string text = Render(error, *plan.source);
  for (const DiagInfo* const info : kArgumentErrors) {
    if (error.info == info) return FailText(TARSIA_STATUS_INVALID_ARGUMENT, text);
  }
  if (report != nullptr) {
    auto out = std::make_unique<tarsia_report>();
    out->findings.source = plan.source;
    out->findings.list.Add(std::move(error));
    *report = out.release();
  }
  return FailText(TARSIA_STATUS_LAUNCH_FAILED, text);
}

tarsia_status Finish(const tarsia_plan& plan, vm::LaunchReport result, uint64_t nanoseconds,
                     tarsia_report** report) {
  tarsia_diagnostics findings;
  findings.source = plan.source;
  for (const vm::Finding& finding : result.findings) findings.list.Add(Describe(finding));
  tarsia_status status = TARSIA_STATUS_OK;
  if (!result.findings.empty()) {
    status = FailText(TARSIA_STATUS_FINDINGS, findings.list.Render(*plan.source));
  }
  if (report != nullptr) {
    auto out = std::make_unique<tarsia_report>();
    out->info.blocks = result.blocks;
    out->info.instructions = result.instructions;
    out->info.nanoseconds = nanoseconds;
    out->findings = std::move(findings);
    *report = out.release();
  }
  return status;
}

tarsia_status Execute(const tarsia_plan& plan, const vm::LaunchArgs& args,
                      const vm::LaunchOptions& options, tarsia_report** report) {
  const auto start = std::chrono::steady_clock::now();
  auto result = vm::Launch(*plan.ready, args, options);
  const auto spent = std::chrono::steady_clock::now() - start;
  const auto nanoseconds =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
  if (!result.ok()) return FailLaunch(plan, result.TakeError(), report);
  if (LogWanted(TARSIA_LOG_DEBUG)) {
    Log(TARSIA_LOG_DEBUG,
        fmt::format("{}: {} blocks in {} us", plan.text.name, result->blocks, nanoseconds / 1000));
  }
  return Finish(plan, *std::move(result), nanoseconds, report);
}

}  // namespace

tarsia_status tarsia_execute(const tarsia_plan* plan, const tarsia_arg* args, size_t arg_count,
                             void* workspace, void* stream, const tarsia_execute_options* options,
                             tarsia_report** report) {
  return Guarded([&] {
    if (report != nullptr) *report = nullptr;
    if (plan == nullptr) return NullArgument("plan");
    if (stream != nullptr) return Invalid(diag::kApiStreamNotNull);
    static_cast<void>(workspace);  // no plan of this device wants one
    vm::LaunchArgs launch;
    vm::LaunchOptions with;
    if (const auto s = ReadArgs(*plan, args, arg_count, &launch); s != TARSIA_STATUS_OK) return s;
    if (const auto s = ReadExecuteOptions(*plan, options, &with); s != TARSIA_STATUS_OK) return s;
    return Execute(*plan, launch, with, report);
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
