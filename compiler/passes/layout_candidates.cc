#include "compiler/passes/layout_candidates.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "compiler/passes/access_layouts.h"
#include "compiler/select/access.h"
#include "compiler/select/blocked_dot.h"
#include "compiler/select/mma.h"
#include "layout/access.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using tile::Form;
using tile::kNone;
using tile::Operation;

// More than these help little and cost time. Those of reductions come last, and have places that
// the many ways of a `dot` over a batch do not take.
constexpr size_t kMostCandidates = 12;
constexpr size_t kMostOfReductions = 4;
// The slots that a thread may have of one tile: of an operand of tensor cores, and of any tile.
constexpr int64_t kMostFragmentSlots = 512;
constexpr int64_t kMostSlots = 1024;
// The longest run along the axis of a scan that a thread may have, and the lanes that share the
// rest.
constexpr int64_t kLongestScanRun = 64;
constexpr int64_t kScanLanes[] = {kWarpThreads, 8, 1};
constexpr int64_t kWidestBits = 8 * kWidestAccess;

class Search {
 public:
  Search(const Form& form, const LayoutGraph& graph, Target target)
      : form_(form), graph_(graph), target_(target), memories_(form, target) {
    out_.of.resize(graph.variables.size());
    out_.ways.resize(graph.variables.size());
    spread_.resize(graph.ties.size() + graph.carries.size());
  }

  LayoutCandidates Run() {
    for (uint32_t v = 0; v < graph_.variables.size(); ++v) {
      const std::optional<TileLayout>& written = graph_.variables[v].written;
      if (written) Add(v, *written, {LayoutSource::Kind::kWritten, kNone});
    }
    for (const LayoutOp& op : graph_.ops) AddWays(op);
    for (const LayoutOp& op : graph_.ops) AddBlocks(op);
    for (const LayoutOp& op : graph_.ops) AddAccesses(op);
    Spread();
    most_ += kMostOfReductions;
    for (const LayoutOp& op : graph_.ops) AddReductions(op);
    Spread();
    for (const LayoutOp& op : graph_.ops) AddOtherAccesses(op);
    Spread();
    for (const LayoutOp& op : graph_.ops) AddWaysOfOthers(op);
    Spread();
    AddWhatIsMissing();
    for (const LayoutOp& op : graph_.ops) AddScalarWays(op);
    return std::move(out_);
  }

 private:
  [[nodiscard]] const ConcreteType& TypeOf(uint32_t variable) const {
    return form_.types[graph_.variables[variable].type];
  }
  [[nodiscard]] uint32_t TileAt(const LayoutOp& op, size_t operand) const {
    return graph_.of_value[form_.ops[op.op].operand[operand].value];
  }
  [[nodiscard]] uint32_t ResultOf(const LayoutOp& op) const {
    return graph_.of_value[form_.ops[op.op].results[0]];
  }
  [[nodiscard]] int64_t threads() const { return graph_.warps * 32; }
  static DotTypes TypesOf(const LayoutOp& op) {
    return {op.rule.operand[0]->dtype, op.rule.operand[1]->dtype, op.rule.operand[2]->dtype};
  }

  // ---- lists -------------------------------------------------------------------------------

  bool Add(uint32_t variable, const TileLayout& layout, LayoutSource source) {
    std::vector<LayoutCandidate>& list = out_.of[variable];
    const bool fixed = graph_.variables[variable].written.has_value();
    if (fixed && !list.empty()) return false;
    if (!fixed && (layout.slots() > kMostSlots || layout.threads() != threads())) return false;
    const LayoutNumber number = out_.table.Add(layout);
    if (list.size() >= most_) return false;
    for (const LayoutCandidate& known : list) {
      if (known.layout == number) return false;
    }
    list.push_back({number, source});
    return true;
  }

  // What the candidates of one end of a tie or a carry mean for the other end. `done` counts those
  // that are spread already.
  struct Done {
    size_t there = 0;
    size_t back = 0;
    size_t ways = 0;
  };

  void Spread() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t i = 0; i < graph_.ties.size(); ++i) {
        changed |= SpreadTie(graph_.ties[i], spread_[i]);
      }
      for (size_t i = 0; i < graph_.carries.size(); ++i) {
        changed |= SpreadCarry(graph_.carries[i], spread_[graph_.ties.size() + i]);
      }
    }
  }

  bool SpreadTie(const LayoutTie& tie, Done& done) {
    const LayoutOp& op = graph_.ops[tie.op];
    if (graph_.variables[op.anchor].kind == LayoutVariable::Kind::kDot) {
      return SpreadWays(op, tie, done);
    }
    bool changed = false;
    for (; done.there < out_.of[op.anchor].size(); ++done.there) {
      const LayoutCandidate from = out_.of[op.anchor][done.there];
      const auto to = LayoutAt(op.rule, tie.port, out_.table[from.layout]);
      if (to) changed |= Add(tie.tile, *to, from.source);
    }
    for (; done.back < out_.of[tie.tile].size(); ++done.back) {
      const LayoutCandidate from = out_.of[tie.tile][done.back];
      const auto to = AnchorFor(op.rule, tie.port, out_.table[from.layout]);
      if (to) changed |= Add(op.anchor, *to, from.source);
    }
    return changed;
  }

  bool SpreadWays(const LayoutOp& op, const LayoutTie& tie, Done& done) {
    bool changed = false;
    for (; done.ways < out_.ways[op.anchor].size(); ++done.ways) {
      const DotWay way = out_.ways[op.anchor][done.ways];
      const LayoutNumber there = tie.port == Port::Operand(0)   ? way.a
                                 : tie.port == Port::Operand(1) ? way.b
                                                                : way.c;
      if (there == kNone) continue;
      changed |= Add(tie.tile, out_.table[there], {LayoutSource::Kind::kFragments, op.op});
    }
    return changed;
  }

  bool SpreadCarry(const LayoutCarry& carry, Done& done) {
    bool changed = false;
    for (; done.there < out_.of[carry.from].size(); ++done.there) {
      const LayoutCandidate from = out_.of[carry.from][done.there];
      changed |= Add(carry.to, out_.table[from.layout], from.source);
    }
    for (; done.back < out_.of[carry.to].size(); ++done.back) {
      const LayoutCandidate from = out_.of[carry.to][done.back];
      changed |= Add(carry.from, out_.table[from.layout], from.source);
    }
    return changed;
  }

  // ---- tensor cores ------------------------------------------------------------------------

  void AddWay(uint32_t dot, const TileLayout& a, const TileLayout& b, const TileLayout& c,
              int64_t tensor) {
    if (std::max({a.slots(), b.slots(), c.slots()}) > kMostFragmentSlots) return;
    DotWay way;
    way.a = out_.table.Add(a);
    way.b = out_.table.Add(b);
    way.c = out_.table.Add(c);
    way.tensor = tensor;
    for (const DotWay& known : out_.ways[dot]) {
      if (known.a == way.a && known.b == way.b && known.c == way.c) return;
    }
    out_.ways[dot].push_back(way);
  }

  // All splits of the warps over the batch axis, which they share evenly, rows and columns; plain
  // and transposed.
  void AddWays(const LayoutOp& op) {
    if (op.rule.opcode != Opcode::kDot) return;
    const DotTypes types = TypesOf(op);
    const DotShape shape = ShapeOfDot(op.rule.operand[0]->shape, op.rule.operand[1]->shape);
    for (const int64_t batches : WarpsAlongBatch(op)) {
      const int64_t others = graph_.warps / batches;
      for (int64_t along = others; along >= 1; --along) {
        if (others % along != 0) continue;
        const WarpSplit warps = {batches, along, others / along};
        for (const MmaForm* form : MmaFormsOf(types, target_)) AddPlainWay(op, *form, shape, warps);
        for (const MmaForm* form : MmaFormsOf({types.b, types.a, types.c}, target_)) {
          AddTurnedWay(op, *form, Transposed(shape), warps);
        }
      }
    }
  }

  // The most first; only 1 without a batch axis.
  [[nodiscard]] std::vector<int64_t> WarpsAlongBatch(const LayoutOp& op) const {
    const std::vector<int64_t>& shape = op.rule.operand[0]->shape;
    if (shape.size() != 3) return {1};
    const int64_t most = std::gcd(std::max<int64_t>(1, shape[0]), graph_.warps);
    std::vector<int64_t> out;
    for (int64_t warps = most; warps >= 1; --warps) {
      if (most % warps == 0) out.push_back(warps);
    }
    return out;
  }

  void AddPlainWay(const LayoutOp& op, const MmaForm& form, const DotShape& shape,
                   const WarpSplit& warps) {
    const auto plain = LayoutsOfMma(form, shape, warps);
    if (plain.ok())
      AddWay(op.anchor, plain->a, plain->b, plain->c, MmaProducts(form, plain->steps));
  }

  void AddTurnedWay(const LayoutOp& op, const MmaForm& form, const DotShape& shape,
                    const WarpSplit& warps) {
    const auto turned = LayoutsOfMma(form, shape, warps);
    if (!turned.ok()) return;
    const std::span<const int64_t> order = SwappedAxes(turned->c.rank());
    auto left = PermutedLayout(turned->b, order);
    auto right = PermutedLayout(turned->a, order);
    auto sum = PermutedLayout(turned->c, order);
    if (!left.ok() || !right.ok() || !sum.ok()) return;
    AddWay(op.anchor, *left, *right, *sum, MmaProducts(form, turned->steps));
  }

  // Layouts of a tile that come from elsewhere and may be fragments in another order.
  [[nodiscard]] std::vector<LayoutNumber> Others(uint32_t variable) const {
    std::vector<LayoutNumber> out;
    for (const LayoutCandidate& candidate : out_.of[variable]) {
      const bool fixed = candidate.source.kind == LayoutSource::Kind::kWritten ||
                         candidate.source.kind == LayoutSource::Kind::kPacked;
      if (fixed) out.push_back(candidate.layout);
    }
    return out;
  }

  // Ways in which some tiles have layouts that come from elsewhere.
  void AddWaysOfOthers(const LayoutOp& op) {
    if (out_.ways[op.anchor].empty()) return;
    const std::vector<LayoutNumber> a = Others(TileAt(op, 0));
    const std::vector<LayoutNumber> b = Others(TileAt(op, 1));
    std::vector<LayoutNumber> c = Others(TileAt(op, 2));
    const std::vector<LayoutNumber> result = Others(ResultOf(op));
    c.insert(c.end(), result.begin(), result.end());
    if (a.empty() && b.empty() && c.empty()) return;
    const std::vector<DotWay> ways = out_.ways[op.anchor];
    const auto with = [](std::vector<LayoutNumber> list, LayoutNumber usual) {
      list.push_back(usual);
      return list;
    };
    for (const DotWay& way : ways) {
      for (const LayoutNumber left : with(a, way.a)) {
        for (const LayoutNumber right : with(b, way.b)) {
          for (const LayoutNumber sum : with(c, way.c)) TryWay(op, left, right, sum);
        }
      }
    }
  }

  void TryWay(const LayoutOp& op, LayoutNumber a, LayoutNumber b, LayoutNumber c) {
    for (const DotWay& known : out_.ways[op.anchor]) {
      if (known.a == a && known.b == b && known.c == c) return;
    }
    const auto selection =
        SelectMma(TypesOf(op), target_, out_.table[a], out_.table[b], out_.table[c]);
    if (!selection) return;
    AddWay(op.anchor, TileLayout(out_.table[a]), TileLayout(out_.table[b]),
           TileLayout(out_.table[c]),
           MmaProducts(*selection->form, static_cast<int64_t>(selection->steps.size())));
  }

  // Where tensor cores cannot: results for which threads read little.
  void AddBlocks(const LayoutOp& op) {
    if (op.rule.opcode != Opcode::kDot || !out_.ways[op.anchor].empty()) return;
    const DotShape shape = ShapeOfDot(op.rule.operand[0]->shape, op.rule.operand[1]->shape);
    const int bytes = ContainerBytes(TypesOf(op).c);
    for (const TileLayout& layout : LayoutsOfBlockedDot(shape, bytes, graph_.warps)) {
      Add(ResultOf(op), layout, {LayoutSource::Kind::kBlock, op.op});
    }
  }

  // Where tensor cores cannot: each thread computes its elements of the result, in any layout.
  void AddScalarWays(const LayoutOp& op) {
    if (op.rule.opcode != Opcode::kDot || !out_.ways[op.anchor].empty()) return;
    for (const LayoutCandidate& candidate : out_.of[ResultOf(op)]) {
      out_.ways[op.anchor].push_back({kNone, kNone, candidate.layout, 0});
    }
  }

  // ---- memory ------------------------------------------------------------------------------

  void AddAccesses(const LayoutOp& op) {
    const Operation& operation = form_.ops[op.op];
    if (operation.operand[0].kind != Operand::Kind::kMemory) return;
    if (graph_.variables[op.anchor].written) return;
    const AccessedMemory memory = memories_.Of(operation);
    if (memory.packed) AddPacked(op, *memory.packed);
    AddBlocked(op, memory);
  }

  void AddBlocked(const LayoutOp& op, const AccessedMemory& memory) {
    const Extents& shape = TypeOf(op.anchor).shape;
    for (const TileLayout& layout : LayoutsOfRuns(memory, shape, threads())) {
      Add(op.anchor, layout, {LayoutSource::Kind::kAccess, op.op});
    }
  }

  // Warps that need nothing of each other, with the runs of the accesses.
  void AddReductions(const LayoutOp& op) {
    if (op.rule.row().family != Family::kReduce) return;
    const Extents& shape = TypeOf(op.anchor).shape;
    const std::vector<LayoutCandidate> known = out_.of[op.anchor];
    for (const LayoutCandidate& candidate : known) {
      if (candidate.source.kind != LayoutSource::Kind::kAccess) continue;
      const auto& slots = out_.table[candidate.layout].reg().local();
      const bool side_by_side = !slots.empty() && slots.back().stride == 1;
      const int fast = side_by_side ? slots.back().dim : static_cast<int>(shape.size()) - 1;
      const int64_t run = side_by_side ? slots.back().extent : 1;
      auto layout = LayoutOfWarpRows(shape, graph_.warps, run, fast, op.rule.axes);
      if (layout) Add(op.anchor, *layout, {LayoutSource::Kind::kReduction, op.op});
    }
    AddThreadRows(op);
    if (IsScan(op.rule.opcode)) AddScans(op);
  }

  // Short rows need no exchange where one thread has all of them.
  void AddThreadRows(const LayoutOp& op) {
    const Extents& shape = TypeOf(op.anchor).shape;
    const std::span<const int64_t> axes = op.rule.axes;
    int64_t row = 1;
    for (const int64_t axis : axes) row *= shape[Size(axis)];
    const auto reduced = [&](int64_t d) {
      return std::find(axes.begin(), axes.end(), d) != axes.end();
    };
    auto fast = static_cast<int64_t>(shape.size()) - 1;
    while (fast >= 0 && reduced(fast)) --fast;
    if (row == 0 || row > kLongestThreadRow || fast < 0) return;
    const auto layout = LayoutOfThreadRows(shape, graph_.warps, static_cast<int>(fast), axes);
    if (layout) Add(op.anchor, *layout, {LayoutSource::Kind::kReduction, op.op});
  }

  // A scan does least where a thread has its whole part of the axis in one run.
  void AddScans(const LayoutOp& op) {
    const Extents& shape = TypeOf(op.anchor).shape;
    const auto axis = static_cast<int>(op.rule.axes[0]);
    const int64_t extent = shape[Size(axis)];
    for (const int64_t lanes : kScanLanes) {
      const int64_t run = CeilDiv(extent, lanes);
      if (run == 0 || run > kLongestScanRun) continue;
      if (auto layout = LayoutOfWarpRows(shape, graph_.warps, run, axis, op.rule.axes)) {
        Add(op.anchor, *layout, {LayoutSource::Kind::kReduction, op.op});
      }
      auto blocked = BlockedLayout(shape, threads(), run, axis);
      if (blocked.ok()) Add(op.anchor, *blocked, {LayoutSource::Kind::kReduction, op.op});
    }
  }

  // Those that cost more by themselves, or as much, but may suit others better. Tensor cores have
  // fragments, which no sectors suit.
  void AddOtherAccesses(const LayoutOp& op) {
    const Operation& operation = form_.ops[op.op];
    if (operation.operand[0].kind != Operand::Kind::kMemory) return;
    if (graph_.variables[op.anchor].written) return;
    const AccessedMemory memory = memories_.Of(operation);
    const Extents& shape = TypeOf(op.anchor).shape;
    if (memory.fast < 0 || memory.packed) return;
    const LayoutSource source = {LayoutSource::Kind::kAccess, op.op};
    const int bits = memory.type.bits;
    for (const TileLayout& layout : LayoutsDownRows(shape, threads(), bits, memory.fast)) {
      Add(op.anchor, layout, source);
    }
    const auto is_mma = [this](const LayoutOp& other) { return !out_.ways[other.anchor].empty(); };
    if (std::any_of(graph_.ops.begin(), graph_.ops.end(), is_mma)) return;
    for (const TileLayout& layout : LayoutsOfSectors(shape, threads(), bits, memory.fast)) {
      Add(op.anchor, layout, source);
    }
  }

  // Whole packed tiles, with the warps along one dimension or the other; and as a `dot` of slices
  // of the rows has them, along both.
  void AddPacked(const LayoutOp& op, const RegLayout& inner) {
    const Extents& shape = TypeOf(op.anchor).shape;
    if (shape.size() != 2 || inner.rank() != 2 || threads() % inner.threads() != 0) return;
    const int64_t groups = threads() / inner.threads();
    if (shape[0] % inner.shape()[0] != 0 || shape[1] % inner.shape()[1] != 0) return;
    for (const int64_t slices : SlicesOfDots()) {
      if (groups % slices == 0) AddPackedOver(op, inner, slices, groups / slices, groups);
    }
    for (int64_t along = groups; along >= 1; --along) {
      if (groups % along != 0) continue;
      AddPackedOver(op, inner, 1, along, groups);
      AddPackedOver(op, inner, along, 1, groups);
    }
  }

  // With so many groups of threads down the rows and across the columns; the last dimension
  // outermost in a thread, as fragments have it.
  void AddPackedOver(const LayoutOp& op, const RegLayout& inner, int64_t down, int64_t across,
                     int64_t groups) {
    const Extents& shape = TypeOf(op.anchor).shape;
    const int64_t rows = shape[0] / inner.shape()[0];
    const int64_t columns = shape[1] / inner.shape()[1];
    if (rows % down != 0 || columns % across != 0) return;
    const auto spread = RegLayout::Spatial(Extents{down, across});
    const auto turns = RegLayout::ColumnLocal(Extents{rows / down, columns / across});
    const auto replicas = RegLayout::Replicate(groups / (down * across));
    if (!spread.ok() || !turns.ok() || !replicas.ok()) return;
    auto layout = Product(*replicas, *spread);
    if (layout.ok()) layout = Product(*layout, *turns);
    if (layout.ok()) layout = Product(*layout, inner);
    if (layout.ok())
      Add(op.anchor, TileLayout::Exact(*layout), {LayoutSource::Kind::kPacked, op.op});
  }

  // How many slices of a batch the warps of each `dot` take at a time.
  [[nodiscard]] std::set<int64_t> SlicesOfDots() const {
    std::set<int64_t> out;
    for (const LayoutOp& op : graph_.ops) {
      if (op.rule.opcode != Opcode::kDot) continue;
      for (const int64_t warps : WarpsAlongBatch(op)) {
        if (warps > 1) out.insert(warps);
      }
    }
    return out;
  }

  // ---- the rest ----------------------------------------------------------------------------

  // Tiles that nothing has asked anything of, from the first one on.
  void AddWhatIsMissing() {
    for (uint32_t v = 0; v < out_.of.size(); ++v) {
      if (graph_.variables[v].kind == LayoutVariable::Kind::kDot || !out_.of[v].empty()) continue;
      const ConcreteType& type = TypeOf(v);
      int64_t vector = 1;
      while (vector * 2 * type.dtype.bits <= kWidestBits && vector < 16) vector *= 2;
      auto layout =
          BlockedLayout(type.shape, threads(), vector, static_cast<int>(type.shape.size()) - 1);
      const LayoutNumber number = out_.table.Add(layout.ok() ? *layout : TileLayout());
      out_.of[v].push_back({number, {LayoutSource::Kind::kRows, kNone}});
      Spread();
    }
  }

  const Form& form_;
  const LayoutGraph& graph_;
  const Target target_;
  const AccessedMemories memories_;
  size_t most_ = kMostCandidates;  // of a variable
  LayoutCandidates out_;
  std::vector<Done> spread_;  // by tie, then by carry
};

}  // namespace

LayoutNumber LayoutTable::Add(TileLayout layout) {
  const auto found = std::find(layouts_.begin(), layouts_.end(), layout);
  if (found != layouts_.end()) return static_cast<LayoutNumber>(found - layouts_.begin());
  layouts_.push_back(std::move(layout));
  return static_cast<LayoutNumber>(layouts_.size() - 1);
}

LayoutCandidates FindLayoutCandidates(const Form& form, const LayoutGraph& graph, Target target) {
  return Search(form, graph, target).Run();
}

}  // namespace tarsia::compiler
