// The graphs of examples/reduce/gradients.tsa against direct formulas of the derivatives in f64, at
// sizes that are multiples of nothing, from the smallest limit to none, on both devices.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/reduce/example.h"
#include "tests/reduce/reference.h"

namespace tarsia::reduce_test {
namespace {

// Sums of terms in f32, one for each element, with the sum of their absolute values.
struct Sums {
  explicit Sums(size_t count) : value(count), size(count) {}
  void Add(size_t at, double term, double error = 0) {
    value[at] += term;
    size[at] += std::abs(term) * (1 + error);
  }
  void ExpectNear(const std::vector<double>& got, size_t terms, const char* what) const {
    ASSERT_EQ(got.size(), value.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], value[i], BoundOf(terms, size[i]) + 1e-30) << what << " " << i;
    }
  }
  std::vector<double> value, size;
};

TEST(ReduceGradientPrograms, GaussianKernelTimesVector) {
  const size_t n = 67;
  const size_t m = 51;
  const size_t d = 3;
  RunExampleEverywhere("gradients:rbf_gradient", {{"n", n}, {"m", m}, {"d", d}},
                       [&](const Outputs& in, const Outputs& out) {
                         Sums dx(n * d);
                         Sums dz(m * d);
                         Sums dv(m);
                         for (size_t i = 0; i < n; ++i) {
                           for (size_t j = 0; j < m; ++j) {
                             const double distance = SquaredDistance(in[0], i, in[1], j, d);
                             const double k = std::exp(-distance / 2);
                             const double weight = in[3][i] * in[2][j] * k;
                             for (size_t e = 0; e < d; ++e) {
                               const double apart = in[0][i * d + e] - in[1][j * d + e];
                               dx.Add(i * d + e, -weight * apart, distance);
                               dz.Add(j * d + e, weight * apart, distance);
                             }
                             dv.Add(j, in[3][i] * k, distance);
                           }
                         }
                         dx.ExpectNear(out.at(0), m, "dx");
                         dz.ExpectNear(out.at(1), n, "dz");
                         dv.ExpectNear(out.at(2), n, "dv");
                       });
}

TEST(ReduceGradientPrograms, KernelRegression) {
  const size_t n = 53;
  const size_t m = 17;
  const size_t d = 3;
  RunExampleEverywhere(
      "gradients:kernel_regression", {{"n", n}, {"m", m}, {"d", d}},
      [&](const Outputs& in, const Outputs& out) {
        const double precision = std::exp(-2 * in[4][0]);
        const auto kernel = [&](size_t i, size_t j) {
          return std::exp(SquaredDistance(in[0], i, in[2], j, d) * precision * -0.5);
        };
        Sums loss(1);
        Sums dz(m * d);
        Sums dweight(m);
        Sums dwidth(1);
        for (size_t i = 0; i < n; ++i) {
          double error = -in[1][i];
          double size = std::abs(in[1][i]);
          for (size_t j = 0; j < m; ++j) {
            error += kernel(i, j) * in[3][j];
            size += std::abs(kernel(i, j) * in[3][j]);
          }
          // An error has the rounding of all its terms, which counts as that many of its own.
          const double rounding = 4 * size / std::abs(error);
          loss.Add(0, error * error / n, 2 * rounding);
          for (size_t j = 0; j < m; ++j) {
            const double distance = SquaredDistance(in[0], i, in[2], j, d);
            const double more = rounding + distance * precision;
            const double slope = 2.0 / n * error * kernel(i, j);
            dweight.Add(j, slope, more);
            dwidth.Add(0, slope * in[3][j] * distance * precision, more);
            for (size_t e = 0; e < d; ++e) {
              const double apart = in[0][i * d + e] - in[2][j * d + e];
              dz.Add(j * d + e, slope * in[3][j] * precision * apart, more);
            }
          }
        }
        loss.ExpectNear(out.at(0), n, "loss");
        dz.ExpectNear(out.at(1), n, "dz");
        dweight.ExpectNear(out.at(2), n, "dweight");
        dwidth.ExpectNear(out.at(3), n * m, "dwidth");
      });
}

// One head: dq = p (dp - sum(p dp)) k / sqrt(d), with dp = dy v^T.
void CheckHead(const Outputs& in, const Outputs& out, size_t head, size_t n, size_t d) {
  const size_t base = head * n * d;
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  Sums dq(n * d);
  Sums dk(n * d);
  Sums dv(n * d);
  const auto dot = [&](const std::vector<double>& a, size_t i, const std::vector<double>& b,
                       size_t j) {
    double sum = 0;
    for (size_t e = 0; e < d; ++e) sum += a[base + i * d + e] * b[base + j * d + e];
    return sum;
  };
  for (size_t i = 0; i < n; ++i) {
    std::vector<double> p;
    double total = 0;
    for (size_t j = 0; j <= i; ++j) total += std::exp(dot(in[0], i, in[1], j) * scale);
    double mean = 0;
    double size = 0;
    for (size_t j = 0; j <= i; ++j) {
      p.push_back(std::exp(dot(in[0], i, in[1], j) * scale) / total);
      mean += p[j] * dot(in[3], i, in[2], j);
      size += p[j] * std::abs(dot(in[3], i, in[2], j));
    }
    for (size_t j = 0; j <= i; ++j) {
      // Scores, and derivatives of weights, are sums of d products below 4, with roundings.
      const double rounding = 4 * static_cast<double>(d);
      const double slope = p[j] * (dot(in[3], i, in[2], j) - mean) * scale;
      const double terms = p[j] * (std::abs(dot(in[3], i, in[2], j)) + size) * scale;
      for (size_t e = 0; e < d; ++e) {
        dq.Add(i * d + e, slope * in[1][base + j * d + e]);
        dk.Add(j * d + e, slope * in[0][base + i * d + e]);
        dv.Add(j * d + e, p[j] * in[3][base + i * d + e], rounding);
        dq.size[i * d + e] += (terms + p[j] * scale) * 2 * rounding;
        dk.size[j * d + e] += (terms + p[j] * scale) * 2 * rounding;
      }
    }
  }
  const auto part = [&](size_t o) {
    const auto begin = out.at(o).begin() + static_cast<std::ptrdiff_t>(base);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(n * d));
  };
  dq.ExpectNear(part(0), n, "dq");
  dk.ExpectNear(part(1), n, "dk");
  dv.ExpectNear(part(2), n, "dv");
}

TEST(ReduceGradientPrograms, Attention) {
  const size_t n = 37;
  const size_t d = 12;
  RunExampleEverywhere("gradients:attention_gradient", {{"heads", 2}, {"n", n}, {"d", d}},
                       [&](const Outputs& in, const Outputs& out) {
                         for (size_t head = 0; head < 2; ++head) CheckHead(in, out, head, n, d);
                       });
}

// The formula of the backward pass that is written by hand in backward.tsa.
TEST(ReduceGradientPrograms, LayerNormAsByHand) {
  const size_t n = 23;
  const size_t d = 77;
  const ConcreteGraph by_hand =
      MakeGraphOf("examples/reduce/backward.tsa", {{"n", n}, {"d", d}}, "layer_norm_backward");
  RunExampleEverywhere(
      "gradients:layer_norm_gradient", {{"n", n}, {"d", d}},
      [&](const Outputs& in, const Outputs& out) {
        Outputs given = {std::vector<double>(n * d), std::vector<double>(n), in[1], in[3]};
        for (size_t i = 0; i < n; ++i) {
          double mean = 0;
          double squares = 0;
          for (size_t e = 0; e < d; ++e) mean += in[0][i * d + e] / d;
          for (size_t e = 0; e < d; ++e) squares += std::pow(in[0][i * d + e] - mean, 2) / d;
          given[1][i] = static_cast<float>(1 / std::sqrt(squares + 0.00001));
          for (size_t e = 0; e < d; ++e) {
            given[0][i * d + e] =
                static_cast<float>((in[0][i * d + e] - mean) / std::sqrt(squares + 0.00001));
          }
        }
        const ReferenceGraph want(by_hand, given);
        for (size_t o = 0; o < 3; ++o) {
          const auto& values = want.value(by_hand.graph().outputs[o]).value;
          const size_t terms = o == 0 ? d : n;
          ASSERT_EQ(values.size(), out.at(o).size());
          for (size_t i = 0; i < values.size(); ++i) {
            // Rows have deviations near 1.2, elements and their products are below 8.
            ASSERT_NEAR(out.at(o)[i], values[i], BoundOf(terms, o == 0 ? 32 : 8.0 * n)) << o;
          }
        }
      });
}

}  // namespace
}  // namespace tarsia::reduce_test
