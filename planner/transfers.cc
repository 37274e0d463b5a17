#include "planner/transfers.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tarsia {
namespace {

using Ranges = InlineVector<StepRange, 2>;

// A chunk of an input or an output, or all of it, and the launches that use it.
struct Chunk {
  uint32_t buffer = 0;
  size_t first = 0, last = 0;
  size_t at = 0;  // of an input: the launch before which it is loaded; of an output: `last`
};

// A transfer to add.
struct Transfer {
  PlanStep::Kind kind;
  uint32_t buffer;
  size_t user;   // a launch that uses the chunk
  size_t place;  // among all steps
};

// The chunks of one input or output, in the order of their use.
struct Chunks {
  std::vector<Chunk> list;
  size_t next = 0;
  size_t last = 0;  // the last launch that uses one

  [[nodiscard]] bool IsAt(size_t step) const { return next < list.size() && list[next].at == step; }
};

class Transfers {
 public:
  explicit Transfers(Plan* plan) : plan_(*plan) {}

  void Add() {
    if (plan_.limit_kind == LimitKind::kTotal) {
      FindChunks();
      Insert();
    }
    FindLifetimes();
  }

 private:
  // To `ranges`, what a buffer holds in a step.
  void FindRanges(const PlanBuffer& buffer, const PlanStep& step, Ranges* ranges) const {
    *ranges = {};
    const auto& axes = buffer.chunked;
    for (const StepRange& range : step.ranges) {
      if (std::find(axes.begin(), axes.end(), range.axis) != axes.end()) ranges->push_back(range);
    }
    if (buffer.shared) {
      ranges->push_back({plan_.share->axis, plan_.share->low(), plan_.share->high()});
    }
  }

  // Whether two launches have the same chunk of a buffer.
  bool HaveSameChunk(const PlanBuffer& buffer, size_t a, size_t b) const {
    const auto& ranges = plan_.steps[b].ranges;
    const auto range_of = [&](uint32_t axis) {
      return std::find_if(ranges.begin(), ranges.end(),
                          [&](const StepRange& range) { return range.axis == axis; });
    };
    for (const StepRange& range : plan_.steps[a].ranges) {
      if (std::find(buffer.chunked.begin(), buffer.chunked.end(), range.axis) ==
          buffer.chunked.end()) {
        continue;
      }
      const StepRange* const other = range_of(range.axis);
      if (other == ranges.end() || other->low != range.low || other->high != range.high)
        return false;
    }
    return true;
  }

  // Chunk for chunk in one of the two buffers. Each is loaded as soon as the one before is used.
  void FindChunks() {
    chunks_.resize(plan_.buffers.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      PlanStep& step = plan_.steps[s];
      for (uint32_t& use : step.buffers) {
        const PlanBuffer& buffer = plan_.buffers[use];
        if (buffer.kind == PlanBuffer::Kind::kScratch || buffer.bytes == 0) continue;
        auto& [list, next, of] = chunks_[use];
        const bool is_same =
            !list.empty() && (buffer.chunked.empty() || HaveSameChunk(buffer, of, s));
        if (!is_same) {
          const bool second = buffer.second && list.size() % 2 == 1;
          const uint32_t held = second ? static_cast<uint32_t>(*buffer.second) : use;
          list.push_back({held, s, s, list.empty() ? s : list.back().first});
        }
        of = s;
        Chunk& chunk = list.back();
        chunk.last = s;
        if (buffer.kind == PlanBuffer::Kind::kOutput) chunk.at = s;
        use = chunk.buffer;
      }
    }
  }

  // The inputs or the outputs that have chunks, in their order.
  std::vector<Chunks*> Of(PlanBuffer::Kind kind) {
    std::vector<Chunks*> out;
    for (size_t b = 0; b < chunks_.size(); ++b) {
      if (plan_.buffers[b].kind == kind && !chunks_[b].list.empty()) out.push_back(&chunks_[b]);
    }
    return out;
  }

  // To `due_`, those chunks of `from` that are due at a step.
  void FindDue(size_t step, std::vector<Chunks*>* from) {
    due_.clear();
    bool ended = false;
    for (Chunks* const chunks : *from) {
      for (; chunks->IsAt(step); ++chunks->next) due_.push_back(chunks->list[chunks->next]);
      ended = ended || chunks->next == chunks->list.size();
    }
    if (ended) std::erase_if(*from, [](const Chunks* c) { return c->next == c->list.size(); });
  }

  // All transfers in their order, among the launches, whose places it returns.
  std::vector<size_t> FindPlaces() {
    std::vector<size_t> places;
    places.reserve(plan_.steps.size());
    std::vector<Chunks*> inputs = Of(PlanBuffer::Kind::kInput);
    std::vector<Chunks*> outputs = Of(PlanBuffer::Kind::kOutput);
    const auto add = [&](PlanStep::Kind kind, uint32_t buffer, size_t user) {
      added_.push_back({kind, buffer, user, places.size() + added_.size()});
    };
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      FindDue(s, &inputs);
      if (due_.size() > 1) std::ranges::stable_sort(due_, {}, &Chunk::first);
      for (const Chunk& chunk : due_) add(PlanStep::Kind::kLoad, chunk.buffer, chunk.first);
      places.push_back(places.size() + added_.size());
      FindDue(s, &outputs);
      for (const Chunk& chunk : due_) add(PlanStep::Kind::kStore, chunk.buffer, s);
    }
    return places;
  }

  // Launches move back to make room for the transfers before them.
  void Insert() {
    const std::vector<size_t> places = FindPlaces();
    plan_.steps.resize(plan_.steps.size() + added_.size());
    for (size_t s = places.size(); s > 0 && places[s - 1] != s - 1; --s) {
      plan_.steps[places[s - 1]] = std::move(plan_.steps[s - 1]);
    }
    for (const Transfer& transfer : added_) {
      PlanStep& step = plan_.steps[transfer.place];
      step = PlanStep();
      step.kind = transfer.kind;
      step.buffers.push_back(transfer.buffer);
      FindRanges(plan_.buffers[transfer.buffer], plan_.steps[places[transfer.user]], &step.ranges);
    }
  }

  void FindLifetimes() {
    std::vector<bool> seen(plan_.buffers.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const size_t b : plan_.steps[s].buffers) {
        if (!seen[b]) plan_.buffers[b].first = s;
        seen[b] = true;
        plan_.buffers[b].last = s;
      }
    }
    const size_t last = plan_.steps.empty() ? 0 : plan_.steps.size() - 1;
    for (PlanBuffer& buffer : plan_.buffers) {
      if (buffer.offset) continue;  // the caller's
      if (buffer.kind == PlanBuffer::Kind::kInput) buffer.first = 0;
      if (buffer.kind == PlanBuffer::Kind::kOutput) buffer.last = last;
    }
  }

  Plan& plan_;
  std::vector<Chunks> chunks_;  // by buffer
  std::vector<Chunk> due_;
  std::vector<Transfer> added_;
};

}  // namespace

void AddTransfers(Plan* plan) { Transfers(plan).Add(); }

}  // namespace tarsia
