// Keeps what is positive, in order within a block: votes within a warp, a sum over warps, one
// atomic a block for the place.

extern "C" __global__ void compact(const int* in, int n, int* out, int* first, int* count) {
  __shared__ int of_warp[32];
  __shared__ int start;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
#ifdef FAULT_VOTES_AFTER_EXIT
  if (i >= n) return;
#endif
  const bool keep = i < n && in[i] > 0;
  // finds FAULT_VOTES_AFTER_EXIT: divergence
  // may find FAULT_VOTES_AFTER_EXIT: deadlock
  const unsigned kept = __ballot_sync(0xFFFFFFFF, keep);
  // finds FAULT_MISSING_BARRIER: race
  if (lane == 0) of_warp[warp] = __popc(kept);
#ifndef FAULT_MISSING_BARRIER
  // may find FAULT_VOTES_AFTER_EXIT: deadlock
  __syncthreads();
#endif
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) {
      // finds FAULT_MISSING_BARRIER: race
      const int own = of_warp[w];
      // finds FAULT_MISSING_BARRIER: race
      of_warp[w] = sum;
      sum += own;
    }
    // may find FAULT_MISSING_BARRIER: uninitialised
    // may find FAULT_VOTES_AFTER_EXIT: uninitialised
    start = atomicAdd(count, sum);
    // may find FAULT_MISSING_BARRIER: uninitialised
    // may find FAULT_VOTES_AFTER_EXIT: uninitialised
    first[blockIdx.x] = start;
  }
  __syncthreads();
  const unsigned below = (1u << lane) - 1;
  // may find FAULT_MISSING_BARRIER: uninitialised
  // may find FAULT_MISSING_BARRIER: race
  // may find FAULT_VOTES_AFTER_EXIT: uninitialised
  if (keep) out[start + of_warp[warp] + __popc(kept & below)] = in[i];
}
