// Rates of bulk conversion and packing, with memcpy measured alternately: f32 to every type of at
// most 8 bits and back, and codes of 1 to 7 bits to bit streams and back.
//   bench_dtypes --benchmark_filter=encode/f4
// The counter `f32_per_s` (`codes_per_s` for streams) is bytes of f32 (of one-byte codes) per
// second of processor time; `of_memcpy` is that as a fraction of memcpy's rate for the same array.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "dtypes/bits.h"
#include "dtypes/bulk.h"

namespace tarsia {
namespace {

constexpr size_t kSmall = size_t{1} << 15;  // elements: 128 KiB of f32, in the L2 cache
constexpr size_t kLarge = size_t{1} << 24;  // 64 MiB, in memory

double Seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Memory that begins on a page: memcpy is many times slower on some processors where source and
// target begin at different places of a cache line.
template <typename T>
class Array {
 public:
  explicit Array(size_t n) : data_(static_cast<T*>(std::aligned_alloc(kPage, Round(n)))), n_(n) {
    std::memset(static_cast<void*>(data_.get()), 1, Round(n));
  }
  T* data() const { return data_.get(); }
  T& operator[](size_t i) const { return data_.get()[i]; }
  [[nodiscard]] size_t size() const { return n_; }

 private:
  static constexpr size_t kPage = 4096;
  static size_t Round(size_t n) { return (n * sizeof(T) + kPage - 1) / kPage * kPage; }
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  size_t n_;
};

// Normal numbers: none below the normal range of most types, some beyond the largest.
Array<float> Values(size_t n) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  Array<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = i < 4096 ? normal(rng) : out[i % 4096];
  return out;
}

Array<uint8_t> Codes(size_t n) {
  std::mt19937 rng(2);
  Array<uint8_t> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = i < 4096 ? static_cast<uint8_t>(rng()) : out[i % 4096];
  return out;
}

// Bytes per second of one run of `work`, which moves `bytes`, repeated to at least 32 MiB.
template <typename Work>
double Rate(size_t bytes, const Work& work) {
  const size_t repeats = std::max<size_t>(1, (size_t{32} << 20) / bytes);
  const double start = Seconds();
  for (size_t i = 0; i < repeats; ++i) work();
  return static_cast<double>(bytes * repeats) / (Seconds() - start);
}

// Runs `work`, which moves `bytes` of the kind that `counter` names, alternately with memcpy of as
// many, so that other load on the machine slows both. The best run of each counts.
template <typename Work>
void Measure(benchmark::State& state, const char* counter, size_t bytes, const Work& work) {
  constexpr int kRuns = 20;
  const Array<uint8_t> src(bytes), dst(bytes);
  const auto copy = [&] {
    std::memcpy(dst.data(), src.data(), bytes);
    benchmark::ClobberMemory();
  };
  double rate = 0, copied = 0;
  work();
  for ([[maybe_unused]] auto _ : state) {
    for (int run = 0; run < kRuns; ++run) {
      copied = std::max(copied, Rate(bytes, copy));
      rate = std::max(rate, Rate(bytes, work));
    }
  }
  state.counters[counter] = rate;
  state.counters["of_memcpy"] = rate / copied;
}

void Encode(benchmark::State& state, DType type, size_t n) {
  const Array<float> src = Values(n);
  const Array<uint8_t> dst(n);
  Measure(state, "f32_per_s", n * sizeof(float), [&] {
    CastBulk(kF32, src.data(), type, dst.data(), n);
    benchmark::ClobberMemory();
  });
}

void Decode(benchmark::State& state, DType type, size_t n) {
  const Array<uint8_t> src = Codes(n);
  const Array<float> dst(n);
  Measure(state, "f32_per_s", n * sizeof(float), [&] {
    CastBulk(type, src.data(), kF32, dst.data(), n);
    benchmark::ClobberMemory();
  });
}

void Pack(benchmark::State& state, int width, size_t n) {
  const Array<uint8_t> src = Codes(n);
  const Array<uint8_t> dst(n);
  Measure(state, "codes_per_s", n, [&] {
    PackBits(src.data(), width, n, dst.data(), 0);
    benchmark::ClobberMemory();
  });
}

void Unpack(benchmark::State& state, int width, size_t n) {
  const Array<uint8_t> src = Codes(n);
  const Array<uint8_t> dst(n);
  Measure(state, "codes_per_s", n, [&] {
    UnpackBits(src.data(), 0, width, n, dst.data());
    benchmark::ClobberMemory();
  });
}

// Each in the cache and in memory.
template <typename Run>
void Register(const std::string& name, const Run& run) {
  for (const auto& [place, count] : {std::pair("cache", kSmall), std::pair("memory", kLarge)}) {
    const size_t n = count;
    benchmark::RegisterBenchmark((name + "/" + place).c_str(), [run, n](benchmark::State& state) {
      run(state, n);
    })->Iterations(1);
  }
}

void RegisterAll() {
  for (const DTypeRow& row : AllDTypes()) {
    if (row.type.bits > 8) continue;
    const std::string name(row.name);
    const DType type = row.type;
    Register("encode/" + name, [type](auto& state, size_t n) { Encode(state, type, n); });
    Register("decode/" + name, [type](auto& state, size_t n) { Decode(state, type, n); });
  }
  for (int width = 1; width <= 8; ++width) {
    const std::string name = std::to_string(width);
    Register("pack/" + name, [width](auto& state, size_t n) { Pack(state, width, n); });
    Register("unpack/" + name, [width](auto& state, size_t n) { Unpack(state, width, n); });
  }
}

}  // namespace
}  // namespace tarsia

int main(int argc, char** argv) {
  tarsia::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
