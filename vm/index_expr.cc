#include "vm/index_expr.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dtypes/convert.h"
#include "vm/diagnostics.h"

namespace tarsia::vm {

enum class IndexExpr::Op : uint8_t {
  kConstant,
  kLoadInt,
  kLoadFloat,
  kIntToFloat,       // the top of the stack
  kIntToFloatBelow,  // the one under it
  kNegateInt,
  kNegateFloat,
  kNot,
  kAnd,
  kOr,
  kAddInt,
  kSubtractInt,
  kMultiplyInt,
  kDivideInt,
  kModuloInt,
  kCeilDivideInt,
  kMinInt,
  kMaxInt,
  kAddFloat,
  kSubtractFloat,
  kMultiplyFloat,
  kDivideFloat,
  kModuloFloat,
  kMinFloat,
  kMaxFloat,
  kEqualInt,
  kLessInt,
  kLessEqualInt,
  kEqualFloat,
  kLessFloat,
  kLessEqualFloat,
  kGreaterFloat,
  kGreaterEqualFloat,
};

namespace {

constexpr int kMaxStack = 2 * ExprPool::kMaxDepth;
// Shared parts of an expression are translated at each use, so the code has a limit of its own.
constexpr size_t kMaxSteps = 4096;

int64_t Wrap(uint64_t x) { return static_cast<int64_t>(x); }
uint64_t Bits(int64_t x) { return static_cast<uint64_t>(x); }

}  // namespace

int64_t IndexDivide(int64_t a, int64_t b) {
  if (b == 0) return -1;
  if (b == -1) return Wrap(uint64_t{0} - Bits(a));
  return a / b;
}

int64_t IndexModulo(int64_t a, int64_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}

int64_t IndexCeilDivide(int64_t a, int64_t b) {
  const int64_t quotient = IndexDivide(a, b);
  if (b == 0 || IndexModulo(a, b) == 0) return quotient;
  return (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

// Translates an expression, children first, keeping the type of each part.
class IndexExpr::Compiler {
 public:
  Compiler(const Program& program, IndexExpr& out) : program_(program), out_(out) {}

  // Nothing for what is no scalar expression.
  std::optional<Type> Visit(ExprId id, int depth) {
    if (depth > ExprPool::kMaxDepth || out_.steps_.size() > kMaxSteps) return std::nullopt;
    const ExprPool& pool = program_.pool();
    switch (pool.kind(id)) {
      case ExprKind::kInt:
        return Push(Type::kInt, {.i = *pool.AsInt(id)});
      case ExprKind::kFloat:
        return Push(Type::kFloat, {.f = *pool.AsFloat(id)});
      case ExprKind::kBool:
        return Push(Type::kBool, {.i = *pool.AsBool(id) ? 1 : 0});
      case ExprKind::kValue:
        return VisitValue(id.value());
      case ExprKind::kUnary:
        return VisitUnary(id, depth);
      case ExprKind::kBinary:
        return VisitBinary(id, depth);
      case ExprKind::kCall:
        return VisitCall(id, depth);
      case ExprKind::kNone:
      case ExprKind::kDType:
      case ExprKind::kString:
      case ExprKind::kName:
      case ExprKind::kFragment:
      case ExprKind::kKeyword:
      case ExprKind::kReplicate:
      case ExprKind::kList:
        return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  std::optional<Type> Push(Type type, Cell cell) {
    Step step;
    step.op = Op::kConstant;
    step.constant = cell;
    out_.steps_.push_back(step);
    return type;
  }

  Type Emit(Op op, Type type) {
    Step step;
    step.op = op;
    out_.steps_.push_back(step);
    return type;
  }

  std::optional<Type> VisitValue(uint32_t value) {
    if (value >= program_.types().size()) return std::nullopt;
    const ConcreteType& type = program_.type(value);
    if (type.kind != ValueKind::kScalar) return std::nullopt;
    const bool integer = type.dtype.IsInteger() || type.dtype.IsBool();
    Step step;
    step.op = integer ? Op::kLoadInt : Op::kLoadFloat;
    step.type = type.dtype;
    step.value = value;
    out_.steps_.push_back(step);
    if (!integer) return Type::kFloat;
    return type.dtype.IsBool() ? Type::kBool : Type::kInt;
  }

  std::optional<Type> VisitUnary(ExprId id, int depth) {
    const ExprNode& node = program_.pool().node(id);
    const auto type = Visit(program_.pool().children(id)[0], depth + 1);
    if (!type) return std::nullopt;
    if (static_cast<UnaryOp>(node.code) == UnaryOp::kNot) return Emit(Op::kNot, Type::kBool);
    if (*type == Type::kFloat) return Emit(Op::kNegateFloat, Type::kFloat);
    return Emit(Op::kNegateInt, Type::kInt);
  }

  // Both operands, made floats if one is.
  std::optional<bool> Operands(ExprId a, ExprId b, int depth) {
    const auto left = Visit(a, depth + 1);
    const auto right = left ? Visit(b, depth + 1) : std::nullopt;
    if (!right) return std::nullopt;
    if (*left != Type::kFloat && *right != Type::kFloat) return false;
    if (*right != Type::kFloat) Emit(Op::kIntToFloat, Type::kFloat);
    if (*left != Type::kFloat) Emit(Op::kIntToFloatBelow, Type::kFloat);
    return true;
  }

  Type Arithmetic(bool is_float, Op integer, Op real) {
    return is_float ? Emit(real, Type::kFloat) : Emit(integer, Type::kInt);
  }

  Type Not() { return Emit(Op::kNot, Type::kBool); }

  std::optional<Type> VisitBinary(ExprId id, int depth) {
    const auto children = program_.pool().children(id);
    const auto op = static_cast<BinaryOp>(program_.pool().node(id).code);
    const auto real = Operands(children[0], children[1], depth);
    if (!real) return std::nullopt;
    switch (op) {
      case BinaryOp::kOr:
        return Emit(Op::kOr, Type::kBool);
      case BinaryOp::kAnd:
        return Emit(Op::kAnd, Type::kBool);
      case BinaryOp::kEqual:
        return Emit(*real ? Op::kEqualFloat : Op::kEqualInt, Type::kBool);
      case BinaryOp::kNotEqual:
        Emit(*real ? Op::kEqualFloat : Op::kEqualInt, Type::kBool);
        return Not();
      case BinaryOp::kLess:
        return Emit(*real ? Op::kLessFloat : Op::kLessInt, Type::kBool);
      case BinaryOp::kLessEqual:
        return Emit(*real ? Op::kLessEqualFloat : Op::kLessEqualInt, Type::kBool);
      case BinaryOp::kGreater:
        if (*real) return Emit(Op::kGreaterFloat, Type::kBool);
        Emit(Op::kLessEqualInt, Type::kBool);
        return Not();
      case BinaryOp::kGreaterEqual:
        if (*real) return Emit(Op::kGreaterEqualFloat, Type::kBool);
        Emit(Op::kLessInt, Type::kBool);
        return Not();
      case BinaryOp::kAdd:
        return Arithmetic(*real, Op::kAddInt, Op::kAddFloat);
      case BinaryOp::kSubtract:
        return Arithmetic(*real, Op::kSubtractInt, Op::kSubtractFloat);
      case BinaryOp::kMultiply:
        return Arithmetic(*real, Op::kMultiplyInt, Op::kMultiplyFloat);
      case BinaryOp::kDivide:
        return Arithmetic(*real, Op::kDivideInt, Op::kDivideFloat);
      case BinaryOp::kModulo:
        return Arithmetic(*real, Op::kModuloInt, Op::kModuloFloat);
    }
    return std::nullopt;
  }

  std::optional<Type> VisitCall(ExprId id, int depth) {
    const auto children = program_.pool().children(id);
    const auto func = static_cast<Func>(program_.pool().node(id).code);
    if (func == Func::kBits) {
      const auto type = children.size() == 1 ? program_.pool().AsDType(children[0]) : std::nullopt;
      if (!type) return std::nullopt;
      return Push(Type::kInt, {.i = type->bits});
    }
    if (children.size() != 2) return std::nullopt;
    if (func != Func::kCeildiv && func != Func::kMin && func != Func::kMax) return std::nullopt;
    const auto real = Operands(children[0], children[1], depth);
    if (!real) return std::nullopt;
    if (func == Func::kMin) return Arithmetic(*real, Op::kMinInt, Op::kMinFloat);
    if (func == Func::kMax) return Arithmetic(*real, Op::kMaxInt, Op::kMaxFloat);
    if (*real) return std::nullopt;
    return Emit(Op::kCeilDivideInt, Type::kInt);
  }

  const Program& program_;
  IndexExpr& out_;
};

IndexExpr IndexExpr::Constant(int64_t value) {
  IndexExpr out;
  out.constant_.i = value;
  return out;
}

Result<IndexExpr> IndexExpr::Compile(const Program& program, ExprId id, Location location) {
  IndexExpr out;
  const auto type = Compiler(program, out).Visit(id, 0);
  if (!type) {
    return MakeDiagnostic(
        diag::kNotRunnable, location,
        "`" + ToString(program.pool(), id, &program.kernel()) + "` is no scalar expression");
  }
  out.type_ = *type;
  const bool loads = std::any_of(out.steps_.begin(), out.steps_.end(), [](const Step& step) {
    return step.op == Op::kLoadInt || step.op == Op::kLoadFloat;
  });
  if (!loads) {
    out.constant_ = out.Run(nullptr);
    out.form_ = Form::kConstant;
    out.steps_.clear();
  } else if (out.steps_.size() == 1 && out.steps_[0].op == Op::kLoadInt) {
    out.form_ = Form::kValue;
    out.value_ = out.steps_[0].value;
    out.value_type_ = out.steps_[0].type;
  } else {
    out.form_ = Form::kPostfix;
  }
  return out;
}

IndexExpr::Cell IndexExpr::Run(const uint64_t* codes) const {
  Cell stack[kMaxStack + 1];  // the lowest place stays empty
  Cell* top = stack;          // the operand on top; below it the left one
  for (const Step& step : steps_) {
    const auto binary = [&top](auto compute) {
      --top;
      compute(top[0], top[1]);
    };
    switch (step.op) {
      case Op::kConstant:
        *++top = step.constant;
        break;
      case Op::kLoadInt:
        (++top)->i = CodeToInt(step.type, codes[step.value]);
        break;
      case Op::kLoadFloat:
        (++top)->f = DecodeToDouble(step.type, codes[step.value]);
        break;
      case Op::kIntToFloat:
        top->f = static_cast<double>(top->i);
        break;
      case Op::kIntToFloatBelow:
        top[-1].f = static_cast<double>(top[-1].i);
        break;
      case Op::kNegateInt:
        top->i = Wrap(uint64_t{0} - Bits(top->i));
        break;
      case Op::kNegateFloat:
        top->f = -top->f;
        break;
      case Op::kNot:
        top->i = top->i == 0 ? 1 : 0;
        break;
      case Op::kAnd:
        binary([](Cell& a, Cell b) { a.i = a.i != 0 && b.i != 0 ? 1 : 0; });
        break;
      case Op::kOr:
        binary([](Cell& a, Cell b) { a.i = a.i != 0 || b.i != 0 ? 1 : 0; });
        break;
      case Op::kAddInt:
        binary([](Cell& a, Cell b) { a.i = Wrap(Bits(a.i) + Bits(b.i)); });
        break;
      case Op::kSubtractInt:
        binary([](Cell& a, Cell b) { a.i = Wrap(Bits(a.i) - Bits(b.i)); });
        break;
      case Op::kMultiplyInt:
        binary([](Cell& a, Cell b) { a.i = Wrap(Bits(a.i) * Bits(b.i)); });
        break;
      case Op::kDivideInt:
        binary([](Cell& a, Cell b) { a.i = IndexDivide(a.i, b.i); });
        break;
      case Op::kModuloInt:
        binary([](Cell& a, Cell b) { a.i = IndexModulo(a.i, b.i); });
        break;
      case Op::kCeilDivideInt:
        binary([](Cell& a, Cell b) { a.i = IndexCeilDivide(a.i, b.i); });
        break;
      case Op::kMinInt:
        binary([](Cell& a, Cell b) { a.i = std::min(a.i, b.i); });
        break;
      case Op::kMaxInt:
        binary([](Cell& a, Cell b) { a.i = std::max(a.i, b.i); });
        break;
      case Op::kAddFloat:
        binary([](Cell& a, Cell b) { a.f += b.f; });
        break;
      case Op::kSubtractFloat:
        binary([](Cell& a, Cell b) { a.f -= b.f; });
        break;
      case Op::kMultiplyFloat:
        binary([](Cell& a, Cell b) { a.f *= b.f; });
        break;
      case Op::kDivideFloat:
        binary([](Cell& a, Cell b) { a.f /= b.f; });
        break;
      case Op::kModuloFloat:
        binary([](Cell& a, Cell b) { a.f = std::fmod(a.f, b.f); });
        break;
      case Op::kMinFloat:
        binary([](Cell& a, Cell b) { a.f = std::fmin(a.f, b.f); });
        break;
      case Op::kMaxFloat:
        binary([](Cell& a, Cell b) { a.f = std::fmax(a.f, b.f); });
        break;
      case Op::kEqualInt:
        binary([](Cell& a, Cell b) { a.i = a.i == b.i ? 1 : 0; });
        break;
      case Op::kLessInt:
        binary([](Cell& a, Cell b) { a.i = a.i < b.i ? 1 : 0; });
        break;
      case Op::kLessEqualInt:
        binary([](Cell& a, Cell b) { a.i = a.i <= b.i ? 1 : 0; });
        break;
      case Op::kEqualFloat:
        binary([](Cell& a, Cell b) { a.i = a.f == b.f ? 1 : 0; });
        break;
      case Op::kLessFloat:
        binary([](Cell& a, Cell b) { a.i = a.f < b.f ? 1 : 0; });
        break;
      case Op::kLessEqualFloat:
        binary([](Cell& a, Cell b) { a.i = a.f <= b.f ? 1 : 0; });
        break;
      case Op::kGreaterFloat:
        binary([](Cell& a, Cell b) { a.i = a.f > b.f ? 1 : 0; });
        break;
      case Op::kGreaterEqualFloat:
        binary([](Cell& a, Cell b) { a.i = a.f >= b.f ? 1 : 0; });
        break;
    }
  }
  return *top;
}

uint64_t IndexExpr::Code(const uint64_t* codes, DType type) const {
  switch (type_) {
    case Type::kFloat:
      return EncodeFromDouble(type, Float(codes));
    case Type::kBool:
      return CastCode(kBoolType, Bool(codes) ? 1 : 0, type);
    case Type::kInt:
      break;
  }
  CastOptions options;
  if (!IsConstant() && type.IsInteger()) options.overflow = Overflow::kWrap;
  return CastCode(kI64, static_cast<uint64_t>(Int(codes)), type, options);
}

bool IndexExpr::UsesOnlyBelow(uint32_t value) const {
  if (form_ == Form::kConstant) return true;
  if (form_ == Form::kValue) return value_ < value;
  return std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    const bool loads = step.op == Op::kLoadInt || step.op == Op::kLoadFloat;
    return !loads || step.value < value;
  });
}

}  // namespace tarsia::vm
