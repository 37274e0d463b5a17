#include "compiler/passes/turns.h"

#include <algorithm>
#include <optional>

#include "support/align.h"

namespace tarsia::compiler {

namespace {

constexpr Cost kUsualTurns = 16;
constexpr Cost kMostTurns = 1 << 20;

}  // namespace

Cost TurnsIn(const tile::Form& form, const tile::Operation& op, Cost turns) {
  if (!op.IsLoop()) return turns;
  Cost inner = kUsualTurns;
  const auto first = form.pool.AsInt(op.operand[0].expr);
  const auto end = form.pool.AsInt(op.operand[1].expr);
  const std::optional<int64_t> step =
      op.operand[2].present() ? form.pool.AsInt(op.operand[2].expr) : 1;
  if (op.opcode == Opcode::kFor && first && end && step && *step > 0) {
    inner = std::clamp<Cost>(CeilDiv(*end - *first, *step), 1, kMostTurns);
  }
  return std::min(turns * inner, kMostTurns);
}

}  // namespace tarsia::compiler
