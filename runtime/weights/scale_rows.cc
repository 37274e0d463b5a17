#include "runtime/weights/scale_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include "dtypes/bulk.h"
#include "runtime/diagnostics.h"
#include "runtime/weights/packed_order.h"
#include "runtime/weights/parallel.h"
#include "support/extents.h"

namespace tarsia {
namespace {

// Calls work(i) for each row on all cores; the least i for which it is false, else `rows`.
template <typename Work>
int64_t FirstWithout(int64_t rows, const Work& work) {
  std::atomic<int64_t> first{rows};
  ParallelFor(rows, [&](int64_t i) {
    if (work(i)) return;
    int64_t known = first.load();
    while (i < known && !first.compare_exchange_weak(known, i)) {
    }
  });
  return first.load();
}

bool AllFinite(std::span<const float> values) {
  int bad = 0;
  for (const float value : values) bad |= value - value == 0 ? 0 : 1;
  return bad == 0;
}

}  // namespace

ScaleRows::ScaleRows(const WeightInfo& info, WeightPart part)
    : part_(part),
      type_(part == WeightPart::kZeros ? info.zero_type : info.scale_type),
      rows_(info.groups()),
      columns_(info.n),
      row_bytes_(ScaleRowBytes(type_, info.n)),
      number_bytes_(ContainerBytes(type_)) {}

// Whether a row has these numbers.
bool ScaleRows::Holds(std::span<const float> row, const uint8_t* packed) const {
  constexpr size_t kChunk = 1024;
  float back[kChunk];
  for (size_t i = 0; i < row.size(); i += kChunk) {
    const size_t count = std::min(kChunk, row.size() - i);
    CastBulk(type_, packed + i * Size(number_bytes_), kF32, back, count);
    int differs = 0;
    for (size_t j = 0; j < count; ++j) differs |= back[j] == row[i + j] ? 0 : 1;
    if (differs != 0) return false;
  }
  return true;
}

Status ScaleRows::CheckFinite(std::span<const float> values) const {
  const int64_t row = FirstWithout(rows_, [&](int64_t i) {
    return AllFinite(values.subspan(Size(i * columns_), Size(columns_)));
  });
  if (row == rows_) return OkStatus();
  const auto* const first = values.data() + row * columns_;
  const auto* const bad =
      std::find_if(first, first + columns_, [](float value) { return !std::isfinite(value); });
  return MakeDiagnostic(diag::kWeightsNotFinite, {}, NameOf(part_), row, bad - first, *bad);
}

Status ScaleRows::Pack(std::span<const float> values, uint8_t* out) const {
  TARSIA_CHECK(CheckFinite(values));
  const int64_t row = FirstWithout(rows_, [&](int64_t i) {
    const auto from = values.subspan(Size(i * columns_), Size(columns_));
    uint8_t* const to = out + i * row_bytes_;
    CastBulk(kF32, from.data(), type_, to, from.size());
    return Holds(from, to);
  });
  if (row == rows_) return OkStatus();
  for (int64_t column = 0;; ++column) {
    const auto one = values.subspan(Size(row * columns_ + column), 1);
    if (Holds(one, out + row * row_bytes_ + column * number_bytes_)) continue;
    return MakeDiagnostic(diag::kWeightsValue, {}, NameOf(part_), row, column, one[0],
                          DTypeName(type_));
  }
}

std::vector<float> ScaleRows::Unpack(const uint8_t* in) const {
  std::vector<float> out(Size(rows_ * columns_));
  ParallelFor(rows_, [&](int64_t i) {
    CastBulk(type_, in + i * row_bytes_, kF32, out.data() + i * columns_, Size(columns_));
  });
  return out;
}

bool ScaleRows::PaddingIsZero(const uint8_t* in) const {
  for (int64_t i = 0; i < rows_; ++i) {
    const uint8_t* const row = in + i * row_bytes_;
    const auto is_zero = [](uint8_t byte) { return byte == 0; };
    if (!std::all_of(row + columns_ * number_bytes_, row + row_bytes_, is_zero)) return false;
  }
  return true;
}

}  // namespace tarsia
