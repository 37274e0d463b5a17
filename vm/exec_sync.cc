// The sync family.
#include "vm/diagnostics.h"
#include "vm/exec.h"
#include "vm/host/atomic.h"

namespace tarsia::vm {
namespace {

constexpr int64_t kOnes[kMaxRank] = {1, 1, 1, 1, 1, 1, 1, 1};

// The element that a semaphore instruction names; null: it is outside.
uint8_t* SemaphoreOf(Agent& agent, const PlannedInst& inst, Agent::Access access) {
  const MemoryView& view = agent.View(inst.operand[0].value);
  const Box box = agent.BoxOf(inst, 0, kOnes);
  if (agent.check()) agent.checker().Check(inst, view, box, access);
  uint8_t* address = nullptr;
  VisitElements(box, kOnes, [&](int64_t /*element*/, const int64_t* root) {
    address = view.region->data + ElementBit(view, root, 0) / 8;
  });
  return address;
}

DType TypeOfSemaphore(Agent& agent, const PlannedInst& inst) {
  return agent.View(inst.operand[0].value).map->type();
}

}  // namespace

// One agent runs all threads of the block in order, so their writes are visible. `--check` counts.
EXEC(Sync) {
  ++agent.block().epoch;
  return ExecState::kNext;
}

// Blocks begin in the order of their indices, so what a block waits for is running or never comes.
EXEC(SemaphoreLock) {
  BlockState& block = agent.block();
  uint8_t* const semaphore = SemaphoreOf(agent, inst, Agent::Access::kAtomicRead);
  if (semaphore == nullptr) {
    ++block.epoch;
    return ExecState::kNext;
  }
  const DType type = TypeOfSemaphore(agent, inst);
  const uint64_t wanted = static_cast<uint64_t>(agent.Index(inst, 1)) & CodeMask(type);
  const bool last_chance = agent.launch().AllDoneBelow(block.linear);
  const uint64_t found = host::LoadAcquire(type, semaphore);
  if (found == wanted) {
    if (agent.check()) agent.checker().Acquire(semaphore);
    ++block.epoch;
    return ExecState::kNext;
  }
  if (agent.launch().Stops(block.linear)) return ExecState::kExit;
  if (!last_chance) {
    block.semaphore.Set(block.linear, type, semaphore, wanted);
    return agent.SuspendUntil(block.semaphore);
  }
  return agent.Fail(diag::kWaitsForLater, inst, block.index[0], block.index[1], block.index[2],
                    agent.plan().ValueName(inst.operand[0].value), CodeToInt(type, wanted),
                    CodeToInt(type, found));
}

EXEC(SemaphoreRelease) {
  if (!agent.MayWrite(inst, agent.View(inst.operand[0].value))) return ExecState::kFail;
  ++agent.block().epoch;
  uint8_t* const semaphore = SemaphoreOf(agent, inst, Agent::Access::kAtomic);
  if (semaphore == nullptr) return ExecState::kNext;
  if (agent.check()) agent.checker().Release(semaphore);
  const DType type = TypeOfSemaphore(agent, inst);
  host::AddRelease(type, semaphore, static_cast<uint64_t>(agent.Index(inst, 1)));
  return ExecState::kNext;
}

// Launches follow each other, so there is nothing to wait for. `--check` reports what must wait.
EXEC(GriddepWait) {
  agent.checker().WaitForGrids();
  return ExecState::kNext;
}

EXEC(GriddepLaunch) { return ExecState::kNext; }

}  // namespace tarsia::vm
