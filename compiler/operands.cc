#include "compiler/operands.h"

#include <map>

namespace tarsia::compiler {
namespace {

// Parts that an expression shares are looked at once: a short text can share so much that a walk
// of the tree would not end.
class Kinds {
 public:
  explicit Kinds(const Program& program) : program_(program), pool_(program.pool()) {}

  ScalarKind Of(ExprId expr) {
    if (!expr.is_node()) return OfLeaf(expr);
    const auto known = known_.find(expr.raw());
    if (known != known_.end()) return known->second;
    const ScalarKind kind = OfNode(expr);
    known_[expr.raw()] = kind;
    return kind;
  }

 private:
  ScalarKind OfLeaf(ExprId expr) const {
    if (!expr.is_value()) return ScalarKind::kInt;
    const DType type = program_.type(expr.value()).dtype;
    if (type.IsBool()) return ScalarKind::kBool;
    return type.IsInteger() ? ScalarKind::kInt : ScalarKind::kFloat;
  }

  ScalarKind Joined(ExprId expr) {
    for (const ExprId child : pool_.children(expr)) {
      if (Of(child) == ScalarKind::kFloat) return ScalarKind::kFloat;
    }
    return ScalarKind::kInt;
  }

  ScalarKind OfNode(ExprId expr) {
    switch (pool_.kind(expr)) {
      case ExprKind::kFloat:
        return ScalarKind::kFloat;
      case ExprKind::kBool:
        return ScalarKind::kBool;
      case ExprKind::kUnary:
        if (static_cast<UnaryOp>(pool_.node(expr).code) == UnaryOp::kNot) return ScalarKind::kBool;
        return Joined(expr);
      case ExprKind::kBinary:
        return OfBinary(expr);
      case ExprKind::kCall:
        return Joined(expr);
      case ExprKind::kNone:
      case ExprKind::kValue:
      case ExprKind::kInt:
      case ExprKind::kDType:
      case ExprKind::kString:
      case ExprKind::kName:
      case ExprKind::kFragment:
      case ExprKind::kKeyword:
      case ExprKind::kReplicate:
      case ExprKind::kList:
        return ScalarKind::kInt;
    }
    return ScalarKind::kInt;
  }

  ScalarKind OfBinary(ExprId expr) {
    switch (static_cast<BinaryOp>(pool_.node(expr).code)) {
      case BinaryOp::kOr:
      case BinaryOp::kAnd:
      case BinaryOp::kEqual:
      case BinaryOp::kNotEqual:
      case BinaryOp::kLess:
      case BinaryOp::kLessEqual:
      case BinaryOp::kGreater:
      case BinaryOp::kGreaterEqual:
        return ScalarKind::kBool;
      case BinaryOp::kAdd:
      case BinaryOp::kSubtract:
      case BinaryOp::kMultiply:
      case BinaryOp::kDivide:
      case BinaryOp::kModulo:
        return Joined(expr);
    }
    return ScalarKind::kInt;
  }

  const Program& program_;
  const ExprPool& pool_;
  std::map<uint32_t, ScalarKind> known_;
};

DType TypeOfKind(ScalarKind kind, bool wide) {
  switch (kind) {
    case ScalarKind::kInt:
      return wide ? kI64 : kI32;
    case ScalarKind::kBool:
      return kBoolType;
    case ScalarKind::kFloat:
      return wide ? kF64 : kF32;
  }
  return kI32;
}

void DescribeValue(const Program& program, uint32_t value, Operand& out) {
  const ConcreteType& type = program.type(value);
  out.value = value;
  out.type = type.dtype;
  if (type.kind == ValueKind::kScalar) {
    out.kind = Operand::Kind::kScalar;
  } else {
    out.kind = IsRegisterTile(type) ? Operand::Kind::kTile : Operand::Kind::kMemory;
  }
}

Operand DescribeOperand(const Program& program, const Inst& inst, size_t i) {
  const InstRow& row = Row(inst.opcode);
  const auto slots = program.kernel().Slots(inst);
  const size_t slot = row.Slot(i);
  Operand out;
  if (slot >= slots.size()) return out;
  const ExprId id = slots[slot];
  out.location = program.kernel().ArgLocation(inst, inst.results + slot);
  switch (row.operands[i].kind) {
    case OperandKind::kText:
      out.kind = Operand::Kind::kText;
      out.text = program.pool().Text(id);
      return out;
    case OperandKind::kIndex:
    case OperandKind::kCondition:
    case OperandKind::kConstant:
      out.kind = Operand::Kind::kExpr;
      out.expr = id;
      return out;
    case OperandKind::kTileOrExpr:
    case OperandKind::kExpr:
      if (id.is_value()) break;
      out.kind = Operand::Kind::kExpr;
      out.expr = id;
      return out;
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
    case OperandKind::kMemoryTile:
    case OperandKind::kSource:
    case OperandKind::kElement:
      break;
  }
  DescribeValue(program, id.value(), out);
  if (row.operands[i].kind == OperandKind::kElement && slot + 1 < slots.size()) {
    out.indices = program.pool().children(slots[slot + 1]);
  }
  return out;
}

// The element type that the operands share: that of the first value among them (behind the
// condition of a select); of expressions alone, what their kind gives.
DType ComputationType(const Program& program, const InstInfo& info) {
  const Opcode opcode = info.inst->opcode;
  if (info.row->Has(kTypeOfResult) && !info.results.empty()) {
    return program.type(info.results[0]).dtype;
  }
  const size_t first = opcode == Opcode::kSelect ? 1 : 0;
  for (size_t i = first; i < kMaxOperands; ++i) {
    const Operand& operand = info.operand[i];
    if (operand.kind == Operand::Kind::kTile || operand.kind == Operand::Kind::kScalar ||
        operand.kind == Operand::Kind::kMemory) {
      return operand.type;
    }
  }
  for (size_t i = first; i < kMaxOperands; ++i) {
    if (info.operand[i].kind != Operand::Kind::kExpr) continue;
    // What is only shown is shown in full.
    return TypeOfKind(KindOf(program, info.operand[i].expr), opcode == Opcode::kPrint);
  }
  return info.results.empty() ? kI32 : program.type(info.results[0]).dtype;
}

}  // namespace

InstInfo Describe(const Program& program, const Inst& inst) {
  InstInfo out;
  out.inst = &inst;
  out.row = &Row(inst.opcode);
  out.location = program.kernel().LocationOf(inst);
  for (const ExprId id : program.kernel().Results(inst)) out.results.push_back(id.value());
  for (size_t i = 0; i < out.row->operands.size(); ++i) {
    out.operand[i] = DescribeOperand(program, inst, i);
  }
  out.type = ComputationType(program, out);
  for (size_t i = 0; i < kMaxOperands; ++i) {
    if (out.operand[i].kind != Operand::Kind::kExpr) continue;
    const bool condition = inst.opcode == Opcode::kSelect && i == 0;
    out.operand[i].type = condition ? kBoolType : out.type;
  }
  return out;
}

ScalarKind KindOf(const Program& program, ExprId expr) { return Kinds(program).Of(expr); }

int64_t IntAttr(const Program& program, const Inst& inst, Attr attr, int64_t otherwise) {
  return program.pool().AsInt(program.kernel().AttrOf(inst, attr)).value_or(otherwise);
}

std::vector<int64_t> ListAttr(const Program& program, const Inst& inst, Attr attr) {
  std::vector<int64_t> out;
  for (const ExprId item : program.pool().children(program.kernel().AttrOf(inst, attr))) {
    out.push_back(program.pool().AsInt(item).value_or(0));
  }
  return out;
}

bool HasAttr(const Program& program, const Inst& inst, Attr attr) {
  return !program.kernel().AttrOf(inst, attr).none();
}

CastOptions CastOptionsOf(const Program& program, const Inst& inst) {
  CastOptions out;
  out.rounding = static_cast<Rounding>(IntAttr(program, inst, Attr::kRounding, 0));
  if (HasAttr(program, inst, Attr::kSat)) out.overflow = Overflow::kSaturate;
  if (HasAttr(program, inst, Attr::kNoSat)) out.overflow = Overflow::kNonSaturating;
  if (HasAttr(program, inst, Attr::kWrap)) out.overflow = Overflow::kWrap;
  return out;
}

namespace {

// Marks what views and slices are made of where they are marked, and then all that is made of it.
void MarkRoots(const Kernel& kernel, std::vector<bool>& marks) {
  const auto each = [&](const Inst& inst, bool towards_root) {
    if (!Row(inst.opcode).MakesView()) return;
    const uint32_t made = kernel.Results(inst)[0].value();
    const uint32_t source = kernel.Slots(inst)[0].value();
    if (marks[towards_root ? made : source]) marks[towards_root ? source : made] = true;
  };
  // A view is made before it is used: one pass from the end reaches the root, one more the rest.
  for (auto inst = kernel.code.rbegin(); inst != kernel.code.rend(); ++inst) each(*inst, true);
  for (const Inst& inst : kernel.code) each(inst, false);
}

}  // namespace

std::vector<bool> WrittenMemory(const Program& program) {
  const Kernel& kernel = program.kernel();
  std::vector<bool> written(program.types().size(), false);
  for (const Inst& inst : kernel.code) {
    if (Row(inst.opcode).WritesMemory()) written[kernel.Slots(inst)[0].value()] = true;
  }
  MarkRoots(kernel, written);
  return written;
}

}  // namespace tarsia::compiler
