#include "compiler/select/parted_offset.h"

#include <algorithm>

#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using Digit = RegLayout::Digit;

// Whether adding the digit to others never carries from one mode into the next: those of smaller
// strides add up to less than its stride.
bool StaysWithinModes(const std::vector<MemLayout::Mode>& modes, const Digit& digit) {
  int64_t inner = 1;
  for (size_t m = modes.size(); m-- > 1;) {
    inner *= modes[m].extent;
    if (digit.stride % inner != 0 && inner % digit.stride != 0) return false;
  }
  return true;
}

// The bits that a digit sets in offsets.
uint64_t BitsOf(const StridedBytes& memory, const Digit& digit) {
  uint64_t bits = 0;
  for (int64_t i = 0; i < digit.extent; ++i) {
    bits |= static_cast<uint64_t>(memory.Along(digit.dim, i * digit.stride));
  }
  return bits;
}

}  // namespace

int64_t StridedBytes::Along(int dim, int64_t index) const {
  const std::vector<MemLayout::Mode>& modes = dims[Size(dim)];
  int64_t out = 0;
  for (size_t m = modes.size(); m-- > 0;) {
    out += (m == 0 ? index : index % modes[m].extent) * modes[m].stride;
    index /= modes[m].extent;
  }
  return out;
}

int64_t StridedBytes::Of(const Extents& index) const {
  int64_t out = 0;
  for (size_t d = 0; d < dims.size(); ++d) out += Along(static_cast<int>(d), index[d]);
  return out;
}

int64_t StridedBytes::Inner(int dim) const {
  const std::vector<MemLayout::Mode>& modes = dims[Size(dim)];
  int64_t out = 1;
  for (size_t m = 1; m < modes.size(); ++m) out *= modes[m].extent;
  return out;
}

int64_t StridedBytes::Period() const {
  int64_t out = 1;
  for (const Swizzle& swizzle : swizzles) out = std::max(out, swizzle.Period());
  return out;
}

int64_t StridedBytes::Swizzled(int64_t byte) const {
  auto out = static_cast<uint64_t>(byte);
  for (const Swizzle& swizzle : swizzles) out = swizzle.Apply(out);
  return static_cast<int64_t>(out);
}

bool OffsetsArePartedIn(const StridedBytes& memory, const RegLayout& tile) {
  const auto stays = [&](const Digit& digit) {
    return digit.dim == RegLayout::kReplication ||
           StaysWithinModes(memory.dims[Size(digit.dim)], digit);
  };
  if (!std::all_of(tile.spatial().begin(), tile.spatial().end(), stays)) return false;
  if (!std::all_of(tile.local().begin(), tile.local().end(), stays)) return false;
  if (memory.swizzles.empty()) return true;
  uint64_t of_threads = 0;
  for (const Digit& digit : tile.spatial()) {
    if (digit.dim == RegLayout::kReplication) continue;
    const uint64_t bits = BitsOf(memory, digit);
    if ((of_threads & bits) != 0) return false;
    of_threads |= bits;
  }
  return std::all_of(tile.local().begin(), tile.local().end(),
                     [&](const Digit& digit) { return (of_threads & BitsOf(memory, digit)) == 0; });
}

}  // namespace tarsia::compiler
