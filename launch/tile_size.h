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

// That an extent of the tile that an instruction makes is outside of 0 to 2^40.
Diagnostic ExtentError(const Program& program, const Inst& inst, size_t dimension, int64_t extent);

// Of the tile that one instruction makes. Immutable and thread-safe. Every function wants the
// program that it was made of; `scalars` are codes by parameter.
class TileSize {
 public:
  struct Shape {
    std::array<int64_t, kMaxRank> extents{};
    size_t rank = 0;
    [[nodiscard]] std::span<const int64_t> span() const { return {extents.data(), rank}; }
  };

  TileSize() = default;
  // Of the first result of instruction `inst` of the kernel.
  TileSize(const Program& program, size_t inst);

  [[nodiscard]] size_t inst() const { return inst_; }
  // Every extent follows from parameters. Otherwise the shape ends before the first that does not,
  // and there are no bytes.
  [[nodiscard]] bool known() const { return known_; }
  // Every extent is a number.
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
