// Weights of four bits, eight a word, to half precision without a conversion: lop3 puts each into
// the low bits of 1024, prmt picks bytes, and a subtraction leaves the value.
#include <cuda_fp16.h>

__device__ unsigned Lop3OrAnd(unsigned a, unsigned mask, unsigned or_with) {
  unsigned out;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(out) : "r"(a), "r"(mask), "r"(or_with));
  return out;
}

extern "C" __global__ void unpack_u4(const unsigned char* packed, __half2* out, int words) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= words) return;
#ifdef FAULT_MISALIGNED
  // finds FAULT_MISALIGNED: misaligned
  const unsigned w = *reinterpret_cast<const unsigned*>(packed + 3 * i);
#else
  const unsigned w = *reinterpret_cast<const unsigned*>(packed + 4 * i);
#endif
  const __half2 bias = __float2half2_rn(1024.0f);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const unsigned pair = Lop3OrAnd(w >> (4 * k), 0x000F000F, 0x64006400);
    // may find FAULT_MISALIGNED: uninitialised
    out[4 * i + k] = __hsub2(*reinterpret_cast<const __half2*>(&pair), bias);
  }
}

// Bytes of two words in another order: reversed, interleaved, and their signs.
extern "C" __global__ void permute(const unsigned* a, const unsigned* b, uint4* out) {
  const int i = threadIdx.x;
  out[i] = make_uint4(__byte_perm(a[i], b[i], 0x0123), __byte_perm(a[i], b[i], 0x5140),
                      __byte_perm(a[i], b[i], 0xFB73), __brev(__byte_perm(a[i], 0, 0x4321)));
}
