// The extents and the bytes of tiles in global memory, as far as they follow from the parameters of
// a kernel: for the checks of a launch and the layout of its workspace.
#ifndef TARSIA_ISA_TILE_SIZE_H_
#define TARSIA_ISA_TILE_SIZE_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/limits.h"
#include "isa/program.h"
#include "isa/scalar_expr.h"
#include "layout/layout_size.h"
#include "support/result.h"

namespace tarsia {

// The size of one tile. Immutable and thread-safe; needs the program only to be made. `scalars` are
// codes by parameter.
class TileSize {
 public:
  struct Shape {
    std::array<int64_t, kMaxRank> extents{};
    size_t rank = 0;
    [[nodiscard]] std::span<const int64_t> span() const { return {extents.data(), rank}; }
  };

  TileSize() = default;
  TileSize(const Program& program, uint32_t value);
  // Its bytes and back, as for ScalarExpr; only of known sizes.
  void Write(ByteSink* out) const;
  static TileSize Read(ByteSource* in, uint32_t parameters);

  // Whether every extent follows from parameters. If not, the shape ends before the first extent
  // that does not, and the bytes are not known.
  [[nodiscard]] bool known() const { return known_; }
  // Whether every extent is a number.
  [[nodiscard]] bool constant() const { return constant_; }
  [[nodiscard]] size_t rank() const { return extents_.size(); }

  // False if an extent is outside of 0 to 2^40: the last one of the shape.
  bool ShapeOf(const uint64_t* scalars, Shape* out) const;
  // Errors, without a place: a layout that does not fit the shape.
  [[nodiscard]] Result<uint64_t> BytesOf(const Shape& shape) const {
    return size_.Bytes(shape.span());
  }

 private:
  bool known_ = true;
  bool constant_ = true;
  std::vector<ScalarExpr> extents_;
  LayoutSize size_;
};

}  // namespace tarsia

#endif  // TARSIA_ISA_TILE_SIZE_H_
