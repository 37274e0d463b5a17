#include "tools/cost/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/assemble/assemble.h"
#include "compiler/target.h"
#include "layout/access.h"
#include "runtime/api/args.h"
#include "runtime/api/handles.h"
#include "runtime/devices/code.h"
#include "runtime/devices/device.h"
#include "tools/command.h"
#include "tools/device_args.h"
#include "tools/modules.h"
#include "tools/output.h"

namespace tarsia::tools {

size_t CostLine::MachineCount() const {
  return std::accumulate(machine.begin(), machine.end(), size_t{0});
}

// The compiler itself does not use local memory.
size_t CostLine::Spills() const {
  return machine[static_cast<size_t>(compiler::SassClass::kLocal)];
}

bool CostLine::Empty() const { return counts == ptx::Counts() && MachineCount() == 0; }

std::vector<std::string> RemarksOn(const CostLine& line) {
  std::vector<std::string> remarks;
  const auto times = [](uint64_t actual, uint64_t ideal) {
    const double ratio = static_cast<double>(actual) / static_cast<double>(ideal);
    return actual % ideal == 0 ? fmt::format("{:.0f} times", ratio)
                               : fmt::format("{:.2f} times", ratio);
  };
  const ptx::Counts& counts = line.counts;
  if (counts.global_sectors > counts.global_ideal_sectors) {
    remarks.push_back(times(counts.global_sectors, counts.global_ideal_sectors) +
                      " the ideal sectors");
  }
  if (counts.shared_wavefronts > counts.shared_ideal_wavefronts) {
    remarks.push_back(times(counts.shared_wavefronts, counts.shared_ideal_wavefronts) +
                      " the ideal wavefronts");
  }
  if (line.Spills() != 0) remarks.push_back(fmt::format("{} spill instructions", line.Spills()));
  remarks.insert(remarks.end(), line.advice.begin(), line.advice.end());
  return remarks;
}

namespace {

// ---- the launch --------------------------------------------------------------------------------

// Runs the program once and counts.
int Count(const tarsia_plan* plan, RunArgs* args, ptx::LaunchCounts* counts, CostReport* out) {
  DeviceArgs there;
  if (const int code = there.Upload(plan, *args); code != kDone) return code;
  launch::ArgumentList launch;
  const auto read = api::ReadArgs(*plan, there.args().data(), there.args().size(), &launch);
  if (read != TARSIA_STATUS_OK) return ReportFailure(read);
  const vm::LaunchOptions options;
  runtime::LaunchRequest request;
  request.args = launch;
  request.workspace = there.workspace();
  request.options = &options;
  request.counts = counts;
  const auto result = plan->ready->Launch(request);
  if (!result.ok()) {
    PrintError(result.error(), *plan->source);
    return kRejected;
  }
  for (const launch::Finding& finding : result->report.findings) {
    PrintError(finding.diagnostic, *plan->source);
  }
  if (!result->report.findings.empty()) {
    PrintError("the program has faults, so its costs are meaningless");
    return kRejected;
  }
  out->grid = result->report.grid;
  return kDone;
}

// ---- by line -----------------------------------------------------------------------------------

CostLine* LineOf(CostReport* report, uint32_t line) {
  for (CostLine& known : report->lines) {
    if (known.line == line) return &known;
  }
  report->lines.emplace_back().line = line;
  return &report->lines.back();
}

void AddCounts(const ptx::LaunchCounts& counts, CostReport* report) {
  for (const ptx::LineCounts& line : counts.BySourceLine()) {
    CostLine* cost = LineOf(report, line.line);
    cost->counts += line.counts;
    for (size_t i = 0; i < line.classes.size(); ++i) cost->classes[i] += line.classes[i];
  }
}

// With a warning if there is no ptxas; or if there is no nvdisasm, without which the resources are
// known nevertheless.
void AddMachineCode(const runtime::Code& code, CostReport* report) {
  const auto machine = code.Assembled();
  if (!machine.ok()) return PrintWarning("no machine code: " + machine.error().message);
  const std::string& name = code.kernel().name;
  if (const auto* const resources = (*machine)->Find(name); resources != nullptr) {
    report->resources = {resources->registers,
                         resources->spill_store_bytes + resources->spill_load_bytes,
                         resources->stack_bytes};
  }
  const auto text = code.Sass();
  if (!text.ok()) return PrintWarning("machine code is not counted: " + text.error().message);
  for (const compiler::SassKernel& kernel : compiler::ParseSass(*text)) {
    if (kernel.name != name) continue;
    for (const compiler::SassInstruction& inst : kernel.instructions) {
      ++LineOf(report, inst.line)->machine[static_cast<size_t>(inst.sass_class)];
    }
  }
}

void AddPrediction(const runtime::Code::Prediction& prediction, compiler::Target target,
                   CostReport* report) {
  for (const compiler::LineWork& work : prediction.work) {
    CostLine* const line = LineOf(report, work.line);
    line->predicted = work.work;
    line->cycles = compiler::CyclesOf(work.work, target);
  }
}

// What would make lines cheaper that cost something. Needs the totals.
void AddAdvice(const runtime::Code::Prediction& prediction, CostReport* report) {
  for (const compiler::LineAdvice& on : prediction.advice) {
    std::string text = on.text;
    if (on.saves != 0) {
      text += fmt::format("; it would save {} of {} cycles", on.saves, report->total.cycles);
    }
    for (CostLine& line : report->lines) {
      if (line.line == on.line && !line.Empty()) line.advice.push_back(text);
    }
  }
}

void AddTotals(CostReport* report) {
  for (const CostLine& line : report->lines) {
    report->total.counts += line.counts;
    report->total.predicted += line.predicted;
    report->total.cycles += line.cycles;
    for (size_t i = 0; i < line.classes.size(); ++i) report->total.classes[i] += line.classes[i];
    for (size_t i = 0; i < line.machine.size(); ++i) report->total.machine[i] += line.machine[i];
  }
}

// What `pipeline n` would change: latency, and nothing else.
std::string RemarkOn(const CostLoop& loop, compiler::Target target) {
  using compiler::LoopBound;
  const LoopBound bound = loop.times.Bound();
  if (bound != LoopBound::kLatency) return fmt::format("bound by {}", compiler::NameOf(bound));
  std::string text = "bound by latency";
  if (!loop.cost.hint) return text;
  const LoopBound next = loop.times.BoundBesideLatency();
  const int64_t stages = compiler::StagesThatHide(loop.times, target);
  text += fmt::format("; `pipeline {}` would hide it, and {} cycles of {} bound the loop", stages,
                      static_cast<int64_t>(loop.times.Of(next)), compiler::NameOf(next));
  if (stages * loop.cost.bytes > compiler::Row(target).shared_bytes) {
    text += ", but its stages do not fit in shared memory";
  }
  return text;
}

// Needs the occupancy.
void AddLoops(const runtime::Code::Prediction& prediction, compiler::Target target,
              CostReport* report) {
  const int64_t blocks = std::max<int64_t>(1, report->occupancy.blocks);
  const int64_t warps = blocks * report->threads / kWarpThreads;
  for (const compiler::LoopCost& cost : prediction.loops) {
    CostLoop loop;
    loop.cost = cost;
    loop.times = compiler::TimesOf(cost, warps, target);
    loop.in_flight = std::max<int64_t>(1, cost.ahead) * cost.bytes * blocks;
    loop.remark = RemarkOn(loop, target);
    report->loops.push_back(std::move(loop));
  }
}

// All lines of the text from the first to the last one with a cost. Costs without a line come
// first, as line 0.
void FillLines(const SourceFile& source, CostReport* report) {
  uint32_t first = UINT32_MAX;
  uint32_t last = 0;
  for (const CostLine& line : report->lines) {
    if (line.line == 0) continue;
    first = std::min(first, line.line);
    last = std::max(last, line.line);
  }
  for (uint32_t line = first; line <= last && last != 0; ++line) (void)LineOf(report, line);
  std::ranges::sort(report->lines, {}, &CostLine::line);
  for (CostLine& line : report->lines) {
    line.text = line.line == 0 ? "(no line)" : std::string(source.Line(line.line));
  }
}

}  // namespace

int MakeCost(const tarsia_module* module, const tarsia_plan* plan, RunArgs* args, CostReport* out) {
  const auto code = runtime::Code::Of(plan->program, plan->ready->image());
  ptx::LaunchCounts counts;
  if (const int failed = Count(plan, args, &counts, out); failed != kDone) return failed;
  out->file = module->source->name();
  out->kernel = code->kernel().name;
  out->target = compiler::Row(code->target()).name;
  out->threads = static_cast<uint32_t>(code->kernel().threads);
  out->shared_bytes = code->kernel().shared_bytes;
  AddCounts(counts, out);
  AddMachineCode(*code, out);
  const auto prediction = code->Predict();
  if (prediction.ok()) AddPrediction(*prediction, code->target(), out);
  AddTotals(out);
  if (prediction.ok()) AddAdvice(*prediction, out);
  FillLines(*module->source, out);
  if (const ptx::SmLimits* limits = ptx::FindSmLimits(out->target); limits != nullptr) {
    const auto registers = static_cast<uint32_t>(out->resources ? out->resources->registers : 0);
    out->occupancy = ptx::FindOccupancy(*limits, {out->threads, registers, out->shared_bytes});
  }
  if (prediction.ok()) AddLoops(*prediction, code->target(), out);
  return kDone;
}

}  // namespace tarsia::tools
