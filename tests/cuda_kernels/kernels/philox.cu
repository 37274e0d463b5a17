// Philox4x32-10: random numbers from a counter and a key, four at once.

extern "C" __global__ void philox(uint2 key, uint4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT_NO_BOUND
  if (i > n) return;
#else
  if (i >= n) return;
#endif
  uint4 c = {static_cast<unsigned>(i), 0, 0x12345678, static_cast<unsigned>(n)};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = __umulhi(0xD2511F53, c.x);
    const unsigned high1 = __umulhi(0xCD9E8D57, c.z);
    c = make_uint4(high1 ^ c.y ^ key.x, 0xCD9E8D57 * c.z, high0 ^ c.w ^ key.y, 0xD2511F53 * c.x);
    key.x += 0x9E3779B9;
    key.y += 0xBB67AE85;
  }
  // finds FAULT_NO_BOUND: out_of_bounds
  out[i] = c;
}

// Uniform numbers in (0, 1] from words, and their logarithms' sum by the block.
extern "C" __global__ void uniform(const unsigned* words, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    out[i] = __fmaf_rn(__uint2float_rn(words[i]), 2.3283064e-10f, 1.1641532e-10f);
  }
}
