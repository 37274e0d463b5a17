// arch: sm_90a
// Bulk copies: in by an mbarrier that counts bytes, through two buffers, and out by a bulk group.
#include "async.cuh"

constexpr int kTile = 256;  // numbers of a tile

extern "C" __global__ void double_numbers(const int* in, int* out, int tiles) {
  __shared__ alignas(128) int buffers[2][kTile];
  __shared__ uint64_t full[2];
  const bool leader = threadIdx.x == 0;
  if (leader) {
    Init(&full[0], 1);
    Init(&full[1], 1);
#ifndef FAULT_NO_INIT_FENCE
    FenceInit();
#endif
  }
  __syncthreads();
  const int bytes = kTile * sizeof(int);
  const auto fetch = [&](int t) {
#ifdef FAULT_TOO_MANY_BYTES
    Expect(&full[t % 2], bytes + 16);
#else
    Expect(&full[t % 2], bytes);
#endif
    // finds FAULT_NO_STORE_WAIT: async
    // finds FAULT_NO_INIT_FENCE: mbarrier
    // may find FAULT_NO_PROXY_FENCE: proxy
    // may find FAULT_WRONG_PARITY: async
    CopyIn(buffers[t % 2], in + t * kTile, bytes, &full[t % 2]);
  };
  if (leader) fetch(0);
  for (int t = 0; t < tiles; ++t) {
    if (leader && t + 1 < tiles) {
      // The buffer's last store must have read it.
#ifndef FAULT_NO_STORE_WAIT
      WaitStoresRead();
#endif
      fetch(t + 1);
    }
#ifdef FAULT_WRONG_PARITY
    // may find FAULT_WRONG_PARITY: deadlock
    Wait(&full[t % 2], (t / 2 + 1) % 2);
#else
    // finds FAULT_TOO_MANY_BYTES: deadlock
    Wait(&full[t % 2], t / 2 % 2);
#endif
    for (int i = threadIdx.x; i < kTile; i += blockDim.x) {
      // finds FAULT_WRONG_PARITY: async
      const int value = buffers[t % 2][i];
      // may find FAULT_WRONG_PARITY: async
      buffers[t % 2][i] = 2 * value;
    }
#ifndef FAULT_NO_PROXY_FENCE
    FenceProxy();
#endif
    __syncthreads();
    if (leader) {
      // finds FAULT_NO_PROXY_FENCE: proxy
      // may find FAULT_WRONG_PARITY: async
      CopyOut(out + t * kTile, buffers[t % 2], bytes);
      CommitStores();
    }
  }
  if (leader) WaitStores();
}
