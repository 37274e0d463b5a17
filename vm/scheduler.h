// Runs the agents of one block in turn. An agent runs until it is done or must wait; if no
// remaining agent's condition holds, or can hold by the work of other blocks, the block is in
// deadlock.
#ifndef TARSIA_VM_SCHEDULER_H_
#define TARSIA_VM_SCHEDULER_H_

#include <span>
#include <string>

namespace tarsia::vm {

// The condition that an agent waits for.
class WaitCondition {
 public:
  virtual ~WaitCondition() = default;
  [[nodiscard]] virtual bool Ready() const = 0;
  // Whether something else than the agents of the block can make it hold.
  [[nodiscard]] virtual bool DependsOnOthers() const { return false; }
  // "phase 1 of %barrier", for the report of a deadlock.
  [[nodiscard]] virtual std::string Describe() const = 0;
};

enum class RunState { kDone, kSuspended, kFailed };

// A task that can be suspended.
class Resumable {
 public:
  virtual ~Resumable() = default;
  // Continues where it stopped.
  virtual RunState Resume() = 0;
  // The condition it waits for after kSuspended.
  [[nodiscard]] virtual const WaitCondition* waiting() const = 0;
  // "line 12: barrier.wait", for the report of a deadlock.
  [[nodiscard]] virtual std::string Place() const = 0;
};

struct ScheduleResult {
  enum class Outcome { kDone, kFailed, kDeadlock };
  Outcome outcome = Outcome::kDone;
  size_t agent = 0;      // the one that failed
  std::string deadlock;  // which agent waits for which condition
};

// The most agents of a block.
inline constexpr size_t kMaxAgents = 64;

// Runs at most kMaxAgents agents round robin until all are done, one fails, or none can continue.
ScheduleResult RunAgents(std::span<Resumable* const> agents);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_SCHEDULER_H_
