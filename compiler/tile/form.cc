#include "compiler/tile/form.h"

#include <unordered_map>
#include <unordered_set>

namespace tarsia::compiler::tile {
namespace {

class Visitor {
 public:
  Visitor(const ExprPool& pool, const std::function<void(ValueId)>& visit)
      : pool_(pool), visit_(visit) {}

  void Visit(ExprId id) {
    if (id.is_value()) return visit_(id.value());
    if (!pool_.UsesValues(id) || !seen_.insert(id.raw()).second) return;
    for (const ExprId child : pool_.children(id)) Visit(child);
  }

 private:
  const ExprPool& pool_;
  const std::function<void(ValueId)>& visit_;
  std::unordered_set<uint32_t> seen_;
};

class Renamer {
 public:
  Renamer(ExprPool& pool, const std::function<ExprId(ValueId)>& rename)
      : pool_(pool), rename_(rename) {}

  ExprId Rename(ExprId id) {
    if (id.is_value()) return rename_(id.value());
    if (!pool_.UsesValues(id)) return id;
    const auto [known, is_new] = renamed_.try_emplace(id.raw(), id);
    if (!is_new) return known->second;
    const ExprNode node = pool_.node(id);
    const auto children = pool_.children(id);
    std::vector<ExprId> renamed(children.begin(), children.end());
    for (ExprId& child : renamed) child = Rename(child);
    return renamed_[id.raw()] = pool_.Intern(node.kind, node.code, node.payload, renamed);
  }

 private:
  ExprPool& pool_;
  const std::function<ExprId(ValueId)>& rename_;
  std::unordered_map<uint32_t, ExprId> renamed_;
};

}  // namespace

bool Form::Ends(RegionId region) const {
  const std::vector<OpId>& in = regions[region].ops;
  return !in.empty() && ops[in.back()].row().Has(kEndsBlock);
}

bool Form::Encloses(RegionId outer, RegionId inner) const {
  while (inner != kNone && inner != outer) inner = regions[inner].parent;
  return inner == outer;
}

std::vector<Definition> Form::Definitions() const {
  std::vector<Definition> out(values.size());
  std::vector<RegionId> open = {kBody};
  while (!open.empty()) {
    const RegionId region = open.back();
    open.pop_back();
    const Region& r = regions[region];
    for (uint32_t i = 0; i < r.arguments.size(); ++i) out[r.arguments[i]] = {kNone, region, i};
    for (const OpId id : r.ops) {
      const Operation& op = ops[id];
      for (uint32_t i = 0; i < op.results.size(); ++i) out[op.results[i]] = {id, region, i};
      for (const RegionId inner : op.region) {
        if (inner != kNone) open.push_back(inner);
      }
    }
  }
  return out;
}

void ForEachValue(const ExprPool& pool, ExprId id, const std::function<void(ValueId)>& visit) {
  Visitor(pool, visit).Visit(id);
}

void ForEachUse(const Form& form, const Operation& op, const std::function<void(ValueId)>& visit) {
  Visitor visitor(form.pool, visit);
  for (const Operand& operand : op.operand) {
    if (operand.IsValue()) visit(operand.value);
    visitor.Visit(operand.expr);
    visitor.Visit(operand.indices);
  }
  visitor.Visit(op.annotation.shape);
}

ExprId Renamed(ExprPool& pool, ExprId id, const std::function<ExprId(ValueId)>& rename) {
  return Renamer(pool, rename).Rename(id);
}

void RenameUses(ExprPool& pool, Operation& op, const std::function<ExprId(ValueId)>& rename) {
  Renamer renamer(pool, rename);
  for (Operand& operand : op.operand) {
    if (operand.IsValue()) operand.value = rename(operand.value).value();
    operand.expr = renamer.Rename(operand.expr);
    operand.indices = renamer.Rename(operand.indices);
  }
  op.annotation.shape = renamer.Rename(op.annotation.shape);
}

}  // namespace tarsia::compiler::tile
