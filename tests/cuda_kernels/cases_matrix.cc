// Products of matrices on tensor cores, and copies that run ahead of their use.
#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"
#include "tests/cuda_kernels/numbers.h"
#include "tests/cuda_kernels/product.h"

namespace tarsia::cuda_kernels {
namespace {

void GemmPipeline(Bench& bench) {
  const int m = 64;
  const int n = 128;
  const int k = 160;
  const auto a = Wholes<float>(m * k, 1, -8, 8);
  const auto b = Wholes<float>(k * n, 2, -8, 8);
  const uint64_t c = bench.Room<float>(m * n);
  bench.Launch("gemm", {{n / 64, m / 64}, {128}},
               Arguments(bench.Put(HalfBits(a)), bench.Put(HalfBits(b)), c, n, k));
  bench.Expect(c, Product<float>(a, m, n, k, [&](int i, int column) { return b[i * n + column]; }));
}

void MmaTypes(Bench& bench) {
  const int k = 64;
  const auto a = Wholes<float>(16 * k, 1, -30, 30);
  const auto b = Wholes<float>(8 * k, 2, -30, 30);
  const auto expected =
      Product<float>(a, 16, 8, k, [&](int i, int column) { return b[column * k + i]; });
  const uint64_t bf16 = bench.Room<float>(128);
  bench.Launch("mma_bf16", {{1}, {32}},
               Arguments(bench.Put(BfloatBits(a)), bench.Put(BfloatBits(b)), bf16, k));
  bench.Expect(bf16, expected);
  const uint64_t tf32 = bench.Room<float>(128);
  bench.Launch("mma_tf32", {{1}, {32}}, Arguments(bench.Put(a), bench.Put(b), tf32, k));
  bench.Expect(tf32, expected);

  const auto bytes_a = Wholes<int8_t>(16 * k, 3, -128, 127);
  const auto bytes_b = Wholes<int8_t>(8 * k, 4, -128, 127);
  const uint64_t s8 = bench.Room<int32_t>(128);
  bench.Launch("mma_s8", {{1}, {32}}, Arguments(bench.Put(bytes_a), bench.Put(bytes_b), s8, k));
  bench.Expect(s8, Product<int32_t>(bytes_a, 16, 8, k,
                                    [&](int i, int column) { return bytes_b[column * k + i]; }));

  const std::vector<double> wide_a(a.begin(), a.begin() + 8 * k);
  const std::vector<double> wide_b(b.begin(), b.end());
  const uint64_t f64 = bench.Room<double>(64);
  bench.Launch("mma_f64", {{1}, {32}}, Arguments(bench.Put(wide_a), bench.Put(wide_b), f64, k));
  bench.Expect(f64, Product<double>(wide_a, 8, 8, k,
                                    [&](int i, int column) { return wide_b[column * k + i]; }));
}

void AsyncPipeline(Bench& bench) {
  const int steps = 6;
  const std::vector<float> in = Floats(steps * 64 * 4, 1);
  std::vector<float> scaled = in;
  for (float& value : scaled) value *= 0.25F;
  const uint64_t out = bench.Room<float>(in.size());
  bench.Launch("scale_ahead", {{1}, {64}}, Arguments(bench.Put(in), out, 0.25F, steps));
  bench.Expect(out, scaled);
  const auto row = Wholes<int32_t>(128, 2, -1000, 1000);
  std::vector<int32_t> mirrored(128);
  for (int i = 0; i < 128; ++i) mirrored[i] = row[i / 64 * 64 + 63 - i % 64];
  const uint64_t mirror = bench.Room<int32_t>(128);
  bench.Launch("mirror", {{2}, {64}}, Arguments(bench.Put(row), mirror));
  bench.Expect(mirror, mirrored);
}

void BlockBarrier(Bench& bench) {
  const int rounds = 5;
  auto now = Wholes<int32_t>(64, 1, -1000, 1000);
  const uint64_t in = bench.Put(now);
  for (int r = 0; r < rounds; ++r) {
    const auto before = now;
    for (int i = 0; i < 64; ++i) now[i] = before[(i + 33) % 64] + r;
  }
  const uint64_t out = bench.Room<int32_t>(64);
  bench.Launch("rotate", {{1}, {64}}, Arguments(in, out, rounds));
  bench.Expect(out, now);
  const auto tile = Wholes<int32_t>(128 * 4, 2, -1000, 1000);
  std::vector<int32_t> mirrored(tile.size());
  for (int i = 0; i < 128; ++i) {
    for (int part = 0; part < 4; ++part) {
      mirrored[4 * i + part] = tile[4 * (i / 64 * 64 + 63 - i % 64) + part];
    }
  }
  const uint64_t copied = bench.Room<int32_t>(tile.size());
  bench.Launch("copy_on_barrier", {{2}, {64}}, Arguments(bench.Put(tile), copied));
  bench.Expect(copied, mirrored);
}

constexpr Case kCases[] = {
    {"gemm_pipeline", GemmPipeline},
    {"mma_types", MmaTypes},
    {"async_pipeline", AsyncPipeline},
    {"block_barrier", BlockBarrier},
};

}  // namespace

std::span<const Case> MatrixCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
