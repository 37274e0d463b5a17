// The address of each slot's element in a memory tile, and whether it exists there. What slots
// share is computed once.
#ifndef TARSIA_COMPILER_LLVM_CODE_TILE_ADDRESSES_H_
#define TARSIA_COMPILER_LLVM_CODE_TILE_ADDRESSES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/llvm/code/access_width.h"
#include "compiler/llvm/code/layouts.h"
#include "compiler/llvm/code/memory.h"
#include "compiler/select/parted_offset.h"

namespace tarsia::compiler {

class TileAddresses {
 public:
  TileAddresses(FunctionBuilder& function, Layouts& layouts, const TileWindow& window);

  // i1, or null for always: whether the slot's element exists in memory.
  llvm::Value* Exists(int64_t slot);
  // The mask of a load: the element also belongs to the register tile. The mask of a store: this
  // thread is also its first holder.
  llvm::Value* LoadMask(int64_t slot);
  llvm::Value* StoreMask(int64_t slot);

  // Where the code of an element begins.
  struct Place {
    Address byte;                // of the byte that holds the first bit
    Address next;                // of the byte that follows, which a swizzle may put elsewhere
    llvm::Value* bit = nullptr;  // i32, 0 to 7: where in the byte; null: elements of whole bytes
  };
  Place PlaceOf(int64_t slot);
  // The root indices of the slot's element by dimension, i64.
  std::vector<llvm::Value*> RootIndices(int64_t slot);
  // The address of a byte (i64) of the root.
  Address AddressOf(llvm::Value* byte);

 private:
  // The root index of a slot's element along a dimension: value + constant.
  struct Coordinate {
    llvm::Value* value = nullptr;  // i64
    int64_t constant = 0;
  };
  Coordinate CoordinateOf(int64_t slot, int dim);
  // The first of the register tile's indices along a dimension that is at least a root index.
  struct Bound {
    llvm::Value* index = nullptr;  // i32
    int64_t block = 1;             // a power of two that divides it
    // i1, by what the slot adds to the index (of an axis with indices: by slot).
    std::map<int64_t, llvm::Value*> is_from;
  };
  Bound BoundAt(const IndexValue& root_index, int dim);
  // i1: whether a slot's index is at least that root index; `bounds` are those of the dimensions.
  llvm::Value* IsFrom(const IndexValue& root_index, int64_t slot, int dim,
                      std::map<int, Bound>& bounds);
  llvm::Value* RootIndex(int64_t slot, int dim);
  llvm::Value* LinearOffset(int64_t slot, int64_t* constant);
  llvm::Value* ModesOffset(const Slots& indices);
  llvm::Value* BytesAt(const Slots& indices);
  llvm::Value* Swizzled(llvm::Value* byte);
  [[nodiscard]] bool ConstantsMayFollow() const;
  Address AddressOf(llvm::Value* byte, int64_t constant);
  Place PlaceOfBytes(llvm::Value* offset, int64_t constant);
  Address PartedAddress(const StridedBytes& memory, int64_t slot);

  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  Layouts& layouts_;
  const TileWindow& window_;
  const MemoryTile& memory_;
  std::map<int, Bound> lows_, highs_;
  // By dimension and offset: offset * stride.
  std::map<std::pair<int, int64_t>, llvm::Value*> strides_;
  // Of the thread's slot at 0: root indices by dimension, the offset in elements, the address.
  Slots of_thread_;
  llvm::Value* linear_ = nullptr;
  llvm::Value* address_ = nullptr;
  // Where offsets come apart (select/parted_offset.h): of the window's first element the address;
  // of the thread's part the swizzled offset; their sums by what is exclusive-ored to the latter.
  std::optional<StridedBytes> parted_;
  llvm::Value* first_ = nullptr;
  llvm::Value* thread_ = nullptr;
  std::map<int64_t, llvm::Value*> parted_addresses_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_TILE_ADDRESSES_H_
