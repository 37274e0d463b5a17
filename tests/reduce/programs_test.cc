// Further graphs of examples/reduce against direct formulas in f64, at sizes that are multiples of
// nothing, from the smallest limit to none, on the interpreter and on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/reduce/example.h"

namespace tarsia::reduce_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ReducePrograms, MaternKernelTimesVector) {
  const size_t n = 51;
  const size_t m = 87;
  RunExampleEverywhere("matern", {{"n", n}, {"m", m}, {"d", 3}},
                       [&](const Outputs& in, const Outputs& out) {
                         for (size_t i = 0; i < n; ++i) {
                           double sum = 0;
                           double size = 0;
                           for (size_t j = 0; j < m; ++j) {
                             const double s = SquaredDistance(in[0], i, in[1], j, 3);
                             const double r = std::sqrt(5 * s);
                             const double k = (1 + r + r * r / 3) * std::exp(-r);
                             sum += k * in[2][j];
                             size += k * std::abs(in[2][j]) * (1 + r);
                           }
                           ASSERT_NEAR(out.at(0)[i], sum, BoundOf(m, size)) << i;
                         }
                       });
}

TEST(ReducePrograms, LogarithmOfADensity) {
  const size_t n = 41;
  const size_t m = 93;
  const size_t d = 3;
  const ConcreteGraph graph =
      MakeGraphOf("examples/reduce/density.tsa", {{"n", n}, {"m", m}, {"d", d}});
  Outputs inputs = RandomInputs(graph, 1);
  inputs[2][0] = 0.125;  // so narrow that some densities are below e^-100
  ForEachDevice([&](const std::string& device) {
    RunGraph(graph, inputs, device, [&](const Outputs& in, const Outputs& out) {
      const double h = in[2][0];
      for (size_t i = 0; i < n; ++i) {
        long double sum = 0;
        double most = 0;
        for (size_t j = 0; j < m; ++j) {
          const double s = SquaredDistance(in[0], i, in[1], j, d) / (2 * h * h);
          sum += std::exp(static_cast<long double>(-s));
          most = std::max(most, s);
        }
        const double scale = std::log(m) + d * (std::log(h) + std::log(2 * std::acos(-1.0)) / 2);
        const auto want = static_cast<double>(std::log(sum)) - scale;
        ASSERT_NEAR(out.at(0)[i], want, BoundOf(d, 1 + most + std::abs(scale))) << i;
      }
    });
  });
}

TEST(ReducePrograms, AttentionInAWindow) {
  const size_t heads = 2;
  const size_t n = 43;
  const size_t d = 12;
  const size_t window = 9;
  RunExampleEverywhere(
      "attention_window", {{"heads", heads}, {"n", n}, {"d", d}, {"window", window}},
      [&](const Outputs& in, const Outputs& out) {
        for (size_t row = 0; row < heads * n; ++row) {
          const size_t i = row % n;
          const size_t first = row - std::min(i, window - 1);
          std::vector<double> score;
          for (size_t j = first; j <= row; ++j) {
            double dot = 0;
            for (size_t e = 0; e < d; ++e) dot += in[0][row * d + e] * in[1][j * d + e];
            score.push_back(dot / std::sqrt(static_cast<double>(d)));
          }
          double weights = 0;
          for (const double s : score) weights += std::exp(s);
          // Scores have errors of their own, which the exponential passes on.
          const double error = BoundOf(d, 4 * static_cast<double>(d));
          ASSERT_NEAR(out.at(1)[row], std::log(weights), error + BoundOf(window, 8));
          for (size_t e = 0; e < d; ++e) {
            double sum = 0;
            double size = 0;
            for (size_t j = 0; j < score.size(); ++j) {
              const double v = in[2][(first + j) * d + e];
              sum += std::exp(score[j]) * v / weights;
              size += std::exp(score[j]) * std::abs(v) / weights;
            }
            ASSERT_NEAR(out.at(0)[row * d + e], sum, BoundOf(window, size) + 2 * size * error);
          }
        }
      });
}

// Points of more elements than are computed one after the other, for so many results that the
// distances need not be in memory: kernels for a GPU bring the points to shared memory by sectors.
TEST(ReducePrograms, PointsByWayOfSharedMemory) {
  for (const std::string type : {"f32", "f16"}) {
    const std::string text = "graph product(%x: " + type + "[i:n, d], %z: " + type +
                             "[j:m, d]) -> f32[i:n]\n  const n: int, m: int, d: int\n{\n"
                             "  %s = sqdist<d>(cast<f32>(%x), cast<f32>(%z))\n"
                             "  %y = sum<j>(exp(-%s))\n  return %y\n}\n";
    const ConcreteGraph graph = MakeGraph(text, {{"n", 4100}, {"m", 70}, {"d", 19}}, "");
    PlanOptions options;
    options.machine = Machine::kGpu;
    Diagnostics found;
    const auto plan = MakePlan(graph, options, found);
    ASSERT_TRUE(plan);
    EXPECT_NE(plan->Text().find("alloc.shared : " + type), std::string::npos);
    RunAndCompare(graph, RandomInputs(graph, 1), kNoLimit, LimitKind::kTotal, "ptx");
  }
}

TEST(ReducePrograms, EnergyDistanceOfSamplesBeyondTheLimit) {
  const size_t n = 131;
  const size_t m = 117;
  const size_t d = 5;
  const Sets sets = {{"n", n}, {"m", m}, {"d", d}};
  // Neither sample is in memory as a whole.
  const ConcreteGraph graph = MakeGraphOf("examples/reduce/energy.tsa", sets);
  const auto smallest = RefusedBelow(graph, 0, LimitKind::kTotal);
  ASSERT_TRUE(smallest);
  EXPECT_LT(*smallest, 4 * m * d);
  RunExampleEverywhere("energy", sets, [&](const Outputs& in, const Outputs& out) {
    const auto mean = [&](const std::vector<double>& a, size_t rows, const std::vector<double>& b,
                          size_t columns) {
      double sum = 0;
      for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j) sum += std::sqrt(SquaredDistance(a, i, b, j, d));
      }
      return sum / static_cast<double>(rows * columns);
    };
    const double xy = mean(in[0], n, in[1], m);
    const double xx = mean(in[0], n, in[0], n);
    const double yy = mean(in[1], m, in[1], m);
    ASSERT_NEAR(out.at(0)[0], 2 * xy - xx - yy, BoundOf(n, 2 * xy + xx + yy));
  });
}

// log(sum(exp(of(0)), exp(of(1)), ...)).
double LogOfSum(size_t count, const std::function<double(size_t)>& of) {
  double most = -kInfinity;
  for (size_t i = 0; i < count; ++i) most = std::max(most, of(i));
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += std::exp(of(i) - most);
  return most + std::log(sum);
}

TEST(ReducePrograms, AStepOfSinkhorn) {
  const size_t n = 67;
  const size_t m = 141;
  const size_t d = 3;
  const double eps = 0.25;
  const ConcreteGraph graph =
      MakeGraphOf("examples/reduce/sinkhorn.tsa", {{"n", n}, {"m", m}, {"d", d}});
  Outputs inputs = RandomInputs(graph, 1);
  inputs[5][0] = eps;
  ForEachDevice([&](const std::string& device) {
    RunGraph(graph, inputs, device, [&](const Outputs& in, const Outputs& out) {
      const auto c = [&](size_t i, size_t j) { return SquaredDistance(in[0], i, in[1], j, d); };
      double most = 0;  // of what is divided by eps
      std::vector<double> f(n);
      for (size_t i = 0; i < n; ++i) {
        f[i] = -eps * LogOfSum(m, [&](size_t j) { return (in[4][j] - c(i, j)) / eps + in[3][j]; });
        for (size_t j = 0; j < m; ++j) most = std::max(most, c(i, j) + std::abs(f[i]) + 1);
        ASSERT_NEAR(out.at(0)[i], f[i], BoundOf(d, 2 * most)) << i;
      }
      double cost = 0;
      for (size_t j = 0; j < m; ++j) {
        const double g =
            -eps * LogOfSum(n, [&](size_t i) { return (f[i] - c(i, j)) / eps + in[2][i]; });
        ASSERT_NEAR(out.at(1)[j], g, BoundOf(d, 4 * most)) << j;
        for (size_t i = 0; i < n; ++i) {
          cost += std::exp((f[i] + g - c(i, j)) / eps + in[2][i] + in[3][j]) * c(i, j);
        }
      }
      ASSERT_NEAR(out.at(2)[0], cost, BoundOf(d, cost * 6 * most / eps));
      ASSERT_GT(cost, 1e-3);
    });
  });
}

TEST(ReducePrograms, MaximumMeanDiscrepancy) {
  const size_t n = 61;
  const size_t m = 47;
  const size_t d = 5;
  RunExampleEverywhere("mmd", {{"n", n}, {"m", m}, {"d", d}},
                       [&](const Outputs& in, const Outputs& out) {
                         const auto mean = [&](const std::vector<double>& a, size_t rows,
                                               const std::vector<double>& b, size_t columns) {
                           double sum = 0;
                           for (size_t i = 0; i < rows; ++i) {
                             for (size_t j = 0; j < columns; ++j) {
                               sum += std::exp(-SquaredDistance(a, i, b, j, d) / 2);
                             }
                           }
                           return sum / static_cast<double>(rows * columns);
                         };
                         const double xx = mean(in[0], n, in[0], n);
                         const double yy = mean(in[1], m, in[1], m);
                         const double xy = mean(in[0], n, in[1], m);
                         // An exponent of up to 16 multiplies the error of the distance.
                         ASSERT_NEAR(out.at(0)[0], xx + yy - 2 * xy, BoundOf(d, xx + yy + 2 * xy));
                       });
}

TEST(ReducePrograms, ForcesOfTsne) {
  const size_t n = 37;
  const size_t d = 6;
  const ConcreteGraph graph = MakeGraphOf("examples/reduce/tsne.tsa", {{"n", n}, {"d", d}});
  Outputs inputs = RandomInputs(graph, 1);
  for (double& beta : inputs[1]) beta = 0.25 + std::abs(beta) / 4;
  ForEachDevice([&](const std::string& device) {
    RunGraph(graph, inputs, device, [&](const Outputs& in, const Outputs& out) {
      const auto weight = [&](size_t i, size_t j) {
        return i == j ? 0 : 1 / (1 + SquaredDistance(in[2], i, in[2], j, 2));
      };
      const auto near = [&](size_t i, size_t j) {
        return i == j ? 0 : std::exp(-SquaredDistance(in[0], i, in[0], j, d) * in[1][i]);
      };
      double z = 0;
      std::vector<double> total(n);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          z += weight(i, j);
          total[i] += near(i, j);
        }
      }
      for (size_t i = 0; i < n; ++i) {
        for (size_t e = 0; e < 2; ++e) {
          double force = 0;
          double size = 0;
          for (size_t j = 0; j < n; ++j) {
            const double p = (near(i, j) / total[i] + near(j, i) / total[j]) / (2 * n);
            const double w = weight(i, j);
            const double a = in[2][i * 2 + e];
            const double b = in[2][j * 2 + e];
            force += 4 * (p - w / z) * w * (a - b);
            // The two sums are subtracted as wholes, and exponents reach 20.
            size += 4 * (p * 20 + w / z) * w * (std::abs(a) + std::abs(b));
          }
          ASSERT_NEAR(out.at(0)[i * 2 + e], force, BoundOf(n, size)) << i;
        }
      }
    });
  });
}

TEST(ReducePrograms, TermsOfASparseGaussianProcess) {
  const size_t n = 83;
  const size_t m = 21;
  const size_t d = 3;
  RunExampleEverywhere("sparse_gp", {{"n", n}, {"m", m}, {"d", d}},
                       [&](const Outputs& in, const Outputs& out) {
                         const auto a = [&](size_t j, size_t i) {
                           return std::exp(-SquaredDistance(in[1], j, in[0], i, d) / 2);
                         };
                         const double bound = 1e-13 * n;  // f64
                         double trace = 0;
                         for (size_t j = 0; j < m; ++j) {
                           double target = 0;
                           for (size_t i = 0; i < n; ++i) {
                             target += a(j, i) * in[2][i];
                             trace += a(j, i) * a(j, i);
                           }
                           ASSERT_NEAR(out.at(1)[j], target, bound);
                           for (size_t k = 0; k < m; ++k) {
                             double product = 0;
                             for (size_t i = 0; i < n; ++i) product += a(j, i) * a(k, i);
                             ASSERT_NEAR(out.at(0)[j * m + k], product, bound);
                           }
                         }
                         ASSERT_NEAR(out.at(2)[0], trace, bound * m);
                       });
}

TEST(ReducePrograms, GeluAfterALinearLayer) {
  const size_t n = 19;
  const size_t d = 33;
  const size_t h = 45;
  RunExampleEverywhere("gelu", {{"n", n}, {"d", d}, {"h", h}},
                       [&](const Outputs& in, const Outputs& out) {
                         for (size_t i = 0; i < n; ++i) {
                           for (size_t j = 0; j < h; ++j) {
                             double a = in[2][j];
                             double size = std::abs(a);
                             for (size_t e = 0; e < d; ++e) {
                               a += in[0][i * d + e] * in[1][j * d + e];
                               size += std::abs(in[0][i * d + e] * in[1][j * d + e]);
                             }
                             const double want = a * (1 + std::erf(a / std::sqrt(2.0))) / 2;
                             // The derivative of gelu is below 1.2.
                             ASSERT_NEAR(out.at(0)[i * h + j], want, 1.2 * BoundOf(d, size));
                           }
                         }
                       });
}

// The k best of n scores, the largest first: the values, and the elements that may stand there by
// the bound of the scores' error.
void ExpectBest(const std::vector<double>& scores, const double* values, const double* indices,
                size_t k, double bound) {
  std::vector<double> sorted = scores;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (size_t r = 0; r < k; ++r) {
    ASSERT_NEAR(values[r], sorted[r], bound);
    ASSERT_NEAR(scores[static_cast<size_t>(indices[r])], sorted[r], 2 * bound);
    // Equal elements come in the order of their indices; none comes twice.
    for (size_t s = 0; s < r; ++s) ASSERT_NE(indices[s], indices[r]);
    if (r > 0 && values[r] == values[r - 1]) {
      ASSERT_GT(indices[r], indices[r - 1]);
    }
  }
}

TEST(ReducePrograms, NearestNeighbours) {
  const size_t n = 21;
  const size_t m = 171;
  const size_t d = 7;
  const size_t k = 10;
  const Sets sets = {{"n", n}, {"m", m}, {"d", d}, {"k", k}};
  const auto expect = [&](const std::string& graph, double sign, double bound, const auto& score) {
    RunExampleEverywhere("knn:" + graph, sets, [&](const Outputs& in, const Outputs& out) {
      for (size_t i = 0; i < n; ++i) {
        std::vector<double> scores;
        for (size_t j = 0; j < m; ++j) scores.push_back(score(in, i, j));
        std::vector<double> values(out.at(0).begin() + i * k, out.at(0).begin() + (i + 1) * k);
        for (double& value : values) value *= sign;
        ExpectBest(scores, values.data(), out.at(1).data() + i * k, k, bound);
      }
    });
  };
  // The data are multiples of 1/64, and so few that f32 holds every sum exactly.
  expect("knn", -1, 0, [&](const Outputs& in, size_t i, size_t j) {
    return -SquaredDistance(in[0], i, in[1], j, d);
  });
  expect("knn_l1", -1, 0, [&](const Outputs& in, size_t i, size_t j) {
    double sum = 0;
    for (size_t e = 0; e < d; ++e) sum += std::abs(in[0][i * d + e] - in[1][j * d + e]);
    return -sum;
  });
  expect("knn_cosine", 1, BoundOf(d, 2), [&](const Outputs& in, size_t i, size_t j) {
    double ab = 0;
    double aa = 0;
    double bb = 0;
    for (size_t e = 0; e < d; ++e) {
      ab += in[0][i * d + e] * in[1][j * d + e];
      aa += in[0][i * d + e] * in[0][i * d + e];
      bb += in[1][j * d + e] * in[1][j * d + e];
    }
    return ab / std::sqrt(aa * bb);
  });
  expect("knn_u4", -1, BoundOf(d, 300), [&](const Outputs& in, size_t i, size_t j) {
    double sum = 0;
    for (size_t e = 0; e < d; ++e) {
      const double z = in[1][j * d + e] * in[2][j] + in[3][j];
      sum += (in[0][i * d + e] - z) * (in[0][i * d + e] - z);
    }
    return -sum;
  });
}

TEST(ReducePrograms, AStepOfKMeans) {
  const size_t n = 83;
  const size_t k = 11;
  const size_t d = 5;
  const ConcreteGraph graph =
      MakeGraphOf("examples/reduce/kmeans_update.tsa", {{"n", n}, {"k", k}, {"d", d}});
  Outputs inputs = RandomInputs(graph, 1);
  for (size_t e = 0; e < d; ++e) inputs[1][4 * d + e] = 100;  // far from all points
  ForEachDevice([&](const std::string& device) {
    RunGraph(graph, inputs, device, [&](const Outputs& in, const Outputs& out) {
      std::vector<double> sum(k * d);
      std::vector<double> size(k * d);
      std::vector<double> count(k);
      for (size_t i = 0; i < n; ++i) {
        size_t best = 0;  // the data are so few bits that f32 holds every distance exactly
        for (size_t c = 1; c < k; ++c) {
          const bool nearer =
              SquaredDistance(in[0], i, in[1], c, d) < SquaredDistance(in[0], i, in[1], best, d);
          if (nearer) best = c;
        }
        ++count[best];
        for (size_t e = 0; e < d; ++e) {
          sum[best * d + e] += in[0][i * d + e];
          size[best * d + e] += std::abs(in[0][i * d + e]);
        }
      }
      EXPECT_EQ(out.at(1), count);
      EXPECT_EQ(count[4], 0);
      for (size_t c = 0; c < k * d; ++c) {
        const double points = count[c / d];
        const double want = points > 0 ? sum[c] / points : in[1][c];
        ASSERT_NEAR(out.at(0)[c], want, BoundOf(n, size[c] / std::max(points, 1.0)));
      }
    });
  });
}

TEST(ReducePrograms, DropoutFromACounter) {
  const size_t n = 53;
  const size_t d = 67;
  RunExampleEverywhere("dropout", {{"n", n}, {"d", d}}, [&](const Outputs& in, const Outputs& out) {
    size_t kept = 0;
    for (size_t e = 0; e < n * d; ++e) {
      const bool keep = out.at(0)[e] != 0 || out.at(1)[e] != 0;
      if (keep) ++kept;
      // Both have the same mask; the bits themselves are tested elsewhere.
      const double factor = keep ? 1 / 0.9 : 0;
      ASSERT_NEAR(out.at(0)[e], in[0][e] * factor, BoundOf(1, 3));
      ASSERT_NEAR(out.at(1)[e], in[1][e] * factor, BoundOf(1, 3));
    }
    // Within five standard deviations.
    const double count = static_cast<double>(n * d);
    EXPECT_NEAR(static_cast<double>(kept), 0.9 * count, 5 * std::sqrt(0.09 * count) + count / 128);
  });
}

TEST(ReducePrograms, HistogramOfPairs) {
  const size_t n = 61;
  const size_t m = 47;
  const size_t d = 3;
  const size_t b = 9;
  const ConcreteGraph graph =
      MakeGraphOf("examples/reduce/histogram.tsa", {{"n", n}, {"m", m}, {"d", d}, {"b", b}});
  Outputs inputs = RandomInputs(graph, 1);
  inputs[2][0] = 0.3721;  // no distance of such data is a multiple
  ForEachDevice([&](const std::string& device) {
    RunGraph(graph, inputs, device, [&](const Outputs& in, const Outputs& out) {
      const double width = static_cast<float>(in[2][0]);
      std::vector<double> count(b);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < m; ++j) {
          const double bin = std::sqrt(SquaredDistance(in[0], i, in[1], j, d)) / width;
          ++count[std::min(static_cast<size_t>(bin), b - 1)];
        }
      }
      EXPECT_EQ(out.at(0), count);
    });
  });
}

TEST(ReducePrograms, SparseCodesTimesDense) {
  const size_t rows = 19;
  const size_t columns = 8;
  const size_t elements = 77;
  const size_t d = 13;
  const ConcreteGraph graph =
      MakeGraphOf("examples/reduce/sparse_dense.tsa",
                  {{"rows", rows}, {"columns", columns}, {"elements", elements}, {"d", d}});
  Outputs inputs = RandomInputs(graph, 1);
  for (size_t e = 0; e < elements; ++e) {
    inputs[0][e] = static_cast<double>(e * 7 % 16);
    const size_t row = e * rows / elements;
    inputs[2][e] = static_cast<double>(row);
  }
  ForEachDevice([&](const std::string& device) {
    RunGraph(graph, inputs, device, [&](const Outputs& in, const Outputs& out) {
      std::vector<double> sum(rows * d);
      std::vector<double> size(rows * d);
      for (size_t e = 0; e < elements; ++e) {
        const auto row = static_cast<size_t>(in[2][e]);
        for (size_t c = 0; c < d; ++c) {
          const double x = in[4][static_cast<size_t>(in[3][e]) * d + c];
          sum[row * d + c] += (in[0][e] - 8) * in[1][row] * x;
          size[row * d + c] += std::abs((in[0][e] - 8) * in[1][row] * x);
        }
      }
      for (size_t i = 0; i < rows * d; ++i) {
        ASSERT_NEAR(out.at(0)[i], sum[i], BoundOf(elements, size[i]));
      }
    });
  });
}

TEST(ReducePrograms, GradientsInPlace) {
  const size_t n = 29;
  const size_t m = 83;
  RunExampleEverywhere("backward:softmax_backward", {{"n", n}, {"m", m}},
                       [&](const Outputs& in, const Outputs& out) {
                         for (size_t i = 0; i < n; ++i) {
                           double sum = 0;
                           double size = 0;
                           for (size_t j = i * m; j < (i + 1) * m; ++j) {
                             sum += in[0][j] * in[1][j];
                             size += std::abs(in[0][j] * in[1][j]);
                           }
                           for (size_t j = i * m; j < (i + 1) * m; ++j) {
                             const double want = in[0][j] * (in[1][j] - sum);
                             ASSERT_NEAR(out.at(0)[j], want, BoundOf(m, 2 * size));
                           }
                         }
                       });
  RunExampleEverywhere(
      "backward:layer_norm_backward", {{"n", n}, {"d", m}},
      [&](const Outputs& in, const Outputs& out) {
        std::vector<double> weight(m);
        std::vector<double> bias(m);
        for (size_t i = 0; i < n; ++i) {
          double g = 0;
          double gu = 0;
          double size = 0;
          const auto gradient = [&](size_t e) { return in[3][i * m + e] * in[2][e]; };
          for (size_t e = 0; e < m; ++e) {
            const double unit = in[0][i * m + e];
            g += gradient(e) / m;
            gu += gradient(e) * unit / m;
            size += std::abs(gradient(e)) * (1 + 2 * std::abs(unit)) / m;
            weight[e] += in[3][i * m + e] * unit;
            bias[e] += in[3][i * m + e];
          }
          for (size_t e = 0; e < m; ++e) {
            const double want = (gradient(e) - g - in[0][i * m + e] * gu) * in[1][i];
            const double terms = (std::abs(gradient(e)) + size) * std::abs(in[1][i]);
            ASSERT_NEAR(out.at(0)[i * m + e], want, BoundOf(m, terms));
          }
        }
        for (size_t e = 0; e < m; ++e) {
          ASSERT_NEAR(out.at(1)[e], weight[e], BoundOf(n, 4 * n));
          ASSERT_NEAR(out.at(2)[e], bias[e], BoundOf(n, 2 * n));
        }
      });
  RunExampleEverywhere("backward:gelu_backward", {{"n", n}, {"d", m}},
                       [&](const Outputs& in, const Outputs& out) {
                         for (size_t e = 0; e < n * m; ++e) {
                           const double x = in[0][e];
                           const double share = std::erfc(-x / std::sqrt(2.0)) / 2;
                           const double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
                           const double want = in[1][e] * (share + x * density);
                           ASSERT_NEAR(out.at(0)[e], want, BoundOf(4, std::abs(in[1][e])));
                         }
                       });
}

TEST(ReducePrograms, SoftmaxOfRows) {
  const size_t n = 13;
  const size_t m = 131;
  const ConcreteGraph graph = MakeGraphOf("examples/reduce/softmax.tsa", {{"n", n}, {"m", m}});
  Outputs inputs = RandomInputs(graph, 1);
  inputs[1][0] = 0.25;
  ForEachDevice([&](const std::string& device) {
    RunGraph(graph, inputs, device, [&](const Outputs& in, const Outputs& out) {
      for (size_t i = 0; i < n; ++i) {
        double top = -kInfinity;
        double weights = 0;
        for (size_t j = 0; j < m; ++j) top = std::max(top, in[0][i * m + j] * 4);
        for (size_t j = 0; j < m; ++j) weights += std::exp(in[0][i * m + j] * 4 - top);
        for (size_t j = 0; j < m; ++j) {
          const double want = std::exp(in[0][i * m + j] * 4 - top) / weights;
          ASSERT_NEAR(out.at(0)[i * m + j], want, want * BoundOf(m, 1));
        }
      }
    });
  });
}

}  // namespace
}  // namespace tarsia::reduce_test
