// The mma family.
#include "vm/exec.h"
#include "vm/host/dot.h"

namespace tarsia::vm {

EXEC(Dot) {
  const ValuePlan& a = agent.plan().values[inst.operand[0].value];
  const ValuePlan& b = agent.plan().values[inst.operand[1].value];
  const ValuePlan& result = agent.plan().values[inst.result[0]];
  const auto* left = static_cast<const uint8_t*>(agent.RowMajor(inst, 0));
  const auto* right = static_cast<const uint8_t*>(agent.RowMajor(inst, 1));
  const auto* sum = static_cast<const uint8_t*>(agent.RowMajor(inst, 2));
  // `%acc = dot %a, %b, %acc` adds in place.
  const bool in_place = result.storage == kLogical && inst.operand[2].value == inst.result[0] &&
                        inst.operand[0].value != inst.result[0] &&
                        inst.operand[1].value != inst.result[0];
  auto* out =
      static_cast<uint8_t*>(in_place ? agent.Tile(inst.result[0]) : agent.BeginResult(inst));
  const size_t row = a.shape.size() - 2;
  const int64_t m = a.shape[row], k = a.shape[row + 1], n = b.shape[row + 1];
  const int64_t sums = m * n * ContainerBytes(result.dtype);
  const int64_t batches = row == 0 ? 1 : a.shape[0];
  for (int64_t i = 0; i < batches; ++i) {
    host::Dot(a.dtype, b.dtype, result.dtype, left + i * m * k * ContainerBytes(a.dtype),
              right + i * k * n * ContainerBytes(b.dtype), sum + i * sums, out + i * sums, m, n, k);
  }
  if (!in_place) agent.EndResult(inst);
  return ExecState::kNext;
}

}  // namespace tarsia::vm
