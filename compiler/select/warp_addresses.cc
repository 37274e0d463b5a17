#include "compiler/select/warp_addresses.h"

#include <algorithm>
#include <array>

namespace tarsia::compiler {

namespace {

// Calls `visit` for each lane with its index, and whether it is active.
template <typename Visit>
void ForLanes(const TileLayout& layout, bool only_first, const Visit& visit) {
  const auto lanes = std::min<int64_t>(kWarpThreads, layout.threads());
  Extents at(layout.shape().size());
  for (int64_t lane = 0; lane < lanes; ++lane) {
    std::fill(at.begin(), at.end(), 0);
    bool active = true;
    int64_t stride = layout.threads();
    for (const RegLayout::Digit& digit : layout.reg().spatial()) {
      stride /= digit.extent;
      const int64_t value = lane / stride % digit.extent;
      if (digit.dim == RegLayout::kReplication) {
        active = active && (!only_first || value == 0);
      } else {
        at[static_cast<size_t>(digit.dim)] += value * digit.stride;
      }
    }
    for (size_t d = 0; d < at.size(); ++d) active = active && at[d] < layout.shape()[d];
    visit(at, active);
  }
}

void Append(uint64_t address, bool active, WarpAddresses& out) {
  out.address[out.lanes] = address;
  out.active |= uint32_t{active} << out.lanes;
  ++out.lanes;
}

}  // namespace

WarpAddresses AddressesOf(const TileLayout& layout, std::span<const int64_t> strides, int bits,
                          bool only_first) {
  WarpAddresses out;
  const auto width = static_cast<uint64_t>(bits);
  if (layout.padded()) {
    ForLanes(layout, only_first, [&](const Extents& at, bool active) {
      int64_t element = 0;
      for (size_t d = 0; d < at.size(); ++d) element += at[d] * strides[d];
      Append(static_cast<uint64_t>(element) * width / 8, active, out);
    });
    return out;
  }
  // Digit by digit from the innermost: each repeats the lanes so far.
  const auto lanes = static_cast<size_t>(std::min<int64_t>(kWarpThreads, layout.threads()));
  Append(0, true, out);
  const RegLayout::Digits& digits = layout.reg().spatial();
  for (size_t d = digits.size(); d-- > 0 && out.lanes < lanes;) {
    const bool replica = digits[d].dim == RegLayout::kReplication;
    const int64_t step =
        replica ? 0 : digits[d].stride * strides[static_cast<size_t>(digits[d].dim)];
    const size_t count = out.lanes;
    for (int64_t value = 1; value < digits[d].extent && out.lanes < lanes; ++value) {
      for (size_t i = 0; i < count && out.lanes < lanes; ++i) {
        const bool active = (out.active >> i & 1) != 0 && !(replica && only_first);
        Append(out.address[i] + static_cast<uint64_t>(value * step), active, out);
      }
    }
  }
  for (uint64_t& element : out.address) element = element * width / 8;
  return out;
}

WarpAddresses AddressesOf(const TileLayout& layout, const StridedBytes& places, bool only_first) {
  WarpAddresses out;
  ForLanes(layout, only_first, [&](const Extents& at, bool active) {
    Append(static_cast<uint64_t>(places.Swizzled(places.Of(at))), active, out);
  });
  return out;
}

WarpAddresses::Active WarpAddresses::ActiveOf(size_t first, size_t count) const {
  Active out;
  const size_t end = std::min(first + count, lanes);
  for (size_t i = first; i < end; ++i) {
    if ((active >> i & 1) != 0) out.address[out.count++] = address[i];
  }
  return out;
}

int64_t WarpAddresses::Sectors(int unit, uint64_t offset) const {
  Active all = ActiveOf(0, kWarpThreads);
  for (size_t i = 0; i < all.count; ++i) all.address[i] += offset;
  return SectorsOf(all.span(), unit);
}

int64_t WarpAddresses::Wavefronts(int unit) const {
  const size_t phase = PhaseLanes(unit);
  int64_t out = 0;
  for (size_t first = 0; first < lanes; first += phase) {
    const Active here = ActiveOf(first, phase);
    if (here.count != 0) out += WavefrontsOf(here.span(), unit);
  }
  return out;
}

int64_t WarpAddresses::Phases(int unit) const {
  const size_t phase = PhaseLanes(unit);
  int64_t out = 0;
  for (size_t first = 0; first < lanes; first += phase) {
    const uint64_t mask = ((uint64_t{1} << phase) - 1) << first;
    if ((active & mask) != 0) ++out;
  }
  return out;
}

}  // namespace tarsia::compiler
