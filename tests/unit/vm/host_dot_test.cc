// vm/host/dot.h: exact on small integers in every type and shape, within the bound on the rest.
#include "vm/host/dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "support/extents.h"
#include "tests/unit/vm/host_testing.h"

namespace tarsia::host::host_dot_test {
namespace {

std::vector<double> SmallIntegers(int64_t count, uint64_t seed, int64_t low, int64_t high) {
  Random random(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(random.Between(low, high)));
  return values;
}

std::vector<double> Product(const std::vector<double>& a, const std::vector<double>& b,
                            const std::vector<double>& c, int64_t m, int64_t n, int64_t k) {
  std::vector<double> out = c;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < n; ++j)
        out[Size(i * n + j)] += a[Size(i * k + p)] * b[Size(p * n + j)];
    }
  }
  return out;
}

struct Shape {
  int64_t m, n, k;
};
const Shape kShapes[] = {{0, 5, 3},    {5, 0, 3},    {3, 4, 0},    {1, 1, 1},
                         {1, 17, 5},   {5, 16, 16},  {6, 16, 64},  {7, 33, 31},
                         {12, 32, 8},  {13, 32, 9},  {16, 64, 64}, {17, 1, 65},
                         {33, 47, 17}, {64, 64, 64}, {8, 40, 300}, {200, 20, 257}};

void CheckExact(DType a_type, DType b_type, DType acc_type, int64_t low, int64_t high) {
  SCOPED_TRACE(std::string(DTypeName(a_type)) + " " + std::string(DTypeName(b_type)));
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(std::to_string(s.m) + " " + std::to_string(s.n) + " " + std::to_string(s.k));
    const std::vector<double> a = SmallIntegers(s.m * s.k, 1, low, high);
    const std::vector<double> b = SmallIntegers(s.k * s.n, 2, low, high);
    const std::vector<double> c = SmallIntegers(s.m * s.n, 3, -100, 100);
    const std::vector<double> zero(c.size(), 0.0);
    const Array x = Array::OfDoubles(a_type, a), y = Array::OfDoubles(b_type, b);
    const Array z = Array::OfDoubles(acc_type, c);
    Array out(acc_type, c.size()), plain(acc_type, c.size()), in_place = z;
    Dot(a_type, b_type, acc_type, x.data(), y.data(), z.data(), out.data(), s.m, s.n, s.k);
    Dot(a_type, b_type, acc_type, x.data(), y.data(), nullptr, plain.data(), s.m, s.n, s.k);
    Dot(a_type, b_type, acc_type, x.data(), y.data(), in_place.data(), in_place.data(), s.m, s.n,
        s.k);
    const std::vector<double> expected = Product(a, b, c, s.m, s.n, s.k);
    const std::vector<double> bare = Product(a, b, zero, s.m, s.n, s.k);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(out.Value(i), expected[i]) << i;
      ASSERT_EQ(plain.Value(i), bare[i]) << i;
      ASSERT_EQ(in_place.Value(i), expected[i]) << i;
    }
    EXPECT_TRUE(out.GuardIsWhole() && plain.GuardIsWhole() && in_place.GuardIsWhole());
  }
}

TEST(HostDot, SmallIntegersAreExactInEveryType) {
  ForEachTarget([] {
    for (DType type : {kF16, kBF16, kF32, kF8E4M3FN, kF8E5M2, kF8E4M3FNUZ})
      CheckExact(type, type, kF32, -8, 8);
    CheckExact(kF16, kF8E4M3FN, kF32, -8, 8);
    CheckExact(kF8E5M2, kBF16, kF32, -8, 8);
    CheckExact(kF64, kF64, kF64, -1000, 1000);
    CheckExact(kI8, kI8, kI32, -128, 127);
    CheckExact(kU8, kU8, kI32, 0, 255);
    CheckExact(kU8, kI8, kI32, 0, 127);
    CheckExact(kI4, kU2, kI32, 0, 3);
  });
}

TEST(HostDot, EightBitExtremesAreExactOverALongAxis) {
  ForEachTarget([] {
    const int64_t k = 3000;
    const Array a(kU8, std::vector<uint64_t>(Size(k), 255));
    const Array least(kI8, std::vector<uint64_t>(Size(k), 128));
    const Array c(kI32, std::vector<uint64_t>{0x7FFFFFFF});
    Array out(kI32, 1);
    Dot(kU8, kU8, kI32, a.data(), a.data(), nullptr, out.data(), 1, 1, k);
    EXPECT_EQ(out[0], 255u * 255u * 3000u);
    Dot(kU8, kU8, kI32, a.data(), a.data(), c.data(), out.data(), 1, 1, k);
    EXPECT_EQ(out[0], 0x7FFFFFFFu + 255u * 255u * 3000u);  // wraps
    Dot(kI8, kI8, kI32, least.data(), least.data(), nullptr, out.data(), 1, 1, k);
    EXPECT_EQ(out[0], 16384u * 3000u);
    Dot(kU8, kI8, kI32, a.data(), least.data(), nullptr, out.data(), 1, 1, k);
    EXPECT_EQ(out[0], 0u - 255u * 128u * 3000u);
  });
}

TEST(HostDot, F32StaysWithinTheBoundOfItsAdditions) {
  ForEachTarget([] {
    const int64_t m = 19, n = 45, k = 700;
    Random random(11);
    std::vector<float> a(Size(m * k)), b(Size(k * n)), c(Size(m * n)), out(c.size());
    for (auto* matrix : {&a, &b, &c}) {
      for (float& x : *matrix) x = static_cast<float>(random.Between(-1000000, 1000000)) * 1e-6f;
    }
    Dot(kF32, kF32, kF32, a.data(), b.data(), c.data(), out.data(), m, n, k);
    double worst = 0;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = static_cast<double>(c[Size(i * n + j)]), size = std::fabs(sum);
        for (int64_t p = 0; p < k; ++p) {
          const double term =
              static_cast<double>(a[Size(i * k + p)]) * static_cast<double>(b[Size(p * n + j)]);
          sum += term;
          size += std::fabs(term);
        }
        const double error = std::fabs(static_cast<double>(out[Size(i * n + j)]) - sum) / size;
        ASSERT_LE(error, static_cast<double>(k + 1) * 0x1p-24);
        worst = std::max(worst, error);
      }
    }
    EXPECT_GT(worst, 0);  // f32 rounds; f64 arithmetic would be another meaning
  });
}

TEST(HostDot, SpecialValuesReachOnlyTheirRowAndColumn) {
  ForEachTarget([] {
    for (DType type : {kF16, kF32}) {
      const int64_t m = 7, n = 19, k = 5;
      std::vector<double> a(Size(m * k), 1.0), b(Size(k * n), 1.0);
      a[Size(2 * k + 1)] = HUGE_VAL;
      b[Size(3 * n + 18)] = std::nan("");
      const Array x = Array::OfDoubles(type, a), y = Array::OfDoubles(type, b);
      Array out(kF32, Size(m * n));
      Dot(type, type, kF32, x.data(), y.data(), nullptr, out.data(), m, n, k);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const double got = out.Value(Size(i * n + j));
          if (j == 18) {
            EXPECT_TRUE(std::isnan(got));
          } else {
            EXPECT_EQ(got, i == 2 ? HUGE_VAL : 5);
          }
        }
      }
    }
  });
}

TEST(HostDot, ReadsEveryCodeOfF16AndBf16) {
  ForEachTarget([] {
    std::vector<uint64_t> codes;
    for (uint64_t code = 0; code < 65536; ++code) codes.push_back(code);
    for (DType type : {kF16, kBF16}) {
      const Array one = Array::OfDoubles(type, {1.0}), row(type, codes);
      Array out(kF32, codes.size());
      Dot(type, type, kF32, one.data(), row.data(), nullptr, out.data(), 1, 65536, 1);
      for (size_t i = 0; i < codes.size(); ++i) {
        const double value = row.Value(i);
        ASSERT_TRUE(std::isnan(value) ? std::isnan(out.Value(i)) : out.Value(i) == value) << i;
      }
    }
  });
}

TEST(HostDot, ComplexNumbers) {
  ForEachTarget([] {
    for (DType type : {kC32, kC64}) {
      const int64_t m = 5, n = 18, k = 7;
      const std::vector<double> a = SmallIntegers(2 * m * k, 1, -5, 5);
      const std::vector<double> b = SmallIntegers(2 * k * n, 2, -5, 5);
      const std::vector<double> c = SmallIntegers(2 * m * n, 3, -5, 5);
      const Array x = Array::OfDoubles(ComponentOf(type), a);
      const Array y = Array::OfDoubles(ComponentOf(type), b);
      Array z = Array::OfDoubles(kF32, c);
      Dot(type, type, kC64, x.data(), y.data(), z.data(), z.data(), m, n, k);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double re = c[Size(2 * (i * n + j))], im = c[Size(2 * (i * n + j) + 1)];
          for (int64_t p = 0; p < k; ++p) {
            const double* u = &a[Size(2 * (i * k + p))];
            const double* v = &b[Size(2 * (p * n + j))];
            re += u[0] * v[0] - u[1] * v[1];
            im += u[0] * v[1] + u[1] * v[0];
          }
          ASSERT_EQ(z.Value(Size(2 * (i * n + j))), re);
          ASSERT_EQ(z.Value(Size(2 * (i * n + j) + 1)), im);
        }
      }
      EXPECT_TRUE(z.GuardIsWhole());
    }
  });
}

TEST(HostDot, ThreadsDoNotShareScratch) {
  const std::vector<double> a = SmallIntegers(40 * 50, 1, -8, 8),
                            b = SmallIntegers(50 * 30, 2, -8, 8);
  const std::vector<double> expected = Product(a, b, std::vector<double>(40 * 30, 0.0), 40, 30, 50);
  const Array x = Array::OfDoubles(kF16, a), y = Array::OfDoubles(kF16, b);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int turn = 0; turn < 50; ++turn) {
        Array out(kF32, 40 * 30);
        Dot(kF16, kF16, kF32, x.data(), y.data(), nullptr, out.data(), 40, 30, 50);
        for (size_t i = 0; i < expected.size(); ++i)
          wrong[t] += out.Value(i) != expected[i] ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(HostDot, RefusesOtherTypes) {
  const float x = 1;
  float out = 42;
  Dot(kF32, kF32, kI32, &x, &x, nullptr, &out, 1, 1, 1);
  Dot(kI32, kI32, kI32, &x, &x, nullptr, &out, 1, 1, 1);
  Dot(kF64, kF32, kF32, &x, &x, nullptr, &out, 1, 1, 1);
  EXPECT_EQ(out, 42);
}

}  // namespace
}  // namespace tarsia::host::host_dot_test
