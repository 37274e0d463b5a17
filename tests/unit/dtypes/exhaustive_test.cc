// Every pair of a type of at most 8 bits and f16, bf16, f32, f64, in both directions, with every
// rounding and every way to overflow, against exact arithmetic (rational.h): all codes out; back
// from all 2^16 codes of f16 and bf16, and from the f32 and f64 at and on both sides of every
// number where a result changes. Between integers, every code of at most 16 bits. With
// TARSIA_LONG=1 also from each of the 2^32 codes of f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "dtypes/bulk.h"
#include "dtypes/convert.h"
#include "tests/settings.h"
#include "tests/unit/dtypes/rational.h"

namespace tarsia::exhaustive_test {
namespace {

using rational::Dyadic;
using rational::Mode;
using rational::Rules;
using rational::Value;

const std::vector<uint32_t> kOperands = {0, 1, 0x7FFFFFFF, 0x80000000, 0xC0000001, 0xFFFFFFFF};
constexpr std::array kWideFloats = {kF16, kBF16, kF32, kF64};

// The pair under test, in both representations.
struct Pair {
  DType from, to;
  rational::Type source, target;
  Pair(DType a, DType b)
      : from(a),
        to(b),
        source(rational::TypeOf(DTypeName(a))),
        target(rational::TypeOf(DTypeName(b))) {}
};

std::vector<DType> SmallTypes() {
  std::vector<DType> out;
  for (const DTypeRow& row : AllDTypes()) {
    if (row.type.bits <= 8) out.push_back(row.type);
  }
  return out;
}

Rounding RoundingOf(Mode mode) {
  switch (mode) {
    case Mode::kNearest:
      return Rounding::kNearestEven;
    case Mode::kTowardZero:
      return Rounding::kTowardZero;
    case Mode::kStochastic:
      return Rounding::kStochastic;
  }
  return Rounding::kNearestEven;
}

void ExpectOne(const Pair& pair, uint64_t code, const Value& value, const Rules& rules) {
  const uint64_t want = rational::Encode(pair.target, value, rules);
  const Rounding rounding = RoundingOf(rules.mode);
  const Overflow overflow = rules.saturate ? Overflow::kSaturate : Overflow::kNonSaturating;
  const uint64_t got = CastCode(pair.from, code, pair.to, {rounding, overflow}, rules.random);
  ASSERT_EQ(got, want) << DTypeName(pair.from) << " " << std::hex << code << " to "
                       << DTypeName(pair.to) << ", mode " << static_cast<int>(rules.mode)
                       << ", sat " << rules.saturate << ", random " << rules.random;
  // kDefault and kWrap (from or to a float) are one of the two.
  if (rules.saturate != (pair.to.bits <= 8)) return;
  for (const Overflow other : {Overflow::kDefault, Overflow::kWrap}) {
    ASSERT_EQ(CastCode(pair.from, code, pair.to, {rounding, other}, rules.random), want);
  }
}

// One source code, all modes; stochastic rounding with one of the operands and a mixed one.
void ExpectAllModes(const Pair& pair, uint64_t code) {
  const Value value = rational::Decode(pair.source, code);
  const uint64_t mixed = (code + 1) * 0x9E3779B97F4A7C15u;
  const uint32_t operand = kOperands[mixed % kOperands.size()];
  for (const bool saturate : {true, false}) {
    ExpectOne(pair, code, value, {Mode::kNearest, saturate, 0});
    ExpectOne(pair, code, value, {Mode::kTowardZero, saturate, 0});
    ExpectOne(pair, code, value, {Mode::kStochastic, saturate, operand});
    ExpectOne(pair, code, value, {Mode::kStochastic, saturate, static_cast<uint32_t>(mixed >> 32)});
  }
}

TEST(ExhaustiveTest, EveryCodeToEveryWideFloat) {
  for (const DType from : SmallTypes()) {
    for (const DType to : kWideFloats) {
      const Pair pair(from, to);
      const uint64_t codes = from.IsBool() ? 2 : uint64_t{1} << from.bits;
      for (uint64_t code = 0; code < codes; ++code) ExpectAllModes(pair, code);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ExhaustiveTest, EveryCodeToEverySmallType) {
  for (const DType from : SmallTypes()) {
    for (const DType to : SmallTypes()) {
      // Between integers see below; to itself a type keeps its codes.
      if ((from.IsInteger() && to.IsInteger()) || from == to) continue;
      const Pair pair(from, to);
      const uint64_t codes = from.IsBool() ? 2 : uint64_t{1} << from.bits;
      for (uint64_t code = 0; code < codes; ++code) ExpectAllModes(pair, code);
      if (HasFatalFailure()) return;
    }
  }
}

void ExpectFromAllHalves(DType from) {
  for (const DType to : SmallTypes()) {
    const Pair pair(from, to);
    for (uint64_t code = 0; code < 65536; ++code) {
      ExpectAllModes(pair, code);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ExhaustiveTest, EverySmallTypeFromAllF16) { ExpectFromAllHalves(kF16); }
TEST(ExhaustiveTest, EverySmallTypeFromAllBf16) { ExpectFromAllHalves(kBF16); }

// m * 2^e as a float or double, exact or the nearest.
template <typename T>
T ToNative(const Dyadic& x) {
  return std::ldexp(static_cast<T>(static_cast<uint64_t>(x.m)), x.e);
}

// The number, both neighbours, and all three with the other sign.
template <typename T>
std::vector<T> Around(const Dyadic& x) {
  constexpr T kInf = std::numeric_limits<T>::infinity();
  const T value = ToNative<T>(x);
  std::vector<T> out;
  for (const T y : {value, std::nextafter(value, kInf), std::nextafter(value, -kInf)}) {
    out.push_back(y);
    out.push_back(-y);
  }
  return out;
}

template <typename T>
std::vector<T> Extremes() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out;
  for (const T x : {Limits::infinity(), Limits::quiet_NaN(), Limits::signaling_NaN(), Limits::max(),
                    Limits::min(), Limits::denorm_min()}) {
    out.push_back(x);
    out.push_back(std::copysign(x, T{-1}));
  }
  return out;
}

template <typename T>
void ExpectAroundBoundaries(DType from) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (const DType to : SmallTypes()) {
    const Pair pair(from, to);
    std::vector<T> inputs = Extremes<T>();
    for (const Dyadic& boundary : rational::Boundaries(pair.target, kOperands)) {
      for (const T x : Around<T>(boundary)) inputs.push_back(x);
    }
    for (const T x : inputs) {
      const auto code = static_cast<uint64_t>(std::bit_cast<Bits>(x));
      const Value value = rational::Decode(pair.source, code);
      for (const bool saturate : {true, false}) {
        ExpectOne(pair, code, value, {Mode::kNearest, saturate, 0});
        ExpectOne(pair, code, value, {Mode::kTowardZero, saturate, 0});
        for (const uint32_t operand : kOperands) {
          ExpectOne(pair, code, value, {Mode::kStochastic, saturate, operand});
        }
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ExhaustiveTest, EverySmallTypeFromF32AroundEveryBoundary) {
  ExpectAroundBoundaries<float>(kF32);
}

TEST(ExhaustiveTest, EverySmallTypeFromF64AroundEveryBoundary) {
  ExpectAroundBoundaries<double>(kF64);
}

// --- between integers, with and without wrap ---

TEST(ExhaustiveTest, EveryPairOfIntegersFromEveryCode) {
  std::vector<DType> types;
  for (const DTypeRow& row : AllDTypes()) {
    if (row.type.IsInteger()) types.push_back(row.type);
  }
  for (const DType from : types) {
    if (from.bits > 16) continue;
    for (const DType to : types) {
      const int64_t size = int64_t{1} << std::min<int>(to.bits, 32);  // larger ones hold all
      const int64_t least = to.IsSigned() ? -size / 2 : 0, most = least + size - 1;
      for (int64_t code = 0; code < int64_t{1} << from.bits; ++code) {
        const bool negative = from.IsSigned() && code >> (from.bits - 1) != 0;
        const int64_t value = negative ? code - (int64_t{1} << from.bits) : code;
        const auto source = static_cast<uint64_t>(code);
        const auto wrapped = static_cast<uint64_t>(value) & CodeMask(to);
        const auto clamped =
            static_cast<uint64_t>(to.bits > 32 && to.IsSigned() ? value
                                                                : std::clamp(value, least, most)) &
            CodeMask(to);
        for (const Overflow overflow :
             {Overflow::kDefault, Overflow::kSaturate, Overflow::kNonSaturating}) {
          ASSERT_EQ(CastCode(from, source, to, {Rounding::kNearestEven, overflow}), clamped)
              << DTypeName(from) << " " << code << " to " << DTypeName(to);
        }
        ASSERT_EQ(CastCode(from, source, to, {Rounding::kNearestEven, Overflow::kWrap}), wrapped)
            << DTypeName(from) << " " << code << " to " << DTypeName(to);
      }
    }
  }
}

// --- all of f32 ---

// Where runs of f32 codes of one sign with one result begin: found by halving between the
// boundaries, so a run ends where the exact arithmetic says.
struct Run {
  uint64_t first;
  uint8_t result;
};

uint8_t ResultOf(const Pair& pair, uint64_t code, const Rules& rules) {
  return static_cast<uint8_t>(
      rational::Encode(pair.target, rational::Decode(pair.source, code), rules));
}

// Results are monotone between 0 and infinity, so two equal ends mean one result between them.
void AddRuns(const Pair& pair, const Rules& rules, uint64_t low, uint64_t high, uint8_t at_high,
             std::vector<Run>& runs) {
  if (runs.back().result == at_high) return;
  if (high - low == 1) {
    runs.push_back({high, at_high});
    return;
  }
  const uint64_t middle = low + (high - low) / 2;
  AddRuns(pair, rules, low, middle, ResultOf(pair, middle, rules), runs);
  AddRuns(pair, rules, middle, high, at_high, runs);
}

std::vector<Run> RunsOf(const Pair& pair, const Rules& rules, uint64_t sign) {
  std::vector<Run> runs = {{sign, ResultOf(pair, sign, rules)}};
  const uint64_t infinity = sign + 0x7F800000;
  AddRuns(pair, rules, sign, infinity, ResultOf(pair, infinity, rules), runs);
  runs.push_back({infinity + 1, ResultOf(pair, infinity + 1, rules)});  // NaNs
  return runs;
}

void ExpectAllOfF32(DType to, const Rules& rules) {
  constexpr uint64_t kBlock = 1 << 16;
  const Pair pair(kF32, to);
  const CastOptions options{RoundingOf(rules.mode),
                            rules.saturate ? Overflow::kSaturate : Overflow::kNonSaturating};
  std::vector<uint32_t> src(kBlock);
  std::vector<uint8_t> got(kBlock), want(kBlock);
  for (const uint64_t sign : {uint64_t{0}, uint64_t{0x80000000}}) {
    const std::vector<Run> runs = RunsOf(pair, rules, sign);
    size_t run = 0;
    for (uint64_t first = sign; first < sign + 0x80000000; first += kBlock) {
      for (uint64_t i = 0; i < kBlock; ++i) src[i] = static_cast<uint32_t>(first + i);
      for (uint64_t i = 0; i < kBlock;) {
        while (run + 1 < runs.size() && runs[run + 1].first <= first + i) ++run;
        const uint64_t end =
            run + 1 < runs.size() ? std::min(kBlock, runs[run + 1].first - first) : kBlock;
        std::fill(want.begin() + static_cast<std::ptrdiff_t>(i),
                  want.begin() + static_cast<std::ptrdiff_t>(end), runs[run].result);
        i = end;
      }
      CastBulk(kF32, src.data(), to, got.data(), kBlock, options);
      ASSERT_EQ(got, want) << DTypeName(to) << " in the block from " << std::hex << first;
    }
  }
}

class AllOfF32Test : public testing::TestWithParam<DType> {};

TEST_P(AllOfF32Test, BecomesWhatExactArithmeticSays) {
  if (!IsLong()) GTEST_SKIP() << "2^32 codes a type: set TARSIA_LONG=1";
  for (const bool saturate : {true, false}) {
    ExpectAllOfF32(GetParam(), {Mode::kNearest, saturate, 0});
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, AllOfF32Test, testing::ValuesIn(SmallTypes()),
                         [](const auto& row) { return std::string(DTypeName(row.param)); });

}  // namespace
}  // namespace tarsia::exhaustive_test
