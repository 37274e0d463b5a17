#include "compiler/select/blocked_dot.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "compiler/select/access.h"
#include "layout/access.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// So many steps of k make the code of one turn short, and the loop around it cheap.
constexpr int64_t kMostSteps = 8;
// A wavefront takes as long as so many accesses are issued (compiler/cost/model.def).
constexpr int64_t kWavefront = 4;
// More layouts of c help little.
constexpr size_t kMostLayouts = 6;

// How far the places of a tile repeat themselves along k: a run, or where k is split into groups, a
// group.
int64_t UnitOf(const DotReads& reads, const ScratchPlan& plan, int depth_dim) {
  const int64_t run = reads.along_k ? plan.get.run : 1;
  const Extents& shape = reads.layout.shape();
  const Extents& places = plan.get_places.shape();
  if (places.size() == shape.size()) return run;
  size_t split = 0;
  while (places[split] == shape[split]) ++split;
  return split == Size(depth_dim) ? std::lcm(run, places[split + 1]) : run;
}

std::optional<DotOperandPlan> PlanOperand(const TileLayout& from, DType type, const TileLayout& c,
                                          DotOperand operand, int64_t depth, Target target) {
  const int bytes = ContainerBytes(type);
  std::vector<DotReads> reads = ReadsOfDot(c, operand, depth);
  if (reads.empty()) return std::nullopt;
  std::vector<ScratchEnd> ends;
  std::vector<ScratchEnd*> pointers;
  for (const DotReads& order : reads) ends.push_back(EndOfReads(order, bytes));
  for (ScratchEnd& end : ends) pointers.push_back(&end);
  ScratchEnd put(from, bytes, target);
  const size_t best = CheapestReads(put, pointers).reads;
  ScratchSearch search(put, ends[best]);
  search.Wavefronts();
  DotOperandPlan out;
  out.scratch = search.Plan();
  out.unit = UnitOf(reads[best], out.scratch, DepthDimension(operand, from.rank()));
  out.reads = std::move(reads[best]);
  return out;
}

// Some way of dealing the rows and columns of a result to warps, lanes and slots.
struct Split {
  int64_t batches = 1, m = 1, n = 1;    // warps
  int64_t lanes_m = 1, lanes_n = 1;     // of a warp
  int64_t rows = 1, columns = 1;        // of a thread
  int64_t row_run = 1, column_run = 1;  // of them, side by side
};

std::optional<TileLayout> LayoutOf(const Split& s, const DotShape& shape) {
  RegLayout::Digits spatial, local;
  Extents extents = {shape.m, shape.n};
  int row = 0;
  if (shape.batches) {
    extents.insert(extents.begin(), *shape.batches);
    row = 1;
    const int64_t turns = *shape.batches / s.batches;
    if (s.batches > 1) spatial.push_back({0, s.batches, turns});
    if (turns > 1) local.push_back({0, turns, 1});
  }
  const auto add = [](RegLayout::Digits& to, int dim, int64_t extent, int64_t stride) {
    if (extent > 1) to.push_back({dim, extent, stride});
  };
  add(spatial, row, s.m, shape.m / s.m);
  add(spatial, row + 1, s.n, shape.n / s.n);
  add(spatial, row, s.lanes_m, s.row_run);
  add(spatial, row + 1, s.lanes_n, s.column_run);
  add(local, row, s.rows / s.row_run, s.row_run * s.lanes_m);
  add(local, row + 1, s.columns / s.column_run, s.column_run * s.lanes_n);
  add(local, row, s.row_run, 1);
  add(local, row + 1, s.column_run, 1);
  auto layout = RegLayout::FromDigits(extents, spatial, local);
  if (!layout.ok()) return std::nullopt;
  return TileLayout::Exact(*std::move(layout));
}

// All of them, but with runs along the columns only where threads have such.
std::vector<Split> SplitsOf(const DotShape& shape, int64_t run, int64_t warps) {
  std::vector<Split> out;
  const int64_t batches = std::gcd(shape.batches.value_or(1), warps);
  const int64_t others = warps / batches;
  for (int64_t m = others; m >= 1; --m) {
    if (others % m != 0) continue;
    for (int64_t lanes = 1; lanes <= kWarpThreads; lanes *= 2) {
      Split s{.batches = batches, .m = m, .n = others / m};
      s.lanes_m = lanes;
      s.lanes_n = kWarpThreads / lanes;
      if (shape.m % (s.m * s.lanes_m) != 0 || shape.n % (s.n * s.lanes_n) != 0) continue;
      s.rows = shape.m / (s.m * s.lanes_m);
      s.columns = shape.n / (s.n * s.lanes_n);
      s.column_run = std::gcd(s.columns, run);
      out.push_back(s);
      s.row_run = std::gcd(s.rows, run);
      if (s.row_run > 1) out.push_back(s);
    }
  }
  return out;
}

}  // namespace

int DepthDimension(DotOperand operand, int rank) {
  return operand == DotOperand::kA ? rank - 1 : rank - 2;
}

std::vector<DotReads> ReadsOfDot(const TileLayout& c, DotOperand operand, int64_t depth) {
  std::vector<DotReads> out;
  if (c.empty() || depth == 0) return out;
  const int k = DepthDimension(operand, c.rank());
  const int64_t others[] = {k};  // the lines of the other operand
  const auto lines = Reduce(c.reg(), others, true);
  if (!lines.ok()) return out;
  Extents extents(Size(c.rank()), 1);
  extents[Size(k)] = depth;
  Extents shape = c.shape();
  shape[Size(k)] = depth;
  const auto all = RegLayout::Local(extents);
  if (!all.ok()) return out;
  for (const bool along_k : {true, false}) {
    auto layout = along_k ? Product(*lines, *all) : Product(*all, *lines);
    if (layout.ok()) out.push_back({TileLayout::Padded(*std::move(layout), shape), along_k});
  }
  return out;
}

ScratchEnd EndOfReads(const DotReads& reads, int bytes) { return {reads.layout, bytes}; }

DotOperandWay CheapestReads(ScratchEnd& from, std::span<ScratchEnd* const> reads) {
  DotOperandWay best;
  for (size_t i = 0; i < reads.size(); ++i) {
    ScratchSearch search(from, *reads[i]);
    const int64_t wavefronts = search.Wavefronts();
    const DotOperandWay way = {i, search.Accesses(), wavefronts};
    const auto cost = [](const DotOperandWay& w) { return w.accesses + kWavefront * w.wavefronts; };
    if (i == 0 || cost(way) < cost(best)) best = way;
  }
  return best;
}

std::optional<BlockedDotPlan> PlanBlockedDot(const DotTypes& types, const TileLayout& a,
                                             const TileLayout& b, const TileLayout& c,
                                             Target target) {
  if (a.empty() || b.empty() || c.empty()) return std::nullopt;
  const int64_t depth = a.shape().back();
  auto left = PlanOperand(a, types.a, c, DotOperand::kA, depth, target);
  auto right = PlanOperand(b, types.b, c, DotOperand::kB, depth, target);
  if (!left || !right) return std::nullopt;
  BlockedDotPlan out{*std::move(left), *std::move(right)};
  const int64_t unit = std::lcm(out.a.unit, out.b.unit);
  if (unit == 0 || depth % unit != 0) return std::nullopt;
  out.step = unit;
  for (int64_t step = unit; step <= std::min(depth, kMostSteps); step += unit) {
    if (depth % step == 0) out.step = step;
  }
  out.b_first = AlignUp(out.a.scratch.order.elements * ContainerBytes(types.a), kWidestAccess);
  out.bytes = out.b_first + out.b.scratch.order.elements * ContainerBytes(types.b);
  return out;
}

std::vector<TileLayout> LayoutsOfBlockedDot(const DotShape& shape, int bytes, int64_t warps) {
  std::vector<TileLayout> out;
  if (shape.m == 0 || shape.n == 0 || shape.batches.value_or(1) == 0) return out;
  std::vector<Split> splits = SplitsOf(shape, std::max<int64_t>(1, kWidestAccess / bytes), warps);
  // Of equal ones those whose warps share no row: nothing that follows along rows leaves a warp.
  const auto key = [](const Split& s) { return std::tuple(s.rows + s.columns, s.n, s.row_run); };
  std::stable_sort(splits.begin(), splits.end(),
                   [&](const Split& x, const Split& y) { return key(x) < key(y); });
  for (const Split& split : splits) {
    auto layout = LayoutOf(split, shape);
    if (layout && out.size() < kMostLayouts) out.push_back(*std::move(layout));
  }
  return out;
}

}  // namespace tarsia::compiler
