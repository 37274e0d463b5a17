// examples/matmul_scaled.tsa: scales and zero points by group, every weight type and every type of
// scales, by the error bound and by the exact twin.
#include <gtest/gtest.h>

#include "tests/matmul/run_problem.h"

namespace tarsia::matmul {
namespace {

constexpr uint64_t kSeed = 20240301;
constexpr int64_t kRows[] = {0, 1, 17};

using Compiled = harness::Case::Compiled;

void CheckBoth(Spec spec, const Shape& shape) {
  const Matmul matmul(spec, shape);
  ASSERT_TRUE(matmul.ok());
  for (const int64_t m : kRows) {
    spec.m = m;
    const Compiled compiled = IsRepresentative(spec.w) ? Compiled::kAll
                              : m == 17                ? Compiled::kOneInTurn
                                                       : Compiled::kNone;
    matmul.Check(RandomProblem(spec, kSeed + static_cast<uint64_t>(m)), compiled);
    matmul.Check(ExactTwin(spec, kSeed + static_cast<uint64_t>(m)), compiled);
  }
}

class ScaledTest : public testing::TestWithParam<DType> {
 protected:
  // Groups that are multiples of nothing.
  [[nodiscard]] static Spec SpecOf() {
    Spec spec;
    spec.k = 130;
    spec.n = 67;
    spec.w = GetParam();
    spec.x = ActivationFor(spec.w);
    spec.group = 26;
    return spec;
  }
};

TEST_P(ScaledTest, Groups) { CheckBoth(SpecOf(), {16, 32, 16, ""}); }

TEST_P(ScaledTest, PerChannel) {
  Spec spec = SpecOf();
  spec.group = spec.k;
  CheckBoth(spec, Shape());
}

TEST_P(ScaledTest, ZeroPoints) {
  Spec spec = SpecOf();
  if (!spec.w.IsInteger()) return;
  spec.zero_points = true;
  spec.zero = spec.w.IsUnsigned() ? kU8 : kI8;
  CheckBoth(spec, {16, 32, 16, ""});
  spec.zero = spec.w;  // bits, as weights are
  CheckBoth(spec, {16, 128, 64, PackedOrder(spec.x)});
}

// A scale or a zero point of another group or column must be detected.
TEST_P(ScaledTest, TwinSeesTheWrongScale) {
  Spec spec = SpecOf();
  spec.m = 5;
  spec.zero_points = spec.w.IsInteger() && spec.w.bits > 1;
  spec.zero = spec.w;
  const Matmul matmul(spec, Shape());
  ASSERT_TRUE(matmul.ok());
  const Problem twin = ExactTwin(spec, kSeed);
  ASSERT_TRUE(matmul.Holds(twin));
  const auto next_to = [&](const harness::Tensor& t) {
    size_t at = 70;  // the second group
    while (t.codes[at] == t.codes[at + 1]) ++at;
    return at;
  };
  Problem wrong = twin;
  const size_t scale = next_to(twin.scale);
  wrong.scale.codes[scale] = twin.scale.codes[scale + 1];
  EXPECT_FALSE(matmul.Holds(wrong));
  if (!spec.zero_points) return;
  wrong = twin;
  const size_t zero = next_to(twin.zero);
  wrong.zero.codes[zero] = twin.zero.codes[zero + 1];
  EXPECT_FALSE(matmul.Holds(wrong));
}

INSTANTIATE_TEST_SUITE_P(W, ScaledTest, testing::ValuesIn(WeightTypes()),
                         [](const auto& test) { return std::string(DTypeName(test.param)); });

// A slice of each tile of w for a group of warps, in groups that end within a slice; and packed
// weights, of which each slice has tiles of its own.
TEST_P(ScaledTest, Slices) {
  if (!IsRepresentative(GetParam())) return;
  const auto sliced = [](Shape shape, int slices, int warps) {
    shape.program = "matmul_scaled.tsa";
    shape.more = {{"KS", std::to_string(slices)}, {"WARPS", std::to_string(warps)}};
    return shape;
  };
  Spec spec = SpecOf();
  CheckBoth(spec, sliced({16, 32, 16, ""}, 2, 4));
  spec.zero_points = spec.w.IsInteger();
  spec.zero = spec.w.IsUnsigned() ? kU8 : kI8;
  CheckBoth(spec, sliced({8, 32, 256, PackedOrder(spec.x)}, 4, 8));
}

class ScaleTypeTest : public testing::TestWithParam<DType> {};

TEST_P(ScaleTypeTest, FourBits) {
  for (const DType w : {kU4, kI4, kF4E2M1}) {
    Spec spec;
    spec.k = 96;
    spec.n = 45;
    spec.w = w;
    spec.group = 16;
    spec.scale = GetParam();
    CheckBoth(spec, Shape());  // u4 and f4e2m1 for all targets
    spec.x = kBF16;
    spec.group = 32;
    CheckBoth(spec, {32, 64, 32, PackedOrder(kBF16)});
  }
}

INSTANTIATE_TEST_SUITE_P(S, ScaleTypeTest, testing::Values(kF16, kBF16, kF32, kF8E4M3FN, kE8M0),
                         [](const auto& test) { return std::string(DTypeName(test.param)); });

}  // namespace
}  // namespace tarsia::matmul
