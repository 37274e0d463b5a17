// The main job on the device cpu: y[16, 4096] = x[16, 4096] * w[4096, 4096], weights of several
// types, by the program of examples/matmul.tsa, compared with OpenBLAS's sgemm on dequantised
// weights with the same threads. Every type is checked on small integers, bit for bit, before it is
// timed.
//   bench_matmul --benchmark_min_time=1
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dtypes/bits.h"
#include "dtypes/bulk.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "vm/interpreter.h"

extern "C" void openblas_set_num_threads(int count);

namespace tarsia {
namespace {

constexpr int64_t kM = 16, kK = 4096, kN = 4096;

int Threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

Program MakeProgram(const std::string& type) {
  std::ifstream file(TARSIA_EXAMPLES "/matmul.tsa");
  const SourceFile source("matmul.tsa", {std::istreambuf_iterator<char>(file), {}});
  Diagnostics diagnostics;
  std::optional<ValidModule> module = Validate(*Parse(source, diagnostics), diagnostics);
  return *Specialise(*module, "matmul", {{"K", "4096"}, {"N", "4096"}, {"W", type}}, TargetLimits(),
                     diagnostics);
}

// x is -1, 0 or 1 and at most 32 of them in a row are not 0, so that every sum is exact in f16.
std::vector<float> Activations() {
  std::vector<float> x(kM * kK);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = i % 131 == 0 ? static_cast<float>(i % 3) - 1.0f : 0.0f;
  }
  return x;
}

// Codes below 4, which equal their values in every integer type of at least 3 bits.
std::vector<uint8_t> Weights() {
  std::vector<uint8_t> w(kK * kN);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<uint8_t>((i * 2654435761u >> 13) % 4);
  return w;
}

bool IsExact(const std::vector<float>& x, const std::vector<uint8_t>& w,
             const std::vector<uint16_t>& y) {
  std::vector<float> got(y.size());
  CastBulk(kF16, y.data(), kF32, got.data(), y.size());
  std::vector<int> want(kN);
  for (int64_t i = 0; i < kM; ++i) {
    std::fill(want.begin(), want.end(), 0);
    for (int64_t k = 0; k < kK; ++k) {
      const int xi = static_cast<int>(x[static_cast<size_t>(i * kK + k)]);
      if (xi == 0) continue;
      for (int64_t n = 0; n < kN; ++n) {
        want[static_cast<size_t>(n)] += xi * w[static_cast<size_t>(k * kN + n)];
      }
    }
    for (int64_t n = 0; n < kN; ++n) {
      if (got[static_cast<size_t>(i * kN + n)] !=
          static_cast<float>(want[static_cast<size_t>(n)])) {
        return false;
      }
    }
  }
  return true;
}

void Quantised(benchmark::State& state, const char* type_name) {
  const auto plan = *vm::Prepare(MakeProgram(type_name));
  const int bits = FindDType(type_name)->bits;
  const std::vector<float> x = Activations();
  const std::vector<uint8_t> w = Weights();
  std::vector<uint16_t> xh(x.size());
  CastBulk(kF32, x.data(), kF16, xh.data(), x.size());
  std::vector<uint8_t> packed((w.size() * static_cast<size_t>(bits) + 7) / 8);
  PackBits(w.data(), bits, w.size(), packed.data(), 0);
  std::vector<uint16_t> y(kM * kN, 0x7E00);
  const std::vector<launch::Argument> args = {launch::Buffer{xh.data(), xh.size() * 2, false},
                                              launch::Buffer{packed.data(), packed.size(), false},
                                              launch::Buffer{y.data(), y.size() * 2, true},
                                              launch::ScalarValue{kI32, static_cast<uint64_t>(kM)}};
  for (auto _ : state) {
    if (!vm::Launch(*plan, args).ok()) state.SkipWithError("the launch failed");
  }
  if (!IsExact(x, w, y)) state.SkipWithError("a wrong element");
}
BENCHMARK_CAPTURE(Quantised, u4, "u4")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(Quantised, u3, "u3")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(Quantised, u8, "u8")->Unit(benchmark::kMillisecond)->UseRealTime();

void Sgemm(benchmark::State& state) {
  openblas_set_num_threads(Threads());
  const std::vector<float> x = Activations();
  const std::vector<uint8_t> codes = Weights();
  const std::vector<float> w(codes.begin(), codes.end());
  std::vector<float> y(kM * kN);
  for (auto _ : state) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kM, kN, kK, 1.0f, x.data(), kK, w.data(),
                kN, 0.0f, y.data(), kN);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(Sgemm)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace tarsia

BENCHMARK_MAIN();
