#include "compiler/tile_layout.h"
#include "layout/access.h"
#include "support/align.h"
#include "support/extents.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tarsia::compiler {
namespace {

// The divisor of `threads`, at most `most`, that needs the fewest rounds over `units`, and of those
// the smallest.
int64_t ThreadsAlong(int64_t units, int64_t threads, int64_t most) {
  int64_t best = 1;
  for (int64_t t = 1; t <= std::min(threads, most); ++t) {
    if (threads % t == 0 && CeilDiv(units, t) < CeilDiv(units, best)) best = t;
  }
  return best;
}

// The largest power of two that divides `extent` and is at most `limit`.
int64_t VectorOf(int64_t extent, int64_t limit) {
  int64_t v = 1;
  while (v * 2 <= limit && extent % (v * 2) == 0) v *= 2;
  return v;
}

Extents WithoutAxes(const Extents& shape, std::span<const int64_t> axes, bool keepdims) {
  Extents out;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool goes = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (!goes) out.push_back(shape[d]);
    if (goes && keepdims) out.push_back(1);
  }
  return out;
}

}  // namespace

TileLayout TileLayout::Exact(RegLayout layout) {
  Extents shape = layout.shape();
  return Padded(std::move(layout), std::move(shape));
}

TileLayout TileLayout::Padded(RegLayout layout, Extents shape) {
  TileLayout out;
  out.reg_ = std::move(layout);
  out.shape_ = std::move(shape);
  out.empty_ = std::find(out.shape_.begin(), out.shape_.end(), 0) != out.shape_.end();
  return out;
}

Extents TileLayout::SlotOffset(int64_t slot) const {
  Extents index(reg_.shape().size());
  reg_.Element(0, slot, index);
  return index;
}

Extents TileLayout::ThreadOffset(int64_t thread) const {
  Extents index(reg_.shape().size());
  reg_.Element(thread, 0, index);
  return index;
}

std::string ToString(const TileLayout& layout) {
  std::string out = ToString(layout.reg());
  if (layout.padded()) out += ", padded from " + tarsia::ToString(layout.shape());
  return out;
}

Result<TileLayout> BlockedLayout(const Extents& shape, int64_t threads, int64_t vector, int fast,
                                 bool exact) {
  const size_t rank = shape.size();
  std::vector<size_t> order;  // the fastest first
  if (rank > 0) order.push_back(Size(fast));
  for (size_t d = rank; d-- > 0;) {
    if (d != Size(fast)) order.push_back(d);
  }
  Extents turns(rank, 1), across(rank, 1), within(rank, 1);
  int64_t left = threads;
  for (const size_t d : order) {
    const int64_t extent = std::max<int64_t>(1, shape[d]);
    if (d == Size(fast)) within[d] = VectorOf(extent, vector);
    const int64_t units = extent / within[d];
    across[d] = ThreadsAlong(units, left, exact ? std::gcd(units, left) : left);
    turns[d] = CeilDiv(units, across[d]);
    left /= across[d];
  }
  Extents padded, modes, spatial, local;
  for (size_t d = 0; d < rank; ++d) {
    padded.push_back(turns[d] * across[d] * within[d]);
    modes.insert(modes.end(), {turns[d], across[d], within[d]});
  }
  if (left > 1) spatial.push_back(~left);
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    spatial.push_back(static_cast<int64_t>(*d * 3 + 1));
  }
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    local.push_back(static_cast<int64_t>(*d * 3));
  }
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    local.push_back(static_cast<int64_t>(*d * 3 + 2));
  }
  TARSIA_TRY(RegLayout reg, RegLayout::Make(padded, modes, spatial, local));
  return TileLayout::Padded(std::move(reg), shape);
}

std::optional<TileLayout> LayoutOfWarpRows(const Extents& shape, int64_t warps, int64_t vector,
                                           int fast, std::span<const int64_t> axes) {
  Extents spread(shape.size(), 1), rest = shape;
  int64_t left = warps;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end()) continue;
    if (shape[d] == 0) return std::nullopt;
    spread[d] = std::gcd(left, shape[d]);
    rest[d] /= spread[d];
    left /= spread[d];
  }
  if (left == warps) return std::nullopt;
  auto of_warp = BlockedLayout(rest, left * kWarpThreads, vector, fast);
  for (size_t d = 0; d < shape.size() && of_warp.ok(); ++d) {
    // Padding would lie between the warps.
    if (spread[d] == 1 || !of_warp->PaddedAlong(static_cast<int>(d))) continue;
    of_warp = BlockedLayout(rest, left * kWarpThreads, vector, fast, true);
  }
  if (!of_warp.ok()) return std::nullopt;
  const auto outer = RegLayout::Spatial(spread);
  if (!outer.ok()) return std::nullopt;
  auto reg = Product(*outer, of_warp->reg());
  if (!reg.ok()) return std::nullopt;
  return TileLayout::Padded(*std::move(reg), shape);
}

std::optional<TileLayout> LayoutOfThreadRows(const Extents& shape, int64_t warps, int fast,
                                             std::span<const int64_t> axes) {
  Extents others = shape, rows(shape.size(), 1);
  for (const int64_t axis : axes) std::swap(others[Size(axis)], rows[Size(axis)]);
  std::optional<TileLayout> outer = LayoutOfWarpRows(others, warps, 1, fast, axes);
  if (!outer) {
    auto blocked = BlockedLayout(others, warps * kWarpThreads, 1, fast);
    if (!blocked.ok()) return std::nullopt;
    outer = *std::move(blocked);
  }
  const auto inner = RegLayout::Local(rows);
  if (!inner.ok()) return std::nullopt;
  auto reg = Product(outer->reg(), *inner);
  if (!reg.ok()) return std::nullopt;
  return TileLayout::Padded(*std::move(reg), shape);
}

Result<TileLayout> ReducedLayout(const TileLayout& source, std::span<const int64_t> axes,
                                 bool keepdims) {
  TARSIA_TRY(RegLayout reg, Reduce(source.reg(), axes, keepdims));
  return TileLayout::Padded(std::move(reg), WithoutAxes(source.shape(), axes, keepdims));
}

Result<TileLayout> PermutedLayout(const TileLayout& source, std::span<const int64_t> order) {
  TARSIA_TRY(RegLayout reg, Permute(source.reg(), order));
  Extents shape;
  for (const int64_t d : order) shape.push_back(source.shape()[Size(d)]);
  return TileLayout::Padded(std::move(reg), std::move(shape));
}

std::optional<TileLayout> ReshapedLayout(const TileLayout& source, const Extents& shape) {
  if (source.empty() || source.padded()) return std::nullopt;
  Result<RegLayout> reg = Reshape(source.reg(), shape);
  if (!reg.ok()) return std::nullopt;
  return TileLayout::Exact(*std::move(reg));
}

std::optional<std::vector<int64_t>> SlotPermutation(const TileLayout& from, const TileLayout& to) {
  if (from.shape() != to.shape() || from.reg().spatial() != to.reg().spatial()) {
    return std::nullopt;
  }
  std::map<Extents, int64_t> slot_of;
  for (int64_t slot = 0; slot < from.slots(); ++slot) slot_of[from.SlotOffset(slot)] = slot;
  std::vector<int64_t> out;
  for (int64_t slot = 0; slot < to.slots(); ++slot) {
    const auto found = slot_of.find(to.SlotOffset(slot));
    out.push_back(found == slot_of.end() ? -1 : found->second);
  }
  return out;
}

ThreadReduction ReduceThreads(const TileLayout& source, std::span<const int64_t> axes) {
  constexpr int64_t kLanes = 32;
  const auto power_of_two = [](int64_t x) { return (x & (x - 1)) == 0; };
  ThreadReduction out;
  int64_t stride = source.threads();
  for (const RegLayout::Digit& digit : source.reg().spatial()) {
    stride /= digit.extent;
    if (std::find(axes.begin(), axes.end(), digit.dim) == axes.end()) continue;
    int64_t extent = digit.extent;
    int64_t from = stride;
    // The low bits of the digit are bits of the lane.
    for (; power_of_two(from) && from < kLanes && extent % 2 == 0; extent /= 2, from *= 2) {
      out.lane_masks.push_back(static_cast<int>(from));
    }
    if (extent == 1) continue;
    out.cross.push_back({from, extent});
    out.parts *= extent;
  }
  return out;
}

}  // namespace tarsia::compiler
