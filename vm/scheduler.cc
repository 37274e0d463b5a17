#include "vm/scheduler.h"

#include <bitset>
#include <thread>

namespace tarsia::vm {

ScheduleResult RunAgents(std::span<Resumable* const> agents) {
  std::bitset<kMaxAgents> done;
  std::bitset<kMaxAgents> waits;
  while (true) {
    bool progress = false;
    bool left = false;
    bool others = false;
    for (size_t i = 0; i < agents.size(); ++i) {
      if (done[i]) continue;
      left = true;
      if (waits[i] && !agents[i]->waiting()->Ready()) {
        others = others || agents[i]->waiting()->DependsOnOthers();
        continue;
      }
      progress = true;
      switch (agents[i]->Resume()) {
        case RunState::kDone:
          done[i] = true;
          break;
        case RunState::kSuspended:
          waits[i] = true;
          break;
        case RunState::kFailed:
          return {ScheduleResult::Outcome::kFailed, i, ""};
      }
    }
    if (!left) return {};
    if (progress) continue;
    if (others) {
      std::this_thread::yield();
      continue;
    }
    ScheduleResult result;
    result.outcome = ScheduleResult::Outcome::kDeadlock;
    for (size_t i = 0; i < agents.size(); ++i) {
      if (done[i]) continue;
      if (!result.deadlock.empty()) result.deadlock += "; ";
      result.deadlock += agents[i]->Place() + " waits for " + agents[i]->waiting()->Describe();
    }
    return result;
  }
}

}  // namespace tarsia::vm
