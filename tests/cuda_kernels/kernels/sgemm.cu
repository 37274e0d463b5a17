// c = a b in f32, by tiles of 32 x 32 in shared memory, four numbers a thread: with one buffer, and
// with two, so that the next tile loads while this one is used.

constexpr int kTile = 32;
constexpr int kRows = 8;

struct Tiles {
  float a[kTile][kTile + 1];
  float b[kTile][kTile];
};

__device__ void LoadTile(Tiles& tiles, const float* a, const float* b, int n, int k0) {
  const int column = blockIdx.x * kTile + threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += kRows) {
    const int row = blockIdx.y * kTile + y;
    const int ka = k0 + threadIdx.x;
    const int kb = k0 + y;
    // finds FAULT_MISSING_BARRIER: race
    // finds FAULT_WRITE_AFTER_READ: race
    tiles.a[y][threadIdx.x] = row < n && ka < n ? a[row * n + ka] : 0;
    // finds FAULT_MISSING_BARRIER: race
    // finds FAULT_WRITE_AFTER_READ: race
    tiles.b[y][threadIdx.x] = kb < n && column < n ? b[kb * n + column] : 0;
  }
}

__device__ void MultiplyTile(const Tiles& tiles, float (&sum)[kTile / kRows]) {
  for (int k = 0; k < kTile; ++k) {
    // finds FAULT_MISSING_BARRIER: race
    // finds FAULT_WRITE_AFTER_READ: race
    const float b = tiles.b[k][threadIdx.x];
    // finds FAULT_MISSING_BARRIER: race
    // finds FAULT_WRITE_AFTER_READ: race
    for (int i = 0; i < kTile / kRows; ++i) sum[i] += tiles.a[threadIdx.y + i * kRows][k] * b;
  }
}

__device__ void StoreTile(float* c, int n, const float (&sum)[kTile / kRows]) {
  const int column = blockIdx.x * kTile + threadIdx.x;
  for (int i = 0; i < kTile / kRows; ++i) {
    const int row = blockIdx.y * kTile + threadIdx.y + i * kRows;
    // may find FAULT_MISSING_BARRIER: uninitialised
    // may find FAULT_WRITE_AFTER_READ: uninitialised
    if (row < n && column < n) c[row * n + column] = sum[i];
  }
}

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ Tiles tiles;
  float sum[kTile / kRows] = {};
  for (int k = 0; k < n; k += kTile) {
    LoadTile(tiles, a, b, n, k);
#ifndef FAULT_MISSING_BARRIER
    __syncthreads();
#endif
    MultiplyTile(tiles, sum);
    __syncthreads();
  }
  StoreTile(c, n, sum);
}

extern "C" __global__ void sgemm_double(const float* a, const float* b, float* c, int n) {
  __shared__ Tiles tiles[2];
  float sum[kTile / kRows] = {};
  LoadTile(tiles[0], a, b, n, 0);
  int now = 0;
  for (int k = 0; k < n; k += kTile) {
#ifdef FAULT_WRITE_AFTER_READ
    if (now == 0) __syncthreads();  // a barrier for two turns is one too few
#else
    __syncthreads();
#endif
    if (k + kTile < n) LoadTile(tiles[1 - now], a, b, n, k + kTile);
    MultiplyTile(tiles[now], sum);
    now = 1 - now;
  }
  StoreTile(c, n, sum);
}
