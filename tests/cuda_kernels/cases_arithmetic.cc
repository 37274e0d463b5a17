// Kernels about the work of one thread: calls, jumps, loops, packed and unusual types.
#include <algorithm>
#include <array>
#include <cstdio>

#include "tests/cuda_kernels/cases.h"
#include "tests/cuda_kernels/data.h"

namespace tarsia::cuda_kernels {
namespace {

uint32_t AckermannOf(uint32_t m, uint32_t n) {
  // The closed forms for m < 3.
  return m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3;
}

void Calls(Bench& bench) {
  const int n = 50;
  std::vector<int64_t> values(n);
  std::vector<int32_t> digits(n);
  for (int i = 0; i < n; ++i) {
    values[i] = int64_t{i} * i * 123456789 + i;
    for (const char c : std::to_string(values[i])) digits[i] += c - '0';
  }
  std::vector<uint32_t> ackermann(32);
  for (uint32_t i = 0; i < 32; ++i) ackermann[i] = AckermannOf(i % 3, i / 3);
  const uint64_t at_digits = bench.Room<int32_t>(n);
  bench.Launch("split_digits", {{2}, {32}}, Arguments(bench.Put(values), at_digits, n));
  bench.Expect(at_digits, digits);
  const uint64_t at_ackermann = bench.Room<uint32_t>(32);
  bench.Launch("ackermann", {{1}, {32}}, Arguments(at_ackermann));
  bench.Expect(at_ackermann, ackermann);
}

// Programs that compute a function of their number in four ways.
void SwitchTable(Bench& bench) {
  enum Code { kPush, kAdd, kSub, kMul, kSwap, kDup, kNeg, kAnd, kXor, kDrop, kEnd };
  const int n = 70;
  const int length = 16;
  std::vector<int32_t> programs(n * length, kEnd);
  std::vector<int32_t> expected(n);
  for (int i = 0; i < n; ++i) {
    std::vector<int32_t> code;
    switch (i % 4) {
      case 0:
        code = {kPush, i, kDup, kMul, kNeg, kEnd};
        expected[i] = -i * i;
        break;
      case 1:
        code = {kPush, 1000, kPush, i, kSub, kEnd};
        expected[i] = 1000 - i;
        break;
      case 2:
        code = {kPush, i, kPush, 12, kSwap, kSub, kPush, 5, kXor, kDrop, kEnd};
        expected[i] = 12 - i;  // what lies below the xor
        break;
      default:
        code = {kPush, i, kPush, 0x2A, kAnd, kPush, 7, kAdd, kEnd};
        expected[i] = (i & 0x2A) + 7;
        break;
    }
    std::copy(code.begin(), code.end(), programs.begin() + i * length);
  }
  const uint64_t results = bench.Room<int32_t>(n);
  bench.Launch("run_programs", {{3}, {32}}, Arguments(bench.Put(programs), length, results, n));
  bench.Expect(results, expected);
}

void Messages(Bench& bench) {
  const int n = 20;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = static_cast<float>(i % 5 == 1 ? -i - 0.5 : i);
  for (int i = 0; i < n; i += 2) values[i] = std::abs(values[i]);
  std::string expected;
  std::vector<float> roots(n);
  for (int i = 0; i < n; ++i) {
    roots[i] = std::sqrt(std::abs(values[i]));
    if (values[i] >= 0) continue;
    char line[100];
    std::snprintf(line, sizeof line, "value %d is %.3f (%s, %#x, %lld)\n", i,
                  static_cast<double>(values[i]), i % 2 != 0 ? "odd" : "even", i * 17,
                  -5000000000LL * i);
    expected += line;
  }
  const uint64_t at = bench.Put(values);
  bench.Launch("report", {{1}, {32}}, Arguments(at, n));
  EXPECT_EQ(bench.output(), expected);
  const uint64_t at_roots = bench.Room<float>(n);
  bench.Launch("checked_root", {{1}, {32}}, Arguments(at, at_roots, n));
  bench.Expect(at_roots, roots);
}

void Mandelbrot(Bench& bench) {
  const int width = 64;
  const int height = 32;
  const int limit = 60;
  std::vector<uint16_t> expected(width * height);
  for (int py = 0; py < height; ++py) {
    for (int px = 0; px < width; ++px) {
      const float cx = std::fma(static_cast<float>(px), 3.0F / 64, -2.0F);
      const float cy = std::fma(static_cast<float>(py), 2.0F / 32, -1.0F);
      // Each product and sum is stored, so that no compiler contracts them.
      volatile float x = 0;
      volatile float y = 0;
      int turn = 0;
      for (; turn < limit; ++turn) {
        volatile float xx = x * x;
        volatile float yy = y * y;
        volatile float size = xx + yy;
        if (size > 4) break;
        volatile float twice = x + x;
        volatile float product = twice * y;
        volatile float difference = xx - yy;
        y = product + cy;
        x = difference + cx;
      }
      expected[py * width + px] = static_cast<uint16_t>(turn);
    }
  }
  const uint64_t turns = bench.Room<uint16_t>(expected.size());
  bench.Launch("mandelbrot", {{4, 4}, {16, 8}}, Arguments(turns, width, height, limit));
  bench.Expect(turns, expected);
}

// Philox4x32-10 as its paper writes it.
std::array<uint32_t, 4> PhiloxOf(std::array<uint32_t, 4> c, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

void Philox(Bench& bench) {
  // The known answer of the paper's test vectors for a counter and a key of zeros.
  ASSERT_EQ(PhiloxOf({0, 0, 0, 0}, 0, 0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t n = 100;
  struct alignas(8) Key {
    uint32_t x = 0xCAFE;
    uint32_t y = 0xF00D;
  };
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < n; ++i) {
    for (const uint32_t word : PhiloxOf({i, 0, 0x12345678, n}, 0xCAFE, 0xF00D)) {
      expected.push_back(word);
    }
  }
  // 1600 bytes; the next allocation lies further away, so that thread 100 writes to nothing.
  const uint64_t words = bench.Room<uint32_t>(4 * n);
  bench.Launch("philox", {{2}, {64}}, Arguments(Key{}, words, n));
  bench.Expect(words, expected);
  std::vector<float> uniform(4 * n);
  for (size_t i = 0; i < uniform.size(); ++i) {
    uniform[i] = std::fma(static_cast<float>(expected[i]), 2.3283064e-10F, 1.1641532e-10F);
  }
  const uint64_t numbers = bench.Room<float>(4 * n);
  bench.Launch("uniform", {{1}, {96}}, Arguments(words, numbers, 4 * n));
  bench.Expect(numbers, uniform);
}

void Divergence(Bench& bench) {
  std::vector<uint32_t> start(100);
  std::vector<uint32_t> steps(100);
  for (uint32_t i = 0; i < 100; ++i) {
    start[i] = i * i + 1;
    for (uint64_t x = start[i]; x != 1; x = x % 2 == 0 ? x / 2 : 3 * x + 1) ++steps[i];
  }
  const uint64_t at_steps = bench.Room<uint32_t>(100);
  bench.Launch("collatz", {{2}, {64}}, Arguments(bench.Put(start), at_steps, 100));
  bench.Expect(at_steps, steps);
  if (bench.faulty()) return;

  const std::vector<float> x = {0.0F, 1e-3F, 1.0F, -2.5F, 100.0F, 12345.678F, 1e6F, -3e7F, 1e10F};
  std::vector<double> waves;
  std::vector<double> bound;
  for (const float value : x) {
    const auto v = static_cast<double>(value);
    const auto power = static_cast<double>(-value * value / 1e12F);
    waves.push_back(std::sin(v) * std::exp(power) +
                    std::sqrt(std::abs(v)) / (1 + std::log(1 + std::abs(v))));
    bound.push_back(1e-6 * (std::abs(waves.back()) + 1));
  }
  const auto n = static_cast<int>(x.size());
  const uint64_t at_waves = bench.Room<float>(x.size());
  bench.Launch("waves", {{1}, {32}}, Arguments(bench.Put(x), at_waves, n));
  bench.ExpectNear<float>(at_waves, waves, bound);
}

void FunctionTable(Bench& bench) {
  const int n = 64;
  const auto which = Wholes<uint32_t>(n, 1, 0, 3);
  auto value = Wholes<uint32_t>(n, 2, 0, 1000);
  const auto b = Wholes<uint32_t>(n, 3, 0, 1000);
  const uint64_t at = bench.Put(value);
  for (uint32_t step = 0; step < 3; ++step) {
    uint32_t sums[2] = {};
    for (int i = 0; i < n; ++i) {
      const uint32_t f = (which[i] + step) % 4;
      value[i] = f == 1 ? value[i] * b[i] : f == 2 ? std::max(value[i], b[i]) : value[i] + b[i];
      sums[i / 32] += value[i];
    }
    for (int i = 0; i < n; ++i) value[i] += sums[i / 32];
  }
  const uint64_t d = bench.Room<uint32_t>(n);
  bench.Launch("apply", {{1}, {n}}, Arguments(bench.Put(which), at, bench.Put(b), d));
  bench.Expect(d, value);
}

constexpr Case kCases[] = {
    {"divergence", Divergence},
    {"calls", Calls},
    {"function_table", FunctionTable},
    {"switch_table", SwitchTable},
    {"messages", Messages},
    {"mandelbrot", Mandelbrot},
    {"philox", Philox},
};

}  // namespace

std::span<const Case> ArithmeticCases() { return kCases; }

}  // namespace tarsia::cuda_kernels
