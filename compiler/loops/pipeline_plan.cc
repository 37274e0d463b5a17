#include "compiler/loops/pipeline_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/cost/cost.h"
#include "compiler/passes/accessed_memory.h"
#include "compiler/passes/layout_candidates.h"
#include "compiler/passes/shared_tiles.h"
#include "compiler/passes/via.h"
#include "compiler/select/mma.h"
#include "compiler/tile_layout.h"
#include "layout/access.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// `cp.async` moves no fewer.
constexpr int64_t kLeastCopyBits = 32;
// A round has as many turns as a ring has stages, so that the place of each stage is a constant,
// unless it has more instructions than this, by a rough count: they would not fit in the caches
// (128 KiB on sm_80, of 16 bytes each), with what is around the loop.
constexpr int64_t kMostInstructions = 4096;
// And unless the products of a turn, and the tiles that the loop carries beside them, take half of
// the registers of a thread: products of the next turn begin before those of this one are added,
// and ptxas keeps places and bounds in local memory.
constexpr int64_t kManySums = 128;
// The same with several products in a turn, of which they take half as many: ptxas has the operands
// of all at a time.
constexpr int64_t kMostInstructionsOfProducts = 3072;
// Without the hint: the bytes that a block has in flight, so that two blocks of a processor have
// the 32 KiB that cover the latency of memory, and the most stages.
constexpr int64_t kWantedInFlight = 16384;
constexpr int64_t kMostStages = 4;
// Elements of a product of tensor cores.
constexpr int64_t kProduct = int64_t{16} * 8 * 16;

class PipelinePlanner {
 public:
  PipelinePlanner(const Form& form, OpId loop, Target target, bool only_async)
      : form_(form),
        loop_(form.ops[loop]),
        body_(loop_.region[0]),
        target_(target),
        only_async_(only_async),
        roots_(FindRoots(form)),
        definitions_(form.Definitions()),
        memories_(form, target) {
    plan_.loop = loop;
  }

  // `wanted`: the hint; nothing: by cost.
  PipelinePlan Run(std::optional<int64_t> wanted) {
    const auto bounds = Counted(form_, loop_);
    if (!bounds || bounds->step < 0) {
      Block(plan_.loop, kNone,
            "its turns cannot be counted: the step is not a positive constant, "
            "or the bounds have 64 bits");
      return std::move(plan_);
    }
    plan_.bounds = *bounds;
    const OpId around = LoopAround();
    if (around != kNone && bounds->turns && *bounds->turns <= wanted.value_or(2)) {
      Block(
          plan_.loop, around,
          fmt::format("its {} turns are too few for copies that begin and end in each turn of the "
                      "loop around it",
                      *bounds->turns));
      return std::move(plan_);
    }
    if (!IsFree(body_)) return std::move(plan_);
    FindWrites(body_);
    for (const OpId id : form_.regions[body_].ops) {
      if (IsGlobalLoad(form_, form_.ops[id]) && MayComeAhead(form_.ops[id])) AddLoad(id);
    }
    if (plan_.loads.empty()) return std::move(plan_);
    plan_.reduces = Reduces();
    plan_.stages = wanted ? *wanted : StagesByCost();
    plan_.stages = std::min(plan_.stages, bounds->turns.value_or(plan_.stages));
    // Of two turns no loop remains, and both are side by side.
    if (!wanted && plan_.reduces && bounds->turns && *bounds->turns <= 2) plan_.stages = 0;
    if (plan_.stages < 2) plan_.stages = 0;
    plan_.instructions = CountInstructions(body_);
    CountSums();
    plan_.unroll = form_.pool.AsInt(loop_.attr[*loop_.row().AttrIndex(Attr::kUnroll)]).value_or(0);
    return std::move(plan_);
  }

 private:
  // As few as have enough in flight, in at most half of the shared memory of a processor.
  [[nodiscard]] int64_t StagesByCost() const {
    int64_t bytes = 0;  // of a turn
    for (const RingLoad& load : plan_.loads) {
      const ConcreteType& type = form_.TypeOf(form_.ops[load.load].results[0]);
      bytes += CeilDiv(type.Elements() * type.dtype.bits, int64_t{8});
    }
    int64_t stages = 2;
    const int64_t most = Row(target_).shared_bytes / 2;
    while (stages < kMostStages && (stages - 1) * bytes < kWantedInFlight &&
           (stages + 1) * bytes <= most) {
      ++stages;
    }
    return stages;
  }

  [[nodiscard]] OpId LoopAround() const {
    for (RegionId region = form_.regions[body_].parent; region != kNone;
         region = form_.regions[region].parent) {
      const OpId owner = form_.regions[region].owner;
      if (owner != kNone && form_.ops[owner].IsLoop()) return owner;
    }
    return kNone;
  }

  void Block(OpId op, OpId other, std::string why) {
    plan_.obstacles.push_back({op, other, std::move(why)});
  }

  // Whether groups of copies can be counted, and every turn ends.
  bool IsFree(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      const bool copies = op.row().Has(kAsynchronous) || op.opcode == Opcode::kCopyCommit ||
                          op.opcode == Opcode::kCopyWait;
      if (copies || op.row().Has(kEndsBlock)) {
        Block(plan_.loop, id,
              copies ? "it has asynchronous copies already" : "a turn may end the block");
        return false;
      }
      for (const RegionId inner : op.region) {
        if (inner != kNone && !IsFree(inner)) return false;
      }
    }
    return true;
  }

  void FindWrites(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      for (size_t i = 0; i < op.row().operands.size(); ++i) {
        const Role role = op.row().operands.items[i].role;
        if (op.operand[i].kind != Operand::Kind::kMemory) continue;
        if (role == Role::kWritten || role == Role::kUpdated) {
          writes_.emplace_back(roots_[op.operand[i].value], id);
        }
      }
      for (const RegionId inner : op.region) {
        if (inner != kNone) FindWrites(inner);
      }
    }
  }

  // Unless the author wants it in another way. A loop that is pipelined only because of its loads
  // with `via async` has no others come ahead.
  [[nodiscard]] bool MayComeAhead(const Operation& load) const {
    return ViaOf(form_, load).value_or(only_async_ ? Via::kRegisters : Via::kAsync) == Via::kAsync;
  }

  void AddLoad(OpId id) {
    const Operation& op = form_.ops[id];
    const ValueId root = roots_[op.operand[0].value];
    const auto write = std::find_if(writes_.begin(), writes_.end(),
                                    [&](const auto& entry) { return entry.first == root; });
    if (write != writes_.end()) {
      return Block(id, write->second, "the loop writes the same memory");
    }
    RingLoad load;
    load.load = id;
    load.whole = WholeOf(op.operand[0].value);
    std::set<OpId> address;
    OpId obstacle = kNone;
    tile::ForEachUse(form_, op, [&](ValueId value) {
      if (obstacle == kNone) obstacle = FindAddress(value, address);
    });
    if (obstacle != kNone) {
      return Block(id, obstacle, "its address depends on what an earlier turn computes");
    }
    load.address.assign(address.begin(), address.end());
    SortByPlace(load.address);
    FindStaged(load);
    const std::string why = WhyNotCopied(load);
    if (!why.empty()) return Block(id, kNone, why);
    plan_.loads.push_back(std::move(load));
  }

  // The tile of which another one is a slice.
  [[nodiscard]] ValueId WholeOf(ValueId tile) const {
    while (true) {
      const OpId made = definitions_[tile].op;
      if (made == kNone || form_.ops[made].opcode != Opcode::kSlice) return tile;
      tile = form_.ops[made].operand[0].value;
    }
  }

  // Adds the operations of the loop that compute a value of an address. Returns one whose result a
  // later turn cannot have early, or kNone.
  OpId FindAddress(ValueId value, std::set<OpId>& address) const {
    const tile::Definition& definition = definitions_[value];
    if (!form_.Encloses(body_, definition.region)) return kNone;
    if (definition.op == kNone) return definition.index == 0 ? kNone : plan_.loop;
    const Operation& op = form_.ops[definition.op];
    if (definition.region != body_ || !IsAddress(op)) return definition.op;
    OpId obstacle = kNone;
    tile::ForEachUse(form_, op, [&](ValueId used) {
      if (obstacle == kNone) obstacle = FindAddress(used, address);
    });
    if (obstacle == kNone) address.insert(definition.op);
    return obstacle;
  }

  // Scalars and views, which read no memory.
  [[nodiscard]] bool IsAddress(const Operation& op) const {
    if (op.HasRegions() || op.results.size() != 1 || op.row().Has(kHasEffect)) return false;
    const ConcreteType& type = form_.TypeOf(op.results[0]);
    if (op.row().MakesView()) return true;
    if (type.kind != ValueKind::kScalar) return false;
    return std::none_of(std::begin(op.operand), std::end(op.operand), [](const Operand& operand) {
      return operand.kind == Operand::Kind::kMemory || operand.IsTile();
    });
  }

  void SortByPlace(std::vector<OpId>& ops) const {
    const std::vector<OpId>& order = form_.regions[body_].ops;
    std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) {
      return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
    });
  }

  // The tile that a pass made to bring the elements to other threads, if nothing else uses them.
  void FindStaged(RingLoad& load) const {
    const ValueId loaded = form_.ops[load.load].results[0];
    const std::vector<OpId> users = UsersOf(loaded);
    if (users.size() != 1 || form_.ops[users[0]].opcode != Opcode::kStore) return;
    RingLoad found = load;
    found.store = users[0];
    const ValueId target = form_.ops[found.store].operand[0].value;
    OpId made = MadeHere(target);
    if (made != kNone && form_.ops[made].opcode == Opcode::kView) {
      if (UsersOf(target).size() != 1) return;
      found.view = made;
      made = MadeHere(form_.ops[made].operand[0].value);
    }
    if (made == kNone || form_.ops[made].opcode != Opcode::kAllocShared) return;
    found.allocation = made;
    found.staged = form_.ops[made].results[0];
    for (const OpId user : UsersOf(found.staged)) {
      if (user != found.store && user != found.view && !LoadsHere(user)) return;
    }
    load = found;
  }

  // The operation of a pass in the loop's body that makes a value.
  [[nodiscard]] OpId MadeHere(ValueId value) const {
    const tile::Definition& made = definitions_[value];
    const bool here = made.region == body_ && made.op != kNone && form_.ops[made.op].inserted;
    return here ? made.op : kNone;
  }

  [[nodiscard]] bool LoadsHere(OpId id) const {
    const std::vector<OpId>& ops = form_.regions[body_].ops;
    return form_.ops[id].opcode == Opcode::kLoad &&
           std::find(ops.begin(), ops.end(), id) != ops.end();
  }

  // Of a value that the body defines: what uses it there, and the loop itself if it is carried.
  [[nodiscard]] std::vector<OpId> UsersOf(ValueId value) const {
    std::vector<OpId> out;
    AddUsers(plan_.loop, value, out);
    return out;
  }

  void AddUsers(OpId owner, ValueId value, std::vector<OpId>& out) const {
    for (const RegionId region : form_.ops[owner].region) {
      if (region == kNone) continue;
      const tile::Region& r = form_.regions[region];
      for (const OpId id : r.ops) {
        const Operation& op = form_.ops[id];
        bool uses = std::find(op.inits.begin(), op.inits.end(), value) != op.inits.end();
        tile::ForEachUse(form_, op, [&](ValueId used) { uses = uses || used == value; });
        if (uses) out.push_back(id);
        AddUsers(id, value, out);
      }
      if (std::find(r.yields.begin(), r.yields.end(), value) != r.yields.end()) {
        out.push_back(owner);
      }
    }
  }

  // Of a thread in a turn, roughly: one for each element of a tile that it computes.
  [[nodiscard]] int64_t CountInstructions(RegionId region) const {
    const int64_t threads = form_.Warps() * kWarpThreads;
    int64_t sum = 0;
    for (const OpId id : form_.regions[region].ops) {
      const Operation& op = form_.ops[id];
      for (const RegionId inner : op.region) {
        if (inner != kNone) sum += CountInstructions(inner);
      }
      if (op.HasRegions() || op.results.empty()) continue;
      const ConcreteType& type = form_.TypeOf(op.results[0]);
      if (!IsRegisterTile(type) || IsConstant(op.results[0])) continue;
      const int64_t depth =
          op.opcode == Opcode::kDot ? form_.TypeOf(op.operand[0].value).shape.back() : 0;
      sum += depth != 0 ? CeilDiv(type.Elements() * depth * kWarpThreads, kProduct * threads)
                        : CeilDiv(type.Elements(), threads);
    }
    return sum;
  }

  // Products that the loop does not carry, but for those with constants, and the registers of a
  // thread for all and for the tiles that it carries beside them.
  void CountSums() {
    const tile::Region& body = form_.regions[body_];
    int64_t bits = 0;  // of all threads
    for (const OpId id : body.ops) {
      if (form_.ops[id].opcode != Opcode::kDot) continue;
      const Operation& dot = form_.ops[id];
      const ValueId product = dot.results[0];
      const auto& yields = body.yields;
      if (std::find(yields.begin(), yields.end(), product) == yields.end()) {
        bits += BitsOf(product);
        if (!IsConstant(dot.operand[1].value)) ++plan_.products;
      }
    }
    if (bits == 0) return;
    for (const ValueId value : body.yields) bits += BitsOf(value);
    plan_.sums = CeilDiv(bits, form_.Warps() * kWarpThreads * 32);
  }
  // Of a register tile; 0 for other values.
  [[nodiscard]] int64_t BitsOf(ValueId value) const {
    const ConcreteType& type = form_.TypeOf(value);
    return IsRegisterTile(type) ? type.Elements() * type.dtype.bits : 0;
  }

  // Whether LLVM knows every element: of what `unpack` adds to codes, and what is computed of that.
  [[nodiscard]] bool IsConstant(ValueId value) const {
    const tile::Definition& made = definitions_[value];
    if (made.op == kNone) return false;
    const Operation& op = form_.ops[made.op];
    if (op.opcode == Opcode::kUnpack) return made.index == 1;
    return op.row().family == Family::kElementwise && op.operand[0].IsTile() &&
           std::all_of(std::begin(op.operand), std::end(op.operand), [&](const Operand& operand) {
             return !operand.IsTile() || IsConstant(operand.value);
           });
  }

  [[nodiscard]] bool Reduces() const {
    const std::vector<OpId>& ops = form_.regions[body_].ops;
    return std::any_of(ops.begin(), ops.end(), [&](OpId id) {
      const Operation& op = form_.ops[id];
      return op.row().family == Family::kReduce && !IsOverBatch(op);
    });
  }
  // A sum of a few matrices of a batch, which a thread has side by side.
  [[nodiscard]] bool IsOverBatch(const Operation& op) const {
    if (op.opcode != Opcode::kReduceSum) return false;
    const ConcreteType& matrices = form_.TypeOf(op.operand[0].value);
    const auto last = static_cast<int64_t>(matrices.shape.size()) - 2;
    const ExprId axes = op.attr[*op.row().AttrIndex(Attr::kAxes)];
    const auto& list = form_.pool.children(axes);
    const bool in_front = std::all_of(list.begin(), list.end(), [&](ExprId axis) {
      const int64_t at = form_.pool.AsInt(axis).value_or(last);
      return at >= 0 && at < last;
    });
    const int64_t sums = form_.TypeOf(op.results[0]).Elements();
    return in_front && matrices.Elements() <= sums * kLongestThreadRow;
  }

  // Empty if asynchronous copies of at least 4 bytes bring the elements.
  [[nodiscard]] std::string WhyNotCopied(const RingLoad& load) const {
    const Operation& op = form_.ops[load.load];
    const ConcreteType& type = form_.TypeOf(op.results[0]);
    const AccessedMemory memory = memories_.Of(op);
    if (type.shape.empty() || type.Elements() == 0) return "it has no elements";
    if (memory.packed) {
      return HasWholePackedTiles(memory, type.shape)
                 ? ""
                 : "it is not known to have whole tiles of the packed order";
    }
    if (memory.fast < 0) return "neighbours in it are not neighbours in memory";
    if (load.staged != kNone && memories_.Of(form_.ops[load.store]).fast != memory.fast) {
      return "its elements are in another order in shared memory";
    }
    const int64_t row = type.shape[static_cast<size_t>(memory.fast)] * type.dtype.bits;
    if (row % kLeastCopyBits != 0) return "its rows are no whole words";
    if (WidestRun(memory) * type.dtype.bits < kLeastCopyBits) {
      return "its elements are not known to begin at multiples of 4 bytes";
    }
    return "";
  }

  const Form& form_;
  const Operation& loop_;
  const RegionId body_;
  const Target target_;
  const bool only_async_;
  const std::vector<ValueId> roots_;
  const std::vector<tile::Definition> definitions_;
  const AccessedMemories memories_;
  std::vector<std::pair<ValueId, OpId>> writes_;  // memory, and what writes it
  PipelinePlan plan_;
};

}  // namespace

namespace {

// Whether tensor cores compute the product.
bool IsOnTensorCores(const Form& form, const Operation& dot, Target target) {
  const auto type = [&](size_t i) -> const ConcreteType& {
    return form.TypeOf(dot.operand[i].value);
  };
  const auto layout = [&](size_t i) {
    return TileLayout::Padded(*type(i).reg_layout, type(i).shape);
  };
  for (const size_t i : {0, 1, 2}) {
    if (!dot.operand[i].IsTile() || !type(i).reg_layout) return false;
  }
  return SelectMma({type(0).dtype, type(1).dtype, type(2).dtype}, target, layout(0), layout(1),
                   layout(2))
      .has_value();
}

bool HasTensorDot(const Form& form, const std::vector<OpId>& ops, Target target) {
  return std::any_of(ops.begin(), ops.end(), [&](OpId id) {
    return form.ops[id].opcode == Opcode::kDot && IsOnTensorCores(form, form.ops[id], target);
  });
}

bool IsAsyncLoad(const Form& form, const Operation& op) {
  return IsGlobalLoad(form, op) && ViaOf(form, op) == Via::kAsync;
}

bool HasAsyncLoad(const Form& form, const std::vector<OpId>& ops) {
  return std::any_of(ops.begin(), ops.end(),
                     [&](OpId id) { return IsAsyncLoad(form, form.ops[id]); });
}

}  // namespace

bool IsPipelinedByDefault(const Form& form, OpId loop, Target target) {
  const Operation& op = form.ops[loop];
  if (op.opcode != Opcode::kFor || HintOf(form, op, Attr::kPipeline)) return false;
  const std::vector<OpId>& ops = form.regions[op.region[0]].ops;
  // An author who says when threads wait for each other has brought the tiles where they should be.
  const auto is_written = [&](OpId id) {
    return form.ops[id].opcode == Opcode::kSync && !form.ops[id].inserted;
  };
  if (HasAsyncLoad(form, ops)) return true;
  return std::none_of(ops.begin(), ops.end(), is_written) && HasTensorDot(form, ops, target);
}

std::optional<PipelinePlan> PlanPipeline(const Form& form, OpId loop, Target target) {
  const Operation& op = form.ops[loop];
  if (op.opcode != Opcode::kFor || form.Ends(op.region[0])) return std::nullopt;
  const bool by_cost = IsPipelinedByDefault(form, loop, target);
  const auto wanted = HintOf(form, op, Attr::kPipeline);
  if (!by_cost && (!wanted || *wanted < 2)) return std::nullopt;
  const std::vector<OpId>& ops = form.regions[op.region[0]].ops;
  const bool only_async = by_cost && !HasTensorDot(form, ops, target);
  PipelinePlan plan = PipelinePlanner(form, loop, target, only_async).Run(wanted);
  if (!by_cost) return plan;
  // Nobody asked for more than for loads with `via async`.
  const auto nobody = [&](const Obstacle& obstacle) {
    return obstacle.op == loop ? !HasAsyncLoad(form, ops)
                               : !IsAsyncLoad(form, form.ops[obstacle.op]);
  };
  plan.obstacles.erase(std::remove_if(plan.obstacles.begin(), plan.obstacles.end(), nobody),
                       plan.obstacles.end());
  return plan;
}

int64_t RoundOf(const PipelinePlan& plan, int64_t stages) {
  if (plan.unroll != 0) return plan.unroll;
  if (plan.reduces || plan.sums >= kManySums) return 1;
  const bool several = plan.products > 1 && plan.sums >= kManySums / 2;
  const int64_t most = several ? kMostInstructionsOfProducts : kMostInstructions;
  return plan.instructions * stages <= most ? stages : 1;
}

}  // namespace tarsia::compiler
