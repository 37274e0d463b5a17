// The cp.async copies of a thread, which begin at once and end when their group is waited for.
#ifndef TARSIA_PTX_MACHINE_CP_ASYNC_H_
#define TARSIA_PTX_MACHINE_CP_ASYNC_H_

#include <cstdint>
#include <deque>

#include "ptx/race/order.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

// A copy that has read its source and has not been delivered.
struct CpAsyncCopy {
  uint64_t address = 0;  // in shared memory
  uint8_t bytes = 0;
  uint64_t group = 0;
  Clock clock = 0;  // of the lane's agent
  const Inst* inst = nullptr;
  uint8_t data[16] = {};
  uint8_t defined[16] = {};
};

// The copies of a lane, in the order in which they began.
struct CpAsyncState {
  uint64_t open_group = 0;
  Clock clock = 1;         // advances with each group, and with each arrival that waits for copies
  uint64_t delivered = 0;  // how many copies came before those in `copies`
  std::deque<CpAsyncCopy> copies;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_CP_ASYNC_H_
