#include "compiler/llvm/code/access_width.h"

#include <algorithm>
#include <utility>

#include "compiler/select/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

uint64_t Unsigned(int64_t x) { return static_cast<uint64_t>(x); }

// Whether places in memory of vectors of v elements along `dim` are multiples of v.
bool StridesAlign(const MemoryTile& memory, int dim, int64_t v) {
  for (int d = 0; d < memory.rank(); ++d) {
    if (memory.form == MemoryTile::Form::kModes) {
      const auto& modes = memory.layout->modes(d);
      for (size_t m = 0; m < modes.size(); ++m) {
        const bool inner = d == dim && m + 1 == modes.size();
        if ((inner ? modes[m].extent : modes[m].stride) % v != 0) return false;
      }
    } else if (d != dim && !memory.dims[Size(d)].stride.facts.IsMultipleOf(Unsigned(v))) {
      return false;
    }
  }
  return true;
}

// Whether vectors of v elements along `dim` are aligned, whole, and exist together.
bool MayVector(const TileWindow& window, int dim, int64_t v) {
  const MemoryTile& memory = window.memory;
  const auto n = Unsigned(v);
  const auto bits = n * Unsigned(memory.bits());
  if (bits % 8 != 0 || !window.root[Size(dim)].facts.IsMultipleOf(n)) return false;
  const MemoryTile::Dim& fast = memory.dims[Size(dim)];
  if (!window.IsAboveLow(dim) && !fast.low.facts.IsMultipleOf(n)) return false;
  if (!window.IsBelowHigh(dim) && !fast.high.facts.IsMultipleOf(n)) return false;
  const auto unit = Unsigned(UnitOf(static_cast<int64_t>(bits / 8)));
  // A swizzle moves aligned runs of 16 bytes.
  if (!memory.swizzles.empty() && unit * 8 != bits) return false;
  return memory.alignment % unit == 0 && StridesAlign(memory, dim, v);
}

}  // namespace

bool TileWindow::IsAboveLow(int dim) const {
  if (dim == axis) return false;
  if (proven != nullptr && proven->dims[Size(dim)].above_low) return true;
  return root[Size(dim)].facts.lo >= memory.dims[Size(dim)].low.facts.hi;
}

bool TileWindow::IsBelowHigh(int dim) const {
  if (dim == axis) return false;
  // What is proven is proven of the true extent alone.
  if (proven != nullptr && proven->dims[Size(dim)].below_high && !tile.PaddedAlong(dim)) {
    return true;
  }
  const int64_t steps = std::max<int64_t>(0, tile.reg().shape()[Size(dim)] - 1);
  const Facts last = root[Size(dim)].facts + Facts::Exactly(steps);
  return last.hi < memory.dims[Size(dim)].high.facts.lo;
}

int ContiguousDim(const MemoryTile& memory) {
  for (int d = 0; d < memory.rank(); ++d) {
    const MemoryTile::Dim& dim = memory.dims[Size(d)];
    if (memory.form == MemoryTile::Form::kAffine && dim.stride.facts == Facts::Exactly(1)) return d;
    if (memory.form != MemoryTile::Form::kModes) continue;
    const auto& modes = memory.layout->modes(d);
    if (!modes.empty() && modes.back().stride == 1) return d;
  }
  return -1;
}

AccessWidth WidthOf(const TileWindow& window) {
  const MemoryTile& memory = window.memory;
  const TileLayout& tile = window.tile;
  AccessWidth out;
  if (memory.bits() % 8 == 0) {
    const int element = UnitOf(memory.bits() / 8);
    out.unit = static_cast<int>(std::min<uint64_t>(memory.alignment, Unsigned(element)));
  }
  if (memory.form == MemoryTile::Form::kPacked) return out;
  const int dim = ContiguousDim(memory);
  if (dim < 0 || dim == window.axis || tile.empty() || tile.reg().local().empty()) return out;
  const RegLayout::Digit& inner = tile.reg().local().back();
  if (inner.dim != dim || inner.stride != 1) return out;
  for (const RegLayout::Digit& digit : tile.reg().spatial()) {
    if (digit.dim == dim && digit.stride % inner.extent != 0) return out;
  }
  // Where the shape ends within a vector, only a part of it would be the tile's. Codes of 3 bits
  // take 128 to fill units of 16 bytes.
  for (int64_t v = 1; v <= inner.extent && inner.extent % v == 0; v *= 2) {
    const bool whole = !tile.PaddedAlong(dim) || tile.shape()[Size(dim)] % v == 0;
    const bool widest = v > 1 && UnitOf(v / 2 * memory.bits() / 8) == kWidestAccess &&
                        v / 2 * memory.bits() % 8 == 0;
    if (widest || !whole) break;
    if (MayVector(window, dim, v)) out = {v, UnitOf(v * memory.bits() / 8)};
  }
  return out;
}

std::optional<RegLayout> OuterLayout(const TileWindow& window) {
  if (window.axis >= 0 || window.tile.empty()) return std::nullopt;
  const RegLayout& inner = window.memory.layout->packed().tile;
  for (int d = 0; d < inner.rank(); ++d) {
    const auto extent = Unsigned(inner.shape()[Size(d)]);
    if (!window.root[Size(d)].facts.IsMultipleOf(extent)) return std::nullopt;
  }
  Result<RegLayout> outer = Divide(window.tile.reg(), inner);
  if (!outer.ok()) return std::nullopt;
  return *std::move(outer);
}

bool PackedTilesAreWhole(const TileWindow& window) {
  const MemoryTile& memory = window.memory;
  const RegLayout& inner = memory.layout->packed().tile;
  for (int d = 0; d < memory.rank(); ++d) {
    if (window.tile.PaddedAlong(d)) return false;
    if (window.IsInside(d)) continue;
    const MemoryTile::Dim& dim = memory.dims[Size(d)];
    if (!memory.whole || !dim.high.facts.IsMultipleOf(Unsigned(inner.shape()[Size(d)]))) {
      return false;
    }
  }
  return true;
}

}  // namespace tarsia::compiler
