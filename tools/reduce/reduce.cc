// tarsia reduce: computes a graph below a memory limit.
#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "isa/text/printer.h"
#include "planner/certificate.h"
#include "planner/limit.h"
#include "runtime/api/graph.h"
#include "runtime/files/file.h"
#include "runtime/graphs/plan_run.h"
#include "tools/commands.h"
#include "tools/diagnostics.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/reduce/arena_svg.h"
#include "tools/reduce/check_input.h"
#include "tools/reduce/device_list.h"
#include "tools/reduce/execution.h"
#include "tools/reduce/explain.h"
#include "tools/reduce/world.h"

namespace tarsia::tools {
namespace {

struct ReduceRequest {
  std::string file;
  std::string graph;
  std::string device;
  std::string limit;
  std::string limit_kind = "total";
  std::string host_limit;
  std::string certificate;
  std::string svg;
  std::string emit;
  std::string share;
  std::vector<std::string> sets, inputs, outputs;
  bool explain = false;
  bool fast = false;
  bool strict_order = false;
  bool no_recompute = false;
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
  if (request.strict_order) out->flags |= TARSIA_GRAPH_STRICT_ORDER;
  if (request.no_recompute) out->flags |= TARSIA_GRAPH_NO_RECOMPUTE;
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

int ReadHostLimit(const ReduceRequest& request, uint64_t* out) {
  if (request.host_limit.empty()) return kDone;
  const auto limit = ParseLimit(request.host_limit);
  if (!limit.ok()) {
    PrintError("--host-limit: " + limit.error().message, limit.error().help);
    return kUsage;
  }
  if (*limit < runtime::kLeastHostLimit) {
    PrintError(
        fmt::format("--host-limit: a transfer needs {} bytes of the host, and {} are allowed",
                    runtime::kLeastHostLimit, *limit));
    return kUsage;
  }
  *out = *limit;
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
        PrintError(fmt::format("{} {}: this is not of the form NAME=FILE", option, spec),
                   fmt::format("the graph has {}", fmt::join(names, ", ")));
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
  json.Key("operations").Raw(fmt::format("{:.0f}", plan.operations));
  if (plan.share) {
    json.Key("shared").String(graph.axes()[plan.share->axis].name);
    json.Key("ranks").Number(static_cast<int64_t>(plan.share->ranks()));
  }
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

bool TakesStdout(const ReduceRequest& request, const ReduceFiles& files) {
  return request.certificate == "-" || request.svg == "-" ||
         std::any_of(files.outputs.begin(), files.outputs.end(),
                     [](const auto& entry) { return entry.second == "-"; });
}

// A process that mpirun started beside rank 0 says nothing that rank 0 says as well.
class Silence {
 public:
  Silence() {
    std::fflush(nullptr);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0) return;
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      saved_[fd - 1] = dup(fd);
      dup2(null, fd);
    }
    close(null);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    std::fflush(nullptr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      if (saved_[fd - 1] < 0) continue;
      dup2(saved_[fd - 1], fd);
      close(saved_[fd - 1]);
    }
  }

 private:
  int saved_[2] = {-1, -1};
};

// A process that mpirun started fails where all do. mpirun ends the others as soon as one ends with
// an error, so this one waits until rank 0 has printed it.
void LetRankZeroSpeak(const ProcessRank& process, std::optional<Silence>* silence) {
  constexpr std::chrono::seconds kEnough{2};
  std::this_thread::sleep_for(kEnough);
  silence->reset();
  PrintError(fmt::format("rank {} failed before it could say why", process.rank),
             "the same command without mpirun, on its machine, prints the error");
}

// The plans of one request: of all ranks, or of some of them.
class Plans {
 public:
  explicit Plans(const ReduceRequest& request) : request_(request) {}

  // What all plans have in common: all are for the kind of the first device, so that they belong
  // together. Returns an exit code, as the others do; errors are printed.
  int Read(const tarsia_module& module, const std::string& device) {
    module_ = &module;
    device_ = device;
    if (const int code = ReadSets(request_.sets, &bindings_); code != kDone) return code;
    for (const Binding& set : bindings_) {
      list_.push_back({sizeof(tarsia_binding), set.name.c_str(), set.text.c_str()});
    }
    if (const int code = ReadLimit(request_, &options_); code != kDone) return code;
    if (const int code = CheckGraphOf(module, request_); code != kDone) return code;
    options_.bindings = list_.data();
    options_.binding_count = list_.size();
    options_.graph = request_.graph.empty() ? nullptr : request_.graph.c_str();
    options_.compile_limit_ms = uint64_t{request_.compile_limit} * 1000;
    return kDone;
  }

  int Make(size_t rank, size_t ranks, std::unique_ptr<tarsia_graph_plan>* out) {
    options_.device = device_.empty() ? nullptr : device_.c_str();
    options_.rank = static_cast<uint32_t>(rank);
    options_.ranks = static_cast<uint32_t>(ranks);
    tarsia_diagnostics* errors = nullptr;
    const auto status = api::MakeGraphPlan(*module_, options_, out, &errors);
    return Check(status, errors);
  }

  int Load(const std::string& device, tarsia_graph_plan* plan) {
    options_.device = device.empty() ? nullptr : device.c_str();
    tarsia_diagnostics* errors = nullptr;
    const auto status = api::LoadGraphPlan(options_, plan, &errors);
    return Check(status, errors);
  }

 private:
  const ReduceRequest& request_;
  const tarsia_module* module_ = nullptr;
  std::string device_;
  std::vector<Binding> bindings_;
  std::vector<tarsia_binding> list_;
  tarsia_graph_plan_options options_ = Sized<tarsia_graph_plan_options>();
};

// This process among those that mpirun started, and its devices.
struct Setting {
  ProcessRank process;
  std::vector<std::string> devices;
  size_t rank = 0, ranks = 1;  // of the plan that is described
  uint64_t host_limit = 0;     // 0: a usual size
};

// `--share R/N`.
int ReadShare(const ReduceRequest& request, Setting* setting) {
  if (request.share.empty()) return kDone;
  const char* const end = request.share.data() + request.share.size();
  const auto rank = std::from_chars(request.share.data(), end, setting->rank);
  const bool slash = rank.ec == std::errc() && rank.ptr != end && *rank.ptr == '/';
  const auto ranks = std::from_chars(slash ? rank.ptr + 1 : end, end, setting->ranks);
  if (!slash || ranks.ec != std::errc() || ranks.ptr != end || setting->ranks > kMostRanks ||
      setting->rank >= setting->ranks) {
    PrintError(fmt::format("--share {}: this is no rank and number of ranks", request.share),
               fmt::format("write --share R/N: R from 0 to N - 1, N at most {}", kMostRanks));
    return kUsage;
  }
  if (request.dry_run || !request.emit.empty()) return kDone;
  PrintError("--share plans one rank, which cannot run alone", "it needs --dry-run or --emit");
  return kUsage;
}

int ReadSetting(const ReduceRequest& request, Setting* setting) {
  auto devices = DevicesOf(request.device, setting->process);
  if (!devices.ok()) {
    PrintError(devices.error());
    return devices.error().info == &diag::kDeviceList ? kUsage : kEnvironment;
  }
  setting->devices = *std::move(devices);
  setting->rank = setting->process.rank;
  setting->ranks = std::max(setting->process.ranks, setting->devices.size());
  return ReadShare(request, setting);
}

// The certificate of the plan; of all ranks that share it, a list of theirs.
int WriteCertificates(const ReduceRequest& request, const Setting& setting, Plans* plans,
                      const tarsia_graph_plan& plan) {
  if (request.certificate.empty()) return kDone;
  if (!plan.plan.share || !request.share.empty()) {
    return WriteText(request.certificate, CertificateText(plan.plan, plan.graph));
  }
  std::string text;
  for (size_t rank = 0; rank < setting.ranks; ++rank) {
    std::unique_ptr<tarsia_graph_plan> made;
    if (const int code = plans->Make(rank, setting.ranks, &made); code != kDone) return code;
    text += (rank == 0 ? "[" : ",") + CertificateText(made->plan, made->graph);
  }
  return WriteText(request.certificate, text + "]\n");
}

// Loads the plans of this process's devices.
int LoadAll(const Setting& setting, Plans* plans, Execution* execution) {
  const size_t count = execution->plans[0]->plan.share ? setting.devices.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) {
      const int code = plans->Make(i, count, &execution->plans.emplace_back());
      if (code != kDone) return code;
    }
    const int code = plans->Load(setting.devices[i], execution->plans[i].get());
    if (code != kDone) return code;
  }
  return kDone;
}

void PrintRun(const ReduceRequest& request, const ReduceFiles& files, const Execution& execution,
              uint64_t nanoseconds) {
  const tarsia_graph_plan& first = *execution.plans[0];
  RunFacts run{first.device->name(), nanoseconds};
  for (size_t i = 1; i < execution.plans.size(); ++i) {
    run.device += "," + execution.plans[i]->device->name();
  }
  std::FILE* const to = TakesStdout(request, files) ? stderr : stdout;
  if (request.json) return PrintText(to, SummaryJson(first.plan, first.graph, &run));
  PrintText(to, PlanSummary(first.plan, first.graph));
  PrintText(to, fmt::format("{} on {}\n", DurationText(run.nanoseconds), run.device));
}

int Execute(const ReduceRequest& request, const Setting& setting, const tarsia_module& module,
            Plans* plans, std::unique_ptr<tarsia_graph_plan> plan,
            std::optional<Silence>* silence) {
  const bool shared = plan->plan.share.has_value();
  if (!shared && setting.process.rank != 0) return kDone;
  ReduceFiles files;
  int code = AddFiles(plan->plan.inputs, true, request.inputs, &files.inputs);
  if (code == kDone) code = AddFiles(plan->plan.outputs, false, request.outputs, &files.outputs);
  files.constants = ExtentConstants(module.valid.module(), plan->graph.name());
  for (const GraphOutputType& type : plan->graph.graph().output_types) {
    files.in_place.push_back(type.in_place);
  }
  if (code != kDone) return code;
  Execution execution;
  execution.host_limit = setting.host_limit;
  execution.plans.push_back(std::move(plan));
  execution.threads = request.threads != 0 ? request.threads : ThreadsOf(setting.process);
  std::unique_ptr<World> world;
  if (shared && setting.process.ranks > 1) {
    auto opened = World::Open(setting.process);
    if (!opened.ok()) {
      PrintError(opened.error());
      return kEnvironment;
    }
    world = *std::move(opened);
    execution.world = world.get();
    silence->reset();
    NameProcess(fmt::format("rank {}", world->rank()));
  }
  code = LoadAll(setting, plans, &execution);
  if (code != kDone && world != nullptr) world->Fail();
  if (code != kDone) return code;
  uint64_t nanoseconds = 0;
  code = ExecuteOnFiles(execution, files, &nanoseconds);
  if (code == kDone && setting.process.rank == 0) {
    PrintRun(request, files, execution, nanoseconds);
  }
  return code;
}

int PlanAndRun(const ReduceRequest& request, const tarsia_module& module,
               const ProcessRank& process, std::optional<Silence>* silence) {
  Setting setting;
  setting.process = process;
  if (const int code = ReadSetting(request, &setting); code != kDone) return code;
  if (const int code = ReadHostLimit(request, &setting.host_limit); code != kDone) return code;
  Plans plans(request);
  std::unique_ptr<tarsia_graph_plan> made;
  int code = plans.Read(module, setting.devices[0]);
  if (code == kDone) code = plans.Make(setting.rank, setting.ranks, &made);
  if (code != kDone) return code;
  const Plan& plan = made->plan;
  const ConcreteGraph& graph = made->graph;
  if (setting.ranks > 1 && !plan.share) {
    PrintNote(fmt::format("`{}` has no axis that {} ranks can share: one computes all",
                          graph.name(), setting.ranks));
  }
  const bool speaks = setting.process.rank == 0;
  if (speaks) code = WriteCertificates(request, setting, &plans, *made);
  if (code == kDone && speaks && !request.svg.empty()) {
    code = WriteText(request.svg, ArenaSvg(plan, graph));
  }
  if (code != kDone) return code;
  if (!request.emit.empty()) {
    PrintOut(request.emit == "graph" ? Print(graph.module()) : plan.Text());
    return kDone;
  }
  std::FILE* const to = request.certificate == "-" || request.svg == "-" ? stderr : stdout;
  if (request.explain) PrintText(to, ExplainPlan(plan, graph));
  if (!request.dry_run) {
    return Execute(request, setting, module, &plans, std::move(made), silence);
  }
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
  command.Value("--host-limit", "BYTES", &request->host_limit,
                "The most memory of the host for transfers to and from a GPU, of each rank; 1MiB "
                "without it");
  command.Flag("--fast", &request->fast,
               "Allow squared distances as |a|^2 + |b|^2 - 2 a.b, with an error relative to their "
               "operands, not to themselves");
  command.Flag("--strict-order", &request->strict_order,
               "Split no axis along which a reduction goes, so that one loop adds each sum");
  command.Flag("--no-recompute", &request->no_recompute,
               "Keep the result of each reduction in memory, so that none is computed again");
  command.Values("--in", "NAME=FILE", &request->inputs,
                 "An input: a.npy, m.safetensors:TENSOR, - for a .npy on standard input; a number "
                 "for an input without axes");
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
  command.Value(
      "--device", "D", &request->device,
      "The device; see `tarsia devices`. Several that share the work: cuda:all, or a list "
      "as cuda:0,cuda:2; the limit is that of each");
  command.Value(
      "--share", "R/N", &request->share,
      "With --dry-run or --emit: the plan of rank R of N, as mpirun or N devices have it");
  command.Count("--threads", "N", &request->threads, "Number of CPU threads; the default is all");
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
  const ProcessRank process = RankOfProcess();
  std::optional<Silence> silence;
  if (process.rank != 0) silence.emplace();
  Handle<tarsia_module> module;
  int code = LoadModule(request.file, &module);
  if (code == kDone) code = PlanAndRun(request, *module, process, &silence);
  if (code != kDone && silence) LetRankZeroSpeak(process, &silence);
  return code;
}

}  // namespace tarsia::tools
