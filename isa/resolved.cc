#include "isa/resolved.h"

#include <algorithm>
#include <numeric>

#include "isa/program.h"

namespace tarsia {
namespace {

DType TypeOfKind(ScalarKind kind, bool in_full) {
  switch (kind) {
    case ScalarKind::kInt:
      return in_full ? kI64 : kI32;
    case ScalarKind::kBool:
      return kBoolType;
    case ScalarKind::kFloat:
      return in_full ? kF64 : kF32;
  }
  return kI32;
}

}  // namespace

class Resolver {
 public:
  Resolver(const Program& program, ResolvedCode& out)
      : program_(program),
        module_(program.module()),
        kernel_(program.kernel()),
        pool_(program.pool()),
        out_(out) {}

  void Run() {
    out_.numbers_.reserve(CountNumbers());  // spans point into it
    out_.instructions_.reserve(kernel_.code.size());
    for (const Inst& inst : kernel_.code) out_.instructions_.push_back(ResolveInst(inst));
    FindRoots();
    FindWritten();
  }

 private:
  // ---- operands ------------------------------------------------------------------------------

  ResolvedInst ResolveInst(const Inst& inst) {
    ResolvedInst out;
    out.inst = &inst;
    out.row = &Row(inst.opcode);
    for (const ExprId result : kernel_.Results(inst)) {
      out.results.items[out.results.count++] = result.value();
    }
    for (size_t i = 0; i < out.row->operands.size(); ++i) {
      out.operand[i] = ResolveOperand(inst, *out.row, i);
    }
    out.type = ComputationType(out);
    for (Operand& operand : out.operand) {
      if (!operand.IsExpr()) continue;
      operand.type = operand.role == Role::kCondition ? kBoolType : out.type;
    }
    ResolveAttributes(out);
    return out;
  }

  Operand ResolveOperand(const Inst& inst, const InstRow& row, size_t i) {
    const auto slots = kernel_.Slots(inst);
    const size_t slot = row.Slot(i);
    Operand out;
    out.role = row.operands[i].role;
    if (slot >= slots.size()) return out;
    out.expr = slots[slot];
    switch (row.operands[i].kind) {
      case OperandKind::kText:
        out.kind = Operand::Kind::kText;
        return out;
      case OperandKind::kIndex:
      case OperandKind::kCondition:
      case OperandKind::kConstant:
        out.kind = Operand::Kind::kExpr;
        return out;
      case OperandKind::kTileOrExpr:
      case OperandKind::kExpr:
        if (out.expr.is_value()) break;
        out.kind = pool_.UsesValues(out.expr) ? Operand::Kind::kExpr : Operand::Kind::kConstant;
        return out;
      case OperandKind::kElement:
        out.indices = slots[slot + 1];
        break;
      case OperandKind::kTile:
      case OperandKind::kOptionalTile:
      case OperandKind::kMemoryTile:
      case OperandKind::kSource:
        break;
    }
    ResolveValue(out);
    return out;
  }

  void ResolveValue(Operand& out) const {
    out.value = out.expr.value();
    const ConcreteType& type = program_.type(out.value);
    out.type = type.dtype;
    out.kind = type.kind == ValueKind::kScalar ? Operand::Kind::kScalar
               : IsRegisterTile(type)          ? Operand::Kind::kTile
                                               : Operand::Kind::kMemory;
  }

  // The type of the result if the row says so; else that of the first value among the operands; for
  // only expressions the type that follows from their kind. Conditions come last, because they only
  // choose.
  DType ComputationType(const ResolvedInst& inst) {
    const bool has_result = inst.results.size() != 0;
    if (inst.row->Has(kTypeOfResult)) return program_.type(inst.results[0]).dtype;
    for (const bool conditions : {false, true}) {
      const auto counts = [&](const Operand& operand) {
        return (operand.role == Role::kCondition) == conditions;
      };
      for (const Operand& operand : inst.operand) {
        if (operand.IsValue() && counts(operand)) return operand.type;
      }
      for (const Operand& operand : inst.operand) {
        if (!operand.IsExpr() || !counts(operand)) continue;
        return TypeOfKind(program_.scalar(operand.expr).kind(), inst.row->Has(kInFull));
      }
    }
    return has_result ? program_.type(inst.results[0]).dtype : kI32;
  }

  // ---- attributes ----------------------------------------------------------------------------

  // The list of axes, or the single axis, of an instruction.
  [[nodiscard]] ExprId AxesOf(const Inst& inst) const {
    const ExprId axes = kernel_.AttrOf(inst, Attr::kAxes);
    return axes.none() ? kernel_.AttrOf(inst, Attr::kOrder) : axes;
  }

  size_t CountNumbers() const {
    size_t count = 0;
    for (const Inst& inst : kernel_.code) {
      count += pool_.children(AxesOf(inst)).size() + 1;
      count += pool_.children(module_.type(inst.type).shape).size();
    }
    return count;
  }

  std::span<const int64_t> Since(size_t begin) const {
    return {out_.numbers_.data() + begin, out_.numbers_.size() - begin};
  }

  void ResolveAttributes(ResolvedInst& out) {
    const Inst& inst = *out.inst;
    if (out.row->attrs.size() != 0) {
      out.axis = IntAttr(pool_, kernel_, inst, Attr::kAxis);
      out.axes = Axes(inst, out);
      out.cast = CastOptionsOf(inst);
      out.cache = static_cast<uint8_t>(IntAttr(pool_, kernel_, inst, Attr::kCache));
      out.finite = kernel_.HasAttr(inst, Attr::kFinite);
      out.fast = out.row->fast && HasFastForms(out.type) &&
                 (kernel_.fast || kernel_.HasAttr(inst, Attr::kFast));
      out.exclusive = kernel_.HasAttr(inst, Attr::kExclusive);
      out.reverse = kernel_.HasAttr(inst, Attr::kReverse);
      out.smallest = kernel_.HasAttr(inst, Attr::kSmallest);
      out.keepdims = kernel_.HasAttr(inst, Attr::kKeepdims);
      out.zeroed = kernel_.HasAttr(inst, Attr::kZeroed);
      out.unroll = IntAttr(pool_, kernel_, inst, Attr::kUnroll);
      if (kernel_.HasAttr(inst, Attr::kAt)) out.at = IntAttr(pool_, kernel_, inst, Attr::kAt);
    }
    out.shape = AnnotatedShape(inst);
  }

  std::span<const int64_t> Axes(const Inst& inst, const ResolvedInst& out) {
    const size_t begin = out_.numbers_.size();
    if (out.row->AttrIndex(Attr::kAxis)) {
      out_.numbers_.push_back(out.axis);
    } else {
      for (const ExprId item : pool_.children(AxesOf(inst))) {
        out_.numbers_.push_back(pool_.AsInt(item).value_or(0));
      }
    }
    return Since(begin);
  }

  // Empty if an extent is known only at run time.
  std::span<const int64_t> AnnotatedShape(const Inst& inst) {
    const size_t begin = out_.numbers_.size();
    for (const ExprId extent : pool_.children(module_.type(inst.type).shape)) {
      const auto number = pool_.AsInt(extent);
      if (!number) {
        out_.numbers_.resize(begin);
        break;
      }
      out_.numbers_.push_back(*number);
    }
    return Since(begin);
  }

  [[nodiscard]] CastOptions CastOptionsOf(const Inst& inst) const {
    CastOptions out;
    out.rounding = static_cast<Rounding>(IntAttr(pool_, kernel_, inst, Attr::kRounding));
    if (kernel_.HasAttr(inst, Attr::kSat)) out.overflow = Overflow::kSaturate;
    if (kernel_.HasAttr(inst, Attr::kNoSat)) out.overflow = Overflow::kNonSaturating;
    if (kernel_.HasAttr(inst, Attr::kWrap)) out.overflow = Overflow::kWrap;
    return out;
  }

  // ---- memory --------------------------------------------------------------------------------

  // A tile in memory is defined once, before it is used: one pass finds every root.
  void FindRoots() {
    out_.roots_.resize(program_.types().size());
    std::iota(out_.roots_.begin(), out_.roots_.end(), 0u);
    for (const ResolvedInst& inst : out_.instructions_) {
      if (MakesViewOfMemory(inst)) {
        out_.roots_[inst.results[0]] = out_.roots_[inst.operand[0].value];
      }
    }
  }

  // For the same reason one pass from the end marks all values that are written through.
  void FindWritten() {
    out_.written_.resize(program_.types().size());
    for (size_t i = out_.instructions_.size(); i-- > 0;) {
      const ResolvedInst& inst = out_.instructions_[i];
      const bool through = MakesViewOfMemory(inst) && out_.written_[inst.results[0]];
      if (through || inst.row->WritesMemory()) out_.written_[inst.operand[0].value] = true;
    }
  }

  static bool MakesViewOfMemory(const ResolvedInst& inst) {
    return inst.row->MakesView() && inst.operand[0].kind == Operand::Kind::kMemory;
  }

  const Program& program_;
  const Module& module_;
  const Kernel& kernel_;
  const ExprPool& pool_;
  ResolvedCode& out_;
};

std::shared_ptr<const ResolvedCode> Resolve(const Program& program) {
  auto out = std::make_shared<ResolvedCode>();
  Resolver(program, *out).Run();
  return out;
}

}  // namespace tarsia
