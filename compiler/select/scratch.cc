#include "compiler/select/scratch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "layout/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

constexpr int64_t kWidest = 16;  // bytes of an access

// `fast` has stride 1, then come the others from the last to the first; rows have a gap.
ScratchOrder OrderWith(const Extents& shape, int fast, int64_t gap) {
  ScratchOrder out;
  out.strides.assign(shape.size(), 0);
  out.strides[Size(fast)] = 1;
  int64_t stride = shape[Size(fast)] + gap;
  for (size_t d = shape.size(); d-- > 0;) {
    if (d == Size(fast)) continue;
    out.strides[d] = stride;
    stride *= shape[d];
  }
  out.elements = stride;
  return out;
}

// What one side takes of shared memory, in accesses of the first warp at its first slot.
int64_t WavefrontsWith(const TileLayout& tile, const ScratchSide& side, const ScratchOrder& order,
                       int bytes) {
  const TileLayout& layout = side.matrices ? side.matrices->rows : tile;
  const int64_t unit = side.matrices ? kWidest : side.run * bytes;
  std::vector<uint64_t> addresses;
  for (int64_t lane = 0; lane < std::min<int64_t>(kWarpThreads, layout.threads()); ++lane) {
    const Extents at = layout.ThreadOffset(lane);
    int64_t element = 0;
    for (size_t d = 0; d < at.size(); ++d) element += at[d] * order.strides[d];
    addresses.push_back(static_cast<uint64_t>(element * bytes));
  }
  return side.Accesses(tile) * WavefrontsOf(addresses, static_cast<int>(unit));
}

}  // namespace

int64_t RunAlong(const TileLayout& layout, int dim, int bytes) {
  if (layout.empty() || layout.reg().local().empty() || layout.PaddedAlong(dim)) return 1;
  const RegLayout::Digit& inner = layout.reg().local().back();
  if (inner.dim != dim || inner.stride != 1) return 1;
  int64_t run = 1;
  const auto fits = [&](int64_t n) {
    if (n * bytes > kWidest || inner.extent % n != 0) return false;
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
  int64_t fewest = INT64_MAX;
  // No gap, one that keeps wide accesses aligned, and one of a bank.
  for (const int64_t gap :
       {int64_t{0}, kWidest / bytes, std::max<int64_t>(1, kBankBytes / bytes)}) {
    if (wide && gap * bytes % kWidest != 0) continue;
    ScratchOrder order = OrderWith(from.shape(), plan.fast, gap);
    const int64_t wavefronts =
        WavefrontsWith(from, plan.put, order, bytes) + WavefrontsWith(to, plan.get, order, bytes);
    if (wavefronts >= fewest) continue;
    fewest = wavefronts;
    plan.order = std::move(order);
  }
  return plan;
}

ScratchOrder RowMajorScratch(const Extents& shape) {
  if (shape.empty()) return {{}, 1};
  return OrderWith(shape, static_cast<int>(shape.size()) - 1, 0);
}

}  // namespace tarsia::compiler
