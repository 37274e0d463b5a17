#include "runtime/weights/weight_range.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "runtime/diagnostics.h"
#include "runtime/weights/parallel.h"
#include "support/extents.h"

namespace tarsia {
namespace {

// What rounding to f16 makes an infinity.
bool IsBeyondF16(double value) { return std::abs(value) >= 65520; }

}  // namespace

WeightRange::WeightRange(const WeightInfo& info, std::span<const float> scales,
                         std::span<const float> zeros)
    : info_(info), scales_(scales), zeros_(zeros), values_(CodeValues(info)) {}

bool WeightRange::MayExceed() const {
  if (info_.compute != kF16) return false;
  double least = 0;
  double most = 0;
  for (const float value : values_) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, static_cast<double>(value));
    most = std::max(most, static_cast<double>(value));
  }
  std::atomic<bool> suspect{false};
  ParallelFor(info_.groups(), [&](int64_t row) {
    int beyond = 0;
    for (int64_t i = row * info_.n; i < (row + 1) * info_.n; ++i) {
      const bool low = IsBeyondF16(Weight(least, Size(i)));
      const bool high = IsBeyondF16(Weight(most, Size(i)));
      beyond |= static_cast<int>(low) | static_cast<int>(high);
    }
    if (beyond != 0) suspect.store(true, std::memory_order_relaxed);
  });
  return suspect.load();
}

Status WeightRange::Check(const TileMap& map, const uint8_t* codes) const {
  if (!MayExceed()) return OkStatus();
  const int64_t n = info_.n;
  std::mutex mutex;
  int64_t first = info_.k * n;
  double found = 0;
  const auto take = [&](const Region& region, const uint8_t* in, int64_t stride) {
    for (int64_t row = 0; row < region.rows; ++row) {
      const int64_t at = (region.row + row) * n + region.column;
      const size_t group = Size((region.row + row) / info_.group * n + region.column);
      for (int64_t i = 0; i < region.columns; ++i) {
        const float value = values_[in[row * stride + i]];
        if (!std::isfinite(value)) continue;
        const double one = Weight(static_cast<double>(value), group + Size(i));
        if (!IsBeyondF16(one)) continue;
        const std::lock_guard lock(mutex);
        if (at + i >= first) continue;
        first = at + i;
        found = one;
      }
    }
  };
  map.Unpack(codes, take);
  if (first == info_.k * n) return OkStatus();
  return MakeDiagnostic(diag::kWeightsRange, {}, first / n, first % n, found, DTypeName(kF16));
}

}  // namespace tarsia
