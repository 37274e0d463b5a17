#include "compiler/tile/live_ranges.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tarsia::compiler::tile {
namespace {

class Finder {
 public:
  explicit Finder(const Form& form) : form_(form) {
    out_.range.resize(form.values.size());
    out_.definition = form.Definitions();
    out_.defined_at.resize(form.values.size());
    out_.before.resize(form.ops.size());
    out_.after.resize(form.ops.size());
    out_.begin.resize(form.regions.size());
    out_.end.resize(form.regions.size());
  }

  LiveRanges Run() {
    Number(kBody);
    AddUses(kBody);
    for (LiveRange& range : out_.range) Normalise(range);
    return std::move(out_);
  }

 private:
  void Number(RegionId region) {
    out_.begin[region] = place_++;
    DefineAt(form_.regions[region].arguments, out_.begin[region]);
    for (const OpId id : form_.regions[region].ops) {
      out_.before[id] = place_++;
      for (const RegionId inner : form_.ops[id].region) {
        if (inner != kNone) Number(inner);
      }
      out_.after[id] = place_++;
      DefineAt(form_.ops[id].results, out_.after[id]);
    }
    out_.end[region] = place_++;
  }

  void DefineAt(const std::vector<ValueId>& values, uint32_t place) {
    for (const ValueId value : values) {
      out_.defined_at[value] = place;
      out_.range[value].push_back({place, place});
    }
  }

  void AddUses(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      for (const ValueId init : op.inits) AddUse(init, region, out_.before[id]);
      ForEachUse(form_, op, [&](ValueId value) { AddOperand(value, region, id); });
      for (const RegionId inner : op.region) {
        if (inner != kNone) AddUses(inner);
      }
    }
    for (const ValueId value : form_.regions[region].yields) {
      AddUse(value, region, out_.end[region]);
    }
  }

  // Arguments of a loop get their first values before its bounds are computed.
  void AddOperand(ValueId value, RegionId region, OpId id) {
    const Operation& op = form_.ops[id];
    if (!op.IsLoop()) return AddUse(value, region, out_.before[id]);
    const RegionId inner = op.region[0];
    if (op.opcode == Opcode::kWhile) return AddUse(value, inner, out_.begin[inner]);
    if (std::find(op.inits.begin(), op.inits.end(), value) == op.inits.end()) {
      AddUse(value, region, out_.begin[inner]);
      return;
    }
    AddUse(value, region, out_.before[id]);
    for (size_t i = 0; i < op.inits.size(); ++i) {
      if (op.inits[i] == value) continue;
      out_.apart.emplace_back(value, form_.regions[inner].arguments[form_.Counters(op) + i]);
    }
  }

  // What a loop uses from outside stays live through all of its iterations.
  void AddUse(ValueId value, RegionId region, uint32_t place) {
    const RegionId home = out_.definition[value].region;
    while (region != home) {
      const OpId owner = form_.regions[region].owner;
      const bool loop = form_.ops[owner].IsLoop();
      out_.range[value].push_back({out_.begin[region], loop ? out_.end[region] : place});
      place = out_.before[owner];
      region = form_.regions[region].parent;
    }
    out_.range[value].push_back({out_.defined_at[value], place});
  }

  static void Normalise(LiveRange& range) {
    std::sort(range.begin(), range.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    size_t kept = 0;
    for (const Interval& interval : range) {
      if (kept != 0 && interval.begin <= range[kept - 1].end) {
        range[kept - 1].end = std::max(range[kept - 1].end, interval.end);
      } else {
        range[kept++] = interval;
      }
    }
    range.resize(kept);
  }

  const Form& form_;
  LiveRanges out_;
  uint32_t place_ = 0;
};

}  // namespace

LiveRanges FindLiveRanges(const Form& form) { return Finder(form).Run(); }

bool Overlap(const LiveRange& a, const LiveRange& b) {
  const LiveRange& few = a.size() < b.size() ? a : b;
  const LiveRange& many = a.size() < b.size() ? b : a;
  return std::any_of(few.begin(), few.end(), [&](const Interval& interval) {
    const auto next =
        std::lower_bound(many.begin(), many.end(), interval.begin,
                         [](const Interval& i, uint32_t place) { return i.end < place; });
    return next != many.end() && next->begin <= interval.end;
  });
}

LiveRange Merged(const LiveRange& a, const LiveRange& b) {
  LiveRange out;
  out.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out),
             [](const Interval& x, const Interval& y) { return x.begin < y.begin; });
  return out;
}

}  // namespace tarsia::compiler::tile
