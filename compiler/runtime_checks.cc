#include "compiler/runtime_checks.h"

#include <algorithm>

namespace tarsia::compiler {
namespace {

bool FollowsFromParameters(const Program& program, const ScalarExpr& expr) {
  return expr.UsesOnlyBelow(static_cast<uint32_t>(program.kernel().params.size()));
}

}  // namespace

RuntimeChecks::RuntimeChecks(const Program& launched, const Program& compiled)
    : compiled_(compiled) {
  for (const ResolvedInst& inst : launched.instructions()) {
    if (!inst.row->MakesView() && inst.row->Allocates() != Space::kGlobal) continue;
    const ConcreteType& type = launched.type(inst.results[0]);
    for (size_t d = 0; d < type.shape.size(); ++d) {
      if (type.shape[d] >= 0) continue;
      const ScalarExpr& extent = launched.scalar(type.shape_exprs[d]);
      if (FollowsFromParameters(launched, extent)) launched_.insert(KeyOf(extent));
    }
  }
}

// Parameters have the same numbers in both programs.
RuntimeChecks::Key RuntimeChecks::KeyOf(const ScalarExpr& expr) {
  Key key;
  for (const ScalarNode& node : expr.nodes()) {
    for (const uint64_t part :
         {static_cast<uint64_t>(node.op), static_cast<uint64_t>(node.kind),
          static_cast<uint64_t>(node.is_float), static_cast<uint64_t>(DTypeCode(node.type)),
          uint64_t{node.a}, uint64_t{node.b}, static_cast<uint64_t>(node.constant.i)}) {
      key.push_back(part);
    }
  }
  return key;
}

bool RuntimeChecks::Checks(uint32_t value, size_t d) const {
  const ConcreteType& type = compiled_.type(value);
  if (type.shape[d] >= 0) return false;
  const ScalarExpr& extent = compiled_.scalar(type.shape_exprs[d]);
  return !FollowsFromParameters(compiled_, extent) || !launched_.contains(KeyOf(extent));
}

bool RuntimeChecks::IsSlice(uint32_t value) const {
  const auto& code = compiled_.instructions();
  return std::any_of(code.begin(), code.end(), [&](const ResolvedInst& inst) {
    return inst.opcode() == Opcode::kSlice && inst.results[0] == value;
  });
}

bool RuntimeChecks::MayReport(const ResolvedInst& inst) const {
  if (inst.row->Has(kReports)) return true;
  // A step may be zero; a view of a slice may not begin on a whole byte; an extent may be negative.
  if (inst.opcode() == Opcode::kFor) {
    return inst.operand[2].present() && compiled_.pool().UsesValues(inst.operand[2].expr);
  }
  if (inst.opcode() == Opcode::kView && IsSlice(inst.operand[0].value)) return true;
  if (!inst.row->MakesView()) return false;
  const size_t rank = compiled_.type(inst.results[0]).shape.size();
  for (size_t d = 0; d < rank; ++d) {
    if (Checks(inst.results[0], d)) return true;
  }
  return false;
}

bool RuntimeChecks::NeedsReport() const {
  const auto& code = compiled_.instructions();
  return std::any_of(code.begin(), code.end(),
                     [this](const ResolvedInst& inst) { return MayReport(inst); });
}

}  // namespace tarsia::compiler
