// The three nearest of many points for every query, kept in registers while tiles of points pass
// through shared memory.

constexpr int kTile = 32;
constexpr int kKept = 3;

extern "C" __global__ void nearest(const float4* points, int n, const float4* queries, int count,
                                   float* distances, int* indices) {
  __shared__ float4 tile[kTile];
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 query = q < count ? queries[q] : make_float4(0, 0, 0, 0);
  float best[kKept];
  int index[kKept];
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    best[k] = INFINITY;
    index[k] = -1;
  }
  for (int base = 0; base < n; base += kTile) {
    if (threadIdx.x < kTile && base + threadIdx.x < n) tile[threadIdx.x] = points[base + threadIdx.x];  // finds FAULT_WRITE_AFTER_READ: race
    __syncthreads();
#ifdef FAULT_WHOLE_TILE
    for (int i = 0; i < kTile + 1; ++i) {
      const float4 p = tile[i];  // finds FAULT_WHOLE_TILE: out_of_bounds
#else
    for (int i = 0; i < min(kTile, n - base); ++i) {
      const float4 p = tile[i];  // finds FAULT_WRITE_AFTER_READ: race
#endif
      const float x = p.x - query.x;
      const float y = p.y - query.y;
      const float z = p.z - query.z;
      const float w = p.w - query.w;
      float distance = x * x + y * y + z * z + w * w;
      int at = base + i;
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        if (distance < best[k]) {  // may find FAULT_WHOLE_TILE: uninitialised
          const float d = best[k];
          const int b = index[k];
          best[k] = distance;
          index[k] = at;
          distance = d;
          at = b;
        }
      }
    }
#ifndef FAULT_WRITE_AFTER_READ
    __syncthreads();
#endif
  }
  if (q >= count) return;
#pragma unroll
  for (int k = 0; k < kKept; ++k) {
    distances[q * kKept + k] = best[k];  // may find FAULT_WHOLE_TILE: uninitialised
    indices[q * kKept + k] = index[k];   // may find FAULT_WHOLE_TILE: uninitialised
  }
}
