// printf and assert.
#include <cassert>
#include <cstdio>

extern "C" __global__ void report(const float* values, int n) {
  const int i = threadIdx.x;
  if (i < n && values[i] < 0) {
    printf("value %d is %.3f (%s, %#x, %lld)\n", i, values[i], i % 2 ? "odd" : "even", i * 17,
           -5000000000ll * i);
  }
}

extern "C" __global__ void checked_root(const float* values, float* roots, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FAULT_ASSERT
  // finds FAULT_ASSERT: trap
  assert(values[i] > 0);
#else
  assert(values[i] >= 0 || i % 2 == 1);
#endif
  roots[i] = sqrtf(fabsf(values[i]));
}
