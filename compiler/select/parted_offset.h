// Whether the byte offsets of a register tile's elements in memory come apart: into a part that the
// thread has, and a constant of the slot.
#ifndef TARSIA_COMPILER_SELECT_PARTED_OFFSET_H_
#define TARSIA_COMPILER_SELECT_PARTED_OFFSET_H_

#include <cstdint>
#include <vector>

#include "layout/mem_layout.h"
#include "layout/reg_layout.h"

namespace tarsia::compiler {

// Strided memory with constant strides: by dimension its modes, outermost first, with strides in
// bytes; then swizzles.
struct StridedBytes {
  std::vector<std::vector<MemLayout::Mode>> dims;
  std::vector<Swizzle> swizzles;

  // The offset of an element before the swizzles.
  [[nodiscard]] int64_t Of(const Extents& index) const;
  // The same for an index that is 0 along all dimensions but one.
  [[nodiscard]] int64_t Along(int dim, int64_t index) const;
  // Along `dim`, an index that is a multiple of this only moves the outermost mode.
  [[nodiscard]] int64_t Inner(int dim) const;
  // The swizzles map each aligned block of this size into itself; 1 if there are none.
  [[nodiscard]] int64_t Period() const;
  [[nodiscard]] int64_t Swizzled(int64_t byte) const;
};

// Of a tile at index 0. Then the offset of slot s of thread t is Of(t) + Of(s). With swizzles it is
// Swizzled(Of(t)) ^ Swizzled(Of(s)), since no bit is in both parts; what of Of(s) is a multiple of
// Period() may be added afterwards.
bool OffsetsArePartedIn(const StridedBytes& memory, const RegLayout& tile);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_PARTED_OFFSET_H_
