// What a plan computes in memory: its tensors, and the works that make them, in an order in which
// each needs only earlier ones. Neither depends on the size of chunks. Internal to planner/.
#ifndef TARSIA_PLANNER_WORKS_H_
#define TARSIA_PLANNER_WORKS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/flat_map.h"
#include "planner/plan.h"
#include "support/inline_vector.h"

namespace tarsia {

struct Split {
  uint32_t axis = 0;
  int64_t chunk = 0;

  friend auto operator<=>(const Split&, const Split&) = default;
};

// What a plan is determined by, besides the graph.
struct PlanChoice {
  InlineVector<size_t, 8> kept;   // reductions whose results are in memory, besides the outputs
  InlineVector<Split, 3> splits;  // outermost first
  bool parts = false;             // long reductions with few results are cut into parts
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
  InlineVector<uint32_t, 6> axes;
  int64_t parts = 0;
  std::optional<size_t> in_place{};  // of an output: the tensor whose memory it takes
  uint32_t input = 0;                // of an input: its number, which others may have too
  InlineVector<size_t, 6> users{};   // works
  bool used = false;
  bool overwritten = false;  // an input: an output takes its memory
};

// The panels of a matrix, one after the other. Works of one node run in turn for each of them.
struct Panels {
  size_t node = 0;
  uint32_t axis = 0;
  bool descending = false;
};

// A value in memory, or an axis of a tensor.
using ValueTensor = FlatEntry<uint32_t, size_t>;
struct TensorAxis {
  size_t tensor = 0;
  uint32_t axis = 0;

  friend auto operator<=>(const TensorAxis&, const TensorAxis&) = default;
};

struct Work {
  std::string name;  // of its kernel; no other work has it
  KernelKind kind = KernelKind::kValues;
  InlineVector<uint32_t, 6> axes;       // of its results
  InlineVector<uint32_t, 6> reduced;    // kPartial: the axes it reduces
  InlineVector<ValueTensor, 2> stores;  // values and tensors
  std::vector<std::pair<size_t, InlineVector<size_t, 4>>>
      states;  // nodes and tensors of their states
  std::vector<std::pair<size_t, InlineVector<size_t, 4>>>
      incoming{};                      // kMerge: those of another rank
  std::optional<size_t> merge{};       // the work that merges its states with those of other ranks
  FlatMap<uint32_t, size_t, 6> reads;  // values in memory and tensors
  // Tensors and axes along which it reads other elements than those of its own range.
  FlatSet<TensorAxis, 2> moved;
  std::vector<size_t> readers;    // works that read what it overwrites
  InlineVector<size_t, 6> needs;  // works
  int64_t parts = 1;
  std::optional<Panels> panels;

  [[nodiscard]] bool Has(uint32_t axis) const;
  [[nodiscard]] bool Reduces(uint32_t axis) const;
  // Whether it reads what `other` stores at other elements along the axis.
  [[nodiscard]] bool Moves(const Work& other, uint32_t axis) const;
};

// The parts into which a reduction is cut, if the choice says so; 1 if it is short.
int64_t MostPartsOf(const Meaning& meaning, size_t n);
// Whether any is cut.
bool HasParts(const Meaning& meaning);

class Works {
 public:
  // All that it depends on of a choice.
  struct Key {
    InlineVector<size_t, 8> kept;
    InlineVector<size_t, 8> split;  // reductions over split axes
    bool parts = false;
    bool views = false;
    std::optional<uint32_t> shared;  // the axis

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static Key KeyOf(const Meaning& meaning, const PlanChoice& choice);

  Works(const Meaning& meaning, Key key);

  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  // First those in their order, then merges.
  [[nodiscard]] const std::vector<Work>& works() const { return works_; }
  [[nodiscard]] size_t ordered() const { return ordered_; }
  // All works, those with the most elements in front.
  [[nodiscard]] const std::vector<size_t>& by_size() const { return by_size_; }
  // Whether each output that takes the memory of an input is written after its last reader, or by
  // it element by element.
  [[nodiscard]] bool feasible() const { return feasible_; }
  // The output that a work writes in the memory of an input; null if it writes none there.
  [[nodiscard]] const Tensor* InPlaceOf(const Work& work, size_t input_tensor) const;

  // What distinguishes the kernels of one work: extents, and what holds only a part.
  using Sizes = InlineVector<int64_t, 24>;
  // A kernel that a schedule of these works has asked for; null if none has.
  [[nodiscard]] const KernelText* KernelWith(size_t work, const Sizes& sizes) const;
  // The kernel stays where it is.
  void Remember(size_t work, const Sizes& sizes, const KernelText& kernel) const;

 private:
  // ---- works (works.cc)
  void AddTensors();
  void AddWorks();
  void AddValueWork(uint32_t v);
  void AddReductionWorks(size_t n);
  void AddSolveWorks(size_t n);
  // Axes whose index is that of another axis.
  using MovedAxes = FlatSet<uint32_t, 4>;
  // A walk to the values that a work reads.
  struct Walk {
    using Values = InlineVector<uint64_t, 4>;  // a bit for each
    Work* work;
    Values seen{};                                           // with no axis moved
    std::vector<std::pair<MovedAxes, Values>> seen_moved{};  // with some

    // Whether it has not been at the value with these axes moved.
    bool Enter(uint32_t v, const MovedAxes& moved, size_t values);
  };
  void FindReads(uint32_t v, const MovedAxes& moved, Walk* walk) const;
  void FindReadsOfNode(size_t n, const MovedAxes& moved, Walk* walk) const;
  void Join();
  [[nodiscard]] bool CanJoin(size_t at, const Work& work, size_t groups) const;
  [[nodiscard]] bool IsSplit(size_t n) const;
  [[nodiscard]] int64_t PartsOf(size_t n) const;
  size_t AddTensor(Tensor tensor);
  [[nodiscard]] std::string NameFor(std::string name) const;
  void FindNeeds();
  void AddMerges();
  void FindUsers();
  void NameWorks();
  void SortBySize();

  // ---- outputs in the memory of inputs (in_place.cc)
  void SortInPlace();
  void FindReaders();
  bool Sort();
  [[nodiscard]] bool ReadsElsewhere(const Work& work, uint32_t input) const;

  const Meaning& meaning_;
  Key key_;
  std::vector<Tensor> tensors_;
  FlatMap<uint32_t, size_t, 8> input_tensors_, result_tensors_;  // by value
  std::vector<Work> works_;
  size_t ordered_ = 0;
  std::vector<size_t> by_size_;
  bool feasible_ = true;
  struct KnownKernel {
    size_t work = 0;
    Sizes sizes;
    const KernelText* kernel = nullptr;
  };
  mutable std::vector<KnownKernel> kernels_;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_WORKS_H_
