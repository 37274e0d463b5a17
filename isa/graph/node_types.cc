#include "isa/graph/node_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "dtypes/convert.h"
#include "isa/literal.h"

namespace tarsia {
namespace {

DType PartOf(DType type) { return type.IsComplex() ? ComponentOf(type) : type; }

}  // namespace

bool NodeTypes::CheckForms(const GraphNode& node) {
  node_ = &node;
  row_ = &Row(node.op);
  bool ok = true;
  for (size_t i = 0; i < row_->operands.size(); ++i) ok = CheckForm(i) && ok;
  return ok;
}

std::optional<ExprId> NodeTypes::Of(const GraphNode& node) {
  node_ = &node;
  row_ = &Row(node.op);
  bool ok = true;
  const auto common = Common();
  if (!common) return std::nullopt;
  for (size_t i = 0; i < row_->operands.size(); ++i) {
    const OperandUse use = row_->operands[i].use;
    const ExprId dtype = use == OperandUse::kCommon ? *common : TypeOf(i);
    if (dtype.none()) continue;
    ok = (Operand(i).is_value() ? CheckClass(i, dtype) : CheckLiteral(i, dtype)) && ok;
  }
  return ok ? ResultOf(*common) : std::nullopt;
}

bool NodeTypes::CheckForm(size_t operand) {
  const GraphOperand& row = row_->operands[operand];
  if (!Operand(operand).is_value()) {
    if (row_->TakesConstant(operand)) return CheckConstant(operand);
    context_
        .Error(diag::kGraphOperandForm, At(operand), row.name, row_->word,
               "a value, not a constant")
        .help = "`cast<f32>(..)` makes a value of a constant";
    return false;
  }
  if (row.use == OperandUse::kNumber) {
    context_.Error(diag::kGraphOperandForm, At(operand), row.name, row_->word, "a constant");
    return false;
  }
  if (row.use != OperandUse::kSeed || context_.type(Operand(operand).value()).axes.empty()) {
    return true;
  }
  context_.Error(diag::kGraphOperandForm, At(operand), row.name, row_->word, "without axes");
  return false;
}

bool NodeTypes::CheckConstant(size_t operand) {
  const GraphOperand& row = row_->operands[operand];
  bool ok = true;
  const ExprType kind = context_.KindOf(Operand(operand), At(operand), &ok);
  if (!ok) return false;
  const bool whole = row.use == OperandUse::kNumber || row.use == OperandUse::kSeed;
  const bool number =
      kind == ExprType::kInt || (!whole && (kind == ExprType::kFloat || kind == ExprType::kBool));
  if (number || kind == ExprType::kUnknown) {
    if (whole) context_.KnownInt(Operand(operand), At(operand));
    return true;
  }
  context_.Error(diag::kGraphKind, At(operand),
                 fmt::format("operand `{}` of `{}`", row.name, row_->word),
                 whole ? "an integer" : "a number or a truth value", ExprTypeName(kind));
  return false;
}

std::optional<ExprId> NodeTypes::Common() {
  const ExprPool& pool = context_.pool();
  size_t first = kMaxGraphOperands;
  bool any = false;
  bool any_value = false;
  for (size_t i = 0; i < row_->operands.size(); ++i) {
    if (row_->operands[i].use != OperandUse::kCommon) continue;
    any = true;
    any_value = any_value || Operand(i).is_value();
    const ExprId dtype = TypeOf(i);
    if (dtype.none()) continue;
    if (first == kMaxGraphOperands) {
      first = i;
      continue;
    }
    const ExprId other = TypeOf(first);
    if (dtype == other || !pool.AsDType(dtype) || !pool.AsDType(other)) continue;
    context_.Error(diag::kGraphTypes, At(i), row_->word, row_->operands[first].name,
                   context_.Text(other), row_->operands[i].name, context_.Text(dtype));
    return std::nullopt;
  }
  if (first != kMaxGraphOperands) return TypeOf(first);
  if (any_value || !any) return ExprId();
  context_.Error(diag::kGraphNoType, node_->location, row_->word);
  return std::nullopt;
}

bool NodeTypes::CheckClass(size_t operand, ExprId dtype) {
  const auto known = context_.pool().AsDType(dtype);
  const GraphOperand& row = row_->operands[operand];
  if (!known || Contains(row.types, *known)) return true;
  Diagnostic& error = context_.Error(diag::kGraphOperandType, At(operand), row.name, row_->word,
                                     Describe(row.types), DTypeName(*known));
  error.help = "`cast` converts";
  return false;
}

// Integers divide as sizes do, toward zero: beside floats that is hardly ever meant.
bool NodeTypes::CheckQuotients(size_t operand, DType dtype) {
  const ExprId quotient = context_.InexactQuotient(Operand(operand));
  if (quotient.none()) return true;
  ExprPool& pool = context_.pool();
  const ExprId a = pool.children(quotient)[0];
  const ExprId b = pool.children(quotient)[1];
  const bool first = pool.kind(a) == ExprKind::kInt;
  const bool second = pool.kind(b) == ExprKind::kInt;
  const ExprId one = pool.Float(1);
  const auto real = [&](ExprId id) { return pool.Float(static_cast<double>(*pool.AsInt(id))); };
  const ExprId better =
      first    ? pool.Binary(BinaryOp::kDivide, real(a), b)
      : second ? pool.Binary(BinaryOp::kDivide, a, real(b))
               : pool.Binary(BinaryOp::kDivide, pool.Binary(BinaryOp::kMultiply, one, a), b);
  context_
      .Error(diag::kGraphQuotient, At(operand), context_.Text(quotient),
             context_.Text(context_.Fold(quotient)), DTypeName(dtype))
      .help = fmt::format("write `{}`", context_.Text(better));
  return false;
}

bool NodeTypes::CheckLiteral(size_t operand, ExprId dtype) {
  const auto known = context_.pool().AsDType(dtype);
  if (!known) return true;
  if ((known->IsFloat() || known->IsComplex()) && !CheckQuotients(operand, *known)) return false;
  const ExprType kind = context_.KindOf(Operand(operand), At(operand), nullptr);
  const ExprId folded = context_.Fold(Operand(operand));
  if (kind == ExprType::kUnknown || IsLiteralOf(*known, context_.pool(), folded, kind)) return true;
  Diagnostic& error = context_.Error(diag::kGraphLiteral, At(operand),
                                     context_.Text(Operand(operand)), DTypeName(*known));
  if (known->IsFloat() && kind != ExprType::kBool) {
    error.help = fmt::format("the largest finite value is {}",
                             DecodeToString(*known, MaxFiniteCode(*known)));
  }
  return false;
}

// ---- results ---------------------------------------------------------------------------------

ExprId NodeTypes::Mapped(ExprId dtype, DType (*map)(DType)) {
  const auto known = context_.pool().AsDType(dtype);
  return known ? context_.pool().Type(map(*known)) : ExprId();
}

std::optional<ExprId> NodeTypes::Given() {
  if (!context_.ExpectKind(node_->dtype, ExprType::kDType, "what stands between `<` and `>`",
                           node_->location)) {
    return std::nullopt;
  }
  const ExprId dtype = context_.Fold(node_->dtype);
  if (!Operand(0).is_value()) {
    return CheckLiteral(0, dtype) ? std::optional(dtype) : std::nullopt;
  }
  const auto from = context_.pool().AsDType(TypeOf(0));
  const auto to = context_.pool().AsDType(dtype);
  if (from && to && from->IsComplex() != to->IsComplex()) {
    context_.Error(diag::kGraphCast, node_->location, DTypeName(*from), DTypeName(*to));
    return std::nullopt;
  }
  return dtype;
}

// A type that follows from an open one is not known: then the expression is none.
std::optional<ExprId> NodeTypes::ResultOf(ExprId common) {
  ExprPool& pool = context_.pool();
  const bool any = std::any_of(row_->operands.begin(), row_->operands.end(),
                               [](const auto& row) { return row.use == OperandUse::kCommon; });
  const ExprId own = any || row_->operands.size() == 0 ? common : TypeOf(0);
  switch (row_->result) {
    case GraphResult::kSameResult:
    case GraphResult::kValueAndIndexResult:
      return own;
    case GraphResult::kBoolResult:
      return pool.Type(kBoolType);
    case GraphResult::kInt64Result:
      return pool.Type(kI64);
    case GraphResult::kUInt32Result:
      return pool.Type(kU32);
    case GraphResult::kFloat32Result:
      return pool.Type(kF32);
    case GraphResult::kGivenResult:
      return Given();
    case GraphResult::kRealResult:
      return Mapped(own, &PartOf);
    case GraphResult::kComplexResult:
      return Mapped(own, &ComplexOf);
    case GraphResult::kAccumulatorResult:
      return Mapped(own, &AccumulatorOf);
    case GraphResult::kSecondResult:
      return TypeOf(1);
  }
  return std::nullopt;
}

}  // namespace tarsia
