// Cells of the shadow memory against a model that forgets nothing: random accesses of four warps to
// one word, between barriers of random warps. (Where lanes of a warp go to barriers apart, the
// cells may forget: two unordered accesses of a warp stand for all of it.)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include "vm/ptx/order.h"
#include "vm/ptx/touch.h"

namespace tarsia::ptx {
namespace {

constexpr uint32_t kWarps = 4;
constexpr uint32_t kThreads = kWarps * kLanes;

struct Event {
  uint32_t thread = 0;
  uint8_t bytes = 0;
  bool write = false;
  uint32_t number = 0;  // among the thread's
};

// Every access, and for each thread how many of each other's it knows to be done.
class Model {
 public:
  // Whether it races with any before.
  bool Access(uint32_t thread, uint8_t bytes, bool write) {
    const bool races = std::ranges::any_of(events_, [&](const Event& event) {
      return event.thread != thread && (event.bytes & bytes) != 0 && (write || event.write) &&
             known_[thread][event.thread] < event.number;
    });
    events_.push_back({thread, bytes, write, ++known_[thread][thread]});
    return races;
  }
  void Meet(uint32_t warps) {
    std::array<uint32_t, kThreads> all{};
    const auto for_threads = [&](const auto& visit) {
      for (uint32_t thread = 0; thread < kThreads; ++thread) {
        if ((warps >> thread / kLanes & 1) != 0) visit(thread);
      }
    };
    for_threads([&](uint32_t thread) {
      for (uint32_t i = 0; i < kThreads; ++i) all[i] = std::max(all[i], known_[thread][i]);
    });
    for_threads([&](uint32_t thread) { known_[thread] = all; });
  }

 private:
  std::vector<Event> events_;
  std::array<std::array<uint32_t, kThreads>, kThreads> known_{};
};

// The same by what is tested.
class Tested {
 public:
  explicit Tested(SlotSteps* steps) : steps_(steps) {}
  bool Access(uint32_t thread, uint8_t bytes, bool write) {
    WarpOrder& order = orders_[thread / kLanes];
    const int lane = static_cast<int>(thread % kLanes);
    Accessor accessor;
    accessor.actor = accessor.issuer = static_cast<uint16_t>(order.ActorOf(lane));
    accessor.issuer_async = static_cast<uint16_t>(order.AsyncActorOf(lane));
    accessor.clock = order.clock();
    accessor.floor = order.FloorOf(lane);
    accessor.own = order.OwnBlock(lane);
    accessor.past = &order.PastOf(lane);
    accessor.inst = write ? 1 : 2;
    std::optional<Conflict> conflict;
    Touch(&cell_, bytes, write, accessor, steps_, &conflict);
    return conflict.has_value();
  }
  // Asynchronous work that nobody waits for reads the word.
  void ReadByAgent() {
    const Past past;
    Accessor accessor;
    accessor.actor = 2 * kThreads;
    accessor.issuer = accessor.issuer_async = Accessor::kNobody;
    accessor.how = kAsyncBit;
    accessor.clock = 1;
    accessor.past = &past;
    std::optional<Conflict> conflict;
    Touch(&cell_, 15, false, accessor, steps_, &conflict);
    EXPECT_FALSE(conflict.has_value());
  }
  void Meet(uint32_t warps) {
    Past past;
    for (uint32_t warp = 0; warp < kWarps; ++warp) {
      if ((warps >> warp & 1) != 0) orders_[warp].Release(kAllLanes, &past);
    }
    for (uint32_t warp = 0; warp < kWarps; ++warp) {
      if ((warps >> warp & 1) != 0) orders_[warp].Acquire(kAllLanes, past);
    }
  }

 private:
  SlotSteps* steps_;
  Clock clock_ = 1;
  std::array<WarpOrder, kWarps> orders_{
      WarpOrder(0, 0, kThreads, &clock_), WarpOrder(0, 1, kThreads, &clock_),
      WarpOrder(0, 2, kThreads, &clock_), WarpOrder(0, 3, kThreads, &clock_)};
  Cell cell_;
};

// Until the first race each: behind it, what a racing write replaces is forgotten on purpose.
TEST(Touch, FindsTheFirstRaceAndNoOther) {
  std::mt19937 generator(7);
  const auto random = [&] { return static_cast<uint32_t>(generator()); };
  const auto below = [&](uint32_t end) { return random() % end; };
  constexpr std::array<uint8_t, 4> kBytes = {3, 12, 15, 15};
  std::optional<Trails> trails;
  std::optional<SlotSteps> steps;
  int races = 0;
  int steps_run = 0;
  for (int round = 0; round < 8000; ++round) {
    if (round % 100 == 0) {  // before there is no more room
      trails.emplace();
      steps.emplace(&*trails);
    }
    Model model;
    Tested tested(&*steps);
    const uint32_t few = 2 + below(kThreads - 1);  // threads that take part
    const uint32_t writes = 1 + below(40);         // one access of so many
    for (int step = 0; step < 60; ++step, ++steps_run) {
      if (below(4) == 0) {
        const uint32_t warps = below(2) == 0 ? 0xF : below(16);
        model.Meet(warps);
        tested.Meet(warps);
        continue;
      }
      const uint32_t thread = below(few) * 37 % kThreads;
      const uint8_t bytes = kBytes[below(4)];
      const bool write = below(writes) == 0;
      const bool expected = model.Access(thread, bytes, write);
      ASSERT_EQ(tested.Access(thread, bytes, write), expected) << "round " << round;
      if (!expected) continue;
      ++races;
      break;
    }
  }
  EXPECT_GT(races, 2000);
  EXPECT_GT(steps_run, 50000);
}

// What is remembered of one cell must not serve another that only looks like it.
TEST(Touch, StepsDependOnWhatIsOrdered) {
  Trails trails;
  SlotSteps steps(&trails);
  for (const bool together : {true, false}) {
    Tested tested(&steps);
    EXPECT_FALSE(tested.Access(0, 15, false));
    tested.Meet(together ? 0b0011 : 0b1100);
    EXPECT_FALSE(tested.Access(32, 15, false));
    EXPECT_EQ(tested.Access(32, 15, true), !together);
  }
}

TEST(Touch, StepsDependOnTheWarps) {
  Trails trails;
  SlotSteps steps(&trails);
  Tested within(&steps);  // two of a warp stand for the third
  for (const uint32_t thread : {0, 1, 2}) EXPECT_FALSE(within.Access(thread, 15, false));
  Tested across(&steps);
  for (const uint32_t thread : {30, 31, 32}) EXPECT_FALSE(across.Access(thread, 15, false));
  across.Meet(0b0001);
  EXPECT_TRUE(across.Access(30, 15, true));
}

// A barrier lets every thread know every other, but not what asynchronous work does.
TEST(Touch, BarriersDoNotWaitForAgents) {
  Trails trails;
  SlotSteps steps(&trails);
  Tested tested(&steps);
  tested.ReadByAgent();
  EXPECT_FALSE(tested.Access(0, 15, false));
  tested.Meet(0b1111);
  EXPECT_TRUE(tested.Access(5, 15, true));
}

// Cells that go the same way share their trails, whoever the threads are.
TEST(Touch, TrailsDoNotGrowWithTheCells) {
  Trails trails;
  SlotSteps steps(&trails);
  const uint64_t before = trails.bytes();
  for (int round = 0; round < 1000; ++round) {
    for (uint32_t first = 0; first < kLanes - 8; ++first) {
      Tested tested(&steps);
      for (uint32_t i = 0; i < 8; ++i) EXPECT_FALSE(tested.Access(first + i, 15, false));
    }
  }
  EXPECT_LE(trails.bytes(), before + (uint64_t{1} << 16));
}

}  // namespace
}  // namespace tarsia::ptx
