// tarsia emulate: runs PTX from any producer on the PTX emulator, with its checks and counts.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <span>
#include <thread>

#include "dtypes/convert.h"
#include "ptx/count/occupancy.h"
#include "ptx/machine/emulator.h"
#include "runtime/files/file.h"
#include "tools/commands.h"
#include "tools/emulate/args.h"
#include "tools/emulate/entry.h"
#include "tools/emulate/ignore.h"
#include "tools/emulate/launches.h"
#include "tools/emulate/report.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/progress.h"

namespace tarsia::tools {
namespace {

// Ends an endless kernel after about a minute.
constexpr uint32_t kDefaultLimit = 100'000'000;

// The words for ptx::Approximations, in its order.
constexpr std::string_view kApproximationWords[] = {"best", "low", "high", "mixed"};

struct EmulateRequest {
  std::string file;
  std::optional<std::string> launches;  // the file of --launch
  std::string entry;                    // "": the only one
  std::optional<std::string> grid;
  std::optional<std::string> block;
  std::optional<std::string> cluster;
  std::optional<std::string> blocks;
  uint32_t shared = 0;
  uint32_t heap = ptx::Heap::kDefaultBytes;
  uint32_t limit = kDefaultLimit;
  uint32_t seed = 0;
  std::string approximations = "best";  // of kApproximationWords
  uint32_t threads = 0;
  uint32_t registers = 0;
  std::vector<std::string> args;
  std::vector<std::string> ignored;
  std::vector<std::string> suppressions;  // files
  bool json = false;
  bool counts = false;
  bool keep = false;
  bool no_checks = false;
};

// "A..B".
bool ParseRange(const std::string& text, ptx::LaunchConfig* config) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  const auto first = ParseValue(*FindDType("u64"), text.substr(0, dots));
  const auto end = ParseValue(*FindDType("u64"), text.substr(dots + 2));
  if (!first || !end || *first >= *end) return false;
  config->first_block = *first;
  config->end_block = *end;
  return true;
}

// The options that all launches have in common.
int ConfigOf(const EmulateRequest& request, const Command& command, ptx::LaunchConfig* config) {
  if (request.blocks && !ParseRange(*request.blocks, config)) {
    return command.Misuse("--blocks " + *request.blocks + ": no range such as 0..16");
  }
  config->checks = !request.no_checks;
  config->instruction_limit = request.limit;
  config->seed = request.seed;
  const auto* const word = std::ranges::find(kApproximationWords, request.approximations);
  config->approximations = static_cast<ptx::Approximations>(word - kApproximationWords);
  config->counts = request.counts;
  const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
  config->host_threads = static_cast<int>(request.threads != 0 ? request.threads : cores);
  return kDone;
}

// The launch of the command line.
int LaunchOf(const EmulateRequest& request, const Command& command, EmulatedLaunch* out) {
  const auto parse = [&](const char* option, const char* such, const std::string& text,
                         ptx::Dim3* dim) {
    if (ParseDim(text, dim)) return kDone;
    return command.Misuse(fmt::format("{} {}: no size such as {}", option, text, such));
  };
  int code = kDone;
  if (request.grid) code = parse("--grid", "16,4", *request.grid, &out->grid);
  if (code == kDone && request.block) {
    code = parse("--block", "32,4", *request.block, &out->block.emplace());
  }
  if (code == kDone && request.cluster) {
    code = parse("--cluster", "2,1", *request.cluster, &out->cluster.emplace());
  }
  out->entry = request.entry;
  out->shared = request.shared;
  out->args = request.args;
  return code;
}

int LaunchesOf(const EmulateRequest& request, const Command& command,
               std::vector<EmulatedLaunch>* out) {
  if (!request.launches) return LaunchOf(request, command, &out->emplace_back());
  const bool says_more = !request.entry.empty() || request.grid || request.block ||
                         request.cluster || request.blocks || request.shared != 0 ||
                         !request.args.empty();
  if (says_more) {
    return command.Misuse(
        "--launch is not possible with --entry, --grid, --block, --cluster, --blocks, --shared or "
        "--arg",
        "the file says them for each launch");
  }
  return ReadLaunches(*request.launches, out);
}

// ---- the module --------------------------------------------------------------------------------

// A module in memory, and the data for messages about it.
struct Loaded {
  SourceFile source;
  std::shared_ptr<const ptx::Module> module;
  ptx::Memory memory;
  std::unique_ptr<ptx::Image> image;
  std::vector<const ptx::Function*> entries;  // of the launches
};

// {"ok": false, "findings": [..], "errors": [..]}: an unknown instruction is also a finding.
std::string ErrorsJson(const Diagnostics& diagnostics) {
  constexpr std::string_view kUnknown[] = {"unknown-instruction", "unknown-modifier",
                                           "missing-modifier", "no-such-form", "unknown-directive"};
  Json json;
  json.Begin('{').Key("ok").Bool(false).Key("findings").Begin('[');
  for (const Diagnostic& error : diagnostics.list()) {
    if (std::ranges::find(kUnknown, error.info->id) == std::end(kUnknown)) continue;
    json.Begin('{').Key("kind").String("unknown_instruction");
    json.Key("line").Number(error.location.line).Key("column").Number(error.location.column);
    json.Key("message").String(error.message).End('}');
  }
  json.End(']').Key("errors").Begin('[');
  for (const Diagnostic& error : diagnostics.list()) {
    json.Begin('{').Key("line").Number(error.location.line);
    json.Key("column").Number(error.location.column).Key("id").String(error.info->id);
    json.Key("message").String(error.message).Key("help").String(error.help).End('}');
  }
  return json.End(']').End('}').Take();
}

int Reject(const EmulateRequest& request, const Loaded& loaded, const Diagnostics& diagnostics) {
  if (request.json) PrintOut(ErrorsJson(diagnostics));
  const std::string errors = diagnostics.Render(loaded.source, IsColorTerminal());
  std::fwrite(errors.data(), 1, errors.size(), stderr);
  return kRejected;
}

int Parse(const EmulateRequest& request, Loaded* out) {
  auto text = ReadFile(request.file);
  if (!text.ok()) {
    PrintError(text.error());
    return kRejected;
  }
  out->source = SourceFile(DisplayName(request.file), *std::move(text));
  Diagnostics diagnostics;
  out->module = ptx::ParseModuleInParts(out->source, &diagnostics);
  return out->module != nullptr ? kDone : Reject(request, *out, diagnostics);
}

// Reports the errors of the functions that an entry reaches.
int CheckEntry(const EmulateRequest& request, const Loaded& loaded, const ptx::Function& entry) {
  Diagnostics diagnostics;
  for (const ptx::Function* function : loaded.module->BrokenFrom(entry)) {
    for (const Diagnostic& error : function->errors) diagnostics.Add(error);
  }
  diagnostics.Sort();
  return diagnostics.ok() ? kDone : Reject(request, loaded, diagnostics);
}

// Warns of errors elsewhere, which do not prevent the entries from running.
void WarnOfOthers(const Loaded& loaded) {
  for (const Diagnostic& error : loaded.module->errors) {
    PrintWarning(fmt::format("{}:{}:{}: {}", loaded.source.name(), error.location.line,
                             error.location.column, error.message));
  }
  for (const ptx::Function& function : loaded.module->functions) {
    const ptx::EntryImage* entry = loaded.image->FindEntry(function.name);
    if (entry == nullptr || !entry->refusal) continue;
    if (std::ranges::find(loaded.entries, entry->entry) != loaded.entries.end()) continue;
    PrintWarning(entry->refusal->message);
  }
}

// Finds the entries of the launches and checks that all can run.
int ChooseEntries(const EmulateRequest& request, const std::vector<EmulatedLaunch>& launches,
                  Loaded* out) {
  const bool none = std::ranges::none_of(out->module->functions, &ptx::Function::entry);
  if (none && !out->module->errors.empty()) {
    Diagnostics diagnostics;
    for (const Diagnostic& error : out->module->errors) diagnostics.Add(error);
    return Reject(request, *out, diagnostics);
  }
  for (const EmulatedLaunch& launch : launches) {
    const ptx::Function* entry = nullptr;
    int code = ChooseEntry(*out->module, launch.entry, &entry);
    if (code == kDone) code = CheckEntry(request, *out, *entry);
    if (code != kDone) return code;
    out->entries.push_back(entry);
  }
  return kDone;
}

int Load(const EmulateRequest& request, const std::vector<EmulatedLaunch>& launches, Loaded* out) {
  if (const int code = Parse(request, out); code != kDone) return code;
  if (const int code = ChooseEntries(request, launches, out); code != kDone) return code;
  out->memory.SetHeapBytes(request.heap);
  auto image = ptx::Image::Load(out->module, &out->memory);
  if (!image.ok()) {
    PrintError(image.error());
    return kRejected;
  }
  out->image = *std::move(image);
  WarnOfOthers(*out);
  return kDone;
}

// ---- the launches ------------------------------------------------------------------------------

struct Outcome {
  const ptx::Function* entry = nullptr;
  ptx::LaunchReport report;
  double seconds = 0;
  std::string target;
  std::optional<ptx::Occupancy> occupancy;
};

Result<ptx::LaunchReport> LaunchWithProgress(const Loaded& loaded, const ptx::Function& entry,
                                             ptx::LaunchConfig config) {
  ProgressBar progress("blocks");
  if (ProgressBar::wanted()) {
    config.progress = [&](uint64_t done, uint64_t total) { progress.Show(done, total); };
  }
  return ptx::Launch(*loaded.image, entry.name, config);
}

void AddOccupancy(const EmulateRequest& request, const Loaded& loaded,
                  const ptx::LaunchConfig& config, Outcome* out) {
  out->target = loaded.module->targets.front();
  const ptx::SmLimits* limits = ptx::FindSmLimits(out->target);
  if (limits == nullptr) return;
  const ptx::EntryImage* image = loaded.image->FindEntry(out->entry->name);
  out->occupancy =
      ptx::FindOccupancy(*limits, {static_cast<uint32_t>(config.block.Count()), request.registers,
                                   image->dynamic_offset + config.dynamic_shared});
}

// Names the option of the limit in the report of a launch that the limit stopped.
void NameLimit(const EmulateRequest& request, ptx::LaunchReport* report) {
  if (request.limit == 0 || report->warp_instructions <= request.limit) return;
  for (ptx::Finding& finding : report->findings) {
    if (finding.kind != ptx::FindingKind::kLimit) continue;
    const bool by_default = request.limit == kDefaultLimit;
    finding.message += fmt::format("; --limit N allows more{}, --limit 0 any number",
                                   by_default ? " than this, the default" : "");
  }
}

std::string TimeText(double seconds) {
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

// `outputs`: the outputs that the line names, or null.
std::string SummaryText(const Loaded& loaded, const EmulateArgs* outputs, const Outcome& outcome) {
  const ptx::LaunchReport& report = outcome.report;
  std::string text = Demangled(outcome.entry->name) + ":";
  for (const EmulateArgs::Output& output :
       outputs == nullptr ? std::span<const EmulateArgs::Output>() : outputs->outputs()) {
    text += fmt::format(" {},", output.path == "-" ? "standard output" : output.path);
  }
  text += fmt::format(" {} block{}, {} instructions of warps, {} of threads, {}\n", report.blocks,
                      report.blocks == 1 ? "" : "s", report.warp_instructions,
                      report.thread_instructions, TimeText(outcome.seconds));
  if (!report.counts.instructions.empty()) {
    text += CountsText(report.counts, loaded.source);
    if (outcome.occupancy) text += OccupancyText(outcome.target, *outcome.occupancy);
  }
  return text;
}

void AppendSummary(const Loaded& loaded, const Outcome& outcome, Json* json) {
  const ptx::LaunchReport& report = outcome.report;
  json->Begin('{').Key("ok").Bool(report.ok()).Key("entry").String(outcome.entry->name);
  const std::string demangled = Demangled(outcome.entry->name);
  if (demangled != outcome.entry->name) json->Key("demangled").String(demangled);
  json->Key("blocks").Number(static_cast<int64_t>(report.blocks));
  json->Key("finished").Bool(report.finished);
  json->Key("warp_instructions").Number(static_cast<int64_t>(report.warp_instructions));
  json->Key("thread_instructions").Number(static_cast<int64_t>(report.thread_instructions));
  json->Key("milliseconds").Raw(fmt::format("{:.3f}", outcome.seconds * 1e3));
  json->Key("findings");
  AppendFindings(report, *loaded.module, json);
  if (!report.counts.instructions.empty()) {
    json->Key("counts");
    AppendCounts(report.counts, *loaded.module, json);
  }
  if (outcome.occupancy) {
    json->Key("occupancy");
    AppendOccupancy(outcome.target, *outcome.occupancy, json);
  }
  json->End('}');
}

std::string AllSummariesJson(const Loaded& loaded, const std::vector<Outcome>& outcomes, bool ok) {
  double seconds = 0;
  for (const Outcome& outcome : outcomes) seconds += outcome.seconds;
  Json json;
  json.Begin('{').Key("ok").Bool(ok);
  json.Key("milliseconds").Raw(fmt::format("{:.3f}", seconds * 1e3));
  json.Key("launches").Begin('[');
  for (const Outcome& outcome : outcomes) AppendSummary(loaded, outcome, &json);
  return json.End(']').End('}').Take();
}

// All launches of a command in one memory.
class Session {
 public:
  Session(const EmulateRequest& request, ptx::LaunchConfig config, Loaded* loaded,
          Suppressions* suppressions)
      : request_(request),
        config_(std::move(config)),
        loaded_(*loaded),
        suppressions_(*suppressions),
        args_(&loaded->memory) {}

  int Run(const std::vector<EmulatedLaunch>& launches) {
    for (const EmulatedLaunch& launch : launches) {
      if (const int code = RunOne(launch); code != kDone) return code;
      if (!outcomes_.back().report.finished) break;  // later launches would see incomplete results
    }
    all_ran_ = outcomes_.size() == launches.size();
    return Finish();
  }

 private:
  int RunOne(const EmulatedLaunch& launch) {
    Outcome outcome;
    outcome.entry = loaded_.entries[outcomes_.size()];
    const std::string label = request_.launches
                                  ? fmt::format("{}: [{}]: ", *request_.launches, outcomes_.size())
                                  : "--arg ";
    if (const int code = args_.Bind(*outcome.entry, launch.args, label); code != kDone) return code;
    ptx::LaunchConfig config = config_;
    config.parameters = args_.block();
    config.grid = launch.grid;
    config.dynamic_shared = launch.shared;
    if (launch.cluster) config.cluster = *launch.cluster;
    const auto& required = outcome.entry->required_threads;
    if (required[0] != 0) config.block = {required[0], required[1], required[2]};
    if (launch.block) config.block = *launch.block;
    const auto start = std::chrono::steady_clock::now();
    auto report = LaunchWithProgress(loaded_, *outcome.entry, config);
    if (!report.ok()) {
      PrintError(report.error());
      return kRejected;
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    outcome.seconds = spent.count();
    outcome.report = *std::move(report);
    NameLimit(request_, &outcome.report);
    suppressions_.Apply(*loaded_.module, &outcome.report);
    if (request_.counts) AddOccupancy(request_, loaded_, config, &outcome);
    outcomes_.push_back(std::move(outcome));
    return kDone;
  }

  // Prints the results and writes the outputs; returns the exit code.
  int Finish() {
    const bool ok = all_ran_ && std::ranges::all_of(outcomes_, [](const Outcome& outcome) {
                      return outcome.report.ok();
                    });
    std::FILE* const to = args_.TakesStdout() ? stderr : stdout;
    for (const Outcome& outcome : outcomes_) {
      const std::string& printed = outcome.report.output;
      PrintText(request_.json ? stderr : to, printed);
      PrintFindings(outcome.report, *loaded_.module, loaded_.source);
    }
    suppressions_.NoteUnused();
    const bool writes = ok || request_.keep;
    if (writes) {
      if (const int code = args_.WriteOutputs(); code != kDone) return code;
    }
    const std::string summary = Summary(ok, writes);
    PrintText(to, summary);
    return ok ? kDone : Fail(writes);
  }

  [[nodiscard]] std::string Summary(bool ok, bool writes) const {
    Json json;
    if (request_.json && request_.launches) return AllSummariesJson(loaded_, outcomes_, ok);
    if (request_.json) {
      AppendSummary(loaded_, outcomes_.front(), &json);
      return json.Take();
    }
    std::string text;
    for (const Outcome& outcome : outcomes_) {
      const bool last = &outcome == &outcomes_.back();
      text += SummaryText(loaded_, last && writes ? &args_ : nullptr, outcome);
    }
    return text;
  }

  [[nodiscard]] int Fail(bool writes) const {
    const bool lost = !writes && !args_.outputs().empty();
    const bool found = std::ranges::any_of(
        outcomes_, [](const Outcome& outcome) { return !outcome.report.findings.empty(); });
    PrintError(!found ? "the kernel did not run to its end"
               : lost ? "the kernel has faults; no output is written"
                      : "the kernel has faults");
    return kRejected;
  }

  const EmulateRequest& request_;
  const ptx::LaunchConfig config_;
  Loaded& loaded_;
  Suppressions& suppressions_;
  EmulateArgs args_;
  std::vector<Outcome> outcomes_;
  bool all_ran_ = false;
};

void Declare(Command& command, EmulateRequest* request) {
  command.Positional("FILE", &request->file, "The PTX; - is standard input");
  command.Value(
      "--entry", "NAME", &request->entry,
      "The kernel: its name in PTX or C++, or a part of the name that no other kernel has; "
      "optional if there is only one");
  command.Value("--grid", "X[,Y,Z]", &request->grid, "Number of blocks; the default is 1");
  command.Value("--block", "X[,Y,Z]", &request->block,
                "Threads per block; the default is the value of .reqntid, or 1");
  command.Value("--cluster", "X[,Y,Z]", &request->cluster, "Blocks per cluster");
  command.Number("--shared", "BYTES", &request->shared, "Dynamic shared memory of a block");
  command.Number("--heap", "BYTES", &request->heap,
                 "Size of the heap for malloc on the device; the default is 8388608");
  command.Values("--arg", "ARG", &request->args,
                 "An argument, in the order of the kernel's parameters: i32:5, f32:1.5, bytes:HEX, "
                 "null, in:a.npy, "
                 "out:c.npy:f32[16,16], inout:b.npy, zeros:BYTES, room:BYTES (never written), "
                 "alias:N+BYTES (into the memory of argument N, from 0), "
                 "tmap:a.npy:box=64,64:swizzle=128, struct:ARG;ARG");
  command.Value("--launch", "FILE", &request->launches,
                "Run several launches on one memory, from JSON: [{\"entry\", \"grid\", \"block\", "
                "\"cluster\", \"shared\", \"args\"}, ..]");
  command.Flag("--counts", &request->counts,
               "Count instructions, sectors, wavefronts and bytes, by line");
  command.Number("--registers", "N", &request->registers,
                 "Registers per thread that ptxas reports, for the occupancy that --counts prints");
  command.Value("--blocks", "A..B", &request->blocks,
                "Run only the blocks with these linear indices (x varies fastest), B excluded");
  command.Values("--ignore", "KIND[@FILE:LINE]", &request->ignored,
                 "Suppress findings of a kind, such as race, or only those at a line");
  command.Values(
      "--suppressions", "FILE", &request->suppressions,
      "Read suppressions from a file: KIND or KIND@FILE:LINE on each line, # for comments");
  command.Number(
      "--limit", "N", &request->limit,
      "Stop a launch after this many warp instructions and print where each warp is; the "
      "default is 100000000; 0 means no limit");
  command.Number("--seed", "N", &request->seed,
                 "Start the blocks in another order for each N; 0, the default, is the order of "
                 "their indices");
  command.Choice("--approximations", &request->approximations,
                 {std::begin(kApproximationWords), std::end(kApproximationWords)},
                 "Where the results of approximate instructions lie: best, rounded from the true "
                 "result, low or high, at that end of the error that PTX states, or mixed");
  command.Flag("--keep", &request->keep, "Write outputs even after findings");
  command.Flag("--no-checks", &request->no_checks, "Do not check for faults; faster");
  command.Count("--threads", "N", &request->threads, "Number of CPU threads; the default is all");
  command.Flag("--json", &request->json, "Print findings and counts as JSON");
}

}  // namespace

int Emulate(const Args& args) {
  Command command(
      "emulate",
      "Runs a kernel in PTX on the CPU, checks all its accesses, and counts its operations.",
      {"tarsia compile examples/matmul.tsa --set K=64 --set N=32 --set W=u8 --target "
       "sm_80 -o m.ptx && tarsia emulate m.ptx --shared 32768 --arg in:x.npy --arg "
       "in:w.npy --arg out:y.npy:f16[4,32] --arg i32:4 --counts"});
  EmulateRequest request;
  Declare(command, &request);
  if (const auto code = command.Parse(args)) return *code;
  ptx::LaunchConfig config;
  if (const int code = ConfigOf(request, command, &config); code != kDone) return code;
  Suppressions suppressions;
  if (const int code = suppressions.Add(request.ignored, command); code != kDone) return code;
  for (const std::string& file : request.suppressions) {
    if (const int code = suppressions.AddFile(file); code != kDone) return code;
  }
  std::vector<EmulatedLaunch> launches;
  if (const int code = LaunchesOf(request, command, &launches); code != kDone) return code;
  Loaded loaded;
  if (const int code = Load(request, launches, &loaded); code != kDone) return code;
  return Session(request, std::move(config), &loaded, &suppressions).Run(launches);
}

}  // namespace tarsia::tools
