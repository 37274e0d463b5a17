#include "vm/block_state.h"

#include <cstring>

namespace tarsia::vm {

BlockState::BlockState(LaunchState& state) : launch(state), semaphore(state) {
  const Plan& plan = launch.plan;
  uint8_t* base = shared_memory.Ensure(plan.shared_bytes);
  std::memset(base, 0, plan.shared_bytes);
  if (launch.options().check) {
    shadows.push_back(std::make_unique<Shadow>(plan.shared_bytes, false, false));
  }
  for (const Allocation& allocation : plan.shared) {
    Region region;
    region.data = base + allocation.offset;
    region.bytes = allocation.bytes;
    region.space = Space::kShared;
    region.value = allocation.value;
    if (!shadows.empty()) region.shadow = shadows.back().get();
    region.shadow_first = allocation.offset;
    shared.push_back(region);
  }
}

void BlockState::Begin(int64_t linear_index) {
  linear = linear_index;
  index = {linear_index % launch.grid[0], linear_index / launch.grid[0] % launch.grid[1],
           linear_index / launch.grid[0] / launch.grid[1]};
  epoch = 0;
  for (const auto& shadow : shadows) shadow->Forget(0, launch.plan.shared_bytes);
}

}  // namespace tarsia::vm
