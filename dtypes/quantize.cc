#include "dtypes/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "dtypes/convert.h"
#include "dtypes/diagnostics.h"
#include "dtypes/scale_search.h"

namespace tarsia {
namespace {

using internal::Affine;
using internal::Levels;
using internal::LevelsOf;
using internal::RoundTo;

std::string Name(DType type) { return std::string(DTypeName(type)); }

bool IsScaleType(DType type) {
  return type == kF32 || type == kF16 || type == kBF16 || type == kF8E4M3FN || type == kE8M0;
}

Status CheckSpec(const QuantiseSpec& spec) {
  if (!LowPrecision(spec.type)) {
    return MakeDiagnostic(diag::kQuantiseType, {}, Name(spec.type));
  }
  if (spec.codebook != nullptr && CodeTypeOf(*spec.codebook) != spec.type) {
    return MakeDiagnostic(diag::kQuantiseCodebook, {}, spec.codebook->name,
                          spec.codebook->values.size(), Name(spec.type));
  }
  if (spec.columns < 1) return MakeDiagnostic(diag::kQuantiseColumns, {}, spec.columns);
  if (!IsScaleType(spec.scale_type)) {
    return MakeDiagnostic(diag::kQuantiseScaleType, {}, Name(spec.scale_type));
  }
  if (spec.zero == ZeroPoint::kNone) return OkStatus();
  if (spec.type.IsFloat()) {
    return MakeDiagnostic(diag::kQuantiseZeroPoint, {}, "`" + Name(spec.type) + "` weights");
  }
  if (spec.codebook != nullptr) {
    return MakeDiagnostic(diag::kQuantiseZeroPoint, {}, "codebooks");
  }
  if (spec.scale_type == kE8M0) {
    return MakeDiagnostic(diag::kQuantiseZeroPoint, {}, "`e8m0` scales");
  }
  return OkStatus();
}

Status CheckSize(const char* what, size_t size, int64_t rows, int64_t columns) {
  const bool negative = rows < 0 || columns < 0;
  const bool fits = !negative && (columns == 0 || rows <= INT64_MAX / columns);
  if (fits && static_cast<uint64_t>(rows * columns) == size) return OkStatus();
  const std::string wanted = std::to_string(rows) + " x " + std::to_string(columns);
  return MakeDiagnostic(diag::kQuantiseShape, {}, what, size, wanted);
}

Status CheckWeights(std::span<const float> w, int64_t n, const QuantiseSpec& spec) {
  const bool no_negative = spec.zero == ZeroPoint::kNone && LevelsOf(spec).Least() >= 0;
  for (size_t i = 0; i < w.size(); ++i) {
    if (std::isfinite(w[i]) && !(no_negative && w[i] < 0)) continue;
    const auto row = static_cast<int64_t>(i) / n, column = static_cast<int64_t>(i) % n;
    if (!std::isfinite(w[i])) {
      return MakeDiagnostic(diag::kQuantiseNotFinite, {}, row, column);
    }
    return MakeDiagnostic(diag::kQuantiseNegative, {}, row, column, Name(spec.type));
  }
  return OkStatus();
}

// The weights of a block, row by row.
struct Block {
  size_t first;  // of the matrix
  int64_t rows, columns;
  int64_t stride;  // from row to row

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        visit(first + static_cast<size_t>(row * stride + column));
      }
    }
  }
};

std::vector<double> WeightsOf(std::span<const float> w, const Block& block) {
  std::vector<double> out;
  block.ForEach([&](size_t i) { out.push_back(static_cast<double>(w[i])); });
  return out;
}

// The parameters that all blocks of a matrix share.
struct Chooser {
  const QuantiseSpec& spec;
  const Levels levels;
  const double tensor_scale;

  [[nodiscard]] double AbsmaxScale(double least, double most) const;
  [[nodiscard]] Affine AbsmaxAffine(double least, double most) const;
  [[nodiscard]] Affine Choose(std::span<const double> weights) const;
  [[nodiscard]] uint8_t CodeOf(double w, const Affine& affine) const;
};

// 2^(floor(log2(absmax)) - floor(log2(largest value))), OCP Microscaling Formats 1.0, section 6.3.
double MicroscalingScale(double absmax, double largest) {
  if (absmax == 0) return 0;
  // The lone nonzero value of i1 is -1.
  return std::ldexp(1.0, std::ilogb(absmax) - (largest > 0 ? std::ilogb(largest) : 0));
}

double Chooser::AbsmaxScale(double least, double most) const {
  const double low = levels.Least(), high = levels.Most();
  if (spec.scale_type == kE8M0) return MicroscalingScale(std::max(most, -least), high);
  const double from_most = high > 0 ? std::max(most, 0.0) / high : 0;
  const double from_least = low < 0 ? std::min(least, 0.0) / low : 0;
  return std::max(from_most, from_least) / tensor_scale;
}

Affine Chooser::AbsmaxAffine(double least, double most) const {
  if (spec.zero == ZeroPoint::kNone) {
    return {RoundTo(spec.scale_type, AbsmaxScale(least, most)), 0};
  }
  const double low = levels.Least(), high = levels.Most();
  const bool integer_zero = spec.zero == ZeroPoint::kInteger;
  if (integer_zero) {
    least = std::min(least, 0.0);
    most = std::max(most, 0.0);
  }
  // The value of a constant block is one step from the zero point; the step is its magnitude.
  const double range = most > least ? (most - least) / (high - low) : std::fabs(least);
  const double scale = RoundTo(spec.scale_type, range);
  if (scale == 0) return {0, integer_zero ? std::clamp(0.0, low, high) : 0.0};
  const double zero = low - least / scale;
  if (integer_zero) return {scale, std::clamp(std::nearbyint(zero), low, high)};
  return {scale, RoundTo(spec.scale_type, zero)};
}

Affine Chooser::Choose(std::span<const double> weights) const {
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  const Affine start = AbsmaxAffine(*least, *most);
  switch (spec.rule) {
    case ScaleRule::kAbsmax:
      return start;
    case ScaleRule::kLeastSquares:
      if (spec.zero != ZeroPoint::kNone) {
        return internal::LeastSquaresAffine(weights, levels, spec, start);
      }
      return {
          internal::LeastSquaresScale(weights, levels, spec.scale_type, tensor_scale, start.scale),
          0};
  }
  return start;
}

uint8_t Chooser::CodeOf(double w, const Affine& affine) const {
  const double step = affine.scale * tensor_scale;
  double wanted = step != 0 ? w / step : 0;
  if (spec.codebook != nullptr) return levels.codes[levels.Nearest(wanted)];
  if (spec.zero != ZeroPoint::kNone) wanted += affine.zero;  // -0 + 0 would lose its sign
  if (spec.type.IsFloat()) {
    return static_cast<uint8_t>(
        EncodeFromDouble(spec.type, wanted, {Rounding::kNearestEven, Overflow::kSaturate}));
  }
  return static_cast<uint8_t>(EncodeFromDouble(spec.type, std::nearbyint(wanted)));
}

// Quantises a checked matrix, tensor_scale given.
void QuantiseAll(std::span<const float> w, Quantised& out) {
  const QuantiseSpec& spec = out.spec;
  const Chooser chooser{spec, LevelsOf(spec), static_cast<double>(out.tensor_scale)};
  out.codes.resize(w.size());
  for (int64_t row = 0; row < out.k; row += spec.group) {
    for (int64_t column = 0; column < out.n; column += spec.columns) {
      const Block block{static_cast<size_t>(row * out.n + column), spec.group,
                        std::min(spec.columns, out.n - column), out.n};
      const Affine affine = chooser.Choose(WeightsOf(w, block));
      out.scales.push_back(static_cast<float>(affine.scale));
      if (spec.zero != ZeroPoint::kNone) out.zeros.push_back(static_cast<float>(affine.zero));
      block.ForEach(
          [&](size_t i) { out.codes[i] = chooser.CodeOf(static_cast<double>(w[i]), affine); });
    }
  }
}

// The number of blocks in a row of the scales.
int64_t BlocksAcross(int64_t n, const QuantiseSpec& spec) {
  return n / spec.columns + (n % spec.columns != 0 ? 1 : 0);
}

double ValueOf(const QuantiseSpec& spec, uint8_t code) {
  if (spec.codebook == nullptr) return DecodeToDouble(spec.type, code);
  return static_cast<double>(spec.codebook->values[code & CodeMask(spec.type)]);
}

Status CheckAll(std::span<const float> w, int64_t k, int64_t n, const QuantiseSpec& spec) {
  TARSIA_CHECK(CheckSpec(spec));
  TARSIA_CHECK(CheckSize("the matrix", w.size(), k, n));
  if (spec.group <= 0 || k % spec.group != 0) {
    return MakeDiagnostic(diag::kQuantiseGroup, {}, spec.group, k);
  }
  return CheckWeights(w, n, spec);
}

}  // namespace

Result<Quantised> QuantiseGroups(std::span<const float> w, int64_t k, int64_t n,
                                 const QuantiseSpec& spec) {
  TARSIA_CHECK(CheckAll(w, k, n, spec));
  Quantised out{.spec = spec, .k = k, .n = n, .codes = {}, .scales = {}, .zeros = {}};
  QuantiseAll(w, out);
  return out;
}

Result<Quantised> QuantiseMx(std::span<const float> w, int64_t k, int64_t n, DType type,
                             ScaleRule rule) {
  if (!type.IsFloat()) return MakeDiagnostic(diag::kQuantiseType, {}, Name(type));
  return QuantiseGroups(w, k, n, {.type = type, .group = 32, .scale_type = kE8M0, .rule = rule});
}

Result<Quantised> QuantiseFp8Blocks(std::span<const float> w, int64_t k, int64_t n, DType type,
                                    ScaleRule rule) {
  if (!type.IsFloat() || type.bits != 8) {
    return MakeDiagnostic(diag::kQuantiseType, {}, Name(type));
  }
  return QuantiseGroups(w, k, n, {.type = type, .group = 128, .columns = 128, .rule = rule});
}

Result<Quantised> QuantiseCodebook(std::span<const float> w, int64_t k, int64_t n,
                                   const Codebook& book, int64_t group, DType scale_type,
                                   ScaleRule rule) {
  return QuantiseGroups(w, k, n,
                        {.type = CodeTypeOf(book).value_or(kU4),
                         .group = group,
                         .scale_type = scale_type,
                         .rule = rule,
                         .codebook = &book});
}

Result<Quantised> QuantiseNvfp4(std::span<const float> w, int64_t k, int64_t n, ScaleRule rule) {
  const QuantiseSpec spec{.type = kF4E2M1, .group = 16, .scale_type = kF8E4M3FN, .rule = rule};
  TARSIA_CHECK(CheckAll(w, k, n, spec));
  Quantised out{.spec = spec, .k = k, .n = n, .codes = {}, .scales = {}, .zeros = {}};
  double absmax = 0;
  for (const float x : w) absmax = std::max(absmax, std::fabs(static_cast<double>(x)));
  // The largest scale, 448, times the largest code, 6, makes the largest weight.
  const auto tensor_scale = static_cast<float>(absmax / (448.0 * 6.0));
  if (tensor_scale > 0) out.tensor_scale = tensor_scale;
  QuantiseAll(w, out);
  return out;
}

Result<std::vector<float>> Dequantise(const Quantised& q) {
  const int64_t group = q.spec.group;
  TARSIA_CHECK(CheckSpec(q.spec));
  if (group <= 0 || q.k < 0 || q.k % group != 0) {
    return MakeDiagnostic(diag::kQuantiseGroup, {}, group, q.k);
  }
  TARSIA_CHECK(CheckSize("the code array", q.codes.size(), q.k, q.n));
  const int64_t across = BlocksAcross(q.n, q.spec);
  TARSIA_CHECK(CheckSize("the scale array", q.scales.size(), q.k / group, across));
  const bool zeros = q.spec.zero != ZeroPoint::kNone;
  TARSIA_CHECK(CheckSize("the zero point array", q.zeros.size(), zeros ? q.k / group : 0, across));
  std::vector<float> out(q.codes.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / q.n, column = static_cast<int64_t>(i) % q.n;
    const auto at = static_cast<size_t>(row / group * across + column / q.spec.columns);
    const double code = ValueOf(q.spec, q.codes[i]);
    const double centred = code - (zeros ? static_cast<double>(q.zeros[at]) : 0.0);
    out[i] = static_cast<float>(centred * static_cast<double>(q.scales[at]) *
                                static_cast<double>(q.tensor_scale));
  }
  return out;
}

Result<QuantiseError> MeasureError(std::span<const float> original,
                                   std::span<const float> approximation) {
  if (original.size() != approximation.size()) {
    return MakeDiagnostic(diag::kQuantiseShape, {}, "the approximation", approximation.size(),
                          original.size());
  }
  QuantiseError out;
  double signal = 0, noise = 0;
  for (size_t i = 0; i < original.size(); ++i) {
    const double difference =
        static_cast<double>(approximation[i]) - static_cast<double>(original[i]);
    out.max_abs = std::max(out.max_abs, std::fabs(difference));
    signal += static_cast<double>(original[i]) * static_cast<double>(original[i]);
    noise += difference * difference;
  }
  if (!original.empty()) out.rms = std::sqrt(noise / static_cast<double>(original.size()));
  out.snr_db =
      noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace tarsia
