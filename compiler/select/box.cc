#include "compiler/select/box.h"

#include "layout/access.h"

namespace tarsia::compiler {
namespace {

// The bits that a thread moves in one access.
constexpr int64_t kVectorBits = 128;
// The bits that a cache transfers at once.
constexpr int64_t kSectorBits = kSectorBytes * 8;

// The dimension along which elements of a box of a memory tile are contiguous.
int FastDimension(const ConcreteType& memory, const Extents& box) {
  const MemLayoutFamily& family = memory.mem_layout;
  const int last = static_cast<int>(memory.shape.size()) - 1;
  switch (family.kind) {
    case MemLayoutFamily::Kind::kColumnMajor:
      return 0;
    case MemLayoutFamily::Kind::kConcrete:
      for (int d = last; d >= 0 && !family.concrete.IsPacked(); --d) {
        const auto& modes = family.concrete.modes(d);
        if (box[static_cast<size_t>(d)] == 1) continue;
        if (!modes.empty() && modes.back().stride == 1) return d;
      }
      return last;
    case MemLayoutFamily::Kind::kRowMajor:
    case MemLayoutFamily::Kind::kPacked:
      return last;
  }
  return last;
}

}  // namespace

Result<TileLayout> LayoutOfBox(const InstRow& row, const Extents& shape, const ConcreteType& source,
                               int64_t threads) {
  const int64_t bits = row.WritesMemory() ? kVectorBits : kSectorBits;
  int64_t vector = 1;
  while (vector * 2 * source.dtype.bits <= bits) vector *= 2;
  return BlockedLayout(shape, threads, vector, FastDimension(source, shape));
}

}  // namespace tarsia::compiler
