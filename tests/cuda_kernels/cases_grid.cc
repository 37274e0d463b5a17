// Kernels whose blocks work together: atomics of every scope, fences, flags, locks.
#include <algorithm>
#include <numeric>

#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"

namespace tarsia::cuda_kernels {
namespace {

void LastBlock(Bench& bench) {
  const int n = 900;
  const auto x = Wholes<int32_t>(n, 1, -1000, 2000);
  const uint64_t at = bench.Put(x);
  const uint64_t parts = bench.Room<int32_t>(5);
  // Twice: the counter is unchanged after a run.
  for (int turn = 0; turn < 2; ++turn) {
    const uint64_t sum = bench.Room<int32_t>(1);
    bench.Launch("sum_by_last", {{5}, {64}}, Arguments(at, n, parts, sum));
    bench.Expect(sum, std::vector<int32_t>{std::accumulate(x.begin(), x.end(), 0)});
  }
}

void Lookback(Bench& bench) {
  const int n = 500;
  const auto in = Wholes<int32_t>(n, 1, -50, 100);
  std::vector<int32_t> expected(n);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  const uint64_t out = bench.Room<int32_t>(n);
  const uint64_t tiles = bench.Put(std::vector<uint32_t>(3 * 8, 0));
  const uint64_t ticket = bench.Put(std::vector<uint32_t>{0});
  bench.Launch("scan_lookback", {{8}, {64}}, Arguments(bench.Put(in), out, n, tiles, ticket));
  bench.Expect(out, expected);
}

void SpinLock(Bench& bench) {
  const int n = 45;
  const auto x = Wholes<int32_t>(n, 1, -1000, 1000);
  const uint64_t sum = bench.Put(std::vector<int64_t>{0});
  const uint64_t most = bench.Put(std::vector<int32_t>{-5000});
  bench.Launch("locked_sum", {{3}, {16}}, Arguments(bench.Put(x), sum, most, n));
  bench.Expect(sum, std::vector<int64_t>{std::accumulate(x.begin(), x.end(), int64_t{0})});
  bench.Expect(most, std::vector<int32_t>{*std::max_element(x.begin(), x.end())});
  if (bench.faulty()) return;
  const uint64_t list = bench.Room<int32_t>(6);
  const uint64_t length = bench.Put(std::vector<int32_t>{0});
  bench.Launch("ticket_order", {{6}, {32}}, Arguments(list, length));
  auto blocks = bench.Get<int32_t>(list, 6);
  std::sort(blocks.begin(), blocks.end());
  EXPECT_EQ(blocks, (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  bench.Expect(length, std::vector<int32_t>{6});
}

void GridBarrier(Bench& bench) {
  const int n = 100;
  const int rounds = 5;
  const auto start = Wholes<int32_t>(n, 1, -20, 20);
  auto now = start;
  for (int r = 0; r < rounds; ++r) {
    const auto before = now;
    for (int i = 0; i < n; ++i) {
      now[i] = before[(i + n - 1) % n] + 2 * before[i] + before[(i + 1) % n];
    }
  }
  const uint64_t a = bench.Put(start);
  const uint64_t b = bench.Room<int32_t>(n);
  bench.Launch("smooth", {{4}, {32}}, Arguments(a, b, n, rounds));
  bench.Expect(b, now);
}

void Cooperative(Bench& bench) {
  const int n = 200;
  const auto x = Wholes<int32_t>(n, 1, 0, 100);
  const uint64_t at = bench.Put(x);
  const uint64_t counter = bench.Put(std::vector<int32_t>{0});
  const uint64_t places = bench.Put(std::vector<int32_t>(n, -1));
  bench.Launch("count_active", {{4}, {64}}, Arguments(at, n, counter, places));
  auto got = bench.Get<int32_t>(places, n);
  std::vector<int32_t> taken;
  int32_t count = 0;
  for (int i = 0; i < n; ++i) {
    EXPECT_TRUE(bench.faulty() || (got[i] >= 0) == (x[i] % 3 == 0)) << i;
    if (x[i] % 3 == 0) taken.push_back(got[i]);
    if (x[i] % 3 == 0) ++count;
  }
  std::sort(taken.begin(), taken.end());
  for (int32_t i = 0; i < count && !bench.faulty(); ++i) EXPECT_EQ(taken[i], i);
  bench.Expect(counter, std::vector<int32_t>{count});

  std::vector<int32_t> most;
  for (int tile = 0; tile < 16; ++tile) {
    const auto begin = x.begin() + 8 * tile;
    const auto largest = std::max_element(begin, begin + 8);
    most.push_back(*largest + (*largest > 90 ? 1000 : 0) +
                   10000 * (static_cast<int32_t>(largest - begin) + 1));
  }
  const uint64_t at_most = bench.Room<int32_t>(16);
  bench.Launch("tile_max", {{2}, {64}}, Arguments(at, at_most));
  bench.Expect(at_most, most);
}

void ScopedAtomics(Bench& bench) {
  const int n = 100;
  const uint64_t sum = n * (n - 1) / 2;
  const uint64_t blocks = bench.Put(std::vector<int32_t>(4, 0));
  const uint64_t device = bench.Put(std::vector<int32_t>{0});
  const uint64_t system = bench.Put(std::vector<uint64_t>{0});
  bench.Launch("scopes", {{4}, {32}}, Arguments(blocks, device, system, n));
  bench.Expect(blocks, std::vector<int32_t>{32, 32, 32, 4});
  bench.Expect(device, std::vector<int32_t>{static_cast<int32_t>(sum)});
  bench.Expect(system, std::vector<uint64_t>{sum << 30});

  int32_t flipped = 0;
  for (int32_t i = 0; i < n; ++i) flipped ^= i;
  const uint64_t words = bench.Put(std::vector<int32_t>{1000, -1000, 0xFF, 0, 0, 0});
  const uint64_t bounded = bench.Put(std::vector<uint32_t>{0, 4});
  bench.Launch("kinds", {{4}, {32}}, Arguments(words, bounded, n));
  bench.Expect(words,
               std::vector<int32_t>{-20, 29, 0xE0, 0x1FF, flipped, -static_cast<int32_t>(sum)});
  // 0, 1 .. 6, 0 ..: 100 steps of 7; 4, 3 .. 0, 9 ..: 100 steps of 10.
  bench.Expect(bounded, std::vector<uint32_t>{100 % 7, 4});

  std::vector<double> x(n);
  const std::vector<float> from = Floats(n, 1);
  std::copy(from.begin(), from.end(), x.begin());
  const double all = std::accumulate(x.begin(), x.end(), 0.0);  // exact
  // Doubles are compared as bits: those below zero never win.
  const uint64_t most = bench.Put(std::vector<double>{-100.0});
  const uint64_t product = bench.Put(std::vector<float>{3.0F});
  const uint64_t total = bench.Put(std::vector<double>{0.0});
  const uint64_t float_total = bench.Put(std::vector<float>{0.0F});
  bench.Launch("swap_loops", {{4}, {32}},
               Arguments(bench.Put(x), most, product, total, float_total, n));
  bench.Expect(most, std::vector<double>{*std::max_element(x.begin(), x.end())});
  bench.Expect(product, std::vector<float>{3.0F});
  bench.Expect(total, std::vector<double>{all});
  bench.Expect(float_total, std::vector<float>{static_cast<float>(all)});
}

void Flags(Bench& bench) {
  const int n = 100;
  std::vector<int32_t> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = (n - 1 - i) * (n - 1 - i) + 1;
  const uint64_t out = bench.Room<int32_t>(n);
  bench.Launch("hand_over", {{2}, {64}},
               Arguments(bench.Room<int32_t>(n), bench.Put(std::vector<uint32_t>{0}), out, n));
  bench.Expect(out, expected);
  const uint64_t two = bench.Room<int32_t>(2);
  bench.Launch("volatile_flag", {{3}, {32}},
               Arguments(bench.Room<int32_t>(1), bench.Put(std::vector<int32_t>{0}), two));
  bench.Expect(two, std::vector<int32_t>{4711, 4711});
  const uint32_t goal = 3 * 32 * 31 / 2;
  const uint64_t sums = bench.Room<uint32_t>(3);
  bench.Launch("wait_for_sum", {{3}, {32}},
               Arguments(bench.Put(std::vector<uint32_t>{0}), goal, sums));
  bench.Expect(sums, std::vector<uint32_t>(3, goal));
}

void Queue(Bench& bench) {
  const int rounds = 7;
  const auto in = Wholes<int32_t>(64 * rounds, 1, -1000, 1000);
  std::vector<int32_t> expected;
  for (int r = 0; r < rounds; ++r) {
    for (int t = 0; t < 64; ++t) expected.push_back(2 * in[64 * r + 63 - t] + r);
  }
  const uint64_t out = bench.Room<int32_t>(expected.size());
  bench.Launch("queue", {{1}, {128}}, Arguments(bench.Put(in), out, rounds));
  bench.Expect(out, expected);
}

void DependentLaunch(Bench& bench) {
  const int n = 128;
  const auto x = Wholes<int32_t>(n, 1, -1000, 1000);
  const auto weights = Wholes<int32_t>(64, 2, -1000, 1000);
  std::vector<int32_t> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = 3 * x[i] + weights[63 - i % 64];
  const uint64_t middle = bench.Room<int32_t>(n);
  const uint64_t out = bench.Room<int32_t>(n);
  bench.Launch("first", {{2}, {64}}, Arguments(bench.Put(x), middle));
  bench.Launch("second", {{2}, {64}}, Arguments(middle, out, bench.Put(weights)));
  bench.Expect(out, expected);
}

constexpr Case kCases[] = {
    {"last_block", LastBlock},
    {"lookback", Lookback},
    {"spin_lock", SpinLock},
    {"grid_barrier", GridBarrier},
    {"cooperative", Cooperative},
    {"scoped_atomics", ScopedAtomics},
    {"flags", Flags},
    {"queue", Queue},
    {"dependent_launch", DependentLaunch},
};

}  // namespace

std::span<const Case> GridCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
