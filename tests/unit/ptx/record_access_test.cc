// Cells of the shadow memory against a model that forgets nothing: random accesses of four warps of
// two blocks to one word, weak, strong and atomic, between barriers of random warps. (Where lanes
// of a warp go to barriers apart, the cells may forget: two unordered accesses of a warp stand for
// all of it.)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "ptx/race/order.h"
#include "ptx/race/record_access.h"

namespace tarsia::ptx::record_access_test {
namespace {

constexpr uint32_t kWarps = 4;
constexpr uint32_t kThreads = kWarps * kLanes;

constexpr uint8_t kCtaStrong = static_cast<uint8_t>(Strength::kCta);
constexpr uint8_t kGpuStrong = static_cast<uint8_t>(Strength::kGpu);

struct Event {
  uint32_t thread = 0;
  uint8_t bytes = 0;
  bool write = false;
  uint8_t semantics = 0;
  uint32_t number = 0;  // among the thread's
};

// How the threads lie in blocks.
struct Grid {
  uint32_t warps_of_block = kWarps;
  const ClusterMap* clusters = nullptr;
  [[nodiscard]] uint32_t BlockOf(uint32_t thread) const { return thread / kLanes / warps_of_block; }
};

// Every access, and for each thread how many of each other's it knows to be done.
class Model {
 public:
  explicit Model(const Grid& grid) : grid_(grid) {}
  // Whether it races with any before.
  bool Access(uint32_t thread, uint8_t bytes, bool write, uint8_t semantics) {
    Event now{thread, bytes, write, semantics, known_[thread][thread] + 1};
    bool races = false;
    for (size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      races = races ||
              (event.thread != thread && (event.bytes & bytes) != 0 && (write || event.write) &&
               !Knows(thread, event) && !AreStrong(now, event) && !IsAfterAtomicThatSaw(thread, i));
    }
    known_[thread][thread] = now.number;
    events_.push_back(now);
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
  [[nodiscard]] bool Knows(uint32_t thread, const Event& event) const {
    return known_[thread][event.thread] >= event.number;
  }
  // The narrower scope of the two takes in both threads, and one lies within the other.
  [[nodiscard]] bool AreStrong(const Event& a, const Event& b) const {
    if ((a.semantics & kStrengthBits) == 0 || (b.semantics & kStrengthBits) == 0) return false;
    const bool nested = (a.bytes & ~b.bytes) == 0 || (b.bytes & ~a.bytes) == 0;
    const bool same_block = grid_.BlockOf(a.thread) == grid_.BlockOf(b.thread);
    const bool wide =
        (a.semantics & kStrengthBits) >= kGpuStrong && (b.semantics & kStrengthBits) >= kGpuStrong;
    return nested && (same_block || wide);
  }
  // An atomic that the thread is ordered after saw (all of) a strong write that came before it.
  [[nodiscard]] bool IsAfterAtomicThatSaw(uint32_t thread, size_t i) const {
    const Event& event = events_[i];
    return event.write && std::any_of(events_.begin() + static_cast<ptrdiff_t>(i), events_.end(),
                                      [&](const Event& later) {
                                        return (later.semantics & kAtomicBit) != 0 &&
                                               (event.bytes & ~later.bytes) == 0 &&
                                               Knows(thread, later) && AreStrong(later, event);
                                      });
  }

  Grid grid_;
  std::vector<Event> events_;
  std::array<std::array<uint32_t, kThreads>, kThreads> known_{};
};

// The same by what is tested.
class Tested {
 public:
  explicit Tested(SlotSteps* steps, const Grid& grid = {}, bool across = false)
      : steps_(steps), grid_(grid), across_(across) {}
  bool Access(uint32_t thread, uint8_t bytes, bool write, uint8_t semantics = 0) {
    return !ConflictsOf(thread, bytes, write, semantics, write ? 1 : 2).empty();
  }
  // The instructions of what it races with.
  std::set<uint32_t> ConflictsOf(uint32_t thread, uint8_t bytes, bool write, uint8_t semantics,
                                 uint32_t inst) {
    WarpOrder& order = orders_[thread / kLanes];
    const int lane = static_cast<int>(thread % kLanes);
    Accessor accessor;
    accessor.block = grid_.BlockOf(thread);
    accessor.clusters = grid_.clusters;
    accessor.actor = accessor.issuer = static_cast<uint16_t>(order.ActorOf(lane));
    accessor.issuer_async = static_cast<uint16_t>(order.AsyncActorOf(lane));
    accessor.semantics = semantics;
    accessor.clock = order.clock();
    accessor.floor = order.FloorOf(lane);
    accessor.own = order.OwnBlock(lane);
    accessor.past = &order.PastOf(lane);
    accessor.inst = inst;
    Conflicts conflicts;
    RecordAccess(&cell_, 0, bytes, write, across_, accessor, steps_, &conflicts);
    std::set<uint32_t> with;
    for (const Conflict& conflict : conflicts.all()) with.insert(conflict.with.inst);
    return with;
  }
  // Asynchronous work that nobody waits for reads the word.
  void ReadByAgent() {
    const Past past;
    Accessor accessor;
    accessor.actor = 2 * kThreads;
    accessor.issuer = accessor.issuer_async = Accessor::kNobody;
    accessor.semantics = kAsyncBit;
    accessor.clock = 1;
    accessor.past = &past;
    Conflicts conflicts;
    RecordAccess(&cell_, 0, 15, false, across_, accessor, steps_, &conflicts);
    EXPECT_TRUE(conflicts.empty());
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
  WarpOrder OrderOf(uint32_t warp) {
    const uint32_t warps = grid_.warps_of_block;
    return {warp / warps, warp % warps, warps * kLanes, &clocks_[warp / warps]};
  }

  SlotSteps* steps_;
  Grid grid_;
  bool across_;
  std::array<Clock, kWarps> clocks_{1, 1, 1, 1};  // by block
  std::array<WarpOrder, kWarps> orders_{OrderOf(0), OrderOf(1), OrderOf(2), OrderOf(3)};
  Cell cell_;
};

// Until the first race each.
void ExpectTheFirstRaceAndNoOther(const Grid& grid, bool across, const std::vector<uint8_t>& hows) {
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
    Model model(grid);
    Tested tested(&*steps, grid, across);
    // Threads that take part: strong accesses of so many are not more than a cell remembers.
    const uint32_t few = 2 + below(hows.size() == 1 ? kThreads - 1 : 7);
    const uint32_t writes = 1 + below(40);  // one access of so many
    const auto kinds = 1 + below(static_cast<uint32_t>(hows.size()));
    for (int step = 0; step < 60; ++step, ++steps_run) {
      if (below(4) == 0) {
        const uint32_t warps = below(2) == 0 ? 0xF : below(16);
        model.Meet(warps);
        tested.Meet(warps);
        continue;
      }
      const uint32_t thread = below(few) * 37 % kThreads;
      const uint8_t semantics = hows[hows.size() - 1 - below(kinds)];
      const uint8_t bytes = kBytes[below(4)];
      const bool write = below(writes) == 0 || (semantics & kAtomicBit) != 0;
      const bool expected = model.Access(thread, bytes, write, semantics);
      ASSERT_EQ(tested.Access(thread, bytes, write, semantics), expected) << "round " << round;
      if (!expected) continue;
      ++races;
      break;
    }
  }
  EXPECT_GT(races, 2000);
  EXPECT_GT(steps_run, 50000);
}

TEST(RecordAccess, FindsTheFirstRaceAndNoOther) { ExpectTheFirstRaceAndNoOther({}, false, {0}); }

// A strong access hides no weaker one, whoever made it; atomics come after those that they saw, and
// after nothing else.
TEST(RecordAccess, FindsTheFirstRaceAmongStrongAccesses) {
  for (const bool across : {false, true}) {
    ExpectTheFirstRaceAndNoOther({}, across, {0, kGpuStrong, kCtaStrong, kGpuStrong | kAtomicBit});
    ExpectTheFirstRaceAndNoOther({2}, across, {0, kGpuStrong, kGpuStrong | kAtomicBit});
  }
}

// Two blocks that do random accesses one after the other and meet now and then, one before the
// other or by turns: the instructions that race are the same ones.
TEST(RecordAccess, FindsTheSameInEveryOrderOfBlocks) {
  struct Step {
    uint32_t thread = 0;  // of all
    uint32_t inst = 0;
    bool write = false;
    uint8_t semantics = 0;
    uint32_t warps = 0;  // that meet; 0: an access
  };
  std::mt19937 generator(11);
  const auto below = [&](uint32_t end) { return static_cast<uint32_t>(generator()) % end; };
  using Pairs = std::set<std::pair<uint32_t, uint32_t>>;
  int racy = 0;
  for (int round = 0; round < 3000; ++round) {
    std::array<std::vector<Step>, 2> blocks;
    const uint32_t writes = 1 + below(6);
    for (int part = 0; part < 3; ++part) {
      for (uint32_t block = 0; block < 2; ++block) {
        for (uint32_t i = below(4); i > 0; --i) {  // no more than a cell remembers
          const uint32_t inst = below(8);
          const uint32_t warp = 2 * block + below(2);
          if (below(4) == 0) {
            blocks[block].push_back({0, 0, false, 0, below(2) == 0 ? 1U << warp : 3U << 2 * block});
            continue;
          }
          blocks[block].push_back({kLanes * warp + below(3), inst, inst % 7 < writes,
                                   inst % 3 == 0 ? kGpuStrong : uint8_t{0}, 0});
        }
      }
      const uint32_t both = (1U << below(2)) | (4U << below(2)) | below(16);
      for (auto& block : blocks) block.push_back({0, 0, false, 0, both});
    }
    std::optional<Pairs> expected;
    for (int order = 0; order < 12; ++order) {
      Trails trails;
      SlotSteps steps(&trails);
      Tested tested(&steps, {2}, true);
      Pairs found;
      std::array<size_t, 2> at{};
      const auto needs_both = [&](uint32_t block) {
        const uint32_t warps = blocks[block][at[block]].warps;
        return (warps & 3) != 0 && (warps & 12) != 0;
      };
      const auto can_run = [&](uint32_t block) {
        return at[block] < blocks[block].size() && !needs_both(block);
      };
      while (at[0] < blocks[0].size() || at[1] < blocks[1].size()) {
        if (!can_run(0) && !can_run(1)) {
          tested.Meet(blocks[0][at[0]].warps);
          ++at[0];
          ++at[1];
          continue;
        }
        const uint32_t first = order < 2 ? static_cast<uint32_t>(order) : below(2);
        const uint32_t block = can_run(first) ? first : 1 - first;
        const Step& step = blocks[block][at[block]++];
        if (step.warps != 0) {
          tested.Meet(step.warps);
          continue;
        }
        for (const uint32_t with :
             tested.ConflictsOf(step.thread, 15, step.write, step.semantics, step.inst)) {
          found.emplace(std::max(with, step.inst), std::min(with, step.inst));
        }
      }
      if (!expected) expected = found;
      ASSERT_EQ(found, *expected) << "round " << round << " order " << order;
    }
    racy += expected->empty() ? 0 : 1;
  }
  EXPECT_GT(racy, 500);
  EXPECT_LT(racy, 2900);
}

// What is remembered of one cell must not serve another that only looks like it.
TEST(RecordAccess, StepsDependOnWhatIsOrdered) {
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

TEST(RecordAccess, StepsDependOnTheWarps) {
  Trails trails;
  SlotSteps steps(&trails);
  Tested within(&steps);  // two of a warp stand for the third
  for (const uint32_t thread : {0, 1, 2}) EXPECT_FALSE(within.Access(thread, 15, false));
  Tested across(&steps);
  for (const uint32_t thread : {30, 31, 32}) EXPECT_FALSE(across.Access(thread, 15, false));
  across.Meet(0b0001);
  EXPECT_TRUE(across.Access(30, 15, true));
}

TEST(RecordAccess, StepsDependOnOtherBlocks) {
  Trails trails;
  SlotSteps steps(&trails);
  for (const bool across : {false, true}) {
    Tested tested(&steps, {}, across);
    EXPECT_TRUE(tested.ConflictsOf(0, 15, false, 0, 2).empty());
    EXPECT_TRUE(tested.ConflictsOf(32, 15, false, 0, 3).empty());
    tested.Meet(0b0001);
    EXPECT_TRUE(tested.ConflictsOf(0, 15, false, 0, 4).empty());
    const std::set<uint32_t> all = {2, 3, 4};
    const std::set<uint32_t> last = {3, 4};
    EXPECT_EQ(tested.ConflictsOf(64, 15, true, 0, 1), across ? all : last);
  }
}

// Atomics of the scope of a cluster see those of their own.
TEST(RecordAccess, StepsDependOnTheClusters) {
  constexpr auto kHow = static_cast<uint8_t>(static_cast<uint8_t>(Strength::kCluster) | kAtomicBit);
  const ClusterMap maps[] = {{{4}, {2}}, {{1, 4, 1}, {1, 2, 1}}, {{1, 1, 4}, {1, 1, 2}}};
  Trails trails;
  SlotSteps steps(&trails);
  for (const ClusterMap& clusters : maps) {
    for (const uint32_t first : {0U, 1U}) {
      Tested tested(&steps, {1, &clusters});
      EXPECT_TRUE(tested.ConflictsOf(first * kLanes, 15, true, kHow, 5).empty());
      const bool seen = first == 0;
      EXPECT_EQ(tested.ConflictsOf((first + 1) * kLanes, 15, true, kHow, 6).empty(), seen);
      const std::set<uint32_t> both = {5, 6};
      const std::set<uint32_t> last = {6};
      EXPECT_EQ(tested.ConflictsOf(3 * kLanes, 15, true, 0, 7), seen ? last : both);
    }
  }
}

// The asynchronous proxy needs a fence after a write, however well that is known to be done.
TEST(RecordAccess, ProxiesWantAFence) {
  for (const bool fenced : {false, true}) {
    Trails trails;
    SlotSteps steps(&trails);
    Cell cell;
    Conflicts conflicts;
    Accessor writer;
    writer.clock = 1;
    RecordAccess(&cell, 0, 15, true, false, writer, &steps, &conflicts);
    EXPECT_TRUE(conflicts.empty());
    Past past;
    past.all.Raise(0, 0, 1, kThreads);
    if (fenced) past.fenced.Raise(0, 0, 1, kThreads);
    Accessor proxy;
    proxy.actor = 2 * kThreads;
    proxy.issuer = proxy.issuer_async = Accessor::kNobody;
    proxy.semantics = kAsyncBit | kAsyncProxyBit;
    proxy.clock = proxy.floor = 1;
    proxy.past = &past;
    proxy.own = past.all.OfBlock(0);
    RecordAccess(&cell, 0, 15, false, false, proxy, &steps, &conflicts);
    ASSERT_EQ(conflicts.all().size(), fenced ? 0U : 1U);
    if (!fenced) {
      EXPECT_EQ(conflicts.all()[0].hazard, Hazard::kUnfenced);
    }
  }
}

// A barrier lets every thread know every other, but not what asynchronous work does.
TEST(RecordAccess, BarriersDoNotWaitForAgents) {
  Trails trails;
  SlotSteps steps(&trails);
  Tested tested(&steps);
  tested.ReadByAgent();
  EXPECT_FALSE(tested.Access(0, 15, false));
  tested.Meet(0b1111);
  EXPECT_TRUE(tested.Access(5, 15, true));
}

// Cells that go the same way share their trails, whoever the threads are.
TEST(RecordAccess, TrailsDoNotGrowWithTheCells) {
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
}  // namespace tarsia::ptx::record_access_test
