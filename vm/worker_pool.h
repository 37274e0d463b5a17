// Threads of the process that help with launches. They are started when they are first wanted,
// sleep while there is nothing to do, and are joined when the library is unloaded. A process that
// fork() made starts its own.
#ifndef TARSIA_VM_WORKER_POOL_H_
#define TARSIA_VM_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace tarsia::vm {

// How many threads run at once on this machine, asked once.
int HardwareThreads();

// All functions are thread-safe.
class WorkerPool {
 public:
  // Something that several threads do together. It lies in its caller's memory and is done with
  // when the call is destroyed.
  class Job {
   public:
    virtual ~Job() = default;
    // On one of the pool's threads. `seat` counts from 1 and is each thread's own.
    virtual void Help(int seat) noexcept = 0;

   private:
    friend class WorkerPool;
    Job* next_ = nullptr;
    int seats_ = 0;   // wanted
    int taken_ = 0;   // so far
    int active_ = 0;  // at work
    std::condition_variable left_;
  };

  // A call for help. The caller goes on with its own part of the job; threads that are free join
  // in, none if none is. The end of the call waits for those that did.
  class Call {
   public:
    explicit Call(Job& job) : job_(job) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      if (made_) Get().End(job_);
    }
    // Asks for at most so many threads; once.
    void Make(int helpers) {
      made_ = true;
      Get().Begin(job_, helpers);
    }
    [[nodiscard]] bool made() const { return made_; }

   private:
    Job& job_;
    bool made_ = false;
  };

 private:
  struct Worker {
    std::thread thread;
    bool busy = false;
  };
  class Stopper;

  WorkerPool() = default;
  static WorkerPool& Get();
  void Begin(Job& job, int helpers);
  void End(Job& job);
  void StartThreads(size_t count);
  void Serve(Worker& self);
  void Remove(Job& job);
  void Stop();
  static void BeforeFork();
  static void AfterForkInParent();
  static void AfterForkInChild();

  std::mutex mutex_;  // of all that follows, and of the jobs' members
  std::condition_variable wake_;
  Job* first_ = nullptr;  // jobs with seats left, the oldest first
  std::vector<Worker*> workers_;
  size_t lost_ = 0;  // the first of them, which stayed behind in the process that made this one
  bool stopped_ = false;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_WORKER_POOL_H_
