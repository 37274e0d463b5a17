#include "compiler/select/warp_reduction.h"

namespace tarsia::compiler {
namespace {

constexpr size_t kMasksOfAllLanes = 5;

std::optional<Redux> OperationOf(Opcode reduce, DType type) {
  const bool least = reduce == Opcode::kReduceMin || reduce == Opcode::kReduceArgmin;
  if (reduce == Opcode::kReduceAny) return Redux::kOr;
  if (reduce == Opcode::kReduceAll) return Redux::kAnd;
  if (reduce == Opcode::kReduceSum && type.IsInteger()) return Redux::kAdd;
  if (reduce == Opcode::kReduceSum || reduce == Opcode::kReduceProd) return std::nullopt;
  if (type.IsUnsigned()) return least ? Redux::kUnsignedMin : Redux::kUnsignedMax;
  return least ? Redux::kMin : Redux::kMax;
}

}  // namespace

std::optional<WarpReduction> SelectWarpReduction(Opcode reduce, DType type,
                                                 const ThreadReduction& threads) {
  if (type.bits > 32 || threads.lane_masks.size() != kMasksOfAllLanes) return std::nullopt;
  const std::optional<Redux> operation = OperationOf(reduce, type);
  if (!operation) return std::nullopt;
  WarpReduction out;
  out.operation = *operation;
  out.by_keys = type.IsFloat();
  out.finds_index = reduce == Opcode::kReduceArgmin || reduce == Opcode::kReduceArgmax;
  return out;
}

}  // namespace tarsia::compiler
