// Kernels whose subject is a warp, or packed numbers in its lanes: dots, halves, votes, matches.
#include <algorithm>
#include <bit>
#include <map>

#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"
#include "tests/cuda_kernels/numbers.h"

namespace tarsia::cuda_kernels {
namespace {

void QuantisedDot(Bench& bench) {
  const int rows = 6;
  const int words = 50;
  const auto a = Wholes<int8_t>(rows * words * 4, 1, -128, 127);
  const auto b = Wholes<int8_t>(words * 4, 2, -128, 127);
  std::vector<int32_t> sums(rows);
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < words * 4; ++i) sums[row] += a[row * words * 4 + i] * b[i];
  }
  const uint64_t out = bench.Room<int32_t>(rows);
  bench.Launch("dot_bytes", {{3}, {64}}, Arguments(bench.Put(a), bench.Put(b), out, words));
  bench.Expect(out, sums);

  const auto x = Wholes<uint16_t>(64, 3, 0, 65535);
  const auto y = Wholes<uint8_t>(128, 4, 0, 255);
  std::vector<uint32_t> expected(96);
  std::vector<uint32_t> low(32);
  std::vector<uint32_t> high(32);
  for (int i = 0; i < 32; ++i) {
    low[i] = 1U + x[2 * i] * y[4 * i] + x[2 * i + 1] * y[4 * i + 1];
    high[i] = 2U + x[2 * i] * y[4 * i + 2] + x[2 * i + 1] * y[4 * i + 3];
    expected[i] = low[i] + high[i];
  }
  std::fill_n(expected.begin() + 32, 32, *std::min_element(low.begin(), low.end()));
  std::fill_n(expected.begin() + 64, 32, *std::max_element(high.begin(), high.end()));
  const uint64_t shorts = bench.Room<uint32_t>(96);
  bench.Launch("dot_shorts", {{1}, {32}}, Arguments(bench.Put(x), bench.Put(y), shorts));
  bench.Expect(shorts, expected);
}

void UnpackU4(Bench& bench) {
  const int words = 45;
  const auto packed = Wholes<uint32_t>(words, 1, -2000000000, 2000000000);
  std::vector<uint16_t> expected(8 * words);
  for (int i = 0; i < words; ++i) {
    for (int k = 0; k < 4; ++k) {
      expected[8 * i + 2 * k] = HalfBits(packed[i] >> (4 * k) & 15);
      expected[8 * i + 2 * k + 1] = HalfBits(packed[i] >> (4 * k + 16) & 15);
    }
  }
  const uint64_t out = bench.Room<uint16_t>(expected.size());
  bench.Launch("unpack_u4", {{2}, {32}}, Arguments(bench.Put(packed), out, words));
  bench.Expect(out, expected);

  const std::vector<uint32_t> a(packed.begin(), packed.begin() + 32);
  const std::vector<uint32_t> b(packed.begin() + 10, packed.begin() + 42);
  std::vector<uint32_t> permuted;
  for (int i = 0; i < 32; ++i) {
    const auto byte = [&](int n) { return (n < 4 ? a[i] >> (8 * n) : b[i] >> (8 * n - 32)) & 255; };
    const auto word = [&](int b3, int b2, int b1, int b0) {
      return byte(b3) << 24 | byte(b2) << 16 | byte(b1) << 8 | byte(b0);
    };
    permuted.push_back(word(0, 1, 2, 3));
    permuted.push_back(word(5, 1, 4, 0));
    // __byte_perm takes three bits of a selector; the fourth is not its.
    permuted.push_back(word(7, 3, 7, 3));
    // Bytes 4, 3, 2, 1 of (a, 0), then all bits in reverse.
    uint32_t reversed = 0;
    const uint32_t shifted = a[i] >> 8;
    for (int bit = 0; bit < 32; ++bit) reversed |= (shifted >> bit & 1) << (31 - bit);
    permuted.push_back(reversed);
  }
  const uint64_t at = bench.Room<uint32_t>(permuted.size());
  bench.Launch("permute", {{1}, {32}}, Arguments(bench.Put(a), bench.Put(b), at));
  bench.Expect(at, permuted);
}

void HalfArithmetic(Bench& bench) {
  const int n = 50;
  const std::vector<float> x = Floats(2 * n, 1);
  std::vector<uint16_t> polynomial(2 * n);
  std::vector<uint16_t> axpy(2 * n);
  for (int i = 0; i < 2 * n; ++i) {
    const double v = static_cast<double>(x[i]);
    double sum = ToHalf(v * 0.5 + 1);
    sum = ToHalf(sum * v - 1);
    sum = ToHalf(std::max(sum, -3.0) * 0.25);
    const bool in_order = x[i / 2 * 2] < x[i / 2 * 2 + 1];
    polynomial[in_order ? i : i ^ 1] = HalfBits(sum);
    const double y = ToBfloat(ToBfloat(v) * -1.5 + 2);
    axpy[i] = BfloatBits(i % 2 == 1 ? std::abs(y) : y);
  }
  const uint64_t halves = bench.Put(HalfBits(x));
  const uint64_t at_polynomial = bench.Room<uint16_t>(2 * n);
  bench.Launch("half_polynomial", {{2}, {32}}, Arguments(halves, at_polynomial, n));
  bench.Expect(at_polynomial, polynomial);
  const uint64_t at_axpy = bench.Room<uint16_t>(2 * n);
  bench.Launch("bfloat_axpy", {{1}, {64}}, Arguments(bench.Put(BfloatBits(x)), at_axpy, n));
  bench.Expect(at_axpy, axpy);

  // Multiples of 1/4 below 16: all sums are exact in f16.
  const int few = 40;
  std::vector<float> small(2 * few);
  double even = 0;
  double odd = 0;
  for (int i = 0; i < 2 * few; ++i) {
    small[i] = static_cast<float>(i % 7 - 3) / 4;
    (i % 2 == 0 ? even : odd) += static_cast<double>(small[i]);
  }
  const uint64_t both = bench.Put(std::vector<uint16_t>(2, 0));
  const uint64_t first = bench.Put(std::vector<uint16_t>(2, 0));
  const uint64_t all = bench.Put(std::vector<float>(1, 0.0F));
  bench.Launch("sum_halves", {{3}, {64}},
               Arguments(bench.Put(HalfBits(small)), both, first, all, few));
  bench.Expect(both, std::vector<uint16_t>{HalfBits(even), HalfBits(odd)});
  bench.Expect(first, std::vector<uint16_t>{HalfBits(even), 0});
  bench.Expect(all, std::vector<float>{static_cast<float>(even + odd)});
}

void RowNorms(Bench& bench) {
  const int rows = 7;
  const int columns = 21;
  std::vector<double> x(rows * columns);
  const std::vector<float> from = Floats(x.size(), 1);
  std::copy(from.begin(), from.end(), x.begin());
  std::vector<double> norms(rows);
  std::vector<uint64_t> most(rows);
  for (int row = 0; row < rows; ++row) {
    double sum = 0;  // exact in any order
    double spread = 0;
    for (int i = 0; i < columns; ++i) {
      sum += x[row * columns + i] * x[row * columns + i];
      spread = std::max(spread, std::abs(x[row * columns + i] - x[row * columns]));
    }
    norms[row] = std::sqrt(sum);
    most[row] = std::bit_cast<uint64_t>(spread);
  }
  const uint64_t at = bench.Put(x);
  const uint64_t at_norms = bench.Room<double>(rows);
  bench.Launch("row_norms", {{2}, {128}}, Arguments(at, at_norms, rows, columns));
  bench.Expect(at_norms, norms);
  const uint64_t at_most = bench.Put(std::vector<uint64_t>(rows, 0));
  bench.Launch("spread", {{3}, {64}}, Arguments(at, at_most, rows, columns));
  bench.Expect(at_most, most);
}

void Compaction(Bench& bench) {
  const int n = 300;
  const int threads = 128;
  const auto in = Wholes<int32_t>(n, 1, -9, 9);
  std::map<int, std::vector<int32_t>> kept;  // by block
  int32_t total = 0;
  for (int i = 0; i < n; ++i) {
    if (in[i] <= 0) continue;
    kept[i / threads].push_back(in[i]);
    ++total;
  }
  const uint64_t out = bench.Room<int32_t>(total);
  const uint64_t first = bench.Room<int32_t>(3);
  const uint64_t count = bench.Put(std::vector<int32_t>{0});
  bench.Launch("compact", {{3}, {threads}}, Arguments(bench.Put(in), n, out, first, count));
  bench.Expect(count, std::vector<int32_t>{total});
  // Blocks come in any order, each in one piece.
  const auto starts = bench.Get<int32_t>(first, 3);
  for (int block = 0; block < 3 && !bench.faulty(); ++block) {
    bench.Expect(out + 4 * static_cast<uint64_t>(starts[block]), kept[block]);
  }
}

void MatchGroups(Bench& bench) {
  const int n = 150;
  const int kinds = 12;
  const auto keys = Wholes<int32_t>(n, 1, 0, kinds - 1);
  std::vector<int32_t> counts(kinds);
  for (const int32_t key : keys) ++counts[key];
  const uint64_t at_counts = bench.Put(std::vector<int32_t>(kinds, 0));
  const uint64_t at_rank = bench.Room<int32_t>(n);
  bench.Launch("count_keys", {{3}, {64}}, Arguments(bench.Put(keys), at_counts, at_rank, n));
  bench.Expect(at_counts, counts);
  // The ranks of a key are 0, 1, 2.. in some order.
  if (!bench.faulty()) {
    const auto rank = bench.Get<int32_t>(at_rank, n);
    std::map<int32_t, std::vector<int32_t>> ranks;
    for (int i = 0; i < n; ++i) ranks[keys[i]].push_back(rank[i]);
    for (auto& [key, list] : ranks) {
      std::sort(list.begin(), list.end());
      for (size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i], static_cast<int32_t>(i)) << key;
    }
  }
  std::vector<uint64_t> values(64, 0x123456789ULL);
  values[40] ^= uint64_t{1} << 60;
  const uint64_t same = bench.Room<int32_t>(2);
  bench.Launch("all_same", {{1}, {64}}, Arguments(bench.Put(values), same));
  bench.Expect(same, std::vector<int32_t>{1, 0});
}

constexpr Case kCases[] = {
    {"quantised_dot", QuantisedDot},     {"unpack_u4", UnpackU4},
    {"half_arithmetic", HalfArithmetic}, {"row_norms", RowNorms},
    {"compaction", Compaction},          {"match_groups", MatchGroups},
};

}  // namespace

std::span<const Case> WarpCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
