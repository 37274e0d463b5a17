#include "compiler/passes/shared_layouts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "compiler/passes/accessed_memory.h"
#include "compiler/passes/shared_tiles.h"
#include "compiler/plan_shared.h"
#include "compiler/select/access.h"
#include "compiler/tile/annotation.h"
#include "layout/access.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::Operation;
using tile::ValueId;

// Bits of an address that a swizzle can change without taking accesses of 16 bytes apart, and that
// select banks: 4 to 6.
constexpr int kFirstBankBit = 4;
constexpr int kLastBankBit = 6;
constexpr int kMostShift = 8;

// Elements follow each other along `fast`; the rows that they make lie `gap` elements further apart
// than they are long. The other dimensions follow from the last to the first.
std::optional<MemLayout> LayoutAlong(const Extents& shape, int fast, int64_t gap) {
  Extents strides(shape.size(), 1);
  int64_t stride = shape[Size(fast)] + gap;
  for (size_t d = shape.size(); d-- > 0;) {
    if (static_cast<int>(d) == fast) continue;
    strides[d] = stride;
    stride *= shape[d];
  }
  auto out = MemLayout::Strided(shape, strides);
  return out.ok() ? std::optional(*std::move(out)) : std::nullopt;
}

// The gap that makes the distance of rows an odd multiple of 16 bytes: eight rows side by side are
// in different banks then. Rows that are no multiple are left alone.
int64_t GapOfRows(int64_t elements, int bytes) {
  const int64_t units = elements * bytes / kWidestAccess;
  const bool even = elements * bytes % kWidestAccess == 0 && units % 2 == 0;
  return even && kWidestAccess % bytes == 0 ? kWidestAccess / bytes : 0;
}

class Decider {
 public:
  Decider(const LayoutGraph& graph, const LayoutChoice& choice, Target target, Form& form)
      : graph_(graph), choice_(choice), target_(target), form_(form), memories_(form, target) {
    roots_ = FindRoots(form);
  }

  SharedTileCost Decide(const OpenSharedTile& tile) {
    FindAccesses(tile.value);
    const ConcreteType& type = form_.TypeOf(tile.value);
    const int last = static_cast<int>(type.shape.size()) - 1;
    SharedTileCost best;
    const MemLayout row_major = *LayoutAlong(type.shape, last, 0);
    const Work work = WorkIn(tile.value, row_major);
    const Cost cost = CyclesOf(work, target_);
    best = {row_major, cost, cost};
    wavefronts_ = work.shared_wavefronts;
    for (int fast = last; fast >= 0; --fast) {
      if (tile.copied && fast != last) break;  // copies move rows
      TryAlong(tile, fast, best);
    }
    Write(tile, best.layout, best.layout == row_major);
    return best;
  }

 private:
  struct Access {
    const LayoutOp* op = nullptr;
    const TileLayout* layout = nullptr;
  };

  void FindAccesses(ValueId tile) {
    accesses_.clear();
    least_ = 0;
    const int64_t bytes = form_.TypeOf(tile).dtype.bits / 8;
    for (const LayoutOp& op : graph_.ops) {
      const Operation& operation = form_.ops[op.op];
      if (operation.operand[0].kind != Operand::Kind::kMemory) continue;
      if (roots_[operation.operand[0].value] != tile) continue;
      accesses_.push_back({&op, &choice_.LayoutOf(op.anchor)});
      least_ += op.turns * CeilDiv(accesses_.back().layout->slots() * bytes, int64_t{4});
    }
  }

  [[nodiscard]] Work WorkIn(ValueId tile, const MemLayout& layout) {
    SetLayout(tile, layout);
    Work out;
    for (const Access& access : accesses_) {
      out += access.op->turns * AccessWork(memories_.Of(form_.ops[access.op->op]), *access.layout);
    }
    return out;
  }
  void SetLayout(ValueId tile, const MemLayout& layout) {
    form_.types[form_.values[tile].type].mem_layout = MemLayoutFamily::Of(layout);
  }

  void TryAlong(const OpenSharedTile& tile, int fast, SharedTileCost& best) {
    const ConcreteType& type = form_.TypeOf(tile.value);
    const int bytes = type.dtype.bits / 8;
    const int64_t row = type.shape[Size(fast)];
    const auto plain = LayoutAlong(type.shape, fast, 0);
    if (!plain) return;
    Try(tile.value, *plain, best);
    // Rows 16 bytes apart keep accesses wide; by one bank, columns have no conflict. Copies write
    // short rows side by side, which a gap would make meet in banks.
    const int64_t gaps[] = {GapOfRows(row, bytes), bytes <= kBankBytes ? kBankBytes / bytes : 0};
    for (const int64_t gap : gaps) {
      if (gap == 0 || tile.copied) continue;
      const auto layout = LayoutAlong(type.shape, fast, gap);
      if (layout && HasRoom(tile.value, *layout)) Try(tile.value, *layout, best);
    }
    TrySwizzles(tile.value, *plain, best);
  }

  void TrySwizzles(ValueId tile, const MemLayout& plain, SharedTileCost& best) {
    const uint64_t bytes = plain.SizeBytes(form_.TypeOf(tile).dtype.bits);
    for (int bits = 1; bits <= kLastBankBit + 1 - kFirstBankBit; ++bits) {
      for (int base = kFirstBankBit; base + bits <= kLastBankBit + 1; ++base) {
        for (int shift = bits; shift <= kMostShift; ++shift) {
          if (bytes >> (base + shift) == 0) break;
          const auto layout = plain.WithSwizzle({base, bits, shift});
          if (layout.ok()) Try(tile, *layout, best);
        }
      }
    }
  }

  // A layout that is as cheap as an earlier one is not taken.
  void Try(ValueId tile, const MemLayout& layout, SharedTileCost& best) {
    if (wavefronts_ <= least_) return;  // no conflict is left
    const Work work = WorkIn(tile, layout);
    const Cost cost = CyclesOf(work, target_);
    if (cost >= best.cost) return;
    best.cost = cost;
    best.layout = layout;
    wavefronts_ = work.shared_wavefronts;
  }

  [[nodiscard]] bool HasRoom(ValueId tile, const MemLayout& layout) {
    uint64_t all = 0;
    SetLayout(tile, layout);
    for (const SharedAllocation& other : FindSharedAllocations(form_)) all += other.bytes;
    return all <= kUsualSharedBytes;
  }

  // A tile that is best as it was stays open.
  void Write(const OpenSharedTile& tile, const MemLayout& layout, bool is_row_major) {
    SetLayout(tile.value, layout);
    if (is_row_major) {
      form_.types[form_.values[tile.value].type].mem_layout = MemLayoutFamily();
      return;
    }
    form_.ops[tile.op].annotation = tile::AnnotationOf(form_.TypeOf(tile.value), form_.pool);
  }

  const LayoutGraph& graph_;
  const LayoutChoice& choice_;
  const Target target_;
  Form& form_;
  const AccessedMemories memories_;
  std::vector<ValueId> roots_;
  std::vector<Access> accesses_;
  int64_t least_ = 0;       // wavefronts of all accesses: each moves 128 bytes at most
  int64_t wavefronts_ = 0;  // in the best layout so far
};

bool IsOpen(const Form& form, const Operation& op) {
  if (op.opcode != Opcode::kAllocShared) return false;
  if (!op.annotation.layout.none() || !op.attr[0].none()) return false;
  const ConcreteType& type = form.TypeOf(op.results[0]);
  return type.shape.size() > 1 && type.dtype.bits % 8 == 0 && type.Elements() > 0;
}

// The memories whose bytes a `view` takes as another type or shape, which needs the order of rows.
std::set<ValueId> ViewedAnew(const Form& form) {
  const std::vector<ValueId> roots = FindRoots(form);
  std::set<ValueId> out;
  for (const Operation& op : form.ops) {
    if (op.opcode == Opcode::kView) out.insert(roots[op.operand[0].value]);
  }
  return out;
}

}  // namespace

std::vector<OpenSharedTile> OpenSharedTiles(Form& form) {
  std::vector<OpenSharedTile> out;
  const std::set<ValueId> viewed = ViewedAnew(form);
  for (const SharedAllocation& tile : FindSharedAllocations(form)) {
    if (!IsOpen(form, form.ops[tile.op]) || viewed.count(tile.value) != 0) continue;
    ConcreteType type = form.TypeOf(tile.value);
    const auto last = static_cast<int>(type.shape.size()) - 1;
    const int64_t gap = GapOfRows(type.shape[Size(last)], type.dtype.bits / 8);
    auto layout = LayoutAlong(type.shape, last, gap);
    if (!layout) continue;
    type.mem_layout = MemLayoutFamily::Of(*std::move(layout));
    form.types.push_back(std::move(type));
    form.values[tile.value].type = static_cast<uint32_t>(form.types.size() - 1);
    out.push_back({tile.op, tile.value, tile.copied});
  }
  return out;
}

std::vector<SharedTileCost> DecideSharedLayouts(const std::vector<OpenSharedTile>& tiles,
                                                const LayoutGraph& graph,
                                                const LayoutChoice& choice, Target target,
                                                Form& form) {
  std::vector<SharedTileCost> out;
  Decider decider(graph, choice, target, form);
  for (const OpenSharedTile& tile : tiles) out.push_back(decider.Decide(tile));
  return out;
}

}  // namespace tarsia::compiler
