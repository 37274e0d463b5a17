// The cost report as a page: one row per line of the program, with bars beside the numbers.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "support/markup.h"
#include "tools/cost/cost.h"

namespace tarsia::tools {
namespace {

// ---- classes of instructions, by colour -----------------------------------------------------

struct Group {
  std::string_view css;
  std::string_view name;
};
constexpr Group kGroups[] = {
    {"g0", "matrix"},        {"g1", "float"},           {"g2", "integer, logic"},
    {"g3", "move, convert"}, {"g4", "global memory"},   {"g5", "shared memory"},
    {"g6", "local memory"},  {"g7", "lanes, barriers"}, {"g8", "control"},
};
constexpr size_t kGroupCount = std::size(kGroups);

size_t GroupOf(ptx::InstClass kind) {
  switch (kind) {
    case ptx::InstClass::kMatrix:
      return 0;
    case ptx::InstClass::kF32:
    case ptx::InstClass::kF64:
    case ptx::InstClass::kHalf:
      return 1;
    case ptx::InstClass::kInteger:
    case ptx::InstClass::kLogic:
    case ptx::InstClass::kCompare:
      return 2;
    case ptx::InstClass::kMove:
    case ptx::InstClass::kConvert:
    case ptx::InstClass::kConstant:
      return 3;
    case ptx::InstClass::kLoadGlobal:
    case ptx::InstClass::kStoreGlobal:
    case ptx::InstClass::kAtomicGlobal:
    case ptx::InstClass::kLoadGeneric:
    case ptx::InstClass::kStoreGeneric:
    case ptx::InstClass::kAtomicGeneric:
    case ptx::InstClass::kCopyAsync:
      return 4;
    case ptx::InstClass::kLoadShared:
    case ptx::InstClass::kStoreShared:
    case ptx::InstClass::kAtomicShared:
      return 5;
    case ptx::InstClass::kLoadLocal:
    case ptx::InstClass::kStoreLocal:
      return 6;
    case ptx::InstClass::kWarpWide:
    case ptx::InstClass::kSynchronise:
      return 7;
    case ptx::InstClass::kControl:
    case ptx::InstClass::kHint:
      break;
  }
  return 8;
}

using Groups = std::array<uint64_t, kGroupCount>;

Groups GroupsOf(const CostLine& line) {
  Groups groups{};
  for (size_t i = 0; i < line.classes.size(); ++i) {
    groups[GroupOf(static_cast<ptx::InstClass>(i))] += line.classes[i];
  }
  return groups;
}

// ---- pieces of HTML -------------------------------------------------------------------------

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark;
  --page: #ffffff; --ink: #1d2330; --soft: #6b7486; --line: #e3e6ec; --stripe: #f7f8fa;
  --card: #f3f5f8; --bad: #b3261e; --badback: #fdecea; --bar: #4a7fc1; --over: #d9483b;
  --g0: #7b4fb5; --g1: #2f7fd6; --g2: #3aa39a; --g3: #8fb04a; --g4: #e08a2e; --g5: #d8b62c;
  --g6: #d9483b; --g7: #b06a9a; --g8: #9aa3b2; }
@media (prefers-color-scheme: dark) { :root {
  --page: #14171d; --ink: #e4e7ee; --soft: #949db0; --line: #2a2f3a; --stripe: #181c23;
  --card: #1d222b; --bad: #ff8a80; --badback: #3a1f1f; --bar: #6a9fe0; --over: #ef6a5e;
  --g0: #a884dd; --g1: #5aa2ef; --g2: #55c2b8; --g3: #aacb68; --g4: #f0a552; --g5: #ead052;
  --g6: #ef6a5e; --g7: #cf8fba; --g8: #7d8798; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1500px; padding: 24px 20px 60px; background: var(--page);
  color: var(--ink); font: 14px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 20px; margin: 0 0 2px; }
h1 code { font-size: inherit; }
.sub { color: var(--soft); margin: 0 0 16px; }
.wrap + .sub { margin: 12px 0 0; max-width: 60em; }
.cards { display: flex; flex-wrap: wrap; gap: 8px; margin: 0 0 16px; }
.card { background: var(--card); border-radius: 6px; padding: 8px 14px; min-width: 110px; }
.card b { display: block; font-size: 17px; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: 12px; }
.card.bad b { color: var(--bad); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 0 0 10px; color: var(--soft);
  font-size: 12px; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px;
  margin-right: 5px; }
.wrap { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: 12.5px; }
th { text-align: right; font-weight: 600; color: var(--soft); padding: 6px 10px; position: sticky;
  top: 0; background: var(--page); border-bottom: 1px solid var(--line); white-space: nowrap; }
th.left { text-align: left; }
td { padding: 2px 10px; text-align: right; white-space: nowrap; vertical-align: top;
  font-variant-numeric: tabular-nums; }
td.code { text-align: left; min-width: 30em; font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas,
  "DejaVu Sans Mono", monospace; white-space: pre-wrap; }
td.nr { color: var(--soft); }
tbody tr:nth-child(even) { background: var(--stripe); }
tr.empty td { color: var(--soft); }
tfoot td { border-top: 1px solid var(--line); font-weight: 600; padding: 6px 10px; }
.bars { display: flex; height: 12px; margin-top: 3px; width: 200px; }
.bars i { display: block; height: 100%; min-width: 1px; }
.one { display: flex; height: 4px; width: 90px; margin: 0 0 3px auto; background: var(--line); }
.one i { background: var(--bar); } .one i.over { background: var(--over); }
.over { color: var(--bad); font-weight: 600; }
.soft { color: var(--soft); }
.remark { display: inline-block; color: var(--bad); background: var(--badback); border-radius: 4px;
  padding: 0 6px; margin: 1px 6px 2px 0; font: 600 11.5px/1.6 system-ui, sans-serif; }
)";

// "12 345": thin groups of three digits.
std::string Digits(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, "\u202f");
  return text;
}

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// The instructions of a line by group; the width is relative to the line with the most.
std::string StackedBar(const CostLine& line, uint64_t most) {
  const Groups groups = GroupsOf(line);
  std::string out = "<div class=bars>";
  for (size_t i = 0; i < kGroupCount; ++i) {
    if (groups[i] == 0) continue;
    out += fmt::format("<i style=\"width:{:.2f}%;background:var(--{})\" title=\"{}: {}\"></i>",
                       Percent(groups[i], most), kGroups[i].css, kGroups[i].name, groups[i]);
  }
  return out + "</div>";
}

// A number, its ideal, and a bar for both relative to the line with the most: the part above the
// ideal has another colour.
std::string IdealCell(uint64_t actual, uint64_t ideal, uint64_t most) {
  if (actual == 0) return "<td></td>";
  const bool over = actual > ideal;
  return fmt::format(
      "<td><span{}>{}</span> <span class=soft>/ {}</span><div class=one><i style=\"width:{:.2f}%\">"
      "</i><i class=over style=\"width:{:.2f}%\"></i></div></td>",
      over ? " class=over" : "", Digits(actual), Digits(ideal),
      Percent(std::min(actual, ideal), most), Percent(over ? actual - ideal : 0, most));
}

std::string NumberCell(uint64_t value, bool bad = false) {
  if (value == 0) return "<td></td>";
  return fmt::format("<td{}>{}</td>", bad ? " class=over" : "", Digits(value));
}

std::string Card(std::string_view value, std::string_view what, bool bad = false) {
  return fmt::format("<div class=\"card{}\"><b>{}</b><span>{}</span></div>\n", bad ? " bad" : "",
                     value, what);
}

// ---- the page -------------------------------------------------------------------------------

// Which columns are not empty, and the largest number of each column with bars.
struct Scale {
  uint64_t instructions = 1;
  uint64_t sectors = 0;
  uint64_t wavefronts = 0;
  bool barriers = false;
  bool tensor = false;
  bool cycles = false;
  bool machine = false;
  bool spills = false;
};

Scale ScaleOf(const CostReport& report) {
  Scale scale;
  for (const CostLine& line : report.lines) {
    scale.instructions = std::max(scale.instructions, line.counts.warp_instructions);
    scale.sectors = std::max(scale.sectors, line.counts.global_sectors);
    scale.wavefronts = std::max(scale.wavefronts, line.counts.shared_wavefronts);
  }
  scale.barriers = report.total.counts.barriers != 0;
  scale.tensor = report.total.counts.tensor_operations != 0;
  scale.cycles = report.total.cycles != 0;
  scale.machine = report.total.MachineCount() != 0;
  scale.spills = report.total.Spills() != 0;
  return scale;
}

std::string NumberCells(const CostLine& line, const Scale& scale) {
  const ptx::Counts& counts = line.counts;
  std::string out = NumberCell(counts.warp_instructions);
  if (scale.sectors != 0) {
    out += IdealCell(counts.global_sectors, counts.global_ideal_sectors, scale.sectors);
  }
  if (scale.wavefronts != 0) {
    out += IdealCell(counts.shared_wavefronts, counts.shared_ideal_wavefronts, scale.wavefronts);
  }
  if (scale.barriers) out += NumberCell(counts.barriers);
  if (scale.tensor) out += NumberCell(counts.tensor_operations);
  if (scale.cycles) out += NumberCell(static_cast<uint64_t>(line.cycles));
  if (scale.machine) out += NumberCell(line.MachineCount());
  if (scale.spills) out += NumberCell(line.Spills(), true);
  return out;
}

std::string HeadRow(const Scale& scale) {
  std::string out =
      "<tr><th>line</th><th class=left>program</th><th class=left colspan=2>instructions of warps, "
      "by class"
      "</th>";
  if (scale.sectors != 0) out += "<th>sectors / ideal</th>";
  if (scale.wavefronts != 0) out += "<th>wavefronts / ideal</th>";
  if (scale.barriers) out += "<th>barriers</th>";
  if (scale.tensor) out += "<th>tensor operations</th>";
  if (scale.cycles) out += "<th>predicted cycles</th>";
  if (scale.machine) out += "<th>machine code</th>";
  if (scale.spills) out += "<th>spills</th>";
  return out + "</tr>";
}

std::string LineRow(const CostLine& line, const Scale& scale) {
  std::string remarks;
  for (const std::string& remark : RemarksOn(line)) {
    remarks += fmt::format("<span class=remark>{}</span>", EscapeMarkup(remark));
  }
  if (!remarks.empty()) remarks = "<br>" + remarks;
  return fmt::format("<tr{}><td class=nr>{}</td><td class=code>{}{}</td><td>{}</td>{}</tr>\n",
                     line.Empty() ? " class=empty" : "",
                     line.line == 0 ? "" : std::to_string(line.line), EscapeMarkup(line.text),
                     remarks, StackedBar(line, scale.instructions), NumberCells(line, scale));
}

std::string FootRow(const CostReport& report, const Scale& scale) {
  Scale whole = scale;  // bars of the sums fill their cells
  whole.sectors = report.total.counts.global_sectors;
  whole.wavefronts = report.total.counts.shared_wavefronts;
  return fmt::format("<tr><td></td><td class=code>all</td><td>{}</td>{}</tr>\n",
                     StackedBar(report.total, report.total.counts.warp_instructions),
                     NumberCells(report.total, whole));
}

std::string Cards(const CostReport& report) {
  const ptx::Counts& counts = report.total.counts;
  std::string out = Card(Digits(counts.warp_instructions), "instructions of warps");
  if (counts.global_sectors != 0) {
    out += Card(fmt::format("{:.0f}%", Percent(counts.global_ideal_sectors, counts.global_sectors)),
                "of sectors needed", counts.global_sectors > counts.global_ideal_sectors);
  }
  if (counts.shared_wavefronts != 0) {
    out += Card(
        fmt::format("{:.0f}%", Percent(counts.shared_ideal_wavefronts, counts.shared_wavefronts)),
        "of wavefronts needed", counts.shared_wavefronts > counts.shared_ideal_wavefronts);
  }
  if (report.resources) {
    out += Card(std::to_string(report.resources->registers), "registers per thread");
    out += Card(fmt::format("{} B", report.resources->spill_bytes), "spilled per thread",
                report.resources->spill_bytes != 0);
  }
  out += Card(fmt::format("{} B", Digits(report.shared_bytes)), "shared memory per block");
  out += Card(fmt::format("{} / {}", report.occupancy.warps, report.occupancy.most_warps),
              fmt::format("warps, limited by {}", ptx::NameOf(report.occupancy.limit)));
  return out;
}

std::string Legend(const CostReport& report) {
  const Groups groups = GroupsOf(report.total);
  std::string out;
  for (size_t i = 0; i < kGroupCount; ++i) {
    if (groups[i] == 0) continue;
    out += fmt::format("<span><i style=\"background:var(--{})\"></i>{}</span>\n", kGroups[i].css,
                       kGroups[i].name);
  }
  return out;
}

std::string LoopsTable(const CostReport& report) {
  if (report.loops.empty()) return "";
  std::string out =
      "<h2>Turns of loops</h2>\n<div class=wrap><table>\n<thead><tr><th>line</th><th>stages</th>"
      "<th>bytes a turn</th><th>bytes in flight</th><th>cycles: bytes</th><th>issue</th>"
      "<th>tensor</th><th>latency</th><th class=left>bound</th></tr></thead>\n<tbody>\n";
  for (const CostLoop& loop : report.loops) {
    out += fmt::format("<tr><td class=nr>{}</td>", loop.cost.line);
    for (const int64_t number : {loop.Stages(), loop.cost.bytes, loop.in_flight}) {
      out += NumberCell(static_cast<uint64_t>(number));
    }
    for (const double cycles : loop.times.cycles) out += NumberCell(static_cast<uint64_t>(cycles));
    out += fmt::format("<td class=code>{}</td></tr>\n", EscapeMarkup(loop.remark));
  }
  return out + "</tbody>\n</table></div>\n";
}

}  // namespace

std::string CostHtml(const CostReport& report) {
  const Scale scale = ScaleOf(report);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<meta name=viewport "
      "content=\"width=device-width, initial-scale=1\">\n<title>{0}: cost on {1}</title>\n<style>"
      "{2}</style>\n</head>\n<body>\n<h1><code>{0}</code>, line by line</h1>\n<p class=sub>{3} for "
      "{1}: {4} x {5} x {6} blocks of {7} threads, counted by the PTX emulator</p>\n",
      EscapeMarkup(report.kernel), EscapeMarkup(report.target), kStyle, EscapeMarkup(report.file),
      report.grid[0], report.grid[1], report.grid[2], report.threads);
  out += "<div class=cards>\n" + Cards(report) + "</div>\n";
  out += "<div class=legend>\n" + Legend(report) + "</div>\n";
  out += "<div class=wrap><table>\n<thead>" + HeadRow(scale) + "</thead>\n<tbody>\n";
  for (const CostLine& line : report.lines) out += LineRow(line, scale);
  out += "</tbody>\n<tfoot>" + FootRow(report, scale) + "</tfoot>\n</table></div>\n";
  out += LoopsTable(report);
  return out +
         "<p class=sub>Sectors are 32 bytes of global memory, wavefronts are passes over the banks "
         "of "
         "shared memory; the ideal is the number for the same data in the best layout. "
         "Instructions "
         "are PTX instructions that warps execute; machine code counts the instructions in "
         "it.</p>\n"
         "</body>\n</html>\n";
}

}  // namespace tarsia::tools
