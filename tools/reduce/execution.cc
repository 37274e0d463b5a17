#include "tools/reduce/execution.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "tools/command.h"
#include "tools/diagnostics.h"
#include "tools/handles.h"
#include "tools/modules.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/reduce/collector.h"
#include "tools/reduce/local_exchange.h"

namespace tarsia::tools {
namespace {

// What the ranks of this process have in common.
struct Crew {
  OpenFiles files;
  World* world = nullptr;
  Collector* collector = nullptr;  // on rank 0 of a world
  LocalExchange exchange;          // without a world

  // Whether a rank has failed, of this process or of another.
  bool Failed() {
    return exchange.failed() || (collector != nullptr && collector->failed()) ||
           (world != nullptr && world->FailedRank());
  }
};

// One rank: its plan, and the callbacks of its execution.
class RankRun {
 public:
  RankRun(const tarsia_graph_plan& plan, Crew* crew) : plan_(plan), crew_(*crew) {
    if (plan.plan.share) rank_ = plan.plan.share->rank;
    for (size_t i = 0; i < plan.plan.inputs.size(); ++i) input_ports_.push_back({this, i});
    for (size_t i = 0; i < plan.plan.outputs.size(); ++i) output_ports_.push_back({this, i});
    for (size_t i = 0; i < input_ports_.size(); ++i) AddInput(i);
    for (size_t i = 0; i < output_ports_.size(); ++i) AddOutput(i);
  }
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;

  // Returns an exit code. Of several ranks that fail, the first one prints its error.
  int Execute(const Execution& execution) {
    ProgressBar progress("steps");
    auto options = Sized<tarsia_graph_execute_options>();
    options.threads = execution.threads;
    options.host_limit = execution.host_limit;
    options.send = Send;
    options.receive = Receive;
    options.exchange_user = this;
    options.cancel = [](void* crew) { return static_cast<Crew*>(crew)->Failed(); };
    options.cancel_user = &crew_;
    if (ProgressBar::wanted() && rank_ == 0) {
      options.progress = [](void* bar, uint64_t done, uint64_t total) {
        static_cast<ProgressBar*>(bar)->Show(done, total);
      };
      options.progress_user = &progress;
    }
    tarsia_report* made = nullptr;
    const auto status = tarsia_graph_execute(&plan_, inputs_.data(), inputs_.size(),
                                             outputs_.data(), outputs_.size(), &options, &made);
    const Handle<tarsia_report> report(made);
    progress.Clear();
    if (status != TARSIA_STATUS_OK) return Report(status);
    auto info = Sized<tarsia_report_info>();
    tarsia_report_get(made, &info);
    nanoseconds_ = info.nanoseconds;
    return kDone;
  }
  [[nodiscard]] uint64_t nanoseconds() const { return nanoseconds_; }

 private:
  struct Port {
    RankRun* run;
    size_t tensor;
  };

  void AddInput(size_t i) {
    auto& input = inputs_.emplace_back(Sized<tarsia_graph_input>());
    if (!plan_.plan.inputs[i].used) return;
    input.user = &input_ports_[i];
    input.read = [](void* user, uint64_t offset, void* to, uint64_t bytes) {
      const auto* const port = static_cast<const Port*>(user);
      OpenFiles& files = port->run->crew_.files;
      return files.Read(port->tensor, offset, std::span(static_cast<uint8_t*>(to), bytes));
    };
  }

  void AddOutput(size_t i) {
    auto& output = outputs_.emplace_back(Sized<tarsia_graph_output>());
    output.user = &output_ports_[i];
    output.write = [](void* user, uint64_t offset, const void* from, uint64_t bytes) {
      const auto* const port = static_cast<const Port*>(user);
      return port->run->Write(port->tensor, offset,
                              std::span(static_cast<const uint8_t*>(from), bytes));
    };
  }

  // What all ranks have alike is that of rank 0.
  bool Write(size_t output, uint64_t offset, std::span<const uint8_t> from) {
    if (rank_ != 0 && !plan_.plan.outputs[output].shared) return true;
    if (rank_ == 0 || crew_.world == nullptr) return crew_.files.Write(output, offset, from);
    return crew_.files.Keep(SendOutput(crew_.world, output, offset, from));
  }

  static bool Send(void* user, uint32_t to, const void* from, uint64_t bytes) {
    auto* const run = static_cast<RankRun*>(user);
    const std::span data(static_cast<const uint8_t*>(from), bytes);
    World* const world = run->crew_.world;
    if (world == nullptr) return run->crew_.exchange.Send(run->rank_, to, data);
    return run->crew_.files.Keep(world->Send(to, World::Channel::kMerge, data));
  }

  static bool Receive(void* user, uint32_t from, void* to, uint64_t bytes) {
    auto* const run = static_cast<RankRun*>(user);
    const std::span data(static_cast<uint8_t*>(to), bytes);
    World* const world = run->crew_.world;
    if (world == nullptr) return run->crew_.exchange.Receive(from, run->rank_, data);
    return run->crew_.files.Keep(world->Receive(from, World::Channel::kMerge, data));
  }

  int Report(tarsia_status status) {
    static std::mutex printing;
    const std::lock_guard lock(printing);
    const bool first = !crew_.exchange.failed();
    crew_.exchange.Fail();
    if (!first) return kRejected;
    if (crew_.world != nullptr) {
      if (const auto failed = crew_.world->FailedRank()) {
        PrintError(MakeDiagnostic(diag::kRankFailed, Location(), *failed));
        return kRejected;
      }
    }
    if (const auto error = crew_.files.error()) {
      PrintError(*error);
      return kRejected;
    }
    return ReportFailure(status);
  }

  const tarsia_graph_plan& plan_;
  Crew& crew_;
  size_t rank_ = 0;
  std::vector<Port> input_ports_, output_ports_;
  std::vector<tarsia_graph_input> inputs_;
  std::vector<tarsia_graph_output> outputs_;
  uint64_t nanoseconds_ = 0;
};

// All ranks of this process. Returns the exit code of the first one that failed.
int ExecuteAll(const Execution& execution, Crew* crew, uint64_t* nanoseconds) {
  std::deque<RankRun> runs;
  std::vector<int> codes(execution.plans.size(), kDone);
  for (const auto& plan : execution.plans) runs.emplace_back(*plan, crew);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < runs.size(); ++i) {
    threads.emplace_back([&, i] { codes[i] = runs[i].Execute(execution); });
  }
  codes[0] = runs[0].Execute(execution);
  for (std::thread& thread : threads) thread.join();
  for (const RankRun& run : runs) *nanoseconds = std::max(*nanoseconds, run.nanoseconds());
  return *std::max_element(codes.begin(), codes.end());
}

int PrintFailure(const Status& status) {
  if (status.ok()) return kDone;
  PrintError(status.error());
  return kRejected;
}

// On rank 0 of a world: the outputs appear when all ranks have sent what they have, and then the
// others may end.
int ExecuteFirst(const Execution& execution, Crew* crew, uint64_t* nanoseconds) {
  World& world = *execution.world;
  Collector collector(&world, &crew->files);
  crew->collector = &collector;
  collector.Start();
  int code = ExecuteAll(execution, crew, nanoseconds);
  if (code != kDone) return code;
  if (!collector.Finish()) return PrintFailure(*crew->files.error());
  code = crew->files.Commit();
  static constexpr uint8_t kWord = 0;
  for (size_t rank = 1; rank < world.ranks() && code == kDone; ++rank) {
    code = PrintFailure(world.Send(rank, World::Channel::kEnd, std::span(&kWord, 1)));
  }
  return code;
}

int ExecuteOther(const Execution& execution, Crew* crew, uint64_t* nanoseconds) {
  World& world = *execution.world;
  const int code = ExecuteAll(execution, crew, nanoseconds);
  if (code != kDone) return code;
  uint8_t word = 0;
  Status status = SendEndOfOutputs(&world);
  if (status.ok()) status = world.Receive(0, World::Channel::kEnd, std::span(&word, 1));
  return PrintFailure(status);
}

}  // namespace

int ExecuteOnFiles(const Execution& execution, const ReduceFiles& files, uint64_t* nanoseconds) {
  Crew crew;
  World* const world = crew.world = execution.world;
  const bool first = world == nullptr || world->rank() == 0;
  int code = crew.files.Open(execution.plans[0]->plan, files, first);
  if (world == nullptr) {
    if (code == kDone) code = ExecuteAll(execution, &crew, nanoseconds);
    return code == kDone ? crew.files.Commit() : code;
  }
  if (code == kDone) {
    code = first ? ExecuteFirst(execution, &crew, nanoseconds)
                 : ExecuteOther(execution, &crew, nanoseconds);
  }
  if (code != kDone) {
    world->Fail();
    return code;
  }
  return PrintFailure(world->Close());
}

}  // namespace tarsia::tools
