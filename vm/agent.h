// An agent runs the instructions of one block. It can stop at any instruction and continue later.
#ifndef TARSIA_VM_AGENT_H_
#define TARSIA_VM_AGENT_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vm/access_checker.h"
#include "vm/aligned_buffer.h"
#include "vm/block_state.h"
#include "vm/launch_state.h"
#include "vm/memory_view.h"
#include "vm/plan.h"
#include "vm/scheduler.h"

namespace tarsia::vm {

class Agent final : public Resumable {
 public:
  explicit Agent(BlockState& block);
  // Begins and ends a launch, before and after all of its blocks.
  void BeginLaunch();
  void EndLaunch();
  // Starts a block from the beginning.
  void Begin();

  RunState Resume() override;
  [[nodiscard]] const WaitCondition* waiting() const override { return waiting_; }
  [[nodiscard]] std::string Place() const override;
  [[nodiscard]] Diagnostic TakeError() { return *std::move(error_); }
  [[nodiscard]] uint64_t executed() const { return executed_; }

  // ---- for EXECs: control ------------------------------------------------------------------

  struct Counter {
    int64_t value = 0;
    int64_t stop = 0;
    int64_t step = 1;
  };
  // The next instruction.
  uint32_t& pc() { return pc_; }
  // The instruction runs again when the condition holds.
  ExecState SuspendUntil(const WaitCondition& condition) {
    waiting_ = &condition;
    return ExecState::kSuspend;
  }
  Counter& loop(uint32_t number) { return loops_[number]; }
  template <typename... Args>
  ExecState Fail(const DiagInfo& info, const PlannedInst& inst, const Args&... args) {
    return Fail(MakeDiagnostic(info, launch().plan.LocationOf(inst), args...));
  }
  ExecState Fail(Diagnostic error);
  [[nodiscard]] LaunchState& launch() const { return block_.launch; }
  [[nodiscard]] const Plan& plan() const { return block_.launch.plan; }
  [[nodiscard]] BlockState& block() { return block_; }
  [[nodiscard]] bool check() const { return launch().options().check; }

  // ---- for EXECs: values -------------------------------------------------------------------

  [[nodiscard]] const uint64_t* codes() const { return codes_.data(); }
  uint64_t& Scalar(uint32_t value) { return codes_[value]; }
  [[nodiscard]] uint8_t* Tile(uint32_t value) const { return tiles_[value]; }
  MemoryView& View(uint32_t value) { return views_[value]; }

  // An operand of an elementwise instruction, stored like its result. `uniform`: one code for all
  // elements.
  struct Source {
    const void* data = nullptr;
    bool uniform = false;
  };
  Source Elements(const PlannedInst& inst, size_t operand);
  // A tile operand in row-major order.
  const void* RowMajor(const PlannedInst& inst, size_t operand);
  // The memory for a row-major result, and the step that stores it in the variable.
  void* BeginResult(const PlannedInst& inst, size_t result = 0);
  void EndResult(const PlannedInst& inst, size_t result = 0);
  // Stores a row-major array as the result.
  void SetResult(const PlannedInst& inst, const void* row_major, size_t result = 0);
  // The code of a scalar or constant operand, in the computation's type.
  uint64_t Code(const PlannedInst& inst, size_t operand);
  [[nodiscard]] int64_t Index(const PlannedInst& inst, size_t operand) const {
    return inst.operand[operand].expr.Int(codes_.data());
  }
  // Scratch buffers, which have the plan's sizes.
  uint8_t* Scratch(size_t number, int64_t bytes) {
    return scratch_[number].Ensure(static_cast<uint64_t>(bytes));
  }

  // ---- for EXECs: memory -------------------------------------------------------------------

  // The addresses of a view's root, for extents known at run time; kept while the extents do not
  // change.
  Result<std::shared_ptr<const AddressMap>> MapOf(const PlannedInst& inst);
  // Sets `map` to that of the instruction's result.
  Status UpdateMap(const PlannedInst& inst, std::shared_ptr<AddressMap>& map);
  // The box of an element operand.
  Box BoxOf(const PlannedInst& inst, size_t operand, const int64_t* shape);
  // Called for every access with --check. Copies then take effect at the wait.
  using Access = AccessChecker::Access;
  AccessChecker& checker() { return checker_; }
  // False if the instruction failed because the region is read-only.
  bool MayWrite(const PlannedInst& inst, const MemoryView& view);

  // Reports a finding at an instruction.
  template <typename... Args>
  void Find(const DiagInfo& info, const PlannedInst& inst, const Args&... args) {
    launch().Report(info, inst, nullptr, block_.index,
                    MakeDiagnostic(info, plan().LocationOf(inst), args...));
  }

 private:
  ExecState RunChain(const Chain& chain);
  void ReserveMaps();
  bool BeforeSlow(const PlannedInst& inst, ExecState& state);
  void Trace(const PlannedInst& inst);
  void CheckReplicas(const PlannedInst& inst, uint32_t value);

  BlockState& block_;
  uint32_t pc_ = 0;
  bool slow_ = false;
  uint64_t executed_ = 0;
  uint64_t stop_mask_ = 0;  // checks whether to stop when these bits of executed_ are 0
  const WaitCondition* waiting_ = nullptr;
  std::optional<Diagnostic> error_;
  std::vector<uint64_t> codes_;
  std::vector<uint8_t*> tiles_;
  std::vector<MemoryView> views_;
  std::vector<Counter> loops_;
  AlignedBuffer arena_;
  std::array<AlignedBuffer, kScratchBuffers> scratch_;
  uint64_t temporary_[kMaxOperands] = {};
  std::vector<std::shared_ptr<AddressMap>> maps_;  // by instruction of the plan
  AccessChecker checker_;
};

// dst[i] = src[index[i]].
void GatherContainers(int container_bytes, const void* src, const std::vector<uint32_t>& index,
                      void* dst);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_AGENT_H_
