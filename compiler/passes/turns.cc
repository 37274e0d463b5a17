#include "compiler/passes/turns.h"

#include <algorithm>
#include <optional>

#include "support/align.h"

namespace tarsia::compiler {

namespace {

using tile::Form;
using tile::Operation;

constexpr Cost kUsualTurns = 16;
constexpr Cost kMostTurns = 1 << 20;
// Of a loop whose turns are tried one by one.
constexpr int64_t kMostTried = 4096;

struct Bounds {
  int64_t first = 0;
  int64_t step = 1;
  int64_t turns = 0;
};

std::optional<Bounds> BoundsOf(const Form& form, const Operation& loop) {
  if (loop.opcode != Opcode::kFor) return std::nullopt;
  const auto first = form.pool.AsInt(loop.operand[0].expr);
  const auto end = form.pool.AsInt(loop.operand[1].expr);
  const std::optional<int64_t> step =
      loop.operand[2].present() ? form.pool.AsInt(loop.operand[2].expr) : 1;
  if (!first || !end || !step || *step <= 0) return std::nullopt;
  return Bounds{*first, *step, CeilDiv(*end - *first, *step)};
}

// An expression of small constants and of one value, which is a number.
std::optional<int64_t> ValueAt(const ExprPool& pool, ExprId expr, tile::ValueId value,
                               int64_t number) {
  if (const auto constant = pool.AsInt(expr)) return constant;
  if (expr.is_value()) return expr.value() == value ? std::optional(number) : std::nullopt;
  if (pool.kind(expr) != ExprKind::kBinary) return std::nullopt;
  const auto a = ValueAt(pool, pool.children(expr)[0], value, number);
  const auto b = ValueAt(pool, pool.children(expr)[1], value, number);
  const auto small = [](std::optional<int64_t> x) { return x && *x >= 0 && *x < INT32_MAX; };
  if (!small(a) || !small(b)) return std::nullopt;
  switch (static_cast<BinaryOp>(pool.node(expr).code)) {
    case BinaryOp::kAdd:
      return *a + *b;
    case BinaryOp::kMultiply:
      return *a * *b;
    case BinaryOp::kLess:
      return *a < *b ? 1 : 0;
    case BinaryOp::kSubtract:
    case BinaryOp::kDivide:
    case BinaryOp::kModulo:
    case BinaryOp::kOr:
    case BinaryOp::kAnd:
    case BinaryOp::kEqual:
    case BinaryOp::kNotEqual:
    case BinaryOp::kLessEqual:
    case BinaryOp::kGreater:
    case BinaryOp::kGreaterEqual:
      return std::nullopt;
  }
  return std::nullopt;
}

// Of the turns of the loop around a branch: all, and those that go into region 0.
struct Share {
  int64_t all = 1;
  int64_t first = 1;
};

std::optional<Share> ShareOf(const Form& form, const Operation& branch) {
  const tile::Region& around = form.regions[form.regions[branch.region[0]].parent];
  if (around.owner == tile::kNone) return std::nullopt;
  const auto bounds = BoundsOf(form, form.ops[around.owner]);
  if (!bounds || bounds->turns < 1 || bounds->turns > kMostTried) return std::nullopt;
  Share out{bounds->turns, 0};
  for (int64_t turn = 0; turn < bounds->turns; ++turn) {
    const auto taken = ValueAt(form.pool, branch.operand[0].expr, around.arguments[0],
                               bounds->first + turn * bounds->step);
    if (!taken) return std::nullopt;
    out.first += *taken;
  }
  return out;
}

}  // namespace

Cost TurnsIn(const Form& form, const Operation& op, int region, Cost turns) {
  if (!op.IsLoop()) {
    const auto share = ShareOf(form, op);
    if (!share) return turns;
    return turns * (region == 0 ? share->first : share->all - share->first) / share->all;
  }
  Cost inner = kUsualTurns;
  if (const auto bounds = BoundsOf(form, op))
    inner = std::clamp<Cost>(bounds->turns, 1, kMostTurns);
  return std::min(turns * inner, kMostTurns);
}

}  // namespace tarsia::compiler
