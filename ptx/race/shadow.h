// Shadow memory: for every 4 bytes of global and shared memory the writes and reads that a later
// access may race with. Allocated a page at a time, when the page is first accessed.
#ifndef TARSIA_PTX_RACE_SHADOW_H_
#define TARSIA_PTX_RACE_SHADOW_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "ptx/race/order.h"
#include "ptx/table/semantics.h"

namespace tarsia::ptx {

// An access to some of the 4 bytes of a cell.
struct AccessRecord {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t block = kNone;  // or kNone: no access
  uint16_t actor = 0;
  uint8_t bytes = 0;      // a bit each
  uint8_t semantics = 0;  // Strength and the bits above
  Clock clock = 0;
  uint32_t inst = 0;  // Inst::id

  // As seen from another: the differences of block, actor and clock, which wrap around.
  [[nodiscard]] AccessRecord SeenFrom(const AccessRecord& other) const {
    return {block - other.block,
            static_cast<uint16_t>(actor - other.actor),
            bytes,
            semantics,
            clock - other.clock,
            inst};
  }
  // The inverse.
  [[nodiscard]] AccessRecord From(const AccessRecord& other) const {
    return {block + other.block,
            static_cast<uint16_t>(actor + other.actor),
            bytes,
            semantics,
            clock + other.clock,
            inst};
  }
  friend bool operator==(const AccessRecord&, const AccessRecord&) = default;
};

// Older accesses that count beside a newer one, relative to that: cells that threads access in the
// same pattern have the same trails, whichever threads these are and however often they do so.
struct Trail {
  static constexpr size_t kMost = 15;  // one more, and one is forgotten

  uint8_t count = 0;
  uint8_t bytes = 0;                        // of any
  uint8_t semantics = 0;                    // of any
  bool plain = false;                       // all are by threads of the newer one's block
  std::array<AccessRecord, kMost> records;  // the oldest first
  [[nodiscard]] std::span<const AccessRecord> all() const { return {records.data(), count}; }
};

// Equal trails once, by numbers; 0 is the empty one. They stay until the launch ends. Thread-safe
// once they are shared; who has a number may look without more ado.
class Trails {
  static constexpr uint32_t kChunk = 64;
  static constexpr uint32_t kMostChunks = 1024;

 public:
  static constexpr uint32_t kMost = kChunk * kMostChunks;
  // Whether several host threads are at work.
  void SetShared(bool shared) { shared_ = shared; }
  [[nodiscard]] const Trail& operator[](uint32_t number) const {
    return chunks_[number / kChunk]->trails[number % kChunk];
  }
  Trails();
  // The number of the trail of these, at most Trail::kMost; 0 when there is no more room: an access
  // that is forgotten is a race that may not be found.
  [[nodiscard]] uint32_t Number(std::span<const AccessRecord> records);
  // They may take so much more memory.
  void Allow(uint64_t bytes) { limit_.fetch_add(bytes, std::memory_order_relaxed); }
  [[nodiscard]] uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Chunk {
    std::array<Trail, kChunk> trails;
  };

  uint32_t& PlaceOf(std::span<const AccessRecord> records);
  bool MakeRoom();

  bool shared_ = false;
  std::mutex mutex_;
  std::array<std::unique_ptr<Chunk>, kMostChunks> chunks_;
  uint32_t count_ = 1;
  std::vector<uint32_t> table_;  // by hash, with the next free place for those that collide
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> limit_{uint64_t{2} << 20};
};

// The accesses of one kind that count: the newest, and what it trails.
struct Slot {
  AccessRecord newest;
  uint32_t older = 0;  // a trail
  [[nodiscard]] bool empty() const { return newest.block == AccessRecord::kNone; }
};

struct Cell {
  Slot write;
  Slot read;
};

// The cells of a range of memory.
class ShadowRange {
 public:
  static constexpr uint64_t kPageCells = 256;
  static constexpr uint64_t kCellBytes = 4;

  struct Page {
    std::array<Cell, kPageCells> cells;
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    std::atomic<uint32_t> waiting{0};  // host threads
  };

  // `trails`, unless null, may grow with its pages; they must outlive it.
  explicit ShadowRange(uint64_t bytes, Trails* trails = nullptr);
  ~ShadowRange();
  ShadowRange(const ShadowRange&) = delete;
  ShadowRange& operator=(const ShadowRange&) = delete;

  // The page with a cell; thread-safe.
  Page& PageOf(uint64_t cell) {
    std::atomic<Page*>& slot = pages_[cell / kPageCells];
    Page* page = slot.load(std::memory_order_acquire);
    return page != nullptr ? *page : *NewPage(&slot);
  }
  // The bytes that its pages take, and the bytes of memory that they describe.
  [[nodiscard]] uint64_t bytes() const { return count_.load() * sizeof(Page); }
  [[nodiscard]] uint64_t touched() const { return count_.load() * kPageCells * kCellBytes; }

 private:
  Page* NewPage(std::atomic<Page*>* slot);

  Trails* trails_;
  std::vector<std::atomic<Page*>> pages_;
  std::atomic<uint64_t> count_{0};  // of pages that there are
};

// The cells of global memory, by the address where an allocation begins, and the trails of all
// cells of a launch. Thread-safe.
class GlobalShadow {
 public:
  // Whether several host threads are at work.
  void SetShared(bool shared) {
    shared_ = shared;
    trails_.SetShared(shared);
  }
  [[nodiscard]] bool shared() const { return shared_; }
  ShadowRange& Of(uint64_t address, uint64_t bytes);
  [[nodiscard]] Trails& trails() { return trails_; }
  // The bytes that cells of global memory and trails take, and the bytes that the cells describe.
  [[nodiscard]] uint64_t bytes();
  [[nodiscard]] uint64_t touched();

 private:
  bool shared_ = false;
  Trails trails_;
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<ShadowRange>> ranges_;
};

// A page that several host threads may be at.
class PageLock {
 public:
  explicit PageLock(ShadowRange::Page* page, bool needed) : page_(needed ? page : nullptr) {
    if (page_ == nullptr) return;
    // A thread that polls a flag there comes again and again, and lets those that wait go first.
    for (int turn = 0;
         turn < kTurnsForWaiting && page_->waiting.load(std::memory_order_relaxed) != 0;) {
      ++turn;
    }
    if (!page_->busy.test_and_set(std::memory_order_acquire)) return;
    page_->waiting.fetch_add(1, std::memory_order_relaxed);
    // The thread that holds it may not be running: there may be more host threads than cores.
    for (int turn = 0; page_->busy.test_and_set(std::memory_order_acquire); ++turn) {
      if (turn >= kTurnsBeforeYield) std::this_thread::yield();
    }
    page_->waiting.fetch_sub(1, std::memory_order_relaxed);
  }
  ~PageLock() {
    if (page_ != nullptr) page_->busy.clear(std::memory_order_release);
  }
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;

 private:
  static constexpr int kTurnsBeforeYield = 100;
  static constexpr int kTurnsForWaiting = 1000;
  ShadowRange::Page* page_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_RACE_SHADOW_H_
