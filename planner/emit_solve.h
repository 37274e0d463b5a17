// Writes the kernels of planner/solve.h. Internal to planner/.
#ifndef TARSIA_PLANNER_EMIT_SOLVE_H_
#define TARSIA_PLANNER_EMIT_SOLVE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/emitter.h"

namespace tarsia {

// Of a block, by axis of the request: one of several matrices, and some of the right-hand sides.
std::vector<int64_t> TilesOfPanels(const Meaning& meaning, const KernelRequest& request);

// The positions that such a kernel adds to those of its grid.
size_t PositionsOfPanels(const Meaning& meaning, const KernelRequest& request);

// In a kernel whose grid is open. `value`: the result. The scalars %C_low and %C_high, C being the
// axis of the columns, are the panel.
class SolveEmitter {
 public:
  SolveEmitter(Emitter& emitter, uint32_t value, const KernelTensor& result);

  // The body of such a kernel.
  static void EmitAll(Emitter& emitter);

 private:
  void EmitBegin();
  void EmitFactor();
  void EmitSubstitute();
  void EmitUpdate();

  // Of a tile in shared memory: the positions at which an access has extent 1, and its index there.
  using Places = std::vector<std::pair<int, std::string>>;

  // Indices along an axis from `base` on, at a position of the tile.
  AxisIndex Along(uint32_t axis, int64_t tile, int position, std::string base);
  // The first of `count` positions behind those of the grid.
  int AddPositions(int count);
  // Each block is there `count` times, the tiles that an average panel has: the number of the tile.
  std::string AddTiles(const std::string& count, double average);
  void OpenLoop(const std::string& head, double trips);
  // Of the result, at an index of its solved axis; of a factor, in these rows.
  [[nodiscard]] AxisIndices At(const AxisIndex& rows, const AxisIndex& columns) const;
  TileValue Load(const AxisIndices& indices) { return e_.Load(result_, indices); }
  TileValue Matrix(const AxisIndex& rows, const AxisIndex& columns);
  // The sums of a * b along a position, of tiles of these shapes.
  TileValue Products(const TileValue& a, const TileShape& of_a, const TileValue& b,
                     const TileShape& of_b, int position);
  TileValue Shared(const TileShape& shape);
  TileValue LoadShared(const TileValue& shared, const Places& at);
  void StoreShared(const TileValue& shared, const TileValue& tile, const Places& at);
  // A part of a panel, whose indices are substituted one by one.
  struct SubPanel {
    AxisIndex rows{};           // of `cholesky`: those that are solved
    int solved = 0, inner = 0;  // positions of the part, and of what comes before it
    AxisIndex panel{};
    TileValue number{};        // of an index in the panel
    TileValue work{}, made{};  // in shared memory
    std::string first{};       // index of the part
  };
  void SubstitutePart(const SubPanel& part);
  TileValue Solved(const TileValue& tile, const SubPanel& part);
  void EmitUpdateOfFactor(const std::string& count);
  void Subtract(const TileValue& a, const TileShape& of_a, const AxisIndex& with,
                const AxisIndex& panel, const AxisIndex& rows, const AxisIndex& columns, int inner);
  TileValue Op(std::string_view mnemonic, const std::vector<TileValue>& operands,
               std::string_view into = {}) {
    return e_.Op(mnemonic, operands, type_, 1, into);
  }
  [[nodiscard]] TileValue Number(std::string_view text) const {
    return TileWriter::Literal(text, type_);
  }
  [[nodiscard]] double panels() const;

  Emitter& e_;
  const Solve& solve_;
  const KernelTensor& result_;
  const DType type_;
  const int64_t extent_;  // of the columns
  const std::string low_, high_;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_EMIT_SOLVE_H_
