// The PTX emulator: runs an entry of a loaded module over a grid and reports what it did wrong.
//
//   Diagnostics diagnostics;
//   auto module = ptx::ParseModule(source, &diagnostics);       // null: see diagnostics
//   ptx::Memory memory;
//   auto image = ptx::Image::Load(module, &memory);             // variables get addresses
//   auto report = ptx::Launch(**image, "kernel", config);       // config: grid, block, parameters
//   report->ok(), report->findings, memory.CopyOut(..)
#ifndef TARSIA_PTX_MACHINE_EMULATOR_H_
#define TARSIA_PTX_MACHINE_EMULATOR_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/count/counts.h"
#include "ptx/memory/image.h"
#include "ptx/memory/memory.h"
#include "ptx/parse/module.h"
#include "ptx/table/findings.h"
#include "support/result.h"
#include "support/stop.h"

namespace tarsia::ptx {

// Where within their published errors (ptx/table/approximations.def) the results of approximate
// instructions lie: at the rounded true result, at the lower or the upper end of what PTX allows,
// or at one of the two by the operand's bits.
enum class Approximations : uint8_t { kBest, kLow, kHigh, kMixed };

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  Dim3 cluster{0, 0, 0};                // blocks of a cluster; zeros: what the entry requires
  uint64_t dynamic_shared = 0;          // bytes
  std::span<const uint8_t> parameters;  // the parameter block, as the entry lays it out
  int host_threads = 1;                 // blocks of the grid run on as many
  uint64_t instruction_limit = 0;       // instructions of warps in the whole grid; 0: no limit
  uint64_t max_shared = uint64_t{227} * 1024;  // bytes a block may have
  // Whether undefined bits and races are looked for; what an access cannot do is always found.
  bool checks = true;
  Approximations approximations = Approximations::kBest;
  // Blocks that are begun before one of them ends, if those that run wait for others.
  uint32_t resident_blocks = 256;
  // Whether threads of all blocks may wait for each other, as those of cooperative groups do: the
  // grid has the memory that their barrier takes.
  bool cooperative = true;
  bool counts = false;  // fills LaunchReport::counts, which takes time
  // Only blocks whose numbers (x fastest) lie in [first_block, end_block) run.
  uint64_t first_block = 0;
  uint64_t end_block = UINT64_MAX;
  // The order in which blocks begin: 0 is that of their numbers, every other number another one.
  uint64_t seed = 0;
  // Called when a block has ended, by one thread at a time.
  std::function<void(uint64_t done, uint64_t total)> progress;
  StopCheck* stop = nullptr;  // asked while blocks run; the report is that of an unfinished launch
  // Programmatic dependent launch (griddepcontrol). The first is called once, when every block has
  // executed launch_dependents or ended; the second before the first thread goes on after a wait.
  // Each may take as long as it likes.
  std::function<void()> dependents_may_start;
  std::function<void()> dependency_wait;
};

struct LaunchReport {
  std::vector<Finding> findings;
  std::string output;  // of vprintf
  uint64_t warp_instructions = 0;
  uint64_t thread_instructions = 0;
  uint64_t blocks = 0;  // that ran to their end
  // griddepcontrol by threads. Within one launch neither does anything but call the above.
  uint64_t dependents_launched = 0;
  uint64_t dependency_waits = 0;
  bool finished = false;  // all blocks that were to run did
  LaunchCounts counts;    // of LaunchConfig::counts
  // What the search for races took beside global memory, and for how many bytes of it (in pages of
  // 1 KiB): at most 11 times as much, and 2 MiB. The undefined bits, always kept, are not in it.
  uint64_t shadow_bytes = 0;
  uint64_t shadowed_bytes = 0;

  [[nodiscard]] bool ok() const { return finished && findings.empty(); }
};

// Runs `entry` to the end, or to a deadlock, a trap or the limit, each of which is a finding. An
// error is something that a driver would refuse: an unknown entry, a bad shape, too much shared
// memory, parameters of another size.
Result<LaunchReport> Launch(const Image& image, std::string_view entry, const LaunchConfig& config);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_EMULATOR_H_
