#include "compiler/tile/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/tile/same_type.h"

namespace tarsia::compiler::tile {
namespace {

class Verifier {
 public:
  explicit Verifier(const Form& form)
      : form_(form),
        defined_(form.values.size()),
        visible_(form.values.size()),
        op_seen_(form.ops.size()),
        region_seen_(form.regions.size()) {}

  std::string Run() {
    if (form_.regions.empty()) return "there is no body";
    if (form_.regions[kBody].owner != kNone || form_.regions[kBody].parent != kNone) {
      return "the body is inside of something";
    }
    if (form_.regions[kBody].arguments.size() != form_.header.params.size()) {
      return "the arguments of the body are not the parameters";
    }
    CheckRegion(kBody, kNone, kNone);
    return std::move(fault_);
  }

 private:
  template <typename... Args>
  void Fault(fmt::format_string<Args...> text, Args&&... args) {
    if (fault_.empty()) fault_ = fmt::format(text, std::forward<Args>(args)...);
  }

  std::string Describe(OpId id) const {
    return fmt::format("operation {} ({})", id, form_.ops[id].row().mnemonic);
  }

  // ---- values ------------------------------------------------------------------------------

  void Define(ValueId value) {
    if (value >= form_.values.size()) return Fault("value {} does not exist", value);
    if (form_.values[value].type >= form_.types.size()) return Fault("value {} has no type", value);
    if (std::exchange(defined_[value], 1) != 0) Fault("value {} has two definitions", value);
    visible_[value] = 1;
    scope_.push_back(value);
  }

  void Use(ValueId value, OpId user) {
    if (value < visible_.size() && visible_[value] != 0) return;
    Fault("{} uses value {}, which is not visible there", Describe(user), value);
  }

  void HideSince(size_t size) {
    for (; scope_.size() > size; scope_.pop_back()) visible_[scope_.back()] = 0;
  }

  // ---- regions -----------------------------------------------------------------------------

  void CheckRegion(RegionId id, OpId owner, RegionId parent) {
    if (id >= form_.regions.size()) return Fault("region {} does not exist", id);
    if (std::exchange(region_seen_[id], 1) != 0) return Fault("region {} has two owners", id);
    const Region& region = form_.regions[id];
    if (region.owner != owner || region.parent != parent) {
      return Fault("region {} does not know where it is", id);
    }
    const size_t scope = scope_.size();
    for (const ValueId argument : region.arguments) Define(argument);
    if (owner != kNone && form_.ops[owner].opcode == Opcode::kWhile && fault_.empty()) {
      CheckUses(owner);
    }
    for (const OpId op : region.ops) {
      if (!fault_.empty()) return;
      CheckPlaceOf(op, region);
      if (fault_.empty()) CheckOp(op, id);
    }
    if (fault_.empty()) {
      for (const ValueId yield : region.yields) Use(yield, owner);
    }
    HideSince(scope);
  }

  void CheckPlaceOf(OpId id, const Region& region) {
    if (id >= form_.ops.size()) return Fault("operation {} does not exist", id);
    if (std::exchange(op_seen_[id], 1) != 0) return Fault("{} stands in two places", Describe(id));
    if (form_.ops[id].row().Has(kEndsBlock) && id != region.ops.back()) {
      Fault("something follows {}", Describe(id));
    }
  }

  // ---- operations --------------------------------------------------------------------------

  void CheckOp(OpId id, RegionId region) {
    const Operation& op = form_.ops[id];
    CheckOperands(id);
    CheckAttributes(id);
    if (!fault_.empty()) return;
    if (op.opcode != Opcode::kWhile) CheckUses(id);
    for (const ValueId init : op.inits) Use(init, id);
    if (!fault_.empty()) return;
    if (op.row().Has(kOpensBlock)) {
      CheckRegionsOf(id, region);
    } else if (op.HasRegions() || op.region[1] != kNone || !op.inits.empty()) {
      Fault("{} has regions", Describe(id));
    } else if (op.results.size() != op.row().results.size()) {
      Fault("{} has {} results", Describe(id), op.results.size());
    }
    for (const ValueId result : op.results) Define(result);
    if (fault_.empty()) CheckTypes(id);
  }

  void CheckUses(OpId id) {
    ForEachUse(form_, form_.ops[id], [this, id](ValueId value) { Use(value, id); });
  }

  void CheckOperands(OpId id) {
    const Operation& op = form_.ops[id];
    const auto& rows = op.row().operands;
    for (size_t i = 0; i < kMaxOperands; ++i) {
      const Operand& operand = op.operand[i];
      const bool optional = i < rows.size() && rows.items[i].kind == OperandKind::kOptionalTile;
      if (i >= rows.size() ? operand.present() : !operand.present() && !optional) {
        return Fault("{}: operand {} is {}", Describe(id), i,
                     operand.present() ? "too many" : "left out");
      }
      if (operand.present() && operand.IsValue() == operand.expr.none()) continue;
      if (operand.present()) return Fault("{}: operand {} has two forms", Describe(id), i);
    }
  }

  void CheckAttributes(OpId id) {
    const Operation& op = form_.ops[id];
    for (size_t i = 0; i < kMaxAttrs; ++i) {
      if (op.attr[i].none()) continue;
      if (i >= op.row().attrs.size()) return Fault("{}: no attribute {}", Describe(id), i);
      if (form_.pool.UsesValues(op.attr[i])) {
        return Fault("{}: attribute {} is not constant", Describe(id), i);
      }
    }
  }

  // The kinds of operands and results; their finer rules are those of a program (ToProgram).
  void CheckTypes(OpId id) {
    const Operation& op = form_.ops[id];
    for (size_t i = 0; i < op.row().operands.size(); ++i) {
      const Operand& operand = op.operand[i];
      if (!operand.IsValue()) continue;
      const ConcreteType& type = form_.TypeOf(operand.value);
      const Operand::Kind kind = type.kind == ValueKind::kScalar ? Operand::Kind::kScalar
                                 : IsRegisterTile(type)          ? Operand::Kind::kTile
                                                                 : Operand::Kind::kMemory;
      if (operand.kind != kind) return Fault("{}: operand {} is of another kind", Describe(id), i);
    }
    if (op.HasRegions()) return;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const ConcreteType& type = form_.TypeOf(op.results[i]);
      const ResultKind kind = op.row().results.items[i].kind;
      if (kind == ResultKind::kTile ? !IsRegisterTile(type)
          : kind == ResultKind::kScalar
              ? type.kind != ValueKind::kScalar
              : (kind == ResultKind::kMemory || kind == ResultKind::kAllocated) &&
                    !IsMemoryTile(type)) {
        return Fault("{}: result {} is of another kind", Describe(id), i);
      }
    }
  }

  void CheckRegionsOf(OpId id, RegionId parent) {
    const Operation& op = form_.ops[id];
    const size_t wanted = op.opcode == Opcode::kIf ? 2 : 1;
    const size_t regions =
        static_cast<size_t>(2 - std::count(std::begin(op.region), std::end(op.region), kNone));
    if (regions != wanted || op.region[0] == kNone) {
      return Fault("{} has {} regions", Describe(id), regions);
    }
    for (size_t i = 0; i < wanted && fault_.empty(); ++i) {
      CheckRegion(op.region[i], id, parent);
      if (fault_.empty()) CheckCarried(id, op.region[i]);
    }
  }

  void CheckCarried(OpId id, RegionId region) {
    const Operation& op = form_.ops[id];
    const Region& r = form_.regions[region];
    const size_t count = op.results.size();
    const size_t counters = form_.Counters(op);
    if (op.inits.size() != (op.IsLoop() ? count : 0) ||
        r.arguments.size() != (op.IsLoop() ? counters + count : 0) ||
        r.yields.size() != (form_.Ends(region) ? 0 : count)) {
      return Fault("{} does not carry as many values everywhere", Describe(id));
    }
    for (size_t i = 0; i < count; ++i) {
      const ValueId result = op.results[i];
      if (result >= form_.values.size() || form_.values[result].type >= form_.types.size()) return;
      const bool same = (r.yields.empty() || SameAs(result, r.yields[i])) &&
                        (!op.IsLoop() || (SameAs(result, op.inits[i]) &&
                                          SameAs(result, r.arguments[counters + i])));
      if (!same) return Fault("{}: carried value {} changes its type", Describe(id), i);
      if (!CanBeCarried(form_.TypeOf(result))) {
        return Fault("{}: carried value {} is in memory", Describe(id), i);
      }
    }
  }

  [[nodiscard]] bool SameAs(ValueId a, ValueId b) const {
    return SameType(form_.TypeOf(a), form_.TypeOf(b));
  }

  const Form& form_;
  std::string fault_;
  std::vector<uint8_t> defined_;
  std::vector<uint8_t> visible_;
  std::vector<ValueId> scope_;
  std::vector<uint8_t> op_seen_;
  std::vector<uint8_t> region_seen_;
};

bool SameParameters(const Form& form, const Program& program) {
  const Kernel& before = program.kernel();
  const std::vector<ValueId>& values = form.regions[kBody].arguments;
  if (values.size() != before.params.size()) return false;
  if (form.header.params.size() != before.params.size()) return false;
  for (uint32_t i = 0; i < values.size(); ++i) {
    const Parameter& a = before.params[i];
    const Parameter& b = form.header.params[i];
    if (a.is_pointer != b.is_pointer || a.dtype != b.dtype || values[i] != i) return false;
    if (!SameType(form.TypeOf(i), program.type(i))) return false;
    if (form.pool.strings()[form.values[i].name] != before.ValueName(i)) return false;
  }
  return true;
}

}  // namespace

std::string FindFault(const Form& form) { return Verifier(form).Run(); }

// The pool of the form begins as a copy of the program's, so equal expressions have equal ids.
std::string FindChange(const Form& form, const Program& program) {
  const Kernel& before = program.kernel();
  const Kernel& after = form.header;
  if (form.pool.strings()[after.name] != program.name()) return "the kernel has another name";
  if (!SameParameters(form, program)) return "the parameters are others";
  if (!std::equal(std::begin(before.grid), std::end(before.grid), std::begin(after.grid))) {
    return "the grid is another";
  }
  if (before.warps != after.warps) return "the number of warps is another";
  if (!before.registers.none() && before.registers != after.registers) {
    return "the bound on the registers is another";
  }
  if (before.fast != after.fast) return "the rules for contraction are others";
  const auto same = [](const Assume& a, const Assume& b) {
    return a.condition == b.condition && a.alignment == b.alignment;
  };
  if (!std::equal(before.assumes.begin(), before.assumes.end(), after.assumes.begin(),
                  after.assumes.end(), same)) {
    return "the assumptions are others";
  }
  return "";
}

}  // namespace tarsia::compiler::tile
