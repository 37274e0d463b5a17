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
int64_t WavefrontsWith(const TileLayout& layout, const ScratchOrder& order, int fast, int bytes) {
  const int64_t run = RunAlong(layout, fast, bytes);
  std::vector<uint64_t> addresses;
  for (int64_t lane = 0; lane < std::min<int64_t>(kWarpThreads, layout.threads()); ++lane) {
    const Extents at = layout.ThreadOffset(lane);
    int64_t element = 0;
    for (size_t d = 0; d < at.size(); ++d) element += at[d] * order.strides[d];
    addresses.push_back(static_cast<uint64_t>(element * bytes));
  }
  return layout.slots() / run * WavefrontsOf(addresses, static_cast<int>(run) * bytes);
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

int FastDimension(const TileLayout& from, const TileLayout& to, int bytes) {
  int best = from.rank() - 1;
  int64_t fewest = INT64_MAX;
  for (int dim = from.rank() - 1; dim >= 0; --dim) {
    const int64_t accesses =
        from.slots() / RunAlong(from, dim, bytes) + to.slots() / RunAlong(to, dim, bytes);
    if (accesses >= fewest) continue;
    fewest = accesses;
    best = dim;
  }
  return best;
}

ScratchOrder OrderOfScratch(const TileLayout& from, const TileLayout& to, int bytes) {
  const int fast = FastDimension(from, to, bytes);
  ScratchOrder best;
  int64_t fewest = INT64_MAX;
  // No gap, one that keeps wide accesses aligned, and one of a bank.
  for (const int64_t gap :
       {int64_t{0}, kWidest / bytes, std::max<int64_t>(1, kBankBytes / bytes)}) {
    const bool aligned = gap * bytes % kWidest == 0;
    if (!aligned && (RunAlong(from, fast, bytes) * bytes > kBankBytes ||
                     RunAlong(to, fast, bytes) * bytes > kBankBytes)) {
      continue;
    }
    ScratchOrder order = OrderWith(from.shape(), fast, gap);
    const int64_t wavefronts =
        WavefrontsWith(from, order, fast, bytes) + WavefrontsWith(to, order, fast, bytes);
    if (wavefronts >= fewest) continue;
    fewest = wavefronts;
    best = std::move(order);
  }
  return best;
}

ScratchOrder RowMajorScratch(const Extents& shape) {
  if (shape.empty()) return {{}, 1};
  return OrderWith(shape, static_cast<int>(shape.size()) - 1, 0);
}

}  // namespace tarsia::compiler
