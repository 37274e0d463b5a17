// The cheapest layouts for the variables of a layout graph.
#ifndef TARSIA_COMPILER_PASSES_LAYOUT_CHOICE_H_
#define TARSIA_COMPILER_PASSES_LAYOUT_CHOICE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/passes/layout_candidates.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/solve/pairwise.h"

namespace tarsia::compiler {

struct LayoutChoice {
  LayoutCandidates candidates;
  std::vector<uint32_t> chosen;  // by variable: a candidate, or a way of a `dot`
  PairwiseProblem problem;       // what each candidate and each pair of them costs
  Cost cost = 0;                 // of a warp, without what has no register tile
  bool exact = true;             // no choice among the candidates is cheaper

  // Of a variable that is no `dot`.
  [[nodiscard]] const TileLayout& LayoutOf(uint32_t variable) const {
    return candidates.table[candidates.of[variable][chosen[variable]].layout];
  }
  [[nodiscard]] const DotWay& WayOf(uint32_t variable) const {
    return candidates.ways[variable][chosen[variable]];
  }
};

LayoutChoice ChooseLayouts(const tile::Form& form, const LayoutGraph& graph, Target target);

// The least cost of the kernel if a variable does not have its layout; empty if it has no other
// candidate.
std::optional<Cost> CostWithout(const LayoutChoice& choice, uint32_t variable);

// The layout in which an instruction takes or gives the tile at a port; empty: in any.
std::optional<TileLayout> LayoutNeeded(const LayoutGraph& graph, const LayoutChoice& choice,
                                       const LayoutOp& op, Port port);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_LAYOUT_CHOICE_H_
