// A sparse matrix by a vector, rows compressed: a warp a row, and a thread a row.

extern "C" __global__ void spmv_warp(const int* begin, const int* column, const float* value,
                                     const float* x, float* y, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int i = begin[row] + lane; i < begin[row + 1]; i += 32) sum += value[i] * x[column[i]];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, step);
  if (lane == 0) y[row] = sum;
}

extern "C" __global__ void spmv_thread(const int* begin, const int* column, const float* value,
                                       const float* x, float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT_ONE_ROW_MORE
  if (row > rows) return;
#else
  if (row >= rows) return;
#endif
  float sum = 0;
  // finds FAULT_ONE_ROW_MORE: out_of_bounds
  // may find FAULT_ONE_ROW_MORE: uninitialised
  for (int i = begin[row]; i < begin[row + 1]; ++i) {
    // may find FAULT_ONE_ROW_MORE: out_of_bounds
    sum += value[i] * x[column[i]];
  }
  // may find FAULT_ONE_ROW_MORE: out_of_bounds
  // may find FAULT_ONE_ROW_MORE: uninitialised
  y[row] = sum;
}
