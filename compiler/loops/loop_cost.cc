#include "compiler/loops/loop_cost.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/passes/predicted_work.h"
#include "compiler/passes/via.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;

constexpr int64_t kSchedulers = 4;  // of a processor

// What a turn of a loop does with global memory, in its branches too but not in loops inside.
struct Traffic {
  int64_t copied = 0;  // bytes
  int64_t loaded = 0;
  int64_t waits = 0;
  std::optional<int64_t> pending;  // groups that the first wait leaves in flight
  bool copies_first = false;       // a copy stands in front of it

  [[nodiscard]] int64_t Bytes() const { return copied + loaded; }
  [[nodiscard]] int64_t Ahead() const {
    if (copied == 0 || !pending) return 0;
    return *pending + (copies_first ? 0 : 1);
  }
};

int64_t BytesOf(const Form& form, const Operation& op) {
  const DType type = form.TypeOf(op.operand[op.opcode == Opcode::kCopyAsync ? 1 : 0].value).dtype;
  int64_t elements = 1;
  if (op.opcode == Opcode::kCopyAsync) {
    for (const ExprId extent : form.pool.children(op.annotation.shape)) {
      elements *= form.pool.AsInt(extent).value_or(1);
    }
  } else {
    elements = form.TypeOf(op.results[0]).Elements();
  }
  return CeilDiv(elements * type.bits, int64_t{8});
}

void AddTraffic(const Form& form, RegionId region, Traffic& out) {
  for (const OpId id : form.regions[region].ops) {
    const Operation& op = form.ops[id];
    if (op.opcode == Opcode::kCopyAsync) {
      out.copies_first = out.copies_first || out.waits == 0;
      out.copied += BytesOf(form, op);
    }
    if (op.opcode == Opcode::kCopyWait) {
      if (out.waits++ == 0) out.pending = form.pool.AsInt(op.operand[0].expr);
    }
    if (IsGlobalLoad(form, op)) out.loaded += BytesOf(form, op);
    for (const RegionId inner : op.region) {
      if (inner != kNone && !op.IsLoop()) AddTraffic(form, inner, out);
    }
  }
}

class Finder {
 public:
  Finder(const Form& form, Target target) : form_(form), target_(target) {}

  std::vector<LoopCost> Run() {
    Visit(tile::kBody);
    std::stable_sort(out_.begin(), out_.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    return std::move(out_);
  }

 private:
  void Visit(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      if (op.IsLoop()) AddLoop(op);
      for (const RegionId inner : op.region) {
        if (inner != kNone) Visit(inner);
      }
    }
  }

  void AddLoop(const Operation& op) {
    Traffic traffic;
    AddTraffic(form_, op.region[0], traffic);
    const auto known = std::find_if(out_.begin(), out_.end(), [&](const LoopCost& loop) {
      return loop.line == op.location.line;
    });
    // Turns at the end may have no copies, or none of their own.
    if (traffic.Bytes() == 0 || known != out_.end()) return;
    LoopCost loop;
    loop.line = op.location.line;
    loop.ahead = traffic.Ahead();
    loop.turns = std::max<int64_t>(1, traffic.copied != 0 ? traffic.waits : 1);
    loop.bytes = traffic.Bytes() / loop.turns;
    loop.work = PredictWork(form_, target_, op.region[0]);
    loop.hint = op.opcode == Opcode::kFor;
    out_.push_back(loop);
  }

  const Form& form_;
  const Target target_;
  std::vector<LoopCost> out_;
};

Cost PriceOf(int64_t Work::* field, Target target) {
  Work one;
  one.*field = 1;
  return CyclesOf(one, target);
}

LoopBound Largest(const LoopTimes& times, size_t count) {
  const double* const begin = times.cycles;
  return static_cast<LoopBound>(std::max_element(begin, begin + count) - begin);
}

}  // namespace

std::vector<LoopCost> LoopCosts(const Form& last, Target target) {
  return Finder(last, target).Run();
}

std::string_view NameOf(LoopBound bound) {
  constexpr std::string_view kNames[] = {"bytes", "issue", "tensor", "latency"};
  return kNames[static_cast<size_t>(bound)];
}

LoopBound LoopTimes::Bound() const { return Largest(*this, kLoopBounds); }
LoopBound LoopTimes::BoundBesideLatency() const { return Largest(*this, kLoopBounds - 1); }

LoopTimes TimesOf(const LoopCost& loop, int64_t warps, Target target) {
  const auto cost = [&](int64_t Work::* field) {
    return static_cast<double>(loop.work.*field * PriceOf(field, target)) /
           static_cast<double>(loop.turns);
  };
  const double all =
      static_cast<double>(CyclesOf(loop.work, target)) / static_cast<double>(loop.turns);
  const double bytes = cost(&Work::global_sectors);
  const double tensor = cost(&Work::products);
  const double barriers = cost(&Work::barriers);
  // Memory is shared by all; the warps of a scheduler share the rest.
  const double of_memory = static_cast<double>(warps) / kSchedulers;
  const auto of_scheduler = static_cast<double>(CeilDiv(warps, kSchedulers));
  LoopTimes out;
  const auto set = [&out](LoopBound bound, double cycles) {
    out.cycles[static_cast<size_t>(bound)] = cycles;
  };
  set(LoopBound::kBytes, bytes * of_memory);
  set(LoopBound::kIssue, (all - bytes - tensor - barriers) * of_scheduler);
  set(LoopBound::kTensor, tensor * of_scheduler);
  // Without copies ahead, a warp waits for memory, and then does the rest of the turn.
  const auto latency = static_cast<double>(LatencyOfMemory(target));
  set(LoopBound::kLatency,
      loop.ahead > 0 ? latency / static_cast<double>(loop.ahead) : latency + all - bytes);
  return out;
}

int64_t StagesThatHide(const LoopTimes& times, Target target) {
  const double rest = std::max(1.0, times.Of(times.BoundBesideLatency()));
  return 1 + static_cast<int64_t>(std::ceil(static_cast<double>(LatencyOfMemory(target)) / rest));
}

}  // namespace tarsia::compiler
