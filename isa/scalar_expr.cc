#include "isa/scalar_expr.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "dtypes/convert.h"
#include "layout/text/arithmetic.h"

namespace tarsia {
namespace {

// Up to this many nodes are computed on the stack.
constexpr size_t kInlineCells = 256;

ScalarOp OpOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kOr:
      return ScalarOp::kOr;
    case BinaryOp::kAnd:
      return ScalarOp::kAnd;
    case BinaryOp::kEqual:
      return ScalarOp::kEqual;
    case BinaryOp::kNotEqual:
      return ScalarOp::kNotEqual;
    case BinaryOp::kLess:
      return ScalarOp::kLess;
    case BinaryOp::kLessEqual:
      return ScalarOp::kLessEqual;
    case BinaryOp::kGreater:
      return ScalarOp::kGreater;
    case BinaryOp::kGreaterEqual:
      return ScalarOp::kGreaterEqual;
    case BinaryOp::kAdd:
      return ScalarOp::kAdd;
    case BinaryOp::kSubtract:
      return ScalarOp::kSubtract;
    case BinaryOp::kMultiply:
      return ScalarOp::kMultiply;
    case BinaryOp::kDivide:
      return ScalarOp::kDivide;
    case BinaryOp::kModulo:
      return ScalarOp::kModulo;
  }
  return ScalarOp::kConstant;
}

std::optional<ScalarOp> OpOf(Func func) {
  if (func == Func::kCeildiv) return ScalarOp::kCeilDivide;
  if (func == Func::kMin) return ScalarOp::kMin;
  if (func == Func::kMax) return ScalarOp::kMax;
  return std::nullopt;
}

}  // namespace

ScalarKind KindOfScalar(DType type) {
  if (type.IsBool()) return ScalarKind::kBool;
  return type.IsInteger() ? ScalarKind::kInt : ScalarKind::kFloat;
}

// ---- making --------------------------------------------------------------------------------

// Translates an expression, children first, each part once.
class ScalarExpr::Builder {
 public:
  Builder(const ExprPool& pool, const TypeOfScalar& type_of, std::vector<ScalarNode>& nodes)
      : pool_(pool), type_of_(type_of), nodes_(nodes) {}

  // The node of the result; empty if it is not a scalar expression.
  std::optional<uint32_t> Visit(ExprId id) {
    const auto known = known_.find(id.raw());
    if (known != known_.end()) return known->second;
    const std::optional<uint32_t> made = Make(id);
    if (made) known_[id.raw()] = *made;
    return made;
  }

 private:
  std::optional<uint32_t> Make(ExprId id) {
    switch (pool_.kind(id)) {
      case ExprKind::kInt:
        return Constant(ScalarKind::kInt, {.i = *pool_.AsInt(id)});
      case ExprKind::kFloat:
        return Constant(ScalarKind::kFloat, {.f = *pool_.AsFloat(id)});
      case ExprKind::kBool:
        return Constant(ScalarKind::kBool, {.i = *pool_.AsBool(id) ? 1 : 0});
      case ExprKind::kValue:
        return Scalar(id.value());
      case ExprKind::kUnary:
        return Unary(id);
      case ExprKind::kBinary:
        return Binary(id);
      case ExprKind::kCall:
        return Call(id);
      case ExprKind::kNone:
      case ExprKind::kDType:
      case ExprKind::kString:
      case ExprKind::kName:
      case ExprKind::kFragment:
      case ExprKind::kKeyword:
      case ExprKind::kReplicate:
      case ExprKind::kList:
        break;
    }
    return std::nullopt;
  }

  uint32_t Add(const ScalarNode& node) {
    nodes_.push_back(node);
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  uint32_t Add(ScalarOp op, ScalarKind kind, uint32_t a, uint32_t b) {
    ScalarNode node;
    node.op = op;
    node.kind = kind;
    node.is_float = Is(a, ScalarKind::kFloat);
    node.a = a;
    node.b = b;
    return Add(node);
  }
  uint32_t Constant(ScalarKind kind, ScalarCell cell) {
    ScalarNode node;
    node.kind = kind;
    node.constant = cell;
    return Add(node);
  }

  std::optional<uint32_t> Scalar(uint32_t value) {
    const std::optional<DType> type = type_of_(value);
    if (!type) return std::nullopt;
    ScalarNode node;
    node.op = ScalarOp::kScalar;
    node.kind = KindOfScalar(*type);
    node.type = *type;
    node.a = value;
    return Add(node);
  }

  [[nodiscard]] bool Is(uint32_t node, ScalarKind kind) const { return nodes_[node].kind == kind; }

  std::optional<uint32_t> Unary(ExprId id) {
    const auto operand = Visit(pool_.children(id)[0]);
    if (!operand) return std::nullopt;
    if (static_cast<UnaryOp>(pool_.node(id).code) == UnaryOp::kNot) {
      return Add(ScalarOp::kNot, ScalarKind::kBool, *operand, *operand);
    }
    return Add(ScalarOp::kNegate, nodes_[*operand].kind, *operand, *operand);
  }

  uint32_t AsFloat(uint32_t node) {
    if (Is(node, ScalarKind::kFloat)) return node;
    return Add(ScalarOp::kIntToFloat, ScalarKind::kFloat, node, node);
  }

  std::optional<uint32_t> Binary(ExprId id) {
    const auto op = static_cast<BinaryOp>(pool_.node(id).code);
    auto a = Visit(pool_.children(id)[0]);
    auto b = a ? Visit(pool_.children(id)[1]) : std::nullopt;
    if (!b) return std::nullopt;
    const bool is_float = Is(*a, ScalarKind::kFloat) || Is(*b, ScalarKind::kFloat);
    if (is_float) {
      a = AsFloat(*a);
      b = AsFloat(*b);
    }
    const bool is_truth = IsComparison(op) || op == BinaryOp::kAnd || op == BinaryOp::kOr;
    const ScalarKind kind = is_truth   ? ScalarKind::kBool
                            : is_float ? ScalarKind::kFloat
                                       : ScalarKind::kInt;
    return Add(OpOf(op), kind, *a, *b);
  }

  // Folding has put the arguments in order, and has computed `bits`.
  std::optional<uint32_t> Call(ExprId id) {
    const auto op = OpOf(static_cast<Func>(pool_.node(id).code));
    const auto children = pool_.children(id);
    if (!op || children.size() != 2) return std::nullopt;
    const auto a = Visit(children[0]);
    const auto b = a ? Visit(children[1]) : std::nullopt;
    if (!b) return std::nullopt;
    return Add(*op, ScalarKind::kInt, *a, *b);
  }

  const ExprPool& pool_;
  const TypeOfScalar& type_of_;
  std::vector<ScalarNode>& nodes_;
  std::map<uint32_t, uint32_t> known_;  // by ExprId
};

ScalarExpr ScalarExpr::Constant(int64_t value) {
  ScalarExpr out;
  out.nodes_.emplace_back();
  out.nodes_.back().constant.i = value;
  out.Finish();
  return out;
}

std::optional<ScalarExpr> ScalarExpr::Make(const ExprPool& pool, ExprId id,
                                           const TypeOfScalar& type_of) {
  ScalarExpr out;
  if (!Builder(pool, type_of, out.nodes_).Visit(id)) return std::nullopt;
  out.Finish();
  return out;
}

void ScalarExpr::Finish() {
  const ScalarNode& last = nodes_.back();
  kind_ = last.kind;
  form_ = Form::kNodes;
  if (last.op == ScalarOp::kConstant) {
    form_ = Form::kConstant;
    constant_ = last.constant;
  } else if (last.op == ScalarOp::kScalar && kind_ != ScalarKind::kFloat) {
    form_ = Form::kInteger;
    value_ = last.a;
    value_type_ = last.type;
  }
  for (const ScalarNode& node : nodes_) {
    if (node.op == ScalarOp::kScalar) end_value_ = std::max(end_value_, node.a + 1);
  }
}

// ---- bytes ---------------------------------------------------------------------------------

namespace {

constexpr size_t kNodeBytes = 20;
constexpr size_t kMaxNodes = size_t{1} << 16;  // more than any program can have

// The kind of a result as isa/scalar_ops.def names it.
enum class Made : uint8_t { kInt, kTruth, kFloat };
struct OperationRow {
  ScalarOp op;
  bool is_float;
  Made made;
};
constexpr OperationRow kOperations[] = {
#define INT(op, result, value) {ScalarOp::op, false, Made::k##result},
#define FLOAT(op, result, value) {ScalarOp::op, true, Made::k##result},
#include "isa/scalar_ops.def"
#undef INT
#undef FLOAT
};

// Whether an operation exists on operands of this kind with a result of this kind.
bool IsOperation(ScalarOp op, bool is_float, ScalarKind result) {
  // The negation of a truth value is one, too.
  if (op == ScalarOp::kNegate && !is_float) return result != ScalarKind::kFloat;
  const Made made = result == ScalarKind::kInt    ? Made::kInt
                    : result == ScalarKind::kBool ? Made::kTruth
                                                  : Made::kFloat;
  return std::ranges::any_of(kOperations, [&](const OperationRow& row) {
    return row.op == op && row.is_float == is_float && row.made == made;
  });
}

// Whether the last of the nodes can follow those before it.
bool IsValid(const std::vector<ScalarNode>& nodes, uint32_t values) {
  const ScalarNode& node = nodes.back();
  if (node.op == ScalarOp::kConstant) return !node.is_float;
  if (node.op == ScalarOp::kScalar) {
    return !node.is_float && node.a < values && node.kind == KindOfScalar(node.type);
  }
  const size_t before = nodes.size() - 1;
  if (node.a >= before || node.b >= before) return false;
  const bool a_float = nodes[node.a].kind == ScalarKind::kFloat;
  const bool b_float = nodes[node.b].kind == ScalarKind::kFloat;
  return a_float == node.is_float && b_float == node.is_float &&
         IsOperation(node.op, node.is_float, node.kind);
}

}  // namespace

void ScalarExpr::Write(ByteSink* out) const {
  out->U64(nodes_.size());
  for (const ScalarNode& node : nodes_) {
    out->U8(static_cast<uint8_t>(node.op)).U8(static_cast<uint8_t>(node.kind)).Bool(node.is_float);
    out->U8(node.op == ScalarOp::kScalar ? DTypeCode(node.type) : 0);
    out->U32(node.a).U32(node.b).I64(node.constant.i);
  }
}

ScalarExpr ScalarExpr::Read(ByteSource* in, uint32_t values) {
  ScalarExpr out;
  const size_t count = in->Count(kNodeBytes);
  in->Require(count <= kMaxNodes);
  for (size_t i = 0; i < count && in->ok(); ++i) {
    ScalarNode& node = out.nodes_.emplace_back();
    node.op = static_cast<ScalarOp>(
        in->Below(in->U8(), static_cast<uint64_t>(ScalarOp::kGreaterEqual) + 1));
    node.kind =
        static_cast<ScalarKind>(in->Below(in->U8(), static_cast<uint64_t>(ScalarKind::kFloat) + 1));
    node.is_float = in->Bool();
    const std::optional<DType> type = DTypeFromCode(in->U8());
    node.a = in->U32();
    node.b = in->U32();
    node.constant.i = in->I64();
    if (node.op == ScalarOp::kScalar && in->Require(type.has_value())) node.type = *type;
    in->Require(IsValid(out.nodes_, values));
  }
  if (!in->ok()) return {};
  if (count != 0) out.Finish();
  return out;
}

// ---- computing -----------------------------------------------------------------------------

namespace {

ScalarCell IntCell(int64_t x) { return {.i = x}; }
ScalarCell TruthCell(bool x) { return {.i = x ? 1 : 0}; }
ScalarCell FloatCell(double x) { return {.f = x}; }

ScalarCell ReadScalar(const ScalarNode& node, const uint64_t* codes) {
  const uint64_t code = codes[node.a];
  if (node.kind == ScalarKind::kFloat) return FloatCell(DecodeToDouble(node.type, code));
  return IntCell(CodeToInt(node.type, code));
}

// The row of isa/scalar_ops.def of an operation.
constexpr unsigned RowOf(ScalarOp op, bool is_float) {
  return static_cast<unsigned>(op) * 2 + (is_float ? 1 : 0);
}

// Memory for more results than fit on the stack; kept, so that the next run allocates nothing.
ScalarCell* LargeRoom(size_t cells) {
  thread_local std::vector<ScalarCell> room;
  if (room.size() < cells) room.resize(cells);
  return room.data();
}

}  // namespace

ScalarCell ScalarExpr::Run(const uint64_t* codes) const {
  ScalarCell small[kInlineCells];
  ScalarCell* const cells = nodes_.size() <= kInlineCells ? small : LargeRoom(nodes_.size());
  ScalarCell* out = cells;
  for (const ScalarNode& node : nodes_) {
    switch (RowOf(node.op, node.is_float)) {
      case RowOf(ScalarOp::kConstant, false):
        *out = node.constant;
        break;
      case RowOf(ScalarOp::kScalar, false):
        *out = ReadScalar(node, codes);
        break;
#define INT(op, result, value)                          \
  case RowOf(ScalarOp::op, false): {                    \
    const int64_t a = cells[node.a].i;                  \
    [[maybe_unused]] const int64_t b = cells[node.b].i; \
    *out = result##Cell(value);                         \
    break;                                              \
  }
#define FLOAT(op, result, value)                       \
  case RowOf(ScalarOp::op, true): {                    \
    const double a = cells[node.a].f;                  \
    [[maybe_unused]] const double b = cells[node.b].f; \
    *out = result##Cell(value);                        \
    break;                                             \
  }
#include "isa/scalar_ops.def"
#undef INT
#undef FLOAT
      default:
        assert(false && "an operation without a row");
        *out = IntCell(0);
    }
    ++out;
  }
  return out[-1];
}

uint64_t ScalarExpr::Code(const uint64_t* codes, DType type) const {
  switch (kind_) {
    case ScalarKind::kFloat:
      return EncodeFromDouble(type, Float(codes));
    case ScalarKind::kBool:
      return CastCode(kBoolType, Bool(codes) ? 1 : 0, type);
    case ScalarKind::kInt:
      break;
  }
  CastOptions options;
  if (!IsConstant() && type.IsInteger()) options.overflow = Overflow::kWrap;
  return CastCode(kI64, static_cast<uint64_t>(Int(codes)), type, options);
}

}  // namespace tarsia
