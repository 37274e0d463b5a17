// Locations that hand order from thread to thread: what was released on each, and to whom it may be
// of use (PTX ISA, "Release and Acquire Patterns"). A fence before a strong write releases as a
// release does; a fence after a strong read acquires.
#ifndef TARSIA_PTX_RACE_SYNC_TABLE_H_
#define TARSIA_PTX_RACE_SYNC_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ptx/race/order.h"
#include "ptx/race/race.h"

namespace tarsia::ptx {

struct Release {
  uint32_t block = 0;
  Strength scope = Strength::kWeak;
  Past past;
};
using Releases = std::vector<Release>;  // one for each block and scope

// Whether an operation of this scope in a block takes what was released.
bool IsWithinScope(const Release& release, Strength scope, const Accessor& accessor);
void AddRelease(const Release& release, Releases* to);

// What was released, by address. Thread-safe.
class SyncTable {
 public:
  // A strong write: what was released before is overwritten.
  void Write(uint64_t address, const Release* release);
  // An atomic update: what was released before stays.
  void Update(uint64_t address, const Release& release);
  [[nodiscard]] Releases Read(uint64_t address);
  [[nodiscard]] bool empty() const { return size_.load(std::memory_order_acquire) == 0; }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, Releases> by_address_;
  std::atomic<size_t> size_{0};
};

// The state that connects fences of a warp's lanes with their strong accesses.
class FenceState {
 public:
  // A fence: the lanes acquire what their strong reads have seen and release what they know.
  void Fence(uint32_t lanes, Strength scope, const Accessor& accessor, WarpOrder* order);
  // A strong read of a lane saw these.
  void Saw(int lane, Strength scope, const Releases& releases);
  // What a strong write of a lane releases, if there was a fence before.
  [[nodiscard]] bool Released(int lane, Release* release) const;

 private:
  struct Lane {
    std::vector<std::pair<Strength, Release>> seen;  // with the scope of the read
    Release released;                                // scope kWeak: none
  };
  std::array<Lane, kLanes> lanes_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_RACE_SYNC_TABLE_H_
