// The extents and the bytes of tiles in global memory, as far as they follow from the parameters of
// a kernel: for the checks of a launch and the layout of its workspace.
#ifndef TARSIA_LAUNCH_TILE_SIZE_H_
#define TARSIA_LAUNCH_TILE_SIZE_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/limits.h"
#include "isa/program.h"
#include "layout/layout_size.h"
#include "support/result.h"

namespace tarsia::launch {

// The error for an extent, outside of 0 to 2^40, of the tile that an instruction makes.
Diagnostic ExtentError(const Program& program, const Inst& inst, size_t dimension, int64_t extent);

// The size of the tile that one instruction makes. Immutable and thread-safe. Every function takes
// the program from which it was made; `scalars` are codes by parameter.
class TileSize {
 public:
  struct Shape {
    std::array<int64_t, kMaxRank> extents{};
    size_t rank = 0;
    [[nodiscard]] std::span<const int64_t> span() const { return {extents.data(), rank}; }
  };

  TileSize() = default;
  // The size of the first result of instruction `inst` of the kernel.
  TileSize(const Program& program, size_t inst);

  [[nodiscard]] size_t inst() const { return inst_; }
  // Whether every extent follows from parameters. If not, the shape ends before the first extent
  // that does not, and the bytes are not known.
  [[nodiscard]] bool known() const { return known_; }
  // Whether every extent is a number.
  [[nodiscard]] bool constant() const { return constant_; }
  [[nodiscard]] size_t rank() const { return extents_.size(); }

  // Errors: an extent outside of 0 to 2^40.
  Status ShapeOf(const Program& program, const uint64_t* scalars, Shape* out) const;
  // Errors: a layout that does not fit the shape.
  [[nodiscard]] Result<uint64_t> BytesOf(const Program& program, const Shape& shape) const;

 private:
  size_t inst_ = 0;
  bool known_ = true;
  bool constant_ = true;
  std::vector<ScalarExpr> extents_;
  LayoutSize size_;
};

}  // namespace tarsia::launch

#endif  // TARSIA_LAUNCH_TILE_SIZE_H_
