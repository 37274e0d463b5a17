// Each thread sorts eight numbers in an array of its own, which dynamic indices put on the stack.

constexpr int kCount = 8;

extern "C" __global__ void sort_own(const int* in, int* out, int* order, int groups) {
  const int group = blockIdx.x * blockDim.x + threadIdx.x;
  if (group >= groups) return;
  int values[kCount];
  int from[kCount];
#ifdef FAULT_UNFILLED
  const int filled = kCount - groups % 2 - 1;
#else
  const int filled = kCount;
#endif
#pragma unroll 1
  for (int i = 0; i < filled; ++i) {
    int at = i;
    const int value = in[group * kCount + i];
#pragma unroll 1
    for (; at > 0 && values[at - 1] > value; --at) {
      values[at] = values[at - 1];
      from[at] = from[at - 1];
    }
    values[at] = value;
    from[at] = i;
  }
  for (int i = 0; i < kCount; ++i) {
    // finds FAULT_UNFILLED: uninitialised
    out[group * kCount + i] = values[i];
    // finds FAULT_UNFILLED: uninitialised
    order[group * kCount + i] = from[i];
  }
}

// How often each of the numbers below `kinds` comes, counted on the stack.
extern "C" __global__ void count_own(const int* in, int* most, int kinds, int each, int groups) {
  const int group = blockIdx.x * blockDim.x + threadIdx.x;
  if (group >= groups) return;
  int count[16];
#ifdef FAULT_STACK_BOUNDS
#pragma unroll 1
  // finds FAULT_STACK_BOUNDS: out_of_bounds
  for (int k = 0; k <= 16 * kinds; ++k) count[k] = 0;
#else
#pragma unroll 1
  for (int k = 0; k < kinds; ++k) count[k] = 0;
#endif
#pragma unroll 1
  for (int i = 0; i < each; ++i) ++count[in[group * each + i]];
  int best = 0;
#pragma unroll 1
  for (int k = 1; k < kinds; ++k) {
    if (count[k] > count[best]) best = k;
  }
  most[group] = best;
}
