// Tiles in memory at run time: where their bytes are, which of their elements exist, and how a box
// is copied to and from arrays of native containers.
//
// A view is a window into a root tile: slices keep the root's addresses and narrow the range of
// elements that exist. Elements outside read as zero bits and are not written; no byte past the end
// of the root is ever accessed. Concurrent writers of different bits of one byte do not lose each
// other's bits.
#ifndef TARSIA_VM_MEMORY_VIEW_H_
#define TARSIA_VM_MEMORY_VIEW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dtypes/dtype.h"
#include "isa/limits.h"
#include "isa/module.h"
#include "layout/mem_layout.h"
#include "support/result.h"
#include "vm/code_pieces.h"

namespace tarsia::vm {

class Shadow;

// The bytes that a tile lies in: a parameter's buffer, shared memory, or scratch.
struct Region {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
  Space space = Space::kGlobal;
  bool writable = true;
  uint32_t value = 0;         // the pointer or allocation, for messages
  Shadow* shadow = nullptr;   // only with --check
  uint64_t shadow_first = 0;  // the byte in it that is the region's first
};

// How the elements of a root tile of one shape are addressed. A map that is shared does not change
// any more.
class AddressMap {
 public:
  static Result<std::shared_ptr<AddressMap>> Make(const MemLayoutFamily& family,
                                                  std::span<const int64_t> shape, DType type);
  // A map for a dense tile that Remake can change; null for other forms.
  static std::shared_ptr<AddressMap> Reserve(const MemLayoutFamily& family,
                                             std::span<const int64_t> shape, DType type);
  // Sets `map` to that of this tile. It reuses the object if nothing else holds it, so that dense
  // tiles whose extents change allocate nothing. Unchanged after an error.
  static Status Remake(const MemLayoutFamily& family, std::span<const int64_t> shape, DType type,
                       std::shared_ptr<AddressMap>& map);

  [[nodiscard]] const Extents& shape() const { return shape_; }
  [[nodiscard]] int rank() const { return static_cast<int>(shape_.size()); }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] int bits() const { return type_.bits; }
  [[nodiscard]] uint64_t size_bytes() const { return size_bytes_; }

  // Strides in elements, where address = (offset + sum of index * stride) * bits.
  [[nodiscard]] const MemLayout::Affine* affine() const { return affine_ ? &*affine_ : nullptr; }
  [[nodiscard]] bool IsPacked() const { return layout_.IsPacked(); }

  // Strided forms: offset in elements before swizzles of index i along a dimension.
  [[nodiscard]] int64_t DimOffset(int dim, int64_t i) const {
    const auto& table = offsets_[static_cast<size_t>(dim)];
    return table.empty() ? SlowDimOffset(dim, i) : table[static_cast<size_t>(i)];
  }
  // Strided forms: the number of contiguous elements from index i of the last dimension on (at
  // least 1; no more than are known).
  [[nodiscard]] int64_t RunFrom(int64_t i) const {
    return runs_.empty() ? 1 : runs_[static_cast<size_t>(i)];
  }
  [[nodiscard]] uint64_t SwizzleByte(uint64_t byte) const {
    for (const Swizzle& swizzle : layout_.swizzles()) byte = swizzle.Apply(byte);
    return byte;
  }
  // For other forms than dense ones.
  [[nodiscard]] const MemLayout& layout() const { return layout_; }
  // Packed form.
  [[nodiscard]] const CodePieces& pieces() const { return pieces_; }
  [[nodiscard]] uint64_t tile_bytes() const { return tile_bytes_; }

 private:
  AddressMap() = default;
  [[nodiscard]] int64_t SlowDimOffset(int dim, int64_t i) const;
  bool SetDense(const MemLayoutFamily& family, std::span<const int64_t> shape, DType type);
  void SetTables();
  Extents shape_;
  MemLayout layout_;  // the default one for a map that SetDense made
  DType type_;
  uint64_t size_bytes_ = 0;
  std::optional<MemLayout::Affine> affine_;
  std::vector<std::vector<int64_t>> offsets_;  // by dimension; empty where the extent is large
  std::vector<int64_t> runs_;                  // of the last dimension; empty as above
  CodePieces pieces_;
  uint64_t tile_bytes_ = 0;
};

struct MemoryView {
  Region* region = nullptr;
  uint64_t offset = 0;  // bytes from the region's start to the root tile's address 0
  std::shared_ptr<const AddressMap> map;
  int rank = 0;
  int64_t origin[kMaxRank] = {};  // root index of this view's element 0
  int64_t low[kMaxRank] = {};     // root indices that exist: low <= i < high
  int64_t high[kMaxRank] = {};
  int64_t shape[kMaxRank] = {};

  [[nodiscard]] uint8_t* base() const { return region->data + offset; }
};

// A view of a whole tile of `map` at `offset` bytes in a region, which must hold it.
MemoryView MakeView(Region* region, uint64_t offset, std::shared_ptr<const AddressMap> map);
// The part that begins at `start` and has `shape`; elements outside of the source do not exist.
MemoryView SliceView(const MemoryView& source, const int64_t* start, const int64_t* shape);
// The first byte of a view (from the region's start), if it is a whole root tile or one run of
// whole bytes; empty otherwise.
std::optional<uint64_t> FirstByte(const MemoryView& view);

// A box of a view, clipped to the elements that exist.
struct Box {
  int rank = 0;
  bool empty = false;            // none of its elements exist (or it has none)
  bool full = true;              // all of them exist
  int64_t root[kMaxRank] = {};   // root index of the box's element 0; meaningless if empty
  int64_t first[kMaxRank] = {};  // elements of the box that exist: first <= e < last
  int64_t last[kMaxRank] = {};
};
Box ClipBox(const MemoryView& view, const int64_t* start, const int64_t* shape);

// Reads a box of `shape` into row-major containers; zeros where nothing exists.
void LoadBox(const MemoryView& view, const Box& box, const int64_t* shape, void* tile);
// Writes a box.
void StoreBox(const MemoryView& view, const Box& box, const int64_t* shape, const void* tile);
// The same with strides (in elements) of the tile; LoadBoxStrided does not write elements that do
// not exist.
void LoadBoxStrided(const MemoryView& view, const Box& box, const int64_t* tile_strides,
                    void* tile);
void StoreBoxStrided(const MemoryView& view, const Box& box, const int64_t* tile_strides,
                     const void* tile);

// Bit address from the region's start of one bit of the element with a root index that exists.
uint64_t ElementBit(const MemoryView& view, const int64_t* root, int bit);

// Calls visit(bit, count) for the runs of bits of all existing elements of the box, counted from
// the region's start.
void VisitBits(const MemoryView& view, const Box& box,
               const std::function<void(uint64_t, uint64_t)>& visit);

// Calls visit(element, root index) for each existing element of the box, in row-major order;
// `element` is its row-major number in a tile of `shape`.
template <typename Visit>
void VisitElements(const Box& box, const int64_t* shape, const Visit& visit) {
  if (box.empty) return;
  int64_t at[kMaxRank];
  int64_t root[kMaxRank];
  for (int d = 0; d < box.rank; ++d) at[d] = box.first[d];
  while (true) {
    int64_t element = 0;
    for (int d = 0; d < box.rank; ++d) {
      element = element * shape[d] + at[d];
      root[d] = box.root[d] + at[d];
    }
    visit(element, root);
    int d = box.rank - 1;
    while (d >= 0 && ++at[d] == box.last[d]) {
      at[d] = box.first[d];
      --d;
    }
    if (d < 0) return;
  }
}

}  // namespace tarsia::vm

#endif  // TARSIA_VM_MEMORY_VIEW_H_
