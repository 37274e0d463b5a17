// Approximate instructions at the ends of their published errors (ptx/table/approximations.def).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "ptx/table/approximations.h"
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx {
namespace {

constexpr Approximations kAll[] = {Approximations::kBest, Approximations::kLow,
                                   Approximations::kHigh, Approximations::kMixed};

// `instruction d, x more` of each value, with the results where `where` says.
template <typename T>
std::vector<T> ResultsOf(const std::string& instruction, const std::vector<T>& values,
                         Approximations where, const std::string& more = "") {
  const std::string type = sizeof(T) == 4 ? "f32" : "f64";
  const std::string word = sizeof(T) == 4 ? "%f" : "%d";
  const std::string bytes = std::to_string(sizeof(T));
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 x, .param .u64 y)
{
  .reg .b64 %a<4>; .reg .b32 %t; .reg .f32 %f<3>; .reg .f64 %d<3>;
  ld.param.u64 %a0, [x];
  ld.param.u64 %a1, [y];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %a2, %t, )" +
                  bytes +
                  R"(;
  add.s64 %a0, %a0, %a2;
  add.s64 %a1, %a1, %a2;
  ld.global.)" + type +
                  " " + word + "1, [%a0];\n  " + instruction + " " + word + "2, " + word + "1" +
                  more + ";\n" + "  st.global." + type + " [%a1], " + word + "2;\n  ret;\n}\n");
  const uint64_t x = machine.Put(values);
  const uint64_t y = machine.Room(values.size() * sizeof(T));
  LaunchConfig config;
  config.approximations = where;
  const LaunchReport report =
      machine.Run("k", {1, 1, 1}, {static_cast<uint32_t>(values.size()), 1, 1}, {x, y}, config);
  EXPECT_TRUE(report.ok()) << Text(report);
  return machine.Get<T>(y, values.size());
}

// Numbers with results that are not near powers of two.
std::vector<float> Values() { return {0.3F, 0.7F, 1.3F, 2.9F, 5.3F, 0.01F, 3.7F, 1.9F}; }

double UlpOf(float value) {
  return static_cast<double>(std::nextafter(std::abs(value), INFINITY) - std::abs(value));
}

TEST(Approximations, LieAsManyUlpsAwayAsPtxSays) {
  struct Row {
    const char* instruction;
    double ulps;
    double (*truth)(double);
  };
  const Row rows[] = {{"ex2.approx.f32", 2, [](double x) { return std::exp2(x); }},
                      {"ex2.approx.ftz.f32", 2, [](double x) { return std::exp2(x); }},
                      {"rcp.approx.f32", 1, [](double x) { return 1 / x; }},
                      {"rcp.approx.ftz.f32", 1, [](double x) { return 1 / x; }}};
  for (const Row& row : rows) {
    const std::vector<float> values = Values();
    const std::vector<float> low = ResultsOf(row.instruction, values, Approximations::kLow);
    const std::vector<float> high = ResultsOf(row.instruction, values, Approximations::kHigh);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto nearest = static_cast<float>(row.truth(static_cast<double>(values[i])));
      EXPECT_EQ(low[i], static_cast<double>(nearest) - row.ulps * UlpOf(nearest)) << values[i];
      EXPECT_EQ(high[i], static_cast<double>(nearest) + row.ulps * UlpOf(nearest)) << values[i];
    }
  }
}

TEST(Approximations, LieAsFarAwayAsARelativeErrorSays) {
  struct Row {
    const char* instruction;
    double error;
    double (*truth)(double);
  };
  const Row rows[] = {
      {"rsqrt.approx.f32", std::exp2(-22.9), [](double x) { return 1 / std::sqrt(x); }},
      {"tanh.approx.f32", std::exp2(-11.0), [](double x) { return std::tanh(x); }}};
  for (const Row& row : rows) {
    const std::vector<float> values = Values();
    const std::vector<float> low = ResultsOf(row.instruction, values, Approximations::kLow);
    const std::vector<float> high = ResultsOf(row.instruction, values, Approximations::kHigh);
    for (size_t i = 0; i < values.size(); ++i) {
      const double truth = row.truth(static_cast<double>(values[i]));
      // Within the bound, and less than a step inside of it.
      const double ulp = UlpOf(static_cast<float>(truth * (1 + row.error)));
      EXPECT_GE(low[i], truth * (1 - row.error)) << row.instruction << values[i];
      EXPECT_LT(low[i], truth * (1 - row.error) + ulp) << row.instruction << values[i];
      EXPECT_LE(high[i], truth * (1 + row.error)) << row.instruction << values[i];
      EXPECT_GT(high[i], truth * (1 + row.error) - ulp) << row.instruction << values[i];
    }
  }
  const std::vector<float> root =
      ResultsOf<float>("sqrt.approx.f32", {2.0F, 5.0F}, Approximations::kLow);
  EXPECT_EQ(root, (std::vector<float>{0x1.6a09e4p+0F, 0x1.1e3778p+1F}));
  const std::vector<double> rcp =
      ResultsOf<double>("rcp.approx.ftz.f64", {4.0, -0.5}, Approximations::kHigh);
  EXPECT_EQ(rcp, (std::vector<double>{0.25 * (1 + 0x1p-8), -2 * (1 - 0x1p-8)}));
}

// sin, cos and lg2 have an absolute error where their operands are of moderate size.
TEST(Approximations, LieAsFarAwayAsAnAbsoluteErrorSays) {
  struct Row {
    const char* instruction;
    float operand;
    double truth;
    double error;
  };
  const double near = std::exp2(-20.5);
  const double far = std::exp2(-14.7);
  const Row rows[] = {
      {"sin.approx.f32", 1e-6F, 1e-6, near},
      {"sin.approx.f32", 6.25F, std::sin(6.25), near},
      {"cos.approx.f32", -5.5F, std::cos(5.5), near},
      {"sin.approx.f32", 6.5F, std::sin(6.5), far},
      {"cos.approx.f32", -314, std::cos(314.0), far},
      {"cos.approx.f32", 315, std::cos(315.0), 0},
      {"lg2.approx.f32", 1, 0, 0x1p-22},
      {"lg2.approx.f32", 1.25F, std::log2(1.25), 0x1p-22},
      {"lg2.approx.f32", 1e20F, std::log2(double{1e20F}), 0x1p-22 * std::log2(1e20)}};
  for (const Row& row : rows) {
    for (const bool up : {false, true}) {
      const auto where = up ? Approximations::kHigh : Approximations::kLow;
      const double got = ResultsOf<float>(row.instruction, {row.operand}, where)[0];
      const double end = row.truth + (up ? row.error : -row.error);
      // Half a step of the result, or a whole one inside of the bound.
      EXPECT_NEAR(got, end, UlpOf(static_cast<float>(end)) * 1.01)
          << row.instruction << row.operand;
      if (row.error != 0) {
        EXPECT_LE(std::abs(got - row.truth), row.error * (1 + 1e-9)) << row.instruction;
      }
    }
  }
}

// The divisors are 3 and 2^126, up to which the bound holds, and the number after it.
TEST(Approximations, OfQuotientsHoldForDivisorsOfModerateSize) {
  const auto quotient = [](const char* divisor, Approximations where) {
    return ResultsOf<float>("div.approx.f32", {0x1.8p+100F}, where, std::string(", ") + divisor)[0];
  };
  EXPECT_EQ(quotient("0f40400000", Approximations::kLow), 0x1.fffff8p+98F);
  EXPECT_EQ(quotient("0f40400000", Approximations::kHigh), 0x1.000004p+99F);
  EXPECT_EQ(quotient("0f7E800000", Approximations::kHigh), 0x1.800004p-26F);
  EXPECT_EQ(quotient("0f7E800001", Approximations::kHigh), 0);
}

TEST(Approximations, MixBothEnds) {
  std::vector<float> values;
  for (int i = 1; i <= 200; ++i) values.push_back(static_cast<float>(i) * 0.013F);
  const auto low = ResultsOf("ex2.approx.f32", values, Approximations::kLow);
  const auto high = ResultsOf("ex2.approx.f32", values, Approximations::kHigh);
  const auto mixed = ResultsOf("ex2.approx.f32", values, Approximations::kMixed);
  int lows = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(mixed[i] == low[i] || mixed[i] == high[i]) << values[i];
    lows += mixed[i] == low[i] ? 1 : 0;
  }
  EXPECT_GT(lows, 60);
  EXPECT_LT(lows, 140);
}

// What PTX's tables of special operands name is exact, and so are overflow and underflow to zero.
TEST(Approximations, AreExactWherePtxNamesTheResult) {
  const std::vector<float> special = {0.0F, -0.0F, INFINITY, -INFINITY, NAN};
  for (const char* const name : {"ex2", "rcp", "rsqrt", "tanh", "sqrt", "sin", "lg2"}) {
    const std::string instruction = std::string(name) + ".approx.f32";
    const auto best = ResultsOf(instruction, special, Approximations::kBest);
    for (const Approximations where : kAll) {
      const auto results = ResultsOf(instruction, special, where);
      for (size_t i = 0; i < special.size(); ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>(results[i]), std::bit_cast<uint32_t>(best[i]))
            << name << " of " << special[i];
      }
    }
  }
  EXPECT_EQ(ResultsOf<float>("ex2.approx.f32", {128.0F, -200.0F}, Approximations::kHigh),
            (std::vector<float>{INFINITY, 0.0F}));
}

}  // namespace
}  // namespace tarsia::ptx
