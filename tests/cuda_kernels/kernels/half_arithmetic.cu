// Arithmetic of two halves at once, in both formats, and its atomics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_polynomial(const __half2* x, __half2* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half2 one = __float2half2_rn(1.0f);
  const __half2 v = x[i];
  __half2 sum = __hfma2(v, __float2half2_rn(0.5f), one);
  sum = __hfma2(sum, v, __hneg2(one));
  sum = __hmul2(__hmax2(sum, __float2half2_rn(-3.0f)), __float2half2_rn(0.25f));
  y[i] = __hlt(__low2half(v), __high2half(v)) ? sum : __lowhigh2highlow(sum);
}

extern "C" __global__ void bfloat_axpy(const __nv_bfloat162* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __nv_bfloat162 v = __hfma2(x[i], __float2bfloat162_rn(-1.5f), __float2bfloat162_rn(2.0f));
  y[2 * i] = __low2bfloat16(v);
  y[2 * i + 1] = __habs(__high2bfloat16(v));
}

// Sums of halves by atomics: of one, of two, and of floats.
extern "C" __global__ void sum_halves(const __half2* x, __half2* both, __half* first, float* all,
                                      int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT_NO_BOUND
  // finds FAULT_NO_BOUND: out_of_bounds
  const __half2 v = x[i];
#else
  if (i >= n) return;
  const __half2 v = x[i];
#endif
  // may find FAULT_NO_BOUND: uninitialised
  atomicAdd(both, v);
  // may find FAULT_NO_BOUND: uninitialised
  atomicAdd(first, __low2half(v));
  // may find FAULT_NO_BOUND: uninitialised
  atomicAdd(all, __low2float(v) + __high2float(v));
}
