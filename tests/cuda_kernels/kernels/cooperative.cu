// Cooperative groups: the grid's barrier, and groups of what lanes are active.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void count_active(const int* x, int n, int* counter, int* places) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || x[i] % 3 != 0) return;
  const cg::coalesced_group active = cg::coalesced_threads();
  int first = 0;
  if (active.thread_rank() == 0) first = atomicAdd(counter, active.size());
  places[i] = active.shfl(first, 0) + active.thread_rank();
}

extern "C" __global__ void tile_max(const int* x, int* most) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int own = x[cg::this_grid().thread_rank()];
  for (int step = tile.size() / 2; step > 0; step /= 2) own = max(own, tile.shfl_xor(own, step));
  const bool is_first = tile.any(own > 90) && tile.thread_rank() == 0;
  const unsigned where = tile.ballot(x[cg::this_grid().thread_rank()] == own);
#ifdef FAULT_HALF_A_TILE
  // finds FAULT_HALF_A_TILE: divergence
  // may find FAULT_HALF_A_TILE: deadlock
  if (tile.thread_rank() < 4) tile.sync();
#else
  tile.sync();
#endif
  if (tile.thread_rank() == 0) {
    most[cg::this_grid().thread_rank() / 8] = own + 1000 * is_first + 10000 * __ffs(where);
  }
}
