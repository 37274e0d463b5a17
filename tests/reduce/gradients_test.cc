// The derivative of each operation against central differences of the meaning of the graph in f64;
// second derivatives; and what is planned of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "isa/text/printer.h"
#include "planner/plan.h"
#include "tests/reduce/slope.h"

namespace tarsia::reduce_test {
namespace {

constexpr const char* kInputs = "%x: f64[i, j], %z: f64[k, j], %v: f64[j], %q: i32[i, j]";
constexpr const char* kNames[] = {"x", "z", "v"};

// `body` computes %y of the axes `axes` from x [i, j], z [k, j], v [j] and whole numbers q [i, j].
ConcreteGraph Primal(const std::string& body) {
  return MakeGraph(fmt::format("graph g({})\n  const i: int = 5, j: int = 4, k: int = 3\n{{\n{}  "
                               "return %y\n}}\n",
                               kInputs, body),
                   {});
}

// The derivative of the sum of %dy * %y by each of `by`.
ConcreteGraph Gradient(const std::string& body, const std::string& axes,
                       const std::vector<std::string>& by) {
  std::string text = body;
  std::string outputs;
  for (const std::string& name : by) {
    text += fmt::format("  %d{0} = vjp %y, %{0}, %dy\n", name);
    outputs += fmt::format("{}%d{}", outputs.empty() ? "" : ", ", name);
  }
  return MakeGraph(
      fmt::format("graph g({}, %dy: f64{})\n  const i: int = 5, j: int = 4, k: int = 3\n{{\n{}  "
                  "return {}\n}}\n",
                  kInputs, axes.empty() ? "" : "[" + axes + "]", text, outputs),
      {});
}

Tensors InputsOf(const ConcreteGraph& primal, uint64_t seed) {
  Tensors inputs = RandomInputs(primal, seed);
  for (size_t t = 0; t < 3; ++t) inputs[t] = RandomNumbers(inputs[t].size(), seed * 10 + t);
  return inputs;
}

struct Case {
  std::string body;
  std::string axes;             // of %y
  std::vector<std::string> by;  // x, z, v
};

// The bound of a central difference of functions whose third derivatives are some hundreds.
constexpr double kBoundOfDifferences = 1e-7;

void CheckCase(const Case& test, uint64_t seed) {
  SCOPED_TRACE(test.body);
  const ConcreteGraph primal = Primal(test.body);
  const ConcreteGraph gradient = Gradient(test.body, test.axes, test.by);
  Tensors inputs = InputsOf(primal, seed);
  const auto count = static_cast<size_t>(primal.value(primal.graph().outputs[0]).elements);
  const Tensors weights = {RandomNumbers(count, seed + 1000)};
  inputs.push_back(weights[0]);
  const Tensors outputs = RunAndCompare(gradient, inputs, kNoLimit, LimitKind::kTotal, "cpu");
  inputs.pop_back();
  ASSERT_EQ(outputs.size(), test.by.size());
  for (size_t o = 0; o < test.by.size(); ++o) {
    const auto t = static_cast<size_t>(std::find(std::begin(kNames), std::end(kNames), test.by[o]) -
                                       std::begin(kNames));
    for (size_t i = 0; i < inputs[t].size(); ++i) {
      Tensors direction(3);
      direction[t].assign(inputs[t].size(), 0);
      direction[t][i] = 1;
      const double slope = Slope(primal, inputs, weights, direction);
      ASSERT_NEAR(outputs[o][i], slope, kBoundOfDifferences * (1 + std::abs(slope)))
          << "by " << test.by[o] << "[" << i << "]";
    }
  }
}

void CheckCases(const std::vector<Case>& cases) {
  uint64_t seed = 0;
  for (const Case& test : cases) {
    CheckCase(test, ++seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(ReduceGradients, Elementwise) {
  CheckCases({
      {"  %y = %x + %v\n", "i, j", {"x", "v"}},
      {"  %y = %v - %x\n", "j, i", {"x", "v"}},
      {"  %y = %x * %v * 3\n", "i, j", {"x", "v"}},
      {"  %y = %x * %x\n", "i, j", {"x"}},
      {"  %y = %x / (%v + 2)\n", "i, j", {"x", "v"}},
      {"  %y = 3 / (%x + 2)\n", "i, j", {"x"}},
      {"  %y = %x / 3\n", "i, j", {"x"}},
      {"  %y = (%x * 9) % (%v + 2)\n", "i, j", {"x", "v"}},
      {"  %y = -%x\n", "i, j", {"x"}},
      {"  %y = min(%x, %v) + max(%x, 0.25) + max(-0.5, %v)\n", "i, j", {"x", "v"}},
      {"  %y = pow(%x + 2, 3) + pow(%x + 2, 2) + pow(%x + 2, -1.5)\n", "i, j", {"x"}},
      {"  %y = pow(%x + 2, %v)\n", "i, j", {"x", "v"}},
      {"  %y = select(%q > 3, %x * %v, %v)\n", "i, j", {"x", "v"}},
      {"  %y = select(%x > 0, %x, 0)\n", "i, j", {"x"}},
      {"  %y = abs(%x)\n", "i, j", {"x"}},
      {"  %y = exp(%x * %v)\n", "i, j", {"x", "v"}},
      {"  %y = log(%x + 2)\n", "i, j", {"x"}},
      {"  %y = sqrt(%x + 2) + rsqrt(%x + 2)\n", "i, j", {"x"}},
      {"  %y = tanh(%x) + erf(%x)\n", "i, j", {"x"}},
      {"  %y = sin(%x * %v) + cos(%x)\n", "i, j", {"x", "v"}},
      {"  %y = %x * floor(%v * 3)\n", "i, j", {"x"}},
      {"  %y = cast<f64>(%q) * %x + cast<f64>(cast<f32>(2)) * %x\n", "i, j", {"x"}},
  });
}

TEST(ReduceGradients, Axes) {
  CheckCases({
      {"  %y = rename<i->h> %x\n", "h:5, j", {"x"}},
      {"  %y = %x * rename<j->h:4>(%v) + rename<i->l, j->h>(%x * %v) * %x\n",
       "i, j, h:4, l:5",
       {"x", "v"}},
      {"  %y = broadcast<b:3> %x\n", "i, j, b:3", {"x"}},
      {"  %y = slice<j->h:2>(%x * %v, 1)\n", "i, h:2", {"x", "v"}},
      {"  %y = slice<j->h:2>(%x, 0)\n", "i, h:2", {"x"}},
      {"  %y = slice<j->h:3>(%x, 1) * 2\n", "i, h:3", {"x"}},
      {"  %y = slice<i->h:2>(%x, 1) * %v\n", "h:2, j", {"x", "v"}},
      {"  %c = concat<i, k->c>(%x, %z)\n  %y = %c * %v\n", "c:8, j", {"x", "z", "v"}},
      {"  %y = expand<j->t:12>(%v * 2) * %x\n", "t:12, i, j", {"x", "v"}},
      {"  %y = expand<j->t:12> %x\n", "i, t:12", {"x"}},
  });
}

TEST(ReduceGradients, ByAnIndex) {
  CheckCases({
      {"  %y = gather<i>(%x, iota<e:7> * 3 % 6)\n", "e:7, j", {"x"}},
      {"  %at = cast<i64>(%q)\n  %y = gather<k>(%z, %at)\n", "i, j", {"z"}},
      {"  %at = cast<i64>(%q)\n  %y = gather<k>(%z * %v, slice<i->h:1>(%at, 0))\n",
       "h:1, j",
       {"z", "v"}},
      {"  %at = rename<i->a, j->b>(%q)\n  %y = gather<k>(%z, %at)\n", "a:5, b:4, j", {"z"}},
      {"  %s = gather<j>(%v, sum<i, j>(%q) % 5)\n  %y = %s * %v\n", "j", {"v"}},
      {"  %y = segment_sum<i->s:3>(%x, iota<i> * 5 % 4)\n", "s:3, j", {"x"}},
      {"  %y = segment_sum<j->s:3>(%v, %q)\n", "s:3, i", {"v"}},
      {"  %y, %at = topk<j>(%x, c:2)\n", "i, c:2", {"x"}},
  });
}

TEST(ReduceGradients, Products) {
  CheckCases({
      {"  %y = dot<j> %x, %z\n", "i, k", {"x", "z"}},
      {"  %y = dot<i, j>(%x, %x * %v)\n", "", {"x", "v"}},
      {"  %y = sqdist<j> %x, %z\n", "i, k", {"x", "z"}},
      {"  %y = sqdist<j> %x, %v\n", "i", {"x", "v"}},
      {"  %y = l1dist<j> %x, %z\n", "i, k", {"x", "z"}},
      {"  %y = cosine<j> %x, %z\n", "i, k", {"x", "z"}},
      {"  %y = sum<k>(exp(-sqdist<j>(%x, %z)) * sum<j>(%z))\n", "i", {"x", "z"}},
      {"  %o = rename<i->h> %x\n  %y = sum<h>(sqrt(sqdist<j>(%x, %o)))\n", "i", {"x"}},
  });
}

TEST(ReduceGradients, Reducers) {
  CheckCases({
      {"  %y = sum<i>(%x * %v) accumulate kahan\n", "j", {"x", "v"}},
      {"  %y = sum<i, j>(%x + %v)\n", "", {"x", "v"}},
      {"  %y = mean<j>(%x * %v)\n", "i", {"x", "v"}},
      {"  %y = prod<j>(%x + %v)\n", "i", {"x", "v"}},
      {"  %y = prod<j>(select(iota<j> == 2, 0, %x))\n", "i", {"x"}},
      {"  %y = max<j>(%x * %v)\n", "i", {"x", "v"}},
      {"  %y = min<i, j>(%x * %v)\n", "", {"x", "v"}},
      {"  %y, %at = argmax<i>(%x * %v)\n", "j", {"x", "v"}},
      {"  %y, %at = argmin<i> %x\n", "j", {"x"}},
      {"  %y = logsumexp<j>(%x * %v)\n", "i", {"x", "v"}},
      {"  %y = logsumexp<i, j>(%x)\n", "", {"x"}},
      {"  %y = softmax<j>(%x, %z)\n", "i, k", {"x", "z"}},
      {"  %y = softmax<j>(select(%q < 7, %x, -inf), %z * %v)\n", "i, k", {"x", "z", "v"}},
      {"  %y = softmax<j>(%x, %x)\n", "i", {"x"}},
      {"  %y = var<j> %x\n", "i", {"x"}},
      {"  %y = var<i, j>(%x * %v)\n", "", {"x", "v"}},
  });
}

// Matrices [h, j] of 4 rows; %t and %u are far from singular, %a is symmetric and has a factor. Of
// %m, only the lower triangle counts: the slope by an element above the diagonal is 0.
TEST(ReduceGradients, LinearAlgebra) {
  const std::string square =
      "  %m = slice<i->h:4>(%x, 0) + select(iota<h> == iota<j>, cast<f64>(3), 0)\n";
  const std::string many =
      "  %m = slice<i->h:4>(%x, 0) * 0.5 + select(iota<h> == iota<j>, exp(%z) + 2, 0)\n";
  const std::string covariance =
      "  %a = dot<i>(%x, rename<j->h>(%x)) + select(iota<h> == iota<j>, cast<f64>(1), 0)\n";
  const std::string lower = "triangular_solve<h, j>(%m, ";
  CheckCases({
      {square + "  %y = cholesky<h, j> %m\n", "h:4, j", {"x"}},
      {square + "  %y = cholesky<j, h> %m\n", "h:4, j", {"x"}},
      {square + "  %y = sum<h, j>(cholesky<h, j>(%m))\n", "", {"x"}},
      {square + "  %y = sum<h>(cholesky<h, j>(%m)) * %v\n", "j", {"x", "v"}},
      {many + "  %y = cholesky<h, j> %m\n", "h:4, j, k", {"x", "z"}},
      {covariance + "  %y = cholesky<h, j> %a\n", "j, h:4", {"x"}},
      {square + "  %y = " + lower + "rename<j->h>(%z))\n", "k, j", {"x", "z"}},
      {square + "  %y = " + lower + "rename<j->h>(%z)) upper\n", "k, j", {"x", "z"}},
      {square + "  %y = triangular_solve<j, h>(%m, %v) upper\n", "h:4", {"x", "v"}},
      {square + "  %y = sum<k, j>(" + lower + "rename<j->h>(%z)))\n", "", {"x", "z"}},
      {many + "  %y = " + lower + "rename<j->h>(%v))\n", "j, k", {"x", "z", "v"}},
      {many + "  %y = " + lower + "rename<j->h>(%z)) upper\n", "k, j", {"x", "z"}},
      // The logarithm of a normal density, but for a constant.
      {covariance +
           "  %l = cholesky<h, j> %a\n  %b = triangular_solve<h, j>(%l, rename<j->h>(%v))\n"
           "  %y = sum<j>(%b * %b) * -0.5 - sum<h, j>(log(select(iota<h> == iota<j>, %l, 1)))\n",
       "",
       {"x", "v"}},
  });
}

// The text of a concrete graph.
std::string TextOf(const ConcreteGraph& graph) { return Print(graph.module()); }

// A derivative by itself, and derivatives of it: of each, the slope of the one before.
TEST(ReduceGradients, SecondDerivatives) {
  const std::string factor =
      "  %k = dot<i>(%x, rename<j->h>(%x)) + select(iota<h> == iota<j>, cast<f64>(1), 0)\n"
      "  %l = cholesky<h, j> %k\n  %b = triangular_solve<h, j>(%l, rename<j->h>(%v))\n";
  const std::string losses[] = {
      "  %y = sum<i, k>(exp(sqdist<j>(%x, %z) * -0.5))\n",
      "  %y = sum<i>(logsumexp<j>(%x * %v))\n",
      "  %y = mean<i, k>(tanh(softmax<j>(%x, %z)))\n",
      "  %y = sum<i>(var<j>(%x * %x) * rsqrt(var<j>(%x) + 1))\n",
      "  %y = sum<h>(prod<j>(slice<i->h:3>(%x, 1)) + max<j>(slice<i->h:3>(%x * %x, 2)))\n",
      "  %y = sum<e>(erf(gather<j>(%v, iota<e:9> % 4) * dot<i, j>(%x, %x)))\n",
      "  %part = segment_sum<i->s:2>(%x, iota<i> % 2)\n  %y = sum<s, j>(%part * %part * %part)\n",
      "  %y = sum<c>(pow(sum<j>(concat<i, k->c>(%x, %z)) + 9, 3))\n",
      factor + "  %y = sum<j>(%b * %b) + sum<h, j>(log(select(iota<h> == iota<j>, %l, 1)))\n",
  };
  uint64_t seed = 100;
  for (const std::string& loss : losses) {
    SCOPED_TRACE(loss);
    const std::string first = loss + "  %g = grad %y, %x\n";
    const ConcreteGraph slope = MakeGraph(
        fmt::format(
            "graph g({})\n  const i: int = 5, j: int = 4, k: int = 3\n{{\n{}  return %g\n}}\n",
            kInputs, first),
        {});
    const ConcreteGraph second = MakeGraph(
        fmt::format("graph g({}, %d: f64[i, j])\n  const i: int = 5, j: int = 4, k: int = 3\n{{\n{}"
                    "  %h = vjp %g, %x, %d\n  return %g, %h\n}}\n",
                    kInputs, first),
        {});
    Tensors inputs = InputsOf(slope, ++seed);
    const Tensors weights = {RandomNumbers(20, seed)};
    inputs.push_back(weights[0]);
    const Tensors outputs = RunAndCompare(second, inputs, kNoLimit, LimitKind::kTotal, "cpu");
    inputs.pop_back();
    ASSERT_EQ(outputs.size(), 2U);
    const ConcreteGraph primal = Primal(loss);
    for (size_t i = 0; i < 20; ++i) {
      Tensors direction(1, std::vector<double>(20));
      direction[0][i] = 1;
      const double once = Slope(primal, inputs, {{1}}, direction);
      ASSERT_NEAR(outputs[0][i], once, kBoundOfDifferences * (1 + std::abs(once))) << i;
      const double twice = Slope(slope, inputs, weights, direction);
      ASSERT_NEAR(outputs[1][i], twice, kBoundOfDifferences * (1 + std::abs(twice))) << i;
    }
  }
}

// Narrow types are differentiated in f32, under all limits, on both devices.
TEST(ReduceGradients, TypesLimitsAndDevices) {
  constexpr const char* kBody =
      "  const n: int = 19, m: int = 27, d: int = 5\n{\n"
      "  %s = dot<d>(%q, %k) * 0.5\n"
      "  %y = softmax<j>(select(iota<j> <= iota<i> + 3, %s, -inf), %v)\n"
      "  %near = sum<j>(exp(-sqdist<d>(%q, %k)))\n"
      "  %loss = sum<i>(sum<d>(%y * %y) + cast<f32>(%near))\n"
      "  %dq = grad %loss, %q\n  %dk = grad %loss, %k\n  %dv = grad(%loss, %v) accumulate kahan\n"
      "  return %dq, %dk, %dv\n}\n";
  for (const char* const type : {"f32", "f16", "bf16"}) {
    const ConcreteGraph graph =
        MakeGraph(fmt::format("graph g(%q: {0}[i:n, d], %k: {0}[j:m, d], %v: f32[j:m, d]){1}", type,
                              std::string("\n") + kBody),
                  {});
    SCOPED_TRACE(TextOf(graph));
    CompareAtAllLimits(graph, 5, "cpu");
    RunAndCompare(graph, RandomInputs(graph, 6), kNoLimit, LimitKind::kTotal, "ptx");
  }
}

// Of the bound on the likelihood of a Gaussian process, under all limits, on both devices.
TEST(ReduceGradients, OfFactorsAtAllLimitsAndDevices) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f64[i:70, d:3], %z: f64[j:66, d], %y: f64[i:70], %s: f64)\n{\n"
      "  %kzz = exp(sqdist<d>(%z, rename<j->k>(%z)) * -0.5)\n"
      "  %l = cholesky<j, k>(%kzz + select(iota<j> == iota<k>, cast<f64>(4), 0))\n"
      "  %a = triangular_solve<j, k>(%l, exp(sqdist<d>(%z, %x) * -0.5))\n"
      "  %fit = sum<k, i>(%a * %a * %y)\n"
      "  %loss = %fit * exp(%s) + sum<j, k>(log(select(iota<j> == iota<k>, %l, 1)))\n"
      "  %dz = grad %loss, %z\n  %dx = grad %loss, %x\n  %ds = grad %loss, %s\n"
      "  return %dz, %dx, %ds\n}\n",
      {});
  CompareAtAllLimits(graph, 5, "cpu");
  RunAndCompare(graph, RandomInputs(graph, 6), kNoLimit, LimitKind::kTotal, "ptx");
}

// s * s is more than f16 has.
TEST(ReduceGradients, OfNarrowTypesAreComputedInF32) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%s: f16, %r: f16, %x: f16[i:4])\n{\n"
      "  %y = sum<i>(%x * %r * %r * %s * %s)\n  %dx = grad %y, %x\n  return %dx\n}\n",
      {});
  const Tensors inputs = {{512}, {1.0 / 512}, {1, 2, 3, 4}};
  const Tensors outputs = RunAndCompare(graph, inputs, kNoLimit, LimitKind::kTotal, "cpu");
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0], (std::vector<double>{1, 1, 1, 1}));
}

TEST(ReduceGradients, ElementsThatAreEqual) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%x: f32[i:3, j:4])\n{\n"
      "  %a = sum<i>(max<j>(%x))\n  %b = min<i, j> %x\n  %c = sum<i, j>(max(%x, 1))\n"
      "  %d = sum<i, j>(abs(%x - 1))\n  %e = sum<i, j>(sqrt(max(%x - 1, 0)))\n"
      "  %da = grad %a, %x\n  %db = grad %b, %x\n  %dc = grad %c, %x\n"
      "  %dd = grad %d, %x\n  %de = grad %e, %x\n  return %da, %db, %dc, %dd, %de\n}\n",
      {});
  const Tensors inputs = {{1, 2, 2, 0, 0, 0, 0, 0, 1, 0, 3, 3}};
  const Tensors outputs = RunAndCompare(graph, inputs, kNoLimit, LimitKind::kTotal, "cpu");
  ASSERT_EQ(outputs.size(), 5U);
  EXPECT_EQ(outputs[0], (std::vector<double>{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(outputs[1], (std::vector<double>{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(outputs[2], (std::vector<double>{0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(outputs[3], (std::vector<double>{0, 1, 1, -1, -1, -1, -1, -1, 0, -1, 1, 1}));
  EXPECT_EQ(outputs[4][0], 0);  // at 0, where its slope is infinite
  EXPECT_EQ(outputs[4][1], 0.5);
}

constexpr const char* kKernelProduct =
    "graph g(%x: f32[i:n, d], %z: f32[j:m, d], %v: f32[j:m], %dy: f32[i:n])\n"
    "  const n: int, m: int, d: int = 3\n{\n"
    "  %s = sqdist<d> %x, %z\n  %y = sum<j>(exp(%s * -0.5) * %v)\n"
    "  %dx = vjp %y, %x, %dy\n  %dz = vjp %y, %z, %dy\n  %dv = vjp %y, %v, %dy\n"
    "  return %dx, %dz, %dv\n}\n";

// As it would be written by hand: one exponential, and each factor where it has the fewest
// elements.
TEST(ReduceGradients, OfAKernelProductIsWrittenAsByHand) {
  const ConcreteGraph graph = MakeGraph(kKernelProduct, {{"n", 100}, {"m", 70}});
  EXPECT_EQ(TextOf(graph),
            "graph g(%x: f32[i:100, d:3], %z: f32[j:70, d], %v: f32[j], %dy: f32[i]) -> f32[i, d], "
            "f32[j, d], f32[j]\n"
            "{\n"
            "  %s = sqdist<d> %x, %z\n"
            "  %exp_1 = exp(%s * -0.5)\n"
            "  %sub_2 = %x - %z\n"
            "  %sum_3 = sum<j>(%v * %exp_1 * %sub_2)\n"
            "  %dx = -%dy * %sum_3\n"
            "  %mul_4 = %dy * %exp_1\n"
            "  %sum_5 = sum<i>(%mul_4 * %sub_2)\n"
            "  %dz = %v * %sum_5\n"
            "  %dv = sum<i> %mul_4\n"
            "  return %dx, %dz, %dv\n"
            "}\n");
}

TEST(ReduceGradients, CostWhatIsWrittenByHandDoes) {
  const std::string head =
      "graph g(%x: f32[i:n, d], %z: f32[j:m, d], %v: f32[j:m], %dy: f32[i:n]) -> f32[i:n, d]\n"
      "  const n: int = 1000, m: int = 700, d: int = 3\n{\n";
  const std::string by_hand = head +
                              "  %k = exp(sqdist<d>(%x, %z) * -0.5) * %v\n"
                              "  %dx = sum<j>(%k * (%z - %x)) * %dy\n  return %dx\n}\n";
  const std::string by_grad = head +
                              "  %y = sum<j>(exp(sqdist<d>(%x, %z) * -0.5) * %v)\n"
                              "  %dx = vjp %y, %x, %dy\n  return %dx\n}\n";
  std::vector<Plan> plans;
  for (const std::string& text : {by_hand, by_grad}) {
    Diagnostics found;
    plans.push_back(MakePlan(MakeGraph(text, {}), {}, found).value());
    const std::string kernels = plans.back().Text();
    const size_t first = kernels.find(" = exp ");
    EXPECT_NE(first, std::string::npos);
    EXPECT_EQ(kernels.find(" = exp ", first + 1), std::string::npos) << kernels;
  }
  // One negation of each result is more.
  EXPECT_LE(plans[1].cost, plans[0].cost + 2 * 1000 * 4);
}

// Products of bf16 stay products of bf16, which tensor cores have.
TEST(ReduceGradients, OfNarrowProductsAreNarrowProducts) {
  const ConcreteGraph graph = MakeGraph(
      "graph g(%a: bf16[i:40, k:30], %b: bf16[j:50, k:30], %dy: bf16[i:40, j:50])\n{\n"
      "  %y = cast<bf16>(dot<k>(%a, %b))\n  %da = vjp %y, %a, %dy\n  return %da\n}\n",
      {});
  EXPECT_NE(TextOf(graph).find("dot<j> %dy, %b"), std::string::npos) << TextOf(graph);
  RunAndCompare(graph, RandomInputs(graph, 1), kNoLimit, LimitKind::kTotal, "cpu");
}

// Nothing with the axes i and j need be in memory: the matrix would take 28 GB.
TEST(ReduceGradients, NeedNoMatrixOfPairs) {
  const ConcreteGraph graph = MakeGraph(kKernelProduct, {{"n", 100'000}, {"m", 70'000}});
  Diagnostics found;
  PlanOptions options;
  options.limit = 1000;
  options.limit_kind = LimitKind::kScratch;
  const auto plan = MakePlan(graph, options, found);
  ASSERT_TRUE(plan) << found.Render(SourceFile());
  EXPECT_LE(plan->peak, 1000U);
}

// Printed, it is a graph as any other: it reads back, and has the same plan.
TEST(ReduceGradients, PrintAsGraphs) {
  const ConcreteGraph graph = MakeGraph(kKernelProduct, {{"n", 100}, {"m", 70}});
  const ConcreteGraph again = MakeGraph(TextOf(graph), {});
  Diagnostics found;
  const auto plan = MakePlan(graph, {}, found);
  const auto other = MakePlan(again, {}, found);
  ASSERT_TRUE(plan && other);
  EXPECT_EQ(plan->Text(), other->Text());
}

TEST(ReduceGradients, MayTakeSquaredDistancesApart) {
  const ConcreteGraph exact = MakeGraph(kKernelProduct, {{"n", 30}, {"m", 40}});
  const ConcreteGraph fast = MakeFastGraph(kKernelProduct, {{"n", 30}, {"m", 40}});
  EXPECT_NE(TextOf(fast).find("dot<j>"), std::string::npos);
  EXPECT_EQ(TextOf(exact).find("dot<j>"), std::string::npos);
  const Tensors inputs = RandomInputs(exact, 3);
  const Tensors a = RunAndCompare(exact, inputs, kNoLimit, LimitKind::kTotal, "cpu");
  const Tensors b = RunAndCompare(fast, inputs, kNoLimit, LimitKind::kTotal, "cpu");
  for (size_t o = 0; o < a.size(); ++o) {
    // Elements are below 2, weights too, and 40 terms are added.
    for (size_t i = 0; i < a[o].size(); ++i) EXPECT_NEAR(a[o][i], b[o][i], 40 * 16 * 0x1p-23);
  }
}

}  // namespace
}  // namespace tarsia::reduce_test
