#include "launch/rows.h"

#include <algorithm>
#include <vector>

#include "dtypes/bulk.h"
#include "dtypes/convert.h"
#include "support/extents.h"

namespace tarsia::launch {
namespace {

// The numbers below n, or the first and last `edge` / 2 of them with -1 between.
std::vector<int64_t> Shown(int64_t n, int64_t edge) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; ++i) {
    if (edge > 0 && n > edge && i == edge / 2) {
      out.push_back(-1);
      i = n - edge / 2;
    }
    out.push_back(i);
  }
  return out;
}

std::string RowName(std::span<const int64_t> shape, int64_t row) {
  if (shape.empty()) return "";
  std::vector<int64_t> index(shape.size() - 1);
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = row % shape[d];
    row /= shape[d];
  }
  std::string out = "[";
  for (const int64_t i : index) out += std::to_string(i) + ", ";
  return out + ":]";
}

}  // namespace

void WriteRows(std::string_view prefix, DType type, std::span<const int64_t> shape,
               const void* tile, int64_t edge, const LineSink& sink) {
  const int64_t rows = shape.empty() ? 1 : Product(shape.first(shape.size() - 1));
  const int64_t columns = shape.empty() ? 1 : shape.back();
  for (const int64_t row : Shown(rows, edge)) {
    if (row < 0) {
      sink(std::string(prefix) + " ...");
      continue;
    }
    std::string line = std::string(prefix) + RowName(shape, row) + " =";
    for (const int64_t column : Shown(columns, edge)) {
      line += ' ';
      line +=
          column < 0
              ? "..."
              : DecodeToString(
                    type, LoadContainer(type, tile, static_cast<size_t>(row * columns + column)));
    }
    sink(line);
  }
}

}  // namespace tarsia::launch
