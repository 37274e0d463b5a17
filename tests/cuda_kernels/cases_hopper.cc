// Features of compute capability 9.0: clusters, wgmma, bulk copies.
#include <numeric>

#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"
#include "tests/cuda_kernels/numbers.h"
#include "tests/cuda_kernels/product.h"

namespace tarsia::cuda_kernels {
namespace {

void ClusterReduce(Bench& bench) {
  const int n = 1500;
  const auto x = Wholes<int32_t>(n, 1, -1000, 2000);
  std::vector<int32_t> sums(2);
  for (int i = 0; i < n; ++i) sums[i / 64 % 8 / 4] += x[i];
  const uint64_t at_sums = bench.Put(std::vector<int32_t>(2, 0));
  bench.Launch("cluster_sum", {{8}, {64}}, Arguments(bench.Put(x), n, at_sums));
  bench.Expect(at_sums, sums);

  const auto data = Wholes<uint8_t>(1000, 2, 0, 255);
  std::vector<int32_t> bins(32);
  for (const uint8_t value : data) ++bins[value % 32];
  const uint64_t at_bins = bench.Room<int32_t>(32);
  bench.Launch("cluster_histogram", {{4}, {64}}, Arguments(bench.Put(data), 1000, at_bins));
  bench.Expect(at_bins, bins);
}

void Wgmma(Bench& bench) {
  const int m = 64;
  const int n = 32;
  const int k = 192;
  const auto a = Wholes<float>(m * k, 1, -8, 8);
  const auto b = Wholes<float>(n * k, 2, -8, 8);
  const uint64_t at_a = bench.Put(HalfBits(a));
  const uint64_t at_b = bench.Put(HalfBits(b));
  for (const auto& [entry, threads] : {std::pair("wgmma_ss", 128U), std::pair("wgmma_rs", 128U),
                                       std::pair("wgmma_specialised", 256U)}) {
    const uint64_t d = bench.Room<float>(m * n);
    bench.Launch(entry, {{1}, {threads}}, Arguments(at_a, at_b, d, k));
    bench.Expect(d, ProductOfRows(a, b, m, n, k));
  }
}

void BulkCopy(Bench& bench) {
  const int tiles = 5;
  const auto in = Wholes<int32_t>(tiles * 256, 1, -1000, 1000);
  std::vector<int32_t> expected = in;
  for (int32_t& value : expected) value *= 2;
  const uint64_t out = bench.Room<int32_t>(in.size());
  bench.Launch("double_numbers", {{1}, {128}}, Arguments(bench.Put(in), out, tiles));
  bench.Expect(out, expected);
}

constexpr Case kCases[] = {
    {"cluster_reduce", ClusterReduce},
    {"wgmma", Wgmma},
    {"bulk_copy", BulkCopy},
};

}  // namespace

std::span<const Case> HopperCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
