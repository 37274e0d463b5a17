// The interpreter: what a program means, and what runs it where there is no GPU.
//
// Blocks run on all cores, in no particular order; within a block, instructions run one after the
// other on whole tiles. `--check` (LaunchOptions::check) runs on one thread and reports what would
// be undefined on a machine. Everything here is thread-safe: a plan may be launched from several
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
#include <variant>
#include <vector>

#include "isa/program.h"
#include "layout/inline_vector.h"
#include "support/result.h"
#include "support/stop.h"
#include "vm/scheduler.h"

namespace tarsia::vm {

class Plan;

// Bound to a pointer parameter. `data` may be null if `bytes` is 0. Any alignment.
struct Buffer {
  void* data = nullptr;
  uint64_t bytes = 0;
  bool writable = false;
};

// Bound to a scalar parameter, whose type it must have.
struct ScalarValue {
  DType type;
  uint64_t code = 0;
};

// One argument of a launch; arguments are given by parameter.
using Argument = std::variant<Buffer, ScalarValue>;
struct LaunchArgs {
  std::vector<Argument> params;
  // NOLINTNEXTLINE(google-explicit-constructor): whoever owns arguments can give them.
  operator std::span<const Argument>() const { return params; }
};
// Arguments and codes of a launch: no allocation for kernels with so many parameters.
inline constexpr size_t kInlineParameters = 64;
using ArgumentList = InlineVector<Argument, kInlineParameters>;
using CodeList = InlineVector<uint64_t, kInlineParameters>;

// Receives lines without newline. Called from one thread at a time.
using LineSink = std::function<void(std::string_view)>;
// Receives how many blocks are done, of how many. Called from one thread at a time, a few times a
// second, with counts that never fall; not called for launches that are over sooner.
using ProgressSink = std::function<void(uint64_t done, uint64_t total)>;

// Shows the instructions of one block as they run, with their results.
struct TraceOptions {
  bool enabled = false;
  std::string value;  // only instructions that define this value (without '%'); empty: all
  std::array<int64_t, 3> block = {0, 0, 0};
  LineSink sink;
};

struct LaunchOptions {
  bool check = false;
  int threads = 0;                // 0: all cores
  uint64_t max_instructions = 0;  // of all blocks together; 0: no limit
  TraceOptions trace;
  LineSink print;  // of the instruction `print`; null: dropped
  ProgressSink progress;
  StopCheck* stop = nullptr;  // asked while the launch goes on; null: it runs to its end
  // For tests of the scheduler: what an instruction (by its index in the kernel) waits for before
  // it runs, or null. The condition must outlive the launch.
  std::function<const WaitCondition*(const std::array<int64_t, 3>& block, size_t inst)> wait;
};

// What `--check` found. Findings of one kind at one place are one, and counted.
struct Finding {
  Diagnostic diagnostic;  // of the first
  std::array<int64_t, 3> block = {0, 0, 0};
  uint64_t count = 1;
};

struct LaunchReport {
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::vector<Finding> findings;  // by place; only with `check`
  uint64_t blocks = 0;
  uint64_t instructions = 0;
};

// Makes a program ready to run; a plan serves any number of launches.
Result<std::shared_ptr<const Plan>> Prepare(const Program& program);

// Runs the whole grid and waits for it. Errors: arguments that do not fit, assumptions that do not
// hold, a failed assertion (of the lowest block that has one), deadlock, memory that cannot be had,
// LaunchOptions::stop.
// After an error the contents of writable buffers are unspecified.
Result<LaunchReport> Launch(const Plan& plan, std::span<const Argument> args,
                            const LaunchOptions& options = {});
Result<LaunchReport> Launch(const Program& program, std::span<const Argument> args,
                            const LaunchOptions& options = {});

// What is known of a launch before any block runs.
struct LaunchShape {
  std::array<int64_t, 3> grid = {1, 1, 1};
  CodeList scalars;  // codes by parameter; of pointers 0
  [[nodiscard]] bool Empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};
// All that Launch checks of its arguments before any block runs: number, kinds and types, every
// assumption, the grid, and that buffers hold the views of them. For many launches of one program
// see LaunchTemplate (vm/launch_template.h).
Result<LaunchShape> CheckLaunch(const Program& program, std::span<const Argument> args);

// Extents of the grid. `scalars` are the scalar parameters' codes by parameter; entries of pointers
// are ignored. Errors: extents outside of 0 to 2^31 - 1, more than 2^62 blocks.
Status ResolveGrid(const Program& program, const std::vector<uint64_t>& scalars, int64_t grid[3]);

// A view of a pointer parameter whose shape follows from parameters and constants.
struct PointerUse {
  uint32_t parameter = 0;
  Location location;
  DType type;
  std::vector<int64_t> shape;
  uint64_t bytes = 0;         // what a buffer must have at least
  bool row_major = false;     // whole, dense, the last dimension fastest
  bool unconditional = true;  // not within a loop or a branch, unless its condition is constant
  bool written = false;       // some instruction stores through it
  std::string text;           // "global<f16>[16, 64]"
};
// All such views in the order of the text. Errors: extents outside of 0 to 2^40, a layout that does
// not fit the shape.
Result<std::vector<PointerUse>> PointerUses(const Program& program,
                                            const std::vector<uint64_t>& scalars);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_INTERPRETER_H_
