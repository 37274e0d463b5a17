#include "compiler/passes/repeated_work.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <set>

#include "compiler/tile_layout.h"
#include "layout/access.h"

namespace tarsia::compiler {
namespace {

// Warps that have elements of a tile, those with the same ones counted once.
size_t WarpsWithElements(const TileLayout& layout) {
  std::set<Extents> parts;
  for (int64_t thread = 0; thread < layout.threads(); thread += kWarpThreads) {
    // The first thread of a warp has the least indices.
    const Extents at = layout.ThreadOffset(thread);
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) inside = inside && at[d] < layout.shape()[d];
    if (inside) parts.insert(at);
  }
  return parts.size();
}

}  // namespace

std::vector<LineAdvice> AdviceOnRepeatedWork(const Program& program) {
  std::vector<LineAdvice> out;
  for (const ResolvedInst& info : program.instructions()) {
    if (info.opcode() != Opcode::kDot) continue;
    const ConcreteType& type = program.type(info.results[0]);
    if (!type.reg_layout) continue;
    const Extents shape(type.shape.begin(), type.shape.end());
    const TileLayout layout = TileLayout::Padded(*type.reg_layout, shape);
    const size_t with_elements = WarpsWithElements(layout);
    if (layout.empty() || with_elements >= static_cast<size_t>(program.warps())) continue;
    out.push_back({program.kernel().LocationOf(*info.inst).line,
                   fmt::format("the result has parts for {} of {} warps, the others repeat work: "
                               "make its tile larger, or use fewer warps",
                               with_elements, program.warps())});
  }
  return out;
}

}  // namespace tarsia::compiler
