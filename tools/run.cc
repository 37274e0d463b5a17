// tarsia run: runs a kernel on a device, with files as arguments.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "tools/commands.h"
#include "tools/device_args.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/run/turns.h"
#include "tools/run_args.h"

namespace tarsia::tools {
namespace {

struct RunRequest {
  std::string file;
  PlanRequest plan;
  RunSpecs specs;
  bool check = false;
  bool time = false;
  bool turns = false;
  bool json = false;
  uint32_t threads = 0;
  std::optional<std::string> trace;  // "": all; else the name of a value
  int64_t block[3] = {0, 0, 0};
};

// "1,2" or "1,2,0" into a block index.
bool ParseBlock(const std::string& text, int64_t block[3]) {
  long long x = 0;
  long long y = 0;
  long long z = 0;
  char rest = 0;
  const int n = std::sscanf(text.c_str(), "%9lld,%9lld,%9lld%c", &x, &y, &z, &rest);
  if (n < 1 || n > 3 || x < 0 || y < 0 || z < 0) return false;
  if (std::count(text.begin(), text.end(), ',') != n - 1 || text.back() == ',') return false;
  block[0] = x;
  block[1] = y;
  block[2] = z;
  return true;
}

// Whether an output uses standard output, so that text must go elsewhere.
bool TakesStdout(const RunArgs& args) {
  return std::any_of(args.params().begin(), args.params().end(), [](const BoundParam& param) {
    return param.output && param.output->path == "-";
  });
}

void PrintLine(void* user, const char* text, size_t size) {
  auto* const to = static_cast<std::FILE*>(user);
  PrintText(to, std::string_view(text, size));
  std::fputc('\n', to);
}

// "cpu (2 threads, AVX2)", and the reason if the user did not choose it.
std::string DeviceText(const RunRequest& request, const std::string& name) {
  std::string detail;
  if (name == "cpu") {
    auto cpu = Sized<tarsia_device_info>();
    tarsia_device_get(0, &cpu);
    const uint32_t threads = request.check          ? 1
                             : request.threads != 0 ? request.threads
                                                    : cpu.threads;
    detail = fmt::format("{} thread{}, {}", threads, threads == 1 ? "" : "s", cpu.vector_unit);
    if (request.plan.device.empty()) detail += "; the default: no GPU is found";
  } else if (request.plan.device.empty()) {
    detail = "the default";
  }
  return detail.empty() ? name : fmt::format("{} ({})", name, detail);
}

std::string OutputText(const BoundParam& param) {
  const std::string shape =
      fmt::format("{}{}", DTypeName(param.out_type), ShapeText(param.out_shape));
  return fmt::format("{} {}{}", param.name, shape, param.out_dense ? "" : " (packed bytes)");
}

void ShowProgress(void* user, uint64_t done, uint64_t total) {
  static_cast<ProgressBar*>(user)->Show(done, total);
}

struct Launched {
  Handle<tarsia_report> report;
  uint64_t nanoseconds = 0;           // of the launch whose results are written
  std::vector<uint64_t> repetitions;  // sorted; of --time
};

tarsia_status Execute(const tarsia_plan* plan, const RunRequest& request, const DeviceArgs& args,
                      std::FILE* text, bool quiet, Launched* out) {
  auto options = Sized<tarsia_execute_options>();
  options.threads = request.threads;
  if (request.check) options.flags = TARSIA_EXECUTE_CHECK;
  if (!quiet) {
    options.print = PrintLine;
    options.print_user = text;
  }
  if (request.trace && !quiet) {
    options.trace = PrintLine;
    options.trace_user = text;
    options.trace_value = request.trace->empty() ? nullptr : request.trace->c_str();
    std::copy(request.block, request.block + 3, options.trace_block);
  }
  ProgressBar progress("blocks");
  if (progress.wanted()) {
    options.progress = ShowProgress;
    options.progress_user = &progress;
  }
  tarsia_report* report = nullptr;
  const auto status = tarsia_execute(plan, args.args().data(), args.args().size(), args.workspace(),
                                     nullptr, &options, &report);
  out->report.reset(report);
  auto info = Sized<tarsia_report_info>();
  if (report != nullptr) tarsia_report_get(report, &info);
  out->nanoseconds = info.nanoseconds;
  return status;
}

// Repeats the launch for a second or 100 times, at least 3 times.
tarsia_status Repeat(const tarsia_plan* plan, const RunRequest& request, const DeviceArgs& args,
                     Launched* out) {
  uint64_t total = 0;
  for (int i = 0; i < 100 && (i < 3 || total < 1'000'000'000); ++i) {
    Launched again;
    const auto status = Execute(plan, request, args, stdout, true, &again);
    if (status != TARSIA_STATUS_OK) return status;
    out->repetitions.push_back(again.nanoseconds);
    total += again.nanoseconds;
  }
  std::sort(out->repetitions.begin(), out->repetitions.end());
  return TARSIA_STATUS_OK;
}

uint64_t Median(const std::vector<uint64_t>& sorted) { return sorted[sorted.size() / 2]; }

std::string SummaryText(const tarsia_plan_info& plan, const RunRequest& request,
                        const RunArgs& args, const Launched& launched) {
  std::string out = std::string(plan.kernel) + ":";
  const char* before = " ";
  for (const BoundParam& param : args.params()) {
    if (!param.output) continue;
    out += fmt::format("{}{} -> {}", before, OutputText(param),
                       param.output->path == "-" ? "standard output" : param.output->path);
    before = ", ";
  }
  if (before[0] == ',') out += ",";
  out += fmt::format(" {} on {}\n", DurationText(launched.nanoseconds),
                     DeviceText(request, plan.device));
  if (!launched.repetitions.empty()) {
    const auto& all = launched.repetitions;
    out += fmt::format("time: median {}, least {}, most {} of {} runs\n", DurationText(Median(all)),
                       DurationText(all.front()), DurationText(all.back()), all.size());
  }
  return out;
}

std::string SummaryJson(const tarsia_plan* plan, const tarsia_plan_info& info,
                        const RunRequest& request, const RunArgs& args, const Launched& launched,
                        tarsia_status status) {
  Json json;
  json.Begin('{').Key("kernel").String(info.kernel).Key("ok").Bool(status == TARSIA_STATUS_OK);
  json.Key("device").String(info.device).Key("default_device").Bool(request.plan.device.empty());
  json.Key("constants").Begin('{');
  for (size_t i = 0; i < info.constant_count; ++i) {
    auto constant = Sized<tarsia_constant_info>();
    tarsia_plan_constant(plan, i, &constant);
    json.Key(constant.name).String(constant.value_text);
  }
  json.End('}').Key("outputs").Begin('[');
  for (const BoundParam& param : args.params()) {
    if (!param.output) continue;
    json.Begin('{').Key("param").String(param.name).Key("file").String(param.output->path);
    json.Key("dtype").String(DTypeName(param.out_type)).Key("shape");
    json.Raw(ShapeText(param.out_shape)).End('}');
  }
  auto report = Sized<tarsia_report_info>();
  if (launched.report != nullptr) tarsia_report_get(launched.report.get(), &report);
  json.End(']').Key("blocks").Number(static_cast<int64_t>(report.blocks));
  json.Key("nanoseconds").Number(static_cast<int64_t>(launched.nanoseconds));
  if (!launched.repetitions.empty()) {
    json.Key("median_nanoseconds").Number(static_cast<int64_t>(Median(launched.repetitions)));
    json.Key("runs").Number(static_cast<int64_t>(launched.repetitions.size()));
  }
  json.Key("findings");
  AppendDiagnostics(tarsia_report_findings(launched.report.get()), &json);
  return json.End('}').Take();
}

int LaunchFailure(tarsia_status status, const Launched& launched) {
  if (launched.report == nullptr) {
    // An invalid argument here means that the inputs do not fit the program.
    const int code = ReportFailure(status);
    return status == TARSIA_STATUS_INVALID_ARGUMENT ? kRejected : code;
  }
  PrintDiagnostics(tarsia_report_findings(launched.report.get()));
  if (status == TARSIA_STATUS_FINDINGS) PrintError("the program has faults; no output is written");
  return kRejected;
}

int Launch(const tarsia_plan* plan, const RunRequest& request, RunArgs* args) {
  auto info = Sized<tarsia_plan_info>();
  tarsia_plan_get(plan, &info);
  std::FILE* const text = request.json || TakesStdout(*args) ? stderr : stdout;
  std::FILE* const summary = TakesStdout(*args) ? stderr : stdout;
  Launched launched;
  DeviceArgs there;
  int code = there.Upload(plan, *args);
  if (code != kDone) return code;
  auto status = Execute(plan, request, there, text, false, &launched);
  if (status == TARSIA_STATUS_OK) code = there.Download(args);
  if (status == TARSIA_STATUS_OK && code == kDone) code = args->WriteOutputs();
  if (code != kDone) return code;
  if (status == TARSIA_STATUS_OK && request.time) status = Repeat(plan, request, there, &launched);
  if (status != TARSIA_STATUS_OK) code = LaunchFailure(status, launched);
  if (request.json) {
    const std::string out = SummaryJson(plan, info, request, *args, launched, status);
    PrintText(summary, out);
  } else if (code == kDone) {
    const std::string out = SummaryText(info, request, *args, launched);
    PrintText(summary, out);
  }
  return code;
}

void Declare(Command& command, RunRequest* request, std::string* block) {
  command.Positional("FILE", &request->file, "The program, text or bytecode; - is standard input");
  command.Value("--kernel", "K", &request->plan.kernel,
                "The kernel; optional if there is only one");
  command.Values("--set", "NAME=V", &request->plan.sets,
                 "Value of a constant: W=u4, K=384, 'L=spatial(8, 4)'");
  command.Values("--arg", "NAME=V", &request->specs.scalars, "Value of a scalar parameter");
  command.Values("--in", "PTR=FILE", &request->specs.inputs,
                 "Contents of a pointer's memory: a.npy, m.safetensors:TENSOR, - for a .npy on "
                 "standard input");
  command.Values(
      "--out", "PTR=FILE", &request->specs.outputs,
      "File for the final contents of a pointer's memory, as .npy: b.npy, "
      "b.npy:f16[16,128], - for standard output; with --in of the same pointer, the memory "
      "starts with that input");
  command.Value("--device", "D", &request->plan.device, "The device; see `tarsia devices`");
  command.Count("--threads", "N", &request->threads, "Number of CPU threads; the default is all");
  command.Flag("--check", &request->check,
               "On cpu: also detect races, reads of bytes that were never written, and reads of "
               "asynchronous copies before their wait; slow");
  command.Flag("--time", &request->time,
               "Repeat the launch for up to a second and print the median time");
  command.Flag("--turns", &request->turns,
               "Only show how many turns each loop takes in the blocks; needs no memory");
  command.ValueOrFlag(
      "--trace", "%NAME", &request->trace,
      "Print the instructions of one block as they run; or only those that assign %NAME");
  command.Value("--block", "X,Y,Z", block, "The block to trace; the default is 0,0,0");
  AddCompileLimit(&command, &request->plan.compile_limit);
  command.Flag("--json", &request->json, "Print the summary as JSON");
}

}  // namespace

int Run(const Args& args) {
  Command command("run", "Runs a kernel on files and writes its outputs.",
                  {"tarsia run examples/matmul.tsa --set K=64 --set N=32 --set W=u8 --arg m=4 "
                   "--in x=x.npy --in w=w.npy --out y=y.npy"});
  RunRequest request;
  std::string block;
  Declare(command, &request, &block);
  if (const auto code = command.Parse(args)) return *code;
  if (!block.empty() && !request.trace) return command.Misuse("--block needs --trace");
  if (!block.empty() && !ParseBlock(block, request.block)) {
    return command.Misuse("--block " + block + ": no block index such as 1,0");
  }
  if (request.trace && request.trace->substr(0, 1) == "%") request.trace->erase(0, 1);
  if (request.turns) {
    request.specs.zeros = true;
    request.plan.device = "cpu";
  }
  Handle<tarsia_module> module;
  Handle<tarsia_plan> plan;
  RunArgs bound;
  int code = LoadModule(request.file, &module);
  if (code == kDone) code = MakePlan(module.get(), request.plan, &plan);
  if (code == kDone) code = bound.Assign(plan.get(), request.specs);
  if (code == kDone) code = bound.ParseScalars();
  if (code == kDone && request.turns) return ShowTurns(plan.get(), bound, request.json);
  if (code == kDone) code = bound.BindBuffers(plan.get());
  return code == kDone ? Launch(plan.get(), request, &bound) : code;
}

}  // namespace tarsia::tools
