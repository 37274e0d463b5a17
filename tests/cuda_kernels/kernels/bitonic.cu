// Bitonic sort of a block's keys, and of a warp's by shuffles.

constexpr int kCount = 256;

extern "C" __global__ void bitonic(unsigned* keys) {
  __shared__ unsigned k[kCount];
  unsigned* own = keys + blockIdx.x * kCount;
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) k[i] = own[i];
  for (int size = 2; size <= kCount; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
#ifdef FAULT_MISSING_BARRIER
      if (step == size / 2) __syncthreads();
#else
      __syncthreads();
#endif
      const int low = 2 * threadIdx.x - (threadIdx.x & (step - 1));
      const int high = low + step;
      const bool up = (low & size) == 0;
      // finds FAULT_MISSING_BARRIER: race
      const unsigned a = k[low];
      // finds FAULT_MISSING_BARRIER: race
      const unsigned b = k[high];
      if ((a > b) == up) {
        // finds FAULT_MISSING_BARRIER: race
        k[low] = b;
        // finds FAULT_MISSING_BARRIER: race
        k[high] = a;
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) own[i] = k[i];
}

extern "C" __global__ void bitonic_warp(int* keys) {
  int key = keys[threadIdx.x];
  const int lane = threadIdx.x % 32;
  for (int size = 2; size <= 32; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
#ifdef FAULT_SHUFFLE_IN_BRANCH
      if ((lane & step) == 0) {
        // finds FAULT_SHUFFLE_IN_BRANCH: divergence
        // may find FAULT_SHUFFLE_IN_BRANCH: deadlock
        const int other = __shfl_xor_sync(0xFFFFFFFF, key, step);
        key = (lane & size) == 0 ? min(key, other) : max(key, other);
      }
#else
      const int other = __shfl_xor_sync(0xFFFFFFFF, key, step);
      const bool smaller = ((lane & step) == 0) == ((lane & size) == 0);
      key = smaller ? min(key, other) : max(key, other);
#endif
    }
  }
  keys[threadIdx.x] = key;
}
