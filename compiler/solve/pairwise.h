// Choosing one candidate for each of many variables, so that the sum of costs is least. Costs
// belong to one variable or to a pair of them. Knows nothing of what the candidates are.
#ifndef TARSIA_COMPILER_SOLVE_PAIRWISE_H_
#define TARSIA_COMPILER_SOLVE_PAIRWISE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/cost/cost.h"

namespace tarsia::compiler {

struct PairwiseProblem {
  struct Factor {
    uint32_t first = 0;
    uint32_t second = 0;     // not `first`
    std::vector<Cost> cost;  // [candidate of first * candidates of second + candidate of second]
  };
  std::vector<std::vector<Cost>> own;  // by variable and candidate; each has at least one
  std::vector<Factor> factors;
};

struct PairwiseChoice {
  std::vector<uint32_t> chosen;  // by variable
  Cost cost = 0;
  bool exact = true;  // no choice is cheaper
};

// Eliminates the variables one by one, the one with the smallest table first. A table of more than
// `limit` entries is not built: the variable of the most factors is fixed to what is best for it
// alone, and the choice may not be the cheapest. Deterministic; of equally cheap candidates the
// first one is taken. Time: by variables * limit.
PairwiseChoice Minimise(const PairwiseProblem& problem, size_t limit);

// The cost of a choice.
Cost CostOf(const PairwiseProblem& problem, const std::vector<uint32_t>& chosen);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SOLVE_PAIRWISE_H_
