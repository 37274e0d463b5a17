// The graphs of examples/reduce against direct formulas in f64, at sizes that are multiples of
// nothing, from the smallest limit to none, on the interpreter and on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reduce/example.h"

namespace tarsia::reduce_test {
namespace {

TEST(ReduceExamples, GaussianKernelTimesVector) {
  const size_t n = 67;
  const size_t m = 131;
  ForEachDevice([&](const std::string& device) {
    RunExample("rbf", {{"n", n}, {"m", m}, {"d", 3}}, device,
               [&](const Outputs& in, const Outputs& out) {
                 for (size_t i = 0; i < n; ++i) {
                   double sum = 0;
                   double size = 0;
                   for (size_t j = 0; j < m; ++j) {
                     double distance = 0;
                     for (size_t d = 0; d < 3; ++d)
                       distance += std::pow(in[0][i * 3 + d] - in[1][j * 3 + d], 2);
                     sum += std::exp(-distance / 2) * in[2][j];
                     size += std::exp(-distance / 2) * std::abs(in[2][j]) * (1 + distance);
                   }
                   ASSERT_NEAR(out.at(0)[i], sum, BoundOf(m, size)) << i;
                 }
               });
  });
}

TEST(ReduceExamples, CausalAttention) {
  const size_t heads = 2;
  const size_t n = 37;
  const size_t d = 20;
  ForEachDevice([&](const std::string& device) {
    RunExample("attention", {{"heads", heads}, {"n", n}, {"d", d}}, device,
               [&](const Outputs& in, const Outputs& out) {
                 for (size_t row = 0; row < heads * n; ++row) {
                   const size_t head = row / n * n;
                   std::vector<double> score;
                   double top = -std::numeric_limits<double>::infinity();
                   for (size_t j = head; j <= row; ++j) {
                     double dot = 0;
                     for (size_t e = 0; e < d; ++e) dot += in[0][row * d + e] * in[1][j * d + e];
                     score.push_back(dot / std::sqrt(static_cast<double>(d)));
                     top = std::max(top, score.back());
                   }
                   for (size_t e = 0; e < d; ++e) {
                     double weights = 0;
                     double sum = 0;
                     double size = 0;
                     for (size_t j = 0; j < score.size(); ++j) {
                       const double weight = std::exp(score[j] - top);
                       weights += weight;
                       sum += weight * in[2][(head + j) * d + e];
                       size += weight * std::abs(in[2][(head + j) * d + e]);
                     }
                     // Scores have errors of their own, which the exponential passes on.
                     const double scores = BoundOf(d, 4 * static_cast<double>(d));
                     ASSERT_NEAR(out.at(0)[row * d + e], sum / weights,
                                 (BoundOf(n, size) + size * scores) / weights);
                   }
                 }
               });
  });
}

TEST(ReduceExamples, NearestCentres) {
  const size_t n = 101;
  const size_t k = 19;
  const size_t d = 5;
  ForEachDevice([&](const std::string& device) {
    RunExample("kmeans", {{"n", n}, {"k", k}, {"d", d}}, device,
               [&](const Outputs& in, const Outputs& out) {
                 double sum = 0;
                 for (size_t i = 0; i < n; ++i) {
                   double best = std::numeric_limits<double>::infinity();
                   size_t at = 0;
                   for (size_t c = 0; c < k; ++c) {
                     double distance = 0;
                     for (size_t e = 0; e < d; ++e)
                       distance += std::pow(in[0][i * d + e] - in[1][c * d + e], 2);
                     if (distance < best) at = c;
                     best = std::min(best, distance);
                   }
                   // The data are multiples of 1/64, and so few that f32 holds every sum exactly.
                   ASSERT_EQ(out.at(0)[i], best) << i;
                   ASSERT_EQ(out.at(1)[i], static_cast<double>(at)) << i;
                   sum += best;
                 }
                 ASSERT_NEAR(out.at(2)[0], sum / n, BoundOf(n, sum / n));
               });
  });
}

TEST(ReduceExamples, LayerNorm) {
  const size_t n = 23;
  const size_t d = 77;
  ForEachDevice([&](const std::string& device) {
    RunExample(
        "layer_norm", {{"n", n}, {"d", d}}, device, [&](const Outputs& in, const Outputs& out) {
          for (size_t i = 0; i < n; ++i) {
            double mean = 0;
            double squares = 0;
            for (size_t e = 0; e < d; ++e) mean += in[0][i * d + e] / d;
            for (size_t e = 0; e < d; ++e) squares += std::pow(in[0][i * d + e] - mean, 2) / d;
            for (size_t e = 0; e < d; ++e) {
              const double unit = (in[0][i * d + e] - mean) / std::sqrt(squares + 0.00001);
              const double want = unit * in[1][e] + in[2][e];
              ASSERT_NEAR(out.at(0)[i * d + e], want, BoundOf(d, std::abs(unit * in[1][e]) + 4));
            }
          }
        });
  });
}

TEST(ReduceExamples, ChainOfProducts) {
  const size_t n = 21;
  const size_t m = 35;
  const size_t p = 19;
  const size_t r = 43;
  ForEachDevice([&](const std::string& device) {
    RunExample("chain", {{"n", n}, {"m", m}, {"p", p}, {"r", r}}, device,
               [&](const Outputs& in, const Outputs& out) {
                 for (size_t i = 0; i < n; ++i) {
                   double top = -std::numeric_limits<double>::infinity();
                   double bound = 0;
                   for (size_t l = 0; l < r; ++l) {
                     double sum = in[3][l];
                     double size = std::abs(in[3][l]);
                     for (size_t j = 0; j < m; ++j) {
                       for (size_t k = 0; k < p; ++k) {
                         const double term = in[0][i * m + j] * in[1][j * p + k] * in[2][k * r + l];
                         sum += term;
                         size += std::abs(term);
                       }
                     }
                     ASSERT_NEAR(out.at(0)[i * r + l], sum, 2 * BoundOf(m, size));
                     top = std::max(top, sum);
                     bound = std::max(bound, 2 * BoundOf(m, size));
                   }
                   ASSERT_NEAR(out.at(1)[i], top, bound);
                 }
               });
  });
}

}  // namespace
}  // namespace tarsia::reduce_test
