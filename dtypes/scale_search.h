// Scales that minimise the squared error of quantised weights. The implementation of quantize.h.
#ifndef TARSIA_DTYPES_SCALE_SEARCH_H_
#define TARSIA_DTYPES_SCALE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dtypes/quantize.h"

namespace tarsia::internal {

// The numbers that codes stand for, ascending and distinct.
struct Levels {
  std::vector<double> values;
  std::vector<uint8_t> codes;  // one per level; the lowest if several codes mean one number

  [[nodiscard]] double Least() const { return values.front(); }
  [[nodiscard]] double Most() const { return values.back(); }
  // The index of the level nearest to x; in the middle of two, the one with the lower code.
  [[nodiscard]] size_t Nearest(double x) const;
};

// The levels of the codebook if there is one, else of the type's finite codes.
Levels LevelsOf(const QuantiseSpec& spec);

// Rounds to a type and back, saturating, so that a scale is never infinite.
double RoundTo(DType type, double value);

struct Affine {
  double scale = 0;
  double zero = 0;
  bool saturates = false;  // the weights need a larger scale than its type has
};

// The sum of (w - (level - zero) * scale * tensor_scale)^2 with the nearest levels.
double SquaredError(std::span<const double> weights, const Levels& levels, const Affine& affine,
                    double tensor_scale);

// The value of the scale type with the least error (zero point 0), or `start` if none is better.
// Exact: see the source.
double LeastSquaresScale(std::span<const double> weights, const Levels& levels, DType scale_type,
                         double tensor_scale, double start);

// Scale and zero point whose error is no more than that of `start`: a descent from several ranges
// around its own, which finds a good pair, not always the best. spec.zero is not kNone.
Affine LeastSquaresAffine(std::span<const double> weights, const Levels& levels,
                          const QuantiseSpec& spec, const Affine& start);

}  // namespace tarsia::internal

#endif  // TARSIA_DTYPES_SCALE_SEARCH_H_
