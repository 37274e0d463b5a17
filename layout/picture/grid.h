// A layout as matrices, for pictures: the last two dimensions are rows and columns, the others
// count matrices.
#ifndef TARSIA_LAYOUT_PICTURE_GRID_H_
#define TARSIA_LAYOUT_PICTURE_GRID_H_

#include <cstdint>
#include <span>
#include <string>

#include "layout/mem_layout.h"
#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia {

struct Grid {
  Extents leading;
  int64_t matrices = 1;
  int64_t rows = 1;
  int64_t columns = 1;

  // The index of a cell in a layout of this rank.
  [[nodiscard]] Extents Index(size_t rank, int64_t matrix, int64_t row, int64_t column) const;
  // "[1, 0, :, :]", the heading of a matrix.
  [[nodiscard]] std::string Heading(int64_t matrix) const;
};

// Errors: more than kMaxDrawnElements cells.
Result<Grid> GridOf(std::span<const int64_t> shape);

// `thread:slot`, replicas as `0,4:1`; of more than four, the first three.
std::string HoldersText(const RegLayout& layout, std::span<const int64_t> index);
// The bank of an element's first byte.
int64_t BankOf(const MemLayout& layout, std::span<const int64_t> index, int bits);
// An error if the layout cannot hold elements of this width.
Status CheckDrawnWidth(const MemLayout& layout, int bits);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_PICTURE_GRID_H_
