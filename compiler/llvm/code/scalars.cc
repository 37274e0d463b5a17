#include "compiler/llvm/code/scalars.h"

#include <optional>

namespace tarsia::compiler {
namespace {

// Emits one expression, node by node.
class Evaluation {
 public:
  Evaluation(Scalars& scalars, llvm::IRBuilder<>& builder, ElementEmitter& elements,
             IndexArithmetic& index)
      : scalars_(scalars), b_(builder), elements_(elements), index_(index) {}

  ScalarValue Of(const ScalarExpr& expr) {
    const llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
    b_.clearFastMathFlags();  // expressions of scalars are never contracted
    for (const ScalarNode& node : expr.nodes()) values_.push_back(Emit(node));
    return values_.back();
  }

 private:
  static ScalarValue Int(const IndexValue& x) { return {ScalarKind::kInt, x.value, x.facts}; }
  static ScalarValue Truth(llvm::Value* x) { return {ScalarKind::kBool, x, Facts::Between(0, 1)}; }
  static ScalarValue Float(llvm::Value* x) { return {ScalarKind::kFloat, x, {}}; }

  // A result as i64; a truth value, which is i1, is 0 or 1.
  IndexValue AsInt(uint32_t node) {
    const ScalarValue& x = values_[node];
    if (x.kind == ScalarKind::kBool) return {b_.CreateZExt(x.value, b_.getInt64Ty()), x.facts};
    return {x.value, x.facts};
  }

  ScalarValue Constant(const ScalarNode& node) {
    switch (node.kind) {
      case ScalarKind::kInt:
        return Int(index_.Constant(node.constant.i));
      case ScalarKind::kBool:
        return Truth(b_.getInt1(node.constant.i != 0));
      case ScalarKind::kFloat:
        break;
    }
    return Float(llvm::ConstantFP::get(b_.getDoubleTy(), node.constant.f));
  }

  ScalarValue Read(const ScalarNode& node) {
    switch (node.kind) {
      case ScalarKind::kInt:
        return Int(scalars_.ReadIndex(node.a));
      case ScalarKind::kBool:
        return Truth(scalars_.Read(node.a));
      case ScalarKind::kFloat:
        break;
    }
    return Float(elements_.Cast(scalars_.Read(node.a), node.type, kF64));
  }

  ScalarValue Comparison(llvm::CmpInst::Predicate ints, llvm::CmpInst::Predicate floats,
                         const ScalarNode& node) {
    if (node.is_float) return Truth(b_.CreateFCmp(floats, Result(node.a), Result(node.b)));
    const IndexValue x = AsInt(node.a);
    const IndexValue y = AsInt(node.b);
    return Truth(b_.CreateICmp(ints, x.value, y.value));
  }

  llvm::Value* Result(uint32_t node) const { return values_[node].value; }

  ScalarValue Emit(const ScalarNode& node) {
    switch (node.op) {
      case ScalarOp::kConstant:
        return Constant(node);
      case ScalarOp::kScalar:
        return Read(node);
      case ScalarOp::kIntToFloat:
        return Float(b_.CreateSIToFP(AsInt(node.a).value, b_.getDoubleTy()));
      case ScalarOp::kNot:
        return Truth(b_.CreateNot(Result(node.a)));
      case ScalarOp::kAnd:
        return Truth(b_.CreateAnd(Result(node.a), Result(node.b)));
      case ScalarOp::kOr:
        return Truth(b_.CreateOr(Result(node.a), Result(node.b)));
      case ScalarOp::kEqual:
        return Comparison(llvm::CmpInst::ICMP_EQ, llvm::CmpInst::FCMP_OEQ, node);
      case ScalarOp::kNotEqual:
        return Comparison(llvm::CmpInst::ICMP_NE, llvm::CmpInst::FCMP_UNE, node);
      case ScalarOp::kLess:
        return Comparison(llvm::CmpInst::ICMP_SLT, llvm::CmpInst::FCMP_OLT, node);
      case ScalarOp::kLessEqual:
        return Comparison(llvm::CmpInst::ICMP_SLE, llvm::CmpInst::FCMP_OLE, node);
      case ScalarOp::kGreater:
        return Comparison(llvm::CmpInst::ICMP_SGT, llvm::CmpInst::FCMP_OGT, node);
      case ScalarOp::kGreaterEqual:
        return Comparison(llvm::CmpInst::ICMP_SGE, llvm::CmpInst::FCMP_OGE, node);
      case ScalarOp::kNegate:
      case ScalarOp::kAdd:
      case ScalarOp::kSubtract:
      case ScalarOp::kMultiply:
      case ScalarOp::kDivide:
      case ScalarOp::kModulo:
      case ScalarOp::kCeilDivide:
      case ScalarOp::kMin:
      case ScalarOp::kMax:
        break;
    }
    if (node.is_float) return Float(FloatArithmetic(node.op, Result(node.a), Result(node.b)));
    return Int(IntArithmetic(node.op, AsInt(node.a), AsInt(node.b)));
  }

  llvm::Value* FloatArithmetic(ScalarOp op, llvm::Value* x, llvm::Value* y) {
    if (op == ScalarOp::kNegate) return b_.CreateFNeg(x);
    if (op == ScalarOp::kAdd) return b_.CreateFAdd(x, y);
    if (op == ScalarOp::kSubtract) return b_.CreateFSub(x, y);
    if (op == ScalarOp::kMultiply) return b_.CreateFMul(x, y);
    if (op == ScalarOp::kDivide) return b_.CreateFDiv(x, y);
    return elements_.Binary(Opcode::kRem, kF64, x, y);
  }

  IndexValue IntArithmetic(ScalarOp op, const IndexValue& x, const IndexValue& y) {
    if (op == ScalarOp::kNegate) return index_.Subtract(index_.Constant(0), x);
    if (op == ScalarOp::kAdd) return index_.Add(x, y);
    if (op == ScalarOp::kSubtract) return index_.Subtract(x, y);
    if (op == ScalarOp::kMultiply) return index_.Multiply(x, y);
    if (op == ScalarOp::kDivide) return index_.Divide(x, y);
    if (op == ScalarOp::kModulo) return index_.Modulo(x, y);
    if (op == ScalarOp::kCeilDivide) return index_.CeilDivide(x, y);
    return op == ScalarOp::kMin ? index_.Min(x, y) : index_.Max(x, y);
  }

  Scalars& scalars_;
  llvm::IRBuilder<>& b_;
  ElementEmitter& elements_;
  IndexArithmetic& index_;
  std::vector<ScalarValue> values_;  // by node
};

// The code of a constant, if it is one.
std::optional<uint64_t> ConstantCode(const ScalarValue& x, DType type, bool wrap) {
  if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(x.value)) {
    return EncodeFromDouble(type, real->getValueAPF().convertToDouble());
  }
  const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(x.value);
  if (integer == nullptr) return std::nullopt;
  if (x.kind == ScalarKind::kBool) return CastCode(kBoolType, integer->getZExtValue(), type);
  CastOptions options;
  if (wrap) options.overflow = Overflow::kWrap;
  return CastCode(kI64, integer->getZExtValue(), type, options);
}

}  // namespace

Scalars::Scalars(const Program& program, FunctionBuilder& function, CurrentValues& values,
                 ElementEmitter& elements, IndexArithmetic& index)
    : program_(program),
      f_(function),
      b_(function.b()),
      values_(values),
      elements_(elements),
      index_(index),
      known_(CollectScalarFacts(program)) {
  const auto& params = program.kernel().params;
  for (uint32_t i = 0; i < params.size(); ++i) {
    if (params[i].is_pointer) continue;
    values_.Assign(i, {FromCode(b_, f_.Argument(i), program.type(i).dtype)});
  }
}

void Scalars::Write(uint32_t value, llvm::Value* element, const Facts& facts) {
  values_.Assign(value, {element});
  const DType type = program_.type(value).dtype;
  if (known_.assigned_once[value] && (type.IsInteger() || type.IsBool())) {
    known_.facts[value] = Both(Facts::OfType(type), facts);
  }
}

IndexValue Scalars::ReadIndex(uint32_t value) {
  const Facts& facts = known_.facts[value];
  llvm::Value* x = Read(value);
  if (facts.IsExact()) return index_.Constant(facts.lo);
  return {index_.Extend(x, program_.type(value).dtype), facts};
}

ScalarValue Scalars::Evaluate(ExprId expr) {
  return Evaluation(*this, b_, elements_, index_).Of(program_.scalar(expr));
}

IndexValue Scalars::Index(ExprId expr) {
  const ScalarValue x = Evaluate(expr);
  if (x.kind != ScalarKind::kBool) return {x.value, x.facts};
  return {b_.CreateZExt(x.value, b_.getInt64Ty()), x.facts};
}

std::vector<IndexValue> Scalars::Indices(const Operand& operand) {
  std::vector<IndexValue> out;
  for (const ExprId index : program_.pool().children(operand.indices)) out.push_back(Index(index));
  return out;
}

llvm::Value* Scalars::Condition(ExprId expr) {
  const ScalarValue x = Evaluate(expr);
  if (x.kind == ScalarKind::kBool) return x.value;
  return b_.CreateICmpNE(x.value, llvm::Constant::getNullValue(x.value->getType()));
}

// The value rounded once to the type, as `cast` from i64, f64 or bool does it; integers computed
// at run time keep their low bits.
llvm::Value* Scalars::Element(const Operand& operand) {
  if (operand.kind == Operand::Kind::kScalar) return Read(operand.value);
  const DType type = operand.type;
  const ScalarValue x = Evaluate(operand.expr);
  const bool wrap = !program_.scalar(operand.expr).IsConstant() && type.IsInteger();
  if (const auto code = ConstantCode(x, type, wrap)) return f_.Constant(type, *code);
  switch (x.kind) {
    case ScalarKind::kFloat:
      return elements_.Cast(x.value, kF64, type);
    case ScalarKind::kBool:
      return elements_.Cast(x.value, kBoolType, type);
    case ScalarKind::kInt:
      break;
  }
  CastOptions options;
  if (wrap) options.overflow = Overflow::kWrap;
  return elements_.Cast(x.value, kI64, type, options);
}

}  // namespace tarsia::compiler
