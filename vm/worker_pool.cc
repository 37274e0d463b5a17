#include "vm/worker_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <new>

namespace tarsia::vm {
namespace {

// Blocks signals, which are for the program's own threads: a thread that is started while it lives
// receives none.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

int HardwareThreads() {
  static const int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return threads;
}

// Ends the threads before their code is unloaded. The pool itself is not destroyed: a thread may
// still be in a launch when the process ends.
class WorkerPool::Stopper {
 public:
  explicit Stopper(WorkerPool& pool) : pool_(pool) {}
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;
  ~Stopper() { pool_.Stop(); }

 private:
  WorkerPool& pool_;
};

WorkerPool& WorkerPool::Get() {
  alignas(WorkerPool) static unsigned char memory[sizeof(WorkerPool)];
  static WorkerPool* const pool = [] {
    auto* made = new (memory) WorkerPool;
    pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
    return made;
  }();
  static const Stopper stopper(*pool);
  return *pool;
}

// ---- calls ---------------------------------------------------------------------------------

void WorkerPool::Begin(Job& job, int helpers) {
  {
    const std::lock_guard lock(mutex_);
    StartThreads(static_cast<size_t>(helpers));
    job.seats_ = helpers;
    Job** last = &first_;
    while (*last != nullptr) last = &(*last)->next_;
    *last = &job;
  }
  if (helpers > 1) {
    wake_.notify_all();
  } else {
    wake_.notify_one();
  }
}

void WorkerPool::End(Job& job) {
  std::unique_lock lock(mutex_);
  Remove(job);
  job.left_.wait(lock, [&] { return job.active_ == 0; });
}

void WorkerPool::Remove(Job& job) {
  for (Job** at = &first_; *at != nullptr; at = &(*at)->next_) {
    if (*at != &job) continue;
    *at = job.next_;
    job.next_ = nullptr;
    return;
  }
}

// ---- threads -------------------------------------------------------------------------------

// If a thread cannot be started, fewer threads do the work.
void WorkerPool::StartThreads(size_t count) {
  count += lost_;
  if (stopped_ || workers_.size() >= count) return;
  const NoSignals no_signals;
  try {
    workers_.reserve(count);
    while (workers_.size() < count) {
      auto worker = std::make_unique<Worker>();
      worker->thread = std::thread([this, self = worker.get()] { Serve(*self); });
      workers_.push_back(worker.release());
    }
  } catch (...) {
  }
}

void WorkerPool::Serve(Worker& self) {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopped_ || first_ != nullptr; });
    if (stopped_) return;
    Job& job = *first_;
    const int seat = ++job.taken_;
    if (job.taken_ == job.seats_) Remove(job);
    ++job.active_;
    self.busy = true;
    lock.unlock();
    job.Help(seat);
    lock.lock();
    self.busy = false;
    if (--job.active_ == 0) job.left_.notify_one();
  }
}

// Sleeping threads are joined. A working one is left alone: the process ends, or nothing waited for
// its launch.
void WorkerPool::Stop() {
  std::vector<Worker*> sleeping;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (size_t i = lost_; i < workers_.size(); ++i) {
      if (!workers_[i]->busy) sleeping.push_back(workers_[i]);
    }
    wake_.notify_all();
  }
  for (Worker* worker : sleeping) worker->thread.join();
}

// ---- fork ----------------------------------------------------------------------------------

void WorkerPool::BeforeFork() { Get().mutex_.lock(); }
void WorkerPool::AfterForkInParent() { Get().mutex_.unlock(); }

// The child has none of the threads and none of the launches of other threads. The state of waiting
// threads in the condition variable would block it, so it is replaced.
void WorkerPool::AfterForkInChild() {
  WorkerPool& pool = Get();
  new (&pool.wake_) std::condition_variable;
  pool.lost_ = pool.workers_.size();
  pool.first_ = nullptr;
  pool.mutex_.unlock();
}

}  // namespace tarsia::vm
