#include "planner/transfers.h"

#include <algorithm>
#include <utility>

namespace tarsia {
namespace {

// A chunk of an input or an output, or all of it, and the launches that use it.
struct Chunk {
  size_t buffer = 0;
  std::vector<StepRange> ranges;
  size_t first = 0, last = 0;
};

// `at`: a launch, then the first one that uses the chunk.
struct Transfer {
  std::pair<size_t, size_t> at;
  Chunk chunk;
};

bool SameRanges(const std::vector<StepRange>& a, const std::vector<StepRange>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const StepRange& x, const StepRange& y) {
                      return x.axis == y.axis && x.low == y.low && x.high == y.high;
                    });
}

class Transfers {
 public:
  explicit Transfers(Plan* plan) : plan_(*plan) {}

  void Add() {
    if (plan_.limit_kind == LimitKind::kTotal) {
      for (size_t b = 0; b < plan_.buffers.size(); ++b) {
        if (!plan_.buffers[b].second || *plan_.buffers[b].second > b) FindChunks(b);
      }
      Insert();
    }
    FindLifetimes();
  }

 private:
  [[nodiscard]] std::vector<StepRange> RangesOf(const PlanBuffer& buffer,
                                                const PlanStep& step) const {
    std::vector<StepRange> out;
    for (const StepRange& range : step.ranges) {
      const auto& axes = buffer.chunked;
      if (std::find(axes.begin(), axes.end(), range.axis) != axes.end()) out.push_back(range);
    }
    if (buffer.shared) out.push_back({plan_.share->axis, plan_.share->low(), plan_.share->high()});
    return out;
  }

  // The chunks of buffer `b` in the order of their use; chunk for chunk in one of the two buffers.
  void FindChunks(size_t b) {
    const PlanBuffer& buffer = plan_.buffers[b];
    const bool port = buffer.kind != PlanBuffer::Kind::kScratch;
    if (!port || !buffer.used || buffer.bytes == 0) return;
    std::vector<Chunk> chunks;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      PlanStep& step = plan_.steps[s];
      const auto use = std::find(step.buffers.begin(), step.buffers.end(), b);
      if (use == step.buffers.end()) continue;
      std::vector<StepRange> ranges = RangesOf(buffer, step);
      if (chunks.empty() || !SameRanges(chunks.back().ranges, ranges)) {
        const bool second = buffer.second && chunks.size() % 2 == 1;
        chunks.push_back({second ? *buffer.second : b, std::move(ranges), s, s});
      }
      chunks.back().last = s;
      *use = chunks.back().buffer;
    }
    const bool load = buffer.kind == PlanBuffer::Kind::kInput;
    size_t begin = chunks.empty() ? 0 : chunks[0].first;
    for (Chunk& chunk : chunks) {
      const size_t first = chunk.first;
      if (load) {
        loads_.push_back({{begin, first}, std::move(chunk)});
      } else {
        stores_.push_back({{chunk.last, 0}, std::move(chunk)});
      }
      begin = first;
    }
  }

  static PlanStep StepOf(PlanStep::Kind kind, Transfer transfer) {
    PlanStep out;
    out.kind = kind;
    out.buffers = {transfer.chunk.buffer};
    out.ranges = std::move(transfer.chunk.ranges);
    return out;
  }

  void Insert() {
    std::ranges::stable_sort(loads_, {}, &Transfer::at);
    std::ranges::stable_sort(stores_, {}, &Transfer::at);
    std::vector<PlanStep> steps;
    steps.reserve(plan_.steps.size() + loads_.size() + stores_.size());
    auto load = loads_.begin();
    auto store = stores_.begin();
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (; load != loads_.end() && load->at.first == s; ++load) {
        steps.push_back(StepOf(PlanStep::Kind::kLoad, std::move(*load)));
      }
      steps.push_back(std::move(plan_.steps[s]));
      for (; store != stores_.end() && store->at.first == s; ++store) {
        steps.push_back(StepOf(PlanStep::Kind::kStore, std::move(*store)));
      }
    }
    plan_.steps = std::move(steps);
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
  std::vector<Transfer> loads_;   // at the launch before which they begin
  std::vector<Transfer> stores_;  // at the launch behind which they begin
};

}  // namespace

void AddTransfers(Plan* plan) { Transfers(plan).Add(); }

}  // namespace tarsia
