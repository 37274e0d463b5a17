// The elementary functions: bounds on their error over the whole range, and special values.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/vm/host_testing.h"
#include "vm/host/elementwise.h"

namespace tarsia::host::host_math_test {
namespace {

struct Function {
  Opcode op;
  double (*truth)(double);
  long double (*long_truth)(long double);
};

double Rsqrt(double x) { return 1 / std::sqrt(x); }
long double LongRsqrt(long double x) { return 1 / std::sqrt(x); }

const Function kFunctions[] = {
    {Opcode::kExp, std::exp, std::exp},    {Opcode::kExp2, std::exp2, std::exp2},
    {Opcode::kLog, std::log, std::log},    {Opcode::kLog2, std::log2, std::log2},
    {Opcode::kSin, std::sin, std::sin},    {Opcode::kCos, std::cos, std::cos},
    {Opcode::kTanh, std::tanh, std::tanh}, {Opcode::kErf, std::erf, std::erf},
    {Opcode::kRsqrt, Rsqrt, LongRsqrt},
};

// |got - truth| in units of the spacing of a binary float of p bits at `truth`; 0 if both are NaN
// or the same infinity, where a truth from 2^limit - half a unit on counts as infinite.
template <typename T>
double UlpOf(T got, long double truth) {
  if (std::isnan(truth)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isnan(got)) return HUGE_VAL;
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr int kMost = std::numeric_limits<T>::max_exponent;
  if (std::isinf(got) || std::isinf(truth)) {
    const long double edge = std::ldexp(1.0L, kMost) - std::ldexp(1.0L, kMost - kDigits - 1);
    const bool overflows = std::fabs(truth) >= edge * (1 - 1e-9L);
    return std::isinf(got) && overflows && std::signbit(got) == std::signbit(truth) ? 0 : HUGE_VAL;
  }
  int exponent = 0;
  std::frexp(truth, &exponent);
  const int least = std::numeric_limits<T>::min_exponent - kDigits;
  const int unit = truth == 0 ? least : std::max(exponent - kDigits, least);
  return static_cast<double>(std::ldexp(std::fabs(static_cast<long double>(got) - truth), -unit));
}

// Every 4093rd code of f32, the range where functions bend, and special values.
std::vector<float> Sweep() {
  std::vector<float> x;
  for (uint64_t code = 0; code < uint64_t{1} << 32; code += 4093) {
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(code)));
  }
  for (int i = -120000; i <= 120000; ++i) x.push_back(static_cast<float>(i) * 1.25e-3f);
  for (int i = -2000; i <= 2000; ++i) x.push_back(1.0f + static_cast<float>(i) * 0x1p-23f);
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i * 1.57079632679489661923));
  for (float edge : {88.72283f, 88.72284f, -87.33655f, -103.97208f, -103.97209f, 128.0f, 127.99999f,
                     -126.0f, -149.0f, -150.0f, -150.00002f, 0.1f, 3.9999998f, 4.0f, 99999.99f,
                     100000.0f, 100000.01f, 0.70710677f, 0.70710683f}) {
    x.push_back(edge);
    x.push_back(-edge);
  }
  return x;
}

TEST(HostMath, F32StaysFarBelowItsBound) {
  const std::vector<float> x = Sweep();
  for (const Function& f : kFunctions) {
    SCOPED_TRACE(Row(f.op).mnemonic);
    std::vector<double> truth;
    for (float v : x) truth.push_back(f.truth(static_cast<double>(v)));
    ForEachTarget([&] {
      std::vector<float> out(x.size());
      Unary(f.op, kF32, x.data(), out.data(), x.size());
      double worst = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double ulp = UlpOf(out[i], static_cast<long double>(truth[i]));
        ASSERT_LE(ulp, 0.51) << x[i] << " gives " << out[i] << ", not " << truth[i];
        worst = std::max(worst, ulp);
      }
      EXPECT_GE(worst, 0.45);  // otherwise nothing was measured
      EXPECT_LE(worst, Row(f.op).ulp);
    });
  }
}

TEST(HostMath, HalvesOverAllCodes) {
  std::vector<uint64_t> codes;
  for (uint64_t code = 0; code < 65536; ++code) codes.push_back(code);
  for (DType type : {kF16, kBF16}) {
    const Array in(type, codes);
    for (const Function& f : kFunctions) {
      SCOPED_TRACE(std::string(Row(f.op).mnemonic) + " " + std::string(DTypeName(type)));
      std::vector<double> truth;
      for (size_t i = 0; i < codes.size(); ++i) truth.push_back(f.truth(in.Value(i)));
      ForEachTarget([&] {
        Array out(type, codes.size());
        Unary(f.op, type, in.data(), out.data(), codes.size());
        for (size_t i = 0; i < codes.size(); ++i) {
          // The neighbours that one rounding may give, with room for the rounding through f32.
          const double slack = std::fabs(truth[i]) * 1e-7;
          const uint64_t low = EncodeFromDouble(type, truth[i] - slack);
          const uint64_t high = EncodeFromDouble(type, truth[i] + slack);
          ASSERT_TRUE(SameFloat(type, out[i], low) || SameFloat(type, out[i], high))
              << in.Value(i) << ": " << out.Value(i) << ", not " << truth[i];
        }
      });
    }
  }
}

TEST(HostMath, F64WithinItsBound) {
  std::vector<double> x;
  Random random(64);
  for (int i = 0; i < 20000; ++i) {
    x.push_back(std::bit_cast<double>(random.Next()));
    x.push_back(static_cast<double>(random.Between(-1000000, 1000000)) * 2e-5);
  }
  for (const Function& f : kFunctions) {
    SCOPED_TRACE(Row(f.op).mnemonic);
    std::vector<double> out(x.size());
    Unary(f.op, kF64, x.data(), out.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double ulp = UlpOf(out[i], f.long_truth(static_cast<long double>(x[i])));
      ASSERT_LE(ulp, Row(f.op).ulp) << x[i] << " gives " << out[i];
    }
  }
}

float Apply(Opcode op, float x) {
  // Long enough for whole vectors, to use the code for arrays.
  const std::vector<float> in(67, x);
  std::vector<float> out(67);
  Unary(op, kF32, in.data(), out.data(), in.size());
  for (float y : out) EXPECT_EQ(std::bit_cast<uint32_t>(y), std::bit_cast<uint32_t>(out[0]));
  return out[0];
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(HostMath, SpecialValues) {
  ForEachTarget([] {
    for (const Function& f : kFunctions)
      EXPECT_TRUE(std::isnan(Apply(f.op, kNan))) << Row(f.op).mnemonic;
    for (Opcode op : {Opcode::kExp, Opcode::kExp2}) {
      EXPECT_EQ(Apply(op, 0), 1);
      EXPECT_EQ(Apply(op, kInfinity), kInfinity);
      EXPECT_EQ(Apply(op, -kInfinity), 0);
      EXPECT_EQ(Apply(op, 3e38f), kInfinity);
      EXPECT_EQ(Apply(op, -3e38f), 0);
    }
    for (int k = -149; k < 128; ++k) {
      EXPECT_EQ(Apply(Opcode::kExp2, static_cast<float>(k)), std::ldexp(1.0f, k));
      EXPECT_EQ(Apply(Opcode::kLog2, std::ldexp(1.0f, k)), static_cast<float>(k));
    }
    for (Opcode op : {Opcode::kLog, Opcode::kLog2}) {
      EXPECT_EQ(Apply(op, 0.0f), -kInfinity);
      EXPECT_EQ(Apply(op, -0.0f), -kInfinity);
      EXPECT_EQ(Apply(op, kInfinity), kInfinity);
      EXPECT_EQ(Apply(op, 1), 0);
      EXPECT_TRUE(std::isnan(Apply(op, -1e-45f)));
      EXPECT_TRUE(std::isnan(Apply(op, -kInfinity)));
    }
    for (Opcode op : {Opcode::kTanh, Opcode::kErf}) {
      EXPECT_EQ(Apply(op, kInfinity), 1);
      EXPECT_EQ(Apply(op, -kInfinity), -1);
      EXPECT_TRUE(std::signbit(Apply(op, -0.0f)));
      EXPECT_EQ(Apply(op, -0.0f), 0);
    }
    EXPECT_EQ(Apply(Opcode::kTanh, 1e-45f), 1e-45f);
    for (Opcode op : {Opcode::kSin, Opcode::kCos}) EXPECT_TRUE(std::isnan(Apply(op, kInfinity)));
    EXPECT_EQ(Apply(Opcode::kSin, 0), 0);
    EXPECT_EQ(Apply(Opcode::kCos, 0), 1);
    EXPECT_EQ(Apply(Opcode::kRsqrt, 0.25f), 2);
    EXPECT_EQ(Apply(Opcode::kRsqrt, 0.0f), kInfinity);
    EXPECT_EQ(Apply(Opcode::kRsqrt, -0.0f), -kInfinity);
    EXPECT_EQ(Apply(Opcode::kRsqrt, kInfinity), 0);
    EXPECT_TRUE(std::isnan(Apply(Opcode::kRsqrt, -1)));
  });
}

}  // namespace
}  // namespace tarsia::host::host_math_test
