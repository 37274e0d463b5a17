// examples/matmul.tsa: every width and float type, any m, N and K that are multiples of nothing, by
// the error bound and by the exact twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "tests/harness/assembly.h"
#include "tests/harness/codec.h"
#include "tests/matmul/run_problem.h"

namespace tarsia::matmul {
namespace {

using harness::Decode;

using Compiled = harness::Case::Compiled;

constexpr int64_t kRows[] = {0, 1, 5, 16, 17, 33};
constexpr int64_t kCompiledRows[] = {1, 17};
constexpr uint64_t kSeed = 20240229;

TEST(Types, AreTheOnesThatWereAskedFor) {
  int integers = 0;
  int floats = 0;
  for (const DType type : WeightTypes()) {
    (type.IsInteger() ? integers : floats)++;
  }
  EXPECT_EQ(integers, 16);    // u1..u8, i1..i8
  EXPECT_EQ(floats, 27 + 7);  // fNeXmY, and the variants with suffix
  for (const char* const wide : {"f6e5m0", "f7e5m1", "f7e6m0", "f8e6m1", "f8e7m0"}) {
    EXPECT_EQ(ActivationFor(*FindDType(wide)), kBF16) << wide;
  }
  for (const char* const narrow : {"u8", "i8", "f8e4m3", "f8e5m2", "f8e1m6", "f3e1m1"}) {
    EXPECT_EQ(ActivationFor(*FindDType(narrow)), kF16) << narrow;
  }
}

class MatmulTest : public testing::TestWithParam<DType> {
 protected:
  // Tiles of 16 x 128 and 32 x 64 sums leave most registers free.
  static void SetUpTestSuite() { harness::ForbidSpills(); }

  [[nodiscard]] static Spec SpecOf(int64_t k, int64_t n) {
    Spec spec;
    spec.k = k;
    spec.n = n;
    spec.w = GetParam();
    spec.x = ActivationFor(spec.w);
    return spec;
  }

  // Both kinds of problem, for each number of rows; `compiled` for the numbers of kCompiledRows.
  static void CheckBoth(Spec spec, const Shape& shape, std::span<const int64_t> rows,
                        Compiled compiled) {
    const Matmul matmul(spec, shape);
    ASSERT_TRUE(matmul.ok());
    for (const int64_t m : rows) {
      spec.m = m;
      const bool few = std::find(std::begin(kCompiledRows), std::end(kCompiledRows), m) ==
                       std::end(kCompiledRows);
      const Compiled by = IsRepresentative(spec.w) ? Compiled::kAll
                          : few                    ? Compiled::kNone
                                                   : compiled;
      matmul.Check(RandomProblem(spec, kSeed + static_cast<uint64_t>(m)), by);
      matmul.Check(ExactTwin(spec, kSeed + static_cast<uint64_t>(m)), by);
    }
  }
};

TEST_P(MatmulTest, OneTileOfEachKind) { CheckBoth(SpecOf(37, 45), Shape(), kRows, Compiled::kAll); }

TEST_P(MatmulTest, ManyTiles) {
  CheckBoth(SpecOf(130, 67), {16, 32, 32, ""}, kRows, Compiled::kOneInTurn);
}

TEST_P(MatmulTest, PackedWeights) {
  const Spec spec = SpecOf(130, 67);
  constexpr int64_t kFew[] = {0, 5, 17, 33};
  CheckBoth(spec, {32, 64, 64, PackedOrder(spec.x)}, kFew, Compiled::kOneInTurn);
}

TEST_P(MatmulTest, OtherActivations) {
  Spec spec = SpecOf(37, 45);
  if (spec.x == kBF16) return;  // it has only one
  spec.x = kBF16;
  constexpr int64_t kFew[] = {17};
  CheckBoth(spec, {16, 64, 16, ""}, kFew, Compiled::kOneInTurn);
}

// One bit of one weight, at every place of the code: the twin must detect it.
TEST_P(MatmulTest, TwinSeesAFlippedBit) {
  Spec spec = SpecOf(37, 45);
  spec.m = 5;
  const Matmul matmul(spec, Shape());
  ASSERT_TRUE(matmul.ok());
  const Problem twin = ExactTwin(spec, kSeed);
  ASSERT_TRUE(matmul.Holds(twin));
  const size_t count = twin.w.codes.size();
  for (int bit = 0; bit < spec.w.bits; ++bit) {
    // The first weight from some place on whose value the flip changes (that of -0 it does not).
    size_t at = count * static_cast<size_t>(bit) / spec.w.bits;
    const uint64_t mask = uint64_t{1} << bit;
    const auto same = [&](size_t i) {
      return Decode(spec.w, twin.w.codes[i]) == Decode(spec.w, twin.w.codes[i] ^ mask);
    };
    while (at < count && same(at)) ++at;
    ASSERT_LT(at, count);
    Problem flipped = twin;
    flipped.w.codes[at] ^= mask;
    EXPECT_FALSE(matmul.Holds(flipped)) << "bit " << bit << " of weight " << at;
  }
}

// A step of k that is left out, as if its tile had not been loaded: both comparisons must detect
// it.
TEST_P(MatmulTest, BothSeeADroppedStep) {
  Spec spec = SpecOf(130, 67);
  spec.m = 17;
  const Shape shape{16, 32, 32, ""};
  const Matmul matmul(spec, shape);
  ASSERT_TRUE(matmul.ok());
  for (Problem p : {RandomProblem(spec, kSeed), ExactTwin(spec, kSeed)}) {
    ASSERT_TRUE(matmul.Holds(p));
    for (int64_t m = 0; m < spec.m; ++m) {
      for (int64_t k = 2 * shape.bk; k < 3 * shape.bk; ++k) {
        p.x.codes[static_cast<size_t>(m * spec.k + k)] = 0;
      }
    }
    EXPECT_FALSE(matmul.Holds(p));
  }
}

// Weights that are not finite affect only their own column, although tiles extend past the edges of
// the matrices.
TEST_P(MatmulTest, InfinitiesAndNansStayInTheirColumn) {
  Spec spec = SpecOf(37, 45);
  uint64_t special = 0;
  while (special <= CodeMask(spec.w) && std::isfinite(Decode(spec.w, special))) ++special;
  if (special > CodeMask(spec.w)) return;  // it has none
  spec.m = 17;
  const Matmul matmul(spec, Shape());
  ASSERT_TRUE(matmul.ok());
  Problem p = RandomProblem(spec, kSeed);
  constexpr int64_t kRow = 36;
  constexpr int64_t kColumn = 44;
  p.w.codes[static_cast<size_t>(kRow * spec.n + kColumn)] = special;
  const double value = Decode(spec.w, special);
  for (int64_t m = 0; m < spec.m; ++m) {
    const double x = Decode(spec.x, p.x.codes[static_cast<size_t>(m * spec.k + kRow)]);
    p.expected.values[static_cast<size_t>(m * spec.n + kColumn)] = x * value;
  }
  const harness::Case c = matmul.CaseOf(p);
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

INSTANTIATE_TEST_SUITE_P(W, MatmulTest, testing::ValuesIn(WeightTypes()),
                         [](const auto& test) { return std::string(DTypeName(test.param)); });

}  // namespace
}  // namespace tarsia::matmul
