#include "isa/validate/operand_checker.h"

#include <fmt/format.h>

#include "isa/validate/value_types.h"

namespace tarsia {
namespace {

std::string_view DescribeKind(const OperandRow& row) {
  switch (row.kind) {
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
      return "a register tile";
    case OperandKind::kTileOrExpr:
      return "a register tile or a scalar expression";
    case OperandKind::kExpr:
      return "a scalar expression";
    case OperandKind::kIndex:
      return "an integer expression";
    case OperandKind::kCondition:
      return "a boolean expression";
    case OperandKind::kConstant:
      return "a constant integer";
    case OperandKind::kMemoryTile:
    case OperandKind::kElement:
      return DescribeMemory(row);
    case OperandKind::kSource:
      return "a pointer or a tile";
    case OperandKind::kText:
      return "a string";
  }
  return "?";
}

bool IsTileIn(const ValueType& type, bool registers) {
  return type.kind == ValueKind::kTile && (type.space == Space::kRegister) == registers;
}

}  // namespace

bool OperandChecker::Check(const Inst& inst, const InstRow& row) {
  bool ok = true;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    if (row.Slot(i) >= inst.slots) continue;
    const CheckedOperand operand = operands_.Get(inst, i);
    if (!scopes_.Contains(operand.id, operand.location)) {
      ok = false;
    } else if (operand.type == nullptr) {
      ok &= CheckExpression(row, i, operand);
    } else {
      ok &= operand.type->known && CheckValue(inst, row, i, operand);
    }
  }
  return ok;
}

bool OperandChecker::WrongKind(const InstRow& row, size_t i, const CheckedOperand& operand) {
  Diagnostic& error =
      context_.Error(diag::kOperandKind, operand.location, operand.name, row.mnemonic,
                     DescribeKind(row.operands[i]), "`" + context_.Text(operand.id) + "`",
                     operands_.Describe(operand));
  if (operand.type != nullptr && operand.type->kind == ValueKind::kPointer) {
    error.help = "`view` makes a tile of a pointer";
  } else if (operand.IsTile() && operand.type->space != Space::kRegister &&
             row.operands[i].kind != OperandKind::kMemoryTile) {
    error.help = "`load` brings a tile into registers";
  }
  return false;
}

// ---- values ----------------------------------------------------------------------------------

bool OperandChecker::CheckValue(const Inst& inst, const InstRow& row, size_t i,
                                const CheckedOperand& operand) {
  if (!CheckValueKind(row, i, operand)) return false;
  const ValueType& type = *operand.type;
  const Space space = row.operands[i].space;
  if (IsTileIn(type, /*registers=*/false) && space != Space::kNone && space != type.space) {
    context_.Error(diag::kSpace, operand.location, operand.name, row.mnemonic, SpaceName(space),
                   context_.kernel().ValueName(operand.id.value()), context_.Describe(type));
    return false;
  }
  const bool has_indices = row.operands[i].kind == OperandKind::kElement;
  return (!has_indices || CheckIndices(inst, i, operand)) && CheckDType(row, i, operand);
}

bool OperandChecker::CheckValueKind(const InstRow& row, size_t i, const CheckedOperand& operand) {
  const ValueType& type = *operand.type;
  const bool scalar = type.kind == ValueKind::kScalar;
  const bool in_registers = IsTileIn(type, /*registers=*/true);
  bool fits = false;
  switch (row.operands[i].kind) {
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
      fits = in_registers;
      break;
    case OperandKind::kTileOrExpr:
      fits = in_registers || scalar;
      break;
    case OperandKind::kExpr:
      fits = scalar;
      break;
    case OperandKind::kIndex: {
      const auto dtype = context_.pool().AsDType(type.dtype);
      fits = scalar && (!dtype || dtype->IsInteger());
      if (scalar && !fits) {
        context_.Error(diag::kIndexType, operand.location,
                       context_.kernel().ValueName(operand.id.value()), context_.Describe(type));
        return false;
      }
      break;
    }
    case OperandKind::kCondition: {
      const auto dtype = context_.pool().AsDType(type.dtype);
      fits = scalar && (!dtype || *dtype == kBoolType);
      if (!fits) {
        Diagnostic& error =
            context_.Error(diag::kConditionType, operand.location, context_.Describe(type));
        if (type.kind == ValueKind::kTile) error.help = "a condition is one scalar";
        return false;
      }
      break;
    }
    case OperandKind::kMemoryTile:
    case OperandKind::kElement:
      fits = IsTileIn(type, /*registers=*/false);
      break;
    case OperandKind::kSource:
      fits = !scalar;
      break;
    case OperandKind::kConstant:
    case OperandKind::kText:
      break;
  }
  return fits || WrongKind(row, i, operand);
}

bool OperandChecker::CheckDType(const InstRow& row, size_t i, const CheckedOperand& operand) {
  const auto dtype = context_.pool().AsDType(operand.type->dtype);
  if (!dtype || Contains(row.operands[i].types, *dtype)) return true;
  Diagnostic& error =
      context_.Error(diag::kOperandType, operand.location, operand.name, row.mnemonic,
                     Describe(row.operands[i].types), DTypeName(*dtype));
  if (LowPrecision(*dtype)) {
    error.help = "low-precision types load, store, move and cast; `cast` it first";
  }
  return false;
}

bool OperandChecker::CheckIndices(const Inst& inst, size_t i, const CheckedOperand& tile) {
  const ExprPool& pool = context_.pool();
  const Kernel& kernel = context_.kernel();
  const ExprId list = operands_.Indices(inst, i);
  const Location location = kernel.ArgLocation(inst, inst.results + Row(inst.opcode).Slot(i) + 1);
  const size_t rank = Rank(pool, tile.type->shape);
  const size_t given = pool.children(list).size();
  if (pool.kind(list) != ExprKind::kList || given != rank) {
    context_.Error(diag::kIndexRank, location, kernel.ValueName(tile.id.value()),
                   fmt::format("{} dimension{}", rank, rank == 1 ? "" : "s"),
                   fmt::format("{} {}", given, given == 1 ? "index is" : "indices are"));
    return false;
  }
  if (!scopes_.Contains(list, location)) return false;
  bool ok = true;
  for (size_t d = 0; d < rank; ++d) {
    const ExprId index = pool.children(list)[d];
    ok &= expressions_.ExpectKind(index, ExprType::kInt, "an index", location) &&
          expressions_.ComputeConstant(index, location);
  }
  return ok;
}

// ---- expressions -----------------------------------------------------------------------------

bool OperandChecker::CheckExpression(const InstRow& row, size_t i, const CheckedOperand& operand) {
  switch (row.operands[i].kind) {
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
    case OperandKind::kMemoryTile:
    case OperandKind::kElement:
    case OperandKind::kSource:
      return WrongKind(row, i, operand);
    case OperandKind::kText:
      if (context_.pool().kind(operand.id) == ExprKind::kString) return true;
      return WrongKind(row, i, operand);
    case OperandKind::kIndex:
      return expressions_.ExpectKind(operand.id, ExprType::kInt, "`{}`", operand.location,
                                     operand.name) &&
             expressions_.ComputeConstant(operand.id, operand.location);
    case OperandKind::kCondition:
      return CheckCondition(operand.id, operand.location);
    case OperandKind::kConstant:
      if (!context_.pool().UsesValues(operand.id)) return CheckNumber(row, i, operand);
      context_.Error(diag::kNotConstant, operand.location,
                     fmt::format("operand `{}`", operand.name));
      return false;
    case OperandKind::kTileOrExpr:
    case OperandKind::kExpr:
      return CheckNumber(row, i, operand);
  }
  return false;
}

bool OperandChecker::CheckCondition(ExprId id, Location location) {
  const size_t before = context_.error_count();
  const ExprType found = expressions_.TypeOf(id, location);
  if (context_.error_count() != before) return false;
  if (found == ExprType::kBool || found == ExprType::kUnknown) {
    return expressions_.ComputeConstant(id, location);
  }
  context_.Error(diag::kConditionType, location, ExprTypeName(found));
  return false;
}

bool OperandChecker::CheckNumber(const InstRow& row, size_t i, const CheckedOperand& operand) {
  const size_t before = context_.error_count();
  const ExprType kind = expressions_.TypeOf(operand.id, operand.location);
  if (context_.error_count() != before) return false;
  const bool is_text = context_.pool().kind(operand.id) == ExprKind::kString;
  const bool integer = kind == ExprType::kInt || kind == ExprType::kUnknown;
  const bool number = integer || kind == ExprType::kFloat || kind == ExprType::kBool;
  const bool needs_integer = row.operands[i].kind == OperandKind::kConstant;
  if (needs_integer ? integer : number && !is_text) {
    return expressions_.ComputeConstant(operand.id, operand.location);
  }
  context_.Error(diag::kExpressionKind, operand.location, fmt::format("operand `{}`", operand.name),
                 needs_integer ? "an integer" : "a number",
                 is_text ? "a string" : ExprTypeName(kind));
  return false;
}

}  // namespace tarsia
