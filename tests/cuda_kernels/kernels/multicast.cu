// arch: sm_90a
// Clusters of two blocks: each loads half of every tile for both, and sums the columns of the tile
// with weights of its own.
#include <cooperative_groups.h>

#include "async.cuh"

namespace cg = cooperative_groups;

constexpr int kRows = 16;  // of a tile
constexpr int kColumns = 32;

extern "C" __global__ void __cluster_dims__(2, 1, 1)
    column_sums(const __grid_constant__ CUtensorMap in, int* sums, int tiles) {
  __shared__ alignas(128) int tile[2][kRows / 2][kColumns];
  __shared__ uint64_t full;
  const cg::cluster_group cluster = cg::this_cluster();
  const int rank = cluster.block_rank();
  if (threadIdx.x == 0) {
    // finds FAULT_OWN_BYTES: mbarrier
    Init(&full, 1);
    FenceInit();
  }
#ifdef FAULT_NO_FIRST_BARRIER
  __syncthreads();
#else
  cluster.sync();  // the other block's barrier must be there before a copy comes to it
#endif
  int sum = 0;
  for (int t = 0; t < tiles; ++t) {
    if (threadIdx.x == 0) {
#ifdef FAULT_OWN_BYTES
      Expect(&full, sizeof tile[0]);
#else
      Expect(&full, sizeof tile);
#endif
#ifdef FAULT_ONLY_THE_OTHER
      LoadBoxes(tile[rank], in, 0, t * kRows + rank * (kRows / 2), &full, 2);
#else
      // finds FAULT_NO_FIRST_BARRIER: mbarrier
      // finds FAULT_NO_BARRIER_OF_BOTH: async
      // may find FAULT_NO_FIRST_BARRIER: race
      // may find FAULT_OWN_BYTES: async
      LoadBoxes(tile[rank], in, 0, t * kRows + rank * (kRows / 2), &full, 3);
#endif
    }
    // finds FAULT_ONLY_THE_OTHER: deadlock
    // may find FAULT_NO_FIRST_BARRIER: deadlock
    Wait(&full, t % 2);
    for (int row = 0; row < kRows; ++row) {
      // may find FAULT_NO_BARRIER_OF_BOTH: async
      // finds FAULT_OWN_BYTES: async
      sum += (row + 1 + 100 * rank) * tile[row / (kRows / 2)][row % (kRows / 2)][threadIdx.x];
    }
#ifdef FAULT_NO_BARRIER_OF_BOTH
    __syncthreads();
#else
    cluster.sync();  // both have read the tile
#endif
  }
  // may find FAULT_OWN_BYTES: uninitialised
  sums[blockIdx.x * kColumns + threadIdx.x] = sum;
}
