// The cost report as text and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "tools/cost/cost.h"
#include "tools/output.h"

namespace tarsia::tools {
namespace {

// A column of numbers; omitted if all of them are 0.
struct Column {
  std::string_view head;
  uint64_t (*value)(const CostLine& line);
};

constexpr Column kColumns[] = {
    {"instr", [](const CostLine& line) { return line.counts.warp_instructions; }},
    {"sectors", [](const CostLine& line) { return line.counts.global_sectors; }},
    {"ideal", [](const CostLine& line) { return line.counts.global_ideal_sectors; }},
    {"wavefronts", [](const CostLine& line) { return line.counts.shared_wavefronts; }},
    {"ideal", [](const CostLine& line) { return line.counts.shared_ideal_wavefronts; }},
    {"barriers", [](const CostLine& line) { return line.counts.barriers; }},
    {"tensor", [](const CostLine& line) { return line.counts.tensor_operations; }},
    {"cycles", [](const CostLine& line) { return static_cast<uint64_t>(line.cycles); }},
    {"machine", [](const CostLine& line) { return uint64_t{line.MachineCount()}; }},
    {"spills", [](const CostLine& line) { return uint64_t{line.Spills()}; }},
};

std::string Cell(uint64_t value, size_t width) {
  return fmt::format("  {:>{}}", value == 0 ? "." : std::to_string(value), width);
}

std::string ResourcesText(const CostReport& report) {
  if (!report.resources) return "no machine code";
  return fmt::format("{} registers, {} bytes spilled, stack {} bytes", report.resources->registers,
                     report.resources->spill_bytes, report.resources->stack_bytes);
}

// Of a turn of each loop: its bytes, and the cycles that it would take if nothing but that took
// time.
std::string LoopsText(const CostReport& report) {
  if (report.loops.empty()) return "";
  std::string text =
      "\n line  stages  bytes a turn  in flight   bytes   issue  tensor  latency (cycles of a "
      "turn)\n";
  for (const CostLoop& loop : report.loops) {
    text += fmt::format("{:>5}  {:>6}  {:>12}  {:>9}", loop.cost.line, loop.Stages(),
                        loop.cost.bytes, loop.in_flight);
    constexpr int kWidths[compiler::kLoopBounds] = {6, 6, 6, 7};
    for (size_t i = 0; i < compiler::kLoopBounds; ++i) {
      text += fmt::format("  {:>{}.0f}", loop.times.cycles[i], kWidths[i]);
    }
    text += "\n       ^ " + loop.remark + "\n";
  }
  return text;
}

}  // namespace

std::string CostText(const CostReport& report) {
  std::string text = fmt::format(
      "{} of {} for {}: {} x {} x {} blocks of {} threads\n{}, shared memory {} bytes; {} block{} "
      "a "
      "multiprocessor, {} of {} warps, limited by {}\n\n",
      report.kernel, report.file, report.target, report.grid[0], report.grid[1], report.grid[2],
      report.threads, ResourcesText(report), report.shared_bytes, report.occupancy.blocks,
      report.occupancy.blocks == 1 ? "" : "s", report.occupancy.warps, report.occupancy.most_warps,
      ptx::NameOf(report.occupancy.limit));
  std::vector<std::pair<const Column*, size_t>> columns;
  text += fmt::format("{:>5}", "line");
  for (const Column& column : kColumns) {
    const uint64_t total = column.value(report.total);
    if (total == 0) continue;
    columns.emplace_back(&column, std::max(column.head.size(), std::to_string(total).size()));
    text += fmt::format("  {:>{}}", column.head, columns.back().second);
  }
  text += "\n";
  for (const CostLine& line : report.lines) {
    std::string row = fmt::format("{:>5}", line.line);
    for (const auto& [column, width] : columns) row += Cell(column->value(line), width);
    row += "  " + line.text;
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
    for (const std::string& remark : RemarksOn(line)) text += "       ^ " + remark + "\n";
  }
  text += fmt::format("{:>5}", "all");
  for (const auto& [column, width] : columns) text += Cell(column->value(report.total), width);
  return text + "\n" + LoopsText(report);
}

// ---- JSON --------------------------------------------------------------------------------------

namespace {

void AppendLine(const CostLine& line, bool zeros, Json* json) {
  for (const ptx::CountInfo& info : ptx::CountInfos()) {
    const uint64_t value = line.counts.*info.field;
    if (zeros || value != 0) json->Key(info.name).Number(static_cast<int64_t>(value));
  }
  json->Key("cycles").Number(line.cycles).Key("predicted").Begin('{');
  for (const compiler::CostPrice& price : compiler::CostPrices()) {
    const int64_t work = line.predicted.*price.field;
    if (zeros || work != 0) json->Key(price.name).Number(work);
  }
  json->End('}').Key("classes").Begin('{');
  for (size_t i = 0; i < line.classes.size(); ++i) {
    if (line.classes[i] == 0) continue;
    json->Key(ptx::NameOf(static_cast<ptx::InstClass>(i)));
    json->Number(static_cast<int64_t>(line.classes[i]));
  }
  json->End('}').Key("machine_instructions").Number(static_cast<int64_t>(line.MachineCount()));
  json->Key("machine").Begin('{');
  for (size_t i = 0; i < line.machine.size(); ++i) {
    if (line.machine[i] == 0) continue;
    json->Key(compiler::SassClassName(static_cast<compiler::SassClass>(i)));
    json->Number(static_cast<int64_t>(line.machine[i]));
  }
  json->End('}').Key("spills").Number(static_cast<int64_t>(line.Spills()));
}

void AppendLoops(const CostReport& report, Json* json) {
  json->Key("loops").Begin('[');
  for (const CostLoop& loop : report.loops) {
    json->Begin('{').Key("line").Number(loop.cost.line).Key("stages").Number(loop.Stages());
    json->Key("turn_bytes").Number(loop.cost.bytes).Key("in_flight").Number(loop.in_flight);
    json->Key("cycles").Begin('{');
    for (size_t i = 0; i < compiler::kLoopBounds; ++i) {
      json->Key(compiler::NameOf(static_cast<compiler::LoopBound>(i)));
      json->Number(static_cast<int64_t>(loop.times.cycles[i]));
    }
    json->End('}').Key("bound").String(compiler::NameOf(loop.times.Bound()));
    json->Key("remark").String(loop.remark).End('}');
  }
  json->End(']');
}

}  // namespace

std::string CostJson(const CostReport& report) {
  Json json;
  json.Begin('{').Key("file").String(report.file).Key("kernel").String(report.kernel);
  json.Key("target").String(report.target).Key("grid").Begin('[');
  for (const int64_t extent : report.grid) json.Number(extent);
  json.End(']').Key("threads").Number(report.threads);
  json.Key("shared_bytes").Number(static_cast<int64_t>(report.shared_bytes)).Key("resources");
  if (report.resources) {
    json.Begin('{').Key("registers").Number(report.resources->registers);
    json.Key("spill_bytes").Number(report.resources->spill_bytes);
    json.Key("stack_bytes").Number(report.resources->stack_bytes).End('}');
  } else {
    json.Null();
  }
  const ptx::Occupancy& occupancy = report.occupancy;
  json.Key("occupancy").Begin('{').Key("blocks").Number(occupancy.blocks);
  json.Key("warps").Number(occupancy.warps).Key("most_warps").Number(occupancy.most_warps);
  json.Key("limit").String(ptx::NameOf(occupancy.limit)).End('}').Key("total").Begin('{');
  AppendLine(report.total, true, &json);
  json.End('}');
  AppendLoops(report, &json);
  json.Key("lines").Begin('[');
  for (const CostLine& line : report.lines) {
    if (line.Empty()) continue;
    json.Begin('{').Key("line").Number(line.line).Key("text").String(line.text);
    AppendLine(line, false, &json);
    json.Key("remarks").Begin('[');
    for (const std::string& remark : RemarksOn(line)) json.String(remark);
    json.End(']').End('}');
  }
  return json.End(']').End('}').Take();
}

}  // namespace tarsia::tools
