// Transfers that run one after the other on a thread of their own, beside the launches.
#ifndef TARSIA_RUNTIME_GRAPHS_TRANSFER_QUEUE_H_
#define TARSIA_RUNTIME_GRAPHS_TRANSFER_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "support/result.h"

namespace tarsia::runtime {

// Used by one thread. The destructor waits for what runs, and drops what does not yet.
class TransferQueue {
 public:
  // Bytes of the arena; an empty one meets nothing.
  struct Place {
    uint64_t begin = 0, end = 0;
    [[nodiscard]] bool Meets(const Place& other) const {
      return begin < other.end && other.begin < end;
    }
  };

  TransferQueue() = default;
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;
  ~TransferQueue();

  // `run` uses this memory. After an error nothing more runs.
  void Add(Place place, std::function<Status()> run);
  // Waits until no transfer that is queued uses this memory. The first error of all transfers.
  Status WaitFor(Place place);
  Status WaitForAll();

 private:
  struct Transfer {
    Place place;
    std::function<Status()> run;
  };
  void Work();
  template <typename Meets>
  Status WaitWhile(const Meets& meets);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Transfer> transfers_;  // the first one runs
  std::optional<Diagnostic> error_;
  bool ends_ = false;
  std::thread thread_;  // started by the first transfer
};

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_GRAPHS_TRANSFER_QUEUE_H_
