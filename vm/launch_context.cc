#include "vm/launch_context.h"

#include <algorithm>
#include <new>

#include "vm/worker_pool.h"

namespace tarsia::vm {
namespace {

// The most memory that the threads of one launch use together.
constexpr uint64_t kMaxMemory = uint64_t{1} << 33;
// The part of it that a plan keeps between launches, and as much scratch of alloc.global.
constexpr uint64_t kMaxKept = uint64_t{64} << 20;
// Up to this size, threads get memory even if there are too few blocks for them: the next launch
// may have more.
constexpr uint64_t kMaxAhead = uint64_t{16} << 20;

int64_t ThreadsWanted(const LaunchOptions& options) {
  if (options.check) return 1;
  return options.threads > 0 ? options.threads : HardwareThreads();
}

}  // namespace

// ---- state ---------------------------------------------------------------------------------

void LaunchState::Begin(const LaunchOptions& o) {
  options_ = &o;
  grid = {1, 1, 1};
  budget_used.store(0, std::memory_order_relaxed);
  failed_block.store(INT64_MAX, std::memory_order_relaxed);
  next_stamp = 0;
  released.clear();
  for (std::atomic<int64_t>& first : first_unfinished) first.store(INT64_MAX);
  for (GlobalScratch& s : scratch) s.ready = false;
}

void LaunchState::End() {
  options_ = nullptr;
  uint64_t kept = 0;
  for (GlobalScratch& s : scratch) {
    kept += s.room;
    if (kept <= kMaxKept) continue;
    s.memory.reset();
    s.room = 0;
  }
}

// ---- context -------------------------------------------------------------------------------

BlockRunner::BlockRunner(LaunchState& launch) : block(launch), agent(block) {
  scratch.Reserve(launch.plan.host_scratch);
}

LaunchContext::LaunchContext(const Plan& plan)
    : state_(plan), runner_bytes_(std::max<uint64_t>(1, plan.BytesOfRunner())) {}

int LaunchContext::Begin(const LaunchOptions& options, int64_t blocks) {
  state_.Begin(options);
  const auto fitting = [&](uint64_t bytes) { return static_cast<int64_t>(bytes / runner_bytes_); };
  const int64_t most = std::min(ThreadsWanted(options), std::max<int64_t>(1, fitting(kMaxMemory)));
  const int64_t used = std::min(most, blocks);
  const auto made = static_cast<size_t>(std::max(used, std::min(most, fitting(kMaxAhead))));
  try {
    if (runners_.capacity() < made) runners_.reserve(made);
    while (runners_.size() < made) {
      if (state_.first_unfinished.size() == runners_.size()) {
        state_.first_unfinished.emplace_back(INT64_MAX);
      }
      runners_.push_back(std::make_unique<BlockRunner>(state_));
    }
  } catch (const std::bad_alloc&) {
    if (runners_.empty()) throw;
  }
  return static_cast<int>(std::min(used, static_cast<int64_t>(runners_.size())));
}

void LaunchContext::End() {
  state_.End();
  if (runners_.size() > kMaxKept / runner_bytes_) runners_.resize(kMaxKept / runner_bytes_);
}

// ---- contexts of a plan --------------------------------------------------------------------

LaunchContexts::~LaunchContexts() {
  for (std::atomic<LaunchContext*>& slot : contexts_) delete slot.load();
}

std::unique_ptr<LaunchContext> LaunchContexts::Take(const Plan& plan) {
  for (std::atomic<LaunchContext*>& slot : contexts_) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    LaunchContext* const found = slot.exchange(nullptr, std::memory_order_acquire);
    if (found != nullptr) return std::unique_ptr<LaunchContext>(found);
  }
  return std::make_unique<LaunchContext>(plan);
}

void LaunchContexts::Return(std::unique_ptr<LaunchContext> context) {
  for (std::atomic<LaunchContext*>& slot : contexts_) {
    LaunchContext* expected = nullptr;
    if (slot.load(std::memory_order_relaxed) != nullptr) continue;
    if (slot.compare_exchange_strong(expected, context.get(), std::memory_order_release,
                                     std::memory_order_relaxed)) {
      (void)context.release();
      return;
    }
  }
}

}  // namespace tarsia::vm
