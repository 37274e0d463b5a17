// Kernels whose subject is memory: vectors, indices, tiles, constants, stacks.
#include <algorithm>

#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"

namespace tarsia::cuda_kernels {
namespace {

void Saxpy(Bench& bench) {
  const int n = 250;
  const std::vector<float> x = Floats(n + 1, 1);
  const std::vector<float> y = Floats(n, 2);
  const float a = 0.3F;
  std::vector<float> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = std::fma(a, x[i], y[i]);
  for (const char* entry : {"saxpy", "saxpy4"}) {
    const uint64_t at_y = bench.Put(y);
    bench.Launch(entry, {{4}, {64}}, Arguments(n, a, bench.Put(x), at_y));
    bench.Expect(at_y, expected);
  }
}

void GatherScatter(Bench& bench) {
  const int rows = 20;
  const int places = 24;
  const int width = 8;
  std::vector<int32_t> table(places * width * 2);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int32_t>(i * i % 1000) - 300;
  std::vector<int32_t> index(rows);
  for (int i = 0; i < rows; ++i) index[i] = i % 7 == 3 ? -1 : i * 5 % places;
  std::vector<int32_t> gathered(rows * width * 2);
  std::vector<int32_t> scattered(places * width * 2);
  for (size_t i = 0; i < scattered.size(); ++i) scattered[i] = i % 2 == 0 ? -1 : -2;
  for (int i = 0; i < rows; ++i) {
    for (int k = 0; k < 2 * width; ++k) {
      const int32_t value = index[i] < 0 ? 0 : table[index[i] * 2 * width + k];
      gathered[i * 2 * width + k] = value;
      if (index[i] >= 0) scattered[index[i] * 2 * width + k] = value;
    }
  }
  std::vector<int32_t> sums(places);
  for (size_t i = 0; i < scattered.size(); ++i) sums[i / (2 * width)] += scattered[i];
  const uint64_t at_index = bench.Put(index);
  const uint64_t at_gathered = bench.Room<int32_t>(gathered.size());
  const uint64_t at_scattered = bench.Room<int32_t>(scattered.size());
  const uint64_t at_sums = bench.Room<int32_t>(sums.size());
  bench.Launch("gather", {{5}, {8, 4}}, Arguments(bench.Put(table), at_index, at_gathered, rows));
  bench.Expect(at_gathered, gathered);
  bench.Launch("fill", {{4}, {64}}, Arguments(at_scattered, places * width));
  bench.Launch("scatter", {{3}, {8, 8}}, Arguments(at_gathered, at_index, at_scattered, rows));
  bench.Launch("row_sums", {{1}, {32}}, Arguments(at_scattered, at_sums, places));
  bench.Expect(at_scattered, scattered);
  bench.Expect(at_sums, sums);
}

void Transpose(Bench& bench) {
  const int width = 75;
  const int height = 41;
  const std::vector<float> in = Floats(width * height, 1);
  std::vector<float> expected(in.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) expected[x * height + y] = in[y * width + x];
  }
  const uint64_t out = bench.Room<float>(in.size());
  bench.Launch("transpose", {{3, 2}, {32, 8}}, Arguments(bench.Put(in), out, width, height));
  bench.Expect(out, expected);
}

void Constants(Bench& bench) {
  struct Range {
    double scale;
    float low;
    int32_t degree;
    int16_t steps[2];
  };
  const Range range = {3.0, -0.5F, 2, {-7, 40}};
  const double c[] = {0.5, -1.25, 2.0, 0.125, -0.75};
  const int n = 37;
  const std::vector<float> x = Floats(n, 1);
  std::vector<double> expected(n);
  std::vector<double> bound(n);
  for (int i = 0; i < n; ++i) {
    const double t = static_cast<double>(x[i]) + 0.5;
    double full = 0;
    double size = 0;
    for (int k = 4; k >= 0; --k) full = full * t + c[k];
    for (int k = 4; k >= 0; --k) size = size * std::abs(t) + std::abs(c[k]);
    expected[i] = 3 * full + (c[2] * t + c[1]) * t + c[0] + range.steps[i % 2];
    bound[i] = 40 * 0x1p-24 * 4 * size;
  }
  const uint64_t y = bench.Room<double>(n);
  bench.Launch("evaluate", {{2}, {32}},
               Arguments(range, bench.Put(x), y, n, bench.Symbol("kCoefficients") + 4));
  expected[3] += c[1];
  bench.ExpectNear<double>(y, expected, bound);
  bench.Expect(bench.Symbol("calls"), std::vector<int32_t>{7 + n / 2});
  bench.Expect(bench.Symbol("flags"), std::vector<uint64_t>{~0ULL, ~0ULL >> 1});
}

void CacheOperators(Bench& bench) {
  const int n = 40;
  const std::vector<float> in = Floats(n * 24, 1);
  std::vector<float> expected(in.size());
  for (int i = 0; i < n; ++i) {
    for (int v = 0; v < 6; ++v) {
      // The last two go to places 1 and 0 in turn.
      const int to = 5 - v;
      for (int k = 0; k < 4; ++k) expected[(6 * i + to) * 4 + k] = in[(6 * i + v) * 4 + k];
    }
  }
  std::vector<int32_t> small(2 * n);
  for (int i = 0; i < 2 * n; ++i) small[i] = 1000 - i;
  const uint64_t out = bench.Room<float>(in.size());
  const uint64_t small_out = bench.Room<int32_t>(small.size());
  bench.Launch("copy_hinted", {{1}, {40}},
               Arguments(bench.Put(in), out, bench.Put(small), small_out));
  bench.Expect(out, expected);
  bench.Expect(small_out, small);

  std::vector<int8_t> bytes(4 * n);
  for (int i = 0; i < 4 * n; ++i) bytes[i] = static_cast<int8_t>(i * 37);
  std::vector<int16_t> middle(bytes.begin(), bytes.end());
  std::vector<int64_t> wide(2 * n);
  for (int i = 0; i < n; ++i) {
    wide[2 * i] = bytes[4 * i] * 1000LL + bytes[4 * i + 1];
    wide[2 * i + 1] = -(bytes[4 * i + 2] * 1000LL + bytes[4 * i + 3]);
  }
  const uint64_t at_middle = bench.Room<int16_t>(middle.size());
  const uint64_t at_wide = bench.Room<int64_t>(wide.size());
  bench.Launch("widen", {{2}, {20}}, Arguments(bench.Put(bytes), at_middle, at_wide));
  bench.Expect(at_middle, middle);
  bench.Expect(at_wide, wide);
}

void LocalArray(Bench& bench) {
  const int groups = 45;
  const int count = 8;
  std::vector<int32_t> in(groups * count);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int32_t>(i * 7919 % 101);
  std::vector<int32_t> out = in;
  std::vector<int32_t> order(in.size());
  for (int g = 0; g < groups; ++g) {
    std::vector<int32_t> from(count);
    for (int i = 0; i < count; ++i) from[i] = i;
    std::stable_sort(from.begin(), from.end(),
                     [&](int32_t a, int32_t b) { return in[g * count + a] < in[g * count + b]; });
    for (int i = 0; i < count; ++i) {
      order[g * count + i] = from[i];
      out[g * count + i] = in[g * count + from[i]];
    }
  }
  const uint64_t at_out = bench.Room<int32_t>(out.size());
  const uint64_t at_order = bench.Room<int32_t>(out.size());
  bench.Launch("sort_own", {{2}, {32}}, Arguments(bench.Put(in), at_out, at_order, groups));
  bench.Expect(at_out, out);
  bench.Expect(at_order, order);

  const int each = 30;
  const int kinds = 11;
  std::vector<int32_t> draws(groups * each);
  for (size_t i = 0; i < draws.size(); ++i) draws[i] = static_cast<int32_t>(i * i * 31 / 7 % kinds);
  std::vector<int32_t> most(groups);
  for (int g = 0; g < groups; ++g) {
    std::vector<int> counts(kinds);
    for (int i = 0; i < each; ++i) ++counts[draws[g * each + i]];
    most[g] = static_cast<int32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  }
  const uint64_t at_most = bench.Room<int32_t>(groups);
  bench.Launch("count_own", {{1}, {64}}, Arguments(bench.Put(draws), at_most, kinds, each, groups));
  bench.Expect(at_most, most);
}

constexpr Case kCases[] = {
    {"saxpy", Saxpy},         {"gather_scatter", GatherScatter},   {"transpose", Transpose},
    {"constants", Constants}, {"cache_operators", CacheOperators}, {"local_array", LocalArray},
};

}  // namespace

std::span<const Case> MemoryCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
