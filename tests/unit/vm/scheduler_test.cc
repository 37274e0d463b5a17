#include "vm/scheduler.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/vm/run_testing.h"

namespace tarsia::vm::scheduler_test {
namespace {

class Flag final : public WaitCondition {
 public:
  explicit Flag(std::string name) : name_(std::move(name)) {}
  bool Ready() const override { return set; }
  std::string Describe() const override { return name_; }
  bool set = false;

 private:
  std::string name_;
};

// Does one step at a time: sets a flag, or waits for one, and records its name.
class Worker final : public Resumable {
 public:
  struct Step {
    Flag* wait = nullptr;
    Flag* set = nullptr;
  };
  Worker(char name, std::vector<Step> steps, std::string& log)
      : name_(name), steps_(std::move(steps)), log_(log) {}
  RunState Resume() override {
    for (; at_ < steps_.size(); ++at_) {
      const Step& step = steps_[at_];
      waiting_ = step.wait;
      if (waiting_ != nullptr && !waiting_->Ready()) return RunState::kSuspended;
      log_ += name_;
      if (step.set != nullptr) step.set->set = true;
    }
    return RunState::kDone;
  }
  const WaitCondition* waiting() const override { return waiting_; }
  std::string Place() const override { return std::string("worker ") + name_; }

 private:
  char name_;
  std::vector<Step> steps_;
  std::string& log_;
  size_t at_ = 0;
  const WaitCondition* waiting_ = nullptr;
};

TEST(Scheduler, AgentsWaitForEachOther) {
  Flag full("full"), empty("empty");
  std::string log;
  Worker consumer('c', {{&full, nullptr}, {nullptr, &empty}, {nullptr, nullptr}}, log);
  Worker producer('p', {{nullptr, nullptr}, {nullptr, &full}, {&empty, nullptr}}, log);
  Resumable* const agents[] = {&consumer, &producer};
  EXPECT_EQ(RunAgents(agents).outcome, ScheduleResult::Outcome::kDone);
  EXPECT_EQ(log, "ppcccp");
}

TEST(Scheduler, DeadlockNamesWhoWaitsForWhat) {
  Flag full("full"), empty("empty");
  std::string log;
  Worker a('a', {{&full, &empty}}, log);
  Worker b('b', {{&empty, &full}}, log);
  Worker c('c', {{nullptr, nullptr}}, log);
  Resumable* const agents[] = {&a, &b, &c};
  const ScheduleResult result = RunAgents(agents);
  EXPECT_EQ(result.outcome, ScheduleResult::Outcome::kDeadlock);
  EXPECT_EQ(result.deadlock, "worker a waits for full; worker b waits for empty");
  EXPECT_EQ(log, "c");
}

// What others bring about is no deadlock, however often it is not yet there.
TEST(Scheduler, AgentsWaitForOthers) {
  class ByOthers final : public WaitCondition {
   public:
    bool Ready() const override { return ++asked_ > 1000; }
    bool DependsOnOthers() const override { return true; }
    std::string Describe() const override { return "others"; }
    mutable int asked_ = 0;
  } by_others;
  class Waits final : public Resumable {
   public:
    explicit Waits(const WaitCondition& condition) : condition_(condition) {}
    RunState Resume() override {
      return condition_.Ready() ? RunState::kDone : RunState::kSuspended;
    }
    const WaitCondition* waiting() const override { return &condition_; }
    std::string Place() const override { return "here"; }

   private:
    const WaitCondition& condition_;
  } waits(by_others);
  Resumable* const agents[] = {&waits};
  EXPECT_EQ(RunAgents(agents).outcome, ScheduleResult::Outcome::kDone);
}

constexpr std::string_view kStores = R"(
kernel k(%y: ptr<i32>)
  grid (2)
{
  %b = block.x
  %g = view %y : global<i32>[2]
  %v = fill 5 : i32 [1]
  store %g[%b], %v
}
)";

// An instruction of a real program waits, continues where it stopped, and does its work once.
TEST(Scheduler, ABlockRunsOnWhereItWaited) {
  class Later final : public WaitCondition {
   public:
    bool Ready() const override { return ++asked_ > 3; }
    std::string Describe() const override { return "the fourth question"; }
    mutable int asked_ = 0;
  } later;
  std::vector<int32_t> y(2, 0);
  LaunchOptions options;
  options.threads = 1;
  options.wait = [&](const std::array<int64_t, 3>& block, size_t inst) -> const WaitCondition* {
    return block[0] == 1 && inst == 3 ? &later : nullptr;
  };
  const Result<LaunchReport> report = RunText(kStores, Args().Out(y), options);
  // The instruction and the scheduler check the condition: the second check of the scheduler finds
  // no agent that can continue.
  ASSERT_FALSE(report.ok());
  EXPECT_STREQ(report.error().info->id, "deadlock");

  later.asked_ = 2;  // not ready when the instruction asks, ready when the scheduler does
  const LaunchReport second = RunOk(kStores, Args().Out(y), options);
  EXPECT_EQ(y, (std::vector<int32_t>{5, 5}));
  EXPECT_EQ(second.instructions, 8u);
}

TEST(Scheduler, ADeadlockedBlockIsReported) {
  const Flag never("what never comes");
  std::vector<int32_t> y(2, 0);
  LaunchOptions options;
  options.wait = [&](const std::array<int64_t, 3>& block, size_t inst) -> const WaitCondition* {
    return block[0] == 1 && inst == 3 ? &never : nullptr;
  };
  const Result<LaunchReport> report = RunText(kStores, Args().Out(y), options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message,
            "block (1, 0, 0) cannot continue: line 8: store %g[%b], %v waits for what never comes");
  EXPECT_EQ(y[0], 5);
}

}  // namespace
}  // namespace tarsia::vm::scheduler_test
