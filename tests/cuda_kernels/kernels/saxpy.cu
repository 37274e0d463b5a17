// y = a x + y, four numbers a thread at once, and the tail one by one.

extern "C" __global__ void saxpy(int n, float a, const float* __restrict__ x,
                                 float* __restrict__ y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT_OFF_BY_ONE
  // finds FAULT_OFF_BY_ONE: out_of_bounds
  if (i <= n) y[i] = fmaf(a, x[i], y[i]);
#else
  if (i < n) y[i] = fmaf(a, x[i], y[i]);
#endif
}

extern "C" __global__ void saxpy4(int n, float a, const float* __restrict__ x,
                                  float* __restrict__ y) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
#ifdef FAULT_MISALIGNED
  const int first = 1;  // x + 1 is no address of a float4
#else
  const int first = 0;
#endif
  if (i + 3 + first < n) {
    // finds FAULT_MISALIGNED: misaligned
    const float4 p = *reinterpret_cast<const float4*>(x + first + i);
    // finds FAULT_MISALIGNED: misaligned
    float4 q = *reinterpret_cast<const float4*>(y + first + i);
    q.x = fmaf(a, p.x, q.x);
    q.y = fmaf(a, p.y, q.y);
    q.z = fmaf(a, p.z, q.z);
    q.w = fmaf(a, p.w, q.w);
    // finds FAULT_MISALIGNED: misaligned
    *reinterpret_cast<float4*>(y + first + i) = q;
  } else {
    for (int k = i; k < n; ++k) y[k] = fmaf(a, x[k], y[k]);
  }
}
