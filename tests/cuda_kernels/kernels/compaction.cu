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
  const unsigned kept = __ballot_sync(0xFFFFFFFF, keep);  // finds FAULT_VOTES_AFTER_EXIT: divergence; may find FAULT_VOTES_AFTER_EXIT: deadlock
  if (lane == 0) of_warp[warp] = __popc(kept);  // finds FAULT_MISSING_BARRIER: race
#ifndef FAULT_MISSING_BARRIER
  __syncthreads();  // may find FAULT_VOTES_AFTER_EXIT: deadlock
#endif
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) {
      const int own = of_warp[w];  // finds FAULT_MISSING_BARRIER: race
      of_warp[w] = sum;  // finds FAULT_MISSING_BARRIER: race
      sum += own;
    }
    start = atomicAdd(count, sum);  // may find FAULT_MISSING_BARRIER: uninitialised; may find FAULT_VOTES_AFTER_EXIT: uninitialised
    first[blockIdx.x] = start;  // may find FAULT_MISSING_BARRIER: uninitialised; may find FAULT_VOTES_AFTER_EXIT: uninitialised
  }
  __syncthreads();
  const unsigned below = (1u << lane) - 1;
  if (keep) out[start + of_warp[warp] + __popc(kept & below)] = in[i];  // may find FAULT_MISSING_BARRIER: uninitialised; may find FAULT_MISSING_BARRIER: race; may find FAULT_VOTES_AFTER_EXIT: uninitialised
}
