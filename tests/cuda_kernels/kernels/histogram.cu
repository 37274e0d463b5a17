// Histograms: bins in shared memory that are added to the grid's, and at once in global memory.

constexpr int kBins = 64;

extern "C" __global__ void histogram_shared(const unsigned char* data, int n, int* bins) {
  __shared__ int own[kBins];
#ifndef FAULT_UNCLEARED
  // finds FAULT_MISSING_BARRIER: race
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) own[b] = 0;
#endif
#ifndef FAULT_MISSING_BARRIER
  __syncthreads();
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
#ifdef FAULT_NOT_ATOMIC
    // finds FAULT_NOT_ATOMIC: race
    own[data[i] % kBins] += 1;
#else
    // finds FAULT_MISSING_BARRIER: race
    // may find FAULT_MISSING_BARRIER: uninitialised
    atomicAdd(own + data[i] % kBins, 1);
#endif
  }
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) {
    // finds FAULT_UNCLEARED: uninitialised
    // may find FAULT_MISSING_BARRIER: uninitialised
    atomicAdd(bins + b, own[b]);
  }
}

extern "C" __global__ void histogram_global(const unsigned char* data, int n, unsigned* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT_PLAIN_INCREMENT
  // finds FAULT_PLAIN_INCREMENT: race
  if (i < n) bins[data[i]] += 1;
#else
  if (i < n) atomicInc(bins + data[i], 0xFFFFFFFF);
#endif
}
