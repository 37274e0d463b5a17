// The costs of a program by line of its text: the emulator's counts of one launch (ptx/), the
// machine code of each line, and the report of ptxas. `tarsia compile --emit cost` makes it; the
// printers are in cost_text.cc and cost_html.cc.
#ifndef TARSIA_TOOLS_COST_COST_H_
#define TARSIA_TOOLS_COST_COST_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/assemble/sass.h"
#include "compiler/cost/cost.h"
#include "compiler/loops/loop_cost.h"
#include "ptx/count/counts.h"
#include "ptx/count/occupancy.h"
#include "tools/handles.h"
#include "tools/run_args.h"

namespace tarsia::tools {

struct CostLine {
  uint32_t line = 0;
  std::string text;
  ptx::Counts counts;
  ptx::ClassCounts classes{};  // instructions of PTX that warps executed
  std::array<size_t, compiler::kSassClasses> machine{};
  compiler::Work predicted;         // of one warp, by the formula of the cost
  compiler::Cost cycles = 0;        // what that costs
  std::vector<std::string> advice;  // "add `assume %n % 64 == 0`: without it the access is masked"

  // The number of instructions of machine code, and of those that load or store spilled registers.
  [[nodiscard]] size_t MachineCount() const;
  [[nodiscard]] size_t Spills() const;
  [[nodiscard]] bool Empty() const;
};

// A loop that reads global memory, on a multiprocessor with as many blocks as it has room for.
struct CostLoop {
  compiler::LoopCost cost;
  compiler::LoopTimes times;  // of a turn
  int64_t in_flight = 0;      // bytes
  std::string remark;         // what the hint would change

  [[nodiscard]] int64_t Stages() const { return cost.ahead + 1; }
};

// The resources that ptxas reports.
struct CostResources {
  int registers = 0;
  int64_t spill_bytes = 0;
  int64_t stack_bytes = 0;
};

struct CostReport {
  std::string file;
  std::string kernel;
  std::string target;
  std::array<int64_t, 3> grid{};
  uint32_t threads = 0;
  uint64_t shared_bytes = 0;
  std::optional<CostResources> resources;  // empty without ptxas
  ptx::Occupancy occupancy;
  std::vector<CostLine> lines;  // of the kernel's text, from the first to the last with a cost
  CostLine total;
  std::vector<CostLoop> loops;
};

// Runs the plan, which is for a device ptx:TARGET, with these arguments, and adds the costs of the
// machine code. Returns an exit code; errors are printed.
int MakeCost(const tarsia_module* module, const tarsia_plan* plan, RunArgs* args, CostReport* out);

// The remarks on a line: "8 times the ideal sectors", "1.25 times the ideal wavefronts", "12 spill
// instructions", and the advice.
std::vector<std::string> RemarksOn(const CostLine& line);

std::string CostText(const CostReport& report);
std::string CostJson(const CostReport& report);
// A self-contained page without scripts or external files, for light and dark mode.
std::string CostHtml(const CostReport& report);
// "line 44: 4 stages of 24576 bytes, 73728 bytes in flight a multiprocessor".
std::string LoopTitle(const CostLoop& loop);
// The stages of the pipelines over turns.
std::string PipelineSvg(const CostReport& report);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_COST_COST_H_
