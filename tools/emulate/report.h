// The report of `tarsia emulate` on a launch: findings with their lines of the PTX, counts by line,
// as text and as JSON.
#ifndef TARSIA_TOOLS_EMULATE_REPORT_H_
#define TARSIA_TOOLS_EMULATE_REPORT_H_

#include <string>

#include "ptx/count/occupancy.h"
#include "ptx/machine/emulator.h"
#include "support/diagnostic.h"
#include "tools/output.h"

namespace tarsia::tools {

// Prints findings on standard error, combined by line of the source, each with its line of the PTX.
void PrintFindings(const ptx::LaunchReport& report, const ptx::Module& module,
                   const SourceFile& source);
// A table of the lines that ran, then totals.
std::string CountsText(const ptx::LaunchCounts& counts, const SourceFile& source);
// "occupancy on sm_90a: 8 blocks, 64 of 64 warps (limited by warps)".
std::string OccupancyText(const std::string& target, const ptx::Occupancy& occupancy);

// [{"kind", "severity", "line", "column", "thread", "block", "message", "count", "lines", "file",
// "source_line", "inlined", "origin", "other", "order"}, ..], combined by line of the source; the
// keys from "lines" on only if they apply.
void AppendFindings(const ptx::LaunchReport& report, const ptx::Module& module, Json* json);
// {"total", "classes", "lines", "source_lines"}; lines omit numbers that are 0.
void AppendCounts(const ptx::LaunchCounts& counts, const ptx::Module& module, Json* json);
void AppendOccupancy(const std::string& target, const ptx::Occupancy& occupancy, Json* json);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_EMULATE_REPORT_H_
