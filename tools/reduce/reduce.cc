// tarsia reduce: computes a graph below a memory limit.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "isa/text/printer.h"
#include "planner/certificate.h"
#include "planner/limit.h"
#include "runtime/api/graph.h"
#include "runtime/files/file.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/reduce/arena_svg.h"
#include "tools/reduce/execution.h"
#include "tools/reduce/explain.h"

namespace tarsia::tools {
namespace {

struct ReduceRequest {
  std::string file;
  std::string graph;
  std::string device;
  std::string limit;
  std::string limit_kind = "total";
  std::string certificate;
  std::string svg;
  std::string emit;
  std::vector<std::string> sets, inputs, outputs;
  bool explain = false;
  bool fast = false;
  bool dry_run = false;
  bool json = false;
  uint32_t threads = 0;
  uint32_t compile_limit = kCompileLimit;
};

// The graph to run: the one named, else the only one. Returns an exit code; prints an error.
int CheckGraphOf(const tarsia_module& module, const ReduceRequest& request) {
  const std::vector<std::string>& names = module.graph_names;
  if (!request.graph.empty() || names.size() == 1) return kDone;
  if (names.empty()) {
    PrintError(DisplayName(request.file) + " has no graph", "`tarsia run` runs kernels");
    return kUsage;
  }
  PrintError(fmt::format("{} has {} graphs: name one with --graph", DisplayName(request.file),
                         names.size()),
             fmt::format("they are {}", fmt::join(names, ", ")));
  return kUsage;
}

int ReadLimit(const ReduceRequest& request, tarsia_graph_plan_options* out) {
  if (request.fast) out->flags |= TARSIA_GRAPH_FAST;
  out->limit_kind = request.limit_kind == "scratch" ? TARSIA_LIMIT_SCRATCH : TARSIA_LIMIT_TOTAL;
  if (request.limit.empty()) return kDone;
  const auto limit = ParseLimit(request.limit);
  if (!limit.ok()) {
    PrintError("--limit: " + limit.error().message, limit.error().help);
    return kUsage;
  }
  out->limit = *limit;
  return kDone;
}

// The exit code of a step towards a plan, whose errors are printed.
int Check(tarsia_status status, tarsia_diagnostics* errors) {
  const Handle<tarsia_diagnostics> owned(errors);
  if (status == TARSIA_STATUS_OK) return kDone;
  if (errors == nullptr) return ReportFailure(status);
  PrintDiagnostics(errors);
  return ExitCode(status);
}

// Reads NAME=FILE for inputs or outputs; an output that is the only one needs no name.
int AddFiles(const std::vector<PlanTensor>& tensors, bool input,
             const std::vector<std::string>& specs, std::map<std::string, std::string>* out) {
  const char* const option = input ? "--in" : "--out";
  std::vector<std::string_view> names;
  for (const PlanTensor& tensor : tensors) names.emplace_back(tensor.name);
  for (const std::string& spec : specs) {
    std::string name;
    std::string file;
    if (!SplitAssignment(spec, &name, &file)) {
      if (input || names.size() != 1) {
        PrintError(fmt::format("{} {}: this is not of the form NAME=FILE", option, spec));
        return kUsage;
      }
      name = names[0];
      file = spec;
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string help = DidYouMean(name, names);
      PrintError(fmt::format("{} {}: the graph has no {} `%{}`", option, spec,
                             input ? "input" : "output", name),
                 help.empty() ? fmt::format("it has {}", fmt::join(names, ", ")) : help);
      return kUsage;
    }
    if (!out->emplace(name, file).second) {
      PrintError(fmt::format("{}: `%{}` is given twice", option, name));
      return kUsage;
    }
  }
  for (const PlanTensor& tensor : tensors) {
    if (!input || !tensor.used || out->count(tensor.name) != 0) continue;
    PrintError(fmt::format("input `%{}` has no file", tensor.name),
               fmt::format("give one: --in {}=FILE; --dry-run needs none", tensor.name));
    return kUsage;
  }
  return kDone;
}

// What a run adds to the summary.
struct RunFacts {
  std::string device;
  uint64_t nanoseconds = 0;
};

std::string SummaryJson(const Plan& plan, const ConcreteGraph& graph, const RunFacts* run) {
  Json json;
  json.Begin('{').Key("graph").String(graph.name());
  json.Key("peak").Number(static_cast<int64_t>(plan.peak)).Key("limit");
  if (plan.limit == kNoLimit) {
    json.Null();
  } else {
    json.Number(static_cast<int64_t>(plan.limit));
  }
  json.Key("limit_kind").String(plan.limit_kind == LimitKind::kTotal ? "total" : "scratch");
  json.Key("splits").Begin('{');
  for (const StepRange& split : plan.splits) {
    json.Key(graph.axes()[split.axis].name).Number(split.high);
  }
  json.End('}').Key("kernels").Number(static_cast<int64_t>(plan.kernels.size()));
  json.Key("steps").Number(static_cast<int64_t>(plan.steps.size()));
  if (run != nullptr) {
    json.Key("device").String(run->device);
    json.Key("nanoseconds").Number(static_cast<int64_t>(run->nanoseconds));
  }
  return json.End('}').Take();
}

int WriteText(const std::string& path, const std::string& text) {
  const Status status = WriteFile(path, text);
  if (status.ok()) return kDone;
  PrintError(status.error());
  return kRejected;
}

// The files that describe a plan.
int WriteDescriptions(const ReduceRequest& request, const Plan& plan, const ConcreteGraph& graph) {
  if (!request.certificate.empty()) {
    const int code = WriteText(request.certificate, CertificateText(plan, graph));
    if (code != kDone) return code;
  }
  return request.svg.empty() ? kDone : WriteText(request.svg, ArenaSvg(plan, graph));
}

bool TakesStdout(const ReduceRequest& request, const ReduceFiles& files) {
  return request.certificate == "-" || request.svg == "-" ||
         std::any_of(files.outputs.begin(), files.outputs.end(),
                     [](const auto& entry) { return entry.second == "-"; });
}

int Execute(const ReduceRequest& request, const tarsia_graph_plan_options& options,
            tarsia_graph_plan* made) {
  const Plan& plan = made->plan;
  ReduceFiles files;
  int code = AddFiles(plan.inputs, true, request.inputs, &files.inputs);
  if (code == kDone) {
    code = AddFiles(plan.outputs, false, request.outputs, &files.outputs);
  }
  if (code != kDone) return code;
  tarsia_diagnostics* errors = nullptr;
  const auto status = api::LoadGraphPlan(options, made, &errors);
  code = Check(status, errors);
  if (code != kDone) return code;
  RunFacts run{made->device->name(), 0};
  code = ExecuteOnFiles(*made, files, request.threads, &run.nanoseconds);
  if (code != kDone) return code;
  std::FILE* const to = TakesStdout(request, files) ? stderr : stdout;
  if (request.json) {
    PrintText(to, SummaryJson(plan, made->graph, &run));
    return kDone;
  }
  PrintText(to, PlanSummary(plan, made->graph));
  PrintText(to, fmt::format("{} on {}\n", DurationText(run.nanoseconds), run.device));
  return kDone;
}

// Plans; the texts of `options` are those of the request and of `bindings`.
int MakePlanOf(const ReduceRequest& request, const tarsia_module& module,
               std::vector<Binding>* bindings, std::vector<tarsia_binding>* list,
               tarsia_graph_plan_options* options, std::unique_ptr<tarsia_graph_plan>* out) {
  if (const int code = ReadSets(request.sets, bindings); code != kDone) return code;
  for (const Binding& set : *bindings) {
    list->push_back({sizeof(tarsia_binding), set.name.c_str(), set.text.c_str()});
  }
  if (const int code = ReadLimit(request, options); code != kDone) return code;
  if (const int code = CheckGraphOf(module, request); code != kDone) return code;
  options->bindings = list->data();
  options->binding_count = list->size();
  options->graph = request.graph.empty() ? nullptr : request.graph.c_str();
  options->device = request.device.empty() ? nullptr : request.device.c_str();
  options->compile_limit_ms = uint64_t{request.compile_limit} * 1000;
  tarsia_diagnostics* errors = nullptr;
  const auto status = api::MakeGraphPlan(module, *options, out, &errors);
  return Check(status, errors);
}

int PlanAndRun(const ReduceRequest& request, const tarsia_module& module) {
  std::vector<Binding> bindings;
  std::vector<tarsia_binding> list;
  auto options = Sized<tarsia_graph_plan_options>();
  std::unique_ptr<tarsia_graph_plan> made;
  if (const int code = MakePlanOf(request, module, &bindings, &list, &options, &made);
      code != kDone) {
    return code;
  }
  const Plan& plan = made->plan;
  const ConcreteGraph& graph = made->graph;
  if (const int code = WriteDescriptions(request, plan, graph); code != kDone) return code;
  if (!request.emit.empty()) {
    PrintOut(request.emit == "graph" ? Print(graph.module()) : plan.Text());
    return kDone;
  }
  std::FILE* const to = request.certificate == "-" || request.svg == "-" ? stderr : stdout;
  if (request.explain) PrintText(to, ExplainPlan(plan, graph));
  if (!request.dry_run) return Execute(request, options, made.get());
  PrintText(to, request.json ? SummaryJson(plan, graph, nullptr) : PlanSummary(plan, graph));
  return kDone;
}

void Declare(Command& command, ReduceRequest* request) {
  command.Positional("FILE", &request->file, "The program, text or bytecode; - is standard input");
  command.Value("--graph", "G", &request->graph, "The graph; optional if there is only one");
  command.Values("--set", "NAME=V", &request->sets, "Value of a constant: n=1000");
  command.Value("--limit", "BYTES", &request->limit,
                "The most memory of tensors: 1GiB, 100MB; without it there is no limit");
  command.Choice("--limit-kind", &request->limit_kind, {"total", "scratch"},
                 "What the limit counts: all tensors (the default), or all but inputs and outputs");
  command.Flag("--fast", &request->fast,
               "Allow squared distances as |a|^2 + |b|^2 - 2 a.b, with an error relative to their "
               "operands, not to themselves");
  command.Values("--in", "NAME=FILE", &request->inputs,
                 "An input: a.npy, m.safetensors:TENSOR, - for a .npy on standard input");
  command.Values("--out", "NAME=FILE", &request->outputs,
                 "A .npy file for an output, - for standard output; NAME= may be left out if there "
                 "is only one");
  command.Flag("--explain", &request->explain, "Print the kernels, the splits and the arena");
  command.Value("--svg", "FILE", &request->svg,
                "With --explain: write the arena over time as a picture");
  command.Value("--certificate", "FILE", &request->certificate,
                "Write the certificate of the plan, as JSON");
  command.Flag("--dry-run", &request->dry_run, "Plan, but do not run; needs no inputs");
  command.Choice(
      "--emit", &request->emit, {"tsa", "graph"},
      "Print the kernels of the plan, or the graph with its derivatives as programs; do not "
      "run");
  command.Value("--device", "D", &request->device, "The device; see `tarsia devices`");
  command.Number("--threads", "N", &request->threads, "Number of CPU threads; the default is all");
  AddCompileLimit(&command, &request->compile_limit);
  command.Flag("--json", &request->json, "Print the summary as JSON");
}

}  // namespace

int Reduce(const Args& args) {
  Command command(
      "reduce",
      "Computes a graph on files. Plans kernels and memory so that all tensors together "
      "stay below a limit, or says which limit would do.",
      {"tarsia reduce examples/reduce/rbf.tsa --set n=1000 --set m=2000 --set d=3 "
       "--limit 1MiB --dry-run --explain"});
  ReduceRequest request;
  Declare(command, &request);
  if (const auto code = command.Parse(args)) return *code;
  if (!request.svg.empty() && !request.explain) {
    PrintError("--svg belongs to --explain");
    return kUsage;
  }
  Handle<tarsia_module> module;
  if (const int code = LoadModule(request.file, &module); code != kDone) return code;
  return PlanAndRun(request, *module);
}

}  // namespace tarsia::tools
