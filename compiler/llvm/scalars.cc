// Scalars of the Emitter: variables, expressions of them (isa/scalar_expr.h), arithmetic on indices
// with what is known of them.
#include <algorithm>

#include "compiler/llvm/emitter.h"
#include "layout/text/arithmetic.h"

namespace tarsia::compiler {
namespace {

// No index of a tile comes near.
constexpr int64_t kFar = int64_t{1} << 60;

bool NeverZeroNorMinusOne(const Facts& x) { return x.lo > 0 || x.hi < -1; }

// Emits one expression, node by node.
class Evaluation {
 public:
  explicit Evaluation(Emitter& emitter) : e_(emitter), b_(emitter.b()) {}

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
    if (x.kind == ScalarKind::kBool) return {b_.CreateZExt(x.value, e_.I(64)), x.facts};
    return {x.value, x.facts};
  }

  ScalarValue Constant(const ScalarNode& node) {
    switch (node.kind) {
      case ScalarKind::kInt:
        return Int(e_.ConstantIndex(node.constant.i));
      case ScalarKind::kBool:
        return Truth(e_.Bool(node.constant.i != 0));
      case ScalarKind::kFloat:
        break;
    }
    return Float(llvm::ConstantFP::get(b_.getDoubleTy(), node.constant.f));
  }

  ScalarValue Read(const ScalarNode& node) {
    switch (node.kind) {
      case ScalarKind::kInt:
        return Int(e_.ReadIndex(node.a));
      case ScalarKind::kBool:
        return Truth(e_.ReadScalar(node.a));
      case ScalarKind::kFloat:
        break;
    }
    return Float(e_.elements().Cast(e_.ReadScalar(node.a), node.type, kF64));
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
    return e_.elements().Binary(Opcode::kRem, kF64, x, y);
  }

  IndexValue IntArithmetic(ScalarOp op, const IndexValue& x, const IndexValue& y) {
    if (op == ScalarOp::kNegate) return e_.Subtract(e_.ConstantIndex(0), x);
    if (op == ScalarOp::kAdd) return e_.Add(x, y);
    if (op == ScalarOp::kSubtract) return e_.Subtract(x, y);
    if (op == ScalarOp::kMultiply) return e_.Multiply(x, y);
    if (op == ScalarOp::kDivide) return DivideInt(x, y);
    if (op == ScalarOp::kModulo) return ModuloInt(x, y);
    if (op == ScalarOp::kCeilDivide) return CeilDivideInt(x, y);
    return op == ScalarOp::kMin ? e_.Min(x, y) : e_.Max(x, y);
  }

  IndexValue DivideInt(const IndexValue& x, const IndexValue& y) {
    if (x.facts.IsExact() && y.facts.IsExact()) {
      return e_.ConstantIndex(WrapDivide(x.facts.lo, y.facts.lo));
    }
    const Facts facts = Quotient(x.facts, y.facts);
    if (NeverZeroNorMinusOne(y.facts)) return {b_.CreateSDiv(x.value, y.value), facts};
    llvm::Value* zero = b_.CreateICmpEQ(y.value, e_.Int64(0));
    llvm::Value* minus = b_.CreateICmpEQ(y.value, e_.Int64(-1));
    llvm::Value* safe = b_.CreateSelect(b_.CreateOr(zero, minus), e_.Int64(1), y.value);
    llvm::Value* out = b_.CreateSDiv(x.value, safe);
    out = b_.CreateSelect(minus, b_.CreateNeg(x.value), out);
    return {b_.CreateSelect(zero, e_.Int64(-1), out), facts};
  }

  IndexValue ModuloInt(const IndexValue& x, const IndexValue& y) {
    if (x.facts.IsExact() && y.facts.IsExact()) {
      return e_.ConstantIndex(WrapModulo(x.facts.lo, y.facts.lo));
    }
    const Facts facts = Remainder(x.facts, y.facts);
    if (NeverZeroNorMinusOne(y.facts)) return {b_.CreateSRem(x.value, y.value), facts};
    llvm::Value* zero = b_.CreateICmpEQ(y.value, e_.Int64(0));
    llvm::Value* minus = b_.CreateICmpEQ(y.value, e_.Int64(-1));
    llvm::Value* safe = b_.CreateSelect(b_.CreateOr(zero, minus), e_.Int64(1), y.value);
    llvm::Value* out = b_.CreateSRem(x.value, safe);  // x % -1 = x % 1 = 0
    return {b_.CreateSelect(zero, x.value, out), facts};
  }

  // Rounded up; -1 for y = 0.
  IndexValue CeilDivideInt(const IndexValue& x, const IndexValue& y) {
    const IndexValue quotient = DivideInt(x, y);
    const IndexValue rest = ModuloInt(x, y);
    llvm::Value* inexact = b_.CreateICmpNE(rest.value, e_.Int64(0));
    llvm::Value* same_sign = b_.CreateICmpSGE(b_.CreateXor(x.value, y.value), e_.Int64(0));
    llvm::Value* divides = b_.CreateICmpNE(y.value, e_.Int64(0));
    llvm::Value* up = b_.CreateAnd(b_.CreateAnd(inexact, same_sign), divides);
    const IndexValue one{b_.CreateZExt(up, e_.I(64)), Facts::Between(0, 1)};
    IndexValue out = e_.Add(quotient, one);
    if (const auto* folded = llvm::dyn_cast<llvm::ConstantInt>(out.value)) {
      out.facts = Facts::Exactly(folded->getSExtValue());
    }
    return out;
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
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

llvm::Value* Emitter::ReadScalar(uint32_t value) {
  return builder_.CreateLoad(TypeOf(program_.type(value).dtype), scalars_[value]);
}

void Emitter::WriteScalar(uint32_t value, llvm::Value* element, const Facts& facts) {
  builder_.CreateStore(element, scalars_[value]);
  const DType type = program_.type(value).dtype;
  if (assignments_[value] == 1 && (type.IsInteger() || type.IsBool())) {
    facts_[value] = Both(Facts::OfType(type), facts);
  }
}

IndexValue Emitter::ReadIndex(uint32_t value) {
  const DType type = program_.type(value).dtype;
  llvm::Value* x = ReadScalar(value);
  if (facts_[value].IsExact()) return ConstantIndex(facts_[value].lo);
  return {type.IsSigned() ? builder_.CreateSExt(x, I(64)) : builder_.CreateZExt(x, I(64)),
          facts_[value]};
}

ScalarValue Emitter::Evaluate(ExprId expr) { return Evaluation(*this).Of(program_.scalar(expr)); }

IndexValue Emitter::Index(ExprId expr) {
  const ScalarValue x = Evaluate(expr);
  if (x.kind != ScalarKind::kBool) return {x.value, x.facts};
  return {builder_.CreateZExt(x.value, I(64)), x.facts};
}

llvm::Value* Emitter::Condition(ExprId expr) {
  const ScalarValue x = Evaluate(expr);
  if (x.kind == ScalarKind::kBool) return x.value;
  return builder_.CreateICmpNE(x.value, llvm::Constant::getNullValue(x.value->getType()));
}

// The value rounded once to the type, as `cast` from i64, f64 or bool does it; integers computed
// at run time keep their low bits.
llvm::Value* Emitter::ScalarOperand(size_t i) {
  const Operand& operand = inst_->operand[i];
  if (operand.kind == Operand::Kind::kScalar) return ReadScalar(operand.value);
  const DType type = operand.type;
  const ScalarValue x = Evaluate(operand.expr);
  const bool wrap = !program_.scalar(operand.expr).IsConstant() && type.IsInteger();
  if (const auto code = ConstantCode(x, type, wrap)) return Constant(type, *code);
  switch (x.kind) {
    case ScalarKind::kFloat:
      return elements_->Cast(x.value, kF64, type);
    case ScalarKind::kBool:
      return elements_->Cast(x.value, kBoolType, type);
    case ScalarKind::kInt:
      break;
  }
  CastOptions options;
  if (wrap) options.overflow = Overflow::kWrap;
  return elements_->Cast(x.value, kI64, type, options);
}

IndexValue Emitter::Add(const IndexValue& a, const IndexValue& c) {
  return {builder_.CreateAdd(a.value, c.value), a.facts + c.facts};
}

IndexValue Emitter::Subtract(const IndexValue& a, const IndexValue& c) {
  return {builder_.CreateSub(a.value, c.value), a.facts - c.facts};
}

IndexValue Emitter::Multiply(const IndexValue& a, const IndexValue& c) {
  return {builder_.CreateMul(a.value, c.value), a.facts * c.facts};
}

IndexValue Emitter::Min(const IndexValue& a, const IndexValue& c) {
  if (a.facts.hi <= c.facts.lo) return a;
  if (c.facts.hi <= a.facts.lo) return c;
  return {builder_.CreateSelect(builder_.CreateICmpSLT(a.value, c.value), a.value, c.value),
          Smaller(a.facts, c.facts)};
}

IndexValue Emitter::Max(const IndexValue& a, const IndexValue& c) {
  if (a.facts.lo >= c.facts.hi) return a;
  if (c.facts.lo >= a.facts.hi) return c;
  return {builder_.CreateSelect(builder_.CreateICmpSGT(a.value, c.value), a.value, c.value),
          Larger(a.facts, c.facts)};
}

IndexValue Emitter::Saturate(const IndexValue& a) {
  return Min(Max(a, ConstantIndex(-kFar)), ConstantIndex(kFar));
}

}  // namespace tarsia::compiler
