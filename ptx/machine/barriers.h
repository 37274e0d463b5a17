// The barriers of a block (bar, barrier).
#ifndef TARSIA_PTX_MACHINE_BARRIERS_H_
#define TARSIA_PTX_MACHINE_BARRIERS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ptx/machine/divergence.h"
#include "ptx/race/order.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

class Block;
class Warp;

struct Barrier {
  struct Waiter {
    Warp* warp = nullptr;
    Split* split = nullptr;
    const Inst* inst = nullptr;
    Frame* frame = nullptr;
    uint32_t mask = 0;
  };
  uint32_t threads = 0;  // how many complete it; 0: all that have not ended
  uint32_t arrived = 0;
  uint32_t true_count = 0;              // barrier.red: how many predicates hold
  std::vector<uint32_t> arrived_lanes;  // by warp
  Past past;                            // what happened before the arrivals
  std::vector<Waiter> waiters;
};

class Barriers {
 public:
  static constexpr uint32_t kCount = 16;

  // The block, of so many warps, must outlive this.
  Barriers(const Block* block, uint32_t warps);

  // The executing lanes of a warp arrive at a barrier. True: the barrier is complete or is not
  // waited for, and the lanes go on.
  bool Arrive(uint32_t number, uint32_t threads, bool wait, const Inst& inst, Warp* warp,
              uint32_t predicate);
  // Threads have ended: barriers that take all threads may be complete now.
  void ThreadsEnded();
  // The past of the threads that have ended. Barriers of all threads count them as arrived.
  [[nodiscard]] Past& ended() { return ended_; }
  // "; barrier 1 has 32 of 64 threads" and so on.
  [[nodiscard]] std::string Describe() const;

 private:
  // How many threads complete a barrier.
  [[nodiscard]] uint32_t Needed(const Barrier& barrier) const;
  bool TryComplete(Barrier* barrier);

  const Block* block_;
  std::array<Barrier, kCount> barriers_;
  Past ended_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_BARRIERS_H_
