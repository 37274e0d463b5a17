// Semaphores between blocks that run on several threads: order, deadlock, and what `--check` knows
// of the accesses that they order.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/vm/run_testing.h"

namespace tarsia::vm::semaphore_test {
namespace {

LaunchOptions OnThreads(int threads) {
  LaunchOptions options;
  options.threads = threads;
  return options;
}

// Each block takes ten times what the blocks before it have made, and adds its index. The busy loop
// is longer in earlier blocks, so that later ones wait.
constexpr std::string_view kChain = R"(
kernel k(%y: ptr<i64>)
  grid (2, 3, 2)
{
  %x = block.x
  %y_ = block.y
  %z = block.z
  %i = mov %x + 2 * (%y_ + 3 * %z) : i64
  %g = view %y : global<i64>[1]
  %turn = alloc.global zeroed : i32 [1]
  %busy = fill 1 : i64 [64]
  for %n: i64 = 0 to (12 - %i) * 40 {
    %busy = mul %busy, 3
  }
  semaphore.lock %turn[0], %i
  %t = load %g[0] : [1]
  %t = mul %t, 10
  %t = add %t, %i
  sync
  store %g[0], %t
  %next = select %i == 11, -11, 1
  semaphore.release %turn[0], %next
}
)";

TEST(Semaphore, BlocksTakeTurnsOnAnyNumberOfThreads) {
  int64_t expected = 7;
  for (int64_t i = 0; i < 12; ++i) expected = expected * 10 + i;
  for (const int threads : {1, 2, 3, 8}) {
    std::vector<int64_t> y = {7};
    RunOk(kChain, Args().Out(y), OnThreads(threads));
    EXPECT_EQ(y[0], expected) << threads << " threads";
  }
}

TEST(Semaphore, TurnsAreOrderedForCheck) {
  std::vector<int64_t> y = {7};
  EXPECT_EQ(Findings(kChain, Args().Out(y)), "");
}

// No block releases the semaphore, and all wait.
TEST(Semaphore, ABlockThatNobodyCanReleaseFails) {
  const std::string_view text = R"(
kernel k(%n: i32)
  grid (9)
{
  %b = block.x
  %turn = alloc.global zeroed : i32 [1]
  if %b >= %n {
    semaphore.lock %turn[0], 5
  }
}
)";
  for (const int threads : {1, 4}) {
    const Result<LaunchReport> report = RunText(text, Args().I32(3), OnThreads(threads));
    ASSERT_FALSE(report.ok());
    EXPECT_STREQ(report.error().info->id, "waits-for-later-block");
    EXPECT_EQ(report.error().location.line, 8U);
    EXPECT_EQ(report.error().message,
              "block (3, 0, 0) waits until `%turn` is 5, but it is 0 and the blocks of lower index "
              "are done");
    RunOk(text, Args().I32(9), OnThreads(threads));
  }
}

// A failure of an earlier block ends those that wait for it.
TEST(Semaphore, WaitingBlocksStopWithTheLaunch) {
  const std::string_view text = R"(
kernel k()
  grid (6)
{
  %b = block.x
  %turn = alloc.global zeroed : i32 [1]
  if %b == 0 {
    assert 1 > 2, "broken"
  }
  semaphore.lock %turn[0], 1
}
)";
  for (const int threads : {1, 4}) {
    const Result<LaunchReport> report = RunText(text, Args(), OnThreads(threads));
    ASSERT_FALSE(report.ok());
    EXPECT_STREQ(report.error().info->id, "assert-failed");
  }
}

// What block 0 wrote after its first release is not ordered, nor what it reads.
TEST(Semaphore, OrdersOnlyWhatCameBeforeTheRelease) {
  const std::string_view text = R"(
kernel k(%y: ptr<i32>)
  grid (2)
{
  %b = block.x
  %g = view %y : global<i32>[2]
  %done = alloc.global zeroed : i32 [1]
  %one = fill 1 : i32 [1]
  if %b == 0 {
    store %g[0], %one
    semaphore.release %done[0], 1
    store %g[1], %one
  } else {
    semaphore.lock %done[0], 1
    store %g[0], %one
    semaphore.release %done[0], -1
    store %g[1], %one
  }
}
)";
  std::vector<int32_t> y(2, 0);
  EXPECT_EQ(Findings(text, Args().Out(y)), "race-between-blocks@17");
}

// Of three blocks that add atomically, one is not waited for: its addition is not the last one.
TEST(Semaphore, EachOfSeveralAtomicsMustBeOrdered) {
  const std::string_view text = R"(
kernel k(%x: ptr<i32>, %y: ptr<i32>)
  grid (3)
{
  %b = block.x
  %g = view %y : global<i32>[1]
  %sum = view %x : global<i32>[1]
  %done = alloc.global zeroed : i32 [1]
  %one = fill 1 : i32 [1]
  if %b < 2 {
    %old = atomic.exch %sum[0], %one
  }
  if %b == 1 {
    semaphore.release %done[0], 1
  }
  if %b == 2 {
    semaphore.lock %done[0], 1
    %t = load %sum[0] : [1]
    store %g[0], %t
    semaphore.release %done[0], -1
  }
}
)";
  std::vector<int32_t> x(1, 0), y(1, 0);
  EXPECT_EQ(Findings(text, Args().Out(x).Out(y)), "race-between-blocks@18");
}

// A semaphore is not an ordinary element: what is stored there plainly races with those who wait.
TEST(Semaphore, PlainStoresToItRace) {
  const std::string_view text = R"(
kernel k()
  grid (2)
{
  %b = block.x
  %done = alloc.global zeroed : i32 [1]
  semaphore.lock %done[0], 0
  if %b == 1 {
    %zero = fill 0 : i32 [1]
    store %done[0], %zero
  }
}
)";
  EXPECT_EQ(Findings(text, Args()), "race-between-blocks@10");
}

}  // namespace
}  // namespace tarsia::vm::semaphore_test
