// Compiling with cancellation: a separate thread, which owns all of its data, does the work, and
// the caller waits and checks from time to time whether to stop.
#include "compiler/compile.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "compiler/compile_here.h"
#include "compiler/diagnostics.h"

namespace tarsia::compiler {
namespace {

// One compilation. The thread and the waiting caller share it.
struct Job {
  Job(const Program& p, Target t, const CompileOptions& o) : program(p), target(t), options(o) {}

  void Run() noexcept {
    try {
      result.emplace(CompileHere(program, target, options, stop));
    } catch (...) {
      exception = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  }
  [[nodiscard]] bool Done() {
    const std::lock_guard lock(mutex);
    return done;
  }

  const Program program;
  const Target target;
  const CompileOptions options;
  StopFlag stop;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::optional<Result<CompiledKernel>> result;
  std::exception_ptr exception;
  std::thread thread;
  std::shared_ptr<Job> next;  // in AbandonedJobs
};

// Cancelled compilations. The process does not end and the library is not unloaded while one runs:
// that would destroy LLVM's tables under it.
class AbandonedJobs {
 public:
  static AbandonedJobs& Get() {
    static AbandonedJobs jobs;
    return jobs;
  }
  // Allocates nothing, because this must not fail.
  void Keep(std::shared_ptr<Job> job) noexcept {
    const std::lock_guard lock(mutex_);
    ReleaseFinished();
    job->next = std::move(first_);
    first_ = std::move(job);
  }
  int Count() {
    const std::lock_guard lock(mutex_);
    ReleaseFinished();
    int count = 0;
    for (const Job* job = first_.get(); job != nullptr; job = job->next.get()) ++count;
    return count;
  }

 private:
  AbandonedJobs() = default;
  ~AbandonedJobs() {
    for (Job* job = first_.get(); job != nullptr; job = job->next.get()) {
      job->stop.Set(StopReason::kExit);
    }
    while (first_ != nullptr) {
      const std::shared_ptr<Job> job = std::exchange(first_, first_->next);
      // A process that fork() made has none of the threads.
      if (getpid() == process_) {
        job->thread.join();
      } else {
        job->thread.detach();
      }
    }
  }
  void ReleaseFinished() noexcept {
    for (std::shared_ptr<Job>* at = &first_; *at != nullptr;) {
      if (!(*at)->Done()) {
        at = &(*at)->next;
        continue;
      }
      (*at)->thread.join();
      *at = std::exchange((*at)->next, nullptr);
    }
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::shared_ptr<Job> first_;
};

// Compiles on this thread if no other can be started: checks only between passes.
Result<CompiledKernel> CompileAsking(const Program& program, Target target,
                                     const CompileOptions& options, StopCheck& stop) {
  StopFlag flag(&stop);
  Result<CompiledKernel> out = CompileHere(program, target, options, flag);
  if (!out.ok() && stop.stopped()) return StoppedCompilation(program, stop);
  return out;
}

// Whether the job is done and was not cancelled before.
bool WaitFor(Job& job, StopCheck& stop) {
  while (true) {
    {
      std::unique_lock lock(job.mutex);
      if (job.changed.wait_for(lock, StopCheck::kInterval, [&] { return job.done; })) return true;
    }
    if (stop.Ask() != StopReason::kNone) return false;
  }
}

}  // namespace

Diagnostic StoppedCompilation(const Program& program, const StopCheck& stop) {
  if (stop.reason() == StopReason::kTimeLimit) {
    return MakeDiagnostic(diag::kCompileLimit, program.kernel().location, program.name(),
                          stop.limit().count());
  }
  return MakeDiagnostic(diag::kCompileCancelled, program.kernel().location, program.name());
}

Result<CompiledKernel> Compile(const Program& program, Target target, const CompileOptions& options,
                               StopCheck* stop) {
  if (stop == nullptr || !stop->active()) {
    StopFlag never;
    return CompileHere(program, target, options, never);
  }
  if (stop->Ask() != StopReason::kNone) return StoppedCompilation(program, *stop);
  auto job = std::make_shared<Job>(program, target, options);
  try {
    job->thread = std::thread([job] { job->Run(); });
  } catch (const std::system_error&) {
    return CompileAsking(program, target, options, *stop);
  }
  if (!WaitFor(*job, *stop)) {
    job->stop.Set(stop->reason());
    AbandonedJobs::Get().Keep(std::move(job));
    return StoppedCompilation(program, *stop);
  }
  job->thread.join();
  if (job->exception != nullptr) std::rethrow_exception(job->exception);
  return *std::move(job->result);
}

int AbandonedCompilations() { return AbandonedJobs::Get().Count(); }

}  // namespace tarsia::compiler
