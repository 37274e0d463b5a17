// The interpreter's matrix product of tiles against OpenBLAS, one thread each. The relevant figure
// is the rate (items are multiply-adds): Tile/... relative to OpenBlas/2048.
//   bench_dot --benchmark_min_time=1
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <cstdint>
#include <vector>

#include "dtypes/bulk.h"
#include "dtypes/dtype.h"
#include "vm/host/dot.h"

// In cblas.h of OpenBLAS; other libraries do not have this call.
extern "C" void openblas_set_num_threads(int count);

namespace tarsia {
namespace {

// Small integers, which every type holds.
std::vector<float> Values(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 15) - 7.0f;
  return values;
}

std::vector<uint8_t> Codes(DType type, int64_t count) {
  const std::vector<float> values = Values(count);
  std::vector<uint8_t> codes(values.size() * static_cast<size_t>(ContainerBytes(type)));
  CastBulk(kF32, values.data(), type, codes.data(), values.size());
  return codes;
}

void SetRate(benchmark::State& state, int64_t m, int64_t n, int64_t k) {
  state.SetItemsProcessed(state.iterations() * m * n * k);
}

void OpenBlas(benchmark::State& state) {
  openblas_set_num_threads(1);
  const int n = static_cast<int>(state.range(0));
  const std::vector<float> a = Values(int64_t{n} * n);
  const std::vector<float> b = Values(int64_t{n} * n);
  std::vector<float> c(a.size());
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a.data(), n, b.data(), n,
                0.0f, c.data(), n);
    benchmark::ClobberMemory();
  }
  SetRate(state, n, n, n);
}
BENCHMARK(OpenBlas)->Arg(64)->Arg(2048)->Unit(benchmark::kMicrosecond);

void Tile(benchmark::State& state, DType type, DType acc_type) {
  const int64_t m = state.range(0);
  const int64_t n = state.range(1);
  const int64_t k = state.range(2);
  const std::vector<uint8_t> a = Codes(type, m * k);
  const std::vector<uint8_t> b = Codes(type, k * n);
  std::vector<uint8_t> acc(static_cast<size_t>(m * n * ContainerBytes(acc_type)));
  for (auto _ : state) {
    host::Dot(type, type, acc_type, a.data(), b.data(), acc.data(), acc.data(), m, n, k);
    benchmark::ClobberMemory();
  }
  SetRate(state, m, n, k);
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->Args({64, 64, 64})->Args({128, 128, 64})->Args({16, 64, 64})->Args({16, 128, 64});
  b->Args({16, 256, 64})->Args({1, 128, 64});
  b->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(Tile, f32, kF32, kF32)->Apply(Shapes)->Args({2048, 2048, 2048});
BENCHMARK_CAPTURE(Tile, f16, kF16, kF32)->Apply(Shapes);
BENCHMARK_CAPTURE(Tile, bf16, kBF16, kF32)->Apply(Shapes);
BENCHMARK_CAPTURE(Tile, f8e4m3fn, kF8E4M3FN, kF32)->Args({64, 64, 64});
BENCHMARK_CAPTURE(Tile, i8, kI8, kI32)->Args({64, 64, 64});
BENCHMARK_CAPTURE(Tile, f64, kF64, kF64)->Args({64, 64, 64});

}  // namespace
}  // namespace tarsia

BENCHMARK_MAIN();
