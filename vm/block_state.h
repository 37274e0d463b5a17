// The state that the agents of a block share.
#ifndef TARSIA_VM_BLOCK_STATE_H_
#define TARSIA_VM_BLOCK_STATE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "vm/aligned_buffer.h"
#include "vm/launch_state.h"
#include "vm/memory_view.h"
#include "vm/semaphore_wait.h"

namespace tarsia::vm {

// Used for one block after another, and for one launch after another.
struct BlockState {
  explicit BlockState(LaunchState& state);
  void Begin(int64_t linear_index);

  LaunchState& launch;
  std::array<int64_t, 3> index = {0, 0, 0};
  int64_t linear = 0;
  uint32_t epoch = 0;  // `sync`s so far
  AlignedBuffer shared_memory;
  std::vector<Region> shared;  // by allocation
  std::vector<std::unique_ptr<Shadow>> shadows;
  SemaphoreWait semaphore;  // for which its agent waits
};

}  // namespace tarsia::vm

#endif  // TARSIA_VM_BLOCK_STATE_H_
