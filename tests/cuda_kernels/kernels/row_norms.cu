// Euclidean norms of rows in f64: a warp a row.

extern "C" __global__ void row_norms(const double* x, double* norms, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  double sum = 0;
#ifdef FAULT_DIVERGENT_SHUFFLE
  if (lane < columns) {
    for (int i = lane; i < columns; i += 32) {
      sum = fma(x[row * columns + i], x[row * columns + i], sum);
    }
    // finds FAULT_DIVERGENT_SHUFFLE: divergence
    // may find FAULT_DIVERGENT_SHUFFLE: deadlock
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, step);
  }
#else
  for (int i = lane; i < columns; i += 32) {
    sum = fma(x[row * columns + i], x[row * columns + i], sum);
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, step);
#endif
  // may find FAULT_DIVERGENT_SHUFFLE: uninitialised
  if (lane == 0) norms[row] = sqrt(sum);
}

// The largest distance of a number from the first of its row, by an atomic on the bits of a double.
extern "C" __global__ void spread(const double* x, unsigned long long* most, int rows,
                                  int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * columns) return;
  const double distance = fabs(x[i] - x[i / columns * columns]);
  atomicMax(most + i / columns, static_cast<unsigned long long>(__double_as_longlong(distance)));
}
