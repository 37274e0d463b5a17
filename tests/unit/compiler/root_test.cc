// Reciprocals and square roots to the bit (special_function.h), on the emulator, with the results
// of PTX's approximations at both ends of what it allows: for all f16 and bf16 and many f32, among
// them (TARSIA_LONG=1) every mantissa under an even and an odd exponent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "dtypes/convert.h"
#include "isa/instruction.h"
#include "tests/settings.h"
#include "tests/unit/compiler/emulated_code.h"
#include "tests/unit/compiler/host_code.h"
#include "tests/unit/compiler/operations.h"

namespace tarsia::compiler::root_test {
namespace {

using ptx::Approximations;

constexpr Approximations kEnds[] = {Approximations::kBest, Approximations::kLow,
                                    Approximations::kHigh, Approximations::kMixed};

// 53 bits round to 24 as the exact result does (Figueroa 1995), and those to 11 and 8.
uint64_t Expected(Opcode op, DType type, uint64_t code) {
  const double x = DecodeToDouble(type, code);
  return EncodeFromDouble(type, op == Opcode::kRcp ? 1 / x : std::sqrt(x));
}

// f32: special and extreme numbers; those beside the borders of the short path; those whose results
// lie nearest to the middle between two numbers or end one step in a tie; and any.
std::vector<uint64_t> Samples() {
  std::vector<uint64_t> out;
  const auto around = [&](uint32_t code) {
    for (uint32_t i = 0; i < 9; ++i) {
      out.push_back(code + i - 4);
      out.push_back((code + i - 4) ^ 0x80000000U);
    }
  };
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    around(exponent << 23);
    around(exponent << 23 | 0x069913);
    around(exponent << 23 | 0x7C114A);
    around(exponent << 23 | 0x6E9372);
  }
  std::mt19937_64 random(Seed(19));
  while (out.size() < 100'000) out.push_back(random() & 0xFFFFFFFFU);
  return out;
}

std::vector<uint64_t> Mantissas(size_t part) {
  constexpr size_t kPart = 1 << 21;
  std::vector<uint64_t> out(kPart);
  for (size_t i = 0; i < kPart; ++i) out[i] = 0x3F800000 + part * kPart + i;
  return out;
}

struct Case {
  Opcode op;
  DType type;
};

class Roots : public testing::TestWithParam<Case> {
 protected:
  void Check(const std::vector<uint64_t>& values) {
    const auto& [op, type] = GetParam();
    const Operation operation = ElementwiseOperation(Row(op), type);
    const Codes x(type, values);
    EmulatedCode code({operation}, Target::kSm80);
    ASSERT_EQ(code.error(), "");
    for (const Approximations where : kEnds) {
      code.Approximate(where);
      Codes result(type, x.size());
      code.Run(operation, {&x}, result);
      ASSERT_EQ(code.error(), "");
      for (size_t i = 0; i < x.size(); ++i) {
        const uint64_t expected = Expected(op, type, x[i]);
        ASSERT_TRUE(SameValue(type, result[i], expected))
            << fmt::format("{} of {:#x} is {:#x}, not {:#x}, approximations {}", operation.name,
                           x[i], result[i], expected, static_cast<int>(where));
      }
    }
  }
};

TEST_P(Roots, AreCorrectlyRoundedAtBothEnds) {
  if (GetParam().type == kF32) {
    Check(Samples());
    for (size_t part = 0; IsLong() && part < 8; ++part) Check(Mantissas(part));
    return;
  }
  std::vector<uint64_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  Check(all);
}

std::vector<Case> Cases() {
  std::vector<Case> out;
  for (const Opcode op : {Opcode::kRcp, Opcode::kSqrt}) {
    for (const DType type : {kF32, kF16, kBF16}) out.push_back({op, type});
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, Roots, testing::ValuesIn(Cases()), [](const auto& of) {
  return fmt::format("{}_{}", Row(of.param.op).mnemonic, DTypeName(of.param.type));
});

// ---- every seed --------------------------------------------------------------------------------

// The steps of kReciprocal and kSquareRoot from a seed; false where they leave it to f64.
bool ReciprocalFrom(float seed, float x, float& out) {
  const float first = std::fma(std::fma(-x, seed, 1.0F), seed, seed);
  const float rest = std::fma(-x, first, 1.0F);
  out = std::fma(first, rest, first);
  return std::abs(rest) < 0x1p-24F;
}
float RootFrom(float seed, float x) {
  const float root = x * seed;
  const float half = seed * 0.5F;
  const float first = std::fma(std::fma(-root, root, x), half, root);
  return std::fma(std::fma(-first, first, x), half, first);
}

// In the short form every 64th mantissa, and the last ones.
uint32_t Step(uint32_t code, uint32_t end) { return IsLong() || end - code < 4096 ? 1 : 64; }

TEST(RootSteps, RoundEveryReciprocalFromEverySeedWithinOneUlp) {
  int left = 0;
  for (uint32_t code = 0x3F800000; code < 0x40000000; code += Step(code, 0x40000000)) {
    const auto x = std::bit_cast<float>(code);
    const auto expected = static_cast<float>(1 / static_cast<double>(x));
    for (const float seed :
         {std::nextafter(expected, 0.0F), expected, std::nextafter(expected, 2.0F)}) {
      float got = 0;
      if (ReciprocalFrom(seed, x, got)) {
        ASSERT_EQ(got, expected) << x;
      } else {
        ++left;
      }
    }
  }
  EXPECT_LE(left, 3) << "f64 is for rare operands";
}

TEST(RootSteps, RoundEveryRootButOfTheLargestMantissaFromEverySeed) {
  const double bound = std::exp2(-22.9);
  for (uint32_t code = 0x3F800000; code < 0x40800000; code += Step(code, 0x40800000)) {
    if ((code & 0x7FFFFF) == 0x7FFFFF) continue;
    const auto x = std::bit_cast<float>(code);
    const double inverse = 1 / std::sqrt(static_cast<double>(x));
    const auto expected = static_cast<float>(std::sqrt(static_cast<double>(x)));
    auto seed = static_cast<float>(inverse * (1 - bound));
    for (; seed <= inverse * (1 + bound); seed = std::nextafter(seed, 2.0F)) {
      if (seed < inverse * (1 - bound)) continue;
      ASSERT_EQ(RootFrom(seed, x), expected) << x << " from " << seed;
    }
  }
}

}  // namespace
}  // namespace tarsia::compiler::root_test
