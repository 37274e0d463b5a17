#include "isa/validate/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dtypes/convert.h"
#include "isa/limits.h"
#include "layout/diagnostics.h"

namespace tarsia {
namespace {

using Rule = void (*)(Checker&, const Inst&);
constexpr Rule kRules[] = {
#define INST(name, ...) &Validate##name,
#include "isa/isa.def"
#undef INST
};

// An annotation that says all that the instruction needs to know.
std::string_view Example(const InstRow& row) {
  switch (row.annotation) {
    case Annotation::kNoType:
    case Annotation::kTypeIfExpr:
    case Annotation::kDTypeType:
      return "f16";
    case Annotation::kShapeType:
      return "[16, 8]";
    case Annotation::kDTypeShapeType:
      return "f16 [16, 8]";
    case Annotation::kLayoutType:
      return "[16, 8] spatial(8, 4) * local(2, 2)";
    case Annotation::kFullType:
      if (row.Allocates() == Space::kShared) return "shared<f16>[16, 8]";
      return row.MakesView() ? "global<f16>[%m, K]" : "global<f16>[16, 8]";
  }
  return "";
}

std::string_view DescribeKind(const OperandRow& row) {
  switch (row.kind) {
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
      return "a register tile";
    case OperandKind::kTileOrExpr:
      return "a register tile, a scalar, or a constant expression";
    case OperandKind::kExpr:
      return "a scalar or a constant expression";
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

}  // namespace

ExprType ExprTypeOf(ConstKind kind) {
  switch (kind) {
    case ConstKind::kInt:
      return ExprType::kInt;
    case ConstKind::kBool:
      return ExprType::kBool;
    case ConstKind::kDType:
      return ExprType::kDType;
    case ConstKind::kRegLayout:
      return ExprType::kRegLayout;
    case ConstKind::kMemLayout:
      return ExprType::kMemLayout;
    case ConstKind::kBitLayout:
      return ExprType::kBitLayout;
  }
  return ExprType::kUnknown;
}

Checker::Checker(Module& module, Kernel& kernel, const TargetLimits* limits,
                 Diagnostics& diagnostics)
    : module_(module),
      kernel_(kernel),
      limits_(limits),
      diagnostics_(diagnostics),
      folder_(module.pool),
      types_(kernel.value_names.size()),
      counters_(kernel.value_names.size()),
      visible_(kernel.value_names.size()) {}

void Checker::Run() {
  for (uint32_t i = 0; i < kernel_.params.size(); ++i) Show(i, kernel_.params[i].location);
  CheckHeader();
  CheckBlock(0, kernel_.code.size());
  if (limits_ != nullptr && shared_peak_ > limits_->shared_bytes) {
    Error(diag::kSharedMemory, shared_location_, shared_peak_, limits_->name,
          limits_->shared_bytes);
  }
}

// ---- header ----------------------------------------------------------------------------------

void Checker::CheckHeader() {
  for (size_t i = 0; i < kernel_.constants.size(); ++i) CheckConstant(kernel_.constants[i], i);
  CheckParameters();
  for (const Require& require : kernel_.requires_) {
    if (ExpectKind(require.condition, ExprType::kBool, "a requirement", require.location)) {
      OnlyConstants(require.condition, "a requirement", require.location,
                    "`assume` says what holds of the values of a launch");
    }
  }
  checking_parameters_ = true;
  for (const Assume& assume : kernel_.assumes) CheckAssume(assume);
  CheckGridAndWarps();
  checking_parameters_ = false;
}

void Checker::CheckConstant(const Constant& constant, size_t index) {
  const auto name = module_.pool.strings()[constant.name];
  for (size_t i = 0; i < index; ++i) {
    if (kernel_.constants[i].name == constant.name) {
      Error(diag::kRedefinition, constant.location, "constant", name);
      return;
    }
  }
  const auto check = [&](ExprId value, const char* what, Location location) {
    if (ExpectKind(value, ExprTypeOf(constant.kind), what, location, name)) {
      OnlyConstants(value, fmt::format(fmt::runtime(what), name), location, "");
    }
  };
  if (!constant.default_value.none()) {
    check(constant.default_value, "the default of constant `{}`", constant.DefaultLocation());
  }
  for (const ExprId candidate : pool().children(constant.candidates)) {
    check(candidate, "a candidate of constant `{}`", constant.location);
  }
  // Only from here on: a default may use the constants before it.
  constants_.emplace_back(constant.name, constant.kind);
}

void Checker::CheckParameters() {
  for (size_t i = 0; i < kernel_.params.size(); ++i) {
    const Parameter& param = kernel_.params[i];
    Type& type = types_[i];
    if (!ExpectKind(param.dtype, ExprType::kDType, "the type of a parameter", param.location)) {
      continue;
    }
    type.known = true;
    type.kind = param.is_pointer ? ValueKind::kPointer : ValueKind::kScalar;
    type.dtype = folder_.Fold(param.dtype);
    const auto dtype = pool().AsDType(type.dtype);
    if (!param.is_pointer && dtype && !Contains(TypeClass::kScalarType, *dtype)) {
      Error(diag::kScalarTypeNeeded, param.location, DTypeName(*dtype));
      type.known = false;
    }
  }
}

void Checker::CheckAssume(const Assume& assume) {
  if (assume.alignment.none()) {
    if (ExpectKind(assume.condition, ExprType::kBool, "an assumption", assume.location) &&
        OnlyParameters(assume.condition, assume.location)) {
      ComputeConstant(assume.condition, assume.location);
    }
    return;
  }
  const bool pointer = assume.condition.is_value() &&
                       assume.condition.value() < kernel_.params.size() &&
                       kernel_.params[assume.condition.value()].is_pointer;
  if (!pointer) Error(diag::kNotAPointer, assume.location, Text(assume.condition));
  if (!ExpectKind(assume.alignment, ExprType::kInt, "an alignment", assume.location) ||
      !OnlyConstants(assume.alignment, "an alignment", assume.location, "")) {
    return;
  }
  const auto alignment = pool().AsInt(folder_.Fold(assume.alignment));
  if (alignment && (*alignment < 1 || *alignment > kMaxAssumedAlignment ||
                    !std::has_single_bit(static_cast<uint64_t>(*alignment)))) {
    Error(diag::kAlignmentRange, assume.location, *alignment);
  }
}

void Checker::CheckGridAndWarps() {
  for (const ExprId extent : kernel_.grid) {
    if (extent.none()) continue;
    if (ExpectKind(extent, ExprType::kInt, "an extent of the grid", kernel_.grid_location) &&
        OnlyParameters(extent, kernel_.grid_location)) {
      ComputeConstant(extent, kernel_.grid_location);
    }
  }
  if (kernel_.warps.none()) {
    warps_ = 4;
    return;
  }
  if (!ExpectKind(kernel_.warps, ExprType::kInt, "the number of warps", kernel_.warps_location)) {
    return;
  }
  if (pool().UsesValues(kernel_.warps)) {
    Error(diag::kNotConstant, kernel_.warps_location, "the number of warps");
    return;
  }
  warps_ = pool().AsInt(folder_.Fold(kernel_.warps));
  const int max_warps = limits_ != nullptr ? limits_->max_warps : kMaxWarps;
  if (warps_ && (*warps_ < 1 || *warps_ > max_warps)) {
    Error(diag::kWarpsRange, kernel_.warps_location, max_warps, *warps_);
    warps_.reset();
  }
  if (!warps_ && closed()) TryEvaluate(kernel_.warps, kernel_.warps_location);
}

bool Checker::ExpectKind(ExprId id, ExprType kind, const char* what, Location location,
                         std::string_view name) {
  const size_t before = diagnostics_.count();
  const ExprType found = TypeOfExpr(id, location);
  if (diagnostics_.count() != before) return false;
  if (found == ExprType::kUnknown || found == kind) return true;
  Error(diag::kExpressionKind, location, fmt::format(fmt::runtime(what), name), ExprTypeName(kind),
        ExprTypeName(found));
  return false;
}

bool Checker::UsesNonParameter(ExprId id) const {
  if (id.is_value()) return id.value() >= kernel_.params.size();
  const auto children = pool().children(id);
  return std::any_of(children.begin(), children.end(),
                     [&](ExprId child) { return UsesNonParameter(child); });
}

ExprId Checker::FirstTile(ExprId id) const {
  if (id.is_value()) {
    const bool tile = id.value() < types_.size() && types_[id.value()].known &&
                      types_[id.value()].kind == ValueKind::kTile;
    return tile ? id : ExprId();
  }
  for (const ExprId child : pool().children(id)) {
    if (const ExprId found = FirstTile(child); !found.none()) return found;
  }
  return {};
}

bool Checker::OnlyConstants(ExprId id, std::string_view what, Location location,
                            std::string_view help) {
  if (!pool().UsesValues(id)) return true;
  Error(diag::kNotConstant, location, what).help = help;
  return false;
}

bool Checker::OnlyParameters(ExprId id, Location location) {
  if (!UsesNonParameter(id)) return true;
  Error(diag::kNotAParameter, location, Text(id));
  return false;
}

// ---- expressions -----------------------------------------------------------------------------

std::optional<ExprType> Checker::NameType(StringId name) const {
  for (const auto& [constant, kind] : constants_) {
    if (constant == name) return ExprTypeOf(kind);
  }
  return std::nullopt;
}

std::optional<ExprType> Checker::ValueType(uint32_t value) const {
  if (value >= types_.size()) return std::nullopt;
  const Type& type = types_[value];
  if (!type.known) return ExprType::kUnknown;
  if (type.kind != ValueKind::kScalar) return std::nullopt;
  const auto dtype = pool().AsDType(type.dtype);
  if (!dtype) return ExprType::kUnknown;
  if (*dtype == kBoolType) return ExprType::kBool;
  return dtype->IsInteger() ? ExprType::kInt : ExprType::kFloat;
}

std::vector<std::string_view> Checker::Names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, kind] : constants_) names.push_back(pool().strings()[name]);
  return names;
}

void Checker::NotAScalar(ExprId value, Location location, ExprId expression) {
  const Type& type = types_[value.value()];
  Diagnostic& error =
      Error(diag::kNotAScalar, location, kernel_.ValueName(value.value()), Describe(type));
  if (type.space == Space::kGlobal || type.space == Space::kShared) {
    error.help = "`load.scalar` reads one element of a tile in memory";
  } else if (type.kind == ValueKind::kTile && expression != value) {
    error.help = "instructions compute with tiles, as in `%sum = add %a, 1.0`; use their results";
  }
}

ExprType Checker::TypeOfExpr(ExprId id, Location location) {
  if (id.is_small()) return ExprType::kInt;
  if (id.is_value()) {
    if (const auto type = ValueType(id.value())) return *type;
    NotAScalar(id, location, id);
    return ExprType::kUnknown;
  }
  if (id.index() < expr_types_.size() && expr_types_[id.index()] != 0) {
    return static_cast<ExprType>(expr_types_[id.index()] - 1);
  }
  ExprId failed;
  Result<ExprType> type = StaticType(pool(), id, *this, location, &failed);
  if (!type.ok() && failed.is_value() && failed.value() < types_.size()) {
    NotAScalar(failed, location, id);
  } else if (!type.ok()) {
    Diagnostic error = type.TakeError();
    if (error.info == &diag::kUnknownFragment && !failed.none() &&
        FindMnemonic(pool().Text(failed))) {
      error.help =
          fmt::format("an instruction makes a value of its own: write `%x = {}` and use %x",
                      pool().Text(failed));
    }
    diagnostics_.Add(std::move(error));
  }
  const ExprType out = type.ok() ? *type : ExprType::kUnknown;
  if (type.ok()) {
    if (expr_types_.size() <= id.index()) expr_types_.resize(pool().size());
    expr_types_[id.index()] = static_cast<uint8_t>(1 + static_cast<int>(out));
  }
  return out;
}

const EvalValue* Checker::TryEvaluate(ExprId id, Location location) {
  id = folder_.Fold(id);
  const auto known = evaluated_.find(id);
  if (known != evaluated_.end()) return known->second ? &*known->second : nullptr;
  std::optional<EvalValue>& slot = evaluated_[id];
  // Open names: not now. What cannot be evaluated although nothing is open is an error.
  Result<ExprType> open = StaticType(pool(), id, *this, location);
  if (!open.ok()) return nullptr;
  struct HasName {
    const ExprPool& pool;
    const Checker& checker;
    bool operator()(ExprId e) const {
      if (e.is_value()) return true;
      if (pool.kind(e) == ExprKind::kName &&
          checker.NameType(static_cast<StringId>(pool.node(e).payload))) {
        return true;
      }
      const auto children = pool.children(e);
      return std::any_of(children.begin(), children.end(), *this);
    }
  };
  if (HasName{pool(), *this}(id)) return nullptr;
  Result<EvalValue> value = Evaluate(pool(), id, EmptyEnv(), location);
  if (!value.ok()) {
    diagnostics_.Add(value.TakeError());
    return nullptr;
  }
  slot = *std::move(value);
  return &*slot;
}

// Constants that are not numbers yet cannot be computed: the evaluator says why.
bool Checker::ComputeConstant(ExprId id, Location location) {
  const ExprKind kind = pool().kind(id);
  const bool is_computed =
      kind == ExprKind::kUnary || kind == ExprKind::kBinary || kind == ExprKind::kCall;
  if (!closed() || !is_computed || pool().UsesValues(id)) return true;
  return TryEvaluate(id, location) != nullptr;
}

std::optional<int64_t> Checker::Elements(ExprId shape) const {
  int64_t n = 1;
  for (const ExprId extent : pool().children(shape)) {
    const auto e = pool().AsInt(extent);
    if (!e || *e < 0 || *e > kMaxExtent || __builtin_mul_overflow(n, *e, &n)) return std::nullopt;
  }
  return n;
}

bool Checker::Differ(ExprId a, ExprId b) const {
  if (a == b) return false;
  const auto i = pool().AsInt(a);
  const auto j = pool().AsInt(b);
  if (i && j) return true;
  const auto s = pool().AsDType(a);
  const auto t = pool().AsDType(b);
  return s && t;
}

bool Checker::ShapesDiffer(ExprId a, ExprId b) const {
  if (a == b) return false;
  const auto x = pool().children(a);
  const auto y = pool().children(b);
  if (x.size() != y.size()) return true;
  for (size_t i = 0; i < x.size(); ++i) {
    if (Differ(x[i], y[i])) return true;
  }
  return false;
}

// ---- text of types ---------------------------------------------------------------------------

std::string Checker::Describe(const Type& type) const {
  if (!type.known) return "unknown";
  if (type.kind == ValueKind::kPointer) return "ptr<" + Text(type.dtype) + ">";
  if (type.kind == ValueKind::kScalar) return "a scalar " + Text(type.dtype);
  std::string out =
      fmt::format("{}<{}>{}", SpaceName(type.space), Text(type.dtype), Text(type.shape));
  if (!type.layout.none()) out += " " + Text(type.layout);
  if (!type.bits.none()) out += " bits " + Text(type.bits);
  return out;
}

std::string Checker::Describe(const Operand& operand) const {
  if (operand.type != nullptr) return Describe(*operand.type);
  return fmt::format("the constant {}", Text(operand.id));
}

// ---- operands --------------------------------------------------------------------------------

Checker::Operand Checker::Get(const Inst& inst, size_t operand) const {
  const InstRow& row = Row(inst.opcode);
  const size_t slot = row.Slot(operand);
  Operand out;
  out.name = row.operands[operand].name;
  if (slot >= inst.slots) return out;
  out.id = kernel_.Slots(inst)[slot];
  out.location = kernel_.ArgLocation(inst, inst.results + slot);
  if (out.id.is_value() && out.id.value() < types_.size()) out.type = &types_[out.id.value()];
  return out;
}

ExprId Checker::Indices(const Inst& inst, size_t operand) const {
  return kernel_.Slots(inst)[Row(inst.opcode).Slot(operand) + 1];
}

std::optional<int64_t> Checker::KnownInt(ExprId id, Location location) {
  const std::optional<int64_t> value = FoldedInt(id);
  if (!value && closed() && !pool().UsesValues(id)) TryEvaluate(id, location);
  return value;
}

std::optional<int64_t> Checker::IntAttr(const Inst& inst, Attr attr, int64_t fallback) {
  const ExprId id = kernel_.AttrOf(inst, attr);
  return id.none() ? fallback : KnownInt(id, AtAttr(inst, attr));
}

std::string_view Checker::Word(const Inst& inst, Attr attr) const {
  const ExprId id = kernel_.AttrOf(inst, attr);
  const auto words = AttrWords(Row(attr).kind);
  const int64_t i = id.none() ? 0 : pool().AsInt(id).value_or(0);
  return words[std::min(static_cast<size_t>(i), words.size() - 1)];
}

Location Checker::AtAttr(const Inst& inst, Attr attr) const {
  const auto index = Row(inst.opcode).AttrIndex(attr);
  if (!index || (inst.attrs >> *index & 1) == 0) return At(inst);
  const auto before = static_cast<unsigned>(inst.attrs) & ((1u << *index) - 1);
  return kernel_.ArgLocation(inst, static_cast<size_t>(inst.results) + inst.slots +
                                       static_cast<size_t>(std::popcount(before)));
}

std::optional<size_t> Checker::Axis(const Inst& inst, size_t rank) {
  const auto axis = IntAttr(inst, Attr::kAxis, 0);
  if (!axis) return std::nullopt;
  if (*axis < 0 || static_cast<size_t>(*axis) >= rank) {
    Error(diag::kAxisOutOfRange, AtAttr(inst, Attr::kAxis), *axis, rank);
    return std::nullopt;
  }
  return static_cast<size_t>(*axis);
}

std::optional<std::vector<size_t>> Checker::Axes(const Inst& inst, Attr attr, size_t rank) {
  const ExprId list = folder_.Fold(kernel_.AttrOf(inst, attr));
  const Location location = AtAttr(inst, attr);
  if (list.none()) {
    Error(diag::kAxesNeeded, At(inst), Row(inst.opcode).mnemonic, Row(attr).text);
    return std::nullopt;
  }
  std::vector<size_t> axes;
  for (const ExprId item : pool().children(list)) {
    const auto axis = KnownInt(item, location);
    if (!axis) return std::nullopt;
    if (*axis < 0 || static_cast<size_t>(*axis) >= rank) {
      Error(diag::kAxisOutOfRange, location, *axis, rank);
      return std::nullopt;
    }
    if (std::find(axes.begin(), axes.end(), static_cast<size_t>(*axis)) != axes.end()) {
      Error(diag::kAxesRepeated, location, *axis);
      return std::nullopt;
    }
    axes.push_back(static_cast<size_t>(*axis));
  }
  return axes;
}

bool Checker::SameDType(const Inst& inst, const Operand& a, const Operand& b) {
  if (a.type == nullptr || b.type == nullptr || !Differ(a.type->dtype, b.type->dtype)) return true;
  Error(diag::kTypesDiffer, b.location, Row(inst.opcode).mnemonic, a.name, Text(a.type->dtype),
        b.name, Text(b.type->dtype));
  return false;
}

bool Checker::SameShape(const Inst& inst, const Operand& a, const Operand& b) {
  if (!a.IsTile() || !b.IsTile() || !ShapesDiffer(a.type->shape, b.type->shape)) return true;
  Error(diag::kShapesDiffer, b.location, Row(inst.opcode).mnemonic, a.name, Text(a.type->shape),
        b.name, Text(b.type->shape));
  return false;
}

bool Checker::SameLayout(const Inst& inst, const Operand& a, const Operand& b) {
  if (!a.IsTile() || !b.IsTile()) return true;
  return SameLayout(inst, a.type->layout, fmt::format("`{}`", a.name), b.type->layout,
                    fmt::format("`{}`", b.name), b.location);
}

bool Checker::SameLayout(const Inst& inst, ExprId a, const std::string& what_a, ExprId b,
                         const std::string& what_b, Location location) {
  if (a.none() || b.none() || a == b) return true;
  const EvalValue* x = TryEvaluate(a, location);
  const EvalValue* y = TryEvaluate(b, location);
  if (x == nullptr || y == nullptr || *x == *y) return true;
  Error(diag::kLayoutsDiffer, location, Row(inst.opcode).mnemonic, what_a, what_b, Text(a),
        Text(b));
  return false;
}

namespace {

// Whether a number that is none of a type of integers is one of a type: it does not overflow, and
// infinity or NaN only where the type has them.
bool IsNumberOf(DType dtype, const ExprPool& pool, ExprId number) {
  if (const auto whole = pool.AsInt(number)) {
    return ParseValue(dtype, std::to_string(*whole)).has_value();
  }
  const auto real = pool.AsFloat(number);
  return !real || ParseValue(dtype, FloatToString(*real)).has_value();
}

}  // namespace

bool Checker::LiteralFits(const Operand& operand, ExprId dtype_id) {
  const auto dtype = pool().AsDType(dtype_id);
  const ExprType kind = operand.constant;
  if (!dtype || kind == ExprType::kUnknown) return true;
  const ExprId folded = folder_.Fold(operand.id);
  bool fits = true;
  if (kind == ExprType::kBool) {
    fits = *dtype == kBoolType;
  } else if (kind == ExprType::kFloat) {
    fits = !dtype->IsInteger() && *dtype != kBoolType && IsNumberOf(*dtype, pool(), folded);
  } else if (kind == ExprType::kInt) {
    const auto value = pool().AsInt(folded);
    fits = *dtype != kBoolType && (dtype->IsInteger() || IsNumberOf(*dtype, pool(), folded));
    if (fits && value && dtype->IsInteger()) {
      if (dtype->kind == DTypeKind::kSigned) {
        fits = dtype->bits == 64 || (*value >= -(int64_t{1} << (dtype->bits - 1)) &&
                                     *value < (int64_t{1} << (dtype->bits - 1)));
      } else {
        fits = *value >= 0 && (dtype->bits >= 63 || *value < (int64_t{1} << dtype->bits));
      }
    }
  } else {
    fits = false;
  }
  if (fits) return true;
  Diagnostic& error =
      Error(diag::kLiteralType, operand.location, Text(operand.id), DTypeName(*dtype));
  const bool number = kind == ExprType::kFloat || kind == ExprType::kInt;
  if (number && dtype->IsFloat()) {
    error.help = fmt::format("the largest finite value is {}",
                             DecodeToString(*dtype, MaxFiniteCode(*dtype)));
  }
  return false;
}

// ---- instructions ----------------------------------------------------------------------------

void Checker::CheckBlock(size_t begin, size_t end) {
  const int64_t shared_before = shared_now_;
  const size_t scope_before = scope_.size();
  bool ended = false;
  for (size_t i = begin; i < end; i = kernel_.code[i].end) {
    const Inst& inst = kernel_.code[i];
    if (ended) {
      Error(diag::kUnreachable, At(inst));
      break;
    }
    CheckInst(inst);
    const InstRow& row = Row(inst.opcode);
    const size_t scope_of_counter = scope_.size();
    EnterScope(inst);
    if (row.Has(kOpensBlock)) {
      ++depth_;
      CheckBlock(i + 1, inst.else_begin);
      if (inst.else_begin < inst.end) CheckBlock(inst.else_begin, inst.end);
      --depth_;
      LeaveScope(scope_of_counter);
    }
    ended = row.Has(kEndsBlock);
  }
  LeaveScope(scope_before);
  shared_now_ = shared_before;
}

// Text gets its scopes from the parser; bytecode is held to the same rules here.
void Checker::Show(uint32_t value, Location location) {
  if (visible_[value] != 0) return;
  visible_[value] = 1;
  scope_.push_back(value);
  if (value != next_value_) Error(diag::kValueOrder, location, kernel_.ValueName(value));
  next_value_ = std::max(next_value_, value + 1);
  if (!visible_names_.insert(kernel_.ValueName(value)).second) {
    Error(diag::kRedefinition, location, "value", fmt::format("%{}", kernel_.ValueName(value)));
  }
}

void Checker::EnterScope(const Inst& inst) {
  const auto results = kernel_.Results(inst);
  for (size_t i = 0; i < results.size(); ++i) {
    Show(results[i].value(), kernel_.ArgLocation(inst, i));
  }
}

void Checker::LeaveScope(size_t size) {
  while (scope_.size() > size) {
    visible_[scope_.back()] = 0;
    visible_names_.erase(kernel_.ValueName(scope_.back()));
    scope_.pop_back();
  }
}

bool Checker::InScope(ExprId id, Location location) {
  if (id.is_value()) {
    if (id.value() < visible_.size() && visible_[id.value()] != 0) return true;
    Error(diag::kUndefinedValue, location, kernel_.ValueName(id.value()));
    return false;
  }
  for (const ExprId child : pool().children(id)) {
    if (!InScope(child, location)) return false;
  }
  return true;
}

void Checker::CheckInst(const Inst& inst) {
  const InstRow& row = Row(inst.opcode);
  bool ok = CheckOperands(inst, row);
  ok &= CheckAttributes(inst, row);
  ok &= CheckAnnotation(inst, row);
  if (ok) kRules[static_cast<size_t>(inst.opcode)](*this, inst);
}

bool Checker::CheckOperands(const Inst& inst, const InstRow& row) {
  bool ok = true;
  for (size_t i = 0; i < row.operands.size(); ++i) {
    if (row.Slot(i) >= inst.slots) continue;
    ok &= CheckOperand(inst, row, i);
  }
  return ok;
}

bool Checker::CheckOperand(const Inst& inst, const InstRow& row, size_t i) {
  const Operand operand = Get(inst, i);
  if (!InScope(operand.id, operand.location)) return false;
  if (operand.type != nullptr) {
    if (!operand.type->known) return false;
    return CheckValueOperand(inst, row, i, operand);
  }
  return CheckExprOperand(inst, row, i, operand);
}

bool Checker::WrongKind(const Inst& inst, const InstRow& row, size_t i, const Operand& operand) {
  Diagnostic& error =
      Error(diag::kOperandKind, operand.location, operand.name, row.mnemonic,
            DescribeKind(row.operands[i]), "`" + Text(operand.id) + "`", Describe(operand));
  if (operand.type != nullptr && operand.type->kind == ValueKind::kPointer) {
    error.help = "`view` makes a tile of a pointer";
  } else if (operand.IsTile() && operand.type->space != Space::kRegister &&
             row.operands[i].kind != OperandKind::kMemoryTile) {
    error.help = "`load` brings a tile into registers";
  }
  static_cast<void>(inst);
  return false;
}

bool Checker::CheckValueOperand(const Inst& inst, const InstRow& row, size_t i,
                                const Operand& operand) {
  const Type& type = *operand.type;
  const bool scalar = type.kind == ValueKind::kScalar;
  const bool reg = type.kind == ValueKind::kTile && type.space == Space::kRegister;
  const bool memory = type.kind == ValueKind::kTile && type.space != Space::kRegister;
  bool fits = false;
  switch (row.operands[i].kind) {
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
      fits = reg;
      break;
    case OperandKind::kTileOrExpr:
      fits = reg || scalar;
      break;
    case OperandKind::kExpr:
      fits = scalar;
      break;
    case OperandKind::kIndex: {
      const auto dtype = pool().AsDType(type.dtype);
      fits = scalar && (!dtype || dtype->IsInteger());
      if (scalar && !fits) {
        Error(diag::kIndexType, operand.location, kernel_.ValueName(operand.id.value()),
              Describe(type));
        return false;
      }
      break;
    }
    case OperandKind::kCondition: {
      const auto dtype = pool().AsDType(type.dtype);
      fits = scalar && (!dtype || *dtype == kBoolType);
      if (!fits) {
        Diagnostic& error = Error(diag::kConditionType, operand.location, Describe(type));
        if (type.kind == ValueKind::kTile) error.help = "a condition is one scalar";
        return false;
      }
      break;
    }
    case OperandKind::kConstant:
      fits = false;
      break;
    case OperandKind::kMemoryTile:
    case OperandKind::kElement:
      fits = memory;
      break;
    case OperandKind::kSource:
      fits = !scalar;
      break;
    case OperandKind::kText:
      fits = false;
      break;
  }
  if (!fits) return WrongKind(inst, row, i, operand);
  if (memory && row.operands[i].space != Space::kNone && row.operands[i].space != type.space) {
    Error(diag::kSpace, operand.location, operand.name, row.mnemonic,
          SpaceName(row.operands[i].space), kernel_.ValueName(operand.id.value()), Describe(type));
    return false;
  }
  if (row.operands[i].kind == OperandKind::kElement && !CheckIndices(inst, i, operand)) {
    return false;
  }
  return CheckOperandDType(row, i, operand);
}

bool Checker::CheckOperandDType(const InstRow& row, size_t i, const Operand& operand) {
  const auto dtype = pool().AsDType(operand.type->dtype);
  if (!dtype || Contains(row.operands[i].types, *dtype)) return true;
  Diagnostic& error = Error(diag::kOperandType, operand.location, operand.name, row.mnemonic,
                            tarsia::Describe(row.operands[i].types), DTypeName(*dtype));
  if (LowPrecision(*dtype))
    error.help = "low-precision types load, store, move and cast; `cast` it first";
  return false;
}

bool Checker::CheckIndices(const Inst& inst, size_t i, const Operand& tile) {
  const InstRow& row = Row(inst.opcode);
  const ExprId list = Indices(inst, i);
  const Location location = kernel_.ArgLocation(inst, inst.results + row.Slot(i) + 1);
  const size_t rank = Rank(tile.type->shape);
  if (pool().kind(list) != ExprKind::kList || pool().children(list).size() != rank) {
    const size_t given = pool().children(list).size();
    Error(diag::kIndexRank, location, kernel_.ValueName(tile.id.value()),
          fmt::format("{} dimension{}", rank, rank == 1 ? "" : "s"),
          fmt::format("{} {}", given, given == 1 ? "index is" : "indices are"));
    return false;
  }
  if (!InScope(list, location)) return false;
  bool ok = true;
  for (size_t d = 0; d < rank; ++d) {
    const ExprId index = pool().children(list)[d];
    ok &=
        ExpectKind(index, ExprType::kInt, "an index", location) && ComputeConstant(index, location);
  }
  return ok;
}

bool Checker::CheckCondition(ExprId id, Location location) {
  const size_t before = diagnostics_.count();
  const ExprType found = TypeOfExpr(id, location);
  if (diagnostics_.count() != before) return false;
  if (found == ExprType::kBool || found == ExprType::kUnknown) {
    return ComputeConstant(id, location);
  }
  Error(diag::kConditionType, location, ExprTypeName(found));
  return false;
}

bool Checker::CheckExprOperand(const Inst& inst, const InstRow& row, size_t i,
                               const Operand& operand) {
  switch (row.operands[i].kind) {
    case OperandKind::kTile:
    case OperandKind::kOptionalTile:
    case OperandKind::kMemoryTile:
    case OperandKind::kElement:
    case OperandKind::kSource:
      return WrongKind(inst, row, i, operand);
    case OperandKind::kText:
      if (pool().kind(operand.id) == ExprKind::kString) return true;
      return WrongKind(inst, row, i, operand);
    case OperandKind::kIndex:
      return ExpectKind(operand.id, ExprType::kInt, "`{}`", operand.location, operand.name) &&
             ComputeConstant(operand.id, operand.location);
    case OperandKind::kCondition:
      return CheckCondition(operand.id, operand.location);
    case OperandKind::kConstant:
    case OperandKind::kTileOrExpr:
    case OperandKind::kExpr:
      break;
  }
  if (!row.Has(kScalarExpr) && pool().UsesValues(operand.id)) {
    if (const ExprId tile = FirstTile(operand.id); !tile.none()) {
      NotAScalar(tile, operand.location, operand.id);
      return false;
    }
    Error(diag::kNotConstant, operand.location, fmt::format("operand `{}`", operand.name));
    return false;
  }
  const size_t before = diagnostics_.count();
  const ExprType kind = TypeOfExpr(operand.id, operand.location);
  if (diagnostics_.count() != before) return false;
  const bool number = kind == ExprType::kInt || kind == ExprType::kFloat ||
                      kind == ExprType::kBool || kind == ExprType::kUnknown;
  const bool fits = row.operands[i].kind == OperandKind::kConstant
                        ? kind == ExprType::kInt || kind == ExprType::kUnknown
                        : number && pool().kind(operand.id) != ExprKind::kString;
  if (!fits) {
    Error(diag::kExpressionKind, operand.location, fmt::format("operand `{}`", operand.name),
          row.operands[i].kind == OperandKind::kConstant ? "an integer" : "a number",
          pool().kind(operand.id) == ExprKind::kString ? "a string" : ExprTypeName(kind));
  }
  return fits && ComputeConstant(operand.id, operand.location);
}

bool Checker::CheckAttributes(const Inst& inst, const InstRow& row) {
  bool ok = true;
  for (const Attr attr : row.attrs) {
    const ExprId value = kernel_.AttrOf(inst, attr);
    if (value.none()) continue;
    static constexpr const char* kWhat = "attribute `{}`";
    const std::string_view name = Row(attr).text;
    switch (Row(attr).kind) {
      case AttrKind::kFlag:
        if (pool().AsBool(value) != true) {
          Error(diag::kExpressionKind, AtAttr(inst, attr), fmt::format(kWhat, name), "a flag",
                Text(value));
          ok = false;
        }
        break;
      case AttrKind::kRounding:
      case AttrKind::kCache: {
        const auto word = pool().AsInt(value);
        if (!word || *word < 0 || static_cast<size_t>(*word) >= AttrWords(Row(attr).kind).size()) {
          Error(diag::kUnknownWord, AtAttr(inst, attr), Row(attr).text, Text(value));
          ok = false;
        }
        break;
      }
      case AttrKind::kInt:
      case AttrKind::kIntList:
        if (pool().UsesValues(value)) {
          Error(diag::kNotConstant, AtAttr(inst, attr), fmt::format(kWhat, name));
          ok = false;
        } else {
          ok &=
              ExpectKind(value, Row(attr).kind == AttrKind::kInt ? ExprType::kInt : ExprType::kList,
                         kWhat, AtAttr(inst, attr), name);
          for (const ExprId item : pool().children(value)) {
            if (pool().kind(value) != ExprKind::kList) break;
            ok &= ExpectKind(item, ExprType::kInt, "an item of attribute `{}`", AtAttr(inst, attr),
                             name);
          }
        }
        break;
    }
  }
  return ok;
}

// ---- annotations -----------------------------------------------------------------------------

TypeExpr Checker::Annotation(const Inst& inst) {
  TypeExpr type = module_.type(inst.type);
  type.dtype = folder_.Fold(type.dtype);
  type.shape = folder_.Fold(type.shape);
  type.layout = folder_.Fold(type.layout);
  type.bits = folder_.Fold(type.bits);
  return type;
}

bool Checker::CheckAnnotation(const Inst& inst, const InstRow& row) {
  const TypeExpr type = module_.type(inst.type);
  const Location location = AtType(inst);
  if (!InScope(type.shape, location) || !InScope(type.dtype, location) ||
      !InScope(type.layout, location) || !InScope(type.bits, location)) {
    return false;
  }
  bool needs_dtype = false, needs_shape = false, needs_layout = false;
  switch (row.annotation) {
    case Annotation::kNoType:
    case Annotation::kTypeIfExpr:
      break;
    case Annotation::kDTypeType:
      needs_dtype = true;
      break;
    case Annotation::kShapeType:
      needs_shape = true;
      break;
    case Annotation::kLayoutType:
      needs_shape = needs_layout = true;
      break;
    case Annotation::kDTypeShapeType:
    case Annotation::kFullType:
      needs_dtype = needs_shape = true;
      break;
  }
  const char* missing = needs_dtype && type.dtype.none()     ? "an element type"
                        : needs_shape && type.shape.none()   ? "a shape"
                        : needs_layout && type.layout.none() ? "a layout"
                                                             : nullptr;
  if (missing != nullptr) {
    Diagnostic& error = Error(diag::kAnnotationNeeded, At(inst), row.mnemonic, missing);
    error.help = fmt::format("as in `: {}`", Example(row));
    return false;
  }
  bool ok = true;
  const auto part = [&](ExprId id, ExprType kind, const char* what) {
    if (!id.none()) ok &= ExpectKind(id, kind, what, location);
  };
  part(type.dtype, ExprType::kDType, "the element type");
  part(type.bits, ExprType::kBitLayout, "the bit layout");
  if (!type.shape.none()) {
    for (const ExprId extent : pool().children(type.shape)) {
      part(extent, ExprType::kInt, "an extent");
    }
    ok = ok && CheckAnnotatedShape(inst, folder_.Fold(type.shape), row.Has(kRuntimeShape));
  }
  if (!type.layout.none()) {
    const ExprType kind = TypeOfExpr(type.layout, location);
    if (kind != ExprType::kRegLayout && kind != ExprType::kMemLayout &&
        kind != ExprType::kUnknown) {
      Error(diag::kExpressionKind, location, "the layout", "a layout", ExprTypeName(kind));
      ok = false;
    }
  }
  return ok;
}

bool Checker::CheckAnnotatedShape(const Inst& inst, ExprId shape, bool runtime_allowed) {
  const auto extents = pool().children(shape);
  if (extents.size() > kMaxRank) {
    Error(diag::kRankTooHigh, AtType(inst), +kMaxRank, extents.size());
    return false;
  }
  for (const ExprId extent : extents) {
    const auto value = pool().AsInt(extent);
    if (value && (*value < 0 || *value > kMaxExtent)) {
      Error(diag::kExtentRange, AtType(inst), *value);
      return false;
    }
    if (!value && !runtime_allowed && pool().UsesValues(extent)) {
      Error(diag::kNotConstant, AtType(inst), fmt::format("the extent {}", Text(extent)));
      return false;
    }
    if (!value && closed() && !pool().UsesValues(extent)) {
      // Nothing is open, and still it is no number: the evaluator says why.
      const EvalValue* number = TryEvaluate(extent, AtType(inst));
      static_cast<void>(number);
      return false;
    }
  }
  return true;
}

// ---- results ---------------------------------------------------------------------------------

Checker::Type Checker::Scalar(ExprId dtype) const {
  Type type;
  type.known = true;
  type.kind = ValueKind::kScalar;
  type.dtype = dtype;
  return type;
}

Checker::Type Checker::RegisterTile(ExprId dtype, ExprId shape) const {
  Type type = Scalar(dtype);
  type.kind = ValueKind::kTile;
  type.space = Space::kRegister;
  type.shape = shape;
  return type;
}

Checker::Type Checker::MemoryTile(Space space, ExprId dtype, ExprId shape) const {
  Type type = RegisterTile(dtype, shape);
  type.space = space;
  return type;
}

// The element type is that of the first result.
bool Checker::MergeAnnotation(const Inst& inst, size_t result, Type& type) {
  TypeExpr note = Annotation(inst);
  if (result > 0) note.dtype = ExprId();
  if (inst.type == kNoTypeId) return true;
  const Location location = AtType(inst);
  if (type.kind == ValueKind::kScalar) {
    if (note.space != Space::kNone || !note.shape.none()) {
      Error(diag::kAnnotationDisagrees, location, PrintedAnnotation(inst), Describe(type));
      return false;
    }
  } else if (note.space != Space::kNone && note.space != type.space) {
    Error(diag::kAnnotationDisagrees, location, fmt::format("a {} tile", SpaceName(note.space)),
          Describe(type));
    return false;
  }
  if (!note.dtype.none() && Differ(note.dtype, type.dtype)) {
    Error(diag::kAnnotationDisagrees, location, Text(note.dtype), Describe(type));
    return false;
  }
  if (!note.shape.none() && !type.shape.none() && ShapesDiffer(note.shape, type.shape)) {
    Error(diag::kAnnotationDisagrees, location, Text(note.shape), Describe(type));
    return false;
  }
  if (!note.layout.none()) type.layout = note.layout;
  if (!note.bits.none()) type.bits = note.bits;
  return true;
}

std::string Checker::PrintedAnnotation(const Inst& inst) const {
  const TypeExpr& note = module_.type(inst.type);
  std::string out;
  if (note.space != Space::kNone) {
    out = fmt::format("{}<{}>", SpaceName(note.space), Text(note.dtype));
  } else if (!note.dtype.none()) {
    out = Text(note.dtype);
  }
  if (!note.shape.none()) out += (out.empty() ? "" : " ") + Text(note.shape);
  return out;
}

void Checker::Define(const Inst& inst, size_t result, Type type) {
  if (!MergeAnnotation(inst, result, type)) return;
  if (type.kind == ValueKind::kTile && !CheckTile(inst, type)) return;
  const uint32_t value = kernel_.Results(inst)[result].value();
  const Location location = kernel_.ArgLocation(inst, result);
  if (value < kernel_.params.size() || counters_[value] != 0) {
    Error(diag::kReadOnly, location, kernel_.ValueName(value),
          counters_[value] != 0 ? "the counter of a loop" : "a parameter");
    return;
  }
  Type& old = types_[value];
  if (!old.known) {
    if (inst.opcode == Opcode::kFor) counters_[value] = 1;
    old = type;
    return;
  }
  const bool same = old.kind == type.kind && old.space == type.space &&
                    !Differ(old.dtype, type.dtype) &&
                    (old.kind != ValueKind::kTile || !ShapesDiffer(old.shape, type.shape));
  if (!same) {
    Error(diag::kAssignedType, location, kernel_.ValueName(value), Describe(old), Describe(type));
    return;
  }
  if (old.space == Space::kGlobal || old.space == Space::kShared) {
    Error(diag::kReadOnly, location, kernel_.ValueName(value), "a tile in memory");
    return;
  }
  SameLayout(inst, old.layout, fmt::format("`%{}`", kernel_.ValueName(value)), type.layout,
             "its new value", location);
}

bool Checker::CheckTile(const Inst& inst, Type& type) {
  const auto extents = pool().children(type.shape);
  if (extents.size() > kMaxRank) {
    Error(diag::kRankTooHigh, At(inst), +kMaxRank, extents.size());
    return false;
  }
  if (type.space != Space::kGlobal) {
    for (const ExprId extent : extents) {
      if (pool().UsesValues(extent)) {
        Error(diag::kRuntimeShape, AtType(inst), SpaceName(type.space), Text(extent));
        return false;
      }
    }
    const auto elements = Elements(type.shape);
    bool all_known = true;
    for (const ExprId extent : extents) all_known &= pool().AsInt(extent).has_value();
    if ((all_known && !elements) || (elements && *elements > kMaxTileElements)) {
      Error(diag::kTileTooLarge, AtType(inst),
            type.space == Space::kRegister ? "register" : SpaceName(type.space), +kMaxTileElements,
            elements ? std::to_string(*elements) : "more than 2^63");
      return false;
    }
  }
  if (type.space == Space::kRegister) {
    return CheckRegisterLayout(inst, type) && CheckBitLayout(inst, type);
  }
  if (!type.bits.none()) {
    Error(diag::kLayoutNotHere, AtType(inst), "a bit layout", "a tile in memory");
    return false;
  }
  return CheckMemoryLayout(inst, type);
}

bool Checker::CheckRegisterLayout(const Inst& inst, const Type& type) {
  if (type.layout.none()) return true;
  const Location location = AtType(inst);
  if (TypeOfExpr(type.layout, location) == ExprType::kMemLayout) {
    Error(diag::kLayoutNotHere, location, "a memory layout", "a register tile");
    return false;
  }
  const size_t before = diagnostics_.count();
  const EvalValue* value = TryEvaluate(type.layout, location);
  if (diagnostics_.count() != before) return false;
  const RegLayout* layout = value != nullptr ? std::get_if<RegLayout>(value) : nullptr;
  if (layout == nullptr) return true;
  std::vector<ExprId> extents;
  for (const int64_t extent : layout->shape()) extents.push_back(pool().Int(extent));
  if (ShapesDiffer(pool().List(extents), type.shape)) {
    Error(diag::kTileLayoutShape, location, Text(pool().List(extents)), Text(type.shape));
    return false;
  }
  if (warps_ && layout->threads() != *warps_ * 32) {
    Diagnostic& error = Error(diag::kLayoutThreads, location, layout->threads(), *warps_ * 32);
    error.help = "`replicate(k)` spreads a layout over more threads; `warps` sets their number";
    return false;
  }
  return true;
}

bool Checker::CheckBitLayout(const Inst& inst, const Type& type) {
  if (type.bits.none()) return true;
  const Location location = AtType(inst);
  if (type.layout.none()) {
    Error(diag::kLayoutNotHere, location, "a bit layout", "a tile without register layout");
    return false;
  }
  const size_t before = diagnostics_.count();
  const EvalValue* value = TryEvaluate(type.bits, location);
  const EvalValue* reg = TryEvaluate(type.layout, location);
  if (diagnostics_.count() != before) return false;
  const auto dtype = pool().AsDType(type.dtype);
  const auto* family = value != nullptr ? std::get_if<BitLayoutFamily>(value) : nullptr;
  const auto* layout = reg != nullptr ? std::get_if<RegLayout>(reg) : nullptr;
  if (family == nullptr || layout == nullptr || !dtype) return true;
  if ((family->type && *family->type != *dtype) ||
      (family->count && *family->count != layout->slots())) {
    Error(diag::kBitsShape, location, family->count.value_or(layout->slots()),
          DTypeName(family->type.value_or(*dtype)), layout->slots(), DTypeName(*dtype));
    return false;
  }
  Result<BitLayout> bits = family->Apply(*dtype, layout->slots());
  if (bits.ok()) return true;
  Diagnostic error = bits.TakeError();
  error.location = location;
  diagnostics_.Add(std::move(error));
  return false;
}

bool Checker::CheckMemoryLayout(const Inst& inst, const Type& type) {
  if (type.layout.none()) return true;
  const Location location = AtType(inst);
  if (TypeOfExpr(type.layout, location) == ExprType::kRegLayout) {
    Error(diag::kLayoutNotHere, location, "a register layout", "a tile in memory");
    return false;
  }
  const size_t before = diagnostics_.count();
  const EvalValue* value = TryEvaluate(type.layout, location);
  if (diagnostics_.count() != before) return false;
  const auto* family = value != nullptr ? std::get_if<MemLayoutFamily>(value) : nullptr;
  const auto dtype = pool().AsDType(type.dtype);
  if (family == nullptr || !dtype) return true;
  std::vector<int64_t> shape;
  for (const ExprId extent : pool().children(type.shape)) {
    const auto e = pool().AsInt(extent);
    if (!e) return true;  // decided at launch
    shape.push_back(*e);
  }
  Result<MemLayout> layout = Apply(*family, shape, *dtype);
  if (layout.ok()) return true;
  Diagnostic error = layout.TakeError();
  error.location = location;
  diagnostics_.Add(std::move(error));
  return false;
}

void Checker::AddShared(const Inst& inst, const Type& type) {
  const auto dtype = pool().AsDType(type.dtype);
  const auto elements = Elements(type.shape);
  if (!dtype || !elements || *elements > kMaxTileElements) return;
  int64_t bytes = (*elements * dtype->bits + 7) / 8;
  int64_t alignment = 16;
  const EvalValue* value = type.layout.none() ? nullptr : TryEvaluate(type.layout, AtType(inst));
  if (const auto* family = value != nullptr ? std::get_if<MemLayoutFamily>(value) : nullptr) {
    std::vector<int64_t> shape;
    for (const ExprId extent : pool().children(type.shape)) shape.push_back(*pool().AsInt(extent));
    if (Result<MemLayout> layout = Apply(*family, shape, *dtype); layout.ok()) {
      bytes = static_cast<int64_t>(layout->SizeBytes(dtype->bits));
      alignment = std::max<int64_t>(alignment, layout->Alignment());
    }
  }
  shared_now_ = (shared_now_ + alignment - 1) / alignment * alignment + bytes;
  if (shared_now_ > shared_peak_) {
    shared_peak_ = shared_now_;
    shared_location_ = At(inst);
  }
}

}  // namespace tarsia
