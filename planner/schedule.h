// From a choice of what is kept in memory and which axes are split to the works of a plan in order,
// and the tensors that they exchange. Internal to planner/.
//
// Works that have a split axis run in a loop over its chunks. A work that needs the end of a
// reduction over that axis, or the whole of a tensor, runs behind the loop, or in a second one: so
// each loop has a *level*. A tensor that is made and used within one loop has room for one chunk.
#ifndef TARSIA_PLANNER_SCHEDULE_H_
#define TARSIA_PLANNER_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan.h"
#include "planner/works.h"
#include "support/inline_vector.h"

namespace tarsia {

// Where a tensor is.
struct Place {
  InlineVector<bool, 6> local;    // by axis: see Sharing::IsLocal
  InlineVector<bool, 6> in_loop;  // by axis: as `local`, and all are in one loop, or it is an input
  InlineVector<bool, 6> chunked;  // by axis: it holds only a chunk
  InlineVector<bool, 6> shared;   // by axis: it holds only the range of the rank
  uint64_t bytes = 0;
  uint64_t room = 0;           // of all its buffers
  bool doubled = false;        // two buffers, for the chunks of an input or an output
  size_t first = 0, last = 0;  // works, loops taken as a whole
};

// A work, or a loop over the chunks of an axis.
struct ScheduleItem {
  bool is_loop = false;
  size_t work = 0;
  size_t split = 0;                // of a loop: which one of the choice
  size_t end = 0;                  // of a loop: the item behind its body
  std::optional<Panels> panels{};  // of a loop over them, in place of `split`
};

struct ScheduleLoop {
  StepRange range;  // of the axis, that this plan covers
  int64_t chunk = 0;
  int64_t count = 0;  // of the chunks of the rank that has the most
  bool descending = false;
};

// By axis, the loop in which a work runs.
using LoopsOfWork = FlatMap<uint32_t, size_t, 3>;

// Memory that one search for offsets after the other uses.
struct PackBuffers {
  struct Span {
    size_t first, last;
    uint64_t begin, end;
  };
  std::vector<Span> placed;  // by their begin
  std::vector<size_t> by_size;
  std::vector<unsigned __int128> more;  // by item, the bytes that exist beside those before it
};

class Sharing;

class Schedule {
 public:
  Schedule(const Meaning& meaning, const PlanChoice& choice, LimitKind limit_kind);
  // `made`: those of the choice.
  Schedule(const Meaning& meaning, PlanChoice choice, LimitKind limit_kind,
           std::shared_ptr<const Works> made);

  // Makes the chunks of `count` splits larger or smaller. Works and their order stay as they are.
  void SetChunk(size_t split, size_t count, int64_t chunk);
  // The same as SetChunk for a choice that differs only in chunks and in what is streamed.
  void SetSizes(const PlanChoice& choice);

  [[nodiscard]] const PlanChoice& choice() const { return choice_; }
  [[nodiscard]] uint64_t peak() const;
  // Whether the peak is at most the limit, which is found sooner than the peak.
  [[nodiscard]] bool Fits(uint64_t limit, PackBuffers* buffers) const;
  // Whether each output that takes the memory of an input is written after its last reader, or by
  // it element by element, and no work needs more of a tensor than the share that its rank made.
  // If not, nothing but the peak is of use.
  [[nodiscard]] bool feasible() const { return feasible_; }
  // Launches, in unrolled loops.
  [[nodiscard]] double steps() const;
  // An estimate of all transfers of inputs and outputs, in additions of elements.
  [[nodiscard]] double TransferCost() const;
  [[nodiscard]] KernelRequest RequestOf(size_t work) const;
  // What all kernels and exchanges cost, and `outside`; no less than `most` if it is not below it.
  // `rank`: the most dimensions of a tile, if it is below it.
  [[nodiscard]] double Cost(double outside, double most, KernelCache* cache, int* rank) const;
  // Writes the kernels, whose cost it adds up.
  [[nodiscard]] Plan Make(KernelCache* cache) const;
  // Then the buffers, and the steps one by one.
  void AddSteps(Plan* plan) const;

 private:
  [[nodiscard]] Sharing sharing() const;
  // Whether the steps of a work have ranges of the axis.
  [[nodiscard]] bool IsRanged(size_t work, uint32_t axis) const;

  // ---- order (schedule.cc)
  using WorkList = InlineVector<size_t, 16>;
  void Order(const WorkList& works, size_t split);
  WorkList MergesBehind(const WorkList& works, size_t split);
  void AddItems(const WorkList& works);
  [[nodiscard]] InlineVector<int, 32> LevelsOf(const WorkList& works, uint32_t axis) const;
  void FindLifetimes();
  void FindLocal();
  void FindSizes();
  void FindSize(size_t tensor);
  [[nodiscard]] uint64_t LeastPeak(PackBuffers* buffers) const;
  void SortByTime();
  [[nodiscard]] bool CanChunk(size_t tensor, size_t at) const;
  [[nodiscard]] InlineVector<int64_t, 6> ExtentsOf(size_t tensor) const;
  [[nodiscard]] double Rounds(size_t tensor) const;
  void FindOffsets() const;
  [[nodiscard]] KernelTensor Use(size_t tensor) const;
  [[nodiscard]] Works::Sizes SizesOf(size_t work) const;
  [[nodiscard]] const KernelText& KernelOf(size_t work, KernelCache* cache) const;
  [[nodiscard]] std::vector<PlanStep> StepsOf(const Plan& plan) const;
  void Unroll(size_t begin, size_t end, const std::vector<PlanStep>& of_works,
              std::vector<StepRange>* ranges, Plan* plan) const;
  void AddStep(const PlanStep& of_work, const std::vector<StepRange>& ranges, Plan* plan) const;
  void AddBuffers(Plan* plan) const;
  void AddTensorsOf(Plan* plan) const;

  const Meaning& meaning_;
  PlanChoice choice_;
  LimitKind limit_kind_;
  std::shared_ptr<const Works> made_;
  const std::vector<Tensor>& tensors_;
  const std::vector<Work>& works_;
  std::vector<Place> places_;          // by tensor
  std::vector<LoopsOfWork> loops_of_;  // by work
  std::vector<ScheduleItem> items_;
  bool feasible_;
  size_t loops_ = 0;
  std::vector<size_t> by_time_;  // tensors of the arena, those that are needed first in front
  // Found when they are asked for:
  mutable std::vector<uint64_t> offsets_;  // by tensor
  mutable std::optional<uint64_t> peak_;   // none: not found as yet, nor are the offsets
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_SCHEDULE_H_
