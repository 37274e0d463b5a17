// What examples/matmul.tsa says, as one would write it in CUDA C++ without a library: y[m, N] =
// x[m, K] * w[K, N], w in 4-bit codes, row-major bits, x and y in f16, sums in f32 by tensor cores.
// Tiles of 16 x 128, 64 of K at a time, 128 threads. For bench/peers/nvcc_twin.sh, which compares
// how long compiling takes; unit tests run it on the emulator.
#include <cuda_fp16.h>
#include <stdint.h>

#ifndef TWIN_K
#define TWIN_K 4096
#define TWIN_N 4096
#endif

namespace {

constexpr int kK = TWIN_K, kN = TWIN_N;
constexpr int kTileM = 16, kTileN = 128, kTileK = 64;

__device__ void Multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ uint32_t Pair(const half* low, const half* high) {
  return static_cast<uint32_t>(__half_as_ushort(*low)) |
         static_cast<uint32_t>(__half_as_ushort(*high)) << 16;
}

// The code of w[k, n]; 0 outside.
__device__ int Code(const uint8_t* w, int k, int n) {
  if (k >= kK || n >= kN) return 0;
  const long long at = static_cast<long long>(k) * kN + n;
  return w[at / 2] >> (at % 2 * 4) & 15;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
    matmul(const half* __restrict__ x, const uint8_t* __restrict__ w, half* __restrict__ y, int m) {
  __shared__ half tile_x[kTileM][kTileK + 8];
  __shared__ half tile_w[kTileK][kTileN + 8];
  const int row0 = blockIdx.x * kTileM, column0 = blockIdx.y * kTileN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sums[4][4] = {};
  for (int k0 = 0; k0 < kK; k0 += kTileK) {
    for (int i = threadIdx.x; i < kTileM * kTileK; i += 128) {
      const int r = i / kTileK, c = i % kTileK;
      const bool inside = row0 + r < m && k0 + c < kK;
      tile_x[r][c] =
          inside ? x[static_cast<long long>(row0 + r) * kK + k0 + c] : __float2half(0.0f);
    }
    for (int i = threadIdx.x; i < kTileK * kTileN; i += 128) {
      const int r = i / kTileN, c = i % kTileN;
      tile_w[r][c] = __int2half_rn(Code(w, k0 + r, column0 + c));
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTileK; k += 16) {
      const int r = lane / 4, c = lane % 4 * 2;
      const uint32_t a[4] = {Pair(&tile_x[r][k + c], &tile_x[r][k + c + 1]),
                             Pair(&tile_x[r + 8][k + c], &tile_x[r + 8][k + c + 1]),
                             Pair(&tile_x[r][k + c + 8], &tile_x[r][k + c + 9]),
                             Pair(&tile_x[r + 8][k + c + 8], &tile_x[r + 8][k + c + 9])};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int n = warp * 32 + j * 8 + r;
        const uint32_t b[2] = {Pair(&tile_w[k + c][n], &tile_w[k + c + 1][n]),
                               Pair(&tile_w[k + c + 8][n], &tile_w[k + c + 9][n])};
        Multiply(sums[j], a, b);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 4; ++i) {
      const int row = row0 + lane / 4 + i / 2 * 8;
      const int column = column0 + warp * 32 + j * 8 + lane % 4 * 2 + i % 2;
      if (row < m && column < kN) {
        y[static_cast<long long>(row) * kN + column] = __float2half(sums[j][i]);
      }
    }
  }
}
