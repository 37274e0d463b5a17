// The functions that use the GPU's own approximations (special_function.h), on the emulator, with
// the results of those at both ends of what PTX allows: the bounds in ulp of rsqrt, exp, exp2,
// tanh, log, log2 and erf for all f16 and bf16 and many f32 (TARSIA_LONG=1: 10^7 for each end), and
// quotients to the bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dtypes/arith.h"
#include "isa/instruction.h"
#include "tests/settings.h"
#include "tests/unit/compiler/emulated_code.h"
#include "tests/unit/compiler/host_code.h"
#include "tests/unit/compiler/operations.h"

namespace tarsia::compiler::special_function_test {
namespace {

using ptx::Approximations;

constexpr Approximations kAll[] = {Approximations::kBest, Approximations::kLow,
                                   Approximations::kHigh, Approximations::kMixed};

const char* NameOf(Approximations where) {
  constexpr const char* kNames[] = {"best", "low", "high", "mixed"};
  return kNames[static_cast<size_t>(where)];
}

// Where the results of an operation are neither 0 nor what they are far out.
struct Range {
  double low;
  double high;
};
Range RangeOf(Opcode op) {
  if (op == Opcode::kExp) return {-104.5, 89};
  if (op == Opcode::kExp2) return {-151, 129};
  if (op == Opcode::kTanh || op == Opcode::kErf) return {-9.5, 9.5};
  return {0, 8};
}

// f32: zeros, infinities, NaN, the least and largest numbers, and by turns any code, numbers of the
// range, and numbers beside multiples of a quarter of ln 2, where results are near powers of two
// and reductions change their step.
std::vector<uint64_t> Samples(Opcode op, size_t count) {
  std::vector<uint64_t> out;
  for (const uint32_t code : {0U, 1U, 0x7FFFFFU, 0x800000U, 0x7F7FFFFFU, 0x7F800000U, 0x7FC00000U,
                              0x3F4CCCCDU, 0x3F4CCCCCU, 0x42B17217U, 0x42B17218U, 0x42B0C0A5U}) {
    out.push_back(code);
    out.push_back(code | 0x80000000U);
  }
  const Range range = RangeOf(op);
  std::mt19937_64 random(Seed(7));
  std::uniform_real_distribution<double> inside(range.low, range.high);
  const double step = op == Opcode::kExp2 ? 0.25 : 0.25 * std::log(2.0);
  while (out.size() < count) {
    out.push_back(random() & 0xFFFFFFFFU);
    const double x = inside(random);
    out.push_back(std::bit_cast<uint32_t>(static_cast<float>(x)));
    const auto multiple = static_cast<float>(std::round(x / step) * step);
    out.push_back((std::bit_cast<uint32_t>(multiple) + random() % 64 - 32) & 0xFFFFFFFFU);
  }
  return out;
}

std::vector<uint64_t> AllCodes() {
  std::vector<uint64_t> out(65536);
  for (size_t i = 0; i < out.size(); ++i) out[i] = i;
  return out;
}

struct Case {
  Opcode op;
  DType type;
  // f32: what isa.def says. Halves: half an ulp of rounding, and the error of PTX's form before it,
  // which is 2^-11 of the result for tanh, else next to nothing.
  double bound;
};

class SpecialFunctions : public testing::TestWithParam<Case> {};

TEST_P(SpecialFunctions, KeepTheirBoundAtBothEnds) {
  const auto& [op, type, bound] = GetParam();
  const Operation operation = ElementwiseOperation(Row(op), type);
  const size_t count = IsLong() ? 10'000'000 : 200'000;
  const Codes x(type, type == kF32 ? Samples(op, count) : AllCodes());
  EmulatedCode code({operation}, Target::kSm80);
  ASSERT_EQ(code.error(), "");
  for (const Approximations where : kAll) {
    code.Approximate(where);
    Codes result(type, x.size());
    code.Run(operation, {&x}, result);
    ASSERT_EQ(code.error(), "");
    double worst = 0;
    uint64_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const long double truth = Truth(op, static_cast<long double>(DecodeToDouble(type, x[i])));
      const double error = arith::UlpError(type, result[i], truth);
      if (error > worst) {
        worst = error;
        at = x[i];
      }
      ASSERT_FALSE(truth == 0 && std::signbit(DecodeToDouble(type, result[i])) !=
                                     std::signbit(static_cast<double>(truth)))
          << fmt::format("sign of {} of {:#x}", operation.name, x[i]);
    }
    RecordProperty(NameOf(where), fmt::format("{:.3f}", worst));
    EXPECT_LE(worst, bound) << fmt::format("{} of {:#x}, {}", operation.name, at, NameOf(where));
  }
}

std::string NameOfCase(const testing::TestParamInfo<Case>& of) {
  return fmt::format("{}_{}", Row(of.param.op).mnemonic, DTypeName(of.param.type));
}
std::vector<Case> Cases() {
  std::vector<Case> out;
  for (const Opcode op : {Opcode::kRsqrt, Opcode::kExp, Opcode::kExp2, Opcode::kTanh, Opcode::kLog,
                          Opcode::kLog2, Opcode::kErf}) {
    const bool coarse = op == Opcode::kTanh;
    out.push_back({op, kF32, Row(op).ulp});
    out.push_back({op, kF16, coarse ? 1.5 : 0.51});
    out.push_back({op, kBF16, coarse ? 0.63 : 0.51});
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, SpecialFunctions, testing::ValuesIn(Cases()), NameOfCase);

// ---- quotients ---------------------------------------------------------------------------------

// Dividends and divisors: special ones with each other; any; of moderate size; with a quotient
// beside the middle between two numbers; and at the edges of where the short path may be taken.
struct Pairs {
  std::vector<uint64_t> a;
  std::vector<uint64_t> b;
};

float Scaled(std::mt19937_64& random, int exponent) {
  const auto fraction = static_cast<float>(0x800000 | (random() & 0x7FFFFF));
  return std::ldexp(random() % 2 == 0 ? fraction : -fraction, exponent - 23);
}

int Between(std::mt19937_64& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
}

// A quotient as near to the middle between two numbers as there is: m b = a 2^25 + 1 or - 1 for odd
// m of 25 bits, so that a / b differs from m / 2^25 by 1 / (2^25 b).
std::pair<float, float> BesideTheMiddle(std::mt19937_64& random) {
  const uint64_t b = 0x800001 | (random() & 0x7FFFFE);
  uint64_t inverse = b;  // modulo 8, and twice as many bits in each turn
  for (int i = 0; i < 4; ++i) inverse *= 2 - b * inverse;
  inverse &= 0x1FFFFFF;
  const bool above = inverse >= 0x1000000;
  const uint64_t m = above ? inverse : 0x2000000 - inverse;
  const uint64_t a = above ? (m * b - 1) >> 25 : (m * b + 1) >> 25;
  return {std::ldexp(static_cast<float>(a), Between(random, -40, 5)), static_cast<float>(b)};
}

Pairs PairsOfF32(size_t count) {
  std::vector<std::pair<float, float>> out;
  constexpr float kSpecial[] = {0,         1,        3,        0x1p-149F,       0x1.fffffcp-127F,
                                0x1p-126F, 0x1p126F, 0x1p127F, 0x1.fffffep127F, INFINITY,
                                NAN};
  for (const float a : kSpecial) {
    for (const float b : kSpecial) {
      for (const float sign : {1.0F, -1.0F}) {
        out.emplace_back(sign * a, b);
        out.emplace_back(a, sign * -b);
      }
    }
  }
  // Of these two divisors a reciprocal within PTX's error may round to the wrong side.
  for (const float a : {1.0F, 0x1.aaaaa6p+0F}) {
    for (const float b : {0x1.fffffep+0F, 0x1.fffffap+0F}) out.emplace_back(a, b);
  }
  std::mt19937_64 random(Seed(11));
  while (out.size() < count) {
    out.emplace_back(std::bit_cast<float>(static_cast<uint32_t>(random())),
                     std::bit_cast<float>(static_cast<uint32_t>(random())));
    out.emplace_back(Scaled(random, Between(random, -20, 20)),
                     Scaled(random, Between(random, -20, 20)));
    const auto [dividend, divisor] = BesideTheMiddle(random);
    out.emplace_back(dividend, divisor);
    out.emplace_back(std::ldexp(dividend, -Between(random, 60, 150)), divisor);
    // Edges: |a| or the quotient near 2^-96 or 2^32.
    const float edge = random() % 2 == 0 ? 0x1p-96F : 0x1p32F;
    const float near = std::nextafter(edge, random() % 2 == 0 ? 0.0F : INFINITY);
    out.emplace_back(near, Scaled(random, Between(random, -127, 127)));
    const float other = Scaled(random, Between(random, -60, 60));
    out.emplace_back(near * other, other);
  }
  Pairs pairs;
  for (const auto& [a, b] : out) {
    pairs.a.push_back(std::bit_cast<uint32_t>(a));
    pairs.b.push_back(std::bit_cast<uint32_t>(b));
  }
  return pairs;
}

Pairs PairsOfHalves(size_t count) {
  constexpr uint64_t kSpecial[] = {0,      1,      0x3FF,  0x400,  0x7BFF, 0x7C00, 0x7C01,
                                   0x3C00, 0x3F80, 0x7F,   0x80,   0x7F7F, 0x7F80, 0x7FC0,
                                   0x8000, 0x8001, 0xBC00, 0xFC00, 0xFF80};
  Pairs pairs;
  for (const uint64_t a : kSpecial) {
    for (const uint64_t b : kSpecial) {
      pairs.a.push_back(a);
      pairs.b.push_back(b);
    }
  }
  std::mt19937_64 random(Seed(13));
  while (pairs.a.size() < count) {
    pairs.a.push_back(random() & 0xFFFF);
    pairs.b.push_back(random() & 0xFFFF);
  }
  return pairs;
}

template <typename T>
uint64_t Quotient(uint64_t a, uint64_t b) {
  const auto of = [](uint64_t code) {
    T value;
    std::memcpy(static_cast<void*>(&value), &code, sizeof(T));
    return value;
  };
  const T quotient = arith::Div(of(a), of(b));
  uint64_t code = 0;
  std::memcpy(&code, &quotient, sizeof(T));
  return code;
}
uint64_t QuotientOf(DType type, uint64_t a, uint64_t b) {
  if (type == kF16) return Quotient<arith::F16>(a, b);
  return type == kBF16 ? Quotient<arith::BF16>(a, b) : Quotient<float>(a, b);
}

class Quotients : public testing::TestWithParam<DTypeRow> {};

TEST_P(Quotients, AreCorrectlyRoundedAtBothEnds) {
  const DType type = GetParam().type;
  const Operation operation = ElementwiseOperation(Row(Opcode::kDiv), type);
  const size_t count = IsLong() ? 3'000'000 : 100'000;
  const Pairs pairs = type == kF32 ? PairsOfF32(count) : PairsOfHalves(count);
  const Codes a(type, pairs.a);
  const Codes b(type, pairs.b);
  EmulatedCode code({operation}, Target::kSm80);
  ASSERT_EQ(code.error(), "");
  for (const Approximations where : kAll) {
    code.Approximate(where);
    Codes result(type, a.size());
    code.Run(operation, {&a, &b}, result);
    ASSERT_EQ(code.error(), "");
    for (size_t i = 0; i < a.size(); ++i) {
      const uint64_t expected = QuotientOf(type, a[i], b[i]);
      ASSERT_TRUE(SameValue(type, result[i], expected)) << fmt::format(
          "{:#x} / {:#x} is {:#x}, not {:#x}, {}", a[i], b[i], result[i], expected, NameOf(where));
    }
  }
}

std::vector<DTypeRow> QuotientTypes() {
  std::vector<DTypeRow> out;
  for (const DTypeRow& row : AllDTypes()) {
    if (row.type == kF16 || row.type == kBF16 || row.type == kF32) out.push_back(row);
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, Quotients, testing::ValuesIn(QuotientTypes()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tarsia::compiler::special_function_test
