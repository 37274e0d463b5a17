#include "compiler/select/scratch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/select/access.h"
#include "compiler/select/warp_addresses.h"
#include "layout/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// Strides of a shape in which `fast` has stride 1; then come the others from the last to the first,
// with a gap between rows. Rows are runs of `fast`; if `chunks` >= 0, that dimension counts such
// runs in a row, and there is a gap between them, too.
struct Gaps {
  int64_t row = 0;
  int64_t chunk = 0;
};
ScratchOrder OrderWith(const Extents& shape, int fast, int chunks, const Gaps& gaps) {
  ScratchOrder out;
  out.strides.assign(shape.size(), 0);
  out.strides[Size(fast)] = 1;
  int64_t stride = shape[Size(fast)];
  if (chunks >= 0) {
    stride += gaps.chunk;
    out.strides[Size(chunks)] = stride;
    stride *= shape[Size(chunks)];
  }
  stride += gaps.row;
  for (size_t d = shape.size(); d-- > 0;) {
    if (d == Size(fast) || (chunks >= 0 && d == Size(chunks))) continue;
    out.strides[d] = stride;
    stride *= shape[d];
  }
  out.elements = stride;
  return out;
}

// The best gaps for a plan whose accesses and places are known.
class GapSearch {
 public:
  GapSearch(const TileLayout& from, const TileLayout& to, int bytes, const ScratchPlan& plan)
      : put_(plan.put.Accesses(from)),
        get_(plan.get.Accesses(to)),
        put_unit_(static_cast<int>(plan.put.run) * bytes),
        get_unit_(plan.get.matrices ? int{kWidestAccess} : static_cast<int>(plan.get.run) * bytes),
        bits_(bytes * 8) {}

  // Takes the order into the plan if it is better than all before it.
  void Try(const TileLayout& put, const TileLayout& get, ScratchOrder order, ScratchPlan& plan) {
    // All slots access as the first one does. One lane gives the address of each row of a matrix.
    const int64_t puts = put_ * AddressesOf(put, order.strides, bits_, true).Wavefronts(put_unit_);
    const bool one_lane = plan.get.matrices.has_value();
    const int64_t gets =
        get_ * AddressesOf(get, order.strides, bits_, one_lane).Wavefronts(get_unit_);
    if (puts + gets >= fewest_) return;
    fewest_ = puts + gets;
    plan.put.wavefronts = puts;
    plan.get.wavefronts = gets;
    plan.put_places = put;
    plan.get_places = get;
    plan.order = std::move(order);
  }

 private:
  const int64_t put_, get_;
  const int put_unit_, get_unit_, bits_;
  int64_t fewest_ = INT64_MAX;
};

// The elements that a thread has side by side along a dimension.
int64_t ChunkOf(const TileLayout& tile, int dim) {
  if (tile.reg().local().empty()) return 1;
  const RegLayout::Digit& inner = tile.reg().local().back();
  return inner.dim == dim && inner.stride == 1 ? inner.extent : 1;
}

}  // namespace

int64_t RunAlong(const TileLayout& layout, int dim, int bytes) {
  if (layout.empty() || layout.reg().local().empty() || layout.PaddedAlong(dim)) return 1;
  const RegLayout::Digit& inner = layout.reg().local().back();
  if (inner.dim != dim || inner.stride != 1) return 1;
  int64_t run = 1;
  const auto fits = [&](int64_t n) {
    if (n * bytes > kWidestAccess || inner.extent % n != 0) return false;
    return std::all_of(
        layout.reg().spatial().begin(), layout.reg().spatial().end(),
        [&](const RegLayout::Digit& digit) { return digit.dim != dim || digit.stride % n == 0; });
  };
  while (fits(run * 2)) run *= 2;
  return run;
}

ScratchPlan PlanAccesses(const TileLayout& from, const TileLayout& to, int bytes) {
  ScratchPlan best;
  int64_t fewest = INT64_MAX;
  for (int dim = from.rank() - 1; dim >= 0; --dim) {
    ScratchPlan plan;
    plan.fast = dim;
    plan.put.run = RunAlong(from, dim, bytes);
    plan.get.run = RunAlong(to, dim, bytes);
    plan.get.matrices = FindMatrixLoads(to, dim, bytes);
    const int64_t accesses = plan.put.Accesses(from) + plan.get.Accesses(to);
    if (accesses >= fewest) continue;
    fewest = accesses;
    best = std::move(plan);
  }
  return best;
}

ScratchPlan PlanScratch(const TileLayout& from, const TileLayout& to, int bytes) {
  ScratchPlan plan = PlanAccesses(from, to, bytes);
  const bool wide = plan.get.matrices || std::max(plan.put.run, plan.get.run) * bytes > kBankBytes;
  const TileLayout get = plan.get.matrices ? plan.get.matrices->rows : to;
  GapSearch search(from, to, bytes, plan);
  const int64_t unit = kWidestAccess / bytes;
  // No gap, one that keeps wide accesses aligned, and one of a bank.
  for (const int64_t gap : {int64_t{0}, unit, std::max<int64_t>(1, kBankBytes / bytes)}) {
    if (wide && gap * bytes % kWidestAccess != 0) continue;
    search.Try(from, get, OrderWith(from.shape(), plan.fast, -1, {gap, 0}), plan);
  }
  // Threads that have more than one access side by side meet in banks; gaps between them help.
  const Extents& shape = from.shape();
  const int64_t chunk = ChunkOf(from, plan.fast);
  const int64_t extent = shape[Size(plan.fast)];
  if (chunk <= plan.put.run || extent % chunk != 0 || extent == chunk || from.padded() ||
      to.padded()) {
    return plan;
  }
  Extents split = shape;
  split[Size(plan.fast)] = extent / chunk;
  split.insert(split.begin() + plan.fast + 1, chunk);
  const auto put_places = ReshapedLayout(from, split);
  const auto get_places = ReshapedLayout(get, split);
  if (!put_places || !get_places) return plan;
  for (const int64_t row : {int64_t{0}, unit}) {
    for (const int64_t between : {unit, 2 * unit, 4 * unit}) {
      search.Try(*put_places, *get_places,
                 OrderWith(split, plan.fast + 1, plan.fast, {row, between}), plan);
    }
  }
  return plan;
}

}  // namespace tarsia::compiler
