// arch: sm_90
// Clusters of four blocks: sums and a histogram through each other's shared memory.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBins = 32;

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const int* x, int n, int* sums) {
  __shared__ int own;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) own = 0;
  __syncthreads();
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += x[i];
  }
  // finds FAULT_MISSING_CLUSTER_BARRIER: race
  atomicAdd(&own, sum);
#ifdef FAULT_MISSING_CLUSTER_BARRIER
  __syncthreads();
#else
  cluster.sync();
#endif
  if (cluster.block_rank() == 0 && threadIdx.x < cluster.num_blocks()) {
    // finds FAULT_MISSING_CLUSTER_BARRIER: race
    // finds FAULT_NO_LAST_BARRIER: race
    // may find FAULT_MISSING_CLUSTER_BARRIER: uninitialised
    // may find FAULT_MISSING_CLUSTER_BARRIER: out_of_bounds
    // finds FAULT_NO_LAST_BARRIER: out_of_bounds
    const int part = *cluster.map_shared_rank(&own, threadIdx.x);
    // may find FAULT_MISSING_CLUSTER_BARRIER: uninitialised
    // may find FAULT_NO_LAST_BARRIER: uninitialised
    atomicAdd(sums + blockIdx.x / 4, part);
  }
#ifndef FAULT_NO_LAST_BARRIER
  cluster.sync();  // nobody leaves while its memory is read
#endif
}

extern "C" __global__ void __cluster_dims__(4, 1, 1)
    cluster_histogram(const unsigned char* data, int n, int* bins) {
  __shared__ int part[kBins / 4];
  const cg::cluster_group cluster = cg::this_cluster();
  // finds FAULT_NO_FIRST_BARRIER: race
  if (threadIdx.x < kBins / 4) part[threadIdx.x] = 0;
#ifdef FAULT_NO_FIRST_BARRIER
  __syncthreads();
#else
  cluster.sync();
#endif
  for (int i = cluster.thread_rank(); i < n; i += cluster.num_threads()) {
    const int bin = data[i] % kBins;
    int* of_block = cluster.map_shared_rank(part, bin / (kBins / 4));
    // finds FAULT_NO_FIRST_BARRIER: race
    // may find FAULT_NO_FIRST_BARRIER: uninitialised
    atomicAdd(of_block + bin % (kBins / 4), 1);
  }
  cluster.sync();
  if (threadIdx.x < kBins / 4) {
    // may find FAULT_NO_FIRST_BARRIER: uninitialised
    bins[cluster.block_rank() * (kBins / 4) + threadIdx.x] = part[threadIdx.x];
  }
}
