// arch: sm_90
// Two kernels for programmatic dependent launch: the second does what it can before it waits for
// the first.

extern "C" __global__ void first(const int* x, int* middle) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  middle[i] = x[i] * 3;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

extern "C" __global__ void second(const int* middle, int* out, const int* weights) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ int table[64];
  // finds FAULT_MISSING_BARRIER: race
  table[threadIdx.x] = weights[threadIdx.x];
#ifndef FAULT_MISSING_BARRIER
  __syncthreads();
#endif
  asm volatile("griddepcontrol.wait;" ::: "memory");
  // finds FAULT_MISSING_BARRIER: race
  // may find FAULT_MISSING_BARRIER: uninitialised
  out[i] = middle[i] + table[63 - threadIdx.x];
}
