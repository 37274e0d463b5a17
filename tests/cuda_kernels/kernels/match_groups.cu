// Counts keys: lanes with the same key find each other, and one of them adds for all.

extern "C" __global__ void count_keys(const int* keys, int* counts, int* rank, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FAULT_WRONG_MASK
  const unsigned active = 0xFFFFFFFF;
#else
  const unsigned active = __activemask();
#endif
  // finds FAULT_WRONG_MASK: divergence
  // may find FAULT_WRONG_MASK: deadlock
  const unsigned same = __match_any_sync(active, keys[i]);
  const int lane = threadIdx.x % 32;
  const int leader = __ffs(same) - 1;
  int first = 0;
  if (lane == leader) first = atomicAdd(counts + keys[i], __popc(same));
  // may find FAULT_WRONG_MASK: divergence
  first = __shfl_sync(same, first, leader);
  // may find FAULT_WRONG_MASK: uninitialised
  rank[i] = first + __popc(same & ((1u << lane) - 1));
}

// Whether all lanes of a warp hold the same 64-bit number.
extern "C" __global__ void all_same(const unsigned long long* values, int* same) {
  int is_same = 0;
  __match_all_sync(0xFFFFFFFF, values[threadIdx.x], &is_same);
  if (threadIdx.x % 32 == 0) same[threadIdx.x / 32] = is_same;
}
