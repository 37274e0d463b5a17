// Rules of the memory family.
#include <algorithm>

#include "isa/validate/checker.h"

namespace tarsia {
namespace {

std::optional<int64_t> Bits(Checker& check, const ValueType& type) {
  const auto dtype = check.DTypeOf(type.dtype);
  const auto elements = check.Elements(type.shape);
  int64_t bits = 0;
  if (!dtype || !elements || __builtin_mul_overflow(*elements, dtype->bits, &bits)) {
    return std::nullopt;
  }
  return bits;
}

std::string Quoted(Checker& check, const Checker::Operand& operand) {
  return "`" + check.Text(operand.id) + "`";
}

void ViewPointer(Checker& check, const Inst& inst, const Checker::Operand& source,
                 const TypeExpr& note) {
  if (note.space != Space::kGlobal && note.space != Space::kNone) {
    check.Error(diag::kAnnotationDisagrees, check.AtType(inst),
                std::string("a ") + std::string(SpaceName(note.space)) + " tile",
                "a global tile, being a view of a pointer");
    return;
  }
  const auto pointed = check.DTypeOf(source.type->dtype);
  if (pointed && *pointed != kU8 && check.Differ(source.type->dtype, note.dtype)) {
    check.Error(diag::kPointerType, check.AtType(inst), check.kernel().ValueName(source.id.value()),
                DTypeName(*pointed), check.Text(note.dtype));
    return;
  }
  check.Define(inst, 0, check.MemoryTile(Space::kGlobal, note.dtype, note.shape));
}

void ViewMemory(Checker& check, const Inst& inst, const Checker::Operand& source,
                const TypeExpr& note) {
  const ValueType& from = *source.type;
  if (!from.layout.none()) {
    check.Error(diag::kLayoutNotHere, source.location, "a view",
                "a tile with a memory layout of its own");
    return;
  }
  ValueType to = check.MemoryTile(from.space, note.dtype, note.shape);
  const auto a = Bits(check, to);
  const auto b = Bits(check, from);
  if (a && b && *a != *b) {
    check.Error(diag::kViewSize, check.AtType(inst), *a, *b);
    return;
  }
  check.Define(inst, 0, to);
}

void ViewRegisters(Checker& check, const Inst& inst, const Checker::Operand& source,
                   const TypeExpr& note) {
  const ValueType& from = *source.type;
  if (from.layout.none() || note.layout.none()) {
    check.Error(diag::kViewLayout, from.layout.none() ? source.location : check.AtType(inst),
                from.layout.none() ? "the source" : "the result");
    return;
  }
  const EvalValue* x = check.TryEvaluate(from.layout, source.location);
  const EvalValue* y = check.TryEvaluate(note.layout, check.AtType(inst));
  const auto* a = x != nullptr ? std::get_if<RegLayout>(x) : nullptr;
  const auto* b = y != nullptr ? std::get_if<RegLayout>(y) : nullptr;
  const auto s = check.DTypeOf(from.dtype);
  const auto t = check.DTypeOf(note.dtype);
  if (a != nullptr && b != nullptr && s && t) {
    const int64_t bits_from = a->slots() * s->bits;
    const int64_t bits_to = b->slots() * t->bits;
    if (a->threads() != b->threads() || bits_from != bits_to) {
      check.Error(diag::kViewThreads, check.AtType(inst), b->threads(), bits_to, a->threads(),
                  bits_from);
      return;
    }
  }
  check.Define(inst, 0, check.RegisterTile(note.dtype, note.shape));
}

void DefineLoaded(Checker& check, const Inst& inst) {
  const Checker::Operand source = check.Get(inst, 0);
  const ExprId shape = check.Annotation(inst).shape;
  const size_t rank = check.Rank(source.type->shape);
  if (check.Rank(shape) != rank) {
    check.Error(diag::kRankDiffers, check.AtType(inst), Quoted(check, source), rank,
                "the annotation", check.Rank(shape));
    return;
  }
  check.Define(inst, 0, check.RegisterTile(source.type->dtype, shape));
}

bool StoredFits(Checker& check, const Inst& inst, size_t to, size_t from) {
  const Checker::Operand destination = check.Get(inst, to);
  const Checker::Operand value = check.Get(inst, from);
  const size_t rank = check.Rank(destination.type->shape);
  if (check.Rank(value.type->shape) != rank) {
    check.Error(diag::kRankDiffers, value.location, Quoted(check, destination), rank, "the value",
                check.Rank(value.type->shape));
    return false;
  }
  return check.SameDType(inst, destination, value);
}

void Atomic(Checker& check, const Inst& inst, size_t values, bool result) {
  bool ok = true;
  for (size_t i = 1; i <= values; ++i) ok &= StoredFits(check, inst, 0, i);
  const Checker::Operand value = check.Get(inst, values);
  if (values == 2) ok &= check.SameShape(inst, check.Get(inst, 1), value);
  if (ok && result) {
    check.Define(inst, 0, check.RegisterTile(value.type->dtype, value.type->shape));
  }
}

// The shape of the source with the axis replaced by the number of indices.
std::optional<ExprId> GatheredShape(Checker& check, const Inst& inst) {
  const Checker::Operand memory = check.Get(inst, 0);
  const Checker::Operand indices = check.Get(inst, 1);
  if (check.Rank(indices.type->shape) != 1) {
    check.Error(diag::kIndicesNotAVector, indices.location, check.Describe(*indices.type));
    return std::nullopt;
  }
  const auto axis = check.Axis(inst, check.Rank(memory.type->shape));
  if (!axis) return std::nullopt;
  const auto extents = check.pool().children(memory.type->shape);
  std::vector<ExprId> shape(extents.begin(), extents.end());
  shape[*axis] = check.Extent(indices.type->shape, 0);
  return check.Shape(shape);
}

}  // namespace

VALIDATE(View) {
  const Checker::Operand source = check.Get(inst, 0);
  const TypeExpr note = check.Annotation(inst);
  if (source.type->kind == ValueKind::kPointer) return ViewPointer(check, inst, source, note);
  if (source.type->space == Space::kRegister) return ViewRegisters(check, inst, source, note);
  ViewMemory(check, inst, source, note);
}

VALIDATE(AllocShared) {
  const TypeExpr note = check.Annotation(inst);
  const ValueType type = check.MemoryTile(Space::kShared, note.dtype, note.shape);
  check.Define(inst, 0, type);
  ValueType placed = type;
  placed.layout = note.layout;
  check.AddShared(inst, placed);
}

VALIDATE(AllocGlobal) {
  if (check.block_depth() > 0) check.Error(diag::kAllocInLoop, check.At(inst));
  const TypeExpr note = check.Annotation(inst);
  check.Define(inst, 0, check.MemoryTile(Space::kGlobal, note.dtype, note.shape));
}

VALIDATE(Slice) {
  const Checker::Operand source = check.Get(inst, 0);
  const TypeExpr note = check.Annotation(inst);
  if (!note.layout.none()) {
    check.Error(diag::kLayoutNotHere, check.AtType(inst), "a layout",
                "a slice, which has that of its source");
    return;
  }
  const size_t rank = check.Rank(source.type->shape);
  if (check.Rank(note.shape) != rank) {
    check.Error(diag::kRankDiffers, check.AtType(inst), Quoted(check, source), rank, "the slice",
                check.Rank(note.shape));
    return;
  }
  ValueType type = *source.type;
  type.shape = note.shape;
  type.layout = ExprId();
  check.Define(inst, 0, type);
}

VALIDATE(Load) { DefineLoaded(check, inst); }

VALIDATE(LoadScalar) {
  const Checker::Operand source = check.Get(inst, 0);
  check.Define(inst, 0, check.Scalar(source.type->dtype));
}

VALIDATE(Store) { StoredFits(check, inst, 0, 1); }

VALIDATE(CopyAsync) {
  const Checker::Operand destination = check.Get(inst, 0);
  const Checker::Operand source = check.Get(inst, 1);
  const ExprId shape = check.Annotation(inst).shape;
  if (!check.SameDType(inst, destination, source)) return;
  for (const Checker::Operand& tile : {destination, source}) {
    if (check.Rank(tile.type->shape) == check.Rank(shape)) continue;
    check.Error(diag::kRankDiffers, check.AtType(inst), Quoted(check, tile),
                check.Rank(tile.type->shape), "the annotation", check.Rank(shape));
    return;
  }
}

VALIDATE(CopyCommit) {}

VALIDATE(CopyWait) {
  const Checker::Operand pending = check.Get(inst, 0);
  const auto value = check.KnownInt(pending.id, pending.location);
  if (value && *value < 0) {
    check.Error(diag::kPositiveNeeded, pending.location, pending.name, 0, *value);
  }
}

VALIDATE(Gather) {
  const auto shape = GatheredShape(check, inst);
  if (shape) check.Define(inst, 0, check.RegisterTile(check.Get(inst, 0).type->dtype, *shape));
}

VALIDATE(Scatter) {
  const Checker::Operand destination = check.Get(inst, 0);
  const Checker::Operand value = check.Get(inst, 2);
  const auto shape = GatheredShape(check, inst);
  if (!shape || !check.SameDType(inst, destination, value)) return;
  if (check.ShapesDiffer(*shape, value.type->shape)) {
    check.Error(diag::kShapesDiffer, value.location, "scatter", "the indexed part",
                check.Text(*shape), value.name, check.Text(value.type->shape));
  }
}

VALIDATE(Prefetch) {
  const Checker::Operand source = check.Get(inst, 0);
  const ExprId shape = check.Annotation(inst).shape;
  const size_t rank = check.Rank(source.type->shape);
  if (check.Rank(shape) == rank) return;
  check.Error(diag::kRankDiffers, check.AtType(inst), Quoted(check, source), rank, "the annotation",
              check.Rank(shape));
}

VALIDATE(AtomicAdd) { Atomic(check, inst, 1, true); }
VALIDATE(AtomicMin) { Atomic(check, inst, 1, true); }
VALIDATE(AtomicMax) { Atomic(check, inst, 1, true); }
VALIDATE(AtomicAnd) { Atomic(check, inst, 1, true); }
VALIDATE(AtomicOr) { Atomic(check, inst, 1, true); }
VALIDATE(AtomicXor) { Atomic(check, inst, 1, true); }
VALIDATE(AtomicExch) { Atomic(check, inst, 1, true); }
VALIDATE(AtomicCas) { Atomic(check, inst, 2, true); }
VALIDATE(RedAdd) { Atomic(check, inst, 1, false); }
VALIDATE(RedMin) { Atomic(check, inst, 1, false); }
VALIDATE(RedMax) { Atomic(check, inst, 1, false); }
VALIDATE(RedAnd) { Atomic(check, inst, 1, false); }
VALIDATE(RedOr) { Atomic(check, inst, 1, false); }
VALIDATE(RedXor) { Atomic(check, inst, 1, false); }

}  // namespace tarsia
