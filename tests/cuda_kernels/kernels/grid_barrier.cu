// A barrier of the whole grid between the rounds of a smoothing: a counter and a round number.

__device__ unsigned arrived;
__device__ unsigned round_number;

__device__ void GridBarrier() {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned round = atomicAdd(&round_number, 0);
#ifdef FAULT_BLOCK_FENCE
    __threadfence_block();
#else
    __threadfence();
#endif
    if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
      atomicExch(&arrived, 0);
      __threadfence();
      atomicAdd(&round_number, 1);
    } else {
      while (atomicAdd(&round_number, 0) == round) __nanosleep(20);
    }
    __threadfence();
  }
#ifndef FAULT_NO_SECOND_BARRIER
  __syncthreads();
#endif
}

extern "C" __global__ void smooth(int* a, int* b, int n, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
    const int* from = r % 2 == 0 ? a : b;
    int* to = r % 2 == 0 ? b : a;
    // finds FAULT_BLOCK_FENCE: race
    // finds FAULT_NO_SECOND_BARRIER: race
    // may find FAULT_NO_SECOND_BARRIER: uninitialised
    if (i < n) to[i] = from[(i + n - 1) % n] + 2 * from[i] + from[(i + 1) % n];
    GridBarrier();
  }
}
