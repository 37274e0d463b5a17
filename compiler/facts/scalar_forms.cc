#include "compiler/facts/scalar_forms.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "isa/limits.h"

namespace tarsia::compiler {

ScalarForms::ScalarForms(const Program& program)
    : program_(program),
      known_(CollectScalarFacts(program)),
      constant_(known_.assigned_once),
      forms_(program.types().size()) {
  const Kernel& kernel = program.kernel();
  std::vector<bool> assigned(forms_.size());
  for (const ResolvedInst& inst : program.instructions()) {
    for (const uint32_t result : inst.results) assigned[result] = true;
  }
  for (uint32_t i = 0; i < kernel.params.size(); ++i) constant_[i] = !assigned[i];
  for (const struct Assume& assume : kernel.assumes) {
    if (assume.alignment.none()) Assume(assume.condition, true);
  }
  for (int axis = 0; axis < 3; ++axis) {
    grid_[axis] = kernel.grid[axis].none() ? LinearForm::Constant(1) : Evaluate(kernel.grid[axis]);
    // There is a block, so that there are blocks.
    relations_.AssumeLess(LinearForm(), grid_[axis]);
    relations_.AssumeLessEqual(grid_[axis], LinearForm::Constant(kMaxGridExtent));
    const Facts range = Facts::Between(0, kernel.grid[axis].none() ? 0 : kMaxGridExtent - 1);
    block_[axis] = relations_.NewSymbol(range, fmt::format("block.{}", "xyz"[axis]));
    relations_.AssumeLess(block_[axis], grid_[axis]);
  }
}

LinearForm ScalarForms::Block(int axis) { return block_[axis]; }

LinearForm ScalarForms::Read(uint32_t value) {
  if (const auto& known = forms_[value]; known) return *known;
  const LinearForm form = relations_.NewSymbol(
      constant_[value] ? known_.facts[value] : Facts::OfType(program_.type(value).dtype),
      "%" + std::string(program_.kernel().ValueName(value)));
  Write(value, form);
  return form;
}

void ScalarForms::Write(uint32_t value, const LinearForm& form) {
  if (constant_[value]) Bind(value, form);
}

void ScalarForms::Bind(uint32_t value, const LinearForm& form) {
  if (!forms_[value]) written_.push_back(value);
  forms_[value] = form;
}

void ScalarForms::Leave(Relations::Mark mark, size_t written) {
  relations_.Return(std::move(mark));
  for (; written_.size() > written; written_.pop_back()) forms_[written_.back()].reset();
}

// ---- expressions ----------------------------------------------------------------------------

LinearForm ScalarForms::OfNode(const ScalarNode& node,
                               const std::vector<std::optional<LinearForm>>& made) {
  const auto operand = [&](uint32_t i) {
    return made[i] ? *made[i] : relations_.NewSymbol(Facts::Between(0, 1), "condition");
  };
  switch (node.op) {
    case ScalarOp::kConstant:
      return LinearForm::Constant(node.constant.i);
    case ScalarOp::kScalar:
      return Read(node.a);
    case ScalarOp::kNegate:
      return relations_.Subtract(LinearForm(), operand(node.a));
    case ScalarOp::kAdd:
      return relations_.Add(operand(node.a), operand(node.b));
    case ScalarOp::kSubtract:
      return relations_.Subtract(operand(node.a), operand(node.b));
    case ScalarOp::kMultiply:
      return relations_.Multiply(operand(node.a), operand(node.b));
    case ScalarOp::kDivide:
      return relations_.Divide(operand(node.a), operand(node.b));
    case ScalarOp::kModulo:
      return relations_.Modulo(operand(node.a), operand(node.b));
    case ScalarOp::kCeilDivide:
      return relations_.CeilDivide(operand(node.a), operand(node.b));
    case ScalarOp::kMin:
      return relations_.Min(operand(node.a), operand(node.b));
    case ScalarOp::kMax:
      return relations_.Max(operand(node.a), operand(node.b));
    case ScalarOp::kIntToFloat:
    case ScalarOp::kNot:
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kEqual:
    case ScalarOp::kNotEqual:
    case ScalarOp::kLess:
    case ScalarOp::kLessEqual:
    case ScalarOp::kGreater:
    case ScalarOp::kGreaterEqual:
      break;
  }
  return relations_.NewSymbol({}, "value");
}

// The integers among the nodes.
std::vector<std::optional<LinearForm>> ScalarForms::OfNodes(const ScalarExpr& expr) {
  std::vector<std::optional<LinearForm>> made(expr.nodes().size());
  for (size_t i = 0; i < made.size(); ++i) {
    const ScalarNode& node = expr.nodes()[i];
    if (node.kind == ScalarKind::kInt) made[i] = OfNode(node, made);
  }
  return made;
}

LinearForm ScalarForms::Evaluate(ExprId id) {
  const ScalarExpr& expr = program_.scalar(id);
  if (expr.nodes().empty()) return LinearForm();
  const std::optional<LinearForm> form = OfNodes(expr).back();
  if (form) return *form;
  return relations_.NewSymbol(expr.kind() == ScalarKind::kBool ? Facts::Between(0, 1) : Facts(),
                              "value");
}

std::optional<LinearForm> ScalarForms::Element(const Operand& operand, DType type) {
  if (!type.IsInteger()) return std::nullopt;
  if (operand.kind == Operand::Kind::kScalar) {
    if (!operand.type.IsInteger()) return std::nullopt;
    return relations_.Truncated(Read(operand.value), type);
  }
  if (!operand.IsExpr()) return std::nullopt;
  const ScalarExpr& expr = program_.scalar(operand.expr);
  if (expr.kind() != ScalarKind::kInt) return std::nullopt;
  const LinearForm form = Evaluate(operand.expr);
  // Constants are rounded, all others keep their low bits.
  const LinearForm cut = relations_.Truncated(form, type);
  if (expr.IsConstant() && cut != form) return std::nullopt;
  return cut;
}

// ---- conditions -----------------------------------------------------------------------------

void ScalarForms::Assume(ExprId condition, bool holds) {
  const ScalarExpr& expr = program_.scalar(condition);
  if (expr.kind() != ScalarKind::kBool || expr.nodes().empty()) return;
  const auto made = OfNodes(expr);
  std::vector<uint8_t> seen(made.size());
  AssumeNode(expr, made, static_cast<uint32_t>(made.size() - 1), holds, seen);
}

void ScalarForms::AssumeNode(const ScalarExpr& expr,
                             const std::vector<std::optional<LinearForm>>& made, uint32_t number,
                             bool holds, std::vector<uint8_t>& seen) {
  const uint8_t bit = holds ? 1 : 2;
  if ((seen[number] & bit) != 0) return;
  seen[number] |= bit;
  const ScalarNode& node = expr.nodes()[number];
  if (node.op == ScalarOp::kNot) return AssumeNode(expr, made, node.a, !holds, seen);
  if (node.op == (holds ? ScalarOp::kAnd : ScalarOp::kOr)) {
    AssumeNode(expr, made, node.a, holds, seen);
    return AssumeNode(expr, made, node.b, holds, seen);
  }
  if (node.op < ScalarOp::kEqual || node.is_float || !made[node.a] || !made[node.b]) return;
  AssumeComparison(node.op, *made[node.a], *made[node.b], holds);
}

void ScalarForms::AssumeComparison(ScalarOp op, const LinearForm& x, const LinearForm& y,
                                   bool holds) {
  const bool less = op == ScalarOp::kLess || op == ScalarOp::kLessEqual;
  const bool greater = op == ScalarOp::kGreater || op == ScalarOp::kGreaterEqual;
  if (!less && !greater) {
    if ((op == ScalarOp::kEqual) == holds) relations_.AssumeEqual(x, y);
    return;
  }
  // a < b or a <= b; the opposite of a < b is b <= a.
  const LinearForm& a = less == holds ? x : y;
  const LinearForm& b = less == holds ? y : x;
  const bool strict = (op == ScalarOp::kLess || op == ScalarOp::kGreater) == holds;
  if (strict) {
    relations_.AssumeLess(a, b);
  } else {
    relations_.AssumeLessEqual(a, b);
  }
}

}  // namespace tarsia::compiler
