// What the lanes of a warp do together.
#include <algorithm>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::lanes_test {
namespace {

// One warp: s0, s1.. of lane i are tuple i.
std::vector<uint64_t> RunWarp(Op op, const std::string& instruction, int dest,
                              const std::vector<int>& widths, const std::vector<Tuple>& lanes) {
  EXPECT_EQ(lanes.size(), 32U);
  Covers(op);
  return RunRow(op, instruction, dest, widths, lanes);
}

std::vector<Tuple> Lanes(const std::function<Tuple(uint64_t)>& of) {
  std::vector<Tuple> lanes;
  for (uint64_t i = 0; i < 32; ++i) lanes.push_back(of(i));
  return lanes;
}

TEST(Lanes, Shuffle) {
  const auto values = Lanes([](uint64_t i) { return Tuple{i * 10, (i * 7 + 3) % 40}; });
  struct Case {
    const char* mode;
    uint32_t b;
    uint32_t c;
    int (*source)(int lane);  // -1: outside, keeps its own
  };
  const Case cases[] = {
      {"up", 3, 0, [](int i) { return i < 3 ? -1 : i - 3; }},
      {"down", 5, 31, [](int i) { return i + 5 > 31 ? -1 : i + 5; }},
      {"bfly", 12, 31, [](int i) { return i ^ 12; }},
      {"idx", 9, 31, [](int) { return 9; }},
      // Segments of eight lanes.
      {"up", 2, 0x1800, [](int i) { return i % 8 < 2 ? -1 : i - 2; }},
      {"down", 3, 0x181F, [](int i) { return i % 8 + 3 > 7 ? -1 : i + 3; }},
      {"idx", 5, 0x181F, [](int i) { return i / 8 * 8 + 5; }},
      // In segments of sixteen, lanes beyond the fourth are outside.
      {"bfly", 3, 0x1003, [](int i) { return (i ^ 3) % 16 > 3 ? -1 : i ^ 3; }},
  };
  for (const Case& c : cases) {
    const std::string operands = fmt::format("s0, {}, {}, -1;", c.b, c.c);
    const auto got = RunWarp(Op::kShfl, fmt::format("shfl.sync.{}.b32 d, {}", c.mode, operands), 32,
                             {32, 32}, values);
    const auto inside = RunWarp(
        Op::kShfl, fmt::format("shfl.sync.{}.b32 r1|d, {}", c.mode, operands), 1, {32, 32}, values);
    for (int i = 0; i < 32; ++i) {
      const int from = c.source(i);
      EXPECT_EQ(got[static_cast<size_t>(i)], static_cast<uint64_t>(from < 0 ? i : from) * 10)
          << c.mode << " lane " << i;
      EXPECT_EQ(inside[static_cast<size_t>(i)], from >= 0 ? 1U : 0U) << c.mode << " lane " << i;
    }
  }
  const auto by_lane =
      RunWarp(Op::kShfl, "shfl.sync.idx.b32 d, s0, s1, 31, -1;", 32, {32, 32}, values);
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(by_lane[i], (i * 7 + 3) % 40 % 32 * 10);
}

TEST(Lanes, Vote) {
  const auto check = [](const std::function<bool(uint64_t)>& holds) {
    const auto lanes = Lanes([&](uint64_t i) { return Tuple{holds(i) ? uint64_t{1} : 0}; });
    uint64_t ballot = 0;
    for (uint64_t i = 0; i < 32; ++i) ballot |= uint64_t{holds(i)} << i;
    const auto vote = [&](const std::string& mode) {
      return RunWarp(Op::kVotePred, "vote.sync." + mode + ".pred d, s0, -1;", 1, {1}, lanes);
    };
    EXPECT_EQ(vote("all"), std::vector<uint64_t>(32, ballot == 0xFFFFFFFF ? 1 : 0));
    EXPECT_EQ(vote("any"), std::vector<uint64_t>(32, ballot != 0 ? 1 : 0));
    EXPECT_EQ(vote("uni"), std::vector<uint64_t>(32, ballot == 0 || ballot == 0xFFFFFFFF ? 1 : 0));
    EXPECT_EQ(RunWarp(Op::kVoteBallot, "vote.sync.ballot.b32 d, s0, -1;", 32, {1}, lanes),
              std::vector<uint64_t>(32, ballot));
    EXPECT_EQ(RunWarp(Op::kVoteBallot, "vote.sync.ballot.b32 d, !s0, -1;", 32, {1}, lanes),
              std::vector<uint64_t>(32, ~ballot & 0xFFFFFFFF));
  };
  check([](uint64_t) { return true; });
  check([](uint64_t) { return false; });
  check([](uint64_t i) { return i % 3 == 0; });
}

TEST(Lanes, MatchReduceAndElect) {
  const auto lanes = Lanes([](uint64_t i) { return Tuple{i % 5 + (uint64_t{i % 2} << 40)}; });
  for (const int width : {32, 64}) {
    const auto groups = RunWarp(Op::kMatchAny, fmt::format("match.any.sync.b{} d, s0, -1;", width),
                                32, {width}, lanes);
    const uint64_t period = width == 32 ? 5 : 10;
    for (uint64_t i = 0; i < 32; ++i) {
      uint64_t mask = 0;
      for (uint64_t j = 0; j < 32; ++j) mask |= uint64_t{i % period == j % period} << j;
      EXPECT_EQ(groups[i], mask);
    }
  }
  const auto same = Lanes([](uint64_t) { return Tuple{77}; });
  EXPECT_EQ(RunWarp(Op::kMatchAll, "match.all.sync.b32 d|q, s0, -1;", 32, {32}, same),
            std::vector<uint64_t>(32, 0xFFFFFFFF));
  EXPECT_EQ(RunWarp(Op::kMatchAll, "match.all.sync.b32 d, s0, -1;", 32, {32}, lanes),
            std::vector<uint64_t>(32, 0));
  EXPECT_EQ(RunWarp(Op::kMatchAll, "match.all.sync.b64 r1|d, s0, -1;", 1, {64}, lanes),
            std::vector<uint64_t>(32, 0));

  const auto numbers = Lanes([](uint64_t i) { return Tuple{i == 9 ? 0xFFFFFFF0 : i + 4}; });
  const auto reduce = [&](Op op, const std::string& text) {
    const auto got = RunWarp(op, "redux.sync." + text + " d, s0, -1;", 32, {32}, numbers);
    EXPECT_EQ(got, std::vector<uint64_t>(32, got[0]));
    return got[0];
  };
  uint64_t sum = 0, all = 0xFFFFFFFF, any = 0, odd = 0;
  for (const Tuple& tuple : numbers) {
    sum += tuple[0];
    all &= tuple[0];
    any |= tuple[0];
    odd ^= tuple[0];
  }
  EXPECT_EQ(reduce(Op::kReduxInt, "add.u32"), sum & 0xFFFFFFFF);
  EXPECT_EQ(reduce(Op::kReduxInt, "min.s32"), 0xFFFFFFF0U);
  EXPECT_EQ(reduce(Op::kReduxInt, "min.u32"), 4U);
  EXPECT_EQ(reduce(Op::kReduxInt, "max.s32"), 35U);
  EXPECT_EQ(reduce(Op::kReduxInt, "max.u32"), 0xFFFFFFF0U);
  EXPECT_EQ(reduce(Op::kReduxBits, "and.b32"), all);
  EXPECT_EQ(reduce(Op::kReduxBits, "or.b32"), any);
  EXPECT_EQ(reduce(Op::kReduxBits, "xor.b32"), odd);

  const auto elected = RunWarp(Op::kElect, "elect.sync r1|d, -1;", 1, {32}, numbers);
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(elected[i], i == 0 ? 1U : 0U);
  EXPECT_EQ(RunWarp(Op::kActivemask, "activemask.b32 d;", 32, {32}, numbers),
            std::vector<uint64_t>(32, 0xFFFFFFFF));
}

// Lanes of one instruction that come to it by different ways wait for each other.
TEST(Lanes, MeetAtACollective) {
  const auto lanes = Lanes([](uint64_t i) { return Tuple{i, i % 2}; });
  const auto got = RunWarp(Op::kShfl, R"(
setp.eq.u32 q, s1, 0;
@q bra even;
add.u32 s0, s0, 100;
even:
bar.warp.sync -1;
shfl.sync.bfly.b32 d, s0, 1, 31, -1;)",
                           32, {32, 32}, lanes);
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], (i ^ 1) + (i % 2 == 0 ? 100 : 0));
  Covers(Op::kBarWarpSync);
  // Half a warp each, with masks of their own.
  const auto halves = RunWarp(Op::kShfl, R"(
setp.lt.u32 q, s0, 16;
@q bra low;
redux.sync.add.u32 d, s0, 0xFFFF0000;
bra join;
low:
redux.sync.max.u32 d, s0, 0x0000FFFF;
join:
shfl.sync.idx.b32 r1, s0, 0, 31, -1;)",
                              32, {32, 32}, lanes);
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(halves[i], i < 16 ? 15U : (16 + 31) * 8U);
}

// Tiles of eight lanes, each with its own mask in one instruction, to which a lane of the second
// tile comes when it likes: the others of its tile wait for it there.
TEST(Lanes, ActByTheirMasks) {
  const auto lanes =
      Lanes([](uint64_t i) { return Tuple{i, uint64_t{0xFF} << (i / 8 * 8), i % 3}; });
  const auto got = RunWarp(Op::kReduxInt, R"(
mov.u32 r2, 0;
setp.eq.u32 q, s0, 9;
@q mov.u32 r2, 3;
turn:
setp.eq.u32 q, r2, 0;
@q bra tile;
sub.u32 r2, r2, 1;
add.u32 s0, s0, 1000;
bra turn;
tile:
redux.sync.add.u32 d, s0, s1;
setp.lt.u32 q, s2, 1;
vote.sync.ballot.b32 r1, q, -1;
add.u32 d, d, r1;)",
                           32, {32, 32, 32}, lanes);
  uint64_t thirds = 0;
  for (uint64_t i = 0; i < 32; i += 3) thirds |= uint64_t{1} << i;
  for (uint64_t i = 0; i < 32; ++i) {
    uint64_t sum = thirds;
    for (uint64_t k = i / 8 * 8; k < i / 8 * 8 + 8; ++k) sum += k == 9 ? 3009 : k;
    EXPECT_EQ(got[i], sum & 0xFFFFFFFF) << i;
  }
}

}  // namespace
}  // namespace tarsia::ptx::lanes_test
