// The threads that help with launches: they start, they end, they are reused, and they work after a
// fork.
#include "vm/worker_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/sanitizers.h"
#include "tests/unit/vm/run_testing.h"

namespace tarsia::vm::worker_pool_test {
namespace {

constexpr bool kForkIsWatched = TARSIA_THREAD_SANITIZER;

size_t ThreadsOfProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

// Records the threads that join. A thread may take a second seat after it is done with the first.
class Meeting : public WorkerPool::Job {
 public:
  explicit Meeting(int wanted) : wanted_(wanted) {}
  void Help(int seat) noexcept override {
    const std::lock_guard lock(mutex_);
    seats_.insert(seat);
    threads_.insert(std::this_thread::get_id());
    ++came_;
  }
  void Wait() const {
    while (came_.load() < wanted_) std::this_thread::yield();
  }
  [[nodiscard]] const std::set<int>& seats() const { return seats_; }
  [[nodiscard]] const std::set<std::thread::id>& threads() const { return threads_; }

 private:
  const int wanted_;
  std::atomic<int> came_{0};
  std::mutex mutex_;
  std::set<int> seats_;
  std::set<std::thread::id> threads_;
};

TEST(WorkerPool, HelpersTakeTheSeatsFromOneOn) {
  Meeting meeting(3);
  WorkerPool::Call call(meeting);
  EXPECT_FALSE(call.made());
  call.Make(3);
  meeting.Wait();
  EXPECT_EQ(meeting.seats(), (std::set<int>{1, 2, 3}));
  EXPECT_EQ(meeting.threads().count(std::this_thread::get_id()), 0u);
}

TEST(WorkerPool, ThreadsStayForTheNextCall) {
  const auto meet = [] {
    Meeting meeting(2);
    WorkerPool::Call call(meeting);
    call.Make(2);
    meeting.Wait();
  };
  meet();
  const size_t threads = ThreadsOfProcess();
  for (int i = 0; i < 50; ++i) meet();
  EXPECT_EQ(ThreadsOfProcess(), threads);
}

// The job is gone after its call, so a helper that comes late would be seen by the sanitizers.
TEST(WorkerPool, NobodyHelpsAfterTheEndOfTheCall) {
  class Count : public WorkerPool::Job {
   public:
    void Help(int) noexcept override {
      ++inside;
      ++calls;
      --inside;
    }
    std::atomic<int> inside{0};
    std::atomic<int> calls{0};
  };
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&wrong] {
      for (int i = 0; i < 300; ++i) {
        Count job;
        {
          WorkerPool::Call call(job);
          call.Make(1 + i % 3);
        }
        if (job.inside.load() != 0 || job.calls.load() > 1 + i % 3) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(WorkerPool, AChildOfForkHasThreadsOfItsOwn) {
  if (kForkIsWatched) GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork";
  {
    Meeting meeting(2);
    WorkerPool::Call call(meeting);
    call.Make(2);
    meeting.Wait();
  }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // instead of waiting for ever
    Meeting meeting(2);
    {
      WorkerPool::Call call(meeting);
      call.Make(2);
      meeting.Wait();
    }
    _exit(meeting.seats().size() == 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// ---- launches ------------------------------------------------------------------------------

// y[i] = x[i] + 1 in blocks of 8, each of which takes a while.
constexpr std::string_view kSlow = R"(
kernel k(%x: ptr<i32>, %y: ptr<i32>, %n: i32)
  grid (ceildiv(%n, 8))
{
  %gx = view %x : global<i32>[%n]
  %gy = view %y : global<i32>[%n]
  %b = block.x
  %t = load %gx[%b * 8] : [8]
  for %i = 0 to 400 {
    %t = add %t, 1
    %t = sub %t, 1
  }
  %t = add %t, 1
  store %gy[%b * 8], %t
}
)";

bool AddsOne(const Plan& plan, int32_t n, int threads) {
  std::vector<int32_t> x(static_cast<size_t>(n));
  std::vector<int32_t> y(x.size(), -1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(3 * i);
  LaunchOptions options;
  options.threads = threads;
  const auto report = Launch(plan, Args().In(x).Out(y).I32(n).get(), options);
  if (!report.ok() || report->blocks != (static_cast<uint64_t>(n) + 7) / 8) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (y[i] != x[i] + 1) return false;
  }
  return true;
}

// Concurrent launches of one plan, of all sizes and on different numbers of threads.
TEST(WorkerPool, LaunchesOfOnePlanShareThreadsAndMemory) {
  const auto program = Compile(kSlow);
  ASSERT_TRUE(program);
  const auto plan = Prepare(*program);
  ASSERT_TRUE(plan.ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        if (!AddsOne(**plan, 1 + (i * 37 + t * 11) % 300, 1 + (i + t) % 4)) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(WorkerPool, ALaunchWorksInAChildOfFork) {
  if (kForkIsWatched) GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork";
  const auto program = Compile(kSlow);
  ASSERT_TRUE(program);
  const auto plan = Prepare(*program);
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(AddsOne(**plan, 4000, 4));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    _exit(AddsOne(**plan, 4000, 4) && AddsOne(**plan, 5, 4) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(AddsOne(**plan, 4000, 4));
}

}  // namespace
}  // namespace tarsia::vm::worker_pool_test
