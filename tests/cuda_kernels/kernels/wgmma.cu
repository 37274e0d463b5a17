// arch: sm_90a
// d[64, 32] = a[64, k] b[32, k]' with wgmma: both operands from shared memory, a from registers,
// and by two warpgroups of which one fills buffers and one multiplies.
#include <cuda_fp16.h>

#include <cstdint>

constexpr int kM = 64;
constexpr int kN = 32;
constexpr int kK = 64;                    // of a tile
constexpr int kCore = 128;                // bytes of 8 rows of 16 bytes
constexpr int kGroup = kCore * (kK / 8);  // bytes of 8 rows of a tile

struct Tile {
  char a[kM / 8 * kGroup];
  char b[kN / 8 * kGroup];
};

// Without a swizzle: 8 x 8 halves lie together, next to them those with the next 8 of k.
__device__ int Offset(int row, int chunk) {
  return row / 8 * kGroup + chunk * kCore + row % 8 * 16;
}

__device__ void Fill(Tile& tile, const __half* a, const __half* b, int k, int k0, int thread) {
  for (int i = thread; i < kM * kK / 8; i += 128) {
    const int row = i / (kK / 8);
    const int chunk = i % (kK / 8);
    // may find FAULT_THREE_WARPS: async
    // may find FAULT_WRONG_STRIDE: async
    // finds FAULT_OVERWRITES: async
    *reinterpret_cast<int4*>(tile.a + Offset(row, chunk)) =
        *reinterpret_cast<const int4*>(a + row * k + k0 + 8 * chunk);
  }
  for (int i = thread; i < kN * kK / 8; i += 128) {
    const int row = i / (kK / 8);
    const int chunk = i % (kK / 8);
    // may find FAULT_THREE_WARPS: async
    // may find FAULT_WRONG_STRIDE: async
    // finds FAULT_OVERWRITES: async
    *reinterpret_cast<int4*>(tile.b + Offset(row, chunk)) =
        *reinterpret_cast<const int4*>(b + row * k + k0 + 8 * chunk);
  }
}

__device__ uint64_t Descriptor(const void* at) {
  const uint64_t address = __cvta_generic_to_shared(at);
#ifdef FAULT_WRONG_STRIDE
  const uint64_t stride = 2 * kGroup;
#else
  const uint64_t stride = kGroup;
#endif
  return (address & 0x3FFFF) >> 4 | uint64_t{kCore >> 4} << 16 | (stride >> 4) << 32;
}

// finds FAULT_THREE_WARPS: wgmma
__device__ void Fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void Commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void Wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
__device__ void FenceProxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

__device__ void Multiply(float (&d)[16], uint64_t a, uint64_t b) {
  // finds FAULT_NO_PROXY_FENCE: proxy
  // finds FAULT_NO_FENCE: wgmma
  // finds FAULT_THREE_WARPS: wgmma
  // may find FAULT_THREE_WARPS: divergence
  // may find FAULT_THREE_WARPS: async
  // may find FAULT_WRONG_STRIDE: async
  // finds FAULT_WRONG_STRIDE: out_of_bounds
  // may find FAULT_WRONG_STRIDE: uninitialised
  // may find FAULT_WRONG_STRIDE: race
  // may find FAULT_WRONG_STRIDE: proxy
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "%16, %17, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b));
}

__device__ void MultiplyRegisters(float (&d)[16], const uint32_t (&a)[4], uint64_t b) {
  // finds FAULT_NO_PROXY_FENCE: proxy
  // may find FAULT_WRONG_STRIDE: out_of_bounds
  // may find FAULT_WRONG_STRIDE: uninitialised
  // may find FAULT_WRONG_STRIDE: race
  // may find FAULT_WRONG_STRIDE: proxy
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, 1, 1, 1, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ void Store(float* d, const float (&sums)[16], int thread) {
  const int row = thread / 32 * 16 + thread % 32 / 4;
  for (int j = 0; j < kN / 8; ++j) {
    const int column = 8 * j + thread % 4 * 2;
    // finds FAULT_NO_WAIT: wgmma
    // may find FAULT_WRONG_STRIDE: uninitialised
    // may find FAULT_NO_WAIT: uninitialised
    *reinterpret_cast<float2*>(d + row * kN + column) = make_float2(sums[4 * j], sums[4 * j + 1]);
    // finds FAULT_NO_WAIT: wgmma
    // may find FAULT_WRONG_STRIDE: uninitialised
    // may find FAULT_NO_WAIT: uninitialised
    *reinterpret_cast<float2*>(d + (row + 8) * kN + column) =
        make_float2(sums[4 * j + 2], sums[4 * j + 3]);
  }
}

extern "C" __global__ void __launch_bounds__(128)
    wgmma_ss(const __half* a, const __half* b, float* d, int k) {
  __shared__ alignas(128) Tile tile;
  float sums[16] = {};
  for (int k0 = 0; k0 < k; k0 += kK) {
    Fill(tile, a, b, k, k0, threadIdx.x);
#ifndef FAULT_NO_PROXY_FENCE
    FenceProxy();
#endif
    __syncthreads();
#ifdef FAULT_THREE_WARPS
    if (threadIdx.x >= 96) continue;
#endif
#ifndef FAULT_NO_FENCE
    Fence();
#endif
    for (int c = 0; c < kK / 8; c += 2) {
      Multiply(sums, Descriptor(tile.a + c * kCore), Descriptor(tile.b + c * kCore));
    }
    Commit();
#ifndef FAULT_OVERWRITES
#ifdef FAULT_NO_WAIT
    if (k0 + kK < k) Wait();
#else
    Wait();
#endif
#endif
    __syncthreads();
  }
#ifdef FAULT_OVERWRITES
  Wait();
#endif
  Store(d, sums, threadIdx.x);
  // may find FAULT_NO_WAIT: wgmma
}

extern "C" __global__ void __launch_bounds__(128)
    wgmma_rs(const __half* a, const __half* b, float* d, int k) {
  __shared__ alignas(128) Tile tile;
  float sums[16] = {};
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  for (int k0 = 0; k0 < k; k0 += kK) {
    Fill(tile, a, b, k, k0, threadIdx.x);
#ifndef FAULT_NO_PROXY_FENCE
    FenceProxy();
#endif
    __syncthreads();
    uint32_t fragments[kK / 16][4];
    for (int s = 0; s < kK / 16; ++s) {
      for (int i = 0; i < 4; ++i) {
        const int column = k0 + 16 * s + threadIdx.x % 4 * 2 + i / 2 * 8;
        fragments[s][i] = *reinterpret_cast<const uint32_t*>(a + (row + i % 2 * 8) * k + column);
      }
    }
    Fence();
    for (int s = 0; s < kK / 16; ++s) {
      MultiplyRegisters(sums, fragments[s], Descriptor(tile.b + 2 * s * kCore));
    }
    Commit();
    Wait();
    __syncthreads();
  }
  Store(d, sums, threadIdx.x);
}

__device__ void BarrierSync(int barrier) {
  asm volatile("bar.sync %0, 256;" ::"r"(barrier) : "memory");
}
__device__ void BarrierArrive(int barrier) {
  asm volatile("bar.arrive %0, 256;" ::"r"(barrier) : "memory");
}

extern "C" __global__ void __launch_bounds__(256, 1)
    wgmma_specialised(const __half* a, const __half* b, float* d, int k) {
  __shared__ alignas(128) Tile tiles[2];
  const int thread = threadIdx.x % 128;
  const int count = k / kK;
  if (threadIdx.x >= 128) {
#ifdef FAULT_PART_OF_A_WARPGROUP
    if (thread >= 32)
#endif
      // finds FAULT_PART_OF_A_WARPGROUP: divergence
      // may find FAULT_PART_OF_A_WARPGROUP: deadlock
      asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    for (int t = 0; t < count; ++t) {
      const int at = t % 2;
      if (t >= 2) BarrierSync(3 + at);
      Fill(tiles[at], a, b, k, t * kK, thread);
      FenceProxy();
      BarrierArrive(1 + at);
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sums[16] = {};
    for (int t = 0; t < count; ++t) {
      const int at = t % 2;
      BarrierSync(1 + at);
      Fence();
      for (int c = 0; c < kK / 8; c += 2) {
        Multiply(sums, Descriptor(tiles[at].a + c * kCore), Descriptor(tiles[at].b + c * kCore));
      }
      Commit();
      Wait();
      if (t + 2 < count) BarrierArrive(3 + at);
    }
    Store(d, sums, thread);
  }
}
