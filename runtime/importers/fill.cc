#include "runtime/importers/fill.h"

#include <algorithm>
#include <utility>

#include "runtime/weights/code_loops.h"
#include "support/extents.h"

namespace tarsia {

TileMap::Fill FromStrips(ReadStrip read) {
  return [read = std::move(read)](const Region& region, uint8_t* out, int64_t stride) {
    // A few columns at a time, so that a line of `out` is written while it is in the cache.
    constexpr int64_t kColumns = kTransposedCodes;
    std::vector<uint8_t> codes(Size(kColumns * region.rows));
    for (int64_t j = 0; j < region.columns; j += kColumns) {
      Region strip = region;
      strip.column += j;
      strip.columns = std::min(kColumns, region.columns - j);
      read(strip, codes.data());
      const int64_t quick = strip.columns == kColumns ? region.rows / kColumns * kColumns : 0;
      TransposeCodes(codes.data(), region.rows, quick, out + j, stride);
      for (int64_t i = quick; i < region.rows; ++i) {
        uint8_t* const to = out + i * stride + j;
        for (int64_t c = 0; c < strip.columns; ++c) to[c] = codes[Size(c * region.rows + i)];
      }
    }
  };
}

TileMap::Fill FromColumns(ReadColumn read) {
  return FromStrips([read = std::move(read)](const Region& region, uint8_t* out) {
    for (int64_t c = 0; c < region.columns; ++c) {
      read(region.column + c, region.row, region.rows, out + c * region.rows);
    }
  });
}

TileMap::Fill FromRows(ReadRow read) {
  return [read = std::move(read)](const Region& region, uint8_t* out, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      read(region.row + i, region.column, region.columns, out + i * stride);
    }
  };
}

std::vector<float> Transpose(const std::vector<float>& values, int64_t rows, int64_t columns) {
  std::vector<float> out(values.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      out[Size(j * rows + i)] = values[Size(i * columns + j)];
    }
  }
  return out;
}

void DropMiddleZeros(CodeSource* source) {
  WeightInfo& info = source->info;
  const int bits = info.type.bits;
  if (!info.type.IsUnsigned() || bits == 1 || info.zero != ZeroPoint::kInteger) return;
  const auto middle = static_cast<float>(1 << (bits - 1));
  const bool all = std::all_of(source->zeros.begin(), source->zeros.end(),
                               [middle](float zero) { return zero == middle; });
  if (!all) return;
  info.type.kind = DTypeKind::kSigned;
  info.zero = ZeroPoint::kNone;
  info.zero_type = DType();
  source->zeros.clear();
  const auto flip = static_cast<uint8_t>(1 << (bits - 1));
  source->codes = [read = std::move(source->codes), flip](const Region& region, uint8_t* out,
                                                          int64_t stride) {
    read(region, out, stride);
    for (int64_t i = 0; i < region.rows; ++i) {
      for (int64_t j = 0; j < region.columns; ++j) out[i * stride + j] ^= flip;
    }
  };
}

}  // namespace tarsia
