// Dot products of bytes by dp4a, summed over a warp by one instruction.

extern "C" __global__ void dot_bytes(const int* a, const int* b, int* out, int words) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  int sum = 0;
  for (int i = lane; i < words; i += 32) sum = __dp4a(a[warp * words + i], b[i], sum);
#ifdef FAULT_HALF_A_MASK
  const unsigned lanes = 0x0000FFFF;
#else
  const unsigned lanes = 0xFFFFFFFF;
#endif
  // finds FAULT_HALF_A_MASK: divergence
  sum = __reduce_add_sync(lanes, sum);
  if (lane == 0) out[warp] = sum;
}

// 16-bit by 8-bit numbers, unsigned, and the smallest and largest product by lane.
extern "C" __global__ void dot_shorts(const unsigned* a, const unsigned* b, unsigned* out) {
  const unsigned x = a[threadIdx.x];
  const unsigned y = b[threadIdx.x];
  const unsigned low = __dp2a_lo(x, y, 1u);
  const unsigned high = __dp2a_hi(x, y, 2u);
  out[threadIdx.x] = low + high;
  out[32 + threadIdx.x] = __reduce_min_sync(0xFFFFFFFF, low);
  out[64 + threadIdx.x] = __reduce_max_sync(0xFFFFFFFF, high);
}
