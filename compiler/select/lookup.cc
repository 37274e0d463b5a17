#include "compiler/select/lookup.h"

#include <numeric>

namespace tarsia::compiler {

LookupWay WayOfLookup(DType codes, DType elements) {
  if (codes.bits <= 4 && elements.bits <= 16) return LookupWay::kPermute;
  return codes.bits <= 5 ? LookupWay::kShuffle : LookupWay::kShared;
}

TileLayout TableLayout(DType codes, DType elements, int64_t threads) {
  const int64_t size = int64_t{1} << codes.bits;
  const bool whole = WayOfLookup(codes, elements) == LookupWay::kPermute;
  // Of a table in shared memory each thread writes what it has, so that it should have little.
  const int64_t spread = whole ? 1 : std::gcd(size, threads);
  const RegLayout::Digits across = {{RegLayout::kReplication, threads / spread, 0}, {0, spread, 1}};
  const RegLayout::Digits inside = {{0, size / spread, spread}};
  return TileLayout::Exact(*RegLayout::FromDigits(Extents{size}, across, inside));
}

}  // namespace tarsia::compiler
