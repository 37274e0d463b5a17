#include "isa/graph/graph.h"

#include <algorithm>

#include "isa/names.h"

namespace tarsia {

const GraphNode* Graph::NodeOf(uint32_t value) const {
  if (value < inputs.size()) return nullptr;
  const auto after =
      std::upper_bound(nodes.begin(), nodes.end(), value,
                       [](uint32_t v, const GraphNode& node) { return v < node.first_result; });
  return after == nodes.begin() ? nullptr : &*(after - 1);
}

bool IsGraphConstant(const ExprPool& pool, ExprId id) {
  if (id.none() || pool.UsesValues(id)) return false;
  const ExprKind kind = pool.kind(id);
  if (kind == ExprKind::kReplicate || kind == ExprKind::kKeyword) return false;
  bool open = kind == ExprKind::kUnary || kind == ExprKind::kBinary;
  if (kind == ExprKind::kCall) {
    const auto func = static_cast<Func>(pool.node(id).code);
    open = func == Func::kMin || func == Func::kMax;
    // `min()` would be read as the operation without operands.
    if (open && pool.node(id).children != 2) return false;
  }
  const auto children = pool.children(id);
  return !open || std::all_of(children.begin(), children.end(),
                              [&](ExprId child) { return IsGraphConstant(pool, child); });
}

std::string_view ReservedInGraphs(std::string_view name) {
  if (const std::string_view what = ReservedAs(name); !what.empty()) return what;
  if (name == "return" || name == "accumulate" || name == "upper" || name == "in") {
    return "a word of the language";
  }
  return IsGraphWord(name) ? "the name of an operation" : "";
}

}  // namespace tarsia
