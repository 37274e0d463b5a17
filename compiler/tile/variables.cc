#include "compiler/tile/variables.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "compiler/tile/live_ranges.h"
#include "compiler/tile/same_type.h"

namespace tarsia::compiler::tile {
namespace {

// Sets of values that share a variable.
class Sharing {
 public:
  Sharing(const Form& form, const LiveRanges& live)
      : form_(form), live_(live), parent_(form.values.size()), range_(live.range) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }

  uint32_t Find(ValueId value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }

  bool Join(ValueId x, ValueId y) {
    uint32_t a = Find(x);
    uint32_t b = Find(y);
    if (a == b) return true;
    if (ReadOnly(x) || ReadOnly(y) || !SameType(form_.TypeOf(x), form_.TypeOf(y))) return false;
    if (Overlap(range_[a], range_[b]) || KeptApart(a, b)) return false;
    // The value that is defined first gives the variable its number.
    if (live_.defined_at[b] < live_.defined_at[a]) std::swap(a, b);
    parent_[b] = a;
    range_[a] = Merged(range_[a], range_[b]);
    range_[b].clear();
    return true;
  }

 private:
  // Parameters, counters and tiles in memory.
  [[nodiscard]] bool ReadOnly(ValueId value) const {
    if (!CanBeCarried(form_.TypeOf(value))) return true;
    const Definition& definition = live_.definition[value];
    if (definition.op != kNone) return false;
    const OpId owner = form_.regions[definition.region].owner;
    return owner == kNone || definition.index < form_.Counters(form_.ops[owner]);
  }

  bool KeptApart(uint32_t a, uint32_t b) {
    return std::any_of(live_.apart.begin(), live_.apart.end(), [&](const auto& pair) {
      const uint32_t x = Find(pair.first);
      const uint32_t y = Find(pair.second);
      return (x == a && y == b) || (x == b && y == a);
    });
  }

  const Form& form_;
  const LiveRanges& live_;
  std::vector<uint32_t> parent_;
  std::vector<LiveRange> range_;  // of the set, by its first value
};

class Assigner {
 public:
  explicit Assigner(const Form& form)
      : form_(form), live_(FindLiveRanges(form)), sharing_(form, live_) {}

  Variables Run() {
    JoinResults();
    JoinVersions();
    JoinCarried();
    for (ValueId value = 0; value < form_.values.size(); ++value) {
      out_.of.push_back(sharing_.Find(value));
    }
    FindDeclarations();
    return std::move(out_);
  }

 private:
  template <typename Visit>
  void ForEachBlock(const Visit& visit) {
    for (const Region& region : form_.regions) {
      for (const OpId id : region.ops) {
        if (form_.ops[id].HasRegions() && Alive(form_.ops[id])) visit(id);
      }
    }
  }

  // Whether the operation is reached from the body: its regions know their places.
  [[nodiscard]] bool Alive(const Operation& op) const { return live_.end[op.region[0]] != 0; }

  // The result of a loop is its argument after the last iteration: they never overlap.
  void JoinResults() {
    ForEachBlock([&](OpId id) {
      const Operation& op = form_.ops[id];
      for (size_t i = 0; op.IsLoop() && i < op.results.size(); ++i) {
        sharing_.Join(ArgumentOf(op, i), op.results[i]);
      }
    });
  }

  // Values of one variable of the author, in the order of the text. A value that is not visible
  // where the next one is defined cannot declare the variable for it.
  void JoinVersions() {
    std::vector<ValueId> order;
    for (ValueId value = 0; value < form_.values.size(); ++value) {
      if (form_.values[value].variable != kNone && Defined(value)) order.push_back(value);
    }
    std::stable_sort(order.begin(), order.end(), [&](ValueId a, ValueId b) {
      return live_.defined_at[a] < live_.defined_at[b];
    });
    std::unordered_map<uint32_t, ValueId> first;  // by variable
    for (const ValueId value : order) {
      const auto [known, is_new] = first.try_emplace(form_.values[value].variable, value);
      if (is_new) continue;
      const RegionId home = live_.definition[known->second].region;
      if (form_.Encloses(home, live_.definition[value].region)) {
        sharing_.Join(known->second, value);
      } else {
        known->second = value;
      }
    }
  }

  void JoinCarried() {
    ForEachBlock([&](OpId id) {
      const Operation& op = form_.ops[id];
      for (size_t i = 0; i < op.results.size(); ++i) {
        if (op.IsLoop()) sharing_.Join(op.inits[i], ArgumentOf(op, i));
        for (const RegionId inner : op.region) {
          if (inner == kNone || form_.regions[inner].yields.empty()) continue;
          sharing_.Join(op.results[i], form_.regions[inner].yields[i]);
        }
      }
    });
  }

  [[nodiscard]] ValueId ArgumentOf(const Operation& op, size_t i) const {
    return form_.regions[op.region[0]].arguments[form_.Counters(op) + i];
  }

  [[nodiscard]] bool Defined(ValueId value) const {
    return live_.definition[value].region != kNone;
  }

  // ---- declarations ------------------------------------------------------------------------

  // Where a variable gets values, and where it must be visible.
  struct Extent {
    uint32_t first_write = kNone;  // the place
    RegionId first_region = kNone;
    RegionId whole = kNone;  // encloses everything
  };

  void Write(uint32_t variable, RegionId region, uint32_t place) {
    Extent& extent = extents_[variable];
    Widen(extent, region);
    if (place >= extent.first_write) return;
    extent.first_write = place;
    extent.first_region = region;
  }

  void Widen(Extent& extent, RegionId region) const {
    if (extent.whole == kNone) extent.whole = region;
    while (!form_.Encloses(extent.whole, region)) extent.whole = form_.regions[extent.whole].parent;
  }

  void AddWrites(OpId id, RegionId region) {
    const Operation& op = form_.ops[id];
    for (const RegionId inner : op.region) {
      if (inner == kNone) continue;
      for (const Copy& copy : CopiesOf(out_, op.results, 0, form_.regions[inner].yields)) {
        Write(copy.to, inner, live_.end[inner]);
      }
    }
    for (const Copy& copy : CopiesOf(out_, op.results, 0, op.inits)) {
      Write(copy.to, region, live_.before[id]);
    }
  }

  void FindDeclarations() {
    extents_.resize(form_.values.size());
    out_.declared_before.resize(form_.ops.size());
    for (ValueId value = 0; value < form_.values.size(); ++value) {
      if (!Defined(value)) continue;
      const Definition& definition = live_.definition[value];
      const bool carried = definition.op != kNone && form_.ops[definition.op].HasRegions();
      if (carried || IsCarriedArgument(definition)) {
        Widen(extents_[out_.of[value]], definition.region);
      } else {
        Write(out_.of[value], definition.region, live_.defined_at[value]);
      }
    }
    for (RegionId region = 0; region < form_.regions.size(); ++region) {
      for (const OpId id : form_.regions[region].ops) {
        if (form_.ops[id].HasRegions() && Alive(form_.ops[id])) AddWrites(id, region);
      }
    }
    for (uint32_t variable = 0; variable < extents_.size(); ++variable) Declare(variable);
  }

  [[nodiscard]] bool IsCarriedArgument(const Definition& definition) const {
    if (definition.op != kNone) return false;
    const OpId owner = form_.regions[definition.region].owner;
    return owner != kNone && definition.index >= form_.Counters(form_.ops[owner]);
  }

  void Declare(uint32_t variable) {
    const Extent& extent = extents_[variable];
    if (extent.first_region == kNone || extent.first_region == extent.whole) return;
    RegionId region = extent.first_region;
    while (form_.regions[region].parent != extent.whole) region = form_.regions[region].parent;
    out_.declared_before[form_.regions[region].owner].push_back(variable);
  }

  const Form& form_;
  const LiveRanges live_;
  Sharing sharing_;
  Variables out_;
  std::vector<Extent> extents_;  // by variable
};

}  // namespace

Variables AssignVariables(const Form& form) { return Assigner(form).Run(); }

std::vector<Copy> CopiesOf(const Variables& variables, const std::vector<ValueId>& to, size_t first,
                           const std::vector<ValueId>& from) {
  std::vector<Copy> out;
  for (size_t i = 0; i < from.size(); ++i) {
    const uint32_t a = variables.of[to[first + i]];
    const uint32_t b = variables.of[from[i]];
    if (a != b) out.push_back({a, b});
  }
  return out;
}

}  // namespace tarsia::compiler::tile
