#include "compiler/simplify/known_branches.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/tile/copier.h"
#include "compiler/tile/same_type.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

class KnownBranches {
 public:
  explicit KnownBranches(Form& form) : form_(form), now_(form.values.size(), kNone) {}

  void Run() {
    Visit(tile::kBody);
    // What a branch yields may be the result of one inside.
    for (ValueId& value : now_) {
      while (value != kNone && now_[value] != kNone) value = now_[value];
    }
    tile::ReplaceValues(form_, now_);
  }

 private:
  void Visit(RegionId region) {
    std::vector<OpId> ops;
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      for (const RegionId inner : {form_.ops[id].region[0], form_.ops[id].region[1]}) {
        if (inner != kNone) Visit(inner);
      }
      const RegionId taken = TakenBy(form_.ops[id]);
      if (taken == kNone) {
        ops.push_back(id);
      } else {
        Take(form_.ops[id], taken, region, ops);
      }
    }
    form_.regions[region].ops = std::move(ops);
  }

  // kNone: nobody knows, or it has to stay.
  [[nodiscard]] RegionId TakenBy(const Operation& op) const {
    if (op.opcode != Opcode::kIf) return kNone;
    const std::optional<bool> condition = form_.pool.AsBool(op.operand[0].expr);
    if (!condition) return kNone;
    const RegionId taken = op.region[*condition ? 0 : 1];
    const tile::Region& branch = form_.regions[taken];
    const bool allocates = std::any_of(branch.ops.begin(), branch.ops.end(), [&](OpId id) {
      return form_.ops[id].row().Allocates() != Space::kNone;
    });
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!tile::SameType(form_.TypeOf(op.results[i]), form_.TypeOf(branch.yields[i]))) {
        return kNone;
      }
    }
    return allocates ? kNone : taken;
  }

  void Take(const Operation& op, RegionId taken, RegionId into, std::vector<OpId>& ops) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      now_[op.results[i]] = form_.regions[taken].yields[i];
    }
    for (const OpId id : form_.regions[taken].ops) {
      ops.push_back(id);
      for (const RegionId inner : form_.ops[id].region) {
        if (inner != kNone) form_.regions[inner].parent = into;
      }
    }
    for (const RegionId branch : op.region) {
      form_.regions[branch].ops.clear();
      form_.regions[branch].yields.clear();
    }
  }

  Form& form_;
  std::vector<ValueId> now_;  // by value; kNone: itself
};

}  // namespace

void TakeKnownBranches(Form& form) { KnownBranches(form).Run(); }

}  // namespace tarsia::compiler
