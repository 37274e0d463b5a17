// The register tiles of a kernel and what ties their layouts together, as the pass `layouts` sees
// them.
//
// A *variable* is something that has one layout: a tile (values that a loop or branch carries are
// one tile), the work of an instruction that has its anchor at an operand, or a `dot`, whose
// "layout" is one of its ways. A *tie* says that an instruction meets a tile: where its layout is
// not the one that the instruction has there, the elements are converted.
#ifndef TARSIA_COMPILER_PASSES_LAYOUT_GRAPH_H_
#define TARSIA_COMPILER_PASSES_LAYOUT_GRAPH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/rules/rules.h"
#include "compiler/tile/form.h"

namespace tarsia::compiler {

struct LayoutVariable {
  enum class Kind : uint8_t { kTile, kWork, kDot };
  Kind kind = Kind::kTile;
  uint32_t type = 0;            // in Form::types; of kDot: of its result
  tile::OpId op = tile::kNone;  // of kWork and kDot
  Cost turns = 1;               // how often it is defined or done, as far as that is known
  std::optional<TileLayout> written;
};

// An instruction with register tiles.
struct LayoutOp {
  tile::OpId op = tile::kNone;
  RuleOp rule;
  Cost turns = 1;
  uint32_t anchor = tile::kNone;  // variable of the anchor, or of the `dot`
};

struct LayoutTie {
  uint32_t op = 0;  // in LayoutGraph::ops
  Port port;
  uint32_t tile = 0;  // variable
};

// A value that becomes another tile: of a loop or a branch.
struct LayoutCarry {
  uint32_t from = 0;
  uint32_t to = 0;
  Cost turns = 1;
};

struct LayoutGraph {
  std::vector<LayoutVariable> variables;
  std::vector<uint32_t> of_value;  // by value: its variable, or kNone
  std::vector<LayoutOp> ops;
  std::vector<uint32_t> of_op;  // by operation: in `ops`, or kNone
  std::vector<LayoutTie> ties;  // not those of anchors with their own variable
  std::vector<LayoutCarry> carries;
  int64_t warps = 1;
};

// What a scan, a `topk` or a lookup costs whose operand has this layout; nothing of others.
std::optional<Work> OwnWork(const RuleOp& op, const TileLayout& layout);

// The rules point into the types of the form.
LayoutGraph MakeLayoutGraph(const tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_LAYOUT_GRAPH_H_
