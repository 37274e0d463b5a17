// The global memory of an emulated device: allocations at 64-bit device addresses of its own, with
// gaps between them, and for each bit whether it was ever written.
//
// Copies, fills, allocations and launches on one memory must not run at the same time, but blocks
// of one launch may.
#ifndef TARSIA_PTX_MEMORY_MEMORY_H_
#define TARSIA_PTX_MEMORY_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "ptx/memory/heap.h"
#include "support/result.h"

namespace tarsia::ptx {

// The generic address space: windows into the memories that belong to a block or a thread; all
// other addresses are global.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 32;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 32;
inline constexpr uint64_t kParamWindow = uint64_t{3} << 32;
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 24;
inline constexpr uint64_t kGlobalBase = uint64_t{0x7} << 40;

class Memory {
 public:
  // Addresses rise from `base`, so that two memories can have none in common.
  explicit Memory(uint64_t capacity = uint64_t{1} << 36, uint64_t base = kGlobalBase)
      : capacity_(capacity), next_(base) {}

  // Addresses are multiples of 512, contents undefined. Zero bytes give an address of its own.
  Result<uint64_t> Allocate(uint64_t bytes);
  // Fails unless `address` is what Allocate gave and Free has not taken.
  Status Free(uint64_t address);
  // Marks what it writes as defined.
  Status CopyIn(uint64_t address, std::span<const uint8_t> data);
  Status CopyOut(uint64_t address, std::span<uint8_t> data) const;
  Status CopyWithin(uint64_t to, uint64_t from, uint64_t bytes);
  // Repeats the low `width` (1, 2 or 4) bytes of a value.
  Status Fill(uint64_t address, uint32_t value, int width, uint64_t count);
  // Whether all bits of the bytes were written.
  [[nodiscard]] Result<bool> IsDefined(uint64_t address, uint64_t bytes) const;
  // Makes an allocation one that kernels may not write (.const).
  Status SetReadOnly(uint64_t address);

  // The heap of malloc on the device: made by the first call, of as many bytes as it was
  // given before that.
  void SetHeapBytes(uint64_t bytes) { heap_bytes_ = bytes; }
  Status MakeHeap();
  // Null until it is made.
  [[nodiscard]] Heap* heap() const { return heap_.get(); }

  // The allocation that holds an address, or null. Blocks of malloc are none.
  [[nodiscard]] const MemoryRange* Find(uint64_t address) const;
  // What lies at an address, for messages: "12 bytes past the allocation of 64 bytes at 0x..".
  [[nodiscard]] std::string Describe(uint64_t address) const;
  [[nodiscard]] uint64_t capacity() const { return capacity_; }
  [[nodiscard]] uint64_t used() const { return used_; }

 private:
  struct Allocation {
    MemoryRange range;
    CBytes data;
    CBytes defined;
  };
  Result<const MemoryRange*> FindAll(uint64_t address, uint64_t bytes) const;

  uint64_t capacity_;
  uint64_t used_ = 0;
  uint64_t next_;
  std::map<uint64_t, Allocation> allocations_;  // by address
  std::map<uint64_t, uint64_t> freed_;          // address and size, for messages
  uint64_t heap_bytes_ = Heap::kDefaultBytes;
  std::unique_ptr<Heap> heap_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_MEMORY_H_
