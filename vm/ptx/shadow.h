// Who touched memory last: for every 4 bytes of global and shared memory the writes and reads that
// a later access may race with. Allocated a page at a time, when the page is first touched.
//
// A slot of a cell holds one mark, which is nearly always all there is, or the number of a set of
// them. Sets are shared by all cells that hold the same one, and counted.
#ifndef TARSIA_VM_PTX_SHADOW_H_
#define TARSIA_VM_PTX_SHADOW_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "vm/ptx/order.h"

namespace tarsia::ptx {

// How an access was made.
enum class Strength : uint8_t { kWeak, kCta, kCluster, kGpu, kSys };
inline constexpr uint8_t kStrengthBits = 7;
inline constexpr uint8_t kAtomicBit = 8;        // an atomic read-modify-write
inline constexpr uint8_t kAsyncBit = 16;        // by an agent
inline constexpr uint8_t kAsyncProxyBit = 32;   // within the asynchronous proxy
inline constexpr uint8_t kNonCoherentBit = 64;  // ld.global.nc

// An access to some of the 4 bytes of a cell.
struct Mark {
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kSet = UINT32_MAX - 1;

  uint32_t block = kNone;  // or kNone: the slot is empty; or kSet: `clock` is the set's number
  uint16_t actor = 0;
  uint8_t bytes = 0;  // a bit each
  uint8_t how = 0;    // Strength and the bits above
  Clock clock = 0;
  uint32_t inst = 0;  // Inst::id

  friend bool operator==(const Mark&, const Mark&) = default;
};

struct Cell {
  Mark write;
  Mark read;
};

// Sets of marks, equal ones once. Thread-safe once they are shared.
class MarkSets {
 public:
  static constexpr size_t kMost = 16;  // marks of a set; what is beyond forgets the oldest

  struct Set {
    uint32_t count = 0;
    std::array<Mark, kMost> marks;  // the oldest first
    [[nodiscard]] std::span<const Mark> all() const { return {marks.data(), count}; }
  };

  // Whether several host threads are at work.
  void SetShared(bool shared) { shared_ = shared; }
  // Calls visit(marks) with those of a slot; it must not change any set.
  template <typename Visit>
  auto Look(const Mark& slot, const Visit& visit) {
    if (slot.block == Mark::kNone) return visit(std::span<const Mark>());
    if (slot.block != Mark::kSet) return visit(std::span(&slot, 1));
    const Lock lock(this);
    return visit(entries_[slot.clock].set.all());
  }
  // Sets may take so much more memory; what does not fit keeps the newest mark alone.
  void Allow(uint64_t bytes) { limit_.fetch_add(bytes, std::memory_order_relaxed); }
  // What a slot with these marks holds. Each slot counts once.
  [[nodiscard]] Mark Make(const Set& set);
  // What a slot came to hold when a mark was added to it is remembered for a while, since many
  // cells go the same way: Recall does it again, or returns false. Knowledge only grows, so that
  // what was left out of the set before may be left out again.
  bool Recall(Mark* slot, const Mark& added);
  void Remember(const Mark& before, const Mark& added, const Mark& after);
  // The slot holds something else from now on.
  void Drop(const Mark& slot);
  [[nodiscard]] uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    Set set;
    uint64_t uses = 0;
    uint64_t hash = 0;
    uint32_t generation = 0;  // of what the entry has been used for
  };
  struct Step {
    Mark before;
    Mark added;
    Mark after;
    uint32_t generation_before = 0;
    uint32_t generation_after = 0;
  };
  static constexpr size_t kSteps = 2048;

  [[nodiscard]] uint32_t GenerationOf(const Mark& slot) const {
    return slot.block == Mark::kSet ? entries_[slot.clock].generation : 0;
  }
  Step& StepOf(const Mark& before, const Mark& added);
  void DropLocked(const Mark& slot);

  class Lock {
   public:
    explicit Lock(MarkSets* sets) : mutex_(sets->shared_ ? &sets->mutex_ : nullptr) {
      if (mutex_ != nullptr) mutex_->lock();
    }
    ~Lock() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::mutex* mutex_;
  };

  bool shared_ = false;
  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::vector<uint32_t> free_;
  std::vector<Step> steps_;  // empty until there is one
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> limit_{uint64_t{1} << 20};
};

// The cells of a range of memory.
class ShadowRange {
 public:
  static constexpr uint64_t kPageCells = 256;
  static constexpr uint64_t kCellBytes = 4;

  struct Page {
    std::array<Cell, kPageCells> cells;
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
  };

  // Sets of marks in its cells are `sets`, which must outlive it.
  ShadowRange(uint64_t bytes, MarkSets* sets);
  ~ShadowRange();
  ShadowRange(const ShadowRange&) = delete;
  ShadowRange& operator=(const ShadowRange&) = delete;

  // The page with a cell; thread-safe.
  Page& PageOf(uint64_t cell) {
    std::atomic<Page*>& slot = pages_[cell / kPageCells];
    Page* page = slot.load(std::memory_order_acquire);
    return page != nullptr ? *page : *NewPage(&slot);
  }
  [[nodiscard]] MarkSets& sets() { return *sets_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  Page* NewPage(std::atomic<Page*>* slot);

  MarkSets* sets_;
  std::vector<std::atomic<Page*>> pages_;
  std::atomic<uint64_t> bytes_{0};
};

// The cells of global memory, by the address where an allocation begins. Thread-safe.
class GlobalShadow {
 public:
  // Whether several host threads are at work.
  void SetShared(bool shared) {
    shared_ = shared;
    sets_.SetShared(shared);
  }
  [[nodiscard]] bool shared() const { return shared_; }
  ShadowRange& Of(uint64_t address, uint64_t bytes);
  [[nodiscard]] uint64_t bytes();

 private:
  bool shared_ = false;
  MarkSets sets_;
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<ShadowRange>> ranges_;
};

// A page that several host threads may be at.
class PageLock {
 public:
  explicit PageLock(ShadowRange::Page* page, bool needed) : page_(needed ? page : nullptr) {
    while (page_ != nullptr && page_->busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~PageLock() {
    if (page_ != nullptr) page_->busy.clear(std::memory_order_release);
  }
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;

 private:
  ShadowRange::Page* page_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_VM_PTX_SHADOW_H_
