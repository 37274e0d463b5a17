#include "compiler/select/top_k.h"

#include <algorithm>
#include <bit>

#include "layout/access.h"
#include "support/align.h"

namespace tarsia::compiler {
namespace {

// Batcher's merge exchange of n wires, in the order in which it compares.
std::vector<Comparator> MergeExchange(int64_t n) {
  std::vector<Comparator> out;
  if (n < 2) return out;
  const auto top = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)) / 2);
  for (int64_t p = top; p > 0; p /= 2) {
    int64_t step = p, residue = 0;
    for (int64_t q = top;; q /= 2) {
      for (int64_t i = 0; i + step < n; ++i) {
        if ((i & p) == residue) out.push_back({i, i + step});
      }
      if (q == p) break;
      step = q - p;
      residue = p;
    }
  }
  return out;
}

}  // namespace

std::vector<Comparator> SelectionNetwork(int64_t n, int64_t k) {
  const std::vector<Comparator> all = MergeExchange(n);
  std::vector<bool> counts(static_cast<size_t>(n), false);
  std::fill_n(counts.begin(), std::min(n, k), true);
  std::vector<Comparator> out;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const auto first = static_cast<size_t>(at->first), second = static_cast<size_t>(at->second);
    if (!counts[first] && !counts[second]) continue;
    counts[first] = counts[second] = true;
    out.push_back(*at);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

unsigned OrderBits(DType type, int64_t extent) {
  const auto wanted =
      static_cast<unsigned>(type.bits + std::bit_width(static_cast<uint64_t>(extent)));
  return wanted <= 32 ? 32 : wanted <= 64 ? 64 : 128;
}

TopKPlan PlanTopK(const TileLayout& source, int64_t axis, int64_t k) {
  TopKPlan out;
  const std::vector<int64_t> axes = {axis};
  out.threads = ReduceThreads(source, axes);
  if (source.slots() == 0) return out;
  out.elements = 1;
  for (const RegLayout::Digit& digit : source.reg().local()) {
    if (digit.dim == axis) out.elements *= digit.extent;
  }
  out.rows = source.slots() / out.elements;
  out.in_thread = std::min(out.elements, k);
  out.in_warp = std::min(out.elements << out.threads.lane_masks.size(), k);
  if (out.threads.parts > 1 && out.whole_warp()) {
    out.of_lane = CeilDiv<int64_t>(out.parts(), kWarpThreads);
  }
  return out;
}

}  // namespace tarsia::compiler
