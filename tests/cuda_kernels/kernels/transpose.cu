// The transpose of a matrix through a tile of shared memory with a padding against bank conflicts.

constexpr int kTile = 32;
constexpr int kRows = 8;

extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  int y = blockIdx.y * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows) {
    if (x < width && y + k < height) {
#ifdef FAULT_SHARED_BOUNDS
      // finds FAULT_SHARED_BOUNDS: out_of_bounds
      tile[threadIdx.y + k + 1][threadIdx.x] = in[(y + k) * width + x];
#else
      // finds FAULT_MISSING_BARRIER: race
      tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
#endif
    }
  }
#ifndef FAULT_MISSING_BARRIER
  __syncthreads();
#endif
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows) {
    if (x < height && y + k < width) {
      // finds FAULT_MISSING_BARRIER: race
      // may find FAULT_MISSING_BARRIER: uninitialised
      // may find FAULT_SHARED_BOUNDS: uninitialised
      out[(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
    }
  }
}
