// Layer normalisation: mean and variance of a row by Welford's update, merged over a warp.

struct Moments {
  float count;
  float mean;
  float squares;
};

__device__ Moments Merge(const Moments& a, const Moments& b) {
  const float count = a.count + b.count;
  // finds FAULT_TOO_MANY_WARPS: uninitialised
  if (count == 0) return a;
  const float delta = b.mean - a.mean;
  return {count, a.mean + delta * (b.count / count),
          a.squares + b.squares + delta * delta * (a.count * b.count / count)};
}

extern "C" __global__ void layernorm(const float* x, const float2* weights, float* y, int columns) {
  __shared__ Moments of_warp[8];
  __shared__ float2 scale;
  const float* row = x + blockIdx.x * columns;
  Moments own = {0, 0, 0};
  for (int i = threadIdx.x; i < columns; i += blockDim.x) own = Merge(own, {1, row[i], 0});
  for (int step = 16; step > 0; step /= 2) {
    own = Merge(own, {__shfl_down_sync(0xFFFFFFFF, own.count, step),
                      __shfl_down_sync(0xFFFFFFFF, own.mean, step),
                      __shfl_down_sync(0xFFFFFFFF, own.squares, step)});
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
  __syncthreads();
#ifdef FAULT_TOO_MANY_WARPS
  const int warps = 8;
#else
  const int warps = blockDim.x / 32;
#endif
  if (threadIdx.x == 0) {
    // may find FAULT_TOO_MANY_WARPS: uninitialised
    for (int w = 1; w < warps; ++w) own = Merge(own, of_warp[w]);
    // finds FAULT_MISSING_BARRIER: race
    scale = make_float2(own.mean, rsqrtf(own.squares / own.count + 1e-5f));
  }
#ifndef FAULT_MISSING_BARRIER
  __syncthreads();
#endif
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    // finds FAULT_MISSING_BARRIER: race
    // may find FAULT_TOO_MANY_WARPS: uninitialised
    const float2 s = scale;
    const float2 w = __ldg(weights + i);
    // finds FAULT_TOO_MANY_WARPS: uninitialised
    // may find FAULT_MISSING_BARRIER: uninitialised
    y[blockIdx.x * columns + i] = (row[i] - s.x) * s.y * w.x + w.y;
  }
}
