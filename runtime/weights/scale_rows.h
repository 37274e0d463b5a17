// Scales or zero points in the order of ScaleOrder (packed_order.h): rows of numbers of 8, 16 or 32
// bits, each padded to whole pieces.
#ifndef TARSIA_RUNTIME_WEIGHTS_SCALE_ROWS_H_
#define TARSIA_RUNTIME_WEIGHTS_SCALE_ROWS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "dtypes/dtype.h"
#include "runtime/weights/weight_image.h"
#include "runtime/weights/weight_info.h"
#include "support/result.h"

namespace tarsia {

// Immutable; safe from any thread.
class ScaleRows {
 public:
  // Of the scales or the zero points of a matrix.
  ScaleRows(const WeightInfo& info, WeightPart part);

  // Packs numbers, which must be finite. Errors: one that the type does not hold exactly, the first
  // of them; those of WeightImage::Make.
  Status Pack(std::span<const float> values, const PartRange& range, WeightImage* image) const;
  [[nodiscard]] std::vector<float> Unpack(const uint8_t* in) const;
  // Errors: a number that is not finite.
  [[nodiscard]] Status CheckFinite(std::span<const float> values) const;
  [[nodiscard]] bool PaddingIsZero(const uint8_t* in) const;

 private:
  [[nodiscard]] bool PackRow(std::span<const float> row, uint8_t* out) const;
  [[nodiscard]] Diagnostic Mismatch(std::span<const float> values, int64_t row) const;
  [[nodiscard]] bool Holds(std::span<const float> row, const uint8_t* packed) const;

  WeightPart part_;
  DType type_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  int64_t row_bytes_ = 0;     // with padding
  int64_t number_bytes_ = 1;  // of one
};

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_SCALE_ROWS_H_
