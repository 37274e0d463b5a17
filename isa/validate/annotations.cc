#include "isa/validate/annotations.h"

#include <fmt/format.h>

#include "isa/limits.h"

namespace tarsia {
namespace {

// An annotation with everything that the instruction needs.
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

// The first required part that the annotation lacks; null: none.
const char* MissingPart(Annotation annotation, const TypeExpr& type) {
  bool needs_dtype = false, needs_shape = false, needs_layout = false;
  switch (annotation) {
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
  return needs_dtype && type.dtype.none()     ? "an element type"
         : needs_shape && type.shape.none()   ? "a shape"
         : needs_layout && type.layout.none() ? "a layout"
                                              : nullptr;
}

}  // namespace

TypeExpr Annotations::Get(const Inst& inst) {
  TypeExpr type = context_.module().type(inst.type);
  type.dtype = context_.Fold(type.dtype);
  type.shape = context_.Fold(type.shape);
  type.layout = context_.Fold(type.layout);
  type.bits = context_.Fold(type.bits);
  return type;
}

std::string Annotations::Text(const Inst& inst) const {
  const TypeExpr& note = context_.module().type(inst.type);
  std::string out;
  if (note.space != Space::kNone) {
    out = fmt::format("{}<{}>", SpaceName(note.space), context_.Text(note.dtype));
  } else if (!note.dtype.none()) {
    out = context_.Text(note.dtype);
  }
  if (!note.shape.none()) out += (out.empty() ? "" : " ") + context_.Text(note.shape);
  return out;
}

bool Annotations::Check(const Inst& inst, const InstRow& row) {
  if (inst.type == kNoTypeId) return CheckComplete(inst, row);
  const TypeExpr& type = context_.module().type(inst.type);
  const Location location = context_.kernel().TypeLocation(inst);
  for (const ExprId part : {type.shape, type.dtype, type.layout, type.bits}) {
    if (!scopes_.Contains(part, location)) return false;
  }
  return CheckComplete(inst, row) && CheckParts(inst, row);
}

bool Annotations::CheckComplete(const Inst& inst, const InstRow& row) {
  const char* missing = MissingPart(row.annotation, context_.module().type(inst.type));
  if (missing == nullptr) return true;
  Diagnostic& error = context_.Error(diag::kAnnotationNeeded, context_.kernel().LocationOf(inst),
                                     row.mnemonic, missing);
  error.help = fmt::format("as in `: {}`", Example(row));
  return false;
}

bool Annotations::CheckParts(const Inst& inst, const InstRow& row) {
  const TypeExpr& type = context_.module().type(inst.type);
  const Location location = context_.kernel().TypeLocation(inst);
  bool ok = true;
  const auto check_kind = [&](ExprId id, ExprType kind, const char* what) {
    if (!id.none()) ok &= expressions_.ExpectKind(id, kind, what, location);
  };
  check_kind(type.dtype, ExprType::kDType, "the element type");
  check_kind(type.bits, ExprType::kBitLayout, "the bit layout");
  if (!type.shape.none()) {
    for (const ExprId extent : context_.pool().children(type.shape)) {
      check_kind(extent, ExprType::kInt, "an extent");
    }
    ok = ok && CheckShape(inst, context_.Fold(type.shape), row.Has(kRuntimeShape));
  }
  if (!type.layout.none()) {
    const ExprType kind = expressions_.TypeOf(type.layout, location);
    if (kind != ExprType::kRegLayout && kind != ExprType::kMemLayout &&
        kind != ExprType::kUnknown) {
      context_.Error(diag::kExpressionKind, location, "the layout", "a layout", ExprTypeName(kind));
      ok = false;
    }
  }
  return ok;
}

bool Annotations::CheckShape(const Inst& inst, ExprId shape, bool runtime_allowed) {
  const ExprPool& pool = context_.pool();
  const Location location = context_.kernel().TypeLocation(inst);
  const auto extents = pool.children(shape);
  if (extents.size() > kMaxRank) {
    context_.Error(diag::kRankTooHigh, location, +kMaxRank, extents.size());
    return false;
  }
  for (const ExprId extent : extents) {
    const auto value = pool.AsInt(extent);
    if (value && (*value < 0 || *value > kMaxExtent)) {
      context_.Error(diag::kExtentRange, location, *value);
      return false;
    }
    if (!value && !runtime_allowed && pool.UsesValues(extent)) {
      context_
          .Error(diag::kNotConstant, location, fmt::format("the extent {}", context_.Text(extent)))
          .help =
          "extents of tiles in registers and shared memory are constants; a loop takes a tensor of "
          "any size tile by tile, and masks what is not there";
      return false;
    }
    if (!value && context_.closed() && !pool.UsesValues(extent)) {
      // Nothing is open, but it is not a number: the evaluator reports why.
      expressions_.TryEvaluate(extent, location);
      return false;
    }
  }
  return true;
}

}  // namespace tarsia
