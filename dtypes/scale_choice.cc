#include "dtypes/scale_choice.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "dtypes/convert.h"
#include "dtypes/diagnostics.h"

namespace tarsia::internal {
namespace {

bool IsScaleType(DType type) {
  return type == kF32 || type == kF16 || type == kBF16 || type == kF8E4M3FN || type == kE8M0;
}

// 2^(floor(log2(absmax)) - floor(log2(largest value))), OCP Microscaling Formats 1.0, section 6.3.
double MicroscalingScale(double absmax, double largest) {
  if (absmax == 0) return 0;
  // The lone nonzero value of i1 is -1.
  return std::ldexp(1.0, std::ilogb(absmax) - (largest > 0 ? std::ilogb(largest) : 0));
}

}  // namespace

Status CheckSpec(const QuantiseSpec& spec) {
  if (!LowPrecision(spec.type)) {
    return MakeDiagnostic(diag::kQuantiseType, {}, DTypeName(spec.type));
  }
  if (spec.codebook != nullptr && CodeTypeOf(*spec.codebook) != spec.type) {
    return MakeDiagnostic(diag::kQuantiseCodebook, {}, spec.codebook->name,
                          spec.codebook->values.size(), DTypeName(spec.type));
  }
  if (spec.columns < 1) return MakeDiagnostic(diag::kQuantiseColumns, {}, spec.columns);
  if (!IsScaleType(spec.scale_type)) {
    return MakeDiagnostic(diag::kQuantiseScaleType, {}, DTypeName(spec.scale_type));
  }
  if (spec.zero == ZeroPoint::kNone) return OkStatus();
  if (spec.type.IsFloat()) {
    return MakeDiagnostic(diag::kQuantiseZeroPoint, {},
                          "`" + std::string(DTypeName(spec.type)) + "` weights");
  }
  if (spec.codebook != nullptr) {
    return MakeDiagnostic(diag::kQuantiseZeroPoint, {}, "codebooks");
  }
  if (spec.scale_type == kE8M0) {
    return MakeDiagnostic(diag::kQuantiseZeroPoint, {}, "`e8m0` scales");
  }
  return OkStatus();
}

double Chooser::AbsmaxScale(double least, double most) const {
  const double low = levels.Least(), high = levels.Most();
  if (spec.scale_type == kE8M0) return MicroscalingScale(std::max(most, -least), high);
  const double from_most = high > 0 ? std::max(most, 0.0) / high : 0;
  const double from_least = low < 0 ? std::min(least, 0.0) / low : 0;
  return std::max(from_most, from_least) / tensor_scale;
}

// Scales of f8e4m3fn and e8m0 saturate by their rules (docs/dtypes.md).
bool Chooser::Saturates(double scale) const {
  if (spec.scale_type.bits == 8) return false;
  return scale > DecodeToDouble(spec.scale_type, MaxFiniteCode(spec.scale_type));
}

Affine Chooser::AbsmaxAffine(double least, double most) const {
  if (spec.zero == ZeroPoint::kNone) {
    const double exact = AbsmaxScale(least, most);
    return {RoundTo(spec.scale_type, exact), 0, Saturates(exact)};
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
  const double rounded =
      integer_zero ? std::clamp(std::nearbyint(zero), low, high) : RoundTo(spec.scale_type, zero);
  return {scale, rounded, Saturates(range)};
}

Affine Chooser::Choose(std::span<const double> weights) const {
  const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  const Affine start = AbsmaxAffine(*least, *most);
  if (start.saturates) return start;
  switch (spec.rule) {
    case ScaleRule::kAbsmax:
      return start;
    case ScaleRule::kLeastSquares:
      if (spec.zero != ZeroPoint::kNone) {
        return LeastSquaresAffine(weights, levels, spec, start);
      }
      return {LeastSquaresScale(weights, levels, spec.scale_type, tensor_scale, start.scale), 0};
  }
  return start;
}

uint8_t Chooser::CodeOf(double w, const Affine& affine) const {
  const double step = affine.scale * tensor_scale;
  double wanted = step != 0 ? w / step : 0;
  if (spec.codebook != nullptr) return levels.codes[levels.Nearest(wanted)];
  if (spec.zero != ZeroPoint::kNone) wanted += affine.zero;  // -0 + 0 would lose its sign
  if (spec.type.IsFloat()) {
    wanted = std::clamp(wanted, levels.Least(), levels.Most());
    return static_cast<uint8_t>(
        EncodeFromDouble(spec.type, wanted, {Rounding::kNearestEven, Overflow::kSaturate}));
  }
  return static_cast<uint8_t>(EncodeFromDouble(spec.type, std::nearbyint(wanted)));
}

}  // namespace tarsia::internal
