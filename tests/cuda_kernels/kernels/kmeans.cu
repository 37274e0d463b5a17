// One round of k-means: the nearest centre of every point, and the sums of the points of each.

constexpr int kDimensions = 3;
constexpr int kMaxCentres = 8;

struct Point {
  float at[kDimensions];
};

extern "C" __global__ void assign(const Point* points, int n, const Point* centres, int k,
                                  int* nearest, Point* sums, int* counts) {
  __shared__ Point own_centres[kMaxCentres];
  __shared__ Point own_sums[kMaxCentres];
  __shared__ int own_counts[kMaxCentres];
  if (threadIdx.x < k) {
    own_centres[threadIdx.x] = centres[threadIdx.x];
    own_sums[threadIdx.x] = {};
    own_counts[threadIdx.x] = 0;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const Point p = points[i];
    int best = 0;
    float least = INFINITY;
#ifdef FAULT_ALL_CENTRES
    for (int c = 0; c < kMaxCentres; ++c) {
#else
    for (int c = 0; c < k; ++c) {
#endif
      float distance = 0;
      for (int d = 0; d < kDimensions; ++d) {
        const float difference = p.at[d] - own_centres[c].at[d];
        distance += difference * difference;
      }
      // may find FAULT_ALL_CENTRES: uninitialised
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    // finds FAULT_ALL_CENTRES: uninitialised
    nearest[i] = best;
    // may find FAULT_ALL_CENTRES: uninitialised
    for (int d = 0; d < kDimensions; ++d) atomicAdd(&own_sums[best].at[d], p.at[d]);
    // may find FAULT_ALL_CENTRES: uninitialised
    atomicAdd(own_counts + best, 1);
  }
  __syncthreads();
  if (threadIdx.x < k) {
#ifdef FAULT_PLAIN_SUM
    // finds FAULT_PLAIN_SUM: race
    counts[threadIdx.x] += own_counts[threadIdx.x];
#else
    // may find FAULT_ALL_CENTRES: uninitialised
    atomicAdd(counts + threadIdx.x, own_counts[threadIdx.x]);
#endif
    for (int d = 0; d < kDimensions; ++d) {
      // may find FAULT_ALL_CENTRES: uninitialised
      atomicAdd(&sums[threadIdx.x].at[d], own_sums[threadIdx.x].at[d]);
    }
  }
}
