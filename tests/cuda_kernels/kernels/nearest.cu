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
    if (threadIdx.x < kTile && base + threadIdx.x < n) {
      // finds FAULT_WRITE_AFTER_READ: race
      tile[threadIdx.x] = points[base + threadIdx.x];
    }
    __syncthreads();
#ifdef FAULT_WHOLE_TILE
    for (int i = 0; i < kTile + 1; ++i) {
      // finds FAULT_WHOLE_TILE: out_of_bounds
      const float4 p = tile[i];
#else
    for (int i = 0; i < min(kTile, n - base); ++i) {
      // finds FAULT_WRITE_AFTER_READ: race
      const float4 p = tile[i];
#endif
      const float x = p.x - query.x;
      const float y = p.y - query.y;
      const float z = p.z - query.z;
      const float w = p.w - query.w;
      float distance = x * x + y * y + z * z + w * w;
      int at = base + i;
#pragma unroll
      for (int k = 0; k < kKept; ++k) {
        // may find FAULT_WHOLE_TILE: uninitialised
        if (distance < best[k]) {
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
    // may find FAULT_WHOLE_TILE: uninitialised
    distances[q * kKept + k] = best[k];
    // may find FAULT_WHOLE_TILE: uninitialised
    indices[q * kKept + k] = index[k];
  }
}
