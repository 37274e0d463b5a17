#include "compiler/passes/layout_graph.h"

#include "compiler/passes/turns.h"
#include "isa/limits.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

class Maker {
 public:
  explicit Maker(const Form& form) : form_(form) {
    graph_.of_value.assign(form.values.size(), kNone);
    graph_.of_op.assign(form.ops.size(), kNone);
    graph_.warps = form.Warps();
  }

  LayoutGraph Run() {
    Visit(tile::kBody, 1);
    return std::move(graph_);
  }

 private:
  [[nodiscard]] bool IsTile(ValueId value) const { return IsRegisterTile(form_.TypeOf(value)); }

  uint32_t AddTile(ValueId value, Cost turns) {
    LayoutVariable variable;
    variable.type = form_.values[value].type;
    variable.turns = turns;
    const ConcreteType& type = form_.TypeOf(value);
    if (type.reg_layout) variable.written = TileLayout::Padded(*type.reg_layout, type.shape);
    graph_.variables.push_back(std::move(variable));
    return graph_.of_value[value] = static_cast<uint32_t>(graph_.variables.size() - 1);
  }

  void Carry(ValueId from, ValueId to, Cost turns) {
    if (!IsTile(to)) return;
    graph_.carries.push_back({graph_.of_value[from], graph_.of_value[to], turns});
  }

  void Visit(RegionId region, Cost turns) {
    for (const OpId id : form_.regions[region].ops) {
      if (form_.ops[id].HasRegions()) {
        AddRegions(id, turns);
      } else {
        AddOp(id, turns);
      }
    }
  }

  // What a loop carries has one layout in all turns and after them.
  void AddRegions(OpId id, Cost turns) {
    const Operation& op = form_.ops[id];
    const size_t counters = form_.Counters(op);
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!IsTile(op.results[i])) continue;
      const uint32_t variable = AddTile(op.results[i], turns);
      if (!op.IsLoop()) continue;
      graph_.of_value[form_.regions[op.region[0]].arguments[counters + i]] = variable;
      Carry(op.inits[i], op.results[i], turns);
    }
    for (const int number : {0, 1}) {
      const RegionId inner = op.region[number];
      if (inner == kNone) continue;
      // What seems never to run has layouts, too.
      const Cost inside = std::max<Cost>(1, TurnsIn(form_, op, number, turns));
      Visit(inner, inside);
      const std::vector<ValueId>& yields = form_.regions[inner].yields;
      for (size_t i = 0; i < yields.size(); ++i) Carry(yields[i], op.results[i], inside);
    }
  }

  [[nodiscard]] std::vector<int64_t> Numbers(ExprId list) const {
    std::vector<int64_t> out;
    for (const ExprId item : form_.pool.children(list)) {
      out.push_back(form_.pool.AsInt(item).value_or(0));
    }
    return out;
  }

  [[nodiscard]] RuleOp RuleOf(const Operation& op) const {
    RuleOp out;
    out.opcode = op.opcode;
    const auto attr = [&](Attr wanted) {
      const auto index = op.row().AttrIndex(wanted);
      return index ? op.attr[*index] : ExprId();
    };
    if (op.row().AttrIndex(Attr::kAxis)) {
      const ExprId axis = attr(Attr::kAxis);
      out.axes = {axis.none() ? 0 : form_.pool.AsInt(axis).value_or(0)};
    } else if (const ExprId axes = attr(Attr::kAxes); !axes.none()) {
      out.axes = Numbers(axes);
    } else if (const ExprId order = attr(Attr::kOrder); !order.none()) {
      out.axes = Numbers(order);
    }
    out.keepdims = !attr(Attr::kKeepdims).none();
    out.exclusive = !attr(Attr::kExclusive).none();
    out.fast =
        op.row().fast && HasFastForms(op.type) && (form_.header.fast || !attr(Attr::kFast).none());
    for (size_t i = 0; i < kMaxOperands; ++i) {
      if (op.operand[i].IsTile()) out.operand[i] = &form_.TypeOf(op.operand[i].value);
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      if (IsTile(op.results[r])) out.result[r] = &form_.TypeOf(op.results[r]);
    }
    return out;
  }

  void AddOp(OpId id, Cost turns) {
    const Operation& op = form_.ops[id];
    for (const ValueId result : op.results) {
      if (IsTile(result)) AddTile(result, turns);
    }
    LayoutOp out{id, RuleOf(op), turns, kNone};
    const std::optional<Port> anchor = AnchorOf(out.rule);
    const bool is_dot = op.opcode == Opcode::kDot;
    if (!anchor && !is_dot) return;
    if (anchor && anchor->is_result) {
      out.anchor = graph_.of_value[op.results[anchor->index]];
    } else if (anchor && op.opcode == Opcode::kUnpack) {
      // It reads codes as they lie, in a bit layout that a conversion would lose.
      out.anchor = graph_.of_value[op.operand[anchor->index].value];
    } else {
      out.anchor = AddWork(op, id, anchor, turns);
    }
    const auto number = static_cast<uint32_t>(graph_.ops.size());
    graph_.of_op[id] = number;
    for (size_t i = 0; i < kMaxOperands; ++i) {
      if (out.rule.operand[i] == nullptr) continue;
      if (anchor == Port::Operand(i) && IsTileVariable(out.anchor)) continue;
      graph_.ties.push_back({number, Port::Operand(i), graph_.of_value[op.operand[i].value]});
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      if (out.rule.result[r] == nullptr || anchor == Port::Result(r)) continue;
      graph_.ties.push_back({number, Port::Result(r), graph_.of_value[op.results[r]]});
    }
    graph_.ops.push_back(std::move(out));
  }

  [[nodiscard]] bool IsTileVariable(uint32_t variable) const {
    return graph_.variables[variable].kind == LayoutVariable::Kind::kTile;
  }

  uint32_t AddWork(const Operation& op, OpId id, std::optional<Port> anchor, Cost turns) {
    LayoutVariable work;
    work.kind = anchor ? LayoutVariable::Kind::kWork : LayoutVariable::Kind::kDot;
    const ValueId value = anchor ? op.operand[anchor->index].value : op.results[0];
    work.type = form_.values[value].type;
    work.op = id;
    work.turns = turns;
    graph_.variables.push_back(std::move(work));
    return static_cast<uint32_t>(graph_.variables.size() - 1);
  }

  const Form& form_;
  LayoutGraph graph_;
};

}  // namespace

std::optional<Work> OwnWork(const RuleOp& op, const TileLayout& layout) {
  if (IsScan(op.opcode)) {
    return ScanWork(layout, static_cast<int>(op.axes[0]), op.operand[0]->dtype.bits > 32 ? 2 : 1,
                    op.exclusive);
  }
  if (op.opcode == Opcode::kTopK) {
    const int64_t axis = op.axes[0];
    return TopKWork(layout, op.operand[0]->dtype, axis, op.result[0]->shape[Size(axis)]);
  }
  if (op.opcode == Opcode::kLookup) {
    return LookupWork(op.operand[0]->dtype, op.operand[1]->dtype, layout);
  }
  return std::nullopt;
}

LayoutGraph MakeLayoutGraph(const Form& form) { return Maker(form).Run(); }

}  // namespace tarsia::compiler
