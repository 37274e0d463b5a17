// arch: sm_90a
// Tiles of a matrix in and out by tensor maps, changed in between. Beyond the matrix a tile reads as
// zeros, and what lies beyond the result is not written.
#include "async.cuh"

constexpr int kRows = 16;     // of a tile
constexpr int kColumns = 32;

extern "C" __global__ void twice_and_one(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out, int rows, int tiles) {
  __shared__ alignas(128) int tile[kRows][kColumns];
  __shared__ uint64_t full;
  const bool leader = threadIdx.x == 0;
  const int y = blockIdx.x * kRows;
  if (leader) {
    Init(&full, 1);
    FenceInit();
  }
  __syncthreads();
  for (int t = 0; t < tiles; ++t) {
    if (leader) {
#ifdef FAULT_BYTES_WITHIN
      Expect(&full, min(kRows, rows - y) * kColumns * sizeof(int));  // rows beyond the matrix count as well
#else
      Expect(&full, sizeof tile);
#endif
      LoadBox(tile, in, t * kColumns, y, &full);  // finds FAULT_NO_STORE_WAIT: async; may find FAULT_NO_PROXY_FENCE: proxy; may find FAULT_WRONG_PARITY: async
    }
#ifdef FAULT_WRONG_PARITY
    Wait(&full, (t + 1) % 2);
#else
    Wait(&full, t % 2);  // finds FAULT_BYTES_WITHIN: deadlock
#endif
    for (int i = threadIdx.x; i < kRows * kColumns; i += blockDim.x) {
      int& value = tile[i / kColumns][i % kColumns];
      value = 2 * value + 1;  // finds FAULT_WRONG_PARITY: async
    }
#ifndef FAULT_NO_PROXY_FENCE
    FenceProxy();
#endif
    __syncthreads();
    if (leader) {
      StoreBox(out, t * kColumns, y, tile);  // finds FAULT_NO_PROXY_FENCE: proxy; may find FAULT_WRONG_PARITY: async
      CommitStores();
#ifndef FAULT_NO_STORE_WAIT
      WaitStoresRead();
#endif
    }
  }
  if (leader) WaitStores();
}
