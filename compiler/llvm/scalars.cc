// Scalars of the Emitter: variables, expressions of them, arithmetic on indices with what is known
// of them. Integers are 64 bits and wrap; x / 0 is -1 and x % 0 is x; / and % truncate. Where a
// float takes part, both sides are f64.
#include <algorithm>
#include <cmath>

#include "compiler/llvm/emitter.h"

namespace tarsia::compiler {
namespace {

// No index of a tile comes near.
constexpr int64_t kFar = int64_t{1} << 60;

int64_t Divide(int64_t a, int64_t b) {
  if (b == 0) return -1;
  return b == -1 ? static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a)) : a / b;
}

int64_t Modulo(int64_t a, int64_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}

bool NeverZeroNorMinusOne(const Facts& x) { return x.lo > 0 || x.hi < -1; }

// Translates one expression; parts that it shares are computed once.
class Evaluation {
 public:
  explicit Evaluation(Emitter& emitter) : e_(emitter), b_(emitter.b()) {}

  ScalarValue Of(ExprId expr) {
    const auto known = known_.find(expr.raw());
    if (known != known_.end()) return known->second;
    const ScalarValue value = Make(expr);
    known_[expr.raw()] = value;
    return value;
  }

 private:
  const ExprPool& pool() const { return e_.program().pool(); }

  static ScalarValue Int(const IndexValue& x) { return {ScalarKind::kInt, x.value, x.facts}; }
  static ScalarValue Truth(llvm::Value* x) { return {ScalarKind::kBool, x, Facts::Between(0, 1)}; }
  static ScalarValue Float(llvm::Value* x) { return {ScalarKind::kFloat, x, {}}; }

  // As i64, i1 or double, whatever it was.
  IndexValue AsInt(const ScalarValue& x) {
    if (x.kind == ScalarKind::kBool) return {b_.CreateZExt(x.value, e_.I(64)), x.facts};
    return {x.value, x.facts};
  }
  llvm::Value* AsBool(const ScalarValue& x) {
    if (x.kind == ScalarKind::kBool) return x.value;
    return b_.CreateICmpNE(x.value, llvm::Constant::getNullValue(x.value->getType()));
  }
  llvm::Value* AsFloat(const ScalarValue& x) {
    if (x.kind == ScalarKind::kFloat) return x.value;
    return b_.CreateSIToFP(AsInt(x).value, b_.getDoubleTy());
  }

  ScalarValue Make(ExprId expr) {
    switch (pool().kind(expr)) {
      case ExprKind::kInt:
        return Int(e_.ConstantIndex(*pool().AsInt(expr)));
      case ExprKind::kFloat:
        return Float(llvm::ConstantFP::get(b_.getDoubleTy(), *pool().AsFloat(expr)));
      case ExprKind::kBool:
        return Truth(e_.Bool(*pool().AsBool(expr)));
      case ExprKind::kValue:
        return Read(expr.value());
      case ExprKind::kUnary:
        return MakeUnary(expr);
      case ExprKind::kBinary:
        return MakeBinary(expr);
      case ExprKind::kCall:
        return MakeCall(expr);
      case ExprKind::kNone:
      case ExprKind::kDType:
      case ExprKind::kString:
      case ExprKind::kName:
      case ExprKind::kFragment:
      case ExprKind::kKeyword:
      case ExprKind::kReplicate:
      case ExprKind::kList:
        break;  // no scalar expression: validation lets none through
    }
    return Int(e_.ConstantIndex(0));
  }

  ScalarValue Read(uint32_t value) {
    const DType type = e_.program().type(value).dtype;
    if (type.IsBool()) return Truth(e_.ReadScalar(value));
    if (type.IsInteger()) return Int(e_.ReadIndex(value));
    return Float(e_.elements().Cast(e_.ReadScalar(value), type, kF64));
  }

  ScalarValue MakeUnary(ExprId expr) {
    const ScalarValue x = Of(pool().children(expr)[0]);
    if (static_cast<UnaryOp>(pool().node(expr).code) == UnaryOp::kNot) {
      return Truth(b_.CreateNot(AsBool(x)));
    }
    if (x.kind == ScalarKind::kFloat) return Float(b_.CreateFNeg(x.value));
    return Int(e_.Subtract(e_.ConstantIndex(0), AsInt(x)));
  }

  ScalarValue MakeBinary(ExprId expr) {
    const auto op = static_cast<BinaryOp>(pool().node(expr).code);
    const ScalarValue x = Of(pool().children(expr)[0]);
    const ScalarValue y = Of(pool().children(expr)[1]);
    if (op == BinaryOp::kOr) return Truth(b_.CreateOr(AsBool(x), AsBool(y)));
    if (op == BinaryOp::kAnd) return Truth(b_.CreateAnd(AsBool(x), AsBool(y)));
    if (x.kind == ScalarKind::kFloat || y.kind == ScalarKind::kFloat) {
      return FloatBinary(op, AsFloat(x), AsFloat(y));
    }
    return IntBinary(op, AsInt(x), AsInt(y));
  }

  ScalarValue IntBinary(BinaryOp op, const IndexValue& x, const IndexValue& y) {
    switch (op) {
      case BinaryOp::kOr:
      case BinaryOp::kAnd:
        break;
      case BinaryOp::kEqual:
        return Truth(b_.CreateICmpEQ(x.value, y.value));
      case BinaryOp::kNotEqual:
        return Truth(b_.CreateICmpNE(x.value, y.value));
      case BinaryOp::kLess:
        return Truth(b_.CreateICmpSLT(x.value, y.value));
      case BinaryOp::kLessEqual:
        return Truth(b_.CreateICmpSLE(x.value, y.value));
      case BinaryOp::kGreater:
        return Truth(b_.CreateICmpSGT(x.value, y.value));
      case BinaryOp::kGreaterEqual:
        return Truth(b_.CreateICmpSGE(x.value, y.value));
      case BinaryOp::kAdd:
        return Int(e_.Add(x, y));
      case BinaryOp::kSubtract:
        return Int(e_.Subtract(x, y));
      case BinaryOp::kMultiply:
        return Int(e_.Multiply(x, y));
      case BinaryOp::kDivide:
        return Int(DivideInt(x, y));
      case BinaryOp::kModulo:
        return Int(ModuloInt(x, y));
    }
    return Int(x);
  }

  ScalarValue FloatBinary(BinaryOp op, llvm::Value* x, llvm::Value* y) {
    const llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
    b_.clearFastMathFlags();  // expressions of scalars are never contracted
    switch (op) {
      case BinaryOp::kOr:
      case BinaryOp::kAnd:
        break;
      case BinaryOp::kEqual:
        return Truth(b_.CreateFCmpOEQ(x, y));
      case BinaryOp::kNotEqual:
        return Truth(b_.CreateFCmpUNE(x, y));
      case BinaryOp::kLess:
        return Truth(b_.CreateFCmpOLT(x, y));
      case BinaryOp::kLessEqual:
        return Truth(b_.CreateFCmpOLE(x, y));
      case BinaryOp::kGreater:
        return Truth(b_.CreateFCmpOGT(x, y));
      case BinaryOp::kGreaterEqual:
        return Truth(b_.CreateFCmpOGE(x, y));
      case BinaryOp::kAdd:
        return Float(b_.CreateFAdd(x, y));
      case BinaryOp::kSubtract:
        return Float(b_.CreateFSub(x, y));
      case BinaryOp::kMultiply:
        return Float(b_.CreateFMul(x, y));
      case BinaryOp::kDivide:
        return Float(b_.CreateFDiv(x, y));
      case BinaryOp::kModulo:
        return FloatModulo(x, y);
    }
    return Float(x);
  }

  ScalarValue FloatModulo(llvm::Value* x, llvm::Value* y) {
    const auto* a = llvm::dyn_cast<llvm::ConstantFP>(x);
    const auto* c = llvm::dyn_cast<llvm::ConstantFP>(y);
    if (a != nullptr && c != nullptr) {
      const double value =
          std::fmod(a->getValueAPF().convertToDouble(), c->getValueAPF().convertToDouble());
      return Float(llvm::ConstantFP::get(b_.getDoubleTy(), value));
    }
    return Float(e_.elements().Binary(Opcode::kRem, kF64, x, y));
  }

  ScalarValue MakeCall(ExprId expr) {
    const auto children = pool().children(expr);
    const auto func = static_cast<Func>(pool().node(expr).code);
    if (func == Func::kBits) {
      const auto type = pool().AsDType(children[0]);
      return Int(e_.ConstantIndex(type ? type->bits : 0));
    }
    const ScalarValue x = Of(children[0]);
    const ScalarValue y = Of(children[1]);
    if (x.kind == ScalarKind::kFloat || y.kind == ScalarKind::kFloat) {
      const Opcode op = func == Func::kMin ? Opcode::kMin : Opcode::kMax;
      return Float(e_.elements().Binary(op, kF64, AsFloat(x), AsFloat(y)));
    }
    if (func == Func::kMin) return Int(e_.Min(AsInt(x), AsInt(y)));
    if (func == Func::kMax) return Int(e_.Max(AsInt(x), AsInt(y)));
    return Int(CeilDivideInt(AsInt(x), AsInt(y)));
  }

  IndexValue DivideInt(const IndexValue& x, const IndexValue& y) {
    if (x.facts.IsExact() && y.facts.IsExact()) {
      return e_.ConstantIndex(Divide(x.facts.lo, y.facts.lo));
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
      return e_.ConstantIndex(Modulo(x.facts.lo, y.facts.lo));
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
  std::map<uint32_t, ScalarValue> known_;
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

ScalarValue Emitter::Evaluate(ExprId expr) { return Evaluation(*this).Of(expr); }

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
  const bool wrap = program_.pool().UsesValues(operand.expr) && type.IsInteger();
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
