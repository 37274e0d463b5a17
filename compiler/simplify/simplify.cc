#include "compiler/simplify/simplify.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/simplify/transposed_loads.h"
#include "compiler/tile/carried.h"
#include "compiler/tile/same_type.h"
#include "isa/fold.h"
#include "isa/scalar_expr.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// Whether the results depend on the operands alone, and may be computed more or less often.
bool DependsOnOperandsAlone(const Form& form, const Operation& op) {
  const InstRow& row = op.row();
  if (op.HasRegions() || op.results.empty() || row.Allocates() != Space::kNone) return false;
  if (row.Has(kHasEffect) || row.Has(kAtomic) || row.Has(kAsynchronous) || row.Has(kCollective)) {
    return false;
  }
  for (const Operand& operand : op.operand) {
    if (operand.kind == Operand::Kind::kMemory) return false;
  }
  return std::all_of(op.results.begin(), op.results.end(),
                     [&](ValueId v) { return tile::CanBeCarried(form.TypeOf(v)); });
}

// Whether keeping the result costs more than computing it again.
bool IsCheap(const Operation& op) {
  return op.opcode == Opcode::kFill || op.opcode == Opcode::kIota;
}

// ---- copies, constants, common results -------------------------------------------------------

class Substitution {
 public:
  explicit Substitution(Form& form) : form_(form), folder_(form.pool) {
    for (ValueId v = 0; v < form.values.size(); ++v) value_.push_back(v);
    constant_.resize(form.values.size());
    says_extent_.resize(form.values.size());
    for (const Operation& op : form.ops) {
      tile::ForEachValue(form.pool, op.annotation.shape,
                         [this](ValueId v) { says_extent_[v] = 1; });
    }
  }

  void Run() { Visit(tile::kBody); }

 private:
  using Key = std::vector<uint32_t>;

  ValueId Now(ValueId value) const { return value_[value]; }

  void Visit(RegionId region) {
    std::vector<Key> scope;
    std::vector<OpId> kept;
    const std::vector<OpId> ops = form_.regions[region].ops;
    for (const OpId id : ops) {
      Update(form_.ops[id]);
      for (const RegionId inner : form_.ops[id].region) {
        if (inner != tile::kNone) Visit(inner);
      }
      if (!IsInlined(id, region, kept) && !IsReplaced(id, scope)) kept.push_back(id);
    }
    form_.regions[region].ops = std::move(kept);
    for (ValueId& yield : form_.regions[region].yields) yield = Now(yield);
    for (const Key& key : scope) known_.erase(key);
  }

  void Update(Operation& op) {
    tile::RenameUses(form_.pool, op, [this](ValueId v) { return ExprId::Value(Now(v)); });
    for (ValueId& init : op.inits) init = Now(init);
    const bool steps = op.opcode == Opcode::kFor;
    for (size_t i = 0; i < op.row().operands.size(); ++i) {
      Operand& operand = op.operand[i];
      const OperandKind kind = op.row().operands.items[i].kind;
      const bool exact = kind == OperandKind::kIndex || kind == OperandKind::kCondition;
      // A step of zero is an error where it is a constant.
      if (exact && !(steps && i == 2)) operand.expr = WithConstants(operand.expr);
      if (!operand.indices.none()) operand.indices = WithConstants(operand.indices);
    }
  }

  ExprId WithConstants(ExprId id) {
    return folder_.Fold(tile::Renamed(form_.pool, id, [this](ValueId v) {
      return constant_[v].none() ? ExprId::Value(v) : constant_[v];
    }));
  }

  // Whether the operations of the arm that an `if` takes for certain are at the end of `kept`, in
  // its place, so that passes see them beside the others.
  bool IsInlined(OpId id, RegionId into, std::vector<OpId>& kept) {
    const Operation& op = form_.ops[id];
    const RegionId arm = TakenArm(op);
    if (arm == tile::kNone) return false;
    tile::Region& from = form_.regions[arm];
    for (size_t i = 0; i < op.results.size(); ++i) value_[op.results[i]] = Now(from.yields[i]);
    for (const OpId moved : from.ops) {
      kept.push_back(moved);
      for (const RegionId inner : form_.ops[moved].region) {
        if (inner != tile::kNone) form_.regions[inner].parent = into;
      }
    }
    for (const RegionId dead : op.region) {
      form_.regions[dead].ops.clear();
      form_.regions[dead].yields.clear();
    }
    return true;
  }

  // kNone: nobody knows, or the `if` has to stay: what follows an arm that ends the block is never
  // reached, and tiles live as long as the arm that allocates them.
  [[nodiscard]] RegionId TakenArm(const Operation& op) const {
    if (op.opcode != Opcode::kIf) return tile::kNone;
    const std::optional<bool> taken = form_.pool.AsBool(op.operand[0].expr);
    if (!taken) return tile::kNone;
    const RegionId arm = op.region[*taken ? 0 : 1];
    const tile::Region& from = form_.regions[arm];
    const bool allocates = std::any_of(from.ops.begin(), from.ops.end(), [&](OpId inner) {
      return form_.ops[inner].row().Allocates() != Space::kNone;
    });
    if (allocates || form_.Ends(arm)) return tile::kNone;
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!SameTypes(op.results[i], from.yields[i])) return tile::kNone;
    }
    return arm;
  }

  // Whether another value takes the place of the results from now on.
  bool IsReplaced(OpId id, std::vector<Key>& scope) {
    const Operation& op = form_.ops[id];
    if (!DependsOnOperandsAlone(form_, op)) return false;
    const Operand& source = op.operand[0];
    if (op.opcode == Opcode::kMov) {
      if (source.IsValue() && SameTypes(op.results[0], source.value) && !MovesCheck(op)) {
        value_[op.results[0]] = source.value;
        return true;
      }
      if (source.kind == Operand::Kind::kConstant) NoteConstant(op.results[0], source.expr);
    }
    if (IsCheap(op)) return false;
    const auto [known, is_new] = known_.try_emplace(KeyOf(op), id);
    if (is_new) {
      scope.push_back(known->first);
      return false;
    }
    const std::vector<ValueId>& before = form_.ops[known->second].results;
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (!SameTypes(op.results[i], before[i])) return false;
    }
    for (size_t i = 0; i < op.results.size(); ++i) value_[op.results[i]] = before[i];
    return true;
  }

  // Extents that follow from parameters are checked by a launch, others where the view is made: a
  // copy of a parameter that says an extent stays, so that this stays as the author wrote it.
  [[nodiscard]] bool MovesCheck(const Operation& copy) const {
    const std::vector<ValueId>& parameters = form_.regions[tile::kBody].arguments;
    return says_extent_[copy.results[0]] != 0 &&
           std::find(parameters.begin(), parameters.end(), copy.operand[0].value) !=
               parameters.end();
  }

  [[nodiscard]] bool SameTypes(ValueId a, ValueId b) const {
    return tile::SameType(form_.TypeOf(a), form_.TypeOf(b));
  }

  // Only integers that the type holds as they are written.
  void NoteConstant(ValueId value, ExprId expr) {
    const std::optional<int64_t> number = form_.pool.AsInt(expr);
    const DType type = form_.TypeOf(value).dtype;
    if (!number || !type.IsInteger()) return;
    const auto code = static_cast<uint64_t>(*number) & CodeMask(type);
    if (CodeToInt(type, code) == *number) constant_[value] = expr;
  }

  static Key KeyOf(const Operation& op) {
    Key key = {static_cast<uint32_t>(op.opcode), static_cast<uint32_t>(op.annotation.space),
               op.annotation.dtype.raw(),        op.annotation.shape.raw(),
               op.annotation.layout.raw(),       op.annotation.bits.raw()};
    for (const Operand& operand : op.operand) {
      key.insert(key.end(), {static_cast<uint32_t>(operand.kind), operand.value, operand.expr.raw(),
                             operand.indices.raw()});
    }
    for (const ExprId attr : op.attr) key.push_back(attr.raw());
    return key;
  }

  Form& form_;
  Folder folder_;
  std::vector<ValueId> value_;        // by value: what stands in its place
  std::vector<ExprId> constant_;      // by value: none if it is not known
  std::vector<uint8_t> says_extent_;  // by value
  std::map<Key, OpId> known_;         // the visible operations
};

// ---- loops -----------------------------------------------------------------------------------

class Hoisting {
 public:
  explicit Hoisting(Form& form) : form_(form), home_(form.values.size(), tile::kNone) {
    const std::vector<tile::Definition> definitions = form.Definitions();
    for (ValueId v = 0; v < home_.size(); ++v) home_[v] = definitions[v].region;
  }

  void Run() { Visit(tile::kBody, false); }

 private:
  // Returns the operations that leave the region, in their order.
  std::vector<OpId> Visit(RegionId region, bool is_loop) {
    std::vector<OpId> left;
    std::vector<OpId> kept;
    const auto place = [&](OpId id) {
      const bool leaves = is_loop && CanLeave(id, region);
      (leaves ? left : kept).push_back(id);
      for (const ValueId result : form_.ops[id].results) {
        home_[result] = leaves ? form_.regions[region].parent : region;
      }
    };
    const std::vector<OpId> ops = form_.regions[region].ops;
    for (const OpId id : ops) {
      const bool loop = form_.ops[id].IsLoop();
      for (const RegionId inner : form_.ops[id].region) {
        if (inner == tile::kNone) continue;
        for (const OpId moved : Visit(inner, loop)) place(moved);
      }
      place(id);
    }
    form_.regions[region].ops = std::move(kept);
    return left;
  }

  [[nodiscard]] bool CanLeave(OpId id, RegionId region) const {
    const Operation& op = form_.ops[id];
    if (IsCheap(op) || !DependsOnOperandsAlone(form_, op)) return false;
    bool outside = true;
    tile::ForEachUse(form_, op, [&](ValueId v) { outside = outside && home_[v] != region; });
    return outside;
  }

  Form& form_;
  std::vector<RegionId> home_;  // by value: the region that defines it
};

// ---- unused results --------------------------------------------------------------------------

class Removal {
 public:
  explicit Removal(Form& form) : form_(form) {}

  // Until nothing changes: what only unused results use is unused.
  void Run() {
    do {
      tile::RemoveUnusedCarried(form_);
      used_.assign(form_.values.size(), 0);
      Mark();
    } while (Sweep());
  }

 private:
  void Use(ValueId value) { used_[value] = 1; }

  void Mark() {
    for (const tile::Region& region : form_.regions) {
      for (const OpId id : region.ops) {
        const Operation& op = form_.ops[id];
        tile::ForEachUse(form_, op, [this](ValueId v) { Use(v); });
        for (const ValueId init : op.inits) Use(init);
      }
      for (const ValueId yield : region.yields) Use(yield);
    }
  }

  bool Sweep() {
    size_t removed = 0;
    for (tile::Region& region : form_.regions) {
      removed += std::erase_if(region.ops, [this](OpId id) {
        const Operation& op = form_.ops[id];
        return DependsOnOperandsAlone(form_, op) &&
               std::none_of(op.results.begin(), op.results.end(),
                            [this](ValueId v) { return used_[v] != 0; });
      });
    }
    return removed != 0;
  }

  Form& form_;
  std::vector<uint8_t> used_;  // by value
};

}  // namespace

void Simplify(Form& form, Target /*target*/) {
  Substitution(form).Run();
  Hoisting(form).Run();
  Removal(form).Run();
  TransposeLoads(form);
}

}  // namespace tarsia::compiler
