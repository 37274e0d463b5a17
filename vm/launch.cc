#include <algorithm>
#include <chrono>
#include <new>
#include <numeric>
#include <optional>
#include <tuple>

#include "launch/cancel.h"
#include "support/elapsed.h"
#include "support/first_exception.h"
#include "vm/agent.h"
#include "vm/diagnostics.h"
#include "vm/interpreter.h"
#include "vm/launch_context.h"
#include "vm/plan.h"
#include "vm/worker_pool.h"

namespace tarsia::vm {
namespace {

// ---- arguments -----------------------------------------------------------------------------

// Passes checked arguments to the blocks.
void BindArguments(std::span<const launch::Argument> args, LaunchState& state) {
  for (size_t i = 0; i < args.size(); ++i) {
    const auto* buffer = std::get_if<launch::Buffer>(&args[i]);
    if (buffer == nullptr) continue;
    Region& region = state.pointers[i];
    region = Region();
    region.data = static_cast<uint8_t*>(buffer->data);
    region.bytes = buffer->bytes;
    region.writable = buffer->writable;
    region.value = static_cast<uint32_t>(i);
    // Bytes that are never written need no check.
    if (state.options().check && buffer->writable &&
        state.plan.program.resolved().WritesThrough(region.value)) {
      state.shadows.push_back(std::make_unique<Shadow>(buffer->bytes, true, true));
      region.shadow = state.shadows.back().get();
    }
  }
}

// ---- blocks --------------------------------------------------------------------------------

// Reports the progress of a launch to the caller from time to time.
class ProgressMeter {
 public:
  ProgressMeter(const ProgressSink& sink, int64_t total)
      : sink_(sink), total_(static_cast<uint64_t>(total)) {}

  void BlockDone(const std::atomic<uint64_t>& done) {
    if (sink_ == nullptr || Clock::now().time_since_epoch().count() < next_.load()) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    sink_(done.load(), total_);
    next_.store(Due());
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{200};
  static Clock::rep Due() { return (Clock::now() + kInterval).time_since_epoch().count(); }

  const ProgressSink& sink_;
  const uint64_t total_;
  std::atomic<Clock::rep> next_{sink_ == nullptr ? 0 : Due()};
  std::mutex mutex_;
};

Diagnostic OutOfMemory(const Plan& plan) {
  return MakeDiagnostic(diag::kOutOfMemory, plan.kernel().location, plan.BytesOfRunner(),
                        "the tiles of a block");
}

// Runs blocks until none is left, and keeps the error of the lowest block that failed.
class Workers final : private WorkerPool::Job {
 public:
  Workers(LaunchContext& context, int64_t blocks)
      : context_(context),
        state_(context.state()),
        blocks_(blocks),
        progress_(context.state().options().progress, blocks) {}

  // Runs on as many threads, if that pays off. Errors: that of the lowest block; out of memory for
  // the blocks.
  Status Run(int threads) {
    const int helpers = threads - 1;
    if (helpers == 0) {
      Work(0, nullptr);
    } else {
      Caller caller(*this, helpers);
      Work(0, &caller);
    }
    try {
      exception_.Rethrow();
    } catch (const std::bad_alloc&) {
      return OutOfMemory(state_.plan);
    }
    return error_ ? Status(std::move(*error_)) : OkStatus();
  }

  uint64_t blocks_run() const { return blocks_run_.load(); }
  uint64_t instructions() const { return instructions_.load(); }

 private:
  using Clock = std::chrono::steady_clock;

  // The launching thread: it also runs blocks, and calls others for help if the work takes longer
  // than waking them. It knows that from the previous launch, or finds out during this one.
  class Caller {
   public:
    Caller(Workers& workers, int helpers)
        : helpers_(helpers),
          call_(workers),
          block_time_(workers.state_.plan.contexts().block_time) {
      const uint64_t time = block_time_.load(std::memory_order_relaxed);
      const auto blocks = static_cast<uint64_t>(workers.blocks_);
      if (time == 0 || blocks > kWorthWhile / time) call_.Make(helpers);
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    void BlockDone() {
      ++blocks_;
      if (call_.made()) return;
      if (NanosecondsSince(start_) > kWorthWhile) call_.Make(helpers_);
    }
    void AllDone() {
      if (blocks_ == 0) return;
      block_time_.store(std::max<uint64_t>(1, NanosecondsSince(start_) / blocks_));
    }

   private:
    static constexpr uint64_t kWorthWhile = 30'000;  // nanoseconds
    const int helpers_;
    const Clock::time_point start_ = Clock::now();
    uint64_t blocks_ = 0;
    WorkerPool::Call call_;
    std::atomic<uint64_t>& block_time_;
  };

  void Help(int seat) noexcept override { Work(seat, nullptr); }

  // An exception, mostly std::bad_alloc, is kept for the waiting thread: another allocation here
  // could fail again.
  void Work(int thread, Caller* caller) noexcept {
    BlockRunner& runner = context_.runner(thread);
    runner.agent.BeginLaunch();
    try {
      const host::ScratchScope scratch(runner.scratch);
      while (RunBlock(thread, runner)) {
        if (caller != nullptr) caller->BlockDone();
      }
      instructions_.fetch_add(runner.agent.executed());
    } catch (...) {
      exception_.Keep();
      state_.failed_block.store(-1);  // all others can stop
    }
    state_.first_unfinished[static_cast<size_t>(thread)].store(INT64_MAX);
    if (caller != nullptr) caller->AllDone();
    runner.agent.EndLaunch();
  }

  // Runs the next block; false: there is none.
  bool RunBlock(int thread, BlockRunner& runner) {
    // At first a bound: whoever has a later block must not believe that this thread has none.
    std::atomic<int64_t>& first = state_.first_unfinished[static_cast<size_t>(thread)];
    first.store(next_.load());
    const int64_t linear = next_.fetch_add(1);
    first.store(linear);
    if (linear >= blocks_ || state_.Stops(linear)) return false;
    BlockState& block = runner.block;
    Resumable* const agents[] = {&runner.agent};
    block.Begin(linear);
    runner.agent.Begin();
    const ScheduleResult result = RunAgents(agents);
    blocks_run_.fetch_add(1, std::memory_order_relaxed);
    progress_.BlockDone(blocks_run_);
    if (result.outcome == ScheduleResult::Outcome::kFailed) {
      KeepError(linear, runner.agent.TakeError());
    }
    if (result.outcome == ScheduleResult::Outcome::kDeadlock) {
      KeepError(linear,
                MakeDiagnostic(diag::kDeadlock, state_.plan.kernel().location, block.index[0],
                               block.index[1], block.index[2], result.deadlock));
    }
    return true;
  }

  void KeepError(int64_t block, Diagnostic error) {
    const std::lock_guard lock(mutex_);
    if (block >= state_.failed_block.load()) return;
    error_ = std::move(error);
    state_.failed_block.store(block);
  }

  LaunchContext& context_;
  LaunchState& state_;
  const int64_t blocks_;
  std::atomic<int64_t> next_{0};
  std::atomic<uint64_t> blocks_run_{0};
  std::atomic<uint64_t> instructions_{0};
  ProgressMeter progress_;
  std::mutex mutex_;
  std::optional<Diagnostic> error_;
  FirstException exception_;
};

// Scratch that was zero must be zero again.
void CheckLeftZero(LaunchState& state) {
  for (size_t i = 0; i < state.scratch.size(); ++i) {
    const GlobalScratch& scratch = state.scratch[i];
    const Allocation& allocation = state.plan.global[i];
    if (!allocation.zeroed || scratch.map == nullptr) continue;
    const uint8_t* begin = scratch.region.data;
    const uint8_t* end = begin + scratch.region.bytes;
    const uint8_t* at = std::find_if(begin, end, [](uint8_t byte) { return byte != 0; });
    if (at == end) continue;
    const auto planned =
        std::find_if(state.plan.code.begin(), state.plan.code.end(),
                     [&](const PlannedInst& inst) { return inst.inst == allocation.inst; });
    state.Report(
        diag::kNotLeftZero, *planned, nullptr, {0, 0, 0},
        MakeDiagnostic(diag::kNotLeftZero, state.plan.LocationOf(*planned),
                       state.plan.ValueName(allocation.value), at - begin, static_cast<int>(*at)));
  }
}

}  // namespace

// ---- findings ------------------------------------------------------------------------------

void LaunchState::Report(const DiagInfo& info, const PlannedInst& at, const PlannedInst* other,
                         const std::array<int64_t, 3>& block, Diagnostic diagnostic) {
  const auto [known, is_new] = known_.try_emplace(Key(&info, &at, other), findings_.size());
  if (!is_new) {
    ++findings_[known->second].count;
    return;
  }
  findings_.push_back({std::move(diagnostic), block, 1});
}

std::vector<launch::Finding> LaunchState::TakeFindings() {
  std::vector<size_t> order(findings_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Location& x = findings_[a].diagnostic.location;
    const Location& y = findings_[b].diagnostic.location;
    return std::tie(x.line, x.column, a) < std::tie(y.line, y.column, b);
  });
  std::vector<launch::Finding> sorted;
  for (const size_t i : order) sorted.push_back(std::move(findings_[i]));
  findings_.clear();
  known_.clear();
  return sorted;
}

// ---- API -----------------------------------------------------------------------------------

Result<std::shared_ptr<const Plan>> Prepare(const Program& program) { return Plan::Make(program); }

namespace {

// The memory of a launch, returned at its end. The data of --check is not kept.
class Borrowed {
 public:
  Borrowed(const Plan& plan, bool check, bool last)
      : plan_(plan),
        kept_(!check && !last),
        context_(check ? std::make_unique<LaunchContext>(plan) : plan.contexts().Take(plan)) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() {
    context_->End();
    if (kept_) plan_.contexts().Return(std::move(context_));
  }
  LaunchContext& operator*() { return *context_; }

 private:
  const Plan& plan_;
  const bool kept_;
  std::unique_ptr<LaunchContext> context_;
};

Result<LaunchReport> LaunchChecked(const Plan& plan, std::span<const launch::Argument> args,
                                   const launch::LaunchShape& shape, const LaunchOptions& options) {
  LaunchReport report;
  report.grid = shape.grid;
  const int64_t blocks = shape.grid[0] * shape.grid[1] * shape.grid[2];
  Borrowed context(plan, options.check, options.last);
  const int threads = (*context).Begin(options, blocks);
  LaunchState& state = (*context).state();
  state.grid = shape.grid;
  state.scalars.assign(shape.scalars.begin(), shape.scalars.end());
  BindArguments(args, state);
  Workers workers(*context, blocks);
  Status ran = workers.Run(threads);
  TARSIA_CHECK(launch::CheckNotStopped(plan.program, options.stop));
  if (!ran.ok()) return ran.TakeError();
  if (options.check) CheckLeftZero(state);
  report.findings = state.TakeFindings();
  if (options.check) {
    plan.launch.AddOverlaps(plan.program, args, &report.findings);
  }
  report.blocks = workers.blocks_run();
  report.instructions = workers.instructions();
  return report;
}

}  // namespace

Result<LaunchReport> Launch(const Plan& plan, std::span<const launch::Argument> args,
                            const LaunchOptions& options) {
  launch::LaunchShape shape;
  TARSIA_CHECK(plan.launch.Check(plan.program, args, &shape));
  if (shape.Empty()) {
    LaunchReport report;
    report.grid = shape.grid;
    return report;
  }
  try {
    return LaunchChecked(plan, args, shape, options);
  } catch (const std::bad_alloc&) {
    return OutOfMemory(plan);
  }
}

Result<LaunchReport> Launch(const Program& program, std::span<const launch::Argument> args,
                            const LaunchOptions& options) {
  TARSIA_TRY(const std::shared_ptr<const Plan> plan, Plan::Make(program));
  return Launch(*plan, args, options);
}

}  // namespace tarsia::vm
