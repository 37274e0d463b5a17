// arch: sm_90a
// Tiles of a matrix in and out by tensor maps, changed in between. Beyond the matrix a tile reads
// as zeros, and what lies beyond the result is not written.
#include "async.cuh"

constexpr int kRows = 16;  // of a tile
constexpr int kColumns = 32;

extern "C" __global__ void twice_and_one(const __grid_constant__ CUtensorMap in,
                                         const __grid_constant__ CUtensorMap out, int rows,
                                         int tiles) {
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
      // Rows beyond the matrix count as well.
      Expect(&full, min(kRows, rows - y) * kColumns * sizeof(int));
#else
      Expect(&full, sizeof tile);
#endif
      // finds FAULT_NO_STORE_WAIT: async
      // may find FAULT_NO_PROXY_FENCE: proxy
      // may find FAULT_WRONG_PARITY: async
      LoadBox(tile, in, t * kColumns, y, &full);
    }
#ifdef FAULT_WRONG_PARITY
    Wait(&full, (t + 1) % 2);
#else
    // finds FAULT_BYTES_WITHIN: deadlock
    Wait(&full, t % 2);
#endif
    for (int i = threadIdx.x; i < kRows * kColumns; i += blockDim.x) {
      int& value = tile[i / kColumns][i % kColumns];
      // finds FAULT_WRONG_PARITY: async
      value = 2 * value + 1;
    }
#ifndef FAULT_NO_PROXY_FENCE
    FenceProxy();
#endif
    __syncthreads();
    if (leader) {
      // finds FAULT_NO_PROXY_FENCE: proxy
      // may find FAULT_WRONG_PARITY: async
      StoreBox(out, t * kColumns, y, tile);
      CommitStores();
#ifndef FAULT_NO_STORE_WAIT
      WaitStoresRead();
#endif
    }
  }
  if (leader) WaitStores();
}
