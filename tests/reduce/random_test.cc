// Random graphs under random limits: the certificate passes the checker, nothing beside the arena
// is written, the outputs are those of the meaning in f64; or the limit is refused, the smallest
// one that the refusal names works, and one byte less is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/reduce/random_graph.h"
#include "tests/reduce/run_plan.h"
#include "tests/reduce/slope.h"
#include "tests/settings.h"

namespace tarsia::reduce_test {
namespace {

void RunOne(uint64_t seed) {
  const std::string text = RandomGraph(seed).Make();
  SCOPED_TRACE(fmt::format("TARSIA_SEED={}\n{}", seed, text));
  const ConcreteGraph graph = MakeGraph(text, {});
  const auto inputs = RandomInputs(graph, seed);
  std::mt19937_64 engine(seed);
  const LimitKind kind = engine() % 2 == 0 ? LimitKind::kTotal : LimitKind::kScratch;
  Diagnostics found;
  const auto whole = MakePlan(graph, {kNoLimit, kind}, found);
  const bool moved =
      !whole && found.list()[0].message.find("for the last time") != std::string::npos;
  if (moved && text.find(" in %a") != std::string::npos) return;  // read at other elements
  ASSERT_TRUE(whole);
  const uint64_t limit = 1 + (engine() >> 11) % (whole->peak + 1);
  const auto smallest = RefusedBelow(graph, limit, kind);
  if (smallest) {
    EXPECT_GT(*smallest, limit);
    EXPECT_EQ(RefusedBelow(graph, *smallest - 1, kind), smallest);
  }
  const uint64_t legal = smallest.value_or(limit);
  const auto out = RunAndCompare(graph, inputs, legal, kind, "cpu");
  if (kind != LimitKind::kTotal || testing::Test::HasFailure()) return;
  // The library transfers the same chunks, beside the same kernels: bit for bit the same outputs.
  const auto again = RunThroughApi(text, graph, inputs, legal);
  for (size_t o = 0; o < out.size(); ++o) {
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    EXPECT_TRUE(std::equal(out[o].begin(), out[o].end(), again[o].begin(), again[o].end(), same))
        << "output " << o << " below " << legal;
  }
}

TEST(ReduceRandom, GraphsAndLimits) {
  const uint64_t first = Seed(1);
  const uint64_t count = IsLong() ? 10'000 : 300;
  for (uint64_t i = 0; i < count && !HasFailure(); ++i) RunOne(first + i);
}

// The same for shares of 2 to 5 ranks; graphs that nothing can be shared of are left out.
void RunShares(uint64_t seed, int* shared) {
  const std::string text = RandomGraph(seed).Make();
  SCOPED_TRACE(fmt::format("TARSIA_SEED={}\n{}", seed, text));
  const ConcreteGraph graph = MakeGraph(text, {});
  const auto inputs = RandomInputs(graph, seed);
  std::mt19937_64 engine(seed);
  const LimitKind kind = engine() % 2 == 0 ? LimitKind::kTotal : LimitKind::kScratch;
  const size_t ranks = 2 + (engine() >> 11) % 4;
  Diagnostics found;
  const auto whole = MakePlan(graph, {kNoLimit, kind, false, 0, ranks}, found);
  if (!whole || !whole->share) return;
  ++*shared;
  const uint64_t limit = 1 + (engine() >> 11) % (whole->peak + 1);
  const auto smallest = RefusedBelow(graph, limit, kind, ranks);
  if (smallest) {
    EXPECT_GT(*smallest, limit);
    EXPECT_EQ(RefusedBelow(graph, *smallest - 1, kind, ranks), smallest);
  }
  const uint64_t legal = smallest.value_or(limit);
  const auto out = RunAndCompareShares(graph, inputs, legal, kind, ranks, "cpu");
  if (kind != LimitKind::kTotal || testing::Test::HasFailure()) return;
  const auto again = RunThroughApi(text, graph, inputs, legal, static_cast<uint32_t>(ranks));
  for (size_t o = 0; o < out.size(); ++o) {
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    EXPECT_TRUE(std::equal(out[o].begin(), out[o].end(), again[o].begin(), again[o].end(), same))
        << "output " << o << " below " << legal;
  }
}

TEST(ReduceRandom, Shares) {
  const uint64_t first = Seed(1);
  const uint64_t count = IsLong() ? 3'000 : 100;
  int shared = 0;
  for (uint64_t i = 0; i < count && !HasFailure(); ++i) RunShares(first + i, &shared);
  EXPECT_GT(shared, static_cast<int>(count / 2));
}

TEST(ReduceRandom, OnTheEmulator) {
  const uint64_t first = Seed(1) + 1'000'000;
  for (uint64_t i = 0; i < 6 && !HasFailure(); ++i) {
    const std::string text = RandomGraph(first + i).Make();
    SCOPED_TRACE(text);
    const ConcreteGraph graph = MakeGraph(text, {});
    // What is solved has no smaller limit.
    const uint64_t limit = RefusedBelow(graph, 2000, LimitKind::kScratch).value_or(2000);
    RunAndCompare(graph, RandomInputs(graph, first + i), limit, LimitKind::kScratch, "ptx");
  }
}

// The derivatives of a random graph by its inputs, below a random limit, times a random direction,
// are the slope in that direction. Where two central differences disagree, the graph has a corner
// between them: then false, and nothing is compared.
bool CompareSlope(uint64_t seed) {
  const auto [loss, derivatives] = RandomGraph(seed).MakeLoss();
  SCOPED_TRACE(fmt::format("TARSIA_SEED={}\n{}", seed, derivatives));
  const ConcreteGraph primal = MakeGraph(loss, {});
  const ConcreteGraph graph = MakeGraph(derivatives, {});
  Tensors inputs;
  Tensors direction;
  for (uint32_t t = 0; t < 4; ++t) {
    const auto count = static_cast<size_t>(primal.value(t).elements);
    inputs.push_back(RandomNumbers(count, seed * 10 + t));
    direction.push_back(RandomNumbers(count, seed * 10 + 4 + t));
  }
  Diagnostics found;
  const auto whole = MakePlan(graph, {}, found);
  if (!whole) {
    ADD_FAILURE() << found.Render(SourceFile());
    return true;
  }
  std::mt19937_64 engine(seed);
  const uint64_t limit = 1 + (engine() >> 11) % (whole->peak + 1);
  const uint64_t legal = RefusedBelow(graph, limit, LimitKind::kTotal).value_or(limit);
  const Tensors out = RunAndCompare(graph, inputs, legal, LimitKind::kTotal, "cpu");
  if (testing::Test::HasFailure()) return true;
  const double slope = Slope(primal, inputs, {{1}}, direction);
  const double closer = Slope(primal, inputs, {{1}}, direction, 2e-6);
  // The bound of a central difference of sums of tens of squares.
  const double bound = 1e-6 * (1 + std::abs(slope) + WeightedSum(primal, inputs, {{1}}));
  if (!(std::abs(slope - closer) <= bound)) return false;
  double along = 0;
  for (size_t t = 0; t < 4; ++t) {
    for (size_t i = 0; i < out[t].size(); ++i) along += out[t][i] * direction[t][i];
  }
  EXPECT_NEAR(along, slope, 2 * bound);
  return true;
}

TEST(ReduceRandom, DerivativesAreSlopes) {
  const uint64_t first = Seed(1) + 2'000'000;
  const uint64_t count = IsLong() ? 5'000 : 200;
  uint64_t compared = 0;
  for (uint64_t i = 0; i < count && !HasFailure(); ++i) compared += CompareSlope(first + i) ? 1 : 0;
  EXPECT_GT(compared, count * 9 / 10) << "most random graphs have no corners nearby";
}

}  // namespace
}  // namespace tarsia::reduce_test
