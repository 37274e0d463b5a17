#include "isa/validate/results.h"

#include <fmt/format.h>

#include "isa/limits.h"
#include "isa/validate/value_types.h"

namespace tarsia {

void Results::Define(const Inst& inst, size_t result, ValueType type) {
  if (!MergeAnnotation(inst, result, type)) return;
  if (type.kind == ValueKind::kTile && !CheckTile(inst, type)) return;
  const Kernel& kernel = context_.kernel();
  const uint32_t value = kernel.Results(inst)[result].value();
  const Location location = kernel.ArgLocation(inst, result);
  if (!CheckWritable(value, location)) return;
  if (context_.type(value).known) return Assign(inst, value, type, location);
  if (inst.opcode == Opcode::kFor) counters_[value] = 1;
  context_.SetType(value, type);
}

bool Results::CheckWritable(uint32_t value, Location location) {
  const Kernel& kernel = context_.kernel();
  if (value >= kernel.params.size() && counters_[value] == 0) return true;
  NoteDefinition(value,
                 context_.Error(diag::kReadOnly, location, kernel.ValueName(value),
                                counters_[value] != 0 ? "the counter of a loop" : "a parameter"));
  return false;
}

void Results::NoteDefinition(uint32_t value, Diagnostic& error) const {
  const Location location = context_.kernel().DefinitionOf(value);
  if (!location.IsText()) return;
  error.notes.push_back(
      {location, fmt::format("`%{}` is defined here", context_.kernel().ValueName(value))});
}

void Results::Assign(const Inst& inst, uint32_t value, const ValueType& type, Location location) {
  const ExprPool& pool = context_.pool();
  const std::string_view name = context_.kernel().ValueName(value);
  const ValueType& old = context_.type(value);
  const bool same = old.kind == type.kind && old.space == type.space &&
                    !Differ(pool, old.dtype, type.dtype) &&
                    (old.kind != ValueKind::kTile || !ShapesDiffer(pool, old.shape, type.shape));
  if (!same) {
    NoteDefinition(value, context_.Error(diag::kAssignedType, location, name,
                                         context_.Describe(old), context_.Describe(type)));
    return;
  }
  if (old.space == Space::kGlobal || old.space == Space::kShared) {
    NoteDefinition(value, context_.Error(diag::kReadOnly, location, name, "a tile in memory"));
    return;
  }
  layouts_.Agree(inst, old.layout, fmt::format("`%{}`", name), type.layout, "its new value",
                 location);
}

// The element type is that of the first result.
bool Results::MergeAnnotation(const Inst& inst, size_t result, ValueType& type) {
  if (inst.type == kNoTypeId) return true;
  TypeExpr note = annotations_.Get(inst);
  if (result > 0) note.dtype = ExprId();
  const ExprPool& pool = context_.pool();
  const auto disagrees = [&](const std::string& annotated) {
    context_.Error(diag::kAnnotationDisagrees, context_.kernel().TypeLocation(inst), annotated,
                   context_.Describe(type));
    return false;
  };
  if (type.kind == ValueKind::kScalar) {
    if (note.space != Space::kNone || !note.shape.none()) {
      return disagrees(annotations_.Text(inst));
    }
  } else if (note.space != Space::kNone && note.space != type.space) {
    return disagrees(fmt::format("a {} tile", SpaceName(note.space)));
  }
  if (!note.dtype.none() && Differ(pool, note.dtype, type.dtype)) {
    return disagrees(context_.Text(note.dtype));
  }
  if (!note.shape.none() && !type.shape.none() && ShapesDiffer(pool, note.shape, type.shape)) {
    return disagrees(context_.Text(note.shape));
  }
  if (!note.layout.none()) type.layout = note.layout;
  if (!note.bits.none()) type.bits = note.bits;
  return true;
}

bool Results::CheckTile(const Inst& inst, const ValueType& type) {
  const size_t rank = Rank(context_.pool(), type.shape);
  if (rank > kMaxRank) {
    context_.Error(diag::kRankTooHigh, context_.kernel().LocationOf(inst), +kMaxRank, rank);
    return false;
  }
  return (type.space == Space::kGlobal || CheckSize(inst, type)) && layouts_.Check(inst, type);
}

bool Results::CheckSize(const Inst& inst, const ValueType& type) {
  const ExprPool& pool = context_.pool();
  const auto extents = pool.children(type.shape);
  for (const ExprId extent : extents) {
    if (!pool.UsesValues(extent)) continue;
    context_.Error(diag::kRuntimeShape, context_.kernel().TypeLocation(inst), SpaceName(type.space),
                   context_.Text(extent));
    return false;
  }
  const auto elements = Elements(pool, type.shape);
  bool all_known = true;
  for (const ExprId extent : extents) all_known &= pool.AsInt(extent).has_value();
  const bool too_large = elements ? *elements > kMaxTileElements : all_known;
  if (!too_large) return true;
  context_.Error(diag::kTileTooLarge, context_.kernel().TypeLocation(inst),
                 type.space == Space::kRegister ? "register" : SpaceName(type.space),
                 +kMaxTileElements, elements ? std::to_string(*elements) : "more than 2^63");
  return false;
}

}  // namespace tarsia
