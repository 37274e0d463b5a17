#include "tests/random/coverage.h"

namespace tarsia {
namespace {

bool HasElementType(OperandKind kind) {
  switch (kind) {
    case OperandKind::kTile:
    case OperandKind::kTileOrExpr:
    case OperandKind::kMemoryTile:
    case OperandKind::kElement:
      return true;
    case OperandKind::kOptionalTile:
    case OperandKind::kExpr:
    case OperandKind::kIndex:
    case OperandKind::kCondition:
    case OperandKind::kConstant:
    case OperandKind::kSource:
    case OperandKind::kText:
      return false;
  }
  return false;
}

// The element types of the results of an instruction without key operand.
std::optional<TypeClass> ResultTypes(Opcode opcode) {
  if (opcode == Opcode::kFor) return TypeClass::kIntegerType;
  if (opcode == Opcode::kIota) return TypeClass::kArithmeticType;
  if (opcode == Opcode::kRand) return TypeClass::kRandomType;
  const InstRow& row = Row(opcode);
  if (row.results.size() == 0 || row.results[0].kind == ResultKind::kScalar) return std::nullopt;
  return TypeClass::kAnyType;
}

std::vector<Pair> MakePairs() {
  std::vector<Pair> pairs;
  for (const InstRow& row : AllInstructions()) {
    const auto key = KeyOperand(row);
    const auto types = key ? row.operands[*key].types : ResultTypes(row.opcode);
    if (!types) {
      pairs.emplace_back(row.opcode, 0);
      continue;
    }
    for (const DTypeRow& type : AllDTypes()) {
      if (Contains(*types, type.type)) pairs.emplace_back(row.opcode, type.code);
    }
  }
  return pairs;
}

uint8_t CodeOf(const Module& module, const std::vector<ValueType>& types, ExprId value) {
  const auto type = module.pool.AsDType(types[value.value()].dtype);
  return type ? DTypeCode(*type) : 0;
}

// The first operand from `first` on that is not a constant: all have one type.
ExprId FirstValue(const Kernel& kernel, const Inst& inst, const InstRow& row, size_t first) {
  for (size_t i = first; i < row.operands.size() && row.Slot(i) < inst.slots; ++i) {
    const ExprId operand = kernel.Slots(inst)[row.Slot(i)];
    if (operand.is_value()) return operand;
  }
  return {};
}

}  // namespace

std::optional<size_t> KeyOperand(const InstRow& row) {
  for (size_t i = 0; i < row.operands.size(); ++i) {
    const OperandRow& operand = row.operands[i];
    if (HasElementType(operand.kind) && operand.role != Role::kCondition) return i;
  }
  return std::nullopt;
}

const std::vector<Pair>& AllPairs() {
  static const std::vector<Pair> pairs = MakePairs();
  return pairs;
}

std::string PairName(const Pair& pair) {
  std::string name(Row(pair.first).mnemonic);
  if (const auto type = DTypeFromCode(pair.second)) name += " " + std::string(DTypeName(*type));
  return name;
}

void CountPairs(const ValidModule& valid, std::map<Pair, int>& counts) {
  const Module& module = valid.module();
  for (size_t k = 0; k < module.kernels.size(); ++k) {
    const Kernel& kernel = module.kernels[k];
    for (const Inst& inst : kernel.code) {
      const InstRow& row = Row(inst.opcode);
      const auto key = KeyOperand(row);
      ExprId about = key ? FirstValue(kernel, inst, row, *key) : ExprId();
      const bool by_result =
          key ? about.none() && inst.results > 0 : ResultTypes(inst.opcode).has_value();
      if (by_result) about = kernel.Results(inst)[0];
      if (about.is_value()) {
        ++counts[{inst.opcode, CodeOf(module, valid.types(k), about)}];
      } else {
        ++counts[{inst.opcode, uint8_t{0}}];
      }
    }
  }
}

}  // namespace tarsia
