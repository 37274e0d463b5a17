// Atomics of every scope and kind: counters in 32 and 64 bits, floats, compare-and-swap loops.

extern "C" __global__ void scopes(int* block_sums, int* device_sum, unsigned long long* system_sum,
                                  int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FAULT_BLOCK_SCOPE
  // finds FAULT_BLOCK_SCOPE: race
  atomicAdd_block(device_sum, i);
#else
  atomicAdd(device_sum, i);
#endif
  atomicAdd_block(block_sums + blockIdx.x, 1);
  atomicAdd_system(system_sum, static_cast<unsigned long long>(i) << 30);
}

extern "C" __global__ void kinds(int* words, unsigned* bounded, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMin(words, i * 7 % 50 - 20);
  atomicMax(words + 1, i * 7 % 50 - 20);
  atomicAnd(words + 2, ~(1 << (i % 5)));
  atomicOr(words + 3, 1 << (i % 9));
  atomicXor(words + 4, i);
  atomicSub(words + 5, i);
  atomicInc(bounded, 6);
  atomicDec(bounded + 1, 9);
}

// What there is no instruction for: the largest double, a product of floats.
extern "C" __global__ void swap_loops(const double* x, double* most, float* product, double* sum,
                                      float* float_sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto* bits = reinterpret_cast<unsigned long long*>(most);
#ifdef FAULT_PLAIN_FIRST_READ
  // may find FAULT_PLAIN_FIRST_READ: race
  unsigned long long seen = *bits;
#else
  unsigned long long seen = atomicCAS(bits, 0, 0);
#endif
  while (__longlong_as_double(seen) < x[i]) {
    // finds FAULT_PLAIN_FIRST_READ: race
    const unsigned long long before = atomicCAS(bits, seen, __double_as_longlong(x[i]));
    if (before == seen) break;
    seen = before;
  }
  auto* word = reinterpret_cast<unsigned*>(product);
  unsigned old = atomicOr(word, 0);
  for (;;) {
    const unsigned assumed = old;
    old = atomicCAS(word, assumed,
                    __float_as_uint(__uint_as_float(assumed) * (i % 2 == 0 ? 2.0f : 0.5f)));
    if (old == assumed) break;
  }
  atomicAdd(sum, x[i]);
  atomicAdd(float_sum, static_cast<float>(x[i]));
}
