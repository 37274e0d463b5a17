// Kernels about a block: shared memory, barriers, and data exchanged through them.
#include <algorithm>
#include <numeric>

#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"

namespace tarsia::cuda_kernels {
namespace {

void Histogram(Bench& bench) {
  const int n = 1000;
  const auto data = Wholes<uint8_t>(n, 1, 0, 255);
  std::vector<int32_t> coarse(64);
  std::vector<uint32_t> fine(256);
  for (const uint8_t value : data) {
    ++coarse[value % 64];
    ++fine[value];
  }
  const uint64_t at = bench.Put(data);
  const uint64_t at_coarse = bench.Put(std::vector<int32_t>(64, 0));
  const uint64_t at_fine = bench.Put(std::vector<uint32_t>(256, 0));
  bench.Launch("histogram_shared", {{3}, {96}}, Arguments(at, n, at_coarse));
  bench.Expect(at_coarse, coarse);
  bench.Launch("histogram_global", {{8}, {128}}, Arguments(at, n, at_fine));
  bench.Expect(at_fine, fine);
}

void Reduce(Bench& bench) {
  const int n = 700;
  const int blocks = 3;
  const int threads = 128;
  const std::vector<float> x = Floats(n, 1);  // their sums are exact
  std::vector<float> sums(blocks);
  for (int i = 0; i < n; ++i) sums[i / threads % blocks] += x[i];
  const uint64_t at_sums = bench.Room<float>(blocks);
  bench.Launch("block_sums", {{blocks}, {threads}}, Arguments(bench.Put(x), n, at_sums));
  bench.Expect(at_sums, sums);

  const auto whole = Wholes<int32_t>(5 * 128, 2, -1000, 1000);
  const uint64_t at_whole = bench.Put(whole);
  const uint64_t sum = bench.Put(std::vector<int32_t>{0});
  bench.Launch("tree_sum", {{5}, {128}}, Arguments(at_whole, sum));
  bench.Expect(sum, std::vector<int32_t>{std::accumulate(whole.begin(), whole.end(), 0)});

  const int groups = 6;
  const int some = 600;
  std::vector<int32_t> own(groups * 16);
  for (int i = 0; i < some; ++i) own[i % (groups * 16)] += whole[i];
  std::vector<int32_t> expected;
  for (int g = 0; g < groups; ++g) {
    const auto begin = own.begin() + 16 * g;
    expected.push_back(std::accumulate(begin, begin + 16, 0));
    expected.push_back(*std::max_element(begin, begin + 16));
  }
  const uint64_t at_groups = bench.Room<int32_t>(expected.size());
  bench.Launch("group_sum", {{1}, {groups * 16}}, Arguments(at_whole, some, at_groups));
  bench.Expect(at_groups, expected);
}

void Scan(Bench& bench) {
  const int n = 256;
  const auto in = Wholes<int32_t>(n, 1, -50, 100);
  std::vector<int32_t> inclusive(n);
  std::vector<int32_t> exclusive(n);
  for (int block = 0; block < 2; ++block) {
    std::partial_sum(in.begin() + 128 * block, in.begin() + 128 * (block + 1),
                     inclusive.begin() + 128 * block);
  }
  for (int i = 0; i < n; ++i) exclusive[i] = inclusive[i] - in[i];
  const uint64_t at = bench.Put(in);
  const uint64_t steps = bench.Room<int32_t>(n);
  bench.Launch("scan_steps", {{2}, {128}}, Arguments(at, steps));
  bench.Expect(steps, inclusive);
  const uint64_t in_place = bench.Room<int32_t>(n);
  bench.Launch("scan_in_place", {{2}, {128}}, Arguments(at, in_place));
  bench.Expect(in_place, exclusive);
  const int cut = 230;
  const uint64_t warps = bench.Room<int32_t>(cut);
  bench.Launch("scan_warps", {{2}, {128}}, Arguments(at, warps, cut));
  bench.Expect(warps, std::vector<int32_t>(inclusive.begin(), inclusive.begin() + cut));
}

constexpr Case kCases[] = {
    {"histogram", Histogram},
    {"reduce", Reduce},
    {"scan", Scan},
};

}  // namespace

std::span<const Case> BlockCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
