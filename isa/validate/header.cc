#include "isa/validate/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "isa/limits.h"

namespace tarsia {

void HeaderChecker::Check() {
  const Kernel& kernel = context_.kernel();
  for (size_t i = 0; i < kernel.constants.size(); ++i) CheckConstant(i);
  for (uint32_t i = 0; i < kernel.params.size(); ++i) CheckParameter(i);
  for (const Require& require : kernel.requires_) CheckRequire(require);
  for (const Assume& assume : kernel.assumes) CheckAssume(assume);
  CheckGrid();
  CheckWarps();
  CheckRegisters();
}

// ---- constants -------------------------------------------------------------------------------

void HeaderChecker::CheckConstant(size_t index) {
  const std::vector<Constant>& constants = context_.kernel().constants;
  const Constant& constant = constants[index];
  for (size_t i = 0; i < index; ++i) {
    if (constants[i].name != constant.name) continue;
    context_.Error(diag::kRedefinition, constant.location, "constant",
                   context_.pool().strings()[constant.name]);
    return;
  }
  if (!constant.default_value.none()) {
    CheckConstantValue(constant, constant.default_value, "the default of constant `{}`",
                       constant.DefaultLocation());
  }
  for (const ExprId candidate : context_.pool().children(constant.candidates)) {
    CheckConstantValue(constant, candidate, "a candidate of constant `{}`", constant.location);
  }
  // Only from here on, because a default may use only earlier constants.
  expressions_.AddConstant(constant.name, constant.kind);
}

void HeaderChecker::CheckConstantValue(const Constant& constant, ExprId value, const char* what,
                                       Location location) {
  const std::string_view name = context_.pool().strings()[constant.name];
  if (expressions_.ExpectKind(value, ExprTypeOf(constant.kind), what, location, name)) {
    expressions_.ExpectConstant(value, fmt::format(fmt::runtime(what), name), location, "");
  }
}

// ---- parameters, requirements, assumptions ---------------------------------------------------

void HeaderChecker::CheckParameter(uint32_t index) {
  const Parameter& param = context_.kernel().params[index];
  if (!expressions_.ExpectKind(param.dtype, ExprType::kDType, "the type of a parameter",
                               param.location)) {
    return;
  }
  ValueType type;
  type.kind = param.is_pointer ? ValueKind::kPointer : ValueKind::kScalar;
  type.dtype = context_.Fold(param.dtype);
  const auto dtype = context_.pool().AsDType(type.dtype);
  type.known = param.is_pointer || !dtype || Contains(TypeClass::kScalarType, *dtype);
  if (!type.known) context_.Error(diag::kScalarTypeNeeded, param.location, DTypeName(*dtype));
  context_.SetType(index, type);
}

void HeaderChecker::CheckRequire(const Require& require) {
  constexpr const char* kWhat = "a requirement";
  if (expressions_.ExpectKind(require.condition, ExprType::kBool, kWhat, require.location)) {
    expressions_.ExpectConstant(require.condition, kWhat, require.location,
                                "`assume` says what holds of the values of a launch");
  }
}

void HeaderChecker::CheckAssume(const Assume& assume) {
  if (!assume.alignment.none()) return CheckAlignment(assume);
  if (expressions_.ExpectKind(assume.condition, ExprType::kBool, "an assumption",
                              assume.location) &&
      ExpectParameters(assume.condition, assume.location)) {
    expressions_.ComputeConstant(assume.condition, assume.location);
  }
}

void HeaderChecker::CheckAlignment(const Assume& assume) {
  constexpr const char* kWhat = "an alignment";
  const std::vector<Parameter>& params = context_.kernel().params;
  const ExprId subject = assume.condition;
  const bool pointer =
      subject.is_value() && subject.value() < params.size() && params[subject.value()].is_pointer;
  if (!pointer) context_.Error(diag::kNotAPointer, assume.location, context_.Text(subject));
  if (!expressions_.ExpectKind(assume.alignment, ExprType::kInt, kWhat, assume.location) ||
      !expressions_.ExpectConstant(assume.alignment, kWhat, assume.location, "")) {
    return;
  }
  const auto alignment = context_.pool().AsInt(context_.Fold(assume.alignment));
  if (alignment && (*alignment < 1 || *alignment > kMaxAssumedAlignment ||
                    !std::has_single_bit(static_cast<uint64_t>(*alignment)))) {
    context_.Error(diag::kAlignmentRange, assume.location, *alignment);
  }
}

// ---- grid, warps and registers
// --------------------------------------------------------------------------

void HeaderChecker::CheckGrid() {
  const Location location = context_.kernel().grid_location;
  for (const ExprId extent : context_.kernel().grid) {
    if (extent.none()) continue;
    if (expressions_.ExpectKind(extent, ExprType::kInt, "an extent of the grid", location) &&
        ExpectParameters(extent, location)) {
      expressions_.ComputeConstant(extent, location);
    }
  }
}

std::optional<int64_t> HeaderChecker::ConstantOf(ExprId clause, const char* what,
                                                 Location location) {
  if (!expressions_.ExpectKind(clause, ExprType::kInt, what, location)) return std::nullopt;
  if (context_.pool().UsesValues(clause)) {
    context_.Error(diag::kNotConstant, location, what);
    return std::nullopt;
  }
  const std::optional<int64_t> value = context_.pool().AsInt(context_.Fold(clause));
  if (!value && context_.closed()) expressions_.TryEvaluate(clause, location);
  return value;
}

void HeaderChecker::CheckWarps() {
  const ExprId warps = context_.kernel().warps;
  const Location location = context_.kernel().warps_location;
  if (warps.none()) {
    warps_ = kDefaultWarps;
    return;
  }
  warps_ = ConstantOf(warps, "the number of warps", location);
  const int max_warps = context_.closed() ? context_.limits()->max_warps : kMaxWarps;
  if (warps_ && (*warps_ < 1 || *warps_ > max_warps)) {
    context_.Error(diag::kWarpsRange, location, max_warps, *warps_);
    warps_.reset();
  }
}

void HeaderChecker::CheckRegisters() {
  const ExprId registers = context_.kernel().registers;
  const Location location = context_.kernel().registers_location;
  if (registers.none()) return;
  registers_ = ConstantOf(registers, "the number of registers", location);
  if (registers_ && (*registers_ < kLeastRegisterBound || *registers_ > kMostRegisterBound)) {
    context_.Error(diag::kRegistersRange, location, kLeastRegisterBound, kMostRegisterBound,
                   *registers_);
    registers_.reset();
  }
}

bool HeaderChecker::UsesNonParameter(ExprId id) const {
  if (id.is_value()) return id.value() >= context_.kernel().params.size();
  const auto children = context_.pool().children(id);
  return std::any_of(children.begin(), children.end(),
                     [this](ExprId child) { return UsesNonParameter(child); });
}

bool HeaderChecker::ExpectParameters(ExprId id, Location location) {
  if (!UsesNonParameter(id)) return true;
  context_.Error(diag::kNotAParameter, location, context_.Text(id));
  return false;
}

}  // namespace tarsia
