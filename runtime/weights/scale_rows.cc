#include "runtime/weights/scale_rows.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "dtypes/bulk.h"
#include "runtime/diagnostics.h"
#include "runtime/weights/packed_order.h"
#include "runtime/weights/parallel.h"
#include "support/extents.h"

namespace tarsia {
namespace {

// The least of the rows that several threads note.
class FirstRow {
 public:
  explicit FirstRow(int64_t rows) : first_(rows) {}
  void Note(int64_t row) {
    int64_t known = first_.load();
    while (row < known && !first_.compare_exchange_weak(known, row)) {
    }
  }
  [[nodiscard]] int64_t value() const { return first_.load(); }  // `rows`: none

 private:
  std::atomic<int64_t> first_;
};

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
  if (type_ == kF32) return true;
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
  FirstRow first(rows_);
  ParallelFor(rows_, [&](int64_t i) {
    if (!AllFinite(values.subspan(Size(i * columns_), Size(columns_)))) first.Note(i);
  });
  if (first.value() == rows_) return OkStatus();
  const auto row = values.subspan(Size(first.value() * columns_), Size(columns_));
  const auto bad = std::find_if(row.begin(), row.end(), [](float x) { return !std::isfinite(x); });
  return MakeDiagnostic(diag::kWeightsNotFinite, {}, NameOf(part_), first.value(),
                        bad - row.begin(), *bad);
}

bool ScaleRows::PackRow(std::span<const float> row, uint8_t* out) const {
  CastBulk(kF32, row.data(), type_, out, row.size());
  std::fill(out + columns_ * number_bytes_, out + row_bytes_, uint8_t{0});
  return Holds(row, out);
}

// The first number of a row that its type does not hold.
Diagnostic ScaleRows::Mismatch(std::span<const float> values, int64_t row) const {
  int64_t column = 0;
  for (;; ++column) {
    const float value = values[Size(row * columns_ + column)];
    uint8_t code[sizeof(float)];
    CastBulk(kF32, &value, type_, code, 1);
    if (!Holds({&value, 1}, code)) break;
  }
  return MakeDiagnostic(diag::kWeightsValue, {}, NameOf(part_), row, column,
                        values[Size(row * columns_ + column)], DTypeName(type_));
}

Status ScaleRows::Pack(std::span<const float> values, const PartRange& range,
                       WeightImage* image) const {
  FirstRow first(rows_);
  PartPieces pieces;
  pieces.count = rows_;
  pieces.offset = [this](int64_t row) { return static_cast<uint64_t>(row * row_bytes_); };
  pieces.make = [&](int64_t row, uint8_t* out) {
    if (!PackRow(values.subspan(Size(row * columns_), Size(columns_)), out)) first.Note(row);
  };
  TARSIA_CHECK(image->Make(range, pieces, {}));
  if (first.value() == rows_) return OkStatus();
  return Mismatch(values, first.value());
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
