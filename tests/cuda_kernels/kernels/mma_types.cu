// One product of small matrices by a warp in each type of mma.sync, its fragments straight from
// memory; a is by rows, b by columns.
#include <cstdint>

// d[16, 8] = a[16, k] b[k, 8] with bfloat16, k a multiple of 16.
extern "C" __global__ void mma_bf16(const uint32_t* a, const uint32_t* b, float* d, int k) {
  const int group = threadIdx.x / 4;
  const int within = threadIdx.x % 4;
  float s[4] = {};
  for (int k0 = 0; k0 < k / 2; k0 += 8) {  // in words of two
    const uint32_t* low = a + group * (k / 2) + k0 + within;
    const uint32_t* high = low + 8 * (k / 2);
    const uint32_t* column = b + group * (k / 2) + k0 + within;
#ifdef FAULT_HALF_A_WARP
    if (threadIdx.x < 16)
#endif
      // finds FAULT_HALF_A_WARP: divergence
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
          : "r"(low[0]), "r"(high[0]), "r"(low[4]), "r"(high[4]), "r"(column[0]), "r"(column[4]));
  }
  // may find FAULT_HALF_A_WARP: uninitialised
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + within * 2 + i % 2] = s[i];
}

// With tf32, k a multiple of 8: what does not fit is rounded before.
extern "C" __global__ void mma_tf32(const float* a, const float* b, float* d, int k) {
  const int group = threadIdx.x / 4;
  const int within = threadIdx.x % 4;
  const auto round = [](float x) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
  };
  float s[4] = {};
  for (int k0 = 0; k0 < k; k0 += 8) {
    const float* low = a + group * k + k0 + within;
    const float* high = low + 8 * k;
    const float* column = b + group * k + k0 + within;
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
        : "r"(round(low[0])), "r"(round(high[0])), "r"(round(low[4])), "r"(round(high[4])),
          "r"(round(column[0])), "r"(round(column[4])));
  }
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + within * 2 + i % 2] = s[i];
}

// With bytes, k a multiple of 32.
extern "C" __global__ void mma_s8(const uint32_t* a, const uint32_t* b, int* d, int k) {
  const int group = threadIdx.x / 4;
  const int within = threadIdx.x % 4;
  int s[4] = {};
  for (int k0 = 0; k0 < k / 4; k0 += 8) {  // in words of four
    const uint32_t* low = a + group * (k / 4) + k0 + within;
    const uint32_t* high = low + 8 * (k / 4);
    const uint32_t* column = b + group * (k / 4) + k0 + within;
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
        : "r"(low[0]), "r"(high[0]), "r"(low[4]), "r"(high[4]), "r"(column[0]), "r"(column[4]));
  }
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + within * 2 + i % 2] = s[i];
}

// In f64: 8 x 8 x 4.
extern "C" __global__ void mma_f64(const double* a, const double* b, double* d, int k) {
  const int group = threadIdx.x / 4;
  const int within = threadIdx.x % 4;
  double s[2] = {};
  for (int k0 = 0; k0 < k; k0 += 4) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(s[0]), "+d"(s[1])
                 : "d"(a[group * k + k0 + within]), "d"(b[group * k + k0 + within]));
  }
  d[group * 8 + within * 2] = s[0];
  d[group * 8 + within * 2 + 1] = s[1];
}
