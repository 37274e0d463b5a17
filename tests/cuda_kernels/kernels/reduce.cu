// Sums: of a block by shuffles, with any number of threads, by cooperative groups, and by the last
// block that is done.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__device__ float WarpSum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xFFFFFFFF, value, step);
  return value;
}

// The sum of a block in thread 0. May be called again only behind a barrier.
__device__ float BlockSum(float value) {
  __shared__ float of_warp[32];
  value = WarpSum(value);
  // finds FAULT_MISSING_BARRIER: race
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
#ifdef FAULT_BARRIER_IN_BRANCH
  // finds FAULT_BARRIER_IN_BRANCH: divergence
  // may find FAULT_BARRIER_IN_BRANCH: deadlock
  if (threadIdx.x % 32 < 16) __syncthreads();
#elif !defined(FAULT_MISSING_BARRIER)
  __syncthreads();
#endif
  if (threadIdx.x / 32 != 0) return 0;
  // finds FAULT_MISSING_BARRIER: race
  value = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
  return WarpSum(value);
}

extern "C" __global__ void block_sums(const float* x, int n, float* sums) {
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    own += x[i];
  }
  own = BlockSum(own);
  // may find FAULT_MISSING_BARRIER: uninitialised
  if (threadIdx.x == 0) sums[blockIdx.x] = own;
}

// A tree in shared memory, halving the threads.
extern "C" __global__ void tree_sum(const int* x, int* sum) {
  __shared__ int part[128];
  part[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    // finds FAULT_WARPS_ALONE: race
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
#ifdef FAULT_WARPS_ALONE
    if (step <= 16) continue;  // as if the lanes of a warp went in step
#endif
    __syncthreads();
  }
  // may find FAULT_WARPS_ALONE: race
  if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}

extern "C" __global__ void group_sum(const int* x, int n, int* sums) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  int own = 0;
  for (int i = tile.meta_group_rank() * 16 + tile.thread_rank(); i < n; i += block.size()) {
    own += x[i];
  }
  const int sum = cg::reduce(tile, own, cg::plus<int>());
  const int most = cg::reduce(tile, own, cg::greater<int>());
  if (tile.thread_rank() == 0) {
    sums[2 * tile.meta_group_rank()] = sum;
    sums[2 * tile.meta_group_rank() + 1] = most;
  }
}
