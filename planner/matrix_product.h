// Sums of products of two tiles along some positions, as products of matrices: the positions that
// only the first tile has are rows, those that only the second one has are columns. Internal to
// planner/.
#ifndef TARSIA_PLANNER_MATRIX_PRODUCT_H_
#define TARSIA_PLANNER_MATRIX_PRODUCT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "planner/tile_writer.h"

namespace tarsia {

class MatrixProduct {
 public:
  // `lanes`: the positions of the sum. None if the tiles have another position in common, if
  // positions of rows and of columns take turns, or if the matrices are so small that elementwise
  // arithmetic is as fast.
  static std::optional<MatrixProduct> Find(const TileShape& a, const TileShape& b, uint32_t lanes);

  // Starts sums of nothing.
  void Begin(TileWriter& writer, DType accumulator);
  // Adds the products of two tiles, which have the shapes of Find or extents of 1.
  void Add(TileWriter& writer, const TileValue& a, const TileValue& b);
  // Multiplies the sums by a factor of each row.
  void Scale(TileWriter& writer, const TileValue& factor);
  // The shapes of the tiles.
  [[nodiscard]] const TileShape& a() const { return a_; }
  [[nodiscard]] const TileShape& b() const { return b_; }
  // The sums at their positions.
  [[nodiscard]] TileValue Sums(TileWriter& writer) const;

 private:
  MatrixProduct() = default;
  [[nodiscard]] TileValue Matrix(TileWriter& writer, const TileValue& tile, const TileShape& shape,
                                 int64_t rows) const;

  int64_t rows_ = 1, columns_ = 1, inner_ = 1;
  bool transposed_ = false;  // positions of columns come before those of rows
  TileShape a_{}, b_{};      // of the tiles
  TileShape shape_{};        // of the sums
  std::string sums_;         // [rows, columns], or transposed
  DType accumulator_;
};

}  // namespace tarsia

#endif  // TARSIA_PLANNER_MATRIX_PRODUCT_H_
