#include "tools/emulate/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "runtime/diagnostics.h"
#include "support/text.h"

namespace tarsia::tools {
namespace {

std::string_view OrderText(ptx::AccessOrder order) {
  switch (order) {
    case ptx::AccessOrder::kNone:
      return "";
    case ptx::AccessOrder::kReadAfterWrite:
      return "read after write";
    case ptx::AccessOrder::kWriteAfterRead:
      return "write after read";
    case ptx::AccessOrder::kWriteAfterWrite:
      return "write after write";
  }
  return "";
}

std::string IndexText(const ptx::Dim3& index) {
  return fmt::format("({}, {}, {})", index.x, index.y, index.z);
}

}  // namespace

// ---- findings ----------------------------------------------------------------------------------

namespace {

// "line 12 of k.cu, inlined at line 40 of k.cu", from the user's own line outwards; inner lines
// come first: "line 80 of lib.h, inlined at ..".
std::string ChainText(const ptx::Module& module, uint32_t loc) {
  std::string text;
  for (uint32_t at = loc; at != 0; at = module.lines[at].caller) {
    const ptx::SourceLoc& place = module.lines[at];
    text += fmt::format("{}line {} of {}", at == loc ? "" : ", inlined at ", place.line,
                        module.FileName(place.file));
  }
  return text;
}

void AddNotes(const ptx::Module& module, const ptx::FindingGroup& group, Diagnostic* error) {
  const ptx::Finding& finding = group.first;
  const auto note = [&](std::string text) { error->notes.push_back({{}, std::move(text)}); };
  std::string where =
      fmt::format("thread {} of block {}", IndexText(finding.thread), IndexText(finding.block));
  if (finding.count > 1) where += fmt::format(", and {} times more", finding.count - 1);
  if (group.lines.size() > 1) where += fmt::format(", at {} lines of the PTX", group.lines.size());
  note(where);
  if (finding.source_line != 0) {
    note(fmt::format("line {} of {}", finding.source_line, module.FileName(finding.source_file)));
  }
  if (finding.loc != 0 && module.lines[finding.loc].caller != 0) {
    note("from " + ChainText(module, finding.loc));
  }
  if (finding.origin) {
    note(fmt::format("the bits come from {} at {}", finding.origin_name,
                     module.LineText(finding.origin->location, finding.origin->loc)));
  }
  if (finding.order != ptx::AccessOrder::kNone) note(std::string(OrderText(finding.order)));
  if (finding.severity == ptx::Severity::kMemoryModel) {
    note("the memory model alone demands this order: one machine may keep it, another may not");
  }
}

}  // namespace

void PrintFindings(const ptx::LaunchReport& report, const ptx::Module& module,
                   const SourceFile& source) {
  constexpr size_t kMostPrinted = 20;
  const auto groups = ptx::GroupBySourceLine(report.findings);
  for (const ptx::FindingGroup& group :
       std::span(groups).first(std::min(groups.size(), kMostPrinted))) {
    const ptx::Finding& finding = group.first;
    Diagnostic error = MakeDiagnostic(diag::kPtxFinding, finding.location,
                                      ptx::NameOf(finding.kind), finding.message);
    AddNotes(module, group, &error);
    PrintError(error, source);
  }
  if (groups.size() <= kMostPrinted) return;
  PrintWarning(fmt::format("{} more findings; --json lists all", groups.size() - kMostPrinted));
}

namespace {

void AppendIndex(std::string_view key, const ptx::Dim3& index, Json* json) {
  json->Key(key).Begin('[').Number(index.x).Number(index.y).Number(index.z).End(']');
}

void AppendSource(const ptx::Module& module, uint32_t file, uint32_t line, Json* json) {
  if (line == 0) return;
  json->Key("file").String(module.FileName(file)).Key("source_line").Number(line);
}

// {"line", "file", "source_line"}
void AppendPlace(std::string_view key, const ptx::Module& module, const ptx::FindingPlace& place,
                 Json* json) {
  const ptx::SourceLoc& own = module.lines.Own(place.loc);
  json->Key(key).Begin('{').Key("line").Number(place.location.line);
  AppendSource(module, own.file, own.line, json);
  json->End('}');
}

// All source lines of an inlined instruction, the innermost first.
void AppendChain(const ptx::Module& module, uint32_t loc, Json* json) {
  if (loc == 0 || module.lines[loc].caller == 0) return;
  json->Key("inlined").Begin('[');
  for (uint32_t at = loc; at != 0; at = module.lines[at].caller) {
    json->Begin('{');
    AppendSource(module, module.lines[at].file, module.lines[at].line, json);
    json->End('}');
  }
  json->End(']');
}

void AppendFinding(const ptx::FindingGroup& group, const ptx::Module& module, Json* json) {
  const ptx::Finding& finding = group.first;
  json->Begin('{').Key("kind").String(ptx::NameOf(finding.kind));
  json->Key("severity").String(ptx::NameOf(finding.severity));
  json->Key("line").Number(finding.location.line).Key("column").Number(finding.location.column);
  AppendIndex("thread", finding.thread, json);
  AppendIndex("block", finding.block, json);
  json->Key("message").String(finding.message);
  json->Key("count").Number(static_cast<int64_t>(finding.count));
  if (group.lines.size() > 1) {
    json->Key("lines").Begin('[');
    for (const uint32_t line : group.lines) json->Number(line);
    json->End(']');
  }
  AppendSource(module, finding.source_file, finding.source_line, json);
  AppendChain(module, finding.loc, json);
  if (finding.origin) AppendPlace("origin", module, *finding.origin, json);
  if (finding.other) AppendPlace("other", module, *finding.other, json);
  if (finding.order != ptx::AccessOrder::kNone) {
    json->Key("order").String(ptx::NameOf(finding.order));
  }
  json->End('}');
}

}  // namespace

void AppendFindings(const ptx::LaunchReport& report, const ptx::Module& module, Json* json) {
  json->Begin('[');
  for (const ptx::FindingGroup& group : ptx::GroupBySourceLine(report.findings)) {
    AppendFinding(group, module, json);
  }
  json->End(']');
}

// ---- counts ------------------------------------------------------------------------------------

namespace {

// A column of the table of lines; columns of only zeros are omitted.
struct LineColumn {
  std::string_view head;
  uint64_t ptx::Counts::* field;
};
constexpr LineColumn kLineColumns[] = {
    {"warps", &ptx::Counts::warp_instructions},
    {"threads", &ptx::Counts::thread_instructions},
    {"sectors", &ptx::Counts::global_sectors},
    {"ideal", &ptx::Counts::global_ideal_sectors},
    {"wavefronts", &ptx::Counts::shared_wavefronts},
    {"ideal", &ptx::Counts::shared_ideal_wavefronts},
    {"local", &ptx::Counts::local_sectors},
    {"async bytes", &ptx::Counts::async_bytes},
    {"atomics", &ptx::Counts::atomics},
    {"tensor", &ptx::Counts::tensor_operations},
    {"barriers", &ptx::Counts::barriers},
};

constexpr size_t kTextWidth = 60;

// A row: the line number, its counts, its text. A count of 0 is a dot.
std::string RowText(std::string_view line, const ptx::Counts& counts,
                    const std::vector<LineColumn>& columns, const std::vector<size_t>& widths,
                    std::string_view text) {
  std::string row = fmt::format("{:>6}", line);
  for (size_t i = 0; i < columns.size(); ++i) {
    const uint64_t number = counts.*columns[i].field;
    row += fmt::format("  {:>{}}", number == 0 ? "." : std::to_string(number), widths[i]);
  }
  return row + (text.empty() ? "" : "  ") + std::string(text) + "\n";
}

std::string ClassesText(const ptx::ClassCounts& classes) {
  std::string text;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        ptx::NameOf(static_cast<ptx::InstClass>(i)), classes[i]);
  }
  return text;
}

// The numbers that are not in the table.
std::string BytesText(const ptx::Counts& counts) {
  std::string text;
  for (const ptx::CountInfo& info : ptx::CountInfos()) {
    if (!info.name.ends_with("_bytes") || counts.*info.field == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        info.name.substr(0, info.name.size() - 6), counts.*info.field);
  }
  std::ranges::replace(text, '_', ' ');
  return text;
}

}  // namespace

std::string CountsText(const ptx::LaunchCounts& counts, const SourceFile& source) {
  const ptx::LineCounts total = counts.Total();
  std::vector<LineColumn> columns;
  std::vector<size_t> widths;
  std::string text = fmt::format("{:>6}", "line");
  for (const LineColumn& column : kLineColumns) {
    if (total.counts.*column.field == 0) continue;
    columns.push_back(column);
    widths.push_back(
        std::max(column.head.size(), std::to_string(total.counts.*column.field).size()));
    text += fmt::format("  {:>{}}", column.head, widths.back());
  }
  text += "\n";
  for (const ptx::LineCounts& line : counts.ByLine()) {
    text += RowText(std::to_string(line.line), line.counts, columns, widths,
                    Trimmed(source.Line(line.line)).substr(0, kTextWidth));
  }
  text += RowText("total", total.counts, columns, widths, "");
  text += "classes of instructions: " + ClassesText(total.classes) + "\n";
  const std::string bytes = BytesText(total.counts);
  if (!bytes.empty()) text += "bytes: " + bytes + "\n";
  return text;
}

std::string OccupancyText(const std::string& target, const ptx::Occupancy& occupancy) {
  return fmt::format(
      "occupancy on {}: {} block{} a multiprocessor, {} of {} warps, limited by {}\n", target,
      occupancy.blocks, occupancy.blocks == 1 ? "" : "s", occupancy.warps, occupancy.most_warps,
      ptx::NameOf(occupancy.limit));
}

namespace {

void AppendNumbers(const ptx::Counts& counts, bool zeros, Json* json) {
  for (const ptx::CountInfo& info : ptx::CountInfos()) {
    const uint64_t number = counts.*info.field;
    if (zeros || number != 0) json->Key(info.name).Number(static_cast<int64_t>(number));
  }
}

void AppendClasses(const ptx::ClassCounts& classes, Json* json) {
  json->Begin('{');
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == 0) continue;
    json->Key(ptx::NameOf(static_cast<ptx::InstClass>(i)));
    json->Number(static_cast<int64_t>(classes[i]));
  }
  json->End('}');
}

}  // namespace

void AppendCounts(const ptx::LaunchCounts& counts, const ptx::Module& module, Json* json) {
  const ptx::LineCounts total = counts.Total();
  json->Begin('{').Key("total").Begin('{');
  AppendNumbers(total.counts, true, json);
  json->End('}').Key("classes");
  AppendClasses(total.classes, json);
  json->Key("lines").Begin('[');
  for (const ptx::LineCounts& line : counts.ByLine()) {
    json->Begin('{').Key("line").Number(line.line);
    AppendNumbers(line.counts, false, json);
    json->End('}');
  }
  json->End(']').Key("source_lines").Begin('[');
  for (const ptx::LineCounts& line : counts.BySourceLine()) {
    if (line.line == 0) continue;
    json->Begin('{').Key("file").String(module.FileName(line.file));
    json->Key("line").Number(line.line);
    AppendNumbers(line.counts, false, json);
    json->Key("classes");
    AppendClasses(line.classes, json);
    json->End('}');
  }
  json->End(']').End('}');
}

void AppendOccupancy(const std::string& target, const ptx::Occupancy& occupancy, Json* json) {
  json->Begin('{').Key("target").String(target).Key("blocks").Number(occupancy.blocks);
  json->Key("warps").Number(occupancy.warps).Key("most_warps").Number(occupancy.most_warps);
  json->Key("limit").String(ptx::NameOf(occupancy.limit)).End('}');
}

}  // namespace tarsia::tools
