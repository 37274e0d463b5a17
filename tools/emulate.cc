// tarsia emulate: PTX of any producer on the PTX emulator, with its checks and counts.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "dtypes/convert.h"
#include "runtime/file.h"
#include "tools/commands.h"
#include "tools/emulate_args.h"
#include "tools/emulate_report.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "vm/ptx/emulator.h"
#include "vm/ptx/occupancy.h"

namespace tarsia::tools {
namespace {

constexpr std::string_view kKinds[] = {
#define PTX_FINDING(constant, name) name,
#include "vm/ptx/findings.def"
#undef PTX_FINDING
};

struct EmulateRequest {
  std::string file;
  std::string entry;  // "": the only one
  std::string grid = "1";
  std::optional<std::string> block;
  std::optional<std::string> cluster;
  std::optional<std::string> blocks;
  uint32_t shared = 0;
  uint32_t heap = ptx::Heap::kDefaultBytes;
  uint32_t limit = 0;
  uint32_t threads = 0;
  uint32_t registers = 0;
  std::vector<std::string> args;
  std::vector<std::string> ignored;
  bool json = false;
  bool counts = false;
  bool keep = false;
  bool no_checks = false;
};

// "16", "16,4" or "16,4,2".
bool ParseDim(std::string_view text, ptx::Dim3* out) {
  uint32_t* const parts[] = {&out->x, &out->y, &out->z};
  for (uint32_t* part : parts) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto value = ParseValue(*FindDType("u32"), text.substr(0, comma));
    if (!value || *value == 0) return false;
    *part = static_cast<uint32_t>(*value);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

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

int ConfigOf(const EmulateRequest& request, const Command& command, ptx::LaunchConfig* config) {
  if (!ParseDim(request.grid, &config->grid)) {
    return command.Misuse("--grid " + request.grid + ": no size such as 16,4");
  }
  if (request.block && !ParseDim(*request.block, &config->block)) {
    return command.Misuse("--block " + *request.block + ": no size such as 32,4");
  }
  ptx::Dim3 cluster;
  if (request.cluster && !ParseDim(*request.cluster, &cluster)) {
    return command.Misuse("--cluster " + *request.cluster + ": no size such as 2,1");
  }
  if (request.cluster) config->cluster = cluster;
  if (request.blocks && !ParseRange(*request.blocks, config)) {
    return command.Misuse("--blocks " + *request.blocks + ": no range such as 0..16");
  }
  config->checks = !request.no_checks;
  config->dynamic_shared = request.shared;
  config->instruction_limit = request.limit;
  config->counts = request.counts;
  const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
  config->host_threads = static_cast<int>(request.threads != 0 ? request.threads : cores);
  return kDone;
}

int CheckIgnored(const EmulateRequest& request, const Command& command) {
  for (const std::string& kind : request.ignored) {
    if (std::ranges::find(kKinds, kind) != std::end(kKinds)) continue;
    std::string help = DidYouMean(kind, kKinds);
    if (help.empty()) help = fmt::format("there is {}", fmt::join(kKinds, ", "));
    return command.Misuse("--ignore " + kind + ": there is no such finding", help);
  }
  return kDone;
}

// ---- the module --------------------------------------------------------------------------------

// A module in a memory, and what is needed to talk of it.
struct Loaded {
  SourceFile source;
  std::shared_ptr<const ptx::Module> module;
  ptx::Memory memory;
  std::unique_ptr<ptx::Image> image;
  const ptx::Function* entry = nullptr;
};

// {"ok": false, "findings": [..], "errors": [..]}: what the table lacks is a finding as well.
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
  const std::string errors = diagnostics.Render(loaded.source, WantsColor());
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

// What is wrong with the functions that the entry comes to.
int CheckEntry(const EmulateRequest& request, const Loaded& loaded) {
  Diagnostics diagnostics;
  for (const ptx::Function* function : loaded.module->BrokenFrom(*loaded.entry)) {
    for (const Diagnostic& error : function->errors) diagnostics.Add(error);
  }
  diagnostics.Sort();
  return diagnostics.ok() ? kDone : Reject(request, loaded, diagnostics);
}

// What is wrong elsewhere does not keep the entry from being run.
void WarnOfOthers(const Loaded& loaded) {
  for (const Diagnostic& error : loaded.module->errors) {
    PrintWarning(fmt::format("{}:{}:{}: {}", loaded.source.name(), error.location.line,
                             error.location.column, error.message));
  }
  for (const ptx::Function& function : loaded.module->functions) {
    const ptx::EntryImage* entry = loaded.image->FindEntry(function.name);
    if (entry == nullptr || entry->entry == loaded.entry || !entry->refusal) continue;
    PrintWarning(entry->refusal->message);
  }
}

int FindEntry(const EmulateRequest& request, Loaded* out) {
  std::vector<std::string_view> names;
  for (const ptx::Function& function : out->module->functions) {
    if (!function.entry) continue;
    names.push_back(function.name);
    if (request.entry.empty() || function.name == request.entry) out->entry = &function;
  }
  if (out->entry != nullptr && (!request.entry.empty() || names.size() == 1)) return kDone;
  const std::string list = fmt::format("it has {}", fmt::join(names, ", "));
  if (names.empty()) {
    Diagnostics diagnostics;
    for (const Diagnostic& error : out->module->errors) diagnostics.Add(error);
    if (!diagnostics.ok()) return Reject(request, *out, diagnostics);
    PrintError(fmt::format("{} has no entry", out->source.name()));
    return kRejected;
  }
  if (request.entry.empty()) {
    PrintError(fmt::format("{} has several entries; say which with --entry", out->source.name()),
               list);
    return kUsage;
  }
  std::string help = DidYouMean(request.entry, names);
  if (help.empty()) help = list;
  PrintError(fmt::format("{} has no entry `{}`", out->source.name(), request.entry), help);
  return kUsage;
}

int Load(const EmulateRequest& request, Loaded* out) {
  if (const int code = Parse(request, out); code != kDone) return code;
  if (const int code = FindEntry(request, out); code != kDone) return code;
  if (const int code = CheckEntry(request, *out); code != kDone) return code;
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

// ---- the launch --------------------------------------------------------------------------------

struct Outcome {
  ptx::LaunchReport report;
  double seconds = 0;
  std::string target;
  std::optional<ptx::Occupancy> occupancy;
};

Result<ptx::LaunchReport> LaunchWithProgress(const Loaded& loaded, ptx::LaunchConfig config) {
  ProgressBar progress("blocks");
  if (ProgressBar::wanted()) {
    config.progress = [&](uint64_t done, uint64_t total) { progress.Show(done, total); };
  }
  return ptx::Launch(*loaded.image, loaded.entry->name, config);
}

void AddOccupancy(const EmulateRequest& request, const Loaded& loaded,
                  const ptx::LaunchConfig& config, Outcome* out) {
  out->target = loaded.module->targets.front();
  const ptx::SmLimits* limits = ptx::FindSmLimits(out->target);
  if (limits == nullptr) return;
  const ptx::EntryImage* image = loaded.image->FindEntry(loaded.entry->name);
  out->occupancy =
      ptx::FindOccupancy(*limits, {static_cast<uint32_t>(config.block.Count()), request.registers,
                                   image->dynamic_offset + config.dynamic_shared});
}

std::string TimeText(double seconds) {
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string SummaryText(const Loaded& loaded, const EmulateArgs& args, const Outcome& outcome,
                        bool written) {
  const ptx::LaunchReport& report = outcome.report;
  std::string text = loaded.entry->name + ":";
  for (const EmulateArgs::Output& output : args.outputs()) {
    if (!written) break;
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

std::string SummaryJson(const Loaded& loaded, const Outcome& outcome) {
  const ptx::LaunchReport& report = outcome.report;
  Json json;
  json.Begin('{').Key("ok").Bool(report.ok()).Key("entry").String(loaded.entry->name);
  json.Key("blocks").Number(static_cast<int64_t>(report.blocks));
  json.Key("finished").Bool(report.finished);
  json.Key("warp_instructions").Number(static_cast<int64_t>(report.warp_instructions));
  json.Key("thread_instructions").Number(static_cast<int64_t>(report.thread_instructions));
  json.Key("findings");
  AppendFindings(report, *loaded.module, &json);
  if (!report.counts.instructions.empty()) {
    json.Key("counts");
    AppendCounts(report.counts, *loaded.module, &json);
  }
  if (outcome.occupancy) {
    json.Key("occupancy");
    AppendOccupancy(outcome.target, *outcome.occupancy, &json);
  }
  return json.End('}').Take();
}

void DropIgnored(const EmulateRequest& request, ptx::LaunchReport* report) {
  std::erase_if(report->findings, [&](const ptx::Finding& finding) {
    return std::ranges::find(request.ignored, ptx::NameOf(finding.kind)) != request.ignored.end();
  });
}

// Prints what there is to say and writes the outputs; returns the exit code.
int Finish(const EmulateRequest& request, const Loaded& loaded, const EmulateArgs& args,
           const Outcome& outcome) {
  const bool ok = outcome.report.ok();
  std::FILE* const to = args.TakesStdout() ? stderr : stdout;
  const std::string& printed = outcome.report.output;
  std::fwrite(printed.data(), 1, printed.size(), request.json ? stderr : to);
  PrintFindings(outcome.report, *loaded.module, loaded.source);
  const bool writes = ok || request.keep;
  if (writes) {
    if (const int code = args.WriteOutputs(loaded.memory); code != kDone) return code;
  }
  const std::string summary =
      request.json ? SummaryJson(loaded, outcome) : SummaryText(loaded, args, outcome, writes);
  std::fwrite(summary.data(), 1, summary.size(), to);
  if (ok) return kDone;
  const bool lost = !writes && !args.outputs().empty();
  PrintError(outcome.report.findings.empty() ? "the kernel did not run to its end"
             : lost                          ? "the kernel has faults; no output is written"
                                             : "the kernel has faults");
  return kRejected;
}

int RunKernel(const EmulateRequest& request, ptx::LaunchConfig config, Loaded* loaded) {
  EmulateArgs args;
  if (const int code = args.Bind(*loaded->entry, request.args, &loaded->memory); code != kDone) {
    return code;
  }
  config.parameters = args.block();
  const auto& required = loaded->entry->required_threads;
  if (!request.block && required[0] != 0) config.block = {required[0], required[1], required[2]};
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  auto report = LaunchWithProgress(*loaded, config);
  if (!report.ok()) {
    PrintError(report.error());
    return kRejected;
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  outcome.seconds = spent.count();
  outcome.report = *std::move(report);
  DropIgnored(request, &outcome.report);
  if (request.counts) AddOccupancy(request, *loaded, config, &outcome);
  return Finish(request, *loaded, args, outcome);
}

void Declare(Command& command, EmulateRequest* request) {
  command.Positional("FILE", &request->file, "The PTX; - is standard input");
  command.Value("--entry", "NAME", &request->entry,
                "The kernel; may be left out if there is only one");
  command.Value("--grid", "X[,Y,Z]", &request->grid, "How many blocks; 1 if left out");
  command.Value("--block", "X[,Y,Z]", &request->block,
                "How many threads a block; what .reqntid says if left out, else 1");
  command.Value("--cluster", "X[,Y,Z]", &request->cluster, "How many blocks a cluster");
  command.Number("--shared", "BYTES", &request->shared, "Dynamic shared memory of a block");
  command.Number("--heap", "BYTES", &request->heap,
                 "What malloc on the device takes from; 8388608 if left out");
  command.Values("--arg", "ARG", &request->args,
                 "A parameter, in the kernel's order: i32:5, f32:1.5, bytes:HEX, null, in:a.npy, "
                 "out:c.npy:f32[16,16], inout:b.npy, zeros:BYTES, room:BYTES (never written), "
                 "tmap:a.npy:box=64,64:swizzle=128");
  command.Flag("--counts", &request->counts,
               "Count instructions, sectors, wavefronts, bytes, by line");
  command.Number("--registers", "N", &request->registers,
                 "Registers of a thread, as ptxas says, for the occupancy that --counts prints");
  command.Value("--blocks", "A..B", &request->blocks,
                "Run only the blocks of these numbers, x fastest, B excluded");
  command.Values("--ignore", "KIND", &request->ignored, "Drop findings of a kind, such as race");
  command.Number("--limit", "N", &request->limit,
                 "Stop after so many instructions of warps and say where each warp stands");
  command.Flag("--keep", &request->keep, "Write outputs also when something was found");
  command.Flag("--no-checks", &request->no_checks, "Look for no faults; faster");
  command.Number("--threads", "N", &request->threads,
                 "How many threads of the CPU; all if left out");
  command.Flag("--json", &request->json, "Findings and counts as JSON");
}

}  // namespace

int Emulate(const Args& args) {
  Command command("emulate",
                  "Runs a kernel of PTX on the CPU, checks all that it does, and counts.",
                  {"tarsia compile examples/matmul.tsa --set K=64 --set N=32 --set W=u8 --target "
                   "sm_80 -o m.ptx && tarsia emulate m.ptx --shared 16384 --arg in:x.npy --arg "
                   "in:w.npy --arg out:y.npy:f16[4,32] --arg i32:4 --counts"});
  EmulateRequest request;
  Declare(command, &request);
  if (const auto code = command.Parse(args)) return *code;
  ptx::LaunchConfig config;
  if (const int code = ConfigOf(request, command, &config); code != kDone) return code;
  if (const int code = CheckIgnored(request, command); code != kDone) return code;
  Loaded loaded;
  const int code = Load(request, &loaded);
  return code == kDone ? RunKernel(request, config, &loaded) : code;
}

}  // namespace tarsia::tools
