#include "vm/turns.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "vm/agent.h"
#include "vm/diagnostics.h"
#include "vm/exec.h"
#include "vm/launch_context.h"
#include "vm/plan.h"

namespace tarsia::vm {
namespace {

// Whether the instruction computes scalars from scalars, or says what runs next.
bool IsScalar(const Plan& plan, const PlannedInst& inst) {
  if (inst.inst == nullptr) return true;  // closes a block
  const InstRow& row = Row(inst.inst->opcode);
  if (row.Has(kOpensBlock) || row.Has(kEndsBlock)) return true;
  if (inst.results == 0) return false;
  for (uint32_t r = 0; r < inst.results; ++r) {
    if (plan.values[inst.result[r]].kind != ValueKind::kScalar) return false;
  }
  return std::none_of(std::begin(inst.operand), std::end(inst.operand), [](const auto& operand) {
    return operand.IsTile() || operand.kind == Operand::Kind::kMemory;
  });
}

template <typename Each>
void ForEachValue(const ExprPool& pool, ExprId id, const Each& each) {
  if (id.none()) return;
  if (id.is_value()) return each(id.value());
  for (const ExprId child : pool.children(id)) ForEachValue(pool, child, each);
}

// Which scalars follow from memory.
class Memory {
 public:
  explicit Memory(const Plan& plan) : plan_(plan), source_(plan.values.size(), nullptr) {
    bool more = true;
    while (more) {
      more = false;
      for (const PlannedInst& inst : plan.code) more = Spread(inst) || more;
    }
  }

  // Null, or the instruction that reads what the operands of this one follow from.
  [[nodiscard]] const Inst* SourceOf(const PlannedInst& inst) const {
    const Inst* found = nullptr;
    const size_t number = static_cast<size_t>(inst.inst - plan_.kernel().code.data());
    for (const Operand& operand : plan_.program.instructions()[number].operand) {
      const auto look = [&](uint32_t value) {
        if (source_[value] != nullptr) found = source_[value];
      };
      if (operand.IsValue()) look(operand.value);
      ForEachValue(plan_.program.pool(), operand.expr, look);
    }
    return found;
  }

 private:
  // Whether something is new.
  bool Spread(const PlannedInst& inst) {
    if (inst.inst == nullptr) return false;
    const Inst* const source = IsScalar(plan_, inst) ? SourceOf(inst) : inst.inst;
    bool changed = false;
    for (uint32_t r = 0; r < inst.results && source != nullptr; ++r) {
      if (source_[inst.result[r]] != nullptr) continue;
      source_[inst.result[r]] = source;
      changed = true;
    }
    return changed;
  }

  const Plan& plan_;
  std::vector<const Inst*> source_;  // by value
};

Status CheckKnown(const Plan& plan) {
  const Memory memory(plan);
  for (const PlannedInst& inst : plan.code) {
    if (inst.inst == nullptr || !Row(inst.inst->opcode).Has(kOpensBlock)) continue;
    if (const Inst* const source = memory.SourceOf(inst); source != nullptr) {
      return MakeDiagnostic(diag::kTurnsUnknown, plan.LocationOf(inst),
                            Row(source->opcode).mnemonic);
    }
  }
  return OkStatus();
}

// More than any launch has.
constexpr int64_t kMostSteps = int64_t{1} << 34;

class TurnCounter {
 public:
  TurnCounter(const Plan& plan, LaunchContext& context) : plan_(plan), runner_(context.runner(0)) {
    for (const PlannedInst& inst : plan.code) scalar_.push_back(IsScalar(plan, inst) ? 1 : 0);
  }

  Status Run(int64_t blocks, std::vector<LoopTurns>* out) {
    for (size_t i = 0; i < plan_.code.size(); ++i) {
      const Inst* const inst = plan_.code[i].inst;
      if (inst == nullptr || inst->opcode != Opcode::kFor) continue;
      loops_.emplace_back(plan_.code[i].loop, out->size());
      out->push_back({plan_.LocationOf(plan_.code[i]),
                      static_cast<size_t>(inst - plan_.kernel().code.data()),
                      std::vector<int64_t>(static_cast<size_t>(blocks), 0)});
    }
    runner_.agent.BeginLaunch();
    Status status = OkStatus();
    for (int64_t block = 0; block < blocks && status.ok(); ++block) status = RunBlock(block, out);
    runner_.agent.EndLaunch();
    return status;
  }

 private:
  Status RunBlock(int64_t block, std::vector<LoopTurns>* out) {
    Agent& agent = runner_.agent;
    runner_.block.Begin(block);
    agent.Begin();
    while (agent.pc() < plan_.code.size()) {
      const uint32_t at = agent.pc()++;
      const PlannedInst& inst = plan_.code[at];
      if (scalar_[at] == 0) continue;
      if (++steps_ > kMostSteps)
        return MakeDiagnostic(diag::kBudget, plan_.LocationOf(inst), kMostSteps);
      const ExecState state = inst.exec(agent, inst);
      if (state == ExecState::kExit) return OkStatus();
      if (state == ExecState::kFail) return agent.TakeError();
      // A loop begins a turn where it does not leave, and where it goes back.
      const bool begins =
          inst.inst != nullptr && inst.inst->opcode == Opcode::kFor && agent.pc() == at + 1;
      const bool goes_on = inst.exec == &ExecNextTurn && agent.pc() != at + 1;
      if (begins || goes_on) ++(*out)[NumberOf(inst.loop)].by_block[static_cast<size_t>(block)];
    }
    return OkStatus();
  }

  [[nodiscard]] size_t NumberOf(uint32_t loop) const {
    const auto found = std::find_if(loops_.begin(), loops_.end(),
                                    [loop](const auto& known) { return known.first == loop; });
    return found->second;
  }

  const Plan& plan_;
  BlockRunner& runner_;
  std::vector<uint8_t> scalar_;                     // by instruction of the plan
  std::vector<std::pair<uint32_t, size_t>> loops_;  // the plan's number, and ours
  int64_t steps_ = 0;
};

}  // namespace

int64_t LoopTurns::Total() const {
  return std::accumulate(by_block.begin(), by_block.end(), int64_t{0});
}

int64_t LoopTurns::Longest() const {
  return by_block.empty() ? 0 : *std::max_element(by_block.begin(), by_block.end());
}

int64_t LoopTurns::Shortest() const {
  return by_block.empty() ? 0 : *std::min_element(by_block.begin(), by_block.end());
}

double LoopTurns::Tail() const {
  const int64_t total = Total();
  if (total == 0) return 0;
  return static_cast<double>(Longest()) * static_cast<double>(by_block.size()) /
             static_cast<double>(total) -
         1;
}

Result<std::vector<LoopTurns>> CountTurns(const Plan& plan, std::span<const uint64_t> scalars) {
  TARSIA_CHECK(CheckKnown(plan));
  int64_t grid[3];
  TARSIA_CHECK(plan.launch.ResolveGrid(plan.program, scalars.data(), grid));
  const LaunchOptions options;
  LaunchContext context(plan);
  context.Begin(options, 1);
  context.state().grid = {grid[0], grid[1], grid[2]};
  context.state().scalars.assign(scalars.begin(), scalars.end());
  std::vector<LoopTurns> out;
  const Status status = TurnCounter(plan, context).Run(grid[0] * grid[1] * grid[2], &out);
  context.End();
  if (!status.ok()) return status.error();
  return out;
}

}  // namespace tarsia::vm
