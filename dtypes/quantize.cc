#include "dtypes/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "dtypes/convert.h"
#include "dtypes/diagnostics.h"
#include "dtypes/scale_choice.h"
#include "dtypes/scale_search.h"

namespace tarsia {
namespace {

std::string Name(DType type) { return std::string(DTypeName(type)); }

Status CheckSize(const char* what, size_t size, int64_t rows, int64_t columns) {
  const bool negative = rows < 0 || columns < 0;
  const bool fits = !negative && (columns == 0 || rows <= INT64_MAX / columns);
  if (fits && static_cast<uint64_t>(rows * columns) == size) return OkStatus();
  const std::string wanted = std::to_string(rows) + " x " + std::to_string(columns);
  return MakeDiagnostic(diag::kQuantiseShape, {}, what, size, wanted);
}

Status CheckWeights(std::span<const float> w, int64_t n, const QuantiseSpec& spec) {
  const bool no_negative = spec.zero == ZeroPoint::kNone && internal::LevelsOf(spec).Least() >= 0;
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

// Quantises a checked matrix, tensor_scale given. Errors: a scale that its type cannot hold.
Status QuantiseAll(std::span<const float> w, Quantised& out) {
  const QuantiseSpec& spec = out.spec;
  const internal::Chooser chooser(spec, static_cast<double>(out.tensor_scale));
  out.codes.resize(w.size());
  for (int64_t row = 0; row < out.k; row += spec.group) {
    for (int64_t column = 0; column < out.n; column += spec.columns) {
      const Block block{static_cast<size_t>(row * out.n + column), spec.group,
                        std::min(spec.columns, out.n - column), out.n};
      const internal::Affine affine = chooser.Choose(WeightsOf(w, block));
      if (affine.saturates) {
        return MakeDiagnostic(diag::kQuantiseScale, {}, row / spec.group, column,
                              Name(spec.scale_type));
      }
      out.scales.push_back(static_cast<float>(affine.scale));
      if (spec.zero != ZeroPoint::kNone) out.zeros.push_back(static_cast<float>(affine.zero));
      block.ForEach(
          [&](size_t i) { out.codes[i] = chooser.CodeOf(static_cast<double>(w[i]), affine); });
    }
  }
  return OkStatus();
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
  TARSIA_CHECK(internal::CheckSpec(spec));
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
  TARSIA_CHECK(QuantiseAll(w, out));
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
  TARSIA_CHECK(QuantiseAll(w, out));
  return out;
}

Result<std::vector<float>> Dequantise(const Quantised& q) {
  const int64_t group = q.spec.group;
  TARSIA_CHECK(internal::CheckSpec(q.spec));
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
