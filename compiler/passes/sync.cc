#include "compiler/passes/sync.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/passes/shared.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// An access since the last barrier.
struct Pending {
  ValueId root = kNone;
  bool writes = false;
  bool earlier = false;  // to a tile of the same name in an earlier iteration
  // Of a write to a tile that asynchronous copies write: whether it is in a group, and whether that
  // has been waited for. Others have arrived.
  bool committed = false;
  bool arrived = true;
  friend auto operator<=>(const Pending&, const Pending&) = default;
};
using State = std::set<Pending>;

enum class Needed : uint8_t { kNothing, kBarrier, kWaitAndBarrier };

class Synchroniser {
 public:
  explicit Synchroniser(Form& form) : form_(form), roots_(FindRoots(form)) {
    for (const SharedAllocation& tile : PlacesOfShared(form)) tiles_.emplace(tile.value, tile);
    needed_.resize(form.ops.size());
  }

  void Run() {
    if (tiles_.empty()) return;
    for (RegionId region = 0; region < form_.regions.size(); ++region) RemoveInserted(region);
    Walk(tile::kBody, {});
    for (RegionId region = 0; region < form_.regions.size(); ++region) Insert(region);
  }

 private:
  // ---- hazards -----------------------------------------------------------------------------

  // The state after a region that begins in this one; notes what is needed before each operation.
  State Walk(RegionId region, State state) {
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      if (op.HasRegions()) {
        state = op.IsLoop() ? EnterLoop(id, state) : WalkBranches(op, state);
        continue;
      }
      if (op.opcode == Opcode::kSync) Release(state, false);
      if (op.opcode == Opcode::kCopyCommit) state = Committed(state);
      if (WaitsForAll(form_, op)) state = Arrived(state);
      if (op.row().Allocates() == Space::kShared) state = Earlier(op.results[0], state);
      needed_[id] = NeededBefore(op, state);
      if (needed_[id] != Needed::kNothing) {
        Release(state, needed_[id] == Needed::kWaitAndBarrier);
      }
      AddAccesses(op, state);
    }
    return state;
  }

  State WalkBranches(const Operation& op, const State& state) {
    State out = Walk(op.region[0], state);
    const State other = Walk(op.region[1], state);
    out.insert(other.begin(), other.end());
    return out;
  }

  // A barrier in front of the loop, if it saves one inside.
  State EnterLoop(OpId id, const State& state) {
    const RegionId body = form_.ops[id].region[0];
    needed_[id] = Needed::kNothing;
    const State after = WalkLoop(form_.ops[id], state);
    const size_t inside = CountNeeded(body);
    if (inside == 0 || state.empty()) return after;
    const State released = WalkLoop(form_.ops[id], {});
    if (CountNeeded(body) == inside) return WalkLoop(form_.ops[id], state);
    const bool copied = std::any_of(state.begin(), state.end(),
                                    [&](const Pending& pending) { return !pending.arrived; });
    needed_[id] = copied ? Needed::kWaitAndBarrier : Needed::kBarrier;
    return released;
  }

  [[nodiscard]] size_t CountNeeded(RegionId region) const {
    size_t out = 0;
    for (const OpId id : form_.regions[region].ops) {
      if (needed_[id] != Needed::kNothing) ++out;
      for (const RegionId inner : form_.ops[id].region) {
        if (inner != kNone) out += CountNeeded(inner);
      }
    }
    return out;
  }

  // Its body begins in the state before the loop or in its own last one.
  State WalkLoop(const Operation& op, State state) {
    while (true) {
      const size_t known = state.size();
      const State after = Walk(op.region[0], state);
      state.insert(after.begin(), after.end());
      if (state.size() == known) return state;
    }
  }

  // A barrier orders accesses, but for copies that have not arrived.
  static void Release(State& state, bool waited) {
    std::erase_if(state, [&](const Pending& pending) { return waited || pending.arrived; });
  }

  template <typename Change>
  static State Changed(const State& state, const Change& change) {
    State out;
    for (Pending pending : state) {
      change(pending);
      out.insert(pending);
    }
    return out;
  }

  static State Committed(const State& state) {
    return Changed(state, [](Pending& pending) { pending.committed = !pending.arrived; });
  }

  static State Arrived(const State& state) {
    return Changed(state, [](Pending& pending) {
      pending.arrived = pending.arrived || pending.committed;
      pending.committed = false;
    });
  }

  static State Earlier(ValueId tile, const State& state) {
    return Changed(state, [&](Pending& pending) {
      pending.earlier = pending.earlier || pending.root == tile;
    });
  }

  [[nodiscard]] Needed NeededBefore(const Operation& op, const State& state) const {
    Needed out = Needed::kNothing;
    ForEachAccess(op, [&](ValueId root, bool writes) {
      for (const Pending& pending : state) {
        if (!Conflict(pending, root, writes)) continue;
        out = std::max(out, pending.arrived ? Needed::kBarrier : Needed::kWaitAndBarrier);
      }
    });
    return out;
  }

  [[nodiscard]] bool Conflict(const Pending& pending, ValueId root, bool writes) const {
    if (!pending.writes && !writes) return false;
    const SharedAllocation& tile = tiles_.at(root);
    const SharedAllocation& other = tiles_.at(pending.root);
    // Accesses to a tile of the text are ordered by the text.
    const bool ours = pending.root != root || pending.earlier || form_.ops[tile.op].inserted;
    return ours && ShareBytes(tile, other);
  }

  void AddAccesses(const Operation& op, State& state) const {
    ForEachAccess(op, [&](ValueId root, bool writes) {
      const bool arrives_later = writes && tiles_.at(root).copied;
      state.insert({root, writes, false, false, !arrives_later});
    });
  }

  // To tiles in shared memory. One that reads and writes counts as both.
  template <typename Each>
  void ForEachAccess(const Operation& op, const Each& each) const {
    for (size_t i = 0; i < op.row().operands.size(); ++i) {
      const Operand& operand = op.operand[i];
      if (operand.kind != Operand::Kind::kMemory) continue;
      const Role role = op.row().operands.items[i].role;
      const ValueId root = roots_[operand.value];
      if (tiles_.count(root) == 0 || role == Role::kViewed) continue;
      if (role == Role::kRead || role == Role::kUpdated) each(root, false);
      if (role == Role::kWritten || role == Role::kUpdated) each(root, true);
    }
  }

  // ---- barriers ----------------------------------------------------------------------------

  void RemoveInserted(RegionId region) {
    std::vector<OpId>& ops = form_.regions[region].ops;
    ops.erase(std::remove_if(ops.begin(), ops.end(),
                             [&](OpId id) {
                               const Operation& op = form_.ops[id];
                               return op.opcode == Opcode::kSync && op.inserted;
                             }),
              ops.end());
  }

  void Insert(RegionId region) {
    std::vector<OpId> out;
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      const Needed needed = needed_[id];
      if (needed == Needed::kWaitAndBarrier) {
        out.push_back(NewOp(Opcode::kCopyCommit, id));
        out.push_back(NewOp(Opcode::kCopyWait, id));
      }
      if (needed != Needed::kNothing) out.push_back(NewOp(Opcode::kSync, id));
      out.push_back(id);
    }
    form_.regions[region].ops = std::move(out);
  }

  OpId NewOp(Opcode opcode, OpId before) {
    Operation op;
    op.opcode = opcode;
    op.location = form_.ops[before].location;
    op.inserted = true;
    if (opcode == Opcode::kCopyWait) {
      op.operand[0].kind = Operand::Kind::kConstant;
      op.operand[0].role = Role::kIndex;
      op.operand[0].type = kI32;
      op.operand[0].expr = form_.pool.Int(0);
    }
    form_.ops.push_back(std::move(op));
    needed_.push_back(Needed::kNothing);
    return static_cast<OpId>(form_.ops.size() - 1);
  }

  Form& form_;
  const std::vector<ValueId> roots_;
  std::map<ValueId, SharedAllocation> tiles_;
  std::vector<Needed> needed_;  // by operation: before it
};

}  // namespace

void Synchronise(Form& form, Target /*target*/) { Synchroniser(form).Run(); }

}  // namespace tarsia::compiler
