// The pipeline primitives of the toolkit: each thread copies ahead for itself, two steps.
#include <cuda_pipeline_primitives.h>

constexpr int kThreads = 64;
constexpr int kStages = 3;

extern "C" __global__ void scale_ahead(const float4* in, float4* out, float by, int steps) {
  __shared__ float4 stage[kStages][kThreads];
  const auto fetch = [&](int s) {
    if (s < steps) {
      // may find FAULT_ONE_BEHIND: async
      __pipeline_memcpy_async(&stage[s % kStages][threadIdx.x], in + s * kThreads + threadIdx.x,
                              sizeof(float4));
    }
    __pipeline_commit();
  };
  for (int s = 0; s < kStages - 1; ++s) fetch(s);
  for (int s = 0; s < steps; ++s) {
    fetch(s + kStages - 1);
#ifdef FAULT_ONE_BEHIND
    __pipeline_wait_prior(kStages);
#else
    __pipeline_wait_prior(kStages - 1);
#endif
    // finds FAULT_ONE_BEHIND: async
    const float4 v = stage[s % kStages][threadIdx.x];
    // may find FAULT_ONE_BEHIND: uninitialised
    out[s * kThreads + threadIdx.x] = make_float4(v.x * by, v.y * by, v.z * by, v.w * by);
  }
}

// Neighbours read what a thread has copied: a wait alone is not enough.
extern "C" __global__ void mirror(const int* in, int* out) {
  __shared__ int row[kThreads];
  // may find FAULT_MISSING_BARRIER: async
  __pipeline_memcpy_async(row + threadIdx.x, in + blockIdx.x * kThreads + threadIdx.x, sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
#ifndef FAULT_MISSING_BARRIER
  __syncthreads();
#endif
  // finds FAULT_MISSING_BARRIER: async
  // finds FAULT_MISSING_BARRIER: race
  // may find FAULT_MISSING_BARRIER: uninitialised
  out[blockIdx.x * kThreads + threadIdx.x] = row[kThreads - 1 - threadIdx.x];
}
