#include "compiler/solve/pairwise.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tarsia::compiler {
namespace {

// A cost of several variables, the last one fastest.
struct Table {
  std::vector<uint32_t> variables;  // ascending
  std::vector<Cost> cost;
};

// A variable that was eliminated: its best candidate for each choice of the others.
struct Step {
  uint32_t variable = 0;
  std::vector<uint32_t> others;
  std::vector<uint32_t> best;
};

class Elimination {
 public:
  Elimination(const PairwiseProblem& problem, size_t limit) : problem_(problem), limit_(limit) {
    for (uint32_t v = 0; v < problem.own.size(); ++v) tables_.push_back({{v}, problem.own[v]});
    neighbours_.resize(problem.own.size());
    for (const PairwiseProblem::Factor& factor : problem.factors) {
      tables_.push_back(Sorted(factor));
      MakeNeighbours(factor.first, factor.second);
    }
    open_.assign(problem.own.size(), true);
  }

  PairwiseChoice Run() {
    PairwiseChoice out;
    while (const auto next = Cheapest()) {
      if (next->entries > limit_) {
        out.exact = false;
        Fix(Busiest());
      } else {
        Eliminate(next->variable);
      }
    }
    out.chosen.assign(problem_.own.size(), 0);
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      size_t at = 0;
      for (const uint32_t other : step->others) at = at * Candidates(other) + out.chosen[other];
      out.chosen[step->variable] = step->best[at];
    }
    out.cost = CostOf(problem_, out.chosen);
    return out;
  }

 private:
  struct Next {
    uint32_t variable = 0;
    size_t entries = 0;
  };

  [[nodiscard]] size_t Candidates(uint32_t variable) const { return problem_.own[variable].size(); }

  Table Sorted(const PairwiseProblem::Factor& factor) const {
    if (factor.first < factor.second) return {{factor.first, factor.second}, factor.cost};
    Table out{{factor.second, factor.first}, {}};
    const size_t firsts = Candidates(factor.first);
    const size_t seconds = Candidates(factor.second);
    for (size_t s = 0; s < seconds; ++s) {
      for (size_t f = 0; f < firsts; ++f) out.cost.push_back(factor.cost[f * seconds + s]);
    }
    return out;
  }

  static bool Mentions(const Table& table, uint32_t variable) {
    return std::binary_search(table.variables.begin(), table.variables.end(), variable);
  }

  // The open variable whose elimination makes the smallest table.
  [[nodiscard]] std::optional<Next> Cheapest() const {
    std::optional<Next> best;
    for (uint32_t v = 0; v < open_.size(); ++v) {
      if (!open_[v]) continue;
      size_t entries = Candidates(v);
      for (const uint32_t other : neighbours_[v]) {
        entries = std::min(entries * Candidates(other), limit_ + 1);
      }
      if (!best || entries < best->entries) best = Next{v, entries};
    }
    return best;
  }

  [[nodiscard]] uint32_t Busiest() const {
    uint32_t best = 0;
    size_t most = 0;
    for (uint32_t v = 0; v < open_.size(); ++v) {
      if (!open_[v] || neighbours_[v].size() < most) continue;
      if (neighbours_[v].size() > most || !open_[best]) best = v;
      most = neighbours_[v].size();
    }
    return best;
  }

  void MakeNeighbours(uint32_t a, uint32_t b) {
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
      std::vector<uint32_t>& list = neighbours_[from];
      const auto place = std::lower_bound(list.begin(), list.end(), to);
      if (place == list.end() || *place != to) list.insert(place, to);
    }
  }

  // Closes a variable; returns its neighbours.
  std::vector<uint32_t> Close(uint32_t variable) {
    open_[variable] = false;
    for (const uint32_t other : neighbours_[variable]) std::erase(neighbours_[other], variable);
    return std::exchange(neighbours_[variable], {});
  }

  // Removes the tables of a variable and returns them.
  std::vector<Table> TakeTables(uint32_t variable) {
    std::vector<Table> out;
    std::vector<Table> kept;
    for (Table& table : tables_) {
      (Mentions(table, variable) ? out : kept).push_back(std::move(table));
    }
    tables_ = std::move(kept);
    return out;
  }

  // Counts through all choices of `variables`.
  template <typename Visit>
  void ForChoices(const std::vector<uint32_t>& variables, const Visit& visit) {
    std::vector<uint32_t> choice(variables.size(), 0);
    while (true) {
      visit(choice);
      size_t i = variables.size();
      while (i > 0 && ++choice[i - 1] == Candidates(variables[i - 1])) choice[--i] = 0;
      if (i == 0) return;
    }
  }

  // The entry of a table for a choice of variables that contain those of the table.
  [[nodiscard]] Cost EntryOf(const Table& table, const std::vector<uint32_t>& variables,
                             const std::vector<uint32_t>& choice) const {
    size_t at = 0;
    size_t i = 0;
    for (const uint32_t variable : table.variables) {
      while (variables[i] != variable) ++i;
      at = at * Candidates(variable) + choice[i];
    }
    return table.cost[at];
  }

  // A table in a sum over candidates of one variable, for a choice of the others.
  struct Part {
    const Cost* first = nullptr;
    const Cost* here = nullptr;   // of the choice, and candidate 0
    std::vector<size_t> strides;  // by other variable; 0: not in the table
    size_t step = 0;              // to the next candidate

    void MoveTo(const std::vector<uint32_t>& others) {
      here = first;
      for (size_t i = 0; i < others.size(); ++i) here += strides[i] * others[i];
    }
  };

  [[nodiscard]] Part PartOf(const Table& table, const std::vector<uint32_t>& others,
                            uint32_t variable) const {
    Part out;
    out.first = table.cost.data();
    out.strides.assign(others.size(), 0);
    size_t stride = 1;
    for (size_t i = table.variables.size(); i-- > 0;) {
      const uint32_t v = table.variables[i];
      if (v == variable) {
        out.step = stride;
      } else {
        const auto place = std::lower_bound(others.begin(), others.end(), v) - others.begin();
        out.strides[static_cast<size_t>(place)] = stride;
      }
      stride *= Candidates(v);
    }
    return out;
  }

  void Eliminate(uint32_t variable) {
    const std::vector<Table> tables = TakeTables(variable);
    Step step{variable, Close(variable), {}};
    for (const uint32_t a : step.others) {
      for (const uint32_t b : step.others) {
        if (a < b) MakeNeighbours(a, b);
      }
    }
    std::vector<Part> parts;
    for (const Table& table : tables) parts.push_back(PartOf(table, step.others, variable));
    Table out{step.others, {}};
    ForChoices(step.others, [&](const std::vector<uint32_t>& others) {
      for (Part& part : parts) part.MoveTo(others);
      Cost least = 0;
      uint32_t best = 0;
      for (uint32_t candidate = 0; candidate < Candidates(variable); ++candidate) {
        Cost sum = 0;
        for (const Part& part : parts) sum += part.here[candidate * part.step];
        if (candidate == 0 || sum < least) {
          least = sum;
          best = candidate;
        }
      }
      out.cost.push_back(least);
      step.best.push_back(best);
    });
    if (!out.variables.empty()) tables_.push_back(std::move(out));
    steps_.push_back(std::move(step));
  }

  // To the candidate with the least own cost.
  void Fix(uint32_t variable) {
    const std::vector<Cost>& own = problem_.own[variable];
    const auto best = static_cast<uint32_t>(std::min_element(own.begin(), own.end()) - own.begin());
    for (const Table& table : TakeTables(variable)) {
      if (table.variables.size() == 1) continue;
      Table out;
      for (const uint32_t v : table.variables) {
        if (v != variable) out.variables.push_back(v);
      }
      ForChoices(table.variables, [&](const std::vector<uint32_t>& choice) {
        const auto at = std::find(table.variables.begin(), table.variables.end(), variable);
        if (choice[static_cast<size_t>(at - table.variables.begin())] != best) return;
        out.cost.push_back(EntryOf(table, table.variables, choice));
      });
      tables_.push_back(std::move(out));
    }
    Close(variable);
    steps_.push_back({variable, {}, {best}});
  }

  const PairwiseProblem& problem_;
  const size_t limit_;
  std::vector<Table> tables_;
  std::vector<bool> open_;
  std::vector<std::vector<uint32_t>> neighbours_;  // by open variable, ascending
  std::vector<Step> steps_;
};

}  // namespace

PairwiseChoice Minimise(const PairwiseProblem& problem, size_t limit) {
  return Elimination(problem, limit).Run();
}

Cost CostOf(const PairwiseProblem& problem, const std::vector<uint32_t>& chosen) {
  Cost sum = 0;
  for (uint32_t v = 0; v < problem.own.size(); ++v) sum += problem.own[v][chosen[v]];
  for (const PairwiseProblem::Factor& factor : problem.factors) {
    const size_t seconds = problem.own[factor.second].size();
    sum += factor.cost[chosen[factor.first] * seconds + chosen[factor.second]];
  }
  return sum;
}

}  // namespace tarsia::compiler
