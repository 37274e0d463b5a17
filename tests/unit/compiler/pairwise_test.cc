// The solver of pairwise costs against trying every choice.
#include "compiler/solve/pairwise.h"

#include <gtest/gtest.h>

#include <random>

namespace tarsia::compiler::pairwise_test {
namespace {

// A random problem; one in three pairs has a cost.
PairwiseProblem RandomProblem(std::mt19937_64& random, size_t variables, size_t most) {
  PairwiseProblem out;
  const auto cost = [&] { return static_cast<Cost>(random() % 100); };
  for (size_t v = 0; v < variables; ++v) {
    std::vector<Cost> own(1 + random() % most);
    for (Cost& c : own) c = cost();
    out.own.push_back(std::move(own));
  }
  for (uint32_t a = 0; a < variables; ++a) {
    for (uint32_t b = 0; b < variables; ++b) {
      if (a == b || random() % 6 != 0) continue;
      PairwiseProblem::Factor factor{a, b, {}};
      for (size_t i = 0; i < out.own[a].size() * out.own[b].size(); ++i) {
        factor.cost.push_back(cost());
      }
      out.factors.push_back(std::move(factor));
    }
  }
  return out;
}

Cost LeastByTrying(const PairwiseProblem& problem) {
  std::vector<uint32_t> chosen(problem.own.size(), 0);
  Cost least = INT64_MAX;
  while (true) {
    Cost sum = 0;
    for (size_t v = 0; v < chosen.size(); ++v) sum += problem.own[v][chosen[v]];
    for (const auto& f : problem.factors) {
      sum += f.cost[chosen[f.first] * problem.own[f.second].size() + chosen[f.second]];
    }
    least = std::min(least, sum);
    size_t v = 0;
    while (v < chosen.size() && ++chosen[v] == problem.own[v].size()) chosen[v++] = 0;
    if (v == chosen.size()) return least;
  }
}

TEST(Pairwise, FindsTheCheapestOfAllChoices) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 400; ++i) {
    const PairwiseProblem problem = RandomProblem(random, 1 + random() % 7, 4);
    const PairwiseChoice choice = Minimise(problem, 1 << 14);
    EXPECT_TRUE(choice.exact);
    ASSERT_EQ(choice.cost, LeastByTrying(problem)) << i;
    EXPECT_EQ(choice.cost, CostOf(problem, choice.chosen));
  }
}

// With small tables the choice is whole, and says that it may not be the cheapest.
TEST(Pairwise, GivesUpTheBestWhereTablesGrowTooLarge) {
  std::mt19937_64 random(9);
  int inexact = 0;
  for (int i = 0; i < 100; ++i) {
    const PairwiseProblem problem = RandomProblem(random, 7, 4);
    const PairwiseChoice choice = Minimise(problem, 8);
    ASSERT_EQ(choice.chosen.size(), 7u);
    for (size_t v = 0; v < 7; ++v) ASSERT_LT(choice.chosen[v], problem.own[v].size());
    EXPECT_EQ(choice.cost, CostOf(problem, choice.chosen));
    if (choice.exact) {
      EXPECT_EQ(choice.cost, LeastByTrying(problem));
    }
    inexact += choice.exact ? 0 : 1;
  }
  EXPECT_GT(inexact, 50);
}

TEST(Pairwise, TakesTheFirstOfEquals) {
  PairwiseProblem problem;
  problem.own = {{3, 1, 1}, {0, 0}};
  problem.factors = {{1, 0, {0, 0, 0, 0, 0, 0}}};
  EXPECT_EQ(Minimise(problem, 100).chosen, (std::vector<uint32_t>{1, 0}));
}

}  // namespace
}  // namespace tarsia::compiler::pairwise_test
