#include "dtypes/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "dtypes/convert.h"
#include "dtypes/diagnostics.h"

namespace tarsia {
namespace {

std::string Name(DType type) { return std::string(DTypeName(type)); }

// Rounds to a type and back; saturating, so that a scale is never infinite.
double RoundTo(DType type, double value) {
  const CastOptions options{Rounding::kNearestEven, Overflow::kSaturate};
  return DecodeToDouble(type, EncodeFromDouble(type, value, options));
}

bool IsScaleType(DType type) {
  return type == kF32 || type == kF16 || type == kBF16 || type == kF8E4M3FN || type == kE8M0;
}

// The least and the largest finite value of a weight type.
std::pair<double, double> ValueRange(DType type) {
  if (type.IsFloat()) {
    const double most = DecodeToDouble(type, MaxFiniteCode(type));
    return {-most, most};
  }
  const double span = std::ldexp(1.0, type.bits);
  return type.IsSigned() ? std::pair(-span / 2, span / 2 - 1) : std::pair(0.0, span - 1);
}

Status CheckSpec(const QuantiseSpec& spec) {
  if (!LowPrecision(spec.type)) {
    return MakeDiagnostic(diag::kQuantiseType, {}, Name(spec.type));
  }
  if (!IsScaleType(spec.scale_type)) {
    return MakeDiagnostic(diag::kQuantiseScaleType, {}, Name(spec.scale_type));
  }
  if (spec.zero == ZeroPoint::kNone) return OkStatus();
  if (spec.type.IsFloat()) {
    return MakeDiagnostic(diag::kQuantiseZeroPoint, {}, "`" + Name(spec.type) + "` weights");
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
  const bool no_negative = spec.type.IsUnsigned() && spec.zero == ZeroPoint::kNone;
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

// The weights of one group: `count` of them, `stride` apart.
struct Group {
  const float* first;
  int64_t count;
  int64_t stride;
  [[nodiscard]] double At(int64_t i) const { return first[i * stride]; }
};

std::pair<double, double> MinMax(const Group& group) {
  double least = group.At(0), most = group.At(0);
  for (int64_t i = 1; i < group.count; ++i) {
    least = std::min(least, group.At(i));
    most = std::max(most, group.At(i));
  }
  return {least, most};
}

struct Affine {
  double scale;
  double zero;
};

// 2^(floor(log2(absmax)) - floor(log2(largest value))), OCP Microscaling Formats 1.0, section 6.3.
double MicroscalingScale(double absmax, double largest) {
  if (absmax == 0) return 0;
  // The lone nonzero value of i1 is -1.
  return std::ldexp(1.0, std::ilogb(absmax) - (largest > 0 ? std::ilogb(largest) : 0));
}

double SymmetricScale(const Group& group, const QuantiseSpec& spec, double tensor_scale) {
  const auto [low, high] = ValueRange(spec.type);
  const auto [least, most] = MinMax(group);
  if (spec.scale_type == kE8M0) return MicroscalingScale(std::max(most, -least), high);
  const double from_most = high > 0 ? std::max(most, 0.0) / high : 0;
  const double from_least = low < 0 ? std::min(least, 0.0) / low : 0;
  return std::max(from_most, from_least) / tensor_scale;
}

Affine ChooseAffine(const Group& group, const QuantiseSpec& spec, double tensor_scale) {
  if (spec.zero == ZeroPoint::kNone) {
    return {RoundTo(spec.scale_type, SymmetricScale(group, spec, tensor_scale)), 0};
  }
  const auto [low, high] = ValueRange(spec.type);
  auto [least, most] = MinMax(group);
  const bool integer_zero = spec.zero == ZeroPoint::kInteger;
  if (integer_zero) {
    least = std::min(least, 0.0);
    most = std::max(most, 0.0);
  }
  // A constant group is one step of its own size away from the zero point.
  const double range = most > least ? (most - least) / (high - low) : std::fabs(least);
  const double scale = RoundTo(spec.scale_type, range);
  if (scale == 0) return {0, integer_zero ? std::clamp(0.0, low, high) : 0.0};
  const double zero = low - least / scale;
  if (integer_zero) return {scale, std::clamp(std::nearbyint(zero), low, high)};
  return {scale, RoundTo(spec.scale_type, zero)};
}

uint8_t QuantiseOne(double w, const Affine& affine, const QuantiseSpec& spec, double tensor_scale) {
  const double step = affine.scale * tensor_scale;
  double code_value = step != 0 ? w / step : 0;
  if (spec.zero != ZeroPoint::kNone) code_value += affine.zero;  // -0 + 0 would lose its sign
  if (spec.type.IsFloat()) {
    return static_cast<uint8_t>(
        EncodeFromDouble(spec.type, code_value, {Rounding::kNearestEven, Overflow::kSaturate}));
  }
  return static_cast<uint8_t>(EncodeFromDouble(spec.type, std::nearbyint(code_value)));
}

// Quantises a checked matrix, tensor_scale given.
void QuantiseAll(std::span<const float> w, Quantised& out) {
  const QuantiseSpec& spec = out.spec;
  const double tensor_scale = out.tensor_scale;
  out.codes.resize(w.size());
  for (int64_t row = 0; row < out.k; row += spec.group) {
    for (int64_t column = 0; column < out.n; ++column) {
      const auto first = static_cast<size_t>(row * out.n + column);
      const Group group{w.data() + first, spec.group, out.n};
      const Affine affine = ChooseAffine(group, spec, tensor_scale);
      out.scales.push_back(static_cast<float>(affine.scale));
      if (spec.zero != ZeroPoint::kNone) out.zeros.push_back(static_cast<float>(affine.zero));
      for (int64_t i = 0; i < spec.group; ++i) {
        out.codes[first + static_cast<size_t>(i * out.n)] =
            QuantiseOne(group.At(i), affine, spec, tensor_scale);
      }
    }
  }
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

Result<Quantised> QuantiseMx(std::span<const float> w, int64_t k, int64_t n, DType type) {
  if (!type.IsFloat()) return MakeDiagnostic(diag::kQuantiseType, {}, Name(type));
  return QuantiseGroups(w, k, n, {type, 32, ZeroPoint::kNone, kE8M0});
}

Result<Quantised> QuantiseNvfp4(std::span<const float> w, int64_t k, int64_t n) {
  const QuantiseSpec spec{kF4E2M1, 16, ZeroPoint::kNone, kF8E4M3FN};
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
  TARSIA_CHECK(CheckSize("the scale array", q.scales.size(), q.k / group, q.n));
  const bool zeros = q.spec.zero != ZeroPoint::kNone;
  TARSIA_CHECK(CheckSize("the zero point array", q.zeros.size(), zeros ? q.k / group : 0, q.n));
  std::vector<float> out(q.codes.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / q.n, column = static_cast<int64_t>(i) % q.n;
    const auto at = static_cast<size_t>(row / group * q.n + column);
    const double code = DecodeToDouble(q.spec.type, q.codes[i]);
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
