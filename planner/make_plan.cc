// The search: which reductions are kept in memory, which axes are split into which chunks.
//
// For each set of kept reductions and each list of split axes, the peak grows with the chunks, so
// the largest chunks that fit are found by bisection; among those that fit, the estimate decides.
// What is tried does not depend on the limit, so that the smallest limit is exact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "isa/limits.h"
#include "planner/diagnostics.h"
#include "planner/limit.h"
#include "planner/schedule.h"

namespace tarsia {
namespace {

constexpr double kStepPrice = 20'000;  // of a launch, in additions of elements
constexpr size_t kMostSubsets = 4;     // reductions of which all subsets are tried
constexpr int64_t kMostChunks = 4096;  // of one split axis
constexpr int64_t kMostOfPair = 128;   // of each of two
constexpr int64_t kMostOfMore = 64;    // of each of several, of which a kernel has two

constexpr double kEndless = std::numeric_limits<double>::infinity();  // a cost

// Of each of so many split axes.
int64_t MostChunks(size_t axes) {
  if (axes < 2) return kMostChunks;
  return axes > 2 ? kMostOfMore : kMostOfPair;
}

// A power of two.
int64_t LeastChunk(int64_t extent, int64_t most) {
  int64_t chunk = 1;
  while ((extent + chunk - 1) / chunk > most) chunk *= 2;
  return chunk;
}

// The chunks to try, the least first. Each is a multiple of the tiles.
InlineVector<int64_t, 32> ChunksOf(int64_t extent, int64_t most) {
  InlineVector<int64_t, 32> out;
  for (int64_t chunk = LeastChunk(extent, most); chunk < extent; chunk *= 2) {
    out.push_back(chunk);
    if (chunk >= 128 && chunk + chunk / 2 < extent) out.push_back(chunk + chunk / 2);
  }
  return out;
}

// Axes that are split together, into chunks of one size: of an input that has several names of an
// axis, all of them. Most are alone.
using AxisGroup = InlineVector<uint32_t, 4>;

struct HashOfChoice {
  size_t operator()(const PlanChoice& choice) const {
    size_t hash = choice.parts + 2 * choice.streamed + 4 * choice.views;
    const auto mix = [&](uint64_t x) { hash = (hash ^ x) * 0x9E3779B97F4A7C15; };
    for (const size_t n : choice.kept) mix(n);
    for (const Split& split : choice.splits) {
      mix(split.axis);
      mix(static_cast<uint64_t>(split.chunk));
    }
    return hash ^ (hash >> 32);
  }
};

class Search {
 public:
  // `alone`: nothing is shared, whatever the options say.
  Search(const Meaning& meaning, const PlanOptions& options, bool alone, KernelCache* cache)
      : meaning_(meaning), options_(options), cache_(*cache) {
    FindReductions();
    FindViews();
    if (alone || options.ranks < 2) {
      shares_.emplace_back();
    } else {
      FindShares();
    }
  }

  // Finds the cheapest choice that fits, with the first share for which there is one.
  void Run() {
    for (size_t s = 0; s < shares_.size() && !found_; ++s) {
      ForEachOf(shares_[s], [&](const PlanChoice& whole, const std::vector<AxisGroup>& groups) {
        Try(whole, groups);
      });
    }
  }

  // The least peak of all choices whose tiles have few enough dimensions; nothing if there is none.
  std::optional<uint64_t> LeastPeak() {
    std::vector<std::pair<uint64_t, PlanChoice>> choices;
    ForEach([&](const PlanChoice& whole, const std::vector<AxisGroup>& groups) {
      choices.emplace_back(ScheduleOf(whole).peak(), whole);
      for (const AxisGroup& a : groups) {
        const PlanChoice one = Smallest(whole, {a});
        choices.emplace_back(ScheduleOf(one).peak(), one);
        for (const AxisGroup& b : groups) {
          if (a == b) continue;
          const PlanChoice two = Smallest(whole, {a, b});
          choices.emplace_back(ScheduleOf(two).peak(), two);
        }
      }
    });
    std::stable_sort(choices.begin(), choices.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [peak, choice] : choices) {
      int rank = 0;
      const Schedule schedule(meaning_, choice, options_.limit_kind);
      if (!schedule.feasible()) continue;
      static_cast<void>(schedule.Cost(0, kEndless, &cache_, &rank));
      if (rank <= kMaxRank) return peak;
      least_rank_ = least_rank_ == 0 ? rank : std::min(least_rank_, rank);
    }
    return std::nullopt;
  }

  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] const PlanChoice& best() const { return best_; }
  [[nodiscard]] double best_cost() const { return best_cost_; }
  [[nodiscard]] int least_rank() const { return least_rank_; }

 private:
  void Try(const PlanChoice& whole, const std::vector<AxisGroup>& groups) {
    const Schedule& schedule = ScheduleOf(whole);
    if (schedule.Fits(options_.limit, &buffers_)) {
      // Chunks of what fits as a whole save nothing. A view may be in memory at another time than
      // its input.
      if (!whole.streamed || whole.views) Consider(schedule);
      return;
    }
    for (const AxisGroup& a : groups) TrySplit(whole, {a});
    for (const AxisGroup& a : groups) {
      for (const AxisGroup& b : groups) {
        if (a != b) TrySplit(whole, {a, b});
      }
    }
  }

  // Each axis that an output has or that is reduced for one can be shared. The one with which a
  // rank has the least to do without a limit comes first.
  void FindShares() {
    std::set<uint32_t> axes;
    const auto add = [&](const std::vector<uint32_t>& of) { axes.insert(of.begin(), of.end()); };
    for (const uint32_t output : meaning_.graph().outputs) add(meaning_.value(output).axes);
    const std::set<uint32_t> reduced = ReducedAxes();
    axes.insert(reduced.begin(), reduced.end());
    std::vector<std::pair<double, PlanShare>> shares;
    for (const uint32_t axis : axes) {
      const int64_t extent = meaning_.axis(axis).extent;
      if (extent < 2 || !MaySplit(axis)) continue;
      const PlanShare share = MakeShare(axis, extent, options_.rank, options_.ranks);
      shares.emplace_back(CostOf(share), share);
    }
    std::ranges::stable_sort(shares, {}, [](const auto& share) { return share.first; });
    for (auto& [cost, share] : shares) shares_.emplace_back(std::move(share));
  }

  // Of the better one of two plans: with all reductions kept, and with none.
  double CostOf(const PlanShare& share) {
    double out = kEndless;
    for (const bool all : {false, true}) {
      if (!all && !options_.recompute) continue;
      const PlanChoice whole =
          WholeOf(share, all ? reductions_ : std::vector<size_t>(), MayHaveParts(), false);
      const Schedule schedule(meaning_, whole, options_.limit_kind);
      if (!schedule.feasible()) continue;
      int rank = 0;
      const double outside = kStepPrice * schedule.steps() + schedule.TransferCost();
      const double cost = schedule.Cost(outside, kEndless, &cache_, &rank);
      if (rank <= kMaxRank) out = std::min(out, cost);
    }
    return out;
  }

  // Nothing is split but the axis of the share.
  [[nodiscard]] PlanChoice WholeOf(const std::optional<PlanShare>& share,
                                   const std::vector<size_t>& kept, bool parts,
                                   bool streamed) const {
    PlanChoice out{kept, {}, parts, streamed, false, share};
    if (share) out.splits.push_back({share->axis, share->longest()});
    KeepRoots(&out);
    return out;
  }

  // Those along which a reduction goes that an output needs.
  [[nodiscard]] std::set<uint32_t> ReducedAxes() const {
    std::set<uint32_t> out;
    for (size_t n = 0; n < meaning_.graph().nodes.size(); ++n) {
      const Reduction* const reduction = meaning_.ReductionOf(n);
      if (reduction != nullptr && IsNeeded(n))
        out.insert(reduction->axes.begin(), reduction->axes.end());
    }
    return out;
  }

  [[nodiscard]] bool MaySplit(uint32_t axis) const {
    return !meaning_.IsChosen(axis) && (!options_.strict_order || ReducedAxes().count(axis) == 0);
  }

  [[nodiscard]] bool MayHaveParts() const { return HasParts(meaning_) && !options_.strict_order; }

  [[nodiscard]] bool IsNeeded(size_t n) const {
    const std::vector<uint32_t>& outputs = meaning_.graph().outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](uint32_t output) {
      return !meaning_.IsInput(output) && meaning_.Needs(output, n);
    });
  }

  // Reductions whose results could be kept: those that an output needs, and that are no output.
  // Those of `topk`, and what is solved, always are.
  void FindViews() {
    for (uint32_t v = 0; v < meaning_.concrete().values().size(); ++v) {
      const auto input = meaning_.RenamedInput(v);
      const bool needed = input && !meaning_.IsOutput(v) && IsNeeded(meaning_.NodeOf(v));
      if (needed) views_.emplace_back(v, *input);
    }
  }

  void FindReductions() {
    const Graph& graph = meaning_.graph();
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Reduction* const reduction = meaning_.ReductionOf(n);
      const bool solves = meaning_.SolveOf(n) != nullptr;
      if (reduction == nullptr && !solves) continue;
      const bool needed = IsNeeded(n);
      if (needed && (solves || reduction->kind == ReducerKind::kTopK)) {
        chosen_.push_back(n);
      } else if (needed && !meaning_.IsOutput(graph.nodes[n].first_result)) {
        reductions_.push_back(n);
        if (MostPartsOf(meaning_, n) > 1) parted_.push_back(n);
      }
    }
  }

  [[nodiscard]] std::vector<std::vector<size_t>> KeptSets() const {
    std::vector<std::vector<size_t>> out;
    const size_t count = reductions_.size();
    if (!options_.recompute) return {reductions_};
    if (count <= kMostSubsets) {
      for (size_t bits = 0; bits < size_t{1} << count; ++bits) {
        std::vector<size_t>& kept = out.emplace_back();
        for (size_t i = 0; i < count; ++i) {
          if ((bits >> i & 1) != 0) kept.push_back(reductions_[i]);
        }
      }
      return out;
    }
    out = {{}, reductions_};
    for (const size_t n : reductions_) {
      out.push_back({n});
      std::vector<size_t>& others = out.emplace_back(reductions_);
      others.erase(std::find(others.begin(), others.end(), n));
    }
    return out;
  }

  // Axes of kept results, and of inputs and outputs that are streamed: only these can become
  // smaller.
  [[nodiscard]] std::vector<uint32_t> SplitAxes(const PlanChoice& whole) const {
    std::set<uint32_t> out;
    const auto add = [&](const std::vector<uint32_t>& axes) {
      for (const uint32_t axis : axes) {
        if (LengthOf(whole, axis) > 1 && MaySplit(axis)) out.insert(axis);
      }
    };
    for (const size_t n : whole.kept) {
      std::vector<uint32_t> axes = meaning_.value(meaning_.node(n).first_result).axes;
      if (const Solve* const solve = meaning_.SolveOf(n); solve != nullptr) {
        const auto solved = [&](uint32_t axis) {
          return axis == solve->rows || axis == solve->columns;
        };
        axes.erase(std::remove_if(axes.begin(), axes.end(), solved), axes.end());
      }
      add(axes);
    }
    if (whole.streamed) {
      for (uint32_t v = 0; v < meaning_.graph().inputs.size(); ++v) add(meaning_.value(v).axes);
      for (const uint32_t v : meaning_.graph().outputs) add(meaning_.value(v).axes);
    }
    return {out.begin(), out.end()};
  }

  // The same, each with the other names that it has if the choice has views of inputs.
  [[nodiscard]] std::vector<AxisGroup> SplitGroups(const PlanChoice& whole) const {
    std::vector<AxisGroup> out;
    for (const uint32_t axis : SplitAxes(whole)) out.push_back({axis});
    if (!whole.views) return out;
    const auto group_of = [&](uint32_t axis) {
      return std::find_if(out.begin(), out.end(), [&](const AxisGroup& group) {
        return std::count(group.begin(), group.end(), axis) != 0;
      });
    };
    for (const auto& [v, input] : views_) {
      for (size_t i = 0; i < meaning_.value(v).axes.size(); ++i) {
        const uint32_t name = meaning_.value(v).axes[i];
        const auto group = group_of(meaning_.value(input).axes[i]);
        const auto own = group_of(name);
        if (group == out.end() || group == own || !MaySplit(name)) continue;
        const AxisGroup more = own == out.end() ? AxisGroup{name} : *own;
        group->append(more.begin(), more.end());
        if (own != out.end()) out.erase(own);
      }
    }
    return out;
  }

  // A reduction over a split axis has a state, so it is kept.
  void KeepRoots(PlanChoice* choice) const {
    for (const size_t n : reductions_) {
      const Reduction& reduction = *meaning_.ReductionOf(n);
      const bool root =
          std::any_of(choice->splits.begin(), choice->splits.end(), [&](const Split& split) {
            return std::count(reduction.axes.begin(), reduction.axes.end(), split.axis) != 0;
          });
      const bool parted = choice->parts && std::count(parted_.begin(), parted_.end(), n) != 0;
      const bool kept = std::count(choice->kept.begin(), choice->kept.end(), n) != 0;
      if ((root || parted) && !kept) choice->kept.push_back(n);
    }
    for (const size_t n : chosen_) {
      if (std::count(choice->kept.begin(), choice->kept.end(), n) == 0) choice->kept.push_back(n);
    }
    std::sort(choice->kept.begin(), choice->kept.end());
  }

  // Of an axis, the elements that a plan covers.
  [[nodiscard]] int64_t LengthOf(const PlanChoice& choice, uint32_t axis) const {
    const bool shared = choice.share && choice.share->axis == axis;
    return shared ? choice.share->longest() : meaning_.axis(axis).extent;
  }

  // Calls `use` with each choice without splits but that of the share, and with the axes that it
  // could split.
  template <typename Use>
  void ForEach(const Use& use) {
    for (const auto& share : shares_) ForEachOf(share, use);
  }

  template <typename Use>
  void ForEachOf(const std::optional<PlanShare>& share, const Use& use) {
    for (const std::vector<size_t>& kept : KeptSets()) {
      for (const bool parts : {true, false}) {
        if (parts && !MayHaveParts()) continue;
        schedules_.clear();
        for (const bool streamed : {false, true}) {
          if (streamed && options_.limit_kind != LimitKind::kTotal) continue;
          PlanChoice whole = WholeOf(share, kept, parts, streamed);
          use(whole, SplitGroups(whole));
          if (!streamed || views_.empty()) continue;
          whole.views = true;
          use(whole, SplitGroups(whole));
        }
      }
    }
  }

  // Choices that differ only in chunks, and in whether inputs and outputs are streamed, have the
  // same works in the same order: they share a schedule while their set of kept reductions is
  // tried.
  Schedule& ScheduleOf(const PlanChoice& choice) {
    PlanChoice key = choice;
    key.streamed = false;
    for (Split& split : key.splits) split.chunk = 0;
    const auto found = schedules_.find(key);
    if (found != schedules_.end()) {
      found->second.SetSizes(choice);
      return found->second;
    }
    const auto added = schedules_.try_emplace(std::move(key), meaning_, choice, options_.limit_kind,
                                              WorksOf(choice));
    return added.first->second;
  }

  std::shared_ptr<const Works> WorksOf(const PlanChoice& choice) {
    Works::Key key = Works::KeyOf(meaning_, choice);
    std::shared_ptr<const Works>& works = works_[key];
    if (works == nullptr) works = std::make_shared<const Works>(meaning_, std::move(key));
    return works;
  }

  void Consider(const Schedule& schedule) {
    if (!schedule.feasible()) return;
    const double outside = kStepPrice * schedule.steps() + schedule.TransferCost();
    int rank = 0;
    const double cost = schedule.Cost(outside, best_cost_, &cache_, &rank);
    if (cost >= best_cost_ || rank > kMaxRank) return;
    found_ = true;
    best_cost_ = cost;
    best_ = schedule.choice();
  }

  static size_t AxesIn(const std::vector<AxisGroup>& groups) {
    size_t out = 0;
    for (const AxisGroup& group : groups) out += group.size();
    return out;
  }

  // The choice with these axes split into the least chunks.
  PlanChoice Smallest(const PlanChoice& whole, const std::vector<AxisGroup>& groups) const {
    PlanChoice out = whole;
    for (const AxisGroup& group : groups) {
      for (const uint32_t axis : group) {
        if (out.share && axis == out.share->axis) out.splits.clear();
      }
    }
    for (const AxisGroup& group : groups) {
      for (const uint32_t axis : group) {
        out.splits.push_back({axis, LeastChunk(LengthOf(whole, axis), MostChunks(AxesIn(groups)))});
      }
    }
    KeepRoots(&out);
    return out;
  }

  // A lower bound of the bytes of the largest tensor, which is sooner known than a schedule.
  [[nodiscard]] double LargestTensor(const PlanChoice& choice) const {
    double out = 0;
    const auto add = [&](uint32_t v, bool chunked) {
      double bytes = meaning_.value(v).dtype.bits / 8.0;
      for (const uint32_t axis : meaning_.value(v).axes) {
        int64_t length = LengthOf(choice, axis);
        for (const Split& split : choice.splits) {
          if (chunked && split.axis == axis) length = std::min(length, split.chunk);
        }
        bytes *= static_cast<double>(length);
      }
      out = std::max(out, bytes);
    };
    for (const size_t n : choice.kept) {
      const uint32_t v = meaning_.node(n).first_result;
      if (meaning_.IsRead(v) && !meaning_.IsOutput(v)) add(v, true);
    }
    if (options_.limit_kind != LimitKind::kTotal) return out;
    for (const uint32_t v : meaning_.graph().outputs) add(v, choice.streamed);
    return out;
  }

  void TrySplit(const PlanChoice& whole, const std::vector<AxisGroup>& groups) {
    const PlanChoice smallest = Smallest(whole, groups);
    if (!tried_.insert(smallest).second) return;
    if (LargestTensor(smallest) > static_cast<double>(options_.limit)) return;
    Schedule& schedule = ScheduleOf(smallest);
    if (!schedule.Fits(options_.limit, &buffers_)) return;
    size_t first = smallest.splits.size();
    bool fits = true;
    for (size_t g = groups.size(); g-- > 0;) {
      const size_t count = groups[g].size();
      first -= count;
      const auto chunks = ChunksOf(LengthOf(whole, groups[g][0]), MostChunks(AxesIn(groups)));
      const auto fits_with = [&](int64_t chunk) {
        schedule.SetChunk(first, count, chunk);
        return schedule.Fits(options_.limit, &buffers_);
      };
      // Often the limit leaves room for the largest one.
      auto end = chunks.end();
      if (!fits_with(chunks.back())) {
        end = std::partition_point(chunks.begin(), end - 1, fits_with);
      }
      fits = end != chunks.begin();
      schedule.SetChunk(first, count, fits ? *(end - 1) : chunks.front());
    }
    if (!fits) {
      for (size_t i = first; i < smallest.splits.size(); ++i) {
        schedule.SetChunk(i, 1, smallest.splits[i].chunk);
      }
    }
    Consider(schedule);
  }

  const Meaning& meaning_;
  const PlanOptions& options_;
  KernelCache& cache_;
  std::vector<size_t> reductions_;
  std::vector<size_t> parted_;  // of these, those that are cut into parts if a choice says so
  std::vector<size_t> chosen_;
  std::vector<std::pair<uint32_t, uint32_t>> views_;  // values, and the inputs that they rename
  std::vector<std::optional<PlanShare>> shares_;  // to try; one without a value: nothing is shared
  std::unordered_set<PlanChoice, HashOfChoice> tried_;                // with the least chunks
  std::unordered_map<PlanChoice, Schedule, HashOfChoice> schedules_;  // see ScheduleOf
  std::map<Works::Key, std::shared_ptr<const Works>> works_;
  PackBuffers buffers_;
  bool found_ = false;
  double best_cost_ = kEndless;
  PlanChoice best_;
  int least_rank_ = 0;
};

}  // namespace

std::string Plan::Text() const {
  std::string out;
  for (const KernelText& kernel : kernels) out += (out.empty() ? "" : "\n") + kernel.text;
  return out;
}

// The smallest limit is what the search finds one byte below which it finds nothing.
static uint64_t SmallestLimit(const Meaning& meaning, uint64_t least, PlanOptions options,
                              bool alone, KernelCache* cache) {
  while (least > 0) {
    options.limit = least - 1;
    Search search(meaning, options, alone, cache);
    search.Run();
    if (!search.found()) break;
    least = Schedule(meaning, search.best(), options.limit_kind).peak();
  }
  return least;
}

// No choice has an order in which outputs can take the memory of inputs.
static void ReportInPlace(const ConcreteGraph& graph, Diagnostics& diagnostics) {
  for (const GraphOutputType& type : graph.graph().output_types) {
    if (type.in_place == GraphOutputType::kNotInPlace) continue;
    diagnostics.Error(diag::kPlanInPlace, type.location, graph.name(),
                      graph.graph().ValueName(type.in_place));
    return;
  }
}

// The bits of an element of the largest input that the matrix of a node is made of as it solves.
static uint64_t BitsOfMatrix(const Meaning& meaning, const Solve& solve, uint32_t v,
                             std::set<uint32_t>* seen) {
  if (!seen->insert(v).second) return 0;
  if (meaning.IsInput(v)) {
    const bool has = meaning.HasAxis(v, solve.rows) && meaning.HasAxis(v, solve.columns);
    return has ? meaning.value(v).dtype.bits : 0;
  }
  const size_t n = meaning.NodeOf(v);
  uint64_t out = 0;
  if (meaning.SolveOf(n) != nullptr || meaning.ReductionOf(n) != nullptr) return out;
  for (const uint32_t read : meaning.ReadsOf(n)) {
    out = std::max(out, BitsOfMatrix(meaning, solve, read, seen));
  }
  return out;
}

// What must be in memory at once for a node that solves along two axes, in bytes.
static uint64_t SolvedBytes(const Meaning& meaning, size_t n, LimitKind kind) {
  const Solve& solve = *meaning.SolveOf(n);
  const uint32_t v = meaning.node(n).first_result;
  const auto extent = static_cast<uint64_t>(meaning.axis(solve.columns).extent);
  const bool total = kind == LimitKind::kTotal;
  std::set<uint32_t> seen;
  uint64_t bits =
      total && !solve.factors ? BitsOfMatrix(meaning, solve, solve.matrix, &seen) * extent : 0;
  const uint64_t own = meaning.value(v).dtype.bits;
  if (total || !meaning.IsOutput(v)) bits += solve.factors ? own * extent : own;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits) * extent / 8);
}

// Inputs and outputs that are in memory at once.
struct Ports {
  uint64_t bytes = 0;
  std::string_view largest;  // the name of one
  bool alone = true;         // nothing else is
};

// At the step at which most of a plan's memory is in use, without what lies in the place of an
// input.
static Ports PortsOf(const Plan& plan) {
  uint64_t most = 0;
  Ports out;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    Ports ports;
    uint64_t all = 0;
    uint64_t largest = 0;
    for (const PlanBuffer& buffer : plan.buffers) {
      if (!buffer.offset || buffer.in_place || s < buffer.first || s > buffer.last) continue;
      all += buffer.bytes;
      ports.alone = ports.alone && buffer.kind != PlanBuffer::Kind::kScratch;
      if (buffer.kind == PlanBuffer::Kind::kScratch) continue;
      ports.bytes += buffer.bytes;
      if (buffer.bytes <= largest) continue;
      largest = buffer.bytes;
      const bool input = buffer.kind == PlanBuffer::Kind::kInput;
      ports.largest = (input ? plan.inputs : plan.outputs)[buffer.tensor].name;
    }
    if (all > most) out = ports;
    most = std::max(most, all);
  }
  return out;
}

// A matrix that must be in memory as a whole is too large for the limit; null if none is.
static Diagnostic* ReportSolved(const Meaning& meaning, const PlanOptions& options,
                                Diagnostics& diagnostics) {
  const Graph& graph = meaning.graph();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Solve* const solve = meaning.SolveOf(n);
    if (solve == nullptr || SolvedBytes(meaning, n, options.limit_kind) <= options.limit) continue;
    return &diagnostics.Error(diag::kPlanSolved, graph.nodes[n].location, meaning.concrete().name(),
                              CountText(options.limit), Row(graph.nodes[n].op).word,
                              meaning.axis(solve->rows).name, meaning.axis(solve->columns).name);
  }
  return nullptr;
}

// What the search found.
static Plan PlanOf(const Meaning& meaning, const PlanChoice& choice, const PlanOptions& options,
                   KernelCache* cache) {
  const Schedule schedule(meaning, choice, options.limit_kind);
  Plan plan = schedule.Make(cache);
  schedule.AddSteps(&plan);
  plan.limit = options.limit;
  return plan;
}

// The limit is too low: what is too large for it. `smallest`: what is chosen below the smallest
// limit. Its steps are made only if they can tell, because a large matrix has millions of them.
static Diagnostic& ReportLimit(const Meaning& meaning, const PlanOptions& options,
                               const PlanChoice& smallest, KernelCache* cache,
                               Diagnostics& diagnostics) {
  if (Diagnostic* const solved = ReportSolved(meaning, options, diagnostics)) return *solved;
  const Graph& graph = meaning.graph();
  const std::string_view name = meaning.concrete().name();
  const Plan plan = PlanOf(meaning, smallest, options, cache);
  const Ports ports = PortsOf(plan);
  const uint64_t bytes = ports.alone ? plan.peak : ports.bytes;
  if (bytes > options.limit && !ports.largest.empty()) {
    return diagnostics.Error(diag::kPlanInputs, graph.location, name, CountText(options.limit),
                             bytes, ports.largest);
  }
  return diagnostics.Error(diag::kPlanLimit, graph.location, name, CountText(options.limit));
}

// Whether there is a plan without what the options forbid: then they are what is refused.
static bool ReportForbidden(const Meaning& meaning, PlanOptions options, KernelCache* cache,
                            const std::string& help, Diagnostics& diagnostics) {
  const auto best = [&]() -> std::optional<PlanChoice> {
    Search search(meaning, options, true, cache);
    search.Run();
    if (!search.found()) return std::nullopt;
    return search.best();
  };
  const Graph& graph = meaning.graph();
  const std::string_view name = meaning.concrete().name();
  if (options.strict_order) {
    options.strict_order = false;
    if (const auto choice = best()) {
      const auto reduced = [&](const Split& split) {
        for (size_t n = 0; n < graph.nodes.size(); ++n) {
          const Reduction* const reduction = meaning.ReductionOf(n);
          if (reduction == nullptr) continue;
          if (std::count(reduction->axes.begin(), reduction->axes.end(), split.axis) != 0)
            return true;
        }
        return false;
      };
      const auto split = std::find_if(choice->splits.begin(), choice->splits.end(), reduced);
      const uint32_t axis = split != choice->splits.end() ? split->axis : 0;
      diagnostics
          .Error(diag::kPlanStrictOrder, graph.location, name, CountText(options.limit),
                 meaning.axis(axis).name)
          .help = help;
      return true;
    }
  }
  if (!options.recompute) {
    options.recompute = true;
    if (const auto choice = best()) {
      for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const uint32_t v = graph.nodes[n].first_result;
        const bool kept = std::count(choice->kept.begin(), choice->kept.end(), n) != 0;
        if (meaning.ReductionOf(n) == nullptr || kept || meaning.IsOutput(v)) continue;
        diagnostics
            .Error(diag::kPlanRecompute, graph.nodes[n].location, name, CountText(options.limit),
                   meaning.NameOf(v))
            .help = help;
        return true;
      }
    }
  }
  return false;
}

// What a search below a limit finds.
struct Found {
  PlanChoice choice;
  double cost = kEndless;
};

static Found FindBelow(const Meaning& meaning, PlanOptions options, uint64_t limit, bool alone,
                       KernelCache* cache) {
  options.limit = limit;
  Search search(meaning, options, alone, cache);
  search.Run();
  return search.found() ? Found{search.best(), search.best_cost()} : Found();
}

// If the plan below the smallest limit costs much: how much, and a limit that costs less.
static std::string HelpWithCost(const Meaning& meaning, const PlanOptions& options,
                                const Found& least, uint64_t smallest, bool alone,
                                KernelCache* cache) {
  constexpr double kMuch = 2;  // times the cost without a limit
  constexpr int kRounds = 6;
  const Found most = FindBelow(meaning, options, kMostArena, alone, cache);
  const double times = least.cost / most.cost;
  if (times <= kMuch) return "";
  uint64_t low = smallest;
  uint64_t high = Schedule(meaning, most.choice, options.limit_kind).peak();
  for (int i = 0; i < kRounds; ++i) {
    const auto middle = static_cast<uint64_t>(std::sqrt(static_cast<double>(low)) *
                                              std::sqrt(static_cast<double>(high)));
    if (middle <= low || middle >= high) break;
    const Found found = FindBelow(meaning, options, middle, alone, cache);
    if (found.cost <= kMuch * most.cost) {
      high = Schedule(meaning, found.choice, options.limit_kind).peak();
    } else {
      low = middle;
    }
  }
  return fmt::format(
      ", which takes about {:.2g} times as long as no limit; {} bytes take at most {} times as "
      "long",
      times, high, kMuch);
}

// Each of several ranks has the limit. One alone may need less, as it exchanges nothing.
static std::string HelpWithOne(const Meaning& meaning, const PlanOptions& options,
                               uint64_t smallest, KernelCache* cache) {
  Search search(meaning, options, true, cache);
  const auto least = search.LeastPeak();
  if (!least) return "";
  const uint64_t one = SmallestLimit(meaning, *least, options, true, cache);
  return one < smallest ? fmt::format("; one rank alone needs {}", CountText(one)) : "";
}

// No choice is below the limit; `least` is the least peak of those that were tried without one.
static void Refuse(const Meaning& meaning, const PlanOptions& options, bool alone, uint64_t least,
                   KernelCache* cache, Diagnostics& diagnostics) {
  const uint64_t smallest = SmallestLimit(meaning, least, options, alone, cache);
  if (smallest > kMostArena) {
    diagnostics.Error(diag::kPlanTooLarge, meaning.graph().location, meaning.concrete().name());
    return;
  }
  const Found found = FindBelow(meaning, options, smallest, alone, cache);
  std::string help = "smallest limit: " + CountText(smallest);
  if (!alone) help += fmt::format(" on each of {} ranks", options.ranks);
  help += HelpWithCost(meaning, options, found, smallest, alone, cache);
  if (!alone) help += HelpWithOne(meaning, options, smallest, cache);
  if (ReportForbidden(meaning, options, cache, help, diagnostics)) return;
  ReportLimit(meaning, options, found.choice, cache, diagnostics).help = help;
}

std::optional<Plan> MakePlan(const ConcreteGraph& graph, const PlanOptions& options,
                             Diagnostics& diagnostics) {
  PlanOptions bounded = options;
  bounded.limit = std::min(options.limit, kMostArena);
  const std::optional<Meaning> meaning = Meaning::Make(graph, options.fast, diagnostics);
  if (!meaning) return std::nullopt;
  KernelCache cache(*meaning, options.machine);
  int least_rank = 0;
  for (const bool alone : {false, true}) {
    if (!alone && options.ranks < 2) continue;
    Search search(*meaning, bounded, alone, &cache);
    search.Run();
    if (search.found()) return PlanOf(*meaning, search.best(), options, &cache);
    if (const std::optional<uint64_t> least = search.LeastPeak()) {
      Refuse(*meaning, bounded, alone, *least, &cache, diagnostics);
      return std::nullopt;
    }
    least_rank = search.least_rank();  // if no axis can be shared, one rank computes all
  }
  if (least_rank == 0) {
    ReportInPlace(graph, diagnostics);
  } else {
    diagnostics.Error(diag::kPlanRank, graph.graph().location, graph.name(), least_rank);
  }
  return std::nullopt;
}

}  // namespace tarsia
