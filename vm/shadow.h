// The state of each byte of memory for `--check`: the last write and read, the interval between two
// `sync`s in which they happened, whether the byte was ever written, and whether an asynchronous
// copy to it is pending. Kept by bit where elements share bytes. Pages are made at the first
// access.
#ifndef TARSIA_VM_SHADOW_H_
#define TARSIA_VM_SHADOW_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace tarsia::vm {

// By block: this many of its intervals between two `sync`s are known to be over.
using BlockClock = std::map<int64_t, uint32_t>;

// One execution of one instruction.
struct Accessor {
  uint32_t inst = 0;   // in the plan
  uint32_t stamp = 0;  // of this execution; unique, from 1
  uint32_t epoch = 0;  // `sync`s of its block so far
  int64_t block = 0;   // linear index
  bool atomic = false;
  bool updates = false;               // atomic: also writes
  const BlockClock* known = nullptr;  // of other blocks, by semaphores; null: nothing
};

enum class FindingKind : uint8_t {
  kReadBeforeWait,
  kWriteBeforeWait,
  kWriteAfterWrite,
  kWriteAfterRead,
  kReadAfterWrite,
  kUnwritten,
};

// Not thread-safe: `--check` runs on one thread.
class Shadow {
 public:
  // Called at most once per access and kind; `other` is the earlier access (of a race).
  using Report = std::function<void(FindingKind, const Accessor& other)>;

  // `defined`: the bytes have values from the start. `replaceable` (global memory): without a
  // `sync` a block may write what it has read, and an instruction may write what it wrote in an
  // earlier iteration of a loop.
  Shadow(uint64_t bytes, bool defined, bool replaceable);

  // Bits [bit, bit + count), counted from the region's start. `found` holds the kinds that this
  // access has already reported (one bit per kind).
  void Read(uint64_t bit, uint64_t count, const Accessor& by, unsigned& found,
            const Report& report);
  void Write(uint64_t bit, uint64_t count, const Accessor& by, unsigned& found,
             const Report& report);
  // A write whose bytes come later: until Deliver they are pending. Deliver counts as a write of
  // `by` at that time.
  void WriteLater(uint64_t bit, uint64_t count, const Accessor& by, unsigned& found,
                  const Report& report);
  void Deliver(uint64_t bit, uint64_t count, const Accessor& by);
  // Forgets the contents and the history of these bytes.
  void Forget(uint64_t byte, uint64_t bytes);
  // Forgets the contents alone.
  void Undefine(uint64_t byte, uint64_t bytes);

 private:
  struct Touch {
    int64_t block = -1;
    uint32_t inst = 0;
    uint32_t stamp = 0;
    uint32_t epoch = 0;
    uint8_t mask = 0;  // bits of the byte
    bool atomic = false;
  };
  struct Cell {
    Touch write;
    Touch other_write;  // an atomic one that nothing orders with `write`
    Touch read;
    Touch other_read;  // the last one by another block than that of `read`
    uint8_t written = 0;
    uint8_t pending = 0;
  };
  static constexpr uint64_t kPage = 512;
  Cell& At(uint64_t byte);
  // Calls `each` for the cells that exist.
  template <typename Each>
  void ForEachCell(uint64_t byte, uint64_t bytes, const Each& each);
  template <typename Each>
  void ForEachByte(uint64_t bit, uint64_t count, const Each& each);
  static bool Races(const Touch& earlier, const Accessor& by, uint8_t mask);
  void CheckWrite(Cell& cell, uint8_t mask, const Accessor& by, unsigned& found,
                  const Report& report);

  uint64_t bytes_;
  bool defined_;
  bool replaceable_;
  std::vector<std::unique_ptr<Cell[]>> pages_;
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_SHADOW_H_
