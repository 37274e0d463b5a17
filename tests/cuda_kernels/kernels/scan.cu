// Prefix sums of a block: by doubling steps in two buffers, by shuffles, with the sums of warps.

constexpr int kThreads = 128;

// Inclusive; each step reads one buffer and writes the other.
extern "C" __global__ void scan_steps(const int* in, int* out) {
  __shared__ int buffers[2][kThreads];
  const int t = threadIdx.x;
  buffers[0][t] = in[blockIdx.x * kThreads + t];
  int from = 0;
  for (int step = 1; step < kThreads; step *= 2) {
#ifdef FAULT_MISSING_BARRIER
    if (step != 32) __syncthreads();
#else
    __syncthreads();
#endif
    // may find FAULT_MISSING_BARRIER: race
    int sum = buffers[from][t];
    // finds FAULT_MISSING_BARRIER: race
    // may find FAULT_MISSING_BARRIER: uninitialised
    if (t >= step) sum += buffers[from][t - step];
    from = 1 - from;
    // finds FAULT_MISSING_BARRIER: race
    buffers[from][t] = sum;
  }
  // may find FAULT_MISSING_BARRIER: uninitialised
  out[blockIdx.x * kThreads + t] = buffers[from][t];
}

// In place: every step needs two barriers.
extern "C" __global__ void scan_in_place(const int* in, int* out) {
  __shared__ int sums[kThreads];
  const int t = threadIdx.x;
  sums[t] = in[blockIdx.x * kThreads + t];
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    // finds FAULT_WRITE_AFTER_READ: race
    const int other = t >= step ? sums[t - step] : 0;
#ifndef FAULT_WRITE_AFTER_READ
    __syncthreads();
#endif
    // finds FAULT_WRITE_AFTER_READ: race
    sums[t] += other;
    __syncthreads();
  }
  out[blockIdx.x * kThreads + t] = t == 0 ? 0 : sums[t - 1];  // exclusive
}

__device__ int InclusiveInWarp(int value) {
  const int lane = threadIdx.x % 32;
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(0xFFFFFFFF, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

extern "C" __global__ void scan_warps(const int* in, int* out, int n) {
  __shared__ int of_warp[32];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int own = i < n ? in[i] : 0;
  int sum = InclusiveInWarp(own);
  // finds FAULT_SECOND_BARRIER: race
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  // finds FAULT_SECOND_BARRIER: race
  if (warp == 0) of_warp[lane] = InclusiveInWarp(lane < blockDim.x / 32 ? of_warp[lane] : 0);
#ifndef FAULT_SECOND_BARRIER
  __syncthreads();
#endif
  // finds FAULT_SECOND_BARRIER: race
  if (warp > 0) sum += of_warp[warp - 1];
  if (i < n) out[i] = sum;
}
