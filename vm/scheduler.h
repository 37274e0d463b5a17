// Runs the agents of one block in turn. An agent runs until it is done or must wait; when all that
// are left wait for something that has not come, the block is in deadlock.
#ifndef TARSIA_VM_SCHEDULER_H_
#define TARSIA_VM_SCHEDULER_H_

#include <span>
#include <string>

namespace tarsia::vm {

// What an agent waits for.
class WaitCondition {
 public:
  virtual ~WaitCondition() = default;
  [[nodiscard]] virtual bool Ready() const = 0;
  // "phase 1 of %barrier", for the report of a deadlock.
  [[nodiscard]] virtual std::string Describe() const = 0;
};

enum class RunState { kDone, kSuspended, kFailed };

// Something that runs in pieces.
class Resumable {
 public:
  virtual ~Resumable() = default;
  // Runs on from where it stopped.
  virtual RunState Resume() = 0;
  // What it waits for after kSuspended.
  [[nodiscard]] virtual const WaitCondition* waiting() const = 0;
  // "line 12: barrier.wait", for the report of a deadlock.
  [[nodiscard]] virtual std::string Place() const = 0;
};

struct ScheduleResult {
  enum class Outcome { kDone, kFailed, kDeadlock };
  Outcome outcome = Outcome::kDone;
  size_t agent = 0;      // that failed
  std::string deadlock;  // who waits for what
};

// Of one block.
inline constexpr size_t kMaxAgents = 64;

// Round robin over at most kMaxAgents agents until all are done, one fails, or none can go on.
ScheduleResult RunAgents(std::span<Resumable* const> agents);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_SCHEDULER_H_
