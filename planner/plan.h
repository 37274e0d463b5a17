// A plan: the kernels that compute a graph below a memory limit, the order in which they run, and
// where each tensor lies in one allocation, the arena. Everything is fixed when the plan is made.
#ifndef TARSIA_PLANNER_PLAN_H_
#define TARSIA_PLANNER_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/graph/specialise.h"
#include "planner/kernel.h"
#include "planner/share.h"
#include "support/diagnostic.h"
#include "support/inline_vector.h"

namespace tarsia {

// What the limit counts: everything, or all but inputs and outputs.
enum class LimitKind : uint8_t { kTotal, kScratch };

inline constexpr uint64_t kNoLimit = UINT64_MAX;
inline constexpr uint64_t kArenaAlignment = 256;  // of every offset, in bytes
// The most bytes of an arena, also without a limit: sums of sizes and offsets do not wrap.
inline constexpr uint64_t kMostArena = uint64_t{1} << 62;

// An input or an output of the graph, as it is outside of the arena.
struct PlanTensor {
  std::string name;
  DType dtype;
  std::vector<uint32_t> axes;    // the last one contiguous
  std::vector<int64_t> extents;  // of the axes
  uint64_t bytes = 0;
  bool used = true;  // false: an input that nothing reads
  // Of a share: only the range of the rank is read or written. An output without this is computed
  // by every rank.
  bool shared = false;
};

// A place in memory for a tensor or for a chunk of it.
struct PlanBuffer {
  enum class Kind : uint8_t { kInput, kOutput, kScratch };
  std::string name;
  Kind kind = Kind::kScratch;
  size_t tensor = 0;  // of an input or an output: its number in the graph
  DType dtype;
  // The names of the axes in this buffer. Those of an input may be others than the tensor's: then
  // it is the input as a `rename` of it has it.
  std::vector<uint32_t> axes;
  std::vector<int64_t> extents;  // in memory, the last one contiguous
  uint64_t bytes = 0;
  bool used = true;  // false: an input that nothing reads, which needs no memory
  // In the arena; none for inputs and outputs that the limit does not count: they have memory of
  // their own.
  std::optional<uint64_t> offset;
  // Of an output: the buffer of the input whose memory it takes.
  std::optional<uint32_t> in_place;
  // Of an input or an output that is never in memory as a whole: the axes of which it holds a
  // chunk, and the other buffer, for every other chunk, so that transfers run beside the kernels.
  std::vector<uint32_t> chunked;
  std::optional<size_t> second;
  bool shared = false;         // of the shared axis, it holds only the range of the rank
  size_t first = 0, last = 0;  // the steps at which it must exist
};

struct StepRange {
  uint32_t axis = 0;
  int64_t low = 0, high = 0;  // without high
};

// One launch; or, where the limit counts inputs and outputs, the transfer of one of them, or of a
// chunk of it, into the arena or out of it. A transfer may run beside the steps behind it, up to
// the first one that uses its buffer or memory of it.
// A plan may have many thousands of them, so they are small.
// Or a merge, which all ranks of a share do together: rank 0 receives the states of each other rank
// that has some of the axis, in their order, into the tensors that the kernel only reads, and
// launches the kernel for each; then all ranks receive the tensors that it writes.
struct PlanStep {
  enum class Kind : uint8_t { kLaunch, kLoad, kStore, kMerge };
  Kind kind = Kind::kLaunch;
  bool fresh = true;    // a reduction begins; otherwise it goes on
  uint32_t kernel = 0;  // of a launch or a merge
  // Of a launch: for each tensor of the kernel, then the inputs that it reads in the place of an
  // output; of a transfer: one.
  InlineVector<uint32_t, 6> buffers;
  InlineVector<StepRange, 2> ranges;  // of the split axes that the kernel or the buffer has
};

struct Plan {
  uint64_t limit = kNoLimit;
  LimitKind limit_kind = LimitKind::kTotal;
  uint64_t peak = 0;                        // bytes of the arena
  std::vector<PlanTensor> inputs, outputs;  // in the order of the graph
  std::vector<PlanBuffer> buffers;          // first those of KernelParam::id
  std::vector<KernelText> kernels;
  std::vector<PlanStep> steps;
  std::vector<StepRange> splits;   // each split axis, its chunk as `high`
  std::optional<PlanShare> share;  // none: nothing is shared
  double cost = 0;                 // an estimate, in additions of elements
  double operations = 0;           // of all kernels on this rank, without what idle processors cost

  // All kernels as one program.
  [[nodiscard]] std::string Text() const;
};

struct PlanOptions {
  uint64_t limit = kNoLimit;  // bytes
  LimitKind limit_kind = LimitKind::kTotal;
  // Squared distances may be |a|^2 + |b|^2 - 2 a.b, not below 0: then matrix units compute them,
  // with an error relative to |a|^2 + |b|^2 in place of their own size. Elements must be finite.
  bool fast = false;
  // With more than one: the plan is the share of rank `rank`. Plans of all ranks of a graph with
  // the same other options belong together. If no axis can be shared, the plan is that of one rank.
  size_t rank = 0;
  size_t ranks = 1;
  Machine machine = Machine::kCpu;
  // No axis is split along which a reduction goes: a loop of one block adds each sum.
  bool strict_order = false;
  // Otherwise the result of each reduction is in memory, and is computed once.
  bool recompute = true;
};

// Finds the cheapest schedule whose peak is at most the limit. Errors: what this version does not
// plan, and a limit that is too low, with the smallest one that is not. Deterministic.
std::optional<Plan> MakePlan(const ConcreteGraph& graph, const PlanOptions& options,
                             Diagnostics& diagnostics);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_PLAN_H_
