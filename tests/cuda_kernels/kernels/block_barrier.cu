// libcu++: a barrier of the block, split into arrive and wait, and copies that complete on it.
#include <cuda/barrier>

// What init() does: a barrier in shared memory has no constructor that runs.
#pragma nv_diag_suppress static_var_with_dynamic_init

using Barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void rotate(const int* in, int* out, int rounds) {
  __shared__ Barrier barrier;
  __shared__ int values[2][64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  int own = in[threadIdx.x];
  for (int r = 0; r < rounds; ++r) {
    // finds FAULT_NO_WAIT: race
    values[r % 2][threadIdx.x] = own;
    auto token = barrier.arrive();
#ifndef FAULT_NO_WAIT
    barrier.wait(std::move(token));
#endif
    // finds FAULT_NO_WAIT: race
    // may find FAULT_NO_WAIT: uninitialised
    own = values[r % 2][(threadIdx.x + 33) % 64] + r;
  }
  // may find FAULT_NO_WAIT: uninitialised
  out[threadIdx.x] = own;
}

extern "C" __global__ void copy_on_barrier(const int4* in, int4* out) {
  __shared__ Barrier barrier;
  __shared__ int4 tile[64];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(tile + threadIdx.x, in + blockIdx.x * 64 + threadIdx.x, sizeof(int4), barrier);
  barrier.arrive_and_wait();
  out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}
