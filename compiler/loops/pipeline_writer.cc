#include "compiler/loops/pipeline_writer.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/loops/pipeline_plan.h"
#include "compiler/plan_shared.h"
#include "compiler/tile/copier.h"
#include "compiler/tile/new_operations.h"
#include "layout/mem_layout.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

using tile::Copier;
using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// The stages of a load's elements, one after the other along dimension 0.
struct Ring {
  const RingLoad* load = nullptr;
  ValueId tile = kNone;
  ValueId copied = kNone;  // the tile, or a view of its bytes
  int64_t rows = 0;        // of a stage
};

// So many stages of a tile, each laid out like it.
std::optional<MemLayout> RingLayout(const MemLayout& stage, int64_t stages, int bits) {
  if (stage.IsPacked()) {
    Extents shape = stage.shape();
    shape[0] *= stages;
    const auto layout = MemLayout::Packed(stage.packed().tile, stage.packed().bits, shape);
    return layout.ok() ? std::optional(*layout) : std::nullopt;
  }
  if (!stage.swizzles().empty()) return std::nullopt;
  const int64_t unit = static_cast<int64_t>(kSharedTileAlignment) * 8;
  const auto size = static_cast<int64_t>(stage.SizeBits(bits));
  // Where rows of stages follow each other as those of one do, one stride is enough.
  const std::vector<MemLayout::Mode>& rows = stage.modes(0);
  const int64_t all = rows.empty() ? 0 : rows[0].extent * rows[0].stride * bits;
  const bool follows = all >= size && all % unit == 0;
  if (!follows && unit % bits != 0) return std::nullopt;
  Extents shape = stage.shape();
  Extents modes;
  Extents strides;
  for (int dim = 0; dim < stage.rank(); ++dim) {
    std::vector<MemLayout::Mode> of_dim = stage.modes(dim);
    if (dim == 0 && follows) {
      of_dim[0].extent *= stages;
    } else if (dim == 0) {
      of_dim.insert(of_dim.begin(), {stages, AlignUp(size, unit) / bits});
    }
    for (const MemLayout::Mode& mode : of_dim) {
      modes.push_back(mode.extent);
      strides.push_back(mode.stride);
    }
  }
  shape[0] *= stages;
  const auto layout = modes.size() == shape.size() ? MemLayout::Strided(shape, strides)
                                                   : MemLayout::Strided(shape, modes, strides);
  return layout.ok() ? std::optional(*layout) : std::nullopt;
}

// Rewrites one loop.
class PipelineWriter {
 public:
  PipelineWriter(Form& form, const PipelinePlan& plan, int64_t stages)
      : form_(form),
        plan_(plan),
        stages_(stages),
        ahead_(stages - 1),
        round_(RoundOf(plan, stages)),
        from_(form.ops[plan.loop].region[0]),
        counter_(form.regions[from_].arguments[0]),
        location_(form.ops[plan.loop].location) {}

  // At the end of a region, in place of the loop. False: a stage has a layout that no ring has.
  bool Run(RegionId into) {
    if (!AddRings(into)) return false;
    FindLeftOut();
    AddPrologue(into);
    std::vector<ValueId> carried = form_.ops[plan_.loop].inits;
    Copier copier(form_);
    const int64_t peeled = (ahead_ + round_ - 1) * plan_.bounds.step;
    const auto& turns = plan_.bounds.turns;
    if (!turns || *turns > ahead_ + round_ - 1) carried = AddSteady(peeled, carried, copier, into);
    carried = AddLast(peeled, carried, copier, into);
    AddCommit(into);
    AddWait(0, into);
    ReplaceResults(carried);
    return true;
  }

 private:
  // ---- rings -------------------------------------------------------------------------------

  bool AddRings(RegionId into) {
    return std::all_of(plan_.loads.begin(), plan_.loads.end(), [&](const RingLoad& load) {
      return load.view != kNone ? AddViewedRing(load, into) : AddRing(load, into);
    });
  }

  bool AddRing(const RingLoad& load, RegionId into) {
    const Operation& op = form_.ops[load.load];
    const ConcreteType like = form_.TypeOf(load.staged != kNone ? load.staged : op.results[0]);
    const auto stage = load.staged != kNone ? Apply(like.mem_layout, like.shape, like.dtype)
                                            : DenseLayout(form_.TypeOf(load.whole), like.shape);
    if (!stage.ok()) return false;
    const auto layout = RingLayout(*stage, stages_, like.dtype.bits);
    if (!layout) return false;
    ConcreteType type;
    type.kind = ValueKind::kTile;
    type.space = Space::kShared;
    type.dtype = like.dtype;
    type.shape = layout->shape();
    type.mem_layout = MemLayoutFamily::Of(*layout);
    const ValueId ring = tile::NewValue(form_, std::move(type), op.results[0]);
    const OpId allocation = tile::NewAllocation(form_, ring, location_);
    // The pass orders the accesses by itself.
    form_.ops[allocation].inserted = false;
    form_.regions[into].ops.push_back(allocation);
    rings_.push_back({&load, ring, ring, like.shape[0]});
    return true;
  }

  // Rows of codes, one after the other, and of their bytes.
  bool AddViewedRing(const RingLoad& load, RegionId into) {
    const ValueId ring = AddTaller(load.allocation, into);
    const ValueId bytes = AddTaller(load.view, into);
    form_.ops[form_.regions[into].ops.back()].operand[0].value = ring;
    rings_.push_back({&load, ring, bytes, form_.TypeOf(load.staged).shape[0]});
    return true;
  }

  // An operation that makes a tile in shared memory, for all stages of it.
  ValueId AddTaller(OpId id, RegionId into) {
    Operation op = form_.ops[id];
    ConcreteType type = form_.TypeOf(op.results[0]);
    type.shape[0] *= stages_;
    if (!type.shape_exprs.empty()) type.shape_exprs[0] = form_.pool.Int(type.shape[0]);
    std::vector<ExprId> extents;
    for (const int64_t extent : type.shape) extents.push_back(form_.pool.Int(extent));
    op.annotation.shape = form_.pool.List(extents);
    op.inserted = false;
    op.results = {tile::NewValue(form_, std::move(type), op.results[0])};
    const ValueId out = op.results[0];
    form_.regions[into].ops.push_back(static_cast<OpId>(form_.ops.size()));
    form_.ops.push_back(std::move(op));
    return out;
  }

  // Packed as the source, or without gaps, with the dimensions in the order of the source's
  // strides.
  static Result<MemLayout> DenseLayout(const ConcreteType& source, const Extents& shape) {
    const bool concrete = source.mem_layout.kind == MemLayoutFamily::Kind::kConcrete;
    if (concrete && source.mem_layout.concrete.IsPacked()) {
      const PackedTile& packed = source.mem_layout.concrete.packed();
      return MemLayout::Packed(packed.tile, packed.bits, shape);
    }
    auto whole = concrete ? Result<MemLayout>(source.mem_layout.concrete)
                          : Apply(source.mem_layout, shape, source.dtype);
    if (!whole.ok() || whole->IsPacked()) return whole;
    const auto stride_of = [&](size_t d) {
      const std::vector<MemLayout::Mode>& modes = whole->modes(static_cast<int>(d));
      return modes.empty() ? 0 : modes.back().stride;
    };
    std::vector<size_t> order(shape.size());  // the fastest last
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return stride_of(a) > stride_of(b); });
    Extents strides(shape.size());
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      // Where there is one element, any stride is right, and that of the source may be small.
      strides[order[i]] = stride;
      stride *= shape[order[i]];
    }
    return MemLayout::Strided(shape, strides);
  }

  // ---- single operations -------------------------------------------------------------------

  OpId Add(Operation op, RegionId into) {
    op.location = location_;
    form_.ops.push_back(std::move(op));
    form_.regions[into].ops.push_back(static_cast<OpId>(form_.ops.size() - 1));
    return form_.regions[into].ops.back();
  }

  void AddOf(Opcode opcode, RegionId into) {
    Operation op;
    op.opcode = opcode;
    Add(std::move(op), into);
  }
  void AddCommit(RegionId into) { AddOf(Opcode::kCopyCommit, into); }

  void AddWait(int64_t pending, RegionId into) {
    Operation op;
    op.opcode = Opcode::kCopyWait;
    op.operand[0].kind = Operand::Kind::kConstant;
    op.operand[0].role = Role::kIndex;
    op.operand[0].type = kI32;
    op.operand[0].expr = form_.pool.Int(pending);
    Add(std::move(op), into);
  }

  // An `if` without `else`; returns its block.
  RegionId AddIf(ExprId condition, RegionId into) {
    Operation op;
    op.opcode = Opcode::kIf;
    op.operand[0].kind = Operand::Kind::kExpr;
    op.operand[0].role = Role::kCondition;
    op.operand[0].type = kBoolType;
    op.operand[0].expr = condition;
    const OpId id = Add(std::move(op), into);
    for (RegionId& region : form_.ops[id].region) {
      region = static_cast<RegionId>(form_.regions.size());
      form_.regions.push_back({id, into, {}, {}, {}});
    }
    return form_.ops[id].region[0];
  }

  // Of the turn with this counter in a ring: the counter's turn modulo the stages. `known`: that
  // remainder, where the round says it.
  [[nodiscard]] ExprId StageOf(ExprId counter, std::optional<int64_t> known) {
    if (known) return form_.pool.Int(*known % stages_);
    ExprPool& pool = form_.pool;
    const ExprId start = plan_.bounds.start;
    if (pool.AsInt(start) != 0) counter = pool.Binary(BinaryOp::kSubtract, counter, start);
    if (plan_.bounds.step != 1) {
      counter = pool.Binary(BinaryOp::kDivide, counter, pool.Int(plan_.bounds.step));
    }
    return pool.Binary(BinaryOp::kModulo, counter, pool.Int(stages_));
  }

  // A place in a stage of a ring, at `within` of it, a list of indices; none: at its first element.
  Operand InRing(const Ring& ring, ExprId stage, Role role, ExprId within = ExprId()) {
    Operand out = tile::WholeOperand(form_, role == Role::kWritten ? ring.copied : ring.tile, role);
    const auto children = form_.pool.children(within.none() ? out.indices : within);
    std::vector<ExprId> indices(children.begin(), children.end());
    const auto number = form_.pool.AsInt(stage);
    const ExprId first =
        number           ? form_.pool.Int(*number * ring.rows)
        : ring.rows == 1 ? stage
                         : form_.pool.Binary(BinaryOp::kMultiply, stage, form_.pool.Int(ring.rows));
    indices[0] = form_.pool.AsInt(indices[0]) == 0
                     ? first
                     : form_.pool.Binary(BinaryOp::kAdd, first, indices[0]);
    out.indices = form_.pool.List(indices);
    return out;
  }

  // ---- copies ------------------------------------------------------------------------------

  // Those of the turn with this counter.
  void AddCopies(ExprId counter, ExprId stage, RegionId into) {
    Copier copier(form_);
    SetCounter(counter, copier, into);
    std::set<OpId> copied;
    for (const Ring& ring : rings_) {
      for (const OpId id : ring.load->address) {
        if (copied.insert(id).second) copier.Copy(id, into);
      }
      const Operation& load = form_.ops[ring.load->load];
      Operation op;
      op.opcode = Opcode::kCopyAsync;
      op.type = load.type;
      op.operand[1] = load.operand[0];
      std::vector<ExprId> extents;
      for (const int64_t extent : form_.TypeOf(load.results[0]).shape) {
        extents.push_back(form_.pool.Int(extent));
      }
      op.annotation.shape = form_.pool.List(extents);
      const auto to = op.row().AttrIndex(Attr::kCache);
      const auto from = load.row().AttrIndex(Attr::kCache);
      if (to && from) op.attr[*to] = load.attr[*from];
      op.operand[0] = InRing(ring, stage, Role::kWritten);
      const Location location = load.location;
      tile::RenameUses(form_.pool, op, [&](ValueId v) { return copier.Now(v); });
      form_.ops[Add(std::move(op), into)].location = location;
    }
  }

  void AddPrologue(RegionId into) {
    const CountedLoop& bounds = plan_.bounds;
    for (int64_t turn = 0; turn < ahead_; ++turn) {
      const ExprId counter = Plus(form_.pool, bounds.start, turn * bounds.step);
      RegionId block = into;
      if (!bounds.turns) {
        block = AddIf(form_.pool.Binary(BinaryOp::kLess, counter, bounds.stop), into);
      }
      AddCopies(counter, form_.pool.Int(turn), block);
      AddCommit(into);
    }
  }

  // ---- turns -------------------------------------------------------------------------------

  // Operations that the rings replace, and scalars and views that only their addresses need.
  void FindLeftOut() {
    for (const RingLoad& load : plan_.loads) {
      if (load.staged == kNone) continue;
      left_out_.insert({load.load, load.allocation, load.store, load.view});
    }
    std::vector<OpId> ops = form_.regions[from_].ops;
    std::set<ValueId> used(form_.regions[from_].yields.begin(), form_.regions[from_].yields.end());
    for (auto id = ops.rbegin(); id != ops.rend(); ++id) {
      const Operation& op = form_.ops[*id];
      const bool address =
          std::any_of(plan_.loads.begin(), plan_.loads.end(), [&](const RingLoad& load) {
            return std::find(load.address.begin(), load.address.end(), *id) != load.address.end();
          });
      if (address && used.count(op.results[0]) == 0) left_out_.insert(*id);
      if (left_out_.count(*id) == 0 && !RingOf(*id)) NoteUses(op, used);
    }
  }

  void NoteUses(const Operation& op, std::set<ValueId>& used) const {
    tile::ForEachUse(form_, op, [&](ValueId value) { used.insert(value); });
    used.insert(op.inits.begin(), op.inits.end());
    for (const RegionId region : op.region) {
      if (region == kNone) continue;
      used.insert(form_.regions[region].yields.begin(), form_.regions[region].yields.end());
      for (const OpId inner : form_.regions[region].ops) NoteUses(form_.ops[inner], used);
    }
  }

  // The ring of a load that stays a load, from there.
  [[nodiscard]] const Ring* RingOf(OpId load) const {
    for (const Ring& ring : rings_) {
      if (ring.load->load == load && ring.load->staged == kNone) return &ring;
    }
    return nullptr;
  }

  [[nodiscard]] const Ring* RingOfStaged(const Operation& op) const {
    if (op.opcode != Opcode::kLoad) return nullptr;
    for (const Ring& ring : rings_) {
      if (ring.load->staged != kNone && ring.load->staged == op.operand[0].value) return &ring;
    }
    return nullptr;
  }

  void SetCounter(ExprId counter, Copier& copier, RegionId into) {
    if (!counter.is_value() && tile::IsOperand(form_, from_, counter_)) {
      counter = ExprId::Value(tile::AddScalar(form_, copier.Fresh(counter_), counter, into));
    }
    copier.Set(counter_, counter);
  }

  // What a turn computes, from a stage; returns what it yields.
  std::vector<ValueId> AddTurn(ExprId counter, ExprId stage, const std::vector<ValueId>& carried,
                               Copier& copier, RegionId into) {
    SetCounter(counter, copier, into);
    const std::vector<ValueId> arguments = form_.regions[from_].arguments;
    for (size_t i = 0; i < carried.size(); ++i) {
      copier.Set(arguments[i + 1], ExprId::Value(carried[i]));
    }
    for (const OpId id : std::vector<OpId>(form_.regions[from_].ops)) {
      if (left_out_.count(id) != 0) continue;
      const Ring* const direct = RingOf(id);
      const Ring* const ring = direct != nullptr ? direct : RingOfStaged(form_.ops[id]);
      if (ring == nullptr) {
        copier.Copy(id, into);
        continue;
      }
      ExprId within;
      if (direct == nullptr) {
        within = tile::Renamed(form_.pool, form_.ops[id].operand[0].indices,
                               [&](ValueId v) { return copier.Now(v); });
      }
      const ValueId result = copier.Fresh(form_.ops[id].results[0]);
      const Location location = form_.ops[id].location;
      Operation load =
          tile::LoadOf(form_, InRing(*ring, stage, Role::kRead, within), result, location);
      load.inserted = false;
      form_.ops[Add(std::move(load), into)].location = location;
    }
    return copier.ValuesNow(form_.regions[from_].yields);
  }

  // After this, the elements of the turn are there, and the stage before it is free.
  void AddArrival(RegionId into) {
    AddWait(ahead_ - 1, into);
    AddOf(Opcode::kSync, into);
  }

  // The loop of whole rounds, of which every turn starts copies; returns what it carries to its
  // end.
  std::vector<ValueId> AddSteady(int64_t peeled, const std::vector<ValueId>& inits, Copier& copier,
                                 RegionId into) {
    const CountedLoop& bounds = plan_.bounds;
    const ExprId stop = Plus(form_.pool, bounds.stop, -peeled);
    const OpId loop =
        copier.CopyLoop(plan_.loop, bounds.start, stop, round_ * bounds.step, inits, into);
    SetHints(loop);
    const RegionId body = form_.ops[loop].region[0];
    const ExprId counter = ExprId::Value(form_.regions[body].arguments[0]);
    std::vector<ValueId> carried(form_.regions[body].arguments.begin() + 1,
                                 form_.regions[body].arguments.end());
    for (int64_t turn = 0; turn < round_; ++turn) {
      const bool known = round_ % stages_ == 0;
      const auto stage = [&](int64_t of) {
        return StageOf(Plus(form_.pool, counter, of * bounds.step),
                       known ? std::optional(of) : std::nullopt);
      };
      const ExprId now = Plus(form_.pool, counter, turn * bounds.step);
      const ExprId later = Plus(form_.pool, counter, (turn + ahead_) * bounds.step);
      AddArrival(body);
      AddCopies(later, stage(turn + ahead_), body);
      AddCommit(body);
      carried = AddTurn(now, stage(turn), carried, copier, body);
    }
    form_.regions[body].yields = std::move(carried);
    return form_.ops[loop].results;
  }

  // The turns that are left over, with what copies they still need.
  std::vector<ValueId> AddLast(int64_t peeled, const std::vector<ValueId>& inits, Copier& copier,
                               RegionId into) {
    const CountedLoop& bounds = plan_.bounds;
    const ExprId start = EndOfRounds(form_.pool, bounds, round_, peeled);
    const OpId loop = copier.CopyLoop(plan_.loop, start, bounds.stop, bounds.step, inits, into);
    SetHints(loop);
    const RegionId body = form_.ops[loop].region[0];
    const ExprId counter = ExprId::Value(form_.regions[body].arguments[0]);
    const std::vector<ValueId> carried(form_.regions[body].arguments.begin() + 1,
                                       form_.regions[body].arguments.end());
    AddArrival(body);
    if (round_ > 1) {
      const ExprId later = Plus(form_.pool, counter, ahead_ * bounds.step);
      const ExprId reached = form_.pool.Binary(BinaryOp::kLess, later, bounds.stop);
      AddCopies(later, StageOf(later, std::nullopt), AddIf(reached, body));
    }
    AddCommit(body);
    form_.regions[body].yields =
        AddTurn(counter, StageOf(counter, std::nullopt), carried, copier, body);
    return form_.ops[loop].results;
  }

  void SetHints(OpId loop) {
    Operation& op = form_.ops[loop];
    op.attr[*op.row().AttrIndex(Attr::kUnroll)] = form_.pool.Int(1);
    op.attr[*op.row().AttrIndex(Attr::kPipeline)] = form_.pool.Int(1);
  }

  void ReplaceResults(const std::vector<ValueId>& by) {
    const std::vector<ValueId>& results = form_.ops[plan_.loop].results;
    if (results.empty()) return;
    std::vector<ValueId> now(form_.values.size(), kNone);
    for (size_t i = 0; i < results.size(); ++i) now[results[i]] = by[i];
    tile::ReplaceValues(form_, now);
  }

  Form& form_;
  const PipelinePlan& plan_;
  const int64_t stages_;
  const int64_t ahead_;  // turns that copies begin before they are needed
  const int64_t round_;
  const RegionId from_;
  const ValueId counter_;
  const Location location_;
  std::vector<Ring> rings_;
  std::set<OpId> left_out_;
};

}  // namespace

bool WritePipeline(Form& form, const PipelinePlan& plan, int64_t stages, RegionId into) {
  return PipelineWriter(form, plan, stages).Run(into);
}

}  // namespace tarsia::compiler
