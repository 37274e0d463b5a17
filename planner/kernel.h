// One kernel of a plan: what it is asked to compute, and its program as text. A kernel works on
// tiles of the axes of its results, one for each block; what its results need is computed tile by
// tile within it, reductions in loops, unless it is in memory already.
#ifndef TARSIA_PLANNER_KERNEL_H_
#define TARSIA_PLANNER_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dtypes/dtype.h"
#include "planner/flat_map.h"
#include "planner/meaning.h"
#include "support/inline_vector.h"

namespace tarsia {

// A tensor in memory as a kernel sees it.
struct KernelTensor {
  uint32_t buffer = 0;  // its number in the plan
  std::string name;
  DType dtype;
  InlineVector<uint32_t, 6> axes;    // the last one contiguous
  InlineVector<int64_t, 6> extents;  // in memory
  InlineVector<bool, 6> chunked;     // by axis: it holds only the range of the step
  InlineVector<bool, 6> shared;      // by axis: it holds only the range of the rank
  int64_t parts = 0;  // 0, or the extent of a dimension before all axes: parts of a reduction
  // An input that an output takes the place of in this kernel: the buffer of the input, while
  // `buffer` and `name` are those of the output.
  std::optional<uint32_t> replaced{};

  friend bool operator==(const KernelTensor&, const KernelTensor&) = default;
};

// A reduction whose state is in memory.
struct KernelReduction {
  size_t node = 0;
  std::vector<KernelTensor> state;  // one for each of StateOf

  friend bool operator==(const KernelReduction&, const KernelReduction&) = default;
};

// What kernels are written for. A GPU reads global memory in sectors, so that tiles of short runs
// come by way of shared memory; on a CPU that is one copy more.
enum class Machine : uint8_t { kCpu, kGpu };

enum class KernelKind : uint8_t {
  kValues,   // computes values
  kPartial,  // reduces a range of a split axis, or several parts of it, to states
  kFinish,   // merges the parts of states and makes the results
  kMerge,    // merges the states of another rank into those in memory
  // Of planner/solve.h:
  kBegin,       // writes what is solved into the memory of its result
  kFactor,      // a block on the diagonal
  kSubstitute,  // solves with that block
  kUpdate,      // subtracts its products from what is behind it
};
// Whether a kernel of this kind is launched once for each panel of a matrix.
inline bool IsOfPanels(KernelKind kind) { return kind >= KernelKind::kFactor; }

struct KernelRequest {
  std::string name;
  KernelKind kind = KernelKind::kValues;
  InlineVector<uint32_t, 6> axes;  // of all results, which are cut into tiles
  std::vector<std::pair<uint32_t, KernelTensor>> stores;  // values and where they go
  std::vector<KernelReduction> reductions;  // kPartial: what is reduced; kFinish: what is finished
  std::vector<KernelReduction> incoming;    // kMerge: what is merged into `reductions`
  FlatMap<uint32_t, KernelTensor> known;    // values in memory
  // Split axes, whose ranges are parameters of the kernel, and a power of two that divides all
  // bounds of ranges but the end of the axis.
  FlatMap<uint32_t, int64_t, 3> ranges;
  std::optional<uint32_t> shared;  // the axis of which some tensors hold only the range of the rank
  int64_t parts = 1;               // kPartial, kMerge: of PartedAxis
  bool accumulates = false;        // kPartial: merges with the states in memory

  friend bool operator==(const KernelRequest&, const KernelRequest&) = default;
};

struct KernelParam {
  enum class Kind : uint8_t { kTensor, kLow, kHigh, kBase, kFresh };
  Kind kind = Kind::kTensor;
  uint32_t id = 0;  // the buffer, or the axis; kBase: where the range of the rank begins
  bool written = false;
  bool read = false;
  std::optional<uint32_t> replaced{};  // the input that is read there, element by element
};

struct KernelText {
  std::string name;
  std::string text;
  std::vector<KernelParam> params;
  // An estimate: operations on elements, each weighted by its price, of all blocks of one launch
  // over whole ranges.
  double cost = 0;
  int64_t blocks = 0;
  int rank = 0;  // of its tiles; above kMaxRank there is no text
};

// The reduced axis that is cut into parts: the longest.
uint32_t PartedAxis(const Meaning& meaning, const Reduction& reduction);

KernelText MakeKernel(const Meaning& meaning, const KernelRequest& request, Machine machine);

// Numbers the buffers of a request in the order in which they first appear in it, from 0 on;
// returns their numbers in the plan. Requests of plans that differ elsewhere become equal.
InlineVector<uint32_t, 16> NumberBuffers(KernelRequest* request);

// Kernels that were made before: most of those that a search compares are the same.
class KernelCache {
 public:
  KernelCache(const Meaning& meaning, Machine machine) : meaning_(meaning), machine_(machine) {}

  // Of a request whose buffers have numbers of their own.
  const KernelText& Get(const KernelRequest& request);
  [[nodiscard]] Machine machine() const { return machine_; }

 private:
  struct Hash {
    size_t operator()(const KernelRequest& request) const;
  };
  const Meaning& meaning_;
  Machine machine_;
  std::unordered_map<KernelRequest, KernelText, Hash> kernels_;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_KERNEL_H_
