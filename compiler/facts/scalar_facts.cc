#include "compiler/facts/scalar_facts.h"

#include "isa/limits.h"

namespace tarsia::compiler {
namespace {

// What an assumption says of single scalar parameters: `%n % 8 == 0`, `%n > 0`, and both.
void AddAssumption(const Program& program, ExprId condition, std::vector<Facts>& facts) {
  const ExprPool& pool = program.pool();
  if (pool.kind(condition) != ExprKind::kBinary) return;
  const auto op = static_cast<BinaryOp>(pool.node(condition).code);
  const ExprId left = pool.children(condition)[0];
  const ExprId right = pool.children(condition)[1];
  if (op == BinaryOp::kAnd) {
    AddAssumption(program, left, facts);
    return AddAssumption(program, right, facts);
  }
  const auto number = pool.AsInt(right);
  if (!number) return;
  Facts said;
  ExprId subject = left;
  if (op == BinaryOp::kEqual && *number == 0 && pool.kind(left) == ExprKind::kBinary &&
      static_cast<BinaryOp>(pool.node(left).code) == BinaryOp::kModulo) {
    const auto divisor = pool.AsInt(pool.children(left)[1]);
    if (!divisor || *divisor <= 0) return;
    subject = pool.children(left)[0];
    said.multiple = static_cast<uint64_t>(*divisor);
  } else if (op == BinaryOp::kGreaterEqual) {
    said.lo = *number;
  } else if (op == BinaryOp::kGreater && *number < INT64_MAX) {
    said.lo = *number + 1;
  } else if (op == BinaryOp::kLessEqual) {
    said.hi = *number;
  } else if (op == BinaryOp::kLess && *number > INT64_MIN) {
    said.hi = *number - 1;
  } else if (op == BinaryOp::kEqual) {
    said = Facts::Exactly(*number);
  }
  if (!subject.is_value() || !program.type(subject.value()).dtype.IsInteger()) return;
  facts[subject.value()] = Both(facts[subject.value()], said);
}

}  // namespace

ScalarFacts CollectScalarFacts(const Program& program) {
  const Kernel& kernel = program.kernel();
  const size_t values = program.types().size();
  ScalarFacts out;
  for (uint32_t i = 0; i < values; ++i) out.facts.push_back(Facts::OfType(program.type(i).dtype));
  std::vector<int> assignments(values, 0);
  for (const ResolvedInst& inst : program.instructions()) {
    for (const uint32_t result : inst.results) ++assignments[result];
  }
  for (const int count : assignments) out.assigned_once.push_back(count == 1);
  for (const Assume& assume : kernel.assumes) {
    if (assume.alignment.none()) AddAssumption(program, assume.condition, out.facts);
  }
  // Every launch checks the extents that depend on parameters alone.
  for (const ResolvedInst& inst : program.instructions()) {
    if (!inst.row->MakesView()) continue;
    for (const ExprId extent : program.type(inst.results[0]).shape_exprs) {
      if (!extent.is_value() || extent.value() >= kernel.params.size()) continue;
      Facts& facts = out.facts[extent.value()];
      facts = Both(facts, Facts::Between(0, kMaxExtent));
    }
  }
  return out;
}

}  // namespace tarsia::compiler
