// Loads and stores with every cache operator that CUDA C++ has a function for.

extern "C" __global__ void copy_hinted(const float4* in, float4* out, const int2* small,
                                       int2* small_out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 a = __ldg(in + 6 * i);
  const float4 b = __ldcg(in + 6 * i + 1);
  const float4 c = __ldca(in + 6 * i + 2);
  const float4 d = __ldcs(in + 6 * i + 3);
  const float4 e = __ldlu(in + 6 * i + 4);
  const float4 f = __ldcv(in + 6 * i + 5);
  __stwb(out + 6 * i + 5, a);
  __stcg(out + 6 * i + 4, b);
  __stcs(out + 6 * i + 3, c);
  __stwt(out + 6 * i + 2, d);
  out[6 * i + 1] = e;
  out[6 * i] = f;
#ifdef FAULT_MISALIGNED
  const int2* from = reinterpret_cast<const int2*>(reinterpret_cast<const int*>(small) + 1);
  // finds FAULT_MISALIGNED: misaligned
  // may find FAULT_MISALIGNED: uninitialised
  __stcs(small_out + i, __ldcs(from + i));
#else
  __stcs(small_out + i, __ldcs(small + i));
#endif
}

// Bytes, shorts and 64-bit words.
extern "C" __global__ void widen(const char4* in, short4* middle, longlong2* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const char4 v = __ldcg(in + i);
  __stcg(middle + i, make_short4(v.x, v.y, v.z, v.w));
  const short4 w = __ldcv(middle + i);
  __stcs(out + i, make_longlong2(w.x * 1000ll + w.y, -(w.z * 1000ll + w.w)));
}
