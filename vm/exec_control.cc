// The control family.
#include <algorithm>

#include "vm/diagnostics.h"
#include "vm/exec.h"
#include "vm/trace.h"

namespace tarsia::vm {
namespace {

ExecState SetIndex(Agent& agent, const PlannedInst& inst, int64_t value) {
  agent.Scalar(inst.result[0]) = static_cast<uint32_t>(value);
  return ExecState::kNext;
}

void SetCounter(Agent& agent, const PlannedInst& inst, int64_t value) {
  agent.Scalar(inst.result[0]) = static_cast<uint64_t>(value) & CodeMask(inst.type);
}

bool Turns(const Agent::Counter& counter) {
  return counter.step > 0 ? counter.value < counter.stop : counter.value > counter.stop;
}

std::string BlockName(const std::array<int64_t, 3>& block) {
  return "(" + std::to_string(block[0]) + ", " + std::to_string(block[1]) + ", " +
         std::to_string(block[2]) + ")";
}

}  // namespace

EXEC(BlockX) { return SetIndex(agent, inst, agent.block().index[0]); }
EXEC(BlockY) { return SetIndex(agent, inst, agent.block().index[1]); }
EXEC(BlockZ) { return SetIndex(agent, inst, agent.block().index[2]); }
EXEC(GridX) { return SetIndex(agent, inst, agent.launch().grid[0]); }
EXEC(GridY) { return SetIndex(agent, inst, agent.launch().grid[1]); }
EXEC(GridZ) { return SetIndex(agent, inst, agent.launch().grid[2]); }

// A single scalar may change its integer type; it keeps its low bits, as in expressions.
EXEC(Mov) {
  const PlannedOperand& source = inst.operand[0];
  if (inst.tile_result) {
    const void* data = agent.Elements(inst, 0).data;
    const ValuePlan& type = agent.plan().values[inst.result[0]];
    uint8_t* out = agent.Tile(inst.result[0]);
    if (data != out) {
      std::copy_n(static_cast<const uint8_t*>(data), inst.count * type.container, out);
    }
    return ExecState::kNext;
  }
  uint64_t code = agent.Code(inst, 0);
  if (source.kind == Operand::Kind::kScalar && source.type != inst.type) {
    CastOptions options;
    options.overflow = Overflow::kWrap;
    code = CastCode(source.type, code, inst.type, options);
  }
  agent.Scalar(inst.result[0]) = code;
  return ExecState::kNext;
}

EXEC(For) {
  Agent::Counter& counter = agent.loop(inst.loop);
  counter.value = agent.Index(inst, 0);
  counter.stop = agent.Index(inst, 1);
  counter.step = inst.operand[2].kind == Operand::Kind::kNone ? 1 : agent.Index(inst, 2);
  if (counter.step == 0) {
    const auto& block = agent.block().index;
    return agent.Fail(diag::kStepIsZero, inst, block[0], block[1], block[2]);
  }
  if (Turns(counter)) {
    SetCounter(agent, inst, counter.value);
  } else {
    agent.pc() = inst.target;
  }
  return ExecState::kNext;
}

EXEC(NextTurn) {
  Agent::Counter& counter = agent.loop(inst.loop);
  // There is no further iteration after an overflow of 64 bits.
  if (__builtin_add_overflow(counter.value, counter.step, &counter.value)) return ExecState::kNext;
  if (!Turns(counter)) return ExecState::kNext;
  SetCounter(agent, inst, counter.value);
  agent.pc() = inst.target;
  return ExecState::kNext;
}

EXEC(Jump) {
  agent.pc() = inst.target;
  return ExecState::kNext;
}

EXEC(While) {
  if (!inst.operand[0].expr.Bool(agent.codes())) agent.pc() = inst.target;
  return ExecState::kNext;
}

EXEC(If) {
  if (!inst.operand[0].expr.Bool(agent.codes())) agent.pc() = inst.target;
  return ExecState::kNext;
}

EXEC(Exit) { return ExecState::kExit; }

EXEC(Assert) {
  bool holds = true;
  if (inst.operand[0].IsTile()) {
    const auto* bytes = static_cast<const uint8_t*>(agent.Tile(inst.operand[0].value));
    holds = std::all_of(bytes, bytes + inst.count, [](uint8_t byte) { return byte != 0; });
  } else {
    holds = agent.Code(inst, 0) != 0;
  }
  if (holds) return ExecState::kNext;
  const auto& block = agent.block().index;
  return agent.Fail(diag::kAssertFailed, inst, block[0], block[1], block[2], inst.operand[1].text);
}

EXEC(Print) {
  LaunchState& launch = agent.launch();
  if (!launch.options().print) return ExecState::kNext;
  const std::string prefix =
      BlockName(agent.block().index) + " " + std::string(inst.operand[0].text);
  const PlannedOperand& value = inst.operand[1];
  if (value.IsTile()) {
    const void* tile = agent.RowMajor(inst, 1);
    const std::lock_guard lock(launch.mutex);
    launch::WriteRows(prefix, value.type, agent.plan().values[value.value].shape, tile, 0,
                      launch.options().print);
  } else {
    const uint64_t code = agent.Code(inst, 1);
    const std::lock_guard lock(launch.mutex);
    launch::WriteRows(prefix, value.type, {}, &code, 0, launch.options().print);
  }
  return ExecState::kNext;
}

}  // namespace tarsia::vm
