// One block makes, another uses: a flag of cuda::atomic, and one that is volatile with fences.
#include <cuda/atomic>

extern "C" __global__ void hand_over(int* data, unsigned* ready, int* out, int n) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*ready);
  if (blockIdx.x == 0) {
    // finds FAULT_RELAXED: race
    // finds FAULT_NO_BARRIER: race
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = i * i;
#ifndef FAULT_NO_BARRIER
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
#ifdef FAULT_RELAXED
      flag.store(1, cuda::memory_order_relaxed);
#else
      flag.store(1, cuda::memory_order_release);
#endif
    }
  } else {
    if (threadIdx.x == 0) {
      while (flag.load(cuda::memory_order_acquire) == 0) {
      }
    }
    __syncthreads();
    // finds FAULT_RELAXED: race
    // finds FAULT_NO_BARRIER: race
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = data[n - 1 - i] + 1;
  }
}

extern "C" __global__ void volatile_flag(int* data, volatile int* ready, int* out) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      // finds FAULT_NO_FENCE: race
      data[0] = 4711;
#ifndef FAULT_NO_FENCE
      __threadfence();
#endif
      *ready = 1;
    }
  } else if (threadIdx.x == 0) {
    while (*ready == 0) {
    }
    __threadfence();
    // finds FAULT_NO_FENCE: race
    out[blockIdx.x - 1] = data[0];
  }
}

// As above, but nobody sets the flag.
extern "C" __global__ void wait_for_sum(unsigned* sum, unsigned goal, unsigned* out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_system> counter(*sum);
  counter.fetch_add(threadIdx.x, cuda::memory_order_acq_rel);
#ifdef FAULT_GOAL_TOO_HIGH
  goal += 1;
#endif
  if (threadIdx.x == 0) {
    // finds FAULT_GOAL_TOO_HIGH: limit
    while (counter.load(cuda::memory_order_acquire) < goal) {
    }
    out[blockIdx.x] = counter.load(cuda::memory_order_relaxed);
  }
}
