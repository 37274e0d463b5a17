#include "runtime/weights/float_matrix.h"

#include <algorithm>
#include <vector>

#include "dtypes/bulk.h"
#include "support/extents.h"

namespace tarsia {

void FloatMatrix::Read(const Region& region, float* out, int64_t stride) const {
  const int64_t item = ContainerBytes(type);
  if (!transposed) {
    for (int64_t i = 0; i < region.rows; ++i) {
      const uint8_t* const from = data + ((region.row + i) * n + region.column) * item;
      // Rows lie apart: one that may be read soon is asked for in time.
      const int64_t ahead = std::min<int64_t>(4, k - 1 - region.row - i);
      for (int64_t line = 0; line < region.columns * item; line += 64) {
        __builtin_prefetch(from + ahead * n * item + line);
      }
      CastBulk(type, from, kF32, out + i * stride, Size(region.columns));
    }
    return;
  }
  // Eight columns at a time, so that a line of `out` is written while it is in the cache.
  constexpr int64_t kColumns = 8;
  std::vector<float> rows(Size(kColumns * region.rows));
  for (int64_t j = 0; j < region.columns; j += kColumns) {
    const int64_t columns = std::min(kColumns, region.columns - j);
    for (int64_t c = 0; c < columns; ++c) {
      const uint8_t* const from = data + ((region.column + j + c) * k + region.row) * item;
      CastBulk(type, from, kF32, rows.data() + c * region.rows, Size(region.rows));
    }
    for (int64_t i = 0; i < region.rows; ++i) {
      for (int64_t c = 0; c < columns; ++c) {
        out[i * stride + j + c] = rows[Size(c * region.rows + i)];
      }
    }
  }
}

}  // namespace tarsia
