// A prefix sum of the whole grid in one pass: each block publishes its own sum, then looks back
// until it meets a block whose inclusive sum is known.
#include <cuda/atomic>

constexpr int kThreads = 64;

enum State : unsigned { kNothing, kOwn, kInclusive };

struct Tile {
  unsigned state;
  int own;
  int inclusive;
};

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
#if defined(FAULT_RELAXED_FLAG)
constexpr auto kPublish = cuda::memory_order_relaxed;
#else
constexpr auto kPublish = cuda::memory_order_release;
#endif
#if defined(FAULT_RELAXED_LOOK)
constexpr auto kLook = cuda::memory_order_relaxed;
#else
constexpr auto kLook = cuda::memory_order_acquire;
#endif

extern "C" __global__ void scan_lookback(const int* in, int* out, int n, Tile* tiles,
                                         unsigned* ticket) {
  __shared__ unsigned tile;
  __shared__ int sums[kThreads];
  __shared__ int before;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = tile * kThreads + threadIdx.x;
  sums[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < kThreads; ++k) sums[k] += sums[k - 1];
    const int own = sums[kThreads - 1];
    // finds FAULT_RELAXED_FLAG: race
    // finds FAULT_RELAXED_LOOK: race
    tiles[tile].own = own;
    Flag(tiles[tile].state).store(kOwn, kPublish);
    int sum = 0;
    for (int back = static_cast<int>(tile) - 1; back >= 0;) {
      const unsigned state = Flag(tiles[back].state).load(kLook);
      if (state == kNothing) continue;
      if (state == kInclusive) {
        // finds FAULT_RELAXED_FLAG: race
        // finds FAULT_RELAXED_LOOK: race
        sum += tiles[back].inclusive;
        break;
      }
      // finds FAULT_RELAXED_FLAG: race
      // finds FAULT_RELAXED_LOOK: race
      sum += tiles[back].own;
      --back;
    }
    // finds FAULT_RELAXED_FLAG: race
    // finds FAULT_RELAXED_LOOK: race
    tiles[tile].inclusive = sum + own;
    Flag(tiles[tile].state).store(kInclusive, kPublish);
    before = sum;
  }
  __syncthreads();
  if (i < n) out[i] = before + sums[threadIdx.x];
}
