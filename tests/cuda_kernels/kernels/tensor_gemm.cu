// arch: sm_90a
// d[m, n] = a[m, k] b[n, k]': a warpgroup of producers loads tiles of both by tensor maps, with a
// swizzle of 128 bytes, into a ring of buffers; the other multiplies them with wgmma.
#include <cuda_fp16.h>

#include "async.cuh"

constexpr int kSide = 64;  // of a tile of d, and of its steps along k
constexpr int kStages = 3;
constexpr int kAtom = 8 * 128;  // bytes of 8 rows with that swizzle

struct Stage {
  __half a[kSide][kSide];
  __half b[kSide][kSide];
};

__device__ uint64_t Descriptor(const __half* at) {
#ifdef FAULT_WRONG_STRIDE
  constexpr uint64_t kStride = 2 * kAtom;
#else
  constexpr uint64_t kStride = kAtom;
#endif
#ifdef FAULT_WRONG_SWIZZLE
  constexpr uint64_t kSwizzle = 2;  // 64 bytes
#else
  constexpr uint64_t kSwizzle = 1;  // 128 bytes
#endif
  return (Shared(at) & 0x3FFFF) >> 4 | uint64_t{1} << 16 | kStride >> 4 << 32 | kSwizzle << 62;
}

__device__ void Multiply(float (&d)[32], uint64_t a, uint64_t b) {
  // may find FAULT_WRONG_STRIDE: async
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

__device__ void FenceProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void CommitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void WaitProducts() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

__device__ void Produce(Stage* stages, uint64_t* full, uint64_t* empty, const CUtensorMap& a,
                        const CUtensorMap& b, int steps) {
  for (int t = 0; t < steps; ++t) {
    const int at = t % kStages;
#ifndef FAULT_NO_EMPTY_WAIT
    if (t >= kStages) Wait(&empty[at], (t / kStages + 1) % 2);
#endif
#ifdef FAULT_WRONG_BYTES
    Expect(&full[at], sizeof(Stage) / 2);
#else
    // may find FAULT_NO_EMPTY_WAIT: mbarrier
    // may find FAULT_WRONG_PARITY: mbarrier
    Expect(&full[at], sizeof(Stage));
#endif
    // finds FAULT_NO_EMPTY_WAIT: async
    // finds FAULT_EARLY_RELEASE: async
    // finds FAULT_WRONG_PARITY: async
    // may find FAULT_WRONG_BYTES: async
    LoadBox(stages[at].a, a, t * kSide, blockIdx.y * kSide, &full[at]);
    // may find FAULT_EARLY_RELEASE: async
    // may find FAULT_NO_EMPTY_WAIT: async
    // may find FAULT_WRONG_BYTES: async
    // may find FAULT_WRONG_PARITY: async
    LoadBox(stages[at].b, b, t * kSide, blockIdx.x * kSide, &full[at]);
  }
}

__device__ void Consume(float (&sums)[32], const Stage* stages, uint64_t* full, uint64_t* empty,
                        int steps) {
  for (int t = 0; t < steps; ++t) {
    const int at = t % kStages;
#ifdef FAULT_WRONG_PARITY
    Wait(&full[at], (t / kStages + 1) % 2);
#else
    // may find FAULT_NO_EMPTY_WAIT: deadlock
    Wait(&full[at], t / kStages % 2);
#endif
    FenceProducts();
    for (int k = 0; k < kSide; k += 16) {
      // finds FAULT_WRONG_STRIDE: out_of_bounds
      // finds FAULT_WRONG_SWIZZLE: wgmma
      // finds FAULT_WRONG_BYTES: async
      // may find FAULT_WRONG_PARITY: async
      Multiply(sums, Descriptor(&stages[at].a[0][k]), Descriptor(&stages[at].b[0][k]));
    }
    CommitProducts();
#ifdef FAULT_EARLY_RELEASE
    Arrive(&empty[at]);
    WaitProducts();
#else
#ifdef FAULT_NO_WAIT
    if (t + 1 < steps)
#endif
      WaitProducts();
    Arrive(&empty[at]);
#endif
  }
}

__device__ void StoreSums(float* d, const float (&sums)[32], int m, int n) {
  const int row = blockIdx.y * kSide + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  for (int i = 0; i < 32; i += 2) {
    const int y = row + i / 2 % 2 * 8;
    const int x = blockIdx.x * kSide + i / 4 * 8 + threadIdx.x % 4 * 2;
    // finds FAULT_NO_WAIT: wgmma
    // may find FAULT_WRONG_BYTES: uninitialised
    // may find FAULT_WRONG_PARITY: uninitialised
    // may find FAULT_WRONG_STRIDE: uninitialised
    if (y < m) *reinterpret_cast<float2*>(d + y * n + x) = make_float2(sums[i], sums[i + 1]);
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
    tensor_gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                float* d, int m, int n, int k) {
  extern __shared__ __align__(1024) Stage stages[];
  __shared__ uint64_t full[kStages];
  __shared__ uint64_t empty[kStages];
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      // finds FAULT_WRONG_BYTES: mbarrier
      Init(&full[i], 1);
      Init(&empty[i], 128);
    }
    FenceInit();
  }
  __syncthreads();
  const int steps = (k + kSide - 1) / kSide;
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 128) Produce(stages, full, empty, a, b, steps);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sums[32] = {};
    Consume(sums, stages, full, empty, steps);
    StoreSums(d, sums, m, n);
  }
  // may find FAULT_NO_WAIT: wgmma
}
