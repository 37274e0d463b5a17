// The layouts that are worth trying for each variable of a layout graph: those that are written,
// those that a tensor core or a wide access asks for, and what follows from them through the rules.
#ifndef TARSIA_COMPILER_PASSES_LAYOUT_CANDIDATES_H_
#define TARSIA_COMPILER_PASSES_LAYOUT_CANDIDATES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/passes/accessed_memory.h"
#include "compiler/passes/layout_graph.h"
#include "compiler/target.h"

namespace tarsia::compiler {

using LayoutNumber = uint32_t;

// Different layouts, by number.
class LayoutTable {
 public:
  LayoutNumber Add(TileLayout layout);
  const TileLayout& operator[](LayoutNumber number) const { return layouts_[number]; }

 private:
  std::vector<TileLayout> layouts_;
};

// Where a candidate comes from.
struct LayoutSource {
  enum class Kind : uint8_t {
    kWritten,
    kFragments,  // of a `dot`
    kBlock,      // blocks of a `dot` without tensor cores
    kPacked,     // the tiles of packed memory
    kAccess,     // wide accesses to memory
    kReduction,  // warps that a reduction keeps apart
    kRows,       // nothing asks for anything
  };
  Kind kind = Kind::kRows;
  tile::OpId op = tile::kNone;  // that asks for it
  friend bool operator==(const LayoutSource&, const LayoutSource&) = default;
};

struct LayoutCandidate {
  LayoutNumber layout = 0;
  LayoutSource source;
};

// A way of doing a `dot`.
struct DotWay {
  // Where the operands are needed; kNone: anywhere.
  LayoutNumber a = tile::kNone;
  LayoutNumber b = tile::kNone;
  LayoutNumber c = 0;  // also of the result
  int64_t tensor = 0;  // MmaProducts; 0: each thread computes its elements
};

struct LayoutCandidates {
  LayoutTable table;
  std::vector<std::vector<LayoutCandidate>> of;  // by variable; none is empty but those of a `dot`
  std::vector<std::vector<DotWay>> ways;         // by variable: of a `dot`
};

// The longest row that one thread may reduce alone: two lanes would exchange more than they save.
inline constexpr int64_t kLongestThreadRow = 16;

LayoutCandidates FindLayoutCandidates(const tile::Form& form, const LayoutGraph& graph,
                                      Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_LAYOUT_CANDIDATES_H_
