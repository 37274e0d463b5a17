// Whether weights for operands of f16 are numbers of f16: products of many rows dequantise them to
// it.
#ifndef TARSIA_RUNTIME_WEIGHTS_WEIGHT_RANGE_H_
#define TARSIA_RUNTIME_WEIGHTS_WEIGHT_RANGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/weights/tile_map.h"
#include "runtime/weights/weight_info.h"
#include "support/result.h"

namespace tarsia {

// Refers to what it is made of. Immutable; safe from any thread.
class WeightRange {
 public:
  WeightRange(const WeightInfo& info, std::span<const float> scales, std::span<const float> zeros);

  // Whether some code would make a weight beyond f16, so that the codes must be looked at.
  [[nodiscard]] bool MayExceed() const;
  // Looks at packed codes. Errors: the first weight beyond f16.
  [[nodiscard]] Status Check(const TileMap& map, const uint8_t* codes) const;

 private:
  [[nodiscard]] double Weight(double value, size_t group) const {
    const double zero = zeros_.empty() ? 0 : static_cast<double>(zeros_[group]);
    return (value - zero) * static_cast<double>(scales_[group]);
  }

  const WeightInfo& info_;
  std::span<const float> scales_, zeros_;
  std::vector<float> values_;  // of the codes
};

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_WEIGHT_RANGE_H_
