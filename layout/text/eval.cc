#include "layout/text/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "layout/checked.h"
#include "layout/diagnostics.h"
#include "layout/text/arguments.h"
#include "layout/text/arithmetic.h"
#include "layout/text/diagnostics.h"
#include "layout/text/expr_parser.h"
#include "layout/text/expr_visitor.h"
#include "layout/text/fragments.h"
#include "layout/wgmma.h"

namespace tarsia {

bool operator==(const EvalList& a, const EvalList& b) { return a.items == b.items; }

ExprType TypeOf(const EvalValue& value) {
  if (std::holds_alternative<bool>(value)) return ExprType::kBool;
  if (std::holds_alternative<int64_t>(value)) return ExprType::kInt;
  if (std::holds_alternative<double>(value)) return ExprType::kFloat;
  if (std::holds_alternative<DType>(value)) return ExprType::kDType;
  if (std::holds_alternative<RegLayout>(value)) return ExprType::kRegLayout;
  if (std::holds_alternative<MemLayoutFamily>(value)) return ExprType::kMemLayout;
  if (std::holds_alternative<BitLayoutFamily>(value)) return ExprType::kBitLayout;
  if (std::holds_alternative<EvalList>(value)) return ExprType::kList;
  return ExprType::kUnknown;
}

std::string ToString(const EvalValue& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (const auto* d = std::get_if<double>(&value)) return FloatToString(*d);
  if (const auto* type = std::get_if<DType>(&value)) return std::string(DTypeName(*type));
  if (const auto* reg = std::get_if<RegLayout>(&value)) return ToString(*reg);
  if (const auto* memory = std::get_if<MemLayoutFamily>(&value)) return ToString(*memory);
  if (const auto* bits = std::get_if<BitLayoutFamily>(&value)) return ToString(*bits);
  if (const auto* text = std::get_if<std::string>(&value)) return Quote(*text);
  if (const auto* list = std::get_if<EvalList>(&value)) {
    std::string out;
    for (const EvalValue& item : list->items) {
      if (!out.empty()) out += ", ";
      out += ToString(item);
    }
    return "[" + out + "]";
  }
  return "nothing";
}

const EvalEnv& EmptyEnv() {
  class Empty : public EvalEnv {
   public:
    [[nodiscard]] const EvalValue* FindName(StringId) const override { return nullptr; }
    [[nodiscard]] const EvalValue* FindValue(uint32_t) const override { return nullptr; }
  };
  static const Empty kEmpty;
  return kEmpty;
}

namespace {

constexpr std::string_view kFamilies[] = {"row_major", "column_major", "contiguous"};

// The families that need no arguments.
std::optional<EvalValue> FamilyOf(std::string_view name) {
  if (name == "row_major") return MemLayoutFamily{};
  if (name == "column_major") {
    MemLayoutFamily out;
    out.kind = MemLayoutFamily::Kind::kColumnMajor;
    return out;
  }
  if (name == "contiguous") return BitLayoutFamily{};
  return std::nullopt;
}

bool IsNumber(const EvalValue& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
}

double AsDouble(const EvalValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  return *std::get_if<double>(&value);
}

// The evaluated arguments of a call; the kinds are those of the parameters.
class Arguments {
 public:
  explicit Arguments(std::vector<std::vector<EvalValue>> values) : values_(std::move(values)) {}
  [[nodiscard]] bool Has(size_t i) const { return !values_[i].empty(); }
  [[nodiscard]] int64_t Int(size_t i) const { return *std::get_if<int64_t>(&values_[i][0]); }
  [[nodiscard]] DType Type(size_t i) const { return *std::get_if<DType>(&values_[i][0]); }
  [[nodiscard]] bool Flag(size_t i) const { return Has(i) && *std::get_if<bool>(&values_[i][0]); }
  [[nodiscard]] const RegLayout& Reg(size_t i) const {
    return *std::get_if<RegLayout>(&values_[i][0]);
  }
  [[nodiscard]] const MemLayoutFamily& Memory(size_t i) const {
    return *std::get_if<MemLayoutFamily>(&values_[i][0]);
  }
  [[nodiscard]] const BitLayoutFamily& Bits(size_t i) const {
    return *std::get_if<BitLayoutFamily>(&values_[i][0]);
  }
  // The integers of a list or of a variadic parameter.
  [[nodiscard]] Extents Ints(size_t i) const {
    const std::vector<EvalValue>* items = &values_[i];
    if (!items->empty()) {
      if (const auto* list = std::get_if<EvalList>(&(*items)[0])) items = &list->items;
    }
    Extents out;
    for (const EvalValue& item : *items) out.push_back(*std::get_if<int64_t>(&item));
    return out;
  }

 private:
  std::vector<std::vector<EvalValue>> values_;
};

// Wraps the result of a layout function.
template <typename T>
Result<EvalValue> Wrap(Result<T> result) {
  if (!result.ok()) return result.TakeError();
  if constexpr (std::is_same_v<T, MemLayout>) {
    return EvalValue(MemLayoutFamily::Of(*std::move(result)));
  } else {
    return EvalValue(*std::move(result));
  }
}

Result<EvalValue> CallDense(const Arguments& a, bool row_major) {
  if (!a.Has(0)) return *FamilyOf(row_major ? "row_major" : "column_major");
  return Wrap(row_major ? MemLayout::RowMajor(a.Ints(0)) : MemLayout::ColumnMajor(a.Ints(0)));
}

Result<EvalValue> CallStrided(const Arguments& a) {
  if (!a.Has(1)) return Wrap(MemLayout::Strided(a.Ints(0), a.Ints(2)));
  return Wrap(MemLayout::Strided(a.Ints(0), a.Ints(1), a.Ints(2)));
}

Result<EvalValue> CallSwizzle(const Arguments& a) {
  TARSIA_TRY(const Swizzle swizzle, MakeSwizzle(a.Int(1), a.Int(2), a.Int(3)));
  MemLayoutFamily family = a.Memory(0);
  switch (family.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
    case MemLayoutFamily::Kind::kColumnMajor:
      if (family.swizzles.size() >= static_cast<size_t>(kMaxLayoutModes)) {
        return MakeDiagnostic(diag::kLayoutTooLarge, {}, family.swizzles.size() + 1,
                              kMaxLayoutModes, "swizzles");
      }
      family.swizzles.push_back(swizzle);
      return EvalValue(std::move(family));
    case MemLayoutFamily::Kind::kPacked:
      return MakeDiagnostic(diag::kLayoutSwizzlePacked, {});
    case MemLayoutFamily::Kind::kConcrete:
      break;
  }
  return Wrap(family.concrete.WithSwizzle(swizzle));
}

// A bit layout, complete or open; the parts that are fixed are checked now.
Result<EvalValue> CallBits(const Arguments& a, BitOrder order) {
  BitLayoutFamily out;
  out.order = order;
  if (a.Has(0)) out.type = a.Type(0);
  if (a.Has(1)) out.count = a.Int(1);
  if (order == BitOrder::kLanes) {
    out.compute = a.Type(2);
  }
  // u1 and 0 codes stand for the parts that are still open.
  const Result<BitLayout> checked =
      order == BitOrder::kLanes
          ? BitLayout::Lanes(out.type.value_or(kU1), out.count.value_or(0), out.compute)
          : BitLayout::Contiguous(out.type.value_or(kU1), out.count.value_or(0));
  if (!checked.ok()) return checked.error();
  return EvalValue(out);
}

// The parts of a packed layout that do not depend on the tensor are checked now.
Result<EvalValue> CallPacked(const Arguments& a) {
  MemLayoutFamily out;
  out.kind = MemLayoutFamily::Kind::kPacked;
  out.tile = a.Reg(0);
  out.bits = a.Bits(1);
  TARSIA_TRY(const BitLayout bits, out.bits.Apply(out.bits.type.value_or(kU1), out.tile.slots()));
  TARSIA_CHECK(CheckPacked(out.tile, bits));
  return EvalValue(std::move(out));
}

Result<EvalValue> CallCeildiv(int64_t a, int64_t b) {
  if (const auto out = CheckedCeilDivide(a, b)) return EvalValue(*out);
  return MakeDiagnostic(b == 0 ? diag::kDivisionByZero : diag::kIntegerOverflow, {},
                        fmt::format("ceildiv({}, {})", a, b));
}

Result<EvalValue> CallFunction(Func func, const Arguments& a) {
  switch (func) {
    case Func::kLocal:
      return Wrap(RegLayout::Local(a.Ints(0)));
    case Func::kSpatial:
      return Wrap(RegLayout::Spatial(a.Ints(0)));
    case Func::kColumnLocal:
      return Wrap(RegLayout::ColumnLocal(a.Ints(0)));
    case Func::kColumnSpatial:
      return Wrap(RegLayout::ColumnSpatial(a.Ints(0)));
    case Func::kReplicate:
      return Wrap(RegLayout::Replicate(a.Int(0)));
    case Func::kLayout:
      return Wrap(RegLayout::Make(a.Ints(0), a.Ints(1), a.Ints(2), a.Ints(3)));
    case Func::kLeftDivide:
      return Wrap(LeftDivide(a.Reg(0), a.Reg(1)));
    case Func::kReduce:
      return Wrap(Reduce(a.Reg(0), a.Ints(1), a.Flag(2)));
    case Func::kPermute:
      return Wrap(Permute(a.Reg(0), a.Ints(1)));
    case Func::kReshape:
      return Wrap(Reshape(a.Reg(0), a.Ints(1)));
    case Func::kFlatten:
      return Wrap(Flatten(a.Reg(0)));
    case Func::kSqueeze:
      return Wrap(Squeeze(a.Reg(0), a.Ints(1)));
    case Func::kUnsqueeze:
      return Wrap(Unsqueeze(a.Reg(0), a.Ints(1)));
    case Func::kConcat:
      return Wrap(Concat(a.Reg(0), a.Reg(1)));
    case Func::kRowMajor:
      return CallDense(a, true);
    case Func::kColumnMajor:
      return CallDense(a, false);
    case Func::kStrided:
      return CallStrided(a);
    case Func::kSwizzle:
      return CallSwizzle(a);
    case Func::kContiguous:
      return CallBits(a, BitOrder::kContiguous);
    case Func::kLanes:
      return CallBits(a, BitOrder::kLanes);
    case Func::kPacked:
      return CallPacked(a);
    case Func::kCeildiv:
      return CallCeildiv(a.Int(0), a.Int(1));
    case Func::kMin:
      return EvalValue(std::min(a.Int(0), a.Int(1)));
    case Func::kMax:
      return EvalValue(std::max(a.Int(0), a.Int(1)));
    case Func::kBits:
      return EvalValue(int64_t{a.Type(0).bits});
  }
  return MakeDiagnostic(diag::kMisplaced, {}, "this function");
}

Result<EvalValue> IntegerArithmetic(BinaryOp op, int64_t a, int64_t b) {
  if (const auto out = CheckedArithmetic(op, a, b)) return EvalValue(*out);
  const bool by_zero = (op == BinaryOp::kDivide || op == BinaryOp::kModulo) && b == 0;
  return MakeDiagnostic(by_zero ? diag::kDivisionByZero : diag::kIntegerOverflow, {},
                        fmt::format("{} {} {}", a, Spelling(op), b));
}

Diagnostic BadOperands(BinaryOp op, const EvalValue& a, const EvalValue& b) {
  return MakeDiagnostic(diag::kOperandKinds, {}, Spelling(op), ExprTypeName(TypeOf(a)),
                        ExprTypeName(TypeOf(b)));
}

Result<EvalValue> Arithmetic(BinaryOp op, const EvalValue& a, const EvalValue& b) {
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  if (x != nullptr && y != nullptr) return IntegerArithmetic(op, *x, *y);
  if (IsNumber(a) && IsNumber(b)) return EvalValue(FloatArithmetic(op, AsDouble(a), AsDouble(b)));
  const auto* left = std::get_if<RegLayout>(&a);
  const auto* right = std::get_if<RegLayout>(&b);
  if (left != nullptr && right != nullptr) {
    if (op == BinaryOp::kMultiply) return Wrap(Product(*left, *right));
    if (op == BinaryOp::kDivide) return Wrap(Divide(*left, *right));
  }
  return BadOperands(op, a, b);
}

Result<EvalValue> CompareValues(BinaryOp op, const EvalValue& a, const EvalValue& b) {
  const bool equality = op == BinaryOp::kEqual || op == BinaryOp::kNotEqual;
  const auto* x = std::get_if<int64_t>(&a);
  const auto* y = std::get_if<int64_t>(&b);
  if (x != nullptr && y != nullptr) return EvalValue(Compare(op, *x, *y));
  if (IsNumber(a) && IsNumber(b)) return EvalValue(Compare(op, AsDouble(a), AsDouble(b)));
  if (!equality || a.index() != b.index()) return BadOperands(op, a, b);
  return EvalValue((a == b) == (op == BinaryOp::kEqual));
}

class Evaluator : public internal::ExprVisitor<Evaluator, EvalValue> {
 public:
  Evaluator(const ExprPool& pool, const EvalEnv& env) : ExprVisitor(pool), env_(env) {}

 private:
  friend ExprVisitor;

  Result<EvalValue> Value(ExprId id) {
    const EvalValue* value = env_.FindValue(id.value());
    if (value == nullptr) return MakeDiagnostic(diag::kUnknownValue, {});
    return *value;
  }
  Result<EvalValue> Int(ExprId id) { return EvalValue(*pool_.AsInt(id)); }
  Result<EvalValue> Float(ExprId id) { return EvalValue(*pool_.AsFloat(id)); }
  Result<EvalValue> Bool(ExprId id) { return EvalValue(*pool_.AsBool(id)); }
  Result<EvalValue> Type(ExprId id) { return EvalValue(pool_.AsDType(id).value_or(DType{})); }
  Result<EvalValue> String(ExprId id) { return EvalValue(std::string(pool_.Text(id))); }

  Result<EvalValue> Name(ExprId id) {
    const EvalValue* value = env_.FindName(static_cast<StringId>(pool_.node(id).payload));
    if (value != nullptr) return *value;
    const std::string_view name = pool_.Text(id);
    if (std::optional<EvalValue> family = FamilyOf(name)) return *std::move(family);
    Diagnostic error = MakeDiagnostic(diag::kUnknownName, {}, name);
    if (FindFunc(name)) {
      error.help = fmt::format("`{}` is a function: call it, as in `{}(...)`", name, name);
    } else {
      std::vector<std::string_view> known = env_.Names();
      known.insert(known.end(), std::begin(kFamilies), std::end(kFamilies));
      known.insert(known.end(), DTypeNames().begin(), DTypeNames().end());
      error.help = DidYouMean(name, known);
    }
    return error;
  }

  Result<EvalValue> Fragment(ExprId id) {
    const EvalValue* value = env_.FindName(static_cast<StringId>(pool_.node(id).payload));
    if (value != nullptr) return *value;
    const std::string_view name = pool_.Text(id);
    if (const RegLayout* fragment = FindFragment(name)) return EvalValue(*fragment);
    if (auto operand = FindWgmmaLayout(name)) return Wrap(*std::move(operand));
    Diagnostic error = MakeDiagnostic(diag::kUnknownFragment, {}, name);
    error.help = DidYouMean(name, FragmentNames());
    return error;
  }

  Result<EvalValue> Unary(ExprId id) {
    TARSIA_TRY(const EvalValue operand, Visit(pool_.children(id)[0]));
    if (static_cast<UnaryOp>(pool_.node(id).code) == UnaryOp::kNot) {
      if (const auto* b = std::get_if<bool>(&operand)) return EvalValue(!*b);
      return MakeDiagnostic(diag::kUnaryOperand, {}, "not", ExprTypeName(TypeOf(operand)));
    }
    if (const auto* i = std::get_if<int64_t>(&operand)) {
      const auto negated = CheckedSub(0, *i);
      if (!negated) return MakeDiagnostic(diag::kIntegerOverflow, {}, fmt::format("-({})", *i));
      return EvalValue(*negated);
    }
    if (const auto* d = std::get_if<double>(&operand)) return EvalValue(-*d);
    return MakeDiagnostic(diag::kUnaryOperand, {}, "-", ExprTypeName(TypeOf(operand)));
  }

  Result<EvalValue> Binary(ExprId id) {
    const auto op = static_cast<BinaryOp>(pool_.node(id).code);
    const ExprId left = pool_.children(id)[0], right = pool_.children(id)[1];
    TARSIA_TRY(const EvalValue a, Visit(left));
    if (op == BinaryOp::kAnd || op == BinaryOp::kOr) return Logic(op, a, right);
    TARSIA_TRY(const EvalValue b, Visit(right));
    if (IsComparison(op)) return CompareValues(op, a, b);
    return Arithmetic(op, a, b);
  }

  // The right operand is not evaluated if the left one decides.
  Result<EvalValue> Logic(BinaryOp op, const EvalValue& a, ExprId right) {
    const auto* x = std::get_if<bool>(&a);
    if (x != nullptr && *x == (op == BinaryOp::kOr)) return a;
    TARSIA_TRY(EvalValue b, Visit(right));
    if (x == nullptr || !std::holds_alternative<bool>(b)) return BadOperands(op, a, b);
    return b;
  }

  Result<EvalValue> List(ExprId id) {
    EvalList out;
    for (const ExprId item : pool_.children(id)) {
      TARSIA_TRY(EvalValue value, Visit(item));
      out.items.push_back(std::move(value));
    }
    return EvalValue(std::move(out));
  }

  // The list `spatial` of a layout: mode numbers and replications.
  Result<EvalValue> SpatialList(ExprId id) {
    EvalList out;
    for (const ExprId item : pool_.children(id)) {
      const bool replication = pool_.kind(item) == ExprKind::kReplicate;
      TARSIA_TRY(EvalValue value, Visit(replication ? pool_.children(item)[0] : item));
      if (auto* number = std::get_if<int64_t>(&value)) {
        if (replication && *number < 1) {
          return MakeDiagnostic(diag::kLayoutExtent, {}, *number, 1);
        }
        if (!replication && *number < 0) {
          return MakeDiagnostic(diag::kMisplaced, {}, "a negative mode number");
        }
        if (replication) *number = ~*number;
      }
      out.items.push_back(std::move(value));
    }
    return EvalValue(std::move(out));
  }

  // One argument, of the kind of the parameter.
  Result<EvalValue> Argument(Func func, const FuncParameter& parameter, ExprId id) {
    if (parameter.flag && pool_.kind(id) == ExprKind::kName && pool_.Text(id) == parameter.name) {
      return EvalValue(true);
    }
    const bool spatial =
        func == Func::kLayout && parameter.name == "spatial" && pool_.kind(id) == ExprKind::kList;
    TARSIA_TRY(EvalValue value, spatial ? SpatialList(id) : Visit(id));
    bool fits = TypeOf(value) == parameter.type;
    std::string_view found = ExprTypeName(TypeOf(value));
    if (const auto* list = std::get_if<EvalList>(&value); fits && list != nullptr) {
      fits = std::all_of(list->items.begin(), list->items.end(), [](const EvalValue& item) {
        return std::holds_alternative<int64_t>(item);
      });
      found = "a list of other things";
    }
    if (fits) return value;
    return MakeDiagnostic(
        diag::kArgumentKind, {}, parameter.name, FuncName(func),
        parameter.type == ExprType::kList ? "a list of integers" : ExprTypeName(parameter.type),
        found);
  }

  Result<EvalValue> Call(ExprId id) {
    const auto func = static_cast<Func>(pool_.node(id).code);
    TARSIA_TRY(const BoundArguments bound, BindArguments(pool_, id));
    const std::span<const FuncParameter> parameters = ParametersOf(func);
    std::vector<std::vector<EvalValue>> values(bound.size());
    for (size_t i = 0; i < bound.size(); ++i) {
      for (const ExprId argument : bound[i]) {
        TARSIA_TRY(EvalValue value, Argument(func, parameters[i], argument));
        values[i].push_back(std::move(value));
      }
    }
    return CallFunction(func, Arguments(std::move(values)));
  }

  const EvalEnv& env_;
};

}  // namespace

Result<EvalValue> Evaluate(const ExprPool& pool, ExprId id, const EvalEnv& env, Location location,
                           ExprId* failed) {
  return Evaluator(pool, env).Run(id, location, failed);
}

namespace {

struct TokenPlace {
  size_t begin = 0;
  size_t end = 0;
  Location location;
};

// The tokens of a text with their places; none if there are too many to search.
std::vector<TokenPlace> Tokens(std::string_view text) {
  constexpr size_t kMaxSearched = 96;
  Diagnostics ignored;
  std::vector<TokenPlace> out;
  for (Lexer lexer(text, &ignored); lexer.token() != Token::kEnd; lexer.Next()) {
    if (out.size() == kMaxSearched) return {};
    const auto begin = static_cast<size_t>(lexer.text().data() - text.data());
    out.push_back({begin, begin + lexer.text().size(), lexer.location()});
  }
  return out;
}

}  // namespace

Location FindExpression(std::string_view text, ExprPool& pool, ExprId id) {
  const std::vector<TokenPlace> tokens = Tokens(text);
  const auto whole = static_cast<uint32_t>(std::min<size_t>(text.find('\n'), text.size()));
  Location out{1, 1, whole};
  bool found = false;
  for (size_t first = 0; first < tokens.size(); ++first) {
    for (size_t last = first; last < tokens.size(); ++last) {
      const size_t begin = tokens[first].begin, end = tokens[last].end;
      // The shortest one: without the parentheses around it.
      if (found && end - begin >= out.length) break;
      const Result<ExprId> parsed = ParseExpression(text.substr(begin, end - begin), pool);
      if (!parsed.ok() || *parsed != id) continue;
      out = tokens[first].location;
      out.length = static_cast<uint32_t>(end - begin);
      found = true;
    }
  }
  return out;
}

Result<EvalValue> EvaluateText(std::string_view text) {
  ExprPool pool;
  TARSIA_TRY(const ExprId id, ParseExpression(text, pool));
  ExprId failed;
  Result<EvalValue> out = Evaluate(pool, id, EmptyEnv(), {}, &failed);
  if (out.ok()) return out;
  Diagnostic error = out.TakeError();
  error.location = FindExpression(text, pool, failed);
  return error;
}

}  // namespace tarsia
