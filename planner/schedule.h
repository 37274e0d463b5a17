// From a choice of what is kept in memory and which axes are split to the works of a plan in order,
// and the tensors that they exchange. Internal to planner/.
//
// Works that have a split axis run in a loop over its chunks. A work that needs the end of a
// reduction over that axis, or the whole of a tensor, runs behind the loop, or in a second one: so
// each loop has a *level*. A tensor that is made and used within one loop has room for one chunk.
#ifndef TARSIA_PLANNER_SCHEDULE_H_
#define TARSIA_PLANNER_SCHEDULE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan.h"

namespace tarsia {

struct Split {
  uint32_t axis = 0;
  int64_t chunk = 0;

  friend auto operator<=>(const Split&, const Split&) = default;
};

// What a plan is determined by, besides the graph.
struct PlanChoice {
  std::vector<size_t> kept;   // reductions whose results are in memory, besides the outputs
  std::vector<Split> splits;  // outermost first
  bool parts = false;         // long reductions with few results are cut into parts
  // Inputs and outputs that have a split axis are transferred by chunks, where that is possible.
  bool streamed = false;
  // Inputs under other names of their axes are tensors of their own, which are transferred
  // separately: chunks of an axis, and others of what else it is called. Only with `streamed`.
  bool views = false;
  std::optional<PlanShare> share{};  // its axis is among the splits

  friend auto operator<=>(const PlanChoice&, const PlanChoice&) = default;
};

// A tensor in memory.
struct Tensor {
  std::string name;
  PlanBuffer::Kind kind = PlanBuffer::Kind::kScratch;
  uint32_t value = 0;
  DType dtype;
  std::vector<uint32_t> axes;
  int64_t parts = 0;
  std::optional<size_t> in_place{};  // of an output: the tensor whose memory it takes
  uint32_t input = 0;                // of an input: its number, which others may have too
  // Made by Schedule:
  std::vector<size_t> users{};  // works
  std::vector<bool> chunked{};  // by axis
  std::vector<bool> shared{};   // by axis: it holds only the range of the rank
  uint64_t bytes = 0;
  bool doubled = false;        // two buffers, for the chunks of an input or an output
  size_t first = 0, last = 0;  // works, loops taken as a whole
  bool used = false;
  bool overwritten = false;  // an input: an output takes its memory
  uint64_t offset = 0;

  [[nodiscard]] uint64_t Room() const;  // of all its buffers
};

// The panels of a matrix, one after the other. Works of one node run in turn for each of them.
struct Panels {
  size_t node = 0;
  uint32_t axis = 0;
  bool descending = false;
};

struct Work {
  KernelKind kind = KernelKind::kValues;
  std::vector<uint32_t> axes;                                  // of its results
  std::vector<uint32_t> reduced;                               // kPartial: the axes it reduces
  std::vector<std::pair<uint32_t, size_t>> stores;             // values and tensors
  std::vector<std::pair<size_t, std::vector<size_t>>> states;  // nodes and tensors of their states
  std::vector<std::pair<size_t, std::vector<size_t>>> incoming{};  // kMerge: those of another rank
  std::optional<size_t> merge{};     // the work that merges its states with those of other ranks
  std::map<uint32_t, size_t> reads;  // values in memory and tensors
  // Tensors and axes along which it reads other elements than those of its own range.
  std::set<std::pair<size_t, uint32_t>> moved;
  std::vector<size_t> readers;  // works that read what it overwrites
  std::vector<size_t> needs;    // works
  int64_t parts = 1;
  std::map<uint32_t, size_t> loops;  // by axis: the loop it runs in
  std::optional<Panels> panels;

  [[nodiscard]] bool Has(uint32_t axis) const;
  [[nodiscard]] bool Reduces(uint32_t axis) const;
  // Whether its steps have ranges of the axis.
  [[nodiscard]] bool IsRanged(uint32_t axis) const;
  // Whether it reads what `other` stores at other elements along the axis.
  [[nodiscard]] bool Moves(const Work& other, uint32_t axis) const;
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

// The parts into which a reduction is cut, if the choice says so; 1 if it is short.
int64_t MostPartsOf(const Meaning& meaning, size_t n);
// Whether any is cut.
bool HasParts(const Meaning& meaning);

class Sharing;

class Schedule {
 public:
  Schedule(const Meaning& meaning, PlanChoice choice, LimitKind limit_kind);

  // Makes the chunks of `count` splits larger or smaller. Works and their order stay as they are.
  void SetChunk(size_t split, size_t count, int64_t chunk);
  // The same, to try: whether the peak is at most the limit. Of use are then only this and what is
  // set or tried next.
  bool FitsWith(size_t split, size_t count, int64_t chunk, uint64_t limit);
  // The same as SetChunk for a choice that differs only in chunks and in what is streamed.
  void SetSizes(const PlanChoice& choice);

  [[nodiscard]] const PlanChoice& choice() const { return choice_; }
  [[nodiscard]] uint64_t peak() const { return peak_; }
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
  // ---- works (works.cc)
  void AddTensors();
  void AddWorks();
  void AddValueWork(uint32_t v);
  void AddReductionWorks(size_t n);
  void AddSolveWorks(size_t n);
  // A walk to the values that a work reads. `moved`: the axes whose index is that of another axis.
  struct Walk {
    Work* work;
    std::vector<std::pair<std::set<uint32_t>, std::vector<bool>>> seen;  // what was moved; by value

    // Whether it has not been at the value with these axes moved.
    bool Enter(uint32_t v, const std::set<uint32_t>& axes, size_t values);
  };
  void FindReads(uint32_t v, const std::set<uint32_t>& moved, Walk* walk) const;
  void FindReadsOfNode(size_t n, const std::set<uint32_t>& moved, Walk* walk) const;
  void Join();
  [[nodiscard]] bool CanJoin(const Work& group, const Work& work, size_t at) const;
  [[nodiscard]] bool IsSplit(const Reduction& reduction) const;
  [[nodiscard]] int64_t PartsOf(size_t n) const;
  size_t AddTensor(Tensor tensor);
  [[nodiscard]] std::string NameFor(std::string name) const;
  void FindNeeds();
  void AddMerges();
  [[nodiscard]] Sharing sharing() const;

  // ---- outputs in the memory of inputs (in_place.cc)
  void SortInPlace();
  void FindReaders();
  bool Sort();
  [[nodiscard]] bool ReadsElsewhere(const Work& work, uint32_t input) const;
  [[nodiscard]] const Tensor* InPlaceOf(const Work& work, size_t input_tensor) const;

  // ---- order (schedule.cc)
  void Order(const std::vector<size_t>& works, size_t split);
  std::vector<size_t> MergesBehind(const std::vector<size_t>& works, size_t split);
  void AddItems(const std::vector<size_t>& works);
  [[nodiscard]] std::vector<int> LevelsOf(const std::vector<size_t>& works, uint32_t axis) const;
  void FindLifetimes();
  void FindSizes();
  [[nodiscard]] bool CanChunk(size_t tensor, size_t at) const;
  [[nodiscard]] std::vector<int64_t> ExtentsOf(const Tensor& tensor) const;
  [[nodiscard]] double Rounds(const Tensor& tensor) const;
  void FindOffsets(uint64_t enough = 0);
  [[nodiscard]] KernelTensor Use(size_t tensor) const;
  void Unroll(size_t begin, size_t end, std::vector<StepRange>* ranges, Plan* plan) const;
  void AddStep(size_t work, const std::vector<StepRange>& ranges, Plan* plan) const;
  void AddBuffers(Plan* plan) const;
  void AddTensorsOf(Plan* plan) const;

  const Meaning& meaning_;
  PlanChoice choice_;
  LimitKind limit_kind_;
  std::vector<Tensor> tensors_;
  std::map<uint32_t, size_t> input_tensors_, result_tensors_;  // by value
  std::vector<Work> works_;
  std::vector<ScheduleItem> items_;
  bool feasible_ = true;
  size_t loops_ = 0;
  uint64_t peak_ = 0;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_SCHEDULE_H_
