// Ways to read codes that importers share.
#ifndef TARSIA_RUNTIME_IMPORTERS_FILL_H_
#define TARSIA_RUNTIME_IMPORTERS_FILL_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/weights/packed_weights.h"

namespace tarsia {

// Codes of a matrix that is stored as [n, k]: `read` writes those of column `column` of w (a row in
// memory) from row `row` on.
using ReadColumn = std::function<void(int64_t column, int64_t row, int64_t count, uint8_t* out)>;
TileMap::Fill FromColumns(ReadColumn read);
// The same with a call for the few columns of a region: it writes those of each column together.
using ReadStrip = std::function<void(const Region& region, uint8_t* out)>;
TileMap::Fill FromStrips(ReadStrip read);

// Codes whose rows are stored one after the other: `read` writes `count` codes of row `row`.
using ReadRow = std::function<void(int64_t row, int64_t column, int64_t count, uint8_t* out)>;
TileMap::Fill FromRows(ReadRow read);

// A matrix [rows, columns] as [columns, rows].
std::vector<float> Transpose(const std::vector<float>& values, int64_t rows, int64_t columns);

// Unsigned codes whose zero points are all 2^(bits - 1) become signed ones without zero points.
void DropMiddleZeros(CodeSource* source);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_IMPORTERS_FILL_H_
