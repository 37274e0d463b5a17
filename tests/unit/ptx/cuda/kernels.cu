// Small kernels whose PTX nobody here wrote: cuda_test.cc compiles them with nvcc, where there is
// one, runs them on the emulator and compares with plain loops.

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// The sum of n numbers: strided by thread, by shuffles in a warp, by shared memory in a block, by
// an atomic in the grid.
extern "C" __global__ void block_sum(const int* x, int n, int* sum) {
  __shared__ int of_warp[32];
  int own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    own += x[i];
  }
  for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(0xFFFFFFFF, own, step);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  if (lane == 0) of_warp[warp] = own;
  __syncthreads();
  if (warp != 0) return;
  own = lane < blockDim.x / 32 ? of_warp[lane] : 0;
  for (int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(0xFFFFFFFF, own, step);
  if (lane == 0) atomicAdd(sum, own);
}

// c[n, n] = a[n, n] * b[n, n] by tiles of 16 x 16, for any n.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[16][16];
  __shared__ float tile_b[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    const int ak = k + threadIdx.x;
    const int bk = k + threadIdx.y;
    tile_a[threadIdx.y][threadIdx.x] = row < n && ak < n ? a[row * n + ak] : 0;
    tile_b[threadIdx.y][threadIdx.x] = bk < n && column < n ? b[bk * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

// Divergence without end in sight: every thread has its own number of turns.
extern "C" __global__ void collatz(const unsigned* start, unsigned* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = start[i];
  unsigned count = 0;
  while (x != 1) {
    if (x % 2 == 0) {
      x /= 2;
    } else {
      x = 3 * x + 1;
    }
    ++count;
  }
  steps[i] = count;
}

// Library code: range reduction with a table in local memory, division, polynomials.
extern "C" __global__ void waves(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = sinf(x[i]) * expf(-x[i] * x[i] / 1e12f) +
           sqrtf(fabsf(x[i])) / (1.0f + logf(1.0f + fabsf(x[i])));
}

// The first missing wait: reads what another warp writes without a barrier in between are races and
// not looked for, but what nobody wrote is found.
extern "C" __global__ void uninitialised(int* out) {
  __shared__ int cells[64];
  if (threadIdx.x < 32) cells[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = cells[threadIdx.x];
}
