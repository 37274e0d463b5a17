// Writes the program of a kernel. Internal to planner/.
//
// Every register tile has the rank of the kernel: first the axes of the results, then, in each
// loop, the axes that it reduces; extent 1 where the tile does not depend on them. So elementwise
// instructions align operands by themselves. A value is computed in the outermost loop in which all
// its axes have an index, once.
#ifndef TARSIA_PLANNER_EMITTER_H_
#define TARSIA_PLANNER_EMITTER_H_

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isa/limits.h"
#include "planner/kernel.h"
#include "planner/tile_writer.h"

namespace tarsia {

// The index along an axis: within a tile of a dimension, plus a shift; or a number; or an element
// of a tile of indices, plus a shift.
struct AxisIndex {
  static constexpr int kNumber = -1;
  static constexpr int kTile = -2;
  int dimension = kNumber;
  int64_t shift = 0;
  size_t tile = 0;  // of kTile: Emitter's number of the tile

  [[nodiscard]] bool HasDimension() const { return dimension >= 0; }
};
using AxisIndices = std::map<uint32_t, AxisIndex>;  // by axis

// An axis that is cut into tiles, by the grid or by a loop.
struct Dimension {
  uint32_t axis = 0;
  int64_t extent = 0;
  int64_t tile = 1;
  int position = 0;  // among the dimensions of tiles
  std::string base;  // the first index of the tile, a scalar
  size_t depth = 0;  // of the scope that has it
  TileValue lane;    // the number of an element in the tile; without name if all elements exist
  // Of the innermost loop of a reduction: the loop around it whose longer tiles are staged in
  // shared memory.
  std::optional<size_t> stage{};
  bool staged = false;  // of such a loop: a tensor is
  bool sieved = false;  // that loop leaves out the tiles without elements of the block's segments
};

// A tile of i64 that are indices along an axis. Those outside of the axis read as zero.
struct IndexTile {
  TileValue value;
  size_t depth = 0;  // of the scope that has it
};

// Adds the reductions that a kernel may need to compute a value (emit_reduction.cc).
void FindWanted(const Meaning& meaning, const KernelRequest& request, uint32_t v,
                std::set<size_t>* wanted);

// Whether few elements are reduced, without a loop (emit_reduction.cc).
bool IsUnrolled(const Reduction& reduction);

// Adds the loop around the innermost one of a reduction, dimension `d`, if that reads parts of
// sectors (emit_stage.cc).
void AddStage(const KernelRequest& request, size_t d, std::vector<Dimension>* dimensions);

// The tensors of a kernel: its parameters, and views of them.
struct KernelMemory {
  std::string views;                                                  // the lines that make them
  std::map<std::string, std::string> made;                            // by text, the names
  std::map<std::pair<uint32_t, std::vector<int>>, std::string> seen;  // by buffer and positions
  std::vector<KernelParam> params;
  std::map<uint32_t, std::string> names;  // by buffer
  std::map<uint32_t, DType> types;

  // The name of the parameter of a tensor, which is read or written.
  std::string ParamOf(const KernelTensor& tensor, bool write);
  // The name of a view with this text, which is made once.
  std::string NameOf(const std::string& view, TileWriter& writer);
};

// What the reducers of a loop have in common.
struct LoopForm {
  uint32_t lanes = 0;       // the reduced positions
  bool descending = false;  // the order of the tiles
  bool products = false;    // may be products of matrices
};

struct KernelGrid {
  std::string text;
  std::string part;  // the number of the block's part
  int64_t blocks = 1;
};

class ReducerEmitter;
class SolveEmitter;

// A position of tiles that no dimension has yet.
inline constexpr int kFreePosition = -1;

class Emitter : private TileWriter {
 public:
  Emitter(const Meaning& meaning, const KernelRequest& request, Machine machine, int rank);
  KernelText Emit();

 private:
  friend class SolveEmitter;

  // ---- values (emitter.cc)
  TileValue Value(uint32_t v, const AxisIndices& indices);
  TileValue Compute(uint32_t v, const AxisIndices& indices);
  TileValue Elementwise(size_t n, const AxisIndices& indices);
  TileValue Source(size_t n, const AxisIndices& indices);
  TileValue Reshaped(size_t n, const AxisIndices& indices);
  TileValue Gathered(size_t n, const AxisIndices& indices);
  TileValue Expanded(size_t n, const AxisIndices& indices);
  TileValue Random(size_t n, const AxisIndices& indices);
  AxisIndex AddIndexTile(const std::vector<int64_t>& key, const std::function<TileValue()>& make);
  TileValue Concatenated(size_t n, const AxisIndices& indices);
  TileValue Operand(size_t n, size_t i, const AxisIndices& indices);
  TileValue IndexOf(const AxisIndex& index);
  AxisIndices Restrict(uint32_t v, const AxisIndices& indices) const;
  [[nodiscard]] std::vector<int64_t> KeyOf(uint32_t v, const AxisIndices& indices) const;
  [[nodiscard]] size_t DepthOf(const AxisIndices& indices) const;

  // ---- reductions (emit_reduction.cc)
  using States = std::vector<std::vector<TileValue>>;  // by reduction
  void Reduce(size_t n, const AxisIndices& indices);
  std::vector<TileValue> ReduceUnrolled(size_t n, const AxisIndices& indices);
  // `nodes` reduce the same axes, and none needs another. `root`: over the ranges of the kernel.
  States ReduceInLoops(const std::vector<size_t>& nodes, const AxisIndices& indices, bool root);
  // `lane`: the position of the reduced axis; none: a free one. `of`: the indices of the result.
  ReducerEmitter ReducerOf(size_t n, const AxisIndices& of, int lane = kFreePosition,
                           bool descending = false);
  // What node `n` reduces at these indices: its operands, or the elements of a segment.
  std::vector<TileValue> Elements(size_t n, const AxisIndices& inner);
  std::vector<ReducerEmitter> BeginAll(const std::vector<size_t>& nodes, const AxisIndices& indices,
                                       const AxisIndices& inner, const LoopForm& form);
  [[nodiscard]] std::vector<size_t> GroupOf(size_t n, const AxisIndices& indices) const;
  [[nodiscard]] bool CanJoin(size_t n, const std::vector<size_t>& group) const;
  void AddDimensions(const Reduction& reduction, bool root, bool product, AxisIndices* inner);
  // Whether all of these could be products of matrices, for tiles of the reduced axes.
  [[nodiscard]] bool MayBeProducts(const std::vector<size_t>& nodes,
                                   const AxisIndices& indices) const;
  void OpenLoop(size_t dimension, bool root, bool parted, bool descending,
                const std::function<void()>& within);
  void OpenSieve(size_t n, const AxisIndices& inner, size_t d);
  std::pair<std::string, std::string> RangeOf(const Dimension& dimension, bool root, bool parted);
  [[nodiscard]] int64_t TileOfLoop(const Reduction& reduction, uint32_t axis, int64_t room,
                                   bool root) const;
  void Remember(size_t n, const AxisIndices& indices, const std::vector<TileValue>& results);

  // ---- memory (emit_memory.cc)
  TileValue Load(const KernelTensor& tensor, const AxisIndices& indices,
                 std::string_view part = {});
  void Store(const KernelTensor& tensor, const TileValue& tile, const AxisIndices& indices,
             std::string_view part = {});
  TileValue LoadGathered(const KernelTensor& tensor, const AxisIndices& indices);
  std::string ViewOf(const KernelTensor& tensor, const std::vector<int>& positions);
  std::vector<int> Place(const KernelTensor& tensor, const AxisIndices& indices, bool part);
  std::string Position(const KernelTensor& tensor, const std::vector<int>& positions,
                       const AxisIndices& indices, std::string_view part) const;

  // ---- loads by way of shared memory (emit_stage.cc)
  std::optional<TileValue> LoadStaged(const KernelTensor& tensor, const AxisIndices& indices);

  // ---- kernels (emit_kernel.cc)
  void OpenGrid();
  void EmitValues();
  void EmitPartial();
  void EmitFinish();
  void EmitMerge();
  std::vector<TileValue> LoadState(const KernelReduction& reduction, std::string_view part);
  void StoreState(const KernelReduction& reduction, const std::vector<TileValue>& state,
                  std::string_view part);

  TileWriter& writer() { return *this; }
  [[nodiscard]] TileShape ShapeOf(const AxisIndices& indices) const;

  const Meaning& meaning_;
  const KernelRequest& request_;
  const Machine machine_;
  int most_positions_ = 1;  // that were needed
  std::vector<Dimension> dimensions_;
  AxisIndices home_;         // of the grid
  std::set<size_t> wanted_;  // reductions that the kernel may need
  KernelMemory memory_;
  std::vector<IndexTile> index_tiles_;
  KernelGrid grid_;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_EMITTER_H_
