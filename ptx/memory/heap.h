// The heap of a device, from which kernels take memory with malloc: its blocks lie at addresses
// that are never given again, in host memory that is, so that what is used after it was freed is
// found. Thread-safe.
#ifndef TARSIA_PTX_MEMORY_HEAP_H_
#define TARSIA_PTX_MEMORY_HEAP_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace tarsia::ptx {

// Bytes at some address, and which of their bits are defined (a 1 each).
struct MemoryRange {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint8_t* data = nullptr;
  uint8_t* defined = nullptr;
  bool read_only = false;

  [[nodiscard]] bool Holds(uint64_t at, uint64_t count) const {
    return at - address < bytes && count <= bytes - (at - address);
  }
};

inline constexpr uint64_t kHeapBase = uint64_t{0x5} << 40;
inline constexpr uint64_t kHeapWindow = uint64_t{1} << 40;

// Frees what calloc gave.
struct FreeDeleter {
  void operator()(uint8_t* data) const { std::free(data); }
};
using CBytes = std::unique_ptr<uint8_t, FreeDeleter>;

class Heap {
 public:
  static constexpr uint64_t kDefaultBytes = uint64_t{8} << 20;  // cudaLimitMallocHeapSize

  // Null if the host has no such room.
  static std::unique_ptr<Heap> Make(uint64_t bytes);

  static bool Covers(uint64_t address) { return address - kHeapBase < kHeapWindow; }

  // The address of so many undefined bytes, a multiple of 16; 0 if they are none or cannot be had.
  [[nodiscard]] uint64_t Allocate(uint64_t bytes);
  // Takes back what Allocate gave; false for any other address.
  bool Free(uint64_t address);
  // The block that holds an address, as it is now; false if there is none.
  bool Find(uint64_t address, MemoryRange* range) const;
  // What lies at an address, for messages.
  [[nodiscard]] std::string Describe(uint64_t address) const;

  // Blocks are small and many: those of a chunk of addresses share the notes of who touched them.
  static uint64_t ChunkAddress(const MemoryRange& block) { return block.address & ~(kChunk - 1); }
  static uint64_t ChunkBytes(const MemoryRange& block) {
    return block.bytes > kChunk ? block.bytes : kChunk;
  }

 private:
  static constexpr uint64_t kAlign = 16;
  static constexpr uint64_t kGap =
      32;  // between blocks: bytes past the end of one belong to no other
  static constexpr uint64_t kChunk = uint64_t{1} << 18;
  static constexpr size_t kMostFreed = 4096;
  struct Block {
    uint64_t offset = 0;  // in the host's memory
    uint64_t bytes = 0;   // that were asked for
  };

  Heap(uint64_t bytes, CBytes data, CBytes defined);
  uint64_t NextAddress(uint64_t bytes);
  void GiveBack(const Block& block);
  [[nodiscard]] std::map<uint64_t, Block>::const_iterator AtOrBefore(uint64_t address) const;

  mutable std::mutex mutex_;
  uint64_t capacity_;
  CBytes data_;
  CBytes defined_;
  uint64_t next_ = kHeapBase;
  std::map<uint64_t, Block> blocks_;    // by address
  std::map<uint64_t, uint64_t> room_;   // offset and size of what is not taken
  std::map<uint64_t, uint64_t> freed_;  // address and size, for messages
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_HEAP_H_
