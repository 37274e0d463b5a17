#include "runtime/devices/code_cache.h"

#include <chrono>
#include <utility>

namespace tarsia::runtime {
namespace {

// The most unused code that is kept.
constexpr size_t kMaxKept = 16;
constexpr uint64_t kMaxKeptBytes = uint64_t{32} << 20;  // of PTX

}  // namespace

// A thread's use of an entry in Find. The destructor ends its work on the entry in all cases.
class CodeCache::Use {
 public:
  Use(CodeCache& cache, std::map<std::string, Entry>::iterator at) : cache_(cache), at_(at) {
    ++at_->second.users;
  }
  ~Use() {
    const std::lock_guard lock(cache_.mutex_);
    Entry& entry = at_->second;
    if (made_) entry.busy = false;
    if (--entry.users == 0 && entry.code.expired()) cache_.entries_.erase(at_);
    if (made_) cache_.changed_.notify_all();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  // Call with the lock held. Returns the code if it is there. Otherwise this thread must make it,
  // unless another thread already does.
  std::shared_ptr<const Code> Take() {
    Entry& entry = at_->second;
    if (auto code = entry.code.lock()) return code;
    made_ = !entry.busy;
    entry.busy = true;
    return nullptr;
  }
  [[nodiscard]] bool makes() const { return made_; }
  void Store(const std::shared_ptr<const Code>& code) {
    const std::lock_guard lock(cache_.mutex_);
    at_->second.code = code;
    cache_.Keep(code);
  }

 private:
  CodeCache& cache_;
  const std::map<std::string, Entry>::iterator at_;
  bool made_ = false;
};

CodeCache& CodeCache::Get() {
  static CodeCache cache;
  return cache;
}

CodeCache::Made CodeCache::Find(const std::string& key, StopCheck* stop,
                                const std::function<Made()>& make) {
  std::unique_lock lock(mutex_);
  Use use(*this, entries_.try_emplace(key).first);
  while (true) {
    if (auto code = use.Take()) {
      lock.unlock();
      return code;
    }
    if (use.makes()) break;
    if (stop == nullptr) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, StopCheck::kInterval);
    lock.unlock();  // the callback may do anything
    const bool stopped = stop->Ask() != StopReason::kNone;
    if (stopped) return make();
    lock.lock();
  }
  lock.unlock();
  Made made = make();
  if (made.ok()) use.Store(*made);
  return made;
}

// Removes the oldest first.
void CodeCache::Keep(const std::shared_ptr<const Code>& code) {
  newest_.push_back(code);
  kept_bytes_ += code->kernel().ptx.size();
  while (newest_.size() > kMaxKept || (kept_bytes_ > kMaxKeptBytes && !newest_.empty())) {
    kept_bytes_ -= newest_.front()->kernel().ptx.size();
    newest_.erase(newest_.begin());
  }
}

void CodeCache::Clear() {
  std::vector<std::shared_ptr<const Code>> gone;
  const std::lock_guard lock(mutex_);
  gone.swap(newest_);
  kept_bytes_ = 0;
  gone.clear();
  std::erase_if(entries_, [](const auto& entry) {
    return entry.second.users == 0 && entry.second.code.expired();
  });
}

}  // namespace tarsia::runtime
