// Complex numbers in graphs against formulas in complex f64, from the smallest limit to none, on
// the interpreter and on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>

#include "tests/reduce/example.h"

namespace tarsia::reduce_test {
namespace {

using Complex = std::complex<double>;

Complex At(const std::vector<double>& numbers, size_t i) {
  return {numbers.at(2 * i), numbers.at(2 * i + 1)};
}

// Within `bound` in each part.
void ExpectNear(const std::vector<double>& got, size_t i, Complex want, double bound) {
  ASSERT_NEAR(got.at(2 * i), want.real(), bound) << i;
  ASSERT_NEAR(got.at(2 * i + 1), want.imag(), bound) << i;
}

// c32 with the parts of f16, and c64 with those of f32, with the unit in the last place of 1.
struct ComplexType {
  const char* name;
  const char* part;
  double epsilon;
};
constexpr ComplexType kTypes[] = {{"c32", "f16", 0x1p-10}, {"c64", "f32", 0x1p-23}};

// `graph` with C and P in place of the types.
ConcreteGraph GraphOf(std::string text, const ComplexType& type, const Sets& sets) {
  const auto replace = [&](const std::string& word, const std::string& by) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size()) {
      text.replace(at, word.size(), by);
    }
  };
  replace("CPLX", type.name);
  replace("PART", type.part);
  return MakeGraph(text, sets);
}

template <typename Check>
void RunEverywhere(const ConcreteGraph& graph, const Outputs& inputs, const Check& check) {
  ForEachDevice([&](const std::string& device) { RunGraph(graph, inputs, device, check); });
}

TEST(ReduceComplex, Arithmetic) {
  const size_t n = 37;
  const size_t m = 5;
  const std::string text = R"(
graph g(%x: CPLX[i:n, j:m], %y: CPLX[j], %r: PART[i]) -> CPLX[i, j], CPLX[i, j], CPLX[j, i], CPLX[i, j]
  const n: int, m: int
{
  %sum = %x + %y - conj(%x)
  %product = %x * %y
  %quotient = -%x / (%y * %y + 5)
  %mixed = complex(%r, 0.5) * 2 - 1
  %wide = broadcast<j:m> %mixed
  return %sum, %product, %quotient, %wide
}
)";
  for (const ComplexType& type : kTypes) {
    const ConcreteGraph graph = GraphOf(text, type, {{"n", n}, {"m", m}});
    RunEverywhere(graph, RandomInputs(graph, 3), [&](const Outputs& in, const Outputs& out) {
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < m; ++j) {
          const Complex x = At(in[0], i * m + j);
          const Complex y = At(in[1], j);
          const double size = 8 * type.epsilon;
          ExpectNear(out[0], i * m + j, x + y - std::conj(x), 8 * size);
          ExpectNear(out[1], i * m + j, x * y, std::abs(x * y) * type.epsilon + 1e-6);
          // What it divides by has an error from additions that may cancel.
          const Complex under = y * y + 5.0;
          const double error = (std::norm(y) + 5) * 4 * type.epsilon / std::abs(under);
          ExpectNear(out[2], j * n + i, -x / under,
                     std::abs(x / under) * (error + 2 * type.epsilon) + 1e-6);
          ExpectNear(out[3], i * m + j, Complex(in[2][i], 0.5) * 2.0 - 1.0, size);
        }
      }
    });
  }
}

// A product whose real part almost cancels is rounded once: f16 would lose all of it.
TEST(ReduceComplex, ProductsOfHalvesAreRoundedOnce) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: c32[i:n], %y: c32[i]) -> c32[i], f16[i]\n  const n: int\n{\n"
      "  %z = %x * %y\n  %size = abs(%x * 128)\n  return %z, %size\n}\n",
      {{"n", 1}});
  const Outputs inputs = {{1 + 0x1p-10, 1}, {1 + 0x1p-10, 1 + 0x1p-9}};
  RunEverywhere(graph, inputs, [&](const Outputs& in, const Outputs& out) {
    // (1 + e)^2 - (1 + 2 e) = e^2 with e = 2^-10; f16 has e^2 among its subnormals.
    EXPECT_EQ(out[0][0], 0x1p-20);
    const Complex z = At(in[0], 0) * At(in[1], 0);
    EXPECT_NEAR(out[0][1], z.imag(), 0x1p-9);
    // The square of 181 is no f16 that is finite, but its root is.
    EXPECT_NEAR(out[1][0], 128 * std::abs(At(in[0], 0)), 0.125);
  });
}

// Squares of c64 that f32 cannot hold.
TEST(ReduceComplex, SizesAndQuotientsOfLargeNumbers) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: c64[i:n], %y: c64[i]) -> f32[i], c64[i]\n  const n: int\n{\n"
      "  %size = abs(%x)\n  %quotient = %x / %y\n  return %size, %quotient\n}\n",
      {{"n", 3}});
  const double large = 0x1p100;
  const double small = 0x1p-100;
  const Outputs inputs = {{3 * large, 4 * large, 3 * small, -4 * small, 0, 0},
                          {large, -large, small, small, large, small}};
  RunEverywhere(graph, inputs, [&](const Outputs& in, const Outputs& out) {
    EXPECT_EQ(out[0], (std::vector<double>{5 * large, 5 * small, 0}));
    for (size_t i = 0; i < 3; ++i) ExpectNear(out[1], i, At(in[0], i) / At(in[1], i), 1e-6);
  });
}

TEST(ReduceComplex, Reductions) {
  const size_t n = 71;
  const size_t m = 13;
  const std::string text = R"(
graph g(%x: CPLX[i:n, j:m], %s: i32[i]) -> CPLX[j], CPLX[i], CPLX, CPLX[h:3, j], PART[j]
  const n: int, m: int
{
  %sum = sum<i> %x
  %mean = mean<j> %x accumulate kahan
  %all = sum<i, j> %x accumulate f64
  %segments = segment_sum<i->h:3> %x, %s
  %norm = sum<i>(real(%x * conj(%x)))
  return %sum, %mean, %all, %segments, %norm
}
)";
  for (const ComplexType& type : kTypes) {
    const ConcreteGraph graph = GraphOf(text, type, {{"n", n}, {"m", m}});
    RunEverywhere(graph, RandomInputs(graph, 5), [&](const Outputs& in, const Outputs& out) {
      std::vector<Complex> sums(m), rows(n), segments(3 * m);
      std::vector<double> norms(m);
      Complex all;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < m; ++j) {
          const Complex x = At(in[0], i * m + j);
          sums[j] += x;
          rows[i] += x / static_cast<double>(m);
          all += x;
          norms[j] += std::norm(x);
          if (in[1][i] < 3) segments[static_cast<size_t>(in[1][i]) * m + j] += x;
        }
      }
      const double bound = 4 * static_cast<double>(n) * type.epsilon;
      for (size_t j = 0; j < m; ++j) ExpectNear(out[0], j, sums[j], bound);
      for (size_t i = 0; i < n; ++i) ExpectNear(out[1], i, rows[i], 4 * type.epsilon);
      ExpectNear(out[2], 0, all, 2 * static_cast<double>(n * m) * type.epsilon);
      for (size_t e = 0; e < 3 * m; ++e) ExpectNear(out[3], e, segments[e], bound);
      for (size_t j = 0; j < m; ++j) ASSERT_NEAR(out[4][j], norms[j], 2 * bound);
    });
  }
}

TEST(ReduceComplex, Shapes) {
  const size_t n = 9;
  const size_t m = 6;
  const ConcreteGraph graph = MakeGraph(R"(
graph g(%x: c64[i:n, j:m], %y: c64[i, k4:4], %at: i64[k:n]) -> c64[i, p:10], c64[k, j], c64[i, q:12], c64[i, j]
  const n: int, m: int
{
  %joined = concat<j, k4->p:10> %x, %y
  %taken = gather<i> %x, %at
  %repeated = expand<j->q:12> %x
  %moved = rename<l->j>(slice<p->l:6>(%joined, 3))
  %chosen = select(iota<i> > 4, %moved, 1)
  return %joined, %taken, %repeated, %chosen
}
)",
                                        {{"n", n}, {"m", m}});
  RunEverywhere(graph, RandomInputs(graph, 8), [&](const Outputs& in, const Outputs& out) {
    const auto joined = [&](size_t i, size_t p) {
      return p < m ? At(in[0], i * m + p) : At(in[1], i * 4 + p - m);
    };
    for (size_t i = 0; i < n; ++i) {
      const auto row = static_cast<size_t>(in[2][i]);
      for (size_t p = 0; p < 10; ++p) ExpectNear(out[0], i * 10 + p, joined(i, p), 0);
      for (size_t j = 0; j < m; ++j) {
        ExpectNear(out[1], i * m + j, row < n ? At(in[0], row * m + j) : 0, 0);
        ExpectNear(out[3], i * m + j, i > 4 ? joined(i, j + 3) : 1, 0);
      }
      for (size_t q = 0; q < 12; ++q) ExpectNear(out[2], i * 12 + q, At(in[0], i * m + q / 2), 0);
    }
  });
}

TEST(ReduceComplex, OutputsInPlace) {
  const size_t n = 700;
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: c64[i:n], %y: c64[i]) -> c64[i] in %x\n  const n: int\n{\n"
      "  %z = %x * %y\n  return %z\n}\n",
      {{"n", n}});
  RunEverywhere(graph, RandomInputs(graph, 2), [&](const Outputs& in, const Outputs& out) {
    for (size_t i = 0; i < n; ++i) ExpectNear(out[0], i, At(in[0], i) * At(in[1], i), 1e-5);
  });
}

// The slope of a loss by the real parameters of a complex filter: those of |w x - y|^2, by the
// amplitude of w, are 2 Re(conj(w x - y) e x) with w = a e.
TEST(ReduceComplex, DerivativesThroughComplexNumbers) {
  const size_t n = 23;
  const ConcreteGraph graph = MakeGraph(R"(
graph g(%x: c64[i:n], %y: c64[i], %a: f32[i], %e: c64[i]) -> f32, f32[i]
  const n: int
{
  %error = complex(%a, 0) * %e * %x - %y
  %loss = sum<i>(real(%error * conj(%error)))
  %slope = grad %loss, %a
  return %loss, %slope
}
)",
                                        {{"n", n}});
  RunEverywhere(graph, RandomInputs(graph, 4), [&](const Outputs& in, const Outputs& out) {
    double loss = 0;
    for (size_t i = 0; i < n; ++i) {
      const Complex along = At(in[3], i) * At(in[0], i);
      const Complex error = in[2][i] * along - At(in[1], i);
      loss += std::norm(error);
      ASSERT_NEAR(out[1][i], 2 * (std::conj(error) * along).real(), 1e-4) << i;
    }
    ASSERT_NEAR(out[0][0], loss, 1e-5 * loss);
  });
}

// The two dots of each part are one reduction: the state of the contraction is two tensors, as
// large as the result.
TEST(ReduceComplex, ContractionKeepsTwoSums) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: c32[i:n, k:m], %y: c32[k, j:n]) -> c64[i, j]\n"
      "  const n: int, m: int\n{\n  %z = dot<k> %x, %y\n  return %z\n}\n",
      {{"n", 40}, {"m", 90}});
  Diagnostics found;
  const auto plan = MakePlan(graph, {}, found);
  ASSERT_TRUE(plan);
  const std::string text = plan->Text();
  const auto count = [&](const std::string& word) {
    size_t out = 0;
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++out;
    return out;
  };
  // Four products of matrices, added to two sums; each input is loaded once, both parts at a time.
  EXPECT_EQ(count("= dot "), 4U) << text;
  EXPECT_EQ(count("= fill 0 : f32"), 2U) << text;
  EXPECT_EQ(count("= load "), 2U) << text;
  EXPECT_EQ(count("store "), 1U) << text;
}

TEST(ReduceComplex, SpectralOperator) {
  const size_t modes = 5;
  const size_t batch = 19;
  const size_t channels = 37;
  const size_t outputs = 21;
  RunExampleEverywhere(
      "spectral",
      {{"modes", modes}, {"batch", batch}, {"channels", channels}, {"outputs", outputs}},
      [&](const Outputs& in, const Outputs& out) {
        for (size_t k = 0; k < modes; ++k) {
          double energy = 0;
          double slack = 0;
          for (size_t b = 0; b < batch; ++b) {
            for (size_t o = 0; o < outputs; ++o) {
              Complex sum;
              double size = 0;
              for (size_t i = 0; i < channels; ++i) {
                const Complex x = At(in[0], (k * batch + b) * channels + i);
                const Complex w = At(in[1], (k * channels + i) * outputs + o);
                sum += x * w;
                size += std::abs(x.real() * w.real()) + std::abs(x.imag() * w.imag()) +
                        std::abs(x.real() * w.imag()) + std::abs(x.imag() * w.real());
              }
              const double bound = BoundOf(2 * channels, size);
              ExpectNear(out.at(0), (k * batch + b) * outputs + o, sum, bound);
              energy += std::norm(sum);
              slack += 4 * std::abs(sum) * bound;
            }
          }
          ASSERT_NEAR(out.at(1)[k], energy, BoundOf(batch * outputs, energy) + slack);
        }
      });
}

}  // namespace
}  // namespace tarsia::reduce_test
