#include "runtime/graphs/transfer_queue.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace tarsia::runtime {

TransferQueue::~TransferQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    if (transfers_.size() > 1) transfers_.erase(transfers_.begin() + 1, transfers_.end());
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TransferQueue::Add(Place place, std::function<Status()> run) {
  {
    const std::lock_guard lock(mutex_);
    transfers_.push_back({place, std::move(run)});
  }
  changed_.notify_all();
  if (thread_.joinable()) return;
  // Signals are for the threads of the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void TransferQueue::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !transfers_.empty(); });
    if (ends_) return;
    if (!error_) {
      const std::function<Status()>& run = transfers_.front().run;
      lock.unlock();
      Status status = run();
      lock.lock();
      if (!status.ok()) error_ = status.TakeError();
    }
    transfers_.pop_front();
    changed_.notify_all();
  }
}

template <typename Meets>
Status TransferQueue::WaitWhile(const Meets& meets) {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [&] { return error_ || std::none_of(transfers_.begin(), transfers_.end(), meets); });
  if (error_) return Diagnostic(*error_);
  return OkStatus();
}

Status TransferQueue::WaitFor(Place place) {
  return WaitWhile([&](const Transfer& transfer) { return transfer.place.Meets(place); });
}

Status TransferQueue::WaitForAll() {
  return WaitWhile([](const Transfer&) { return true; });
}

}  // namespace tarsia::runtime
