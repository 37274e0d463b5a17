// Threads of the process that help with launches. They are started when first needed, sleep while
// there is nothing to do, and are joined when the library is unloaded. A process made by fork()
// starts its own.
#ifndef TARSIA_VM_WORKER_POOL_H_
#define TARSIA_VM_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace tarsia::vm {

// The number of threads that can run at once on this machine, read once.
int HardwareThreads();

// All functions are thread-safe.
class WorkerPool {
 public:
  // Work that several threads share. It lies in the memory of the caller and is finished when the
  // call is destroyed.
  class Job {
   public:
    virtual ~Job() = default;
    // Runs on a thread of the pool. `seat` counts from 1 and differs for each thread.
    virtual void Help(int seat) noexcept = 0;

   private:
    friend class WorkerPool;
    Job* next_ = nullptr;
    int seats_ = 0;   // wanted
    int taken_ = 0;   // so far
    int active_ = 0;  // at work
    std::condition_variable left_;
  };

  // A call for help. The caller continues with its own part of the job; idle threads join in, if
  // there are any. The destructor waits for those that did.
  class Call {
   public:
    explicit Call(Job& job) : job_(job) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      if (made_) Get().End(job_);
    }
    // Requests at most this many threads; call it once.
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

  std::mutex mutex_;  // guards all members below, and those of jobs
  std::condition_variable wake_;
  Job* first_ = nullptr;  // jobs with seats left, the oldest first
  std::vector<Worker*> workers_;
  size_t lost_ = 0;  // the first of them, which stayed in the parent process
  bool stopped_ = false;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_WORKER_POOL_H_
