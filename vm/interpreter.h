// The interpreter: it defines the meaning of programs, and runs them if there is no GPU.
//
// Blocks run on all cores, in no particular order; within a block, instructions run one after the
// other on whole tiles. `--check` (LaunchOptions::check) runs on one thread and reports behaviour
// that is undefined on a GPU. Everything here is thread-safe: a plan may be launched from several
// threads at once.
#ifndef TARSIA_VM_INTERPRETER_H_
#define TARSIA_VM_INTERPRETER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.h"
#include "launch/arguments.h"
#include "launch/rows.h"
#include "support/result.h"
#include "support/stop.h"
#include "vm/scheduler.h"

namespace tarsia::vm {

class Plan;

// Receives the number of blocks that are done and the total. Called from one thread at a time, a
// few times per second, with counts that never decrease; not called for shorter launches.
using ProgressSink = std::function<void(uint64_t done, uint64_t total)>;

// Shows the instructions of one block as they run, with their results.
struct TraceOptions {
  bool enabled = false;
  std::string value;  // only instructions that define this value (without '%'); empty: all
  std::array<int64_t, 3> block = {0, 0, 0};
  launch::LineSink sink;
};

struct LaunchOptions {
  bool check = false;
  int threads = 0;                // 0: all cores
  uint64_t max_instructions = 0;  // for all blocks together; 0: no limit
  bool last = false;              // frees the tiles that a later launch would use again
  TraceOptions trace;
  launch::LineSink print;  // receives the lines of `print`; null: dropped
  ProgressSink progress;
  // Of the emulator: 0, or a number for another order in which blocks begin.
  uint64_t seed = 0;
  StopCheck* stop = nullptr;  // checked during the launch; null: it runs to its end
  // For tests of the scheduler: the condition that an instruction (by its index in the kernel)
  // waits for before it runs, or null. The condition must outlive the launch.
  std::function<const WaitCondition*(const std::array<int64_t, 3>& block, size_t inst)> wait;
};

struct LaunchReport {
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<launch::Finding> findings;  // by place; only with `check`
  uint64_t blocks = 0;
  uint64_t instructions = 0;
};

// Makes a program ready to run; a plan serves any number of launches.
Result<std::shared_ptr<const Plan>> Prepare(const Program& program);

// Runs the whole grid and waits for it. Errors: arguments that do not fit, assumptions that do not
// hold, a failed assertion (of the lowest block that has one), deadlock, memory that cannot be
// allocated, LaunchOptions::stop. After an error the contents of writable buffers are unspecified.
Result<LaunchReport> Launch(const Plan& plan, std::span<const launch::Argument> args,
                            const LaunchOptions& options = {});
Result<LaunchReport> Launch(const Program& program, std::span<const launch::Argument> args,
                            const LaunchOptions& options = {});

}  // namespace tarsia::vm

#endif  // TARSIA_VM_INTERPRETER_H_
