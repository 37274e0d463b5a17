// Rules of the memory family.
#include <algorithm>

#include "isa/validate/rule_context.h"

namespace tarsia {
namespace {

std::optional<int64_t> Bits(RuleContext& check, const ValueType& type) {
  const auto dtype = check.pool.AsDType(type.dtype);
  const auto elements = Elements(check.pool, type.shape);
  int64_t bits = 0;
  if (!dtype || !elements || __builtin_mul_overflow(*elements, dtype->bits, &bits)) {
    return std::nullopt;
  }
  return bits;
}

std::string Quoted(RuleContext& check, const CheckedOperand& operand) {
  return "`" + check.context.Text(operand.id) + "`";
}

void ViewPointer(RuleContext& check, const Inst& inst, const CheckedOperand& source,
                 const TypeExpr& note) {
  if (note.space != Space::kGlobal && note.space != Space::kNone) {
    check.context.Error(diag::kAnnotationDisagrees, check.kernel.TypeLocation(inst),
                        std::string("a ") + std::string(SpaceName(note.space)) + " tile",
                        "a global tile, being a view of a pointer");
    return;
  }
  const auto pointed = check.pool.AsDType(source.type->dtype);
  if (pointed && *pointed != kU8 && Differ(check.pool, source.type->dtype, note.dtype)) {
    check.context.Error(diag::kPointerType, check.kernel.TypeLocation(inst),
                        check.kernel.ValueName(source.id.value()), DTypeName(*pointed),
                        check.context.Text(note.dtype));
    return;
  }
  check.results.Define(inst, 0, MemoryTile(Space::kGlobal, note.dtype, note.shape));
}

void ViewMemory(RuleContext& check, const Inst& inst, const CheckedOperand& source,
                const TypeExpr& note) {
  const ValueType& from = *source.type;
  if (!from.layout.none()) {
    check.context.Error(diag::kLayoutNotHere, source.location, "a view",
                        "a tile with a memory layout of its own");
    return;
  }
  ValueType to = MemoryTile(from.space, note.dtype, note.shape);
  const auto a = Bits(check, to);
  const auto b = Bits(check, from);
  if (a && b && *a != *b) {
    check.context.Error(diag::kViewSize, check.kernel.TypeLocation(inst), *a, *b);
    return;
  }
  check.results.Define(inst, 0, to);
}

// Bits of padding would become elements.
bool HasNoPadding(RuleContext& check, const RegLayout& layout, ExprId shape, std::string_view what,
                  Location location) {
  if (!SurelyPadded(check.pool, shape, layout.shape())) return true;
  check.context.Error(diag::kViewPadding, location, what, check.context.Text(shape),
                      ToString(layout.shape()));
  return false;
}

void ViewRegisters(RuleContext& check, const Inst& inst, const CheckedOperand& source,
                   const TypeExpr& note) {
  const ValueType& from = *source.type;
  if (from.layout.none() || note.layout.none()) {
    check.context.Error(diag::kViewLayout,
                        from.layout.none() ? source.location : check.kernel.TypeLocation(inst),
                        from.layout.none() ? "the source" : "the result");
    return;
  }
  const EvalValue* x = check.expressions.TryEvaluate(from.layout, source.location);
  const EvalValue* y = check.expressions.TryEvaluate(note.layout, check.kernel.TypeLocation(inst));
  const auto* a = x != nullptr ? std::get_if<RegLayout>(x) : nullptr;
  const auto* b = y != nullptr ? std::get_if<RegLayout>(y) : nullptr;
  const auto s = check.pool.AsDType(from.dtype);
  const auto t = check.pool.AsDType(note.dtype);
  if (a != nullptr && !HasNoPadding(check, *a, from.shape, "the source", source.location)) return;
  if (b != nullptr &&
      !HasNoPadding(check, *b, note.shape, "the result", check.kernel.TypeLocation(inst))) {
    return;
  }
  if (a != nullptr && b != nullptr && s && t) {
    const int64_t bits_from = a->slots() * s->bits;
    const int64_t bits_to = b->slots() * t->bits;
    if (a->threads() != b->threads() || bits_from != bits_to) {
      Diagnostic& error = check.context.Error(diag::kViewThreads, check.kernel.TypeLocation(inst),
                                              b->threads(), bits_to, a->threads(), bits_from);
      check.layouts.NoteWhereWritten(inst, from.layout, error);
      return;
    }
  }
  check.results.Define(inst, 0, RegisterTile(note.dtype, note.shape));
}

void DefineLoaded(RuleContext& check, const Inst& inst) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const ExprId shape = check.annotations.Get(inst).shape;
  const size_t rank = Rank(check.pool, source.type->shape);
  if (Rank(check.pool, shape) != rank) {
    check.context.Error(diag::kRankDiffers, check.kernel.TypeLocation(inst), Quoted(check, source),
                        rank, "the annotation", Rank(check.pool, shape));
    return;
  }
  check.results.Define(inst, 0, RegisterTile(source.type->dtype, shape));
}

bool StoredFits(RuleContext& check, const Inst& inst, size_t to, size_t from) {
  const CheckedOperand destination = check.operands.Get(inst, to);
  const CheckedOperand value = check.operands.Get(inst, from);
  const size_t rank = Rank(check.pool, destination.type->shape);
  if (Rank(check.pool, value.type->shape) != rank) {
    check.context.Error(diag::kRankDiffers, value.location, Quoted(check, destination), rank,
                        "the value", Rank(check.pool, value.type->shape));
    return false;
  }
  return check.operands.SameDType(inst, destination, value);
}

void Atomic(RuleContext& check, const Inst& inst, size_t values, bool result) {
  bool ok = true;
  for (size_t i = 1; i <= values; ++i) ok &= StoredFits(check, inst, 0, i);
  const CheckedOperand value = check.operands.Get(inst, values);
  if (values == 2) ok &= check.operands.SameShape(inst, check.operands.Get(inst, 1), value);
  if (ok && result) {
    check.results.Define(inst, 0, RegisterTile(value.type->dtype, value.type->shape));
  }
}

// The shape of the source with the axis replaced by the number of indices.
std::optional<ExprId> GatheredShape(RuleContext& check, const Inst& inst) {
  const CheckedOperand memory = check.operands.Get(inst, 0);
  const CheckedOperand indices = check.operands.Get(inst, 1);
  if (Rank(check.pool, indices.type->shape) != 1) {
    check.context.Error(diag::kIndicesNotAVector, indices.location,
                        check.context.Describe(*indices.type));
    return std::nullopt;
  }
  const auto axis = check.attributes.Axis(inst, Rank(check.pool, memory.type->shape));
  if (!axis) return std::nullopt;
  const auto extents = check.pool.children(memory.type->shape);
  std::vector<ExprId> shape(extents.begin(), extents.end());
  shape[*axis] = Extent(check.pool, indices.type->shape, 0);
  return check.pool.List(shape);
}

// Operand `i` is a tile that goes to the indexed part, with its type and shape.
bool IndexedFits(RuleContext& check, const Inst& inst, size_t i) {
  const CheckedOperand value = check.operands.Get(inst, i);
  const auto shape = GatheredShape(check, inst);
  if (!shape || !check.operands.SameDType(inst, check.operands.Get(inst, 0), value)) return false;
  if (!ShapesDiffer(check.pool, *shape, value.type->shape)) return true;
  check.context.Error(diag::kShapesDiffer, value.location, Row(inst.opcode).mnemonic,
                      "the indexed part", check.context.Text(*shape), value.name,
                      check.context.Text(value.type->shape));
  return false;
}

void AtomicScatter(RuleContext& check, const Inst& inst) {
  const InstRow& row = Row(inst.opcode);
  for (size_t i = 2; i < row.operands.size(); ++i) {
    if (!IndexedFits(check, inst, i)) return;
  }
  if (row.results.size() == 0) return;
  const CheckedOperand value = check.operands.Get(inst, row.operands.size() - 1);
  check.results.Define(inst, 0, RegisterTile(value.type->dtype, value.type->shape));
}

}  // namespace

VALIDATE(View) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const TypeExpr note = check.annotations.Get(inst);
  if (source.type->kind == ValueKind::kPointer) return ViewPointer(check, inst, source, note);
  if (source.type->space == Space::kRegister) return ViewRegisters(check, inst, source, note);
  ViewMemory(check, inst, source, note);
}

VALIDATE(AllocShared) {
  const TypeExpr note = check.annotations.Get(inst);
  const ValueType type = MemoryTile(Space::kShared, note.dtype, note.shape);
  check.results.Define(inst, 0, type);
  ValueType placed = type;
  placed.layout = note.layout;
  const bool is_placed = check.kernel.HasAttr(inst, Attr::kAt);
  const auto place = check.attributes.KnownInt(inst, Attr::kAt, 0);
  check.shared_memory.Add(inst, placed, is_placed ? place : std::nullopt);
}

VALIDATE(AllocGlobal) {
  if (check.scopes.depth() > 0) {
    check.context.Error(diag::kAllocInLoop, check.kernel.LocationOf(inst));
  }
  const TypeExpr note = check.annotations.Get(inst);
  check.results.Define(inst, 0, MemoryTile(Space::kGlobal, note.dtype, note.shape));
}

VALIDATE(Slice) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const TypeExpr note = check.annotations.Get(inst);
  if (!note.layout.none()) {
    check.context.Error(diag::kLayoutNotHere, check.kernel.TypeLocation(inst), "a layout",
                        "a slice, which has that of its source");
    return;
  }
  const size_t rank = Rank(check.pool, source.type->shape);
  if (Rank(check.pool, note.shape) != rank) {
    check.context.Error(diag::kRankDiffers, check.kernel.TypeLocation(inst), Quoted(check, source),
                        rank, "the slice", Rank(check.pool, note.shape));
    return;
  }
  ValueType type = *source.type;
  type.shape = note.shape;
  type.layout = ExprId();
  check.results.Define(inst, 0, type);
}

VALIDATE(Load) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  if (check.kernel.HasAttr(inst, Attr::kVia) && source.type->space != Space::kGlobal) {
    check.context.Error(diag::kViaNotGlobal, check.kernel.AttrLocation(inst, Attr::kVia),
                        check.kernel.ValueName(source.id.value()));
  }
  DefineLoaded(check, inst);
}

VALIDATE(LoadScalar) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  check.results.Define(inst, 0, ScalarType(source.type->dtype));
}

VALIDATE(Store) { StoredFits(check, inst, 0, 1); }

VALIDATE(CopyAsync) {
  const CheckedOperand destination = check.operands.Get(inst, 0);
  const CheckedOperand source = check.operands.Get(inst, 1);
  const ExprId shape = check.annotations.Get(inst).shape;
  if (!check.operands.SameDType(inst, destination, source)) return;
  for (const CheckedOperand& tile : {destination, source}) {
    if (Rank(check.pool, tile.type->shape) == Rank(check.pool, shape)) continue;
    check.context.Error(diag::kRankDiffers, check.kernel.TypeLocation(inst), Quoted(check, tile),
                        Rank(check.pool, tile.type->shape), "the annotation",
                        Rank(check.pool, shape));
    return;
  }
}

VALIDATE(CopyCommit) {}

VALIDATE(CopyWait) {
  const CheckedOperand pending = check.operands.Get(inst, 0);
  const auto value = check.expressions.KnownInt(pending.id, pending.location);
  if (value && *value < 0) {
    check.context.Error(diag::kPositiveNeeded, pending.location, pending.name, 0, *value);
  }
}

VALIDATE(Gather) {
  const auto shape = GatheredShape(check, inst);
  if (!shape) return;
  check.results.Define(inst, 0, RegisterTile(check.operands.Get(inst, 0).type->dtype, *shape));
}

VALIDATE(Scatter) { IndexedFits(check, inst, 2); }

VALIDATE(Prefetch) {
  const CheckedOperand source = check.operands.Get(inst, 0);
  const ExprId shape = check.annotations.Get(inst).shape;
  const size_t rank = Rank(check.pool, source.type->shape);
  if (Rank(check.pool, shape) == rank) return;
  check.context.Error(diag::kRankDiffers, check.kernel.TypeLocation(inst), Quoted(check, source),
                      rank, "the annotation", Rank(check.pool, shape));
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
VALIDATE(AtomicScatterAdd) { AtomicScatter(check, inst); }
VALIDATE(AtomicScatterMin) { AtomicScatter(check, inst); }
VALIDATE(AtomicScatterMax) { AtomicScatter(check, inst); }
VALIDATE(AtomicScatterAnd) { AtomicScatter(check, inst); }
VALIDATE(AtomicScatterOr) { AtomicScatter(check, inst); }
VALIDATE(AtomicScatterXor) { AtomicScatter(check, inst); }
VALIDATE(AtomicScatterExch) { AtomicScatter(check, inst); }
VALIDATE(AtomicScatterCas) { AtomicScatter(check, inst); }
VALIDATE(RedScatterAdd) { AtomicScatter(check, inst); }
VALIDATE(RedScatterMin) { AtomicScatter(check, inst); }
VALIDATE(RedScatterMax) { AtomicScatter(check, inst); }
VALIDATE(RedScatterAnd) { AtomicScatter(check, inst); }
VALIDATE(RedScatterOr) { AtomicScatter(check, inst); }
VALIDATE(RedScatterXor) { AtomicScatter(check, inst); }

}  // namespace tarsia
