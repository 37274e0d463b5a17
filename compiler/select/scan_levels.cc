#include "compiler/select/scan_levels.h"

#include <algorithm>
#include <tuple>

#include "layout/access.h"

namespace tarsia::compiler {
namespace {

// The largest power of two that divides the extent and with the stride stays within a warp.
int64_t LanesOf(int64_t stride, int64_t extent) {
  if ((stride & (stride - 1)) != 0) return 1;
  int64_t lanes = 1;
  while (extent % (lanes * 2) == 0 && stride * lanes * 2 <= kWarpThreads) lanes *= 2;
  return lanes;
}

// Calls visit(digit, stride of the number), of the digits of a number from the last to the first.
template <typename Visit>
void VisitDigits(const RegLayout::Digits& digits, const Visit& visit) {
  int64_t stride = 1;
  for (size_t i = digits.size(); i-- > 0;) {
    visit(digits[i], stride);
    stride *= digits[i].extent;
  }
}

}  // namespace

std::vector<ScanLevel> ScanLevels(const TileLayout& source, int axis) {
  using Kind = ScanLevel::Kind;
  std::vector<ScanLevel> out;
  VisitDigits(source.reg().local(), [&](const RegLayout::Digit& digit, int64_t stride) {
    if (digit.dim == axis) out.push_back({Kind::kSlots, digit.extent, stride, digit.stride});
  });
  VisitDigits(source.reg().spatial(), [&](const RegLayout::Digit& digit, int64_t stride) {
    if (digit.dim != axis) return;
    const int64_t lanes = LanesOf(stride, digit.extent);
    const int64_t rest = digit.extent / lanes;
    if (lanes > 1) out.push_back({Kind::kLanes, lanes, stride, digit.stride});
    if (rest > 1) out.push_back({Kind::kThreads, rest, stride * lanes, digit.stride * lanes});
  });
  std::sort(out.begin(), out.end(),
            [](const ScanLevel& a, const ScanLevel& b) { return a.along < b.along; });
  return out;
}

int64_t ScanTotals::PlaceOf(bool is_slot, int64_t number) const {
  int64_t place = 0;
  for (const ScanPart& part : parts) {
    if (part.is_slot == is_slot) place += number / part.stride % part.extent * part.step;
  }
  return place;
}

ScanTotals TotalsOf(const TileLayout& source, int axis, const ScanLevel& level) {
  ScanTotals out;
  for (const ScanLevel& other : ScanLevels(source, axis)) {
    if (other.along <= level.along) continue;
    out.parts.push_back({other.kind == ScanLevel::Kind::kSlots, other.extent, other.stride});
  }
  const auto add_others = [&](const RegLayout::Digits& digits, bool is_slot) {
    VisitDigits(digits, [&](const RegLayout::Digit& digit, int64_t stride) {
      if (digit.dim == axis || digit.dim == RegLayout::kReplication) return;
      out.parts.push_back({is_slot, digit.extent, stride});
    });
  };
  add_others(source.reg().spatial(), false);
  add_others(source.reg().local(), true);
  std::sort(out.parts.begin(), out.parts.end(), [](const ScanPart& a, const ScanPart& b) {
    return std::tie(a.is_slot, a.stride) < std::tie(b.is_slot, b.stride);
  });
  for (ScanPart& part : out.parts) {
    part.step = out.step;
    out.step *= part.extent;
  }
  out.count = out.step * level.extent;
  return out;
}

}  // namespace tarsia::compiler
