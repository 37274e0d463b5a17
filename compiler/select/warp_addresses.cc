#include "compiler/select/warp_addresses.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "layout/access.h"

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

}  // namespace

WarpAddresses AddressesOf(const TileLayout& layout, std::span<const int64_t> strides, int bits,
                          bool only_first) {
  WarpAddresses out;
  const auto width = static_cast<uint64_t>(bits);
  if (layout.padded()) {
    ForLanes(layout, only_first, [&](const Extents& at, bool active) {
      int64_t element = 0;
      for (size_t d = 0; d < at.size(); ++d) element += at[d] * strides[d];
      out.address.push_back(static_cast<uint64_t>(element) * width / 8);
      out.active.push_back(active);
    });
    return out;
  }
  // Digit by digit from the innermost: each repeats the lanes so far.
  const auto lanes = static_cast<size_t>(std::min<int64_t>(kWarpThreads, layout.threads()));
  std::vector<uint64_t>& address = out.address;
  address.reserve(lanes);
  out.active.reserve(lanes);
  address.push_back(0);
  out.active.push_back(true);
  const RegLayout::Digits& digits = layout.reg().spatial();
  for (size_t d = digits.size(); d-- > 0;) {
    const bool replica = digits[d].dim == RegLayout::kReplication;
    const int64_t step =
        replica ? 0 : digits[d].stride * strides[static_cast<size_t>(digits[d].dim)];
    const size_t count = address.size();
    for (int64_t value = 1; value < digits[d].extent && address.size() < lanes; ++value) {
      for (size_t i = 0; i < count && address.size() < lanes; ++i) {
        address.push_back(address[i] + static_cast<uint64_t>(value * step));
        out.active.push_back(out.active[i] && !(replica && only_first));
      }
    }
  }
  for (uint64_t& element : address) element = element * width / 8;
  return out;
}

WarpAddresses AddressesOf(const TileLayout& layout, const StridedBytes& places, bool only_first) {
  WarpAddresses out;
  ForLanes(layout, only_first, [&](const Extents& at, bool active) {
    out.address.push_back(static_cast<uint64_t>(places.Swizzled(places.Of(at))));
    out.active.push_back(active);
  });
  return out;
}

int64_t WarpAddresses::Sectors(int unit) const {
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < address.size(); ++i) {
    if (active[i]) addresses.push_back(address[i]);
  }
  return SectorsOf(addresses, unit);
}

int64_t WarpAddresses::Wavefronts(int unit) const {
  const size_t phase = PhaseLanes(unit);
  int64_t out = 0;
  std::array<uint64_t, kWarpThreads> addresses{};
  for (size_t first = 0; first < address.size(); first += phase) {
    size_t count = 0;
    for (size_t i = first; i < std::min(first + phase, address.size()); ++i) {
      if (active[i]) addresses[count++] = address[i];
    }
    if (count != 0) out += WavefrontsOf({addresses.data(), count}, unit);
  }
  return out;
}

int64_t WarpAddresses::Phases(int unit) const {
  int64_t out = 0;
  const auto phase = static_cast<std::ptrdiff_t>(PhaseLanes(unit));
  for (auto first = active.begin(); first != active.end();) {
    const auto last = first + std::min(phase, active.end() - first);
    if (std::find(first, last, true) != last) ++out;
    first = last;
  }
  return out;
}

}  // namespace tarsia::compiler
