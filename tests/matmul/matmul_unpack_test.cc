// examples/matmul_unpack.tsa: raw values of the codes of every type, corrected in the sums, by the
// error bound and by the exact twin.
#include <gtest/gtest.h>

#include <vector>

#include "tests/harness/run_case.h"
#include "tests/matmul/run_problem.h"

namespace tarsia::matmul {
namespace {

constexpr uint64_t kSeed = 20261126;

using Compiled = harness::Case::Compiled;

void CheckBoth(Spec spec, const Shape& shape, const std::vector<int64_t>& rows) {
  const Matmul matmul(spec, shape);
  ASSERT_TRUE(matmul.ok());
  for (const int64_t m : rows) {
    spec.m = m;
    const Compiled compiled = IsRepresentative(spec.w) ? Compiled::kAll
                              : m == 17                ? Compiled::kOneInTurn
                                                       : Compiled::kNone;
    // The bound has room for rounded sums of 1024 x: that wrong outputs are rejected is shown by
    // the exact twin.
    harness::Case random = matmul.CaseOf(RandomProblem(spec, kSeed + static_cast<uint64_t>(m)));
    random.compiled = compiled;
    const harness::CaseResult result = harness::RunEverywhere(random, &matmul.program());
    EXPECT_TRUE(result.ok()) << result.Text(random);
    matmul.Check(ExactTwin(spec, kSeed + static_cast<uint64_t>(m)), compiled);
  }
}

// Rows of the packed tile of a type (docs/layouts.md), and the multiple of its columns.
int64_t RowsOf(DType w) {
  return w.bits == 1 || w.bits == 2 || w.bits == 4 || w.bits == 8 ? 64 : 128;
}
constexpr int64_t kColumns = 128;  // of four warps

// The packed order follows from the types.
Shape Unpacked(DType w, int64_t turns) {
  return {16, kColumns, RowsOf(w) * turns, "", "matmul_unpack.tsa", {}};
}

class UnpackTest : public testing::TestWithParam<DType> {
 protected:
  [[nodiscard]] static Spec SpecOf(int64_t groups, int64_t turns) {
    Spec spec;
    spec.w = GetParam();
    spec.x = ActivationFor(spec.w);
    spec.group = RowsOf(spec.w) * turns;
    spec.k = spec.group * groups;
    spec.n = 67;
    // What `unpack` adds to a code has the mantissa of the activations for its exponent.
    spec.bias = spec.w.IsInteger() ? spec.x == kF16 ? 1024 : 128 : 0;
    return spec;
  }
};

// A turn is a group.
TEST_P(UnpackTest, Groups) { CheckBoth(SpecOf(2, 1), Unpacked(GetParam(), 1), {0, 1, 17}); }

// A group takes two turns, and a turn more than there is.
TEST_P(UnpackTest, PerChannel) {
  CheckBoth(SpecOf(1, 2), Unpacked(GetParam(), 1), {17});
  Spec spec = SpecOf(1, 1);
  spec.k = spec.group = 44;
  CheckBoth(spec, Unpacked(GetParam(), 1), {5});
}

TEST_P(UnpackTest, ZeroPoints) {
  Spec spec = SpecOf(2, 1);
  if (!spec.w.IsInteger()) return;
  spec.zero_points = true;
  spec.zero = spec.w.IsUnsigned() ? kU8 : kI8;
  CheckBoth(spec, Unpacked(spec.w, 1), {17});
}

TEST_P(UnpackTest, OfBf16) {
  Spec spec = SpecOf(2, 1);
  if (!spec.w.IsInteger() || !IsRepresentative(spec.w)) return;
  spec.x = kBF16;
  spec.bias = 128;
  CheckBoth(spec, Unpacked(spec.w, 1), {17});
}

INSTANTIATE_TEST_SUITE_P(W, UnpackTest, testing::ValuesIn(WeightTypes()),
                         [](const auto& test) { return std::string(DTypeName(test.param)); });

}  // namespace
}  // namespace tarsia::matmul
