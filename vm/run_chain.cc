// Runs a chain, piece by piece.
#include <algorithm>
#include <cstring>

#include "dtypes/bulk.h"
#include "vm/agent.h"
#include "vm/chain.h"
#include "vm/host/repeat.h"

namespace tarsia::vm {
namespace {

// One step on the elements from `first` on.
class StepOnPiece {
 public:
  StepOnPiece(const Chain::Step& step, const void* const* operands, void* result, void* second,
              size_t first, size_t count)
      : step_(step),
        operands_(operands),
        result_(result),
        second_(second),
        first_(first),
        count_(count) {}

  void operator()(const host::Loop& loop) const { loop.Run(operands_, result_, count_); }
  void operator()(Chain::Copy /*copy*/) const {
    std::memcpy(result_, operands_[0], count_ * step_.result.container);
  }
  void operator()(const Chain::Cast& cast) const {
    CastBulk(cast.from, operands_[0], cast.to, result_, count_, cast.options);
  }
  void operator()(const Chain::Repeat& repeat) const {
    host::Repeat(step_.result.container, operands_[0], repeat.inner, repeat.period, first_, result_,
                 count_);
  }

  void operator()(const Chain::Outer& outer) const {
    outer.kernel(operands_[0], operands_[1], outer.column.inner, outer.column.period, first_,
                 result_, count_);
  }
  void operator()(const Chain::Compensated& sum) const {
    sum.kernel(operands_[0], operands_[1], operands_[2], result_, second_, count_);
  }

 private:
  const Chain::Step& step_;
  const void* const* operands_;
  void* result_;
  void* second_;
  size_t first_, count_;
};

}  // namespace

ExecState Agent::RunChain(const Chain& chain) {
  for (const uint32_t at : chain.before) {
    const PlannedInst& inst = plan().code[at];
    const ExecState state = inst.exec(*this, inst);
    if (state != ExecState::kNext) return state;
  }
  uint8_t* const slots = scratch_[kChainScratch].Ensure(chain.ScratchBytes());
  for (const Chain::Uniform& uniform : chain.uniforms) {
    const PlannedInst& inst = plan().code[uniform.instruction];
    const PlannedOperand& operand = inst.operand[uniform.operand];
    uint64_t code = Code(inst, uniform.operand);
    if (inst.inst->opcode == Opcode::kFill && operand.type != uniform.type) {
      code = CastCode(operand.type, code, uniform.type);
    }
    host::Fill(ContainerBytes(uniform.type), code, slots + uniform.slot * chain.slot_bytes,
               chain.piece);
  }
  for (size_t first = 0; first < chain.count; first += chain.piece) {
    const size_t count = std::min(chain.piece, chain.count - first);
    const auto piece = [&](const Chain::Place& place) {
      return place.in_tile ? tiles_[place.number] + first * place.container
                           : slots + place.number * chain.slot_bytes;
    };
    for (const Chain::Step& step : chain.steps) {
      const void* operands[3] = {};
      const bool whole = std::holds_alternative<Chain::Repeat>(step.operation) ||
                         std::holds_alternative<Chain::Outer>(step.operation);
      for (size_t i = 0; i < step.operands; ++i) {
        operands[i] = whole ? tiles_[step.operand[i].number] : piece(step.operand[i]);
      }
      std::visit(StepOnPiece(step, operands, piece(step.result), piece(step.second), first, count),
                 step.operation);
    }
  }
  return ExecState::kNext;
}

}  // namespace tarsia::vm
