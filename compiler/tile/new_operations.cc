#include "compiler/tile/new_operations.h"

#include <utility>
#include <vector>

#include "compiler/tile/annotation.h"

namespace tarsia::compiler::tile {

ValueId NewValue(Form& form, ConcreteType type, ValueId named) {
  form.types.push_back(std::move(type));
  tile::Value value = form.values[named];
  value.type = static_cast<uint32_t>(form.types.size() - 1);
  value.variable = kNone;
  form.values.push_back(value);
  return static_cast<ValueId>(form.values.size() - 1);
}

OpId NewOperation(Form& form, Operation op) {
  op.inserted = true;
  form.ops.push_back(std::move(op));
  return static_cast<OpId>(form.ops.size() - 1);
}

OpId NewAllocation(Form& form, ValueId tile, Location location) {
  Operation op;
  op.opcode = Opcode::kAllocShared;
  op.type = form.TypeOf(tile).dtype;
  op.annotation = AnnotationOf(form.TypeOf(tile), form.pool);
  op.results = {tile};
  op.location = location;
  return NewOperation(form, std::move(op));
}

OpId NewSync(Form& form, Location location) {
  Operation op;
  op.opcode = Opcode::kSync;
  op.location = location;
  return NewOperation(form, std::move(op));
}

void InsertBehind(Form& form, const std::map<OpId, std::vector<OpId>>& behind) {
  for (Region& region : form.regions) {
    std::vector<OpId> ops;
    for (const OpId id : region.ops) {
      ops.push_back(id);
      const auto added = behind.find(id);
      if (added != behind.end()) ops.insert(ops.end(), added->second.begin(), added->second.end());
    }
    region.ops = std::move(ops);
  }
}

ValueId AddScalar(Form& form, ValueId scalar, ExprId expr, RegionId into) {
  Operation op;
  op.opcode = Opcode::kMov;
  op.type = form.TypeOf(scalar).dtype;
  op.operand[0].kind = form.pool.UsesValues(expr) ? Operand::Kind::kExpr : Operand::Kind::kConstant;
  op.operand[0].type = op.type;
  op.operand[0].expr = expr;
  op.annotation.dtype = form.pool.Type(op.type);
  op.location = form.values[scalar].location;
  op.results = {scalar};
  form.regions[into].ops.push_back(static_cast<OpId>(form.ops.size()));
  form.ops.push_back(std::move(op));
  return scalar;
}

Operand WholeOperand(Form& form, ValueId tile, Role role) {
  const ConcreteType& type = form.TypeOf(tile);
  Operand out;
  out.kind = Operand::Kind::kMemory;
  out.role = role;
  out.type = type.dtype;
  out.value = tile;
  out.indices = form.pool.List(std::vector<ExprId>(type.shape.size(), form.pool.Int(0)));
  return out;
}

Operation StoreOf(const Operand& memory, const Operand& value, Location location) {
  Operation op;
  op.opcode = Opcode::kStore;
  op.type = memory.type;
  op.operand[0] = memory;
  op.operand[1] = value;
  op.location = location;
  return op;
}

Operation LoadOf(Form& form, const Operand& memory, ValueId result, Location location) {
  Operation op;
  op.opcode = Opcode::kLoad;
  op.type = memory.type;
  op.operand[0] = memory;
  AnnotateLayout(form.TypeOf(result), form.pool, op.annotation);
  op.results = {result};
  op.location = location;
  op.inserted = true;
  return op;
}

}  // namespace tarsia::compiler::tile
