#include "compiler/tile/copier.h"

#include <algorithm>
#include <utility>

#include "compiler/tile/new_operations.h"

namespace tarsia::compiler::tile {

ExprId Copier::Now(ValueId value) const {
  const auto found = now_.find(value);
  return found == now_.end() ? ExprId::Value(value) : found->second;
}

std::vector<ValueId> Copier::ValuesNow(const std::vector<ValueId>& values) const {
  std::vector<ValueId> out;
  for (const ValueId value : values) out.push_back(ValueNow(value));
  return out;
}

ValueId Copier::Fresh(ValueId value) {
  ConcreteType type = form_.TypeOf(value);
  for (ExprId& extent : type.shape_exprs) {
    extent = Renamed(form_.pool, extent, [this](ValueId v) { return Now(v); });
  }
  const ValueId out = NewValue(form_, std::move(type), value);
  now_[value] = ExprId::Value(out);
  return out;
}

RegionId Copier::NewRegion(OpId owner, RegionId parent, const std::vector<ValueId>& arguments) {
  const auto out = static_cast<RegionId>(form_.regions.size());
  form_.regions.push_back({owner, parent, {}, {}, {}});
  for (const ValueId argument : arguments) {
    const ValueId fresh = Fresh(argument);
    form_.regions[out].arguments.push_back(fresh);
  }
  return out;
}

OpId Copier::Copy(OpId op, RegionId into) {
  const auto out = static_cast<OpId>(form_.ops.size());
  form_.ops.push_back(Operation(form_.ops[op]));
  form_.regions[into].ops.push_back(out);
  form_.ops[out].inits = ValuesNow(form_.ops[op].inits);
  // The condition of a `while` uses the arguments of its region.
  for (size_t i = 0; i < 2; ++i) {
    const RegionId from = form_.ops[op].region[i];
    if (from == kNone) continue;
    const std::vector<ValueId> arguments = form_.regions[from].arguments;
    const RegionId fresh = NewRegion(out, into, arguments);
    form_.ops[out].region[i] = fresh;
  }
  RenameUses(form_.pool, form_.ops[out], [this](ValueId v) { return Now(v); });
  for (size_t i = 0; i < 2; ++i) {
    const RegionId from = form_.ops[op].region[i];
    const RegionId to = form_.ops[out].region[i];
    if (from == kNone) continue;
    CopyOps(from, to);
    form_.regions[to].yields = ValuesNow(form_.regions[from].yields);
  }
  for (size_t i = 0; i < form_.ops[op].results.size(); ++i) {
    const ValueId fresh = Fresh(form_.ops[op].results[i]);
    form_.ops[out].results[i] = fresh;
  }
  return out;
}

void Copier::CopyOps(RegionId from, RegionId into) {
  for (const OpId id : std::vector<OpId>(form_.regions[from].ops)) Copy(id, into);
}

OpId Copier::CopyLoop(OpId loop, ExprId start, ExprId stop, int64_t step,
                      const std::vector<ValueId>& inits, RegionId into) {
  const auto out = static_cast<OpId>(form_.ops.size());
  Operation op = form_.ops[loop];
  const RegionId body = op.region[0];
  for (size_t i = 0; i < 3; ++i) {
    const ExprId bound = i == 0 ? start : i == 1 ? stop : form_.pool.Int(step);
    if (i == 2 && step == 1 && !op.operand[2].present()) continue;
    Operand& operand = op.operand[i];
    if (!operand.present()) operand = op.operand[0];
    operand.expr = bound;
    operand.kind = form_.pool.UsesValues(bound) ? Operand::Kind::kExpr : Operand::Kind::kConstant;
  }
  op.inits = inits;
  op.results.clear();
  op.arg_locations.clear();
  form_.ops.push_back(std::move(op));
  form_.regions[into].ops.push_back(out);
  const std::vector<ValueId> arguments = form_.regions[body].arguments;
  const RegionId fresh = NewRegion(out, into, arguments);
  form_.ops[out].region[0] = fresh;
  for (size_t i = 0; i < inits.size(); ++i) {
    const ConcreteType type = form_.TypeOf(form_.ops[loop].results[i]);
    const ValueId result = NewValue(form_, type, form_.ops[loop].results[i]);
    form_.ops[out].results.push_back(result);
  }
  return out;
}

bool IsOperand(const Form& form, RegionId region, ValueId value) {
  const auto has = [value](const std::vector<ValueId>& list) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  for (const OpId id : form.regions[region].ops) {
    const Operation& op = form.ops[id];
    if (has(op.inits)) return true;
    for (const Operand& operand : op.operand) {
      if (operand.IsValue() && operand.value == value) return true;
    }
    for (const RegionId inner : op.region) {
      if (inner != kNone && IsOperand(form, inner, value)) return true;
    }
  }
  return has(form.regions[region].yields);
}

void ReplaceValues(Form& form, const std::vector<ValueId>& by) {
  const auto now = [&](ValueId v) { return v < by.size() && by[v] != kNone ? by[v] : v; };
  const auto expr = [&](ValueId v) { return ExprId::Value(now(v)); };
  for (Operation& op : form.ops) {
    RenameUses(form.pool, op, expr);
    for (ValueId& init : op.inits) init = now(init);
  }
  for (Region& region : form.regions) {
    for (ValueId& yield : region.yields) yield = now(yield);
  }
  for (ConcreteType& type : form.types) {
    for (ExprId& extent : type.shape_exprs) extent = Renamed(form.pool, extent, expr);
  }
}

}  // namespace tarsia::compiler::tile
