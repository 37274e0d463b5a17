#include "compiler/plan_shared.h"

#include <algorithm>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/operands.h"
#include "layout/mem_layout.h"

namespace tarsia::compiler {
namespace {

constexpr uint64_t kTileAlignment = 16;
// More scratch than this buys little: exchanges go in rounds.
constexpr uint64_t kMostScratch = 32 * 1024;
// Less is not enough for one round of a matrix product of any size.
constexpr uint64_t kLeastScratch = 4 * 1024;

uint64_t AlignUp(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }
uint64_t Unsigned(int64_t x) { return static_cast<uint64_t>(x); }

uint64_t Elements(const Extents& shape) {
  uint64_t n = 1;
  for (const int64_t extent : shape) n *= Unsigned(extent);
  return n;
}

// What each instruction would like to have of scratch.
class ScratchWishes {
 public:
  ScratchWishes(const Program& program, const LayoutPlan& plan) : program_(program), plan_(plan) {}

  uint64_t Run() {
    const Kernel& kernel = program_.kernel();
    for (size_t i = 0; i < plan_.insts.size(); ++i) Visit(Describe(program_, kernel.code[i]), i);
    return most_;
  }

 private:
  void Want(uint64_t bytes) { most_ = std::max(most_, bytes); }

  void WantExchange(uint32_t value, LayoutId from, LayoutId to) {
    if (from == to || from == kNoLayout || to == kNoLayout) return;
    if (SlotPermutation(plan_.layouts[from], plan_.layouts[to])) return;
    WantTile(value);
  }

  void WantTile(uint32_t value) {
    const ConcreteType& type = program_.type(value);
    Want(Elements(type.shape) * Unsigned(ContainerBytes(type.dtype)));
  }

  void Visit(const InstInfo& info, size_t i) {
    const InstLayouts& layouts = plan_.insts[i];
    for (size_t o = 0; o < kMaxOperands; ++o) {
      if (!info.operand[o].IsTile()) continue;
      const uint32_t value = info.operand[o].value;
      WantExchange(value, plan_.values[value].layout, layouts.operand[o]);
    }
    for (size_t r = 0; r < info.results.size(); ++r) {
      const uint32_t value = info.results[r];
      WantExchange(value, layouts.result[r], plan_.values[value].layout);
    }
    switch (info.row->family) {
      case Family::kShape:
        if (info.inst->opcode != Opcode::kConvertLayout) WantTile(info.results[0]);
        return;
      case Family::kReduce:
        return VisitReduce(info, layouts);
      case Family::kMma:
        return VisitDot(info, layouts);
      case Family::kMemory:
        if (info.inst->opcode == Opcode::kLoadScalar) Want(16);
        if (info.row->Has(kWritesMemory) && !info.results.empty()) WantTile(info.results[0]);
        return;
      case Family::kControl:
        if (info.inst->opcode == Opcode::kPrint) Want(16);
        return;
      case Family::kElementwise:
      case Family::kConvert:
      case Family::kSync:
        return;
    }
  }

  void VisitReduce(const InstInfo& info, const InstLayouts& layouts) {
    const TileLayout& source = plan_.layouts[layouts.operand[0]];
    std::vector<int64_t> axes = ListAttr(program_, *info.inst, Attr::kAxes);
    if (!info.row->AttrIndex(Attr::kAxes)) {
      axes = {IntAttr(program_, *info.inst, Attr::kAxis, 0)};
    }
    const ThreadReduction threads = ReduceThreads(source, axes);
    if (threads.parts == 1) return;
    // A value of up to 8 bytes and an index.
    Want(Unsigned(threads.parts) * Elements(plan_.layouts[layouts.result[0]].reg().shape()) * 12);
  }

  void VisitDot(const InstInfo& info, const InstLayouts& layouts) {
    if (layouts.tensor_core) return;
    Want(Elements(program_.type(info.operand[0].value).shape) *
             Unsigned(ContainerBytes(info.operand[0].type)) +
         Elements(program_.type(info.operand[1].value).shape) *
             Unsigned(ContainerBytes(info.operand[1].type)) +
         32);
  }

  const Program& program_;
  const LayoutPlan& plan_;
  uint64_t most_ = 0;
};

// Tiles as a stack of blocks of code.
class Placer {
 public:
  Placer(const Program& program, SharedPlan& plan)
      : program_(program), kernel_(program.kernel()), plan_(plan) {}

  Status PlaceBlock(size_t begin, size_t end, int depth) {
    const uint64_t bottom = top_;
    for (size_t i = begin; i < end;) {
      const Inst& inst = kernel_.code[i];
      if (inst.opcode == Opcode::kAllocShared) TARSIA_CHECK(Place(inst, depth));
      if (Row(inst.opcode).Has(kOpensBlock)) {
        const bool branches = inst.opcode == Opcode::kIf;
        TARSIA_CHECK(PlaceBlock(i + 1, branches ? inst.else_begin : inst.end, depth + 1));
        if (branches) TARSIA_CHECK(PlaceBlock(inst.else_begin, inst.end, depth + 1));
      }
      i = std::max<size_t>(inst.end, i + 1);
    }
    top_ = bottom;
    return OkStatus();
  }

  // The highest byte that any tile takes, from their common start.
  [[nodiscard]] uint64_t high() const { return high_; }
  // The largest tile's instruction, for messages.
  [[nodiscard]] Location largest() const { return largest_; }

 private:
  Status Place(const Inst& inst, int depth) {
    const uint32_t value = kernel_.Results(inst)[0].value();
    const ConcreteType& type = program_.type(value);
    Result<MemLayout> layout = Apply(type.mem_layout, type.shape, type.dtype);
    if (!layout.ok()) {
      Diagnostic error = layout.TakeError();
      error.location = kernel_.TypeLocation(inst);
      return error;
    }
    SharedTile tile;
    tile.value = value;
    tile.bytes = AlignUp(layout->SizeBytes(type.dtype.bits), kTileAlignment);
    const uint64_t alignment =
        std::clamp(static_cast<uint64_t>(layout->Alignment()), kTileAlignment, kSharedAlignment);
    tile.offset = AlignUp(top_, alignment);
    tile.reused = depth > 0 || tile.offset < high_;
    top_ = tile.offset + tile.bytes;
    high_ = std::max(high_, top_);
    if (tile.bytes > largest_bytes_) {
      largest_bytes_ = tile.bytes;
      largest_ = kernel_.LocationOf(inst);
    }
    plan_.tiles.push_back(tile);
    return OkStatus();
  }

  const Program& program_;
  const Kernel& kernel_;
  SharedPlan& plan_;
  uint64_t top_ = 0;
  uint64_t high_ = 0;
  uint64_t largest_bytes_ = 0;
  Location largest_;
};

}  // namespace

const SharedTile* SharedPlan::Find(uint32_t value) const {
  const auto found = std::find_if(tiles.begin(), tiles.end(),
                                  [&](const SharedTile& tile) { return tile.value == value; });
  return found == tiles.end() ? nullptr : &*found;
}

Result<SharedPlan> PlanShared(const Program& program, const LayoutPlan& layouts, Target target) {
  const auto limit = static_cast<uint64_t>(Row(target).shared_bytes);
  SharedPlan plan;
  Placer placer(program, plan);
  TARSIA_CHECK(placer.PlaceBlock(0, program.kernel().code.size(), 0));
  const uint64_t wanted = ScratchWishes(program, layouts).Run();
  const uint64_t least = std::min(wanted, kLeastScratch);
  uint64_t scratch = AlignUp(std::min(wanted, kMostScratch), kTileAlignment);
  // Scratch lies below the tiles, and is a multiple of what they are aligned to.
  const auto base_of = [&](uint64_t bytes) {
    return plan.tiles.empty() ? AlignUp(bytes, kTileAlignment) : AlignUp(bytes, kSharedAlignment);
  };
  while (scratch / 2 >= least && base_of(scratch) + placer.high() > limit) scratch /= 2;
  plan.scratch_bytes = scratch;
  plan.total_bytes = base_of(scratch) + placer.high();
  if (plan.total_bytes > limit) {
    return MakeDiagnostic(diag::kSharedPlan, placer.largest(), program.name(), plan.total_bytes,
                          placer.high(), scratch, limit, Row(target).name);
  }
  for (SharedTile& tile : plan.tiles) tile.offset += base_of(scratch);
  return plan;
}

}  // namespace tarsia::compiler
