#include "compiler/tile/carried.h"

#include <utility>

namespace tarsia::compiler::tile {
namespace {

class Sweep {
 public:
  explicit Sweep(Form& form)
      : form_(form), definitions_(form.Definitions()), used_(form.values.size()) {}

  void Run() {
    MarkOperands(kBody);
    while (!open_.empty()) {
      const ValueId value = open_.back();
      open_.pop_back();
      MarkSources(definitions_[value]);
    }
    Remove(kBody);
  }

 private:
  void Mark(ValueId value) {
    if (std::exchange(used_[value], 1) == 0) open_.push_back(value);
  }

  void MarkOperands(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      ForEachUse(form_, op, [this](ValueId value) { Mark(value); });
      for (const RegionId inner : op.region) {
        if (inner != kNone) MarkOperands(inner);
      }
    }
  }

  // What a carried value comes from.
  void MarkSources(const Definition& definition) {
    OpId id = definition.op;
    size_t slot = definition.index;
    if (id == kNone) {
      id = form_.regions[definition.region].owner;
      if (id == kNone) return;  // a parameter
      const size_t counters = form_.Counters(form_.ops[id]);
      if (slot < counters) return;
      slot -= counters;
    }
    const Operation& op = form_.ops[id];
    if (!op.HasRegions()) return;
    Mark(op.results[slot]);
    if (op.IsLoop()) {
      Mark(op.inits[slot]);
      Mark(form_.regions[op.region[0]].arguments[form_.Counters(op) + slot]);
    }
    for (const RegionId inner : op.region) {
      if (inner == kNone) continue;
      const std::vector<ValueId>& yields = form_.regions[inner].yields;
      if (slot < yields.size()) Mark(yields[slot]);
    }
  }

  void Remove(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      Operation& op = form_.ops[id];
      if (op.HasRegions()) RemoveFrom(op);
    }
  }

  void RemoveFrom(Operation& op) {
    std::vector<bool> keep;
    for (const ValueId result : op.results) keep.push_back(used_[result] != 0);
    Keep(keep, 0, op.results);
    Keep(keep, 0, op.inits);
    for (const RegionId inner : op.region) {
      if (inner == kNone) continue;
      Keep(keep, form_.Counters(op), form_.regions[inner].arguments);
      Keep(keep, 0, form_.regions[inner].yields);
      Remove(inner);
    }
  }

  // `first`: the entries before it stay.
  static void Keep(const std::vector<bool>& keep, size_t first, std::vector<ValueId>& list) {
    if (list.size() <= first) return;
    size_t kept = first;
    for (size_t i = first; i < list.size(); ++i) {
      if (keep[i - first]) list[kept++] = list[i];
    }
    list.resize(kept);
  }

  Form& form_;
  const std::vector<Definition> definitions_;
  std::vector<uint8_t> used_;  // by value
  std::vector<ValueId> open_;
};

}  // namespace

void RemoveUnusedCarried(Form& form) { Sweep(form).Run(); }

}  // namespace tarsia::compiler::tile
