// Producers and consumers in one block: two warps fill a ring of two buffers, two warps use them,
// by named barriers, one for "full" and one for "empty" of each buffer.

constexpr int kBuffers = 2;
constexpr int kHalf = 64;  // threads on each side

__device__ void Sync(int barrier, int threads) {
  // finds FAULT_WRONG_COUNT: deadlock
  // may find FAULT_WRONG_COUNT: divergence
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ void Arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

extern "C" __global__ void queue(const int* in, int* out, int rounds) {
  __shared__ int buffers[kBuffers][kHalf];
  const int t = threadIdx.x % kHalf;
#ifdef FAULT_WRONG_COUNT
  const int all = 2 * kHalf + 32;
#else
  const int all = 2 * kHalf;
#endif
  const auto full = [](int b) { return 1 + b; };
  [[maybe_unused]] const auto empty = [](int b) { return 1 + kBuffers + b; };
  if (threadIdx.x < kHalf) {
    for (int r = 0; r < rounds; ++r) {
      const int b = r % kBuffers;
      if (r >= kBuffers) Sync(empty(b), all);
      buffers[b][t] = in[r * kHalf + t] * 2;
      Arrive(full(b), all);
    }
  } else {
    for (int r = 0; r < rounds; ++r) {
      const int b = r % kBuffers;
      Sync(full(b), all);
      out[r * kHalf + t] = buffers[b][kHalf - 1 - t] + r;
      if (r + kBuffers < rounds) Arrive(empty(b), all);
    }
  }
}
