// c = a b in halves with sums in f32: tiles of 64 x 64 x 32 through three buffers that cp.async
// fills two tiles ahead, fragments by ldmatrix, mma.sync.
#include <cuda_fp16.h>

constexpr int kM = 64;
constexpr int kN = 64;
constexpr int kK = 32;
constexpr int kPitchA = kK + 8;
constexpr int kPitchB = kN + 8;
#ifdef FAULT_TWO_BUFFERS
constexpr int kBuffers = 2;
#else
constexpr int kBuffers = 3;
#endif

struct Buffer {
  __half a[kM * kPitchA];
  __half b[kK * kPitchB];
};

__device__ unsigned SharedAddress(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void CopyAsync(void* to, const void* from) {
  // finds FAULT_TWO_BUFFERS: async
  // finds FAULT_NO_BARRIER: async
  // may find FAULT_NO_WAIT: async
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(SharedAddress(to)), "l"(from)
               : "memory");
}

__device__ void Fill(Buffer& buffer, const __half* a, const __half* b, int n, int k, int k0) {
  for (int i = threadIdx.x; i < kM * kK / 8; i += blockDim.x) {
    const int row = i / (kK / 8);
    const int column = i % (kK / 8) * 8;
    CopyAsync(&buffer.a[row * kPitchA + column], a + (blockIdx.y * kM + row) * k + k0 + column);
  }
  for (int i = threadIdx.x; i < kK * kN / 8; i += blockDim.x) {
    const int row = i / (kN / 8);
    const int column = i % (kN / 8) * 8;
    CopyAsync(&buffer.b[row * kPitchB + column], b + (k0 + row) * n + blockIdx.x * kN + column);
  }
}

__device__ void LoadMatrices(unsigned (&r)[4], const __half* at) {
  // finds FAULT_EARLY_WAIT: async
  // finds FAULT_NO_WAIT: async
  // finds FAULT_NO_BARRIER: async
  // finds FAULT_NO_BARRIER: race
  // may find FAULT_TWO_BUFFERS: async
  // may find FAULT_EARLY_WAIT: race
  // may find FAULT_NO_WAIT: race
  // may find FAULT_TWO_BUFFERS: race
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(SharedAddress(at))
               : "memory");
}

__device__ void LoadTransposed(unsigned (&r)[4], const __half* at) {
  // finds FAULT_EARLY_WAIT: async
  // finds FAULT_NO_WAIT: async
  // finds FAULT_NO_BARRIER: async
  // finds FAULT_NO_BARRIER: race
  // may find FAULT_TWO_BUFFERS: async
  // may find FAULT_EARLY_WAIT: race
  // may find FAULT_NO_WAIT: race
  // may find FAULT_TWO_BUFFERS: race
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(SharedAddress(at))
               : "memory");
}

__device__ void Multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four warps, 32 x 32 each.
extern "C" __global__ void gemm(const __half* a, const __half* b, float* c, int n, int k) {
  __shared__ __align__(16) Buffer buffers[kBuffers];
  const int lane = threadIdx.x % 32;
  const int warp_row = threadIdx.x / 64 * 32;
  const int warp_column = threadIdx.x / 32 % 2 * 32;
  float sums[2][4][4] = {};
  const int tiles = k / kK;
  for (int t = 0; t < 2; ++t) {
    if (t < tiles) Fill(buffers[t], a, b, n, k, t * kK);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int t = 0; t < tiles; ++t) {
#if defined(FAULT_EARLY_WAIT)
    asm volatile("cp.async.wait_group 2;" ::: "memory");
#elif !defined(FAULT_NO_WAIT)
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
#ifndef FAULT_NO_BARRIER
    __syncthreads();
#endif
    if (t + 2 < tiles) Fill(buffers[(t + 2) % kBuffers], a, b, n, k, (t + 2) * kK);
    asm volatile("cp.async.commit_group;" ::: "memory");
    const Buffer& now = buffers[t % kBuffers];
    for (int kk = 0; kk < kK; kk += 16) {
      unsigned fa[2][4];
      unsigned fb[2][4];
      for (int i = 0; i < 2; ++i) {
        LoadMatrices(fa[i], &now.a[(warp_row + 16 * i + lane % 16) * kPitchA + kk + lane / 16 * 8]);
        LoadTransposed(fb[i],
                       &now.b[(kk + lane % 16) * kPitchB + warp_column + 16 * i + lane / 16 * 8]);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
          Multiply(sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = blockIdx.y * kM + warp_row + 16 * i + lane / 4;
      const int column = blockIdx.x * kN + warp_column + 8 * j + lane % 4 * 2;
      // may find FAULT_EARLY_WAIT: uninitialised
      // may find FAULT_NO_BARRIER: uninitialised
      // may find FAULT_NO_WAIT: uninitialised
      *reinterpret_cast<float2*>(c + row * n + column) = make_float2(sums[i][j][0], sums[i][j][1]);
      // may find FAULT_EARLY_WAIT: uninitialised
      // may find FAULT_NO_BARRIER: uninitialised
      // may find FAULT_NO_WAIT: uninitialised
      *reinterpret_cast<float2*>(c + (row + 8) * n + column) =
          make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
}
