#include "tools/real_layers/formula.h"

#include <algorithm>
#include <cmath>

namespace tarsia::real_layers {
namespace {

// The value of a code, straight from the definition of the types used here (finite floats with
// subnormals, two's complement, unsigned), without the library's decoder.
double ValueOf(DType type, unsigned code) {
  if (!type.IsFloat()) {
    const bool negative = type.IsSigned() && (code >> (type.bits - 1)) != 0;
    return static_cast<double>(code) - (negative ? std::ldexp(1.0, type.bits) : 0.0);
  }
  const unsigned mantissa = code & ((1u << type.mantissa) - 1);
  const unsigned exponent = code >> type.mantissa & ((1u << type.exponent) - 1);
  const int bias = (1 << (type.exponent - 1)) - 1;
  const double fraction = std::ldexp(static_cast<double>(mantissa), -type.mantissa);
  const double magnitude = exponent == 0
                               ? std::ldexp(fraction, 1 - bias)
                               : std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
  return (code >> (type.bits - 1)) != 0 ? -magnitude : magnitude;
}

double F16Value(uint16_t code) {
  const int exponent = code >> 10 & 31;
  const double fraction = (code & 1023) / 1024.0;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15);
  return (code >> 15) != 0 ? -magnitude : magnitude;
}

}  // namespace

Verdict Judge(const Job& job, const std::vector<uint16_t>& result) {
  const auto& q = job.q;
  std::vector<double> w(q.codes.size());
  for (int64_t k = 0; k < q.k; ++k) {
    for (int64_t n = 0; n < q.n; ++n) {
      const auto group = static_cast<size_t>(k / q.spec.group * q.n + n);
      const auto at = static_cast<size_t>(k * q.n + n);
      const double zero = q.zeros.empty() ? 0.0 : static_cast<double>(q.zeros[group]);
      w[at] = (ValueOf(q.spec.type, q.codes[at]) - zero) * static_cast<double>(q.scales[group]);
    }
  }
  Verdict out;
  double difference = 0, norm = 0;
  const double slack = (4 * std::sqrt(static_cast<double>(q.k)) + 8) * std::ldexp(1.0, -24);
  std::vector<double> y(static_cast<size_t>(q.n)), sum(y.size()), full(y.size());
  for (int64_t i = 0; i < job.m; ++i) {
    std::fill(y.begin(), y.end(), 0.0);
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(full.begin(), full.end(), 0.0);
    for (int64_t k = 0; k < q.k; ++k) {
      const double x = F16Value(job.x[static_cast<size_t>(i * q.k + k)]);
      for (int64_t n = 0; n < q.n; ++n) {
        const auto at = static_cast<size_t>(k * q.n + n);
        const auto j = static_cast<size_t>(n);
        y[j] += x * w[at];
        sum[j] += std::abs(x * w[at]);
        full[j] += x * static_cast<double>(job.matrix.w[at]);
      }
    }
    for (size_t j = 0; j < y.size(); ++j) {
      const double got = F16Value(result[static_cast<size_t>(i * q.n) + j]);
      const bool is_nan = (result[static_cast<size_t>(i * q.n) + j] & 0x7C00) == 0x7C00;
      const double error = is_nan ? INFINITY : std::abs(got - y[j]);
      const double bound =
          slack * sum[j] + std::max(std::abs(y[j]) * std::ldexp(1.0, -11), std::ldexp(1.0, -25)) *
                               (1 + std::ldexp(1.0, -10));
      out.largest_error = std::max(out.largest_error, error);
      out.largest_bound = std::max(out.largest_bound, bound);
      out.worst_share = std::max(out.worst_share, error / bound);
      difference += (got - full[j]) * (got - full[j]);
      norm += full[j] * full[j];
    }
  }
  out.against_full = std::sqrt(difference / norm);
  return out;
}

}  // namespace tarsia::real_layers
