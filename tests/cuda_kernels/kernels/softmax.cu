// Softmax of rows: the largest, the sum of exponentials, and both in one pass.

__device__ float BlockReduce(float value, bool largest, float* scratch) {
  const auto join = [largest](float a, float b) { return largest ? fmaxf(a, b) : a + b; };
  for (int step = 16; step > 0; step /= 2) {
    value = join(value, __shfl_xor_sync(0xFFFFFFFF, value, step));
  }
  // finds FAULT_SCRATCH_REUSED: race
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  // finds FAULT_SCRATCH_REUSED: race
  value = scratch[0];
  // finds FAULT_SCRATCH_REUSED: race
  for (int w = 1; w < blockDim.x / 32; ++w) value = join(value, scratch[w]);
#ifndef FAULT_SCRATCH_REUSED
  __syncthreads();
#endif
  return value;
}

extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  extern __shared__ float scratch[];
  const float* row = x + blockIdx.x * columns;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
  most = BlockReduce(most, true, scratch);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(row[i] - most);
  sum = BlockReduce(sum, false, scratch);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    y[blockIdx.x * columns + i] = __fdividef(__expf(row[i] - most), sum);
  }
}

// One warp a row; largest and sum go along together.
extern "C" __global__ void softmax_online(const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float most = -INFINITY;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 32) {
    const float value = x[row * columns + i];
    const float next = fmaxf(most, value);
    sum = sum * expf(most - next) + expf(value - next);
    most = next;
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other_most = __shfl_xor_sync(0xFFFFFFFF, most, step);
    const float other_sum = __shfl_xor_sync(0xFFFFFFFF, sum, step);
    const float next = fmaxf(most, other_most);
    sum = (most == next ? sum : sum * expf(most - next)) +
          (other_most == next ? other_sum : other_sum * expf(other_most - next));
    most = next;
  }
#ifdef FAULT_LOOP_BOUND
  for (int i = threadIdx.x; i <= columns + 31; i += 32) {
    // finds FAULT_LOOP_BOUND: out_of_bounds
    // may find FAULT_LOOP_BOUND: race
    // may find FAULT_LOOP_BOUND: uninitialised
    y[row * columns + i] = expf(x[row * columns + i] - most) / sum;
  }
#else
  for (int i = threadIdx.x; i < columns; i += 32) {
    y[row * columns + i] = expf(x[row * columns + i] - most) / sum;
  }
#endif
}
