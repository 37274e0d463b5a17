#include "compiler/passes/coalesce.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/cost/cost.h"
#include "compiler/passes/access_layouts.h"
#include "compiler/passes/accessed_memory.h"
#include "compiler/passes/shared_tiles.h"
#include "compiler/passes/via.h"
#include "compiler/plan_shared.h"
#include "compiler/tile/new_operations.h"
#include "layout/access.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;
using tile::OpId;
using tile::RegionId;
using tile::ValueId;

// Codes that fill whole bytes, as few as there are.
int64_t CodesInBytes(DType type) { return 8 / std::gcd(8, type.bits); }

// ---- the same memory as bytes ------------------------------------------------------------------

// The last extent or index in bytes.
Extents ShapeOfBytes(Extents shape, DType type) {
  shape.back() = shape.back() * type.bits / 8;
  return shape;
}

AccessedMemory MemoryOfBytes(AccessedMemory memory) {
  const int bits = memory.type.bits;
  const auto scale = [&](int64_t& number) { number = number * bits / 8; };
  scale(memory.begins.back());
  scale(memory.extents.back());
  for (size_t d = 0; d + 1 < memory.strides.size(); ++d) {
    if (memory.strides[d] != AccessedMemory::kFar) scale(memory.strides[d]);
    scale(memory.stride_divisors[d]);
  }
  memory.type = kU8;
  return memory;
}

// A whole tile in shared memory, row by row.
AccessedMemory SharedMemoryOf(const Extents& shape, DType type, bool is_load) {
  AccessedMemory out;
  out.space = Space::kShared;
  out.type = type;
  out.fast = static_cast<int>(shape.size()) - 1;
  out.is_load = is_load;
  out.begins.assign(shape.size(), 0);
  out.extents = shape;
  out.strides.assign(shape.size(), 1);
  for (size_t d = shape.size() - 1; d-- > 0;) out.strides[d] = out.strides[d + 1] * shape[d + 1];
  out.stride_divisors = out.strides;
  return out;
}

bool IsRowMajor(const ConcreteType& type) {
  return type.mem_layout.kind == MemLayoutFamily::Kind::kRowMajor &&
         type.mem_layout.swizzles.empty();
}

// Views of memory as bytes, made where they are first wanted.
class ByteViews {
 public:
  ByteViews(Form& form, const AccessedMemories& memories)
      : form_(form), memories_(memories), definitions_(form.Definitions()) {}

  // Whether there is one of a tile in memory whose accesses begin at such codes.
  [[nodiscard]] bool Has(ValueId memory) const {
    while (true) {
      const ConcreteType& type = form_.TypeOf(memory);
      if (type.space != Space::kGlobal || type.dtype.bits >= 8 || !IsRowMajor(type)) return false;
      if (type.shape.empty() || type.shape.back() < 0) return false;
      if (type.shape.back() % CodesInBytes(type.dtype) != 0) return false;
      const Operation& from = form_.ops[definitions_[memory].op];
      if (from.opcode == Opcode::kView || from.row().Allocates() == Space::kGlobal) return true;
      if (from.opcode != Opcode::kSlice) return false;
      if (!IsWhole(from.operand[0].indices, type.dtype)) return false;
      memory = from.operand[0].value;
    }
  }
  [[nodiscard]] bool IsWhole(ExprId indices, DType type) const {
    return memories_.DivisorOf(form_.pool.children(indices).back()) % CodesInBytes(type) == 0;
  }

  ValueId Of(ValueId memory) {
    const auto known = views_.find(memory);
    if (known != views_.end()) return known->second;
    const OpId source = definitions_[memory].op;
    const DType dtype = form_.TypeOf(memory).dtype;
    Operation view;
    view.opcode = Opcode::kView;
    view.type = kU8;
    view.location = form_.ops[source].location;
    if (form_.ops[source].opcode == Opcode::kSlice) {
      view = form_.ops[source];
      view.operand[0].indices = Bytes(view.operand[0].indices, dtype);
      view.operand[0].value = Of(view.operand[0].value);
      view.operand[0].type = view.type = kU8;
    } else {
      view.operand[0].kind = Operand::Kind::kMemory;
      view.operand[0].role = Role::kViewed;
      view.operand[0].type = dtype;
      view.operand[0].value = memory;
      view.annotation = form_.ops[source].annotation;
      // Rows are what it means anyway, and only tiles that do not say so have other views.
      form_.ops[source].annotation.layout = view.annotation.layout = ExprId();
      view.annotation.dtype = form_.pool.Type(kU8);
    }
    view.annotation.shape = Bytes(view.annotation.shape, dtype);
    ConcreteType type = form_.TypeOf(memory);
    type.dtype = kU8;
    type.shape = ShapeOfBytes(type.shape, dtype);
    if (!type.shape_exprs.empty()) type.shape_exprs.back() = form_.pool.Int(type.shape.back());
    const ValueId out = tile::NewValue(form_, std::move(type), memory);
    view.results = {out};
    after_[source].push_back(tile::NewOperation(form_, std::move(view)));
    views_[memory] = out;
    return out;
  }

  // The operand as bytes.
  Operand Of(const Operand& memory) {
    Operand out = memory;
    const DType type = form_.TypeOf(memory.value).dtype;
    out.indices = Bytes(memory.indices, type);
    out.value = Of(memory.value);
    out.type = kU8;
    return out;
  }

  // The last of a list of indices or extents in bytes.
  ExprId Bytes(ExprId list, DType type) {
    const auto children = form_.pool.children(list);
    std::vector<ExprId> items(children.begin(), children.end());
    items.back() = BytesOf(items.back(), type);
    return form_.pool.List(items);
  }

  // The views, behind what they are made of.
  void Insert() { tile::InsertBehind(form_, after_); }

 private:
  // A number of codes that fill bytes.
  ExprId BytesOf(ExprId codes, DType type) {
    ExprPool& pool = form_.pool;
    const int bits = type.bits;
    if (const auto number = pool.AsInt(codes)) return pool.Int(*number * bits / 8);
    if (!codes.is_value() && pool.kind(codes) == ExprKind::kBinary) {
      const ExprId left = pool.children(codes)[0];
      const auto factor = pool.AsInt(pool.children(codes)[1]);
      const bool product =
          static_cast<BinaryOp>(pool.node(codes).code) == BinaryOp::kMultiply && factor;
      if (product && *factor * bits % 8 == 0) {
        return pool.Binary(BinaryOp::kMultiply, left, pool.Int(*factor * bits / 8));
      }
    }
    const int64_t whole = CodesInBytes(type);
    const ExprId units = pool.Binary(BinaryOp::kDivide, codes, pool.Int(whole));
    return pool.Binary(BinaryOp::kMultiply, units, pool.Int(whole * bits / 8));
  }

  Form& form_;
  const AccessedMemories& memories_;
  const std::vector<tile::Definition> definitions_;
  std::map<ValueId, ValueId> views_;
  std::map<OpId, std::vector<OpId>> after_;
};

// ---- the pass ----------------------------------------------------------------------------------

class Coalescing {
 public:
  Coalescing(Form& form, Target target)
      : form_(form),
        target_(target),
        memories_(form, target),
        views_(form, memories_),
        most_(static_cast<uint64_t>(Row(target).shared_bytes) - kLeastScratch),
        threads_(kWarpThreads * form.Warps()) {
    for (const SharedAllocation& tile : FindSharedAllocations(form)) used_ += tile.bytes;
    FindUses();
  }

  void Run() {
    Visit(tile::kBody);
    views_.Insert();
  }

 private:
  void FindUses() {
    uses_.resize(form_.values.size());
    for (const tile::Region& region : form_.regions) {
      for (const OpId id : region.ops) {
        const Operation& op = form_.ops[id];
        tile::ForEachUse(form_, op, [&](ValueId value) { uses_[value].push_back(id); });
        for (const ValueId init : op.inits) uses_[init].push_back(kNone);
      }
      for (const ValueId yield : region.yields) uses_[yield].push_back(kNone);
    }
  }

  // Tiles of a region live beside those of the regions around it.
  void Visit(RegionId region) {
    const uint64_t before = used_;
    std::vector<OpId> ops;
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      if (IsNarrow(form_.ops[id]) && !CopyAsBytes(id)) {
        if (form_.ops[id].opcode == Opcode::kLoad) {
          Load(id, ops);
        } else {
          Store(id, ops);
        }
      }
      ops.push_back(id);
    }
    form_.regions[region].ops = std::move(ops);
    for (const OpId id : std::vector<OpId>(form_.regions[region].ops)) {
      for (const RegionId inner : std::vector<RegionId>(std::begin(form_.ops[id].region),
                                                        std::end(form_.ops[id].region))) {
        if (inner != kNone) Visit(inner);
      }
    }
    used_ = before;
  }

  static ValueId MovedBy(const Operation& op) {
    return op.opcode == Opcode::kLoad ? op.results[0] : op.operand[1].value;
  }

  // Whether it moves a tile of codes of fewer than 8 bits that could move as bytes.
  [[nodiscard]] bool IsNarrow(const Operation& op) const {
    if (op.opcode != Opcode::kLoad && op.opcode != Opcode::kStore) return false;
    if (MovedBy(op) == kNone || !views_.Has(op.operand[0].value)) return false;
    const ConcreteType& tile = form_.TypeOf(MovedBy(op));
    if (tile.kind != ValueKind::kTile || tile.reg_layout || tile.bit_layout) return false;
    if (tile.Elements() == 0 || tile.shape.back() % CodesInBytes(tile.dtype) != 0) return false;
    return views_.IsWhole(op.operand[0].indices, tile.dtype);
  }

  // ---- costs -------------------------------------------------------------------------------

  // Of accesses to several tiles in memory in one layout, the best there is.
  [[nodiscard]] Cost CostOf(const std::vector<AccessedMemory>& memories,
                            const Extents& shape) const {
    std::optional<Cost> best;
    for (const AccessedMemory& of : memories) {
      for (const TileLayout& layout : LayoutsOfRuns(of, shape, threads_)) {
        Work work;
        for (const AccessedMemory& memory : memories) work += AccessWork(memory, layout);
        const Cost cost = CyclesOf(work, target_);
        best = best ? std::min(*best, cost) : cost;
      }
    }
    return best.value_or(0);
  }

  [[nodiscard]] bool IsCheaperThroughShared(const Operation& op) const {
    const AccessedMemory memory = memories_.Of(op);
    const Extents& shape = form_.TypeOf(MovedBy(op)).shape;
    const Extents bytes = ShapeOfBytes(shape, memory.type);
    const bool loads = memory.is_load;
    Work barriers;
    barriers.barriers = 2;
    const Cost staged = CostOf({MemoryOfBytes(memory), SharedMemoryOf(bytes, kU8, !loads)}, bytes) +
                        CostOf({SharedMemoryOf(shape, memory.type, loads)}, shape) +
                        CyclesOf(barriers, target_);
    return staged < CostOf({memory}, shape);
  }

  // ---- copies ------------------------------------------------------------------------------

  // A load whose tile is only stored, with its stores.
  bool CopyAsBytes(OpId load) {
    if (form_.ops[load].opcode != Opcode::kLoad) return false;
    const ValueId tile = form_.ops[load].results[0];
    const std::vector<OpId>& stores = uses_[tile];
    const auto may = [&](OpId id) { return id != kNone && IsNarrow(form_.ops[id]); };
    if (stores.empty() || !std::all_of(stores.begin(), stores.end(), may)) return false;
    std::vector<AccessedMemory> codes = {memories_.Of(form_.ops[load])};
    for (const OpId store : stores) codes.push_back(memories_.Of(form_.ops[store]));
    std::vector<AccessedMemory> bytes;
    std::transform(codes.begin(), codes.end(), std::back_inserter(bytes), MemoryOfBytes);
    ConcreteType type = form_.TypeOf(tile);
    const DType narrow = type.dtype;
    const Extents shape = ShapeOfBytes(type.shape, narrow);
    if (CostOf(bytes, shape) >= CostOf(codes, type.shape)) return false;
    type.dtype = kU8;
    type.shape = shape;
    const ValueId moved = tile::NewValue(form_, std::move(type), tile);
    AsBytes(load, narrow);
    form_.ops[load].results = {moved};
    for (const OpId store : stores) {
      AsBytes(store, narrow);
      form_.ops[store].operand[1].type = kU8;
      form_.ops[store].operand[1].value = moved;
    }
    return true;
  }

  void AsBytes(OpId id, DType narrow) {
    const Operand memory = views_.Of(form_.ops[id].operand[0]);
    Operation& op = form_.ops[id];
    op.operand[0] = memory;
    op.type = kU8;
    if (!op.annotation.shape.none()) {
      op.annotation.shape = views_.Bytes(op.annotation.shape, narrow);
    }
  }

  // ---- through shared memory ---------------------------------------------------------------

  // A tile of codes in shared memory, and the same as bytes.
  struct SharedTile {
    ValueId codes = kNone;
    ValueId bytes = kNone;
  };

  // Nothing if that costs more, or if there is no room.
  std::optional<SharedTile> NewSharedTile(const Operation& op, std::vector<OpId>& ops) {
    if (!IsCheaperThroughShared(op)) return std::nullopt;
    const ValueId tile = MovedBy(op);
    const Location location = op.location;
    ConcreteType type = form_.TypeOf(tile);
    const auto bits = static_cast<uint64_t>(type.Elements() * type.dtype.bits);
    const uint64_t bytes = AlignUp(bits / 8, kSharedTileAlignment);
    if (used_ + bytes > most_) return std::nullopt;
    used_ += bytes;
    type.space = Space::kShared;
    SharedTile out;
    out.codes = tile::NewValue(form_, type, tile);
    const OpId allocation = tile::NewAllocation(form_, out.codes, location);
    form_.ops[allocation].annotation.layout = ExprId();
    type.shape = ShapeOfBytes(type.shape, type.dtype);
    type.dtype = kU8;
    out.bytes = tile::NewValue(form_, type, tile);
    Operation view;
    view.opcode = Opcode::kView;
    view.type = kU8;
    view.operand[0].kind = Operand::Kind::kMemory;
    view.operand[0].role = Role::kViewed;
    view.operand[0].type = form_.TypeOf(out.codes).dtype;
    view.operand[0].value = out.codes;
    view.annotation = form_.ops[allocation].annotation;
    view.annotation.dtype = form_.pool.Type(kU8);
    view.annotation.shape = views_.Bytes(view.annotation.shape, form_.TypeOf(out.codes).dtype);
    view.results = {out.bytes};
    view.location = location;
    ops.insert(ops.end(), {allocation, tile::NewOperation(form_, std::move(view))});
    return out;
  }

  // A register tile for the bytes on their way.
  ValueId NewBytes(ValueId codes) {
    ConcreteType type = form_.TypeOf(codes);
    type.shape = ShapeOfBytes(type.shape, type.dtype);
    type.dtype = kU8;
    return tile::NewValue(form_, std::move(type), codes);
  }

  static Operand TileOperand(ValueId tile, DType type) {
    Operand out;
    out.kind = Operand::Kind::kTile;
    out.type = type;
    out.value = tile;
    return out;
  }

  // The load becomes one of shared memory, after what `ops` gets.
  void Load(OpId id, std::vector<OpId>& ops) {
    const Operation codes = form_.ops[id];
    const auto shared = NewSharedTile(codes, ops);
    if (!shared) return;
    const ValueId bytes = NewBytes(codes.results[0]);
    Operation load = tile::LoadOf(form_, views_.Of(codes.operand[0]), bytes, codes.location);
    std::copy(std::begin(codes.attr), std::end(codes.attr), std::begin(load.attr));
    ops.push_back(tile::NewOperation(form_, std::move(load)));
    ops.push_back(tile::NewOperation(
        form_, tile::StoreOf(tile::WholeOperand(form_, shared->bytes, Role::kWritten),
                             TileOperand(bytes, kU8), codes.location)));
    ops.push_back(tile::NewSync(form_, codes.location));
    form_.ops[id] = tile::LoadOf(form_, tile::WholeOperand(form_, shared->codes, Role::kRead),
                                 codes.results[0], codes.location);
  }

  // The store becomes one of bytes.
  void Store(OpId id, std::vector<OpId>& ops) {
    const Operation codes = form_.ops[id];
    const auto shared = NewSharedTile(codes, ops);
    if (!shared) return;
    ops.push_back(tile::NewOperation(
        form_, tile::StoreOf(tile::WholeOperand(form_, shared->codes, Role::kWritten),
                             codes.operand[1], codes.location)));
    ops.push_back(tile::NewSync(form_, codes.location));
    const ValueId bytes = NewBytes(codes.operand[1].value);
    ops.push_back(tile::NewOperation(
        form_, tile::LoadOf(form_, tile::WholeOperand(form_, shared->bytes, Role::kRead), bytes,
                            codes.location)));
    const Operand memory = views_.Of(codes.operand[0]);
    form_.ops[id] = tile::StoreOf(memory, TileOperand(bytes, kU8), codes.location);
    form_.ops[id].attr[0] = codes.attr[0];
  }

  Form& form_;
  const Target target_;
  const AccessedMemories memories_;
  ByteViews views_;
  const uint64_t most_;  // bytes of all tiles: the rest is scratch of other instructions
  const int64_t threads_;
  uint64_t used_ = 0;                    // bytes
  std::vector<std::vector<OpId>> uses_;  // by value; kNone: it is carried
};

}  // namespace

void Coalesce(Form& form, Target target) {
  LoadThroughShared(form);
  Coalescing(form, target).Run();
}

}  // namespace tarsia::compiler
