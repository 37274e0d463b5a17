// Factors of matrices and triangular systems, against their meaning, under all limits; what happens
// to matrices that have no factor; and what cannot be split.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "planner/diagnostics.h"
#include "tests/reduce/example.h"

namespace tarsia::reduce_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// `body` over x [i, d], whose K = x x^T + 8 [i, j] has a factor, and b [i, r].
ConcreteGraph Graph(const std::string& type, const std::string& body, int64_t n, int64_t r = 13) {
  return MakeGraph("graph g(%x: " + type + "[i:n, d:5], %b: " + type +
                       "[i:n, r:m])\n  const n: int, m: int\n{\n"
                       "  %k = dot<d>(%x, rename<i->j>(%x)) + select(iota<i> == iota<j>, cast<" +
                       type + ">(8), 0)\n" + body + "}\n",
                   {{"n", n}, {"m", r}});
}

// Extents around those of panels and their parts.
constexpr int64_t kExtents[] = {1, 16, 17, 64, 131};

TEST(ReduceSolve, Factors) {
  for (const char* const type : {"f32", "f64"}) {
    for (const int64_t n : kExtents) {
      SCOPED_TRACE(std::string(type) + " " + std::to_string(n));
      CompareAtAllLimits(Graph(type, "  %l = cholesky<i, j> %k\n  return %l\n", n), n, "cpu");
    }
  }
}

TEST(ReduceSolve, Systems) {
  constexpr const char* kBody =
      "  %l = cholesky<i, j> %k\n"
      "  %y = triangular_solve<i, j> %l, %b\n"
      "  %z = triangular_solve<j, i> %l, %y upper\n"
      "  return %z, %y\n";
  for (const char* const type : {"f32", "f64"}) {
    for (const int64_t n : kExtents) {
      SCOPED_TRACE(std::string(type) + " " + std::to_string(n));
      CompareAtAllLimits(Graph(type, kBody, n, n % 3 == 0 ? 70 : 13), n, "cpu");
    }
  }
  CompareAtAllLimits(Graph("f64", kBody, 70, 1), 3, "cpu");
}

TEST(ReduceSolve, OnTheEmulator) {
  constexpr const char* kBody =
      "  %l = cholesky<i, j> %k\n"
      "  %y = triangular_solve<i, j> %l, %b\n"
      "  %z = triangular_solve<j, i> %l, %y upper\n"
      "  %v = triangular_solve<i, j> %l, sum<r>(%b)\n"
      "  return %l, %z, %v\n";
  for (const char* const type : {"f32", "f64"}) {
    const ConcreteGraph graph = Graph(type, kBody, 70, 9);
    RunAndCompare(graph, RandomInputs(graph, 4), kNoLimit, LimitKind::kTotal, "ptx");
  }
}

// Matrices along further axes, right-hand sides with axes that the matrix has and has not, an order
// of axes of its own, and operands that are computed where they are needed.
TEST(ReduceSolve, ManyMatrices) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f64[c:3, i:19, d:4], %b: f64[r:11, i:19, c:3, s:2], %v: f64[i:19]) -> "
      "f64[r:11, c:3, j:19, s:2], f64[j:19, c:3, i:19], f64[h:19, c:3], f64[c:3, h:19]\n{\n"
      "  %y = rename<i->j>(%x)\n"
      "  %k = dot<d>(%x, %y) + select(iota<i> == iota<j>, cast<f64>(4), 0)\n"
      "  %l = cholesky<i, j> %k\n"
      "  %z = triangular_solve<i, j> %l, %b * 2\n"
      "  %w = triangular_solve<i, h>(rename<j->h>(exp(%l * 0.125)), %v)\n"
      "  %f = triangular_solve<i, h>(rename<j->h>(%l), sum<r, s>(%b))\n"
      "  return %z, %l, %f, %w\n}\n",
      {});
  CompareAtAllLimits(graph, 5, "cpu");
}

TEST(ReduceSolve, AFactorMayTakeTheMemoryOfItsMatrix) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%a: f64[i:70, j:70]) -> f64[i:70, j:70] in %a, f64\n{\n"
      "  %l = cholesky<i, j>(%a * 0.001 + select(iota<i> == iota<j>, cast<f64>(2), 0))\n"
      "  %size = sum<i, j>(%a)\n  return %l, %size\n}\n",
      {});
  Outputs inputs = RandomInputs(graph, 6);
  CompareAtAllLimits(graph, 6, "cpu");
  Diagnostics found;
  const auto plan = MakePlan(graph, {}, found);
  ASSERT_TRUE(plan.has_value());
  EXPECT_LT(plan->peak, 2 * 70 * 70 * 8U);
}

// By matrices, where chunks of them are transferred or not.
TEST(ReduceSolve, FactorsMayTakeTheMemoryOfTheirMatrices) {
  CompareAtAllLimits(
      MakeGraph("graph g(%a: f64[c:9, i:70, j:70]) -> f64[c:9, i:70, j:70] in %a, f64[c:9]\n{\n"
                "  %l = cholesky<i, j>(%a * 0.001 + select(iota<i> == iota<j>, cast<f64>(2), 0))\n"
                "  %size = sum<i, j>(exp(%l))\n  return %l, %size\n}\n",
                {}),
      7, "cpu");
}

// ---- matrices that are not positive definite --------------------------------------------------

// The factor of n rows of 4 on the diagonal and 1 beside it, but for some elements.
std::vector<double> FactorWith(int64_t n, const std::function<void(std::vector<double>*)>& change) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%a: f64[i:n, j:n])\n  const n: int\n{\n  %l = cholesky<i, j> %a\n  return %l\n}\n",
      {{"n", n}});
  std::vector<double> a(static_cast<size_t>(n * n));
  for (size_t i = 0; i < a.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / n;
    const int64_t apart = row - static_cast<int64_t>(i) % n;
    a[i] = apart == 0 ? 4 : std::abs(apart) == 1 ? 1 : 0;
  }
  change(&a);
  Diagnostics found;
  return Run(MakePlan(graph, {}, found).value(), graph, {a}, "cpu")[0];
}

TEST(ReduceSolve, WithoutAFactorAllIsNanFromTheColumnOn) {
  constexpr size_t kRows = 150;
  const std::vector<double> good = FactorWith(kRows, [](auto*) {});
  for (const double pivot : {-1.0, 0.0, 0.25, kNan}) {
    for (const size_t column : {size_t{0}, size_t{40}, size_t{64}, size_t{149}}) {
      const auto l = FactorWith(kRows, [&](auto* a) { (*a)[column * kRows + column] = pivot; });
      if (column == 0 && pivot == 0.25) continue;  // it has one
      for (size_t i = 0; i < kRows; ++i) {
        for (size_t j = 0; j < kRows; ++j) {
          const double got = l[i * kRows + j];
          if (j > i) {
            ASSERT_EQ(got, 0) << i << " " << j;
          } else if (j >= column) {
            ASSERT_TRUE(std::isnan(got)) << i << " " << j;
          } else {
            ASSERT_EQ(got, good[i * kRows + j]) << i << " " << j;
          }
        }
      }
    }
  }
}

TEST(ReduceSolve, OnlyTheLowerTriangleIsRead) {
  constexpr size_t kRows = 130;
  const auto good = FactorWith(kRows, [](auto*) {});
  const auto l = FactorWith(kRows, [&](auto* a) {
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t j = i + 1; j < kRows; ++j) (*a)[i * kRows + j] = kNan;
    }
  });
  EXPECT_EQ(l, good);
}

// A solution is that of its own triangle, whatever is in the other one; a zero on the diagonal
// makes it infinite there, and no number behind.
TEST(ReduceSolve, OtherTrianglesAndSingularOnes) {
  constexpr size_t kRows = 100;
  for (const bool upper : {false, true}) {
    const ConcreteGraph graph = MakeGraph(
        "graph g(%a: f64[i:100, j:100], %b: f64[i:100])\n{\n"
        "  %x = triangular_solve<i, j>(%a, %b)" +
            std::string(upper ? " upper" : "") + "\n  return %x\n}\n",
        {});
    std::vector<double> a(kRows * kRows, kNan);
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t j = 0; j < kRows; ++j) {
        if (upper ? j >= i : j <= i) a[i * kRows + j] = i == j ? 2 : 0;
      }
    }
    const size_t singular = 70;
    a[singular * kRows + singular] = 0;
    Diagnostics found;
    const auto x = reduce_test::Run(MakePlan(graph, {}, found).value(), graph,
                                    {a, std::vector<double>(kRows, 3)}, "cpu")[0];
    const auto at = [&](size_t i) { return upper ? kRows - 1 - i : i; };
    const size_t first = upper ? kRows - 1 - singular : singular;
    for (size_t i = 0; i < first; ++i) ASSERT_EQ(x[at(i)], 1.5) << upper << " " << at(i);
    EXPECT_EQ(x[singular], std::numeric_limits<double>::infinity());
    for (size_t i = first + 1; i < kRows; ++i) EXPECT_TRUE(std::isnan(x[at(i)])) << at(i);  // 0 inf
  }
}

TEST(ReduceSolve, OfNothing) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%a: f64[i:0, j:0], %c: f64[k:3, l:3], %b: f64[k:3, r:0])\n{\n"
      "  %l = cholesky<i, j> %a\n  %x = triangular_solve<k, l> %c, %b\n"
      "  %s = sum<i, j> %l\n  return %l, %x, %s\n}\n",
      {});
  RunAndCompare(graph, RandomInputs(graph, 1), kNoLimit, LimitKind::kTotal, "cpu");
}

// ---- limits ---------------------------------------------------------------------------------

TEST(ReduceSolve, RightHandSidesAreSplitAndSolvedAxesAreNot) {
  const std::string text =
      "graph g(%a: f64[i:80, j:80], %b: f64[i:80, r:1000]) -> f64[j:80, r:1000]\n{\n"
      "  %x = triangular_solve<i, j>(%a + select(iota<i> == iota<j>, cast<f64>(8), 0), %b)\n  "
      "return %x\n}\n";
  const ConcreteGraph graph = MakeGraph(text, {});
  Diagnostics found;
  const auto plan = MakePlan(graph, {200'000, LimitKind::kTotal}, found);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->splits.size(), 1U);
  EXPECT_EQ(graph.axes()[plan->splits[0].axis].name, "r");
  const ConcreteGraph small = MakeGraph(
      "graph g(%a: f64[i:70, j:70], %b: f64[i:70, r:90])\n{\n"
      "  %x = triangular_solve<i, j>(%a * 0.01 + select(iota<i> == iota<j>, cast<f64>(8), 0), %b)\n"
      "  %y = max<r>(%x)\n  return %y\n}\n",
      {});
  CompareAtAllLimits(small, 9, "cpu");
  EXPECT_FALSE(MakePlan(graph, {50'000, LimitKind::kTotal}, found));
  ASSERT_EQ(found.count(), 1U);
  EXPECT_STREQ(found.list()[0].info->id, "plan-solved");
  EXPECT_EQ(
      found.list()[0].message,
      "`g` cannot be computed in 50000 bytes, because `triangular_solve` cannot be split along "
      "the axes that it solves, `i` and `j`");
}

TEST(ReduceSolve, TheRefusalNamesTheFactorAndTheSmallestLimit) {
  const ConcreteGraph graph = Graph("f64", "  %l = cholesky<i, j> %k\n  return %l\n", 100);
  Diagnostics found;
  EXPECT_FALSE(MakePlan(graph, {79'999, LimitKind::kTotal}, found));
  ASSERT_EQ(found.count(), 1U);
  EXPECT_EQ(
      found.list()[0].message,
      "`g` cannot be computed in 79999 bytes, because `cholesky` cannot be split along the axes "
      "that it solves, `i` and `j`");
  EXPECT_EQ(found.list()[0].help.substr(0, 16), "smallest limit: ");
  // What is in the way between the two is something else.
  Diagnostics other;
  EXPECT_FALSE(MakePlan(graph, {80'001, LimitKind::kTotal}, other));
  EXPECT_STREQ(other.list().at(0).info->id, "plan-inputs");
}

// ---- a program --------------------------------------------------------------------------------

// The factor of a matrix of n rows, in its place; the sum of the logarithms of its diagonal.
double FactorInPlace(std::vector<double>* a, size_t n) {
  double logs = 0;
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = j; i < n; ++i) {
      double sum = (*a)[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= (*a)[i * n + k] * (*a)[j * n + k];
      (*a)[i * n + j] = i == j ? std::sqrt(sum) : sum / (*a)[j * n + j];
    }
    logs += std::log((*a)[j * n + j]);
  }
  return logs;
}

// The x with L x = b, of the same factor.
std::vector<double> Forward(const std::vector<double>& l, std::vector<double> x) {
  const size_t n = x.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
  return x;
}

double Kernel(const std::vector<double>& a, size_t i, const std::vector<double>& b, size_t j) {
  return std::exp(-SquaredDistance(a, i, b, j, 3) / 2);
}

// log N(y | 0, Q + s^2) - tr(K - Q) / (2 s^2) with the n x n matrix Q = K_xz K_zz^-1 K_zx as it
// stands, and (s^2 K_zz + K_zx K_xz) w = K_zx y.
TEST(ReduceSolve, BoundOfASparseGaussianProcess) {
  const size_t n = 83;
  const size_t m = 21;
  const ConcreteGraph graph =
      MakeGraphOf("examples/reduce/sparse_gp_bound.tsa", {{"n", n}, {"m", m}, {"d", 3}});
  Outputs inputs = RandomInputs(graph, 1);
  inputs[3][0] = 0.5;
  const auto check = [&](const Outputs& in, const Outputs& out) {
    const std::vector<double>& y = in[2];
    const double noise = in[3][0] * in[3][0];
    std::vector<double> kzz(m * m);
    for (size_t j = 0; j < m; ++j) {
      for (size_t k = 0; k < m; ++k) {
        kzz[j * m + k] = Kernel(in[1], j, in[1], k) + (j == k ? 1e-6 : 0);
      }
    }
    std::vector<double> factor = kzz;
    FactorInPlace(&factor, m);
    std::vector<std::vector<double>> a;  // K_zz^-1/2 K_zx by columns
    for (size_t i = 0; i < n; ++i) {
      std::vector<double> column(m);
      for (size_t j = 0; j < m; ++j) column[j] = Kernel(in[1], j, in[0], i);
      a.push_back(Forward(factor, column));
    }
    std::vector<double> q(n * n);
    double rest = static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t h = 0; h < n; ++h) {
        for (size_t j = 0; j < m; ++j) q[i * n + h] += a[i][j] * a[h][j];
      }
      rest -= q[i * n + i];
      q[i * n + i] += noise;
    }
    double want = -FactorInPlace(&q, n) - rest / (2 * noise) -
                  static_cast<double>(n) * std::log(2 * std::acos(-1.0)) / 2;
    for (const double e : Forward(q, y)) want -= e * e / 2;
    // The condition number of K_zz is below 2e7.
    ASSERT_NEAR(out.at(0)[0], want, 1e-8 * std::abs(want));
    for (size_t j = 0; j < m; ++j) {
      double left = 0;
      double right = 0;
      double size = 0;
      for (size_t i = 0; i < n; ++i) right += Kernel(in[1], j, in[0], i) * y[i];
      for (size_t k = 0; k < m; ++k) {
        double entry = noise * kzz[j * m + k];
        for (size_t i = 0; i < n; ++i) {
          entry += Kernel(in[1], j, in[0], i) * Kernel(in[1], k, in[0], i);
        }
        left += entry * out[1][k];
        size += std::abs(entry * out[1][k]);
      }
      ASSERT_NEAR(left, right, 1e-8 * size) << j;
    }
  };
  ForEachDevice([&](const std::string& device) { RunGraph(graph, inputs, device, check); });
}

}  // namespace
}  // namespace tarsia::reduce_test
