// The block that comes last adds what all blocks left: a fence before the counter says that the
// parts are there.

__device__ unsigned done;

extern "C" __global__ void sum_by_last(const int* x, int n, int* parts, int* sum) {
  __shared__ int part;
  __shared__ bool last;
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  int own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    own += x[i];
  }
  atomicAdd(&part, own);
  __syncthreads();
  if (threadIdx.x == 0) {
    // may find FAULT_BLOCK_ATOMIC: race
    // finds FAULT_MISSING_FENCE: race
    // finds FAULT_BLOCK_SCOPE: race
    parts[blockIdx.x] = part;
#if defined(FAULT_BLOCK_SCOPE)
    __threadfence_block();
#elif !defined(FAULT_MISSING_FENCE)
    __threadfence();
#endif
#ifdef FAULT_BLOCK_ATOMIC
    // finds FAULT_BLOCK_ATOMIC: race
    const unsigned before = atomicAdd_block(&done, 1);
#else
    const unsigned before = atomicAdd(&done, 1);
#endif
    last = before == gridDim.x - 1;
    if (last) __threadfence();
  }
  __syncthreads();
  if (!last) return;
  if (threadIdx.x == 0) {
    int total = 0;
    // finds FAULT_MISSING_FENCE: race
    // finds FAULT_BLOCK_SCOPE: race
    // may find FAULT_BLOCK_ATOMIC: race
    for (int b = 0; b < gridDim.x; ++b) total += parts[b];
    *sum = total;
    // finds FAULT_BLOCK_ATOMIC: race
    done = 0;
  }
}
