#include "dtypes/scale_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "dtypes/convert.h"

namespace tarsia::internal {
namespace {

// ---- the exact search without zero points ----------------------------------------------------
//
// As long as the weights are rounded to the same levels, the error is a parabola in the step s: W -
// 2 A s + B s^2, with W = sum w^2, A = sum w v, B = sum v^2. They change only where some w / s
// meets the middle of two levels. Coming down from infinity, where every w / s is 0, each such
// event moves one weight one level outwards, so A and B of all pieces follow from one sorted list.
// The best s of the scale type for the levels of a piece is a neighbour of A / B. It may lie
// outside of the piece; its true error is then lower still and found in its own piece, so the least
// of all these errors is the minimum.

struct Event {
  double step;      // at and below which the weight has its new level
  uint32_t weight;  // the one that changes its level
  uint32_t level;   // the level that it leaves for one further from 0
};

struct Parabola {
  double a = 0, b = 0;

  void Add(double w, double level) {
    a += w * level;
    b += level * level;
  }
  void Remove(double w, double level) {
    a -= w * level;
    b -= level * level;
  }
  // The error minus W.
  [[nodiscard]] double At(double step) const { return step * (b * step - 2 * a); }
  [[nodiscard]] double Least() const { return a > 0 && b > 0 ? -a * a / b : 0; }
};

std::vector<double> MiddlesOf(const Levels& levels) {
  std::vector<double> middles;
  for (size_t i = 0; i + 1 < levels.values.size(); ++i) {
    middles.push_back((levels.values[i] + levels.values[i + 1]) / 2);
  }
  return middles;
}

// Below this step the error of the most clipped weight alone exceeds `most`.
double LeastStep(std::span<const double> weights, const Levels& levels, double most) {
  const double root = std::sqrt(most) * (1 + 1e-9);
  double least = 0;
  for (const double w : weights) {
    const double end = w > 0 ? levels.Most() : -levels.Least();
    if (end > 0) least = std::max(least, (std::fabs(w) - root) / end);
  }
  return least * (1 - 1e-9);
}

// The level of each weight at an infinite step, in `sums`, and all events from `least` up.
std::vector<Event> EventsOf(std::span<const double> weights, const Levels& levels, double least,
                            Parabola& sums) {
  const std::vector<double> middles = MiddlesOf(levels);
  const auto below = std::lower_bound(middles.begin(), middles.end(), 0.0) - middles.begin();
  const auto above = std::upper_bound(middles.begin(), middles.end(), 0.0) - middles.begin();
  std::vector<Event> events;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double w = weights[i];
    const bool up = w > 0;
    auto level = static_cast<size_t>(up ? above : below);
    sums.Add(w, levels.values[level]);
    if (w == 0) continue;
    while (up ? level < middles.size() : level > 0) {
      const double step = w / middles[up ? level : level - 1];
      if (step < least) break;
      events.push_back({step, static_cast<uint32_t>(i), static_cast<uint32_t>(level)});
      level = up ? level + 1 : level - 1;
    }
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.step > b.step; });
  return events;
}

// The values of the scale type on both sides of a positive number.
std::pair<double, double> Neighbours(DType type, double value) {
  const CastOptions down{Rounding::kTowardZero, Overflow::kSaturate};
  const uint64_t code = EncodeFromDouble(type, value, down);
  const uint64_t next = std::min(code + 1, MaxFiniteCode(type));
  return {DecodeToDouble(type, code), DecodeToDouble(type, next)};
}

// ---- the descent with zero points ------------------------------------------------------------

double RoundZero(const QuantiseSpec& spec, const Levels& levels, double zero) {
  if (spec.zero == ZeroPoint::kFloat) return RoundTo(spec.scale_type, zero);
  return std::clamp(std::nearbyint(zero), levels.Least(), levels.Most());
}

// As Levels::Nearest, of the levels of an integer type: all integers of a range. Without branches,
// which would be mispredicted.
double NearestInteger(double least, double most, double x) {
  constexpr double kMagic = 0x1.8p52;  // + kMagic - kMagic rounds to the nearest even integer
  x = std::min(std::max(x, least), most);
  const double even = (x + kMagic) - kMagic;
  // In the middle of two, the lower one is the one with the lower code, except for -1 and 0.
  const int up = static_cast<int>(x - even == -0.5) & static_cast<int>(even != 0);
  return even - up;
}

// Of weights and the nearest integers v to w / scale + zero.
struct Fit {
  double error = 0;  // SquaredError
  double sum_v = 0, sum_wv = 0, sum_vv = 0;
};

Fit FitOf(std::span<const double> weights, const Levels& levels, const Affine& affine) {
  Fit out;
  const double least = levels.Least(), most = levels.Most();
  for (const double w : weights) {
    const double v = NearestInteger(least, most, w / affine.scale + affine.zero);
    const double error = w - (v - affine.zero) * affine.scale;
    out.error += error * error;
    out.sum_v += v;
    out.sum_wv += w * v;
    out.sum_vv += v * v;
  }
  return out;
}

// Scale and zero point of the regression line through (level, weight); a scale of 0 if there is no
// line. `sum_w` is the sum of `count` weights.
Affine Regress(const Fit& fit, double sum_w, double count, const Levels& levels,
               const QuantiseSpec& spec) {
  const double slope =
      (fit.sum_wv - sum_w * fit.sum_v / count) / (fit.sum_vv - fit.sum_v * fit.sum_v / count);
  if (!std::isfinite(slope) || slope <= 0) return {};
  const double zero = RoundZero(spec, levels, (fit.sum_v - sum_w / slope) / count);
  // With the zero point rounded, the best scale through it.
  const double a = fit.sum_wv - zero * sum_w;
  const double b = fit.sum_vv - 2 * zero * fit.sum_v + zero * zero * count;
  const double scale = b > 0 && a > 0 ? a / b : slope;
  return {RoundTo(spec.scale_type, scale), zero};
}

// Where descents have been, and after how many steps.
class Visited {
 public:
  // Notes a pair. False if a descent came by that has taken, or takes, the same steps from there.
  bool Add(const Affine& at, int step) {
    for (Entry& entry : list_) {
      if (entry.at.scale != at.scale || entry.at.zero != at.zero) continue;
      if (entry.step <= step) return false;
      entry.step = step;
      return true;
    }
    list_.push_back({at, step});
    return true;
  }

 private:
  struct Entry {
    Affine at;
    int step;
  };
  std::vector<Entry> list_;
};

}  // namespace

size_t Levels::Nearest(double x) const {
  const auto at = std::lower_bound(values.begin(), values.end(), x);
  if (at == values.begin()) return 0;
  const auto upper = static_cast<size_t>(at - values.begin());
  if (at == values.end()) return upper - 1;
  const double to_lower = x - values[upper - 1], to_upper = values[upper] - x;
  if (to_lower != to_upper) return to_lower < to_upper ? upper - 1 : upper;
  return codes[upper - 1] < codes[upper] ? upper - 1 : upper;
}

Levels LevelsOf(const QuantiseSpec& spec) {
  std::vector<std::pair<double, uint8_t>> all;
  for (uint64_t code = 0; code <= CodeMask(spec.type); ++code) {
    const double value = spec.codebook != nullptr ? static_cast<double>(spec.codebook->values[code])
                                                  : DecodeToDouble(spec.type, code);
    if (std::isfinite(value) && std::fabs(value) <= spec.limit)
      all.emplace_back(value == 0 ? 0.0 : value, static_cast<uint8_t>(code));
  }
  std::sort(all.begin(), all.end());
  Levels levels;
  for (const auto& [value, code] : all) {
    if (!levels.values.empty() && levels.values.back() == value) continue;
    levels.values.push_back(value);
    levels.codes.push_back(code);
  }
  return levels;
}

double RoundTo(DType type, double value) {
  // In the range of normal numbers, what f16 and bf16 do not hold of the 52 bits is rounded away.
  const bool half = type == kF16;
  const double magnitude = std::fabs(value);
  if ((half || type == kBF16) && magnitude >= (half ? 0x1p-14 : 0x1p-126) &&
      magnitude <= (half ? 0x1.ffcp15 : 0x1.fep127)) {
    const int lost = 52 - type.mantissa;
    auto bits = std::bit_cast<uint64_t>(value);
    bits += (uint64_t{1} << (lost - 1)) - 1 + (bits >> lost & 1);
    return std::bit_cast<double>(bits >> lost << lost);
  }
  const CastOptions options{Rounding::kNearestEven, Overflow::kSaturate};
  return DecodeToDouble(type, EncodeFromDouble(type, value, options));
}

double SquaredError(std::span<const double> weights, const Levels& levels, const Affine& affine,
                    double tensor_scale) {
  const double step = affine.scale * tensor_scale;
  double sum = 0;
  for (const double w : weights) {
    const double wanted = step != 0 ? w / step + affine.zero : affine.zero;
    const double error = w - (levels.values[levels.Nearest(wanted)] - affine.zero) * step;
    sum += error * error;
  }
  return sum;
}

double LeastSquaresScale(std::span<const double> weights, const Levels& levels, DType scale_type,
                         double tensor_scale, double start) {
  double total = 0;
  for (const double w : weights) total += w * w;
  const double start_error = SquaredError(weights, levels, {start, 0}, tensor_scale);
  Parabola sums;
  const std::vector<Event> events =
      EventsOf(weights, levels, LeastStep(weights, levels, start_error), sums);
  double best = start, best_error = start_error - total;
  const auto consider = [&] {
    if (sums.Least() >= best_error) return;
    const auto [low, high] = Neighbours(scale_type, sums.a / sums.b / tensor_scale);
    for (const double scale : {low, high}) {
      const double error = sums.At(scale * tensor_scale);
      if (error < best_error) std::tie(best, best_error) = std::pair(scale, error);
    }
  };
  consider();
  for (const Event& event : events) {
    const double w = weights[event.weight];
    sums.Remove(w, levels.values[event.level]);
    sums.Add(w, levels.values[w > 0 ? event.level + 1 : event.level - 1]);
    consider();
  }
  // The sums accumulate rounding errors, so their result is compared by its true error.
  return SquaredError(weights, levels, {best, 0}, tensor_scale) < start_error ? best : start;
}

Affine LeastSquaresAffine(std::span<const double> weights, const Levels& levels,
                          const QuantiseSpec& spec, const Affine& start) {
  constexpr int kRanges = 17, kSteps = 12;  // ranges of 1, 31/32, .. 1/2 of the whole
  if (start.scale == 0) return start;
  const double middle = (levels.Least() + levels.Most()) / 2;
  const double weight_at_middle = (middle - start.zero) * start.scale;
  const auto count = static_cast<double>(weights.size());
  double sum_w = 0;
  for (const double w : weights) sum_w += w;
  Affine best = start;
  double best_error = FitOf(weights, levels, start).error;
  Visited visited;
  for (int i = 0; i < kRanges; ++i) {
    Affine at;
    at.scale = RoundTo(spec.scale_type, start.scale * (32 - i) / 32);
    if (at.scale == 0) break;
    at.zero = RoundZero(spec, levels, middle - weight_at_middle / at.scale);
    for (int step = 0; step < kSteps && at.scale > 0 && visited.Add(at, step); ++step) {
      const Fit fit = FitOf(weights, levels, at);
      if (fit.error < best_error) std::tie(best, best_error) = std::pair(at, fit.error);
      at = Regress(fit, sum_w, count, levels, spec);
    }
  }
  return best;
}

}  // namespace tarsia::internal
