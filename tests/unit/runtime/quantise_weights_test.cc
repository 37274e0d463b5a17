// Quantising in parallel against the reference quantisers, whose own tests are in
// tests/unit/dtypes/quantize_test.cc.
#include "runtime/weights/quantise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "dtypes/convert.h"
#include "dtypes/simd.h"
#include "runtime/weights/packed_order.h"

namespace tarsia::quantise_weights_test {
namespace {

constexpr int64_t kK = 160, kN = 301;

// Weights with many ties: multiples of 1/8 among others, and one constant column.
std::vector<float> Weights(bool negative) {
  std::mt19937_64 random(7);
  std::vector<float> out;
  for (int64_t i = 0; i < kK * kN; ++i) {
    const auto bits = static_cast<int64_t>(random() >> 40) - (int64_t{1} << 23);
    float x = static_cast<float>(bits) * 0x1p-23F;
    if (i % 3 == 0) x = static_cast<float>(bits >> 18) * 0.125F;
    if (i % kN == 5) x = 0;
    if (i % kN == 6) x = 300.25F + static_cast<float>(bits >> 20) * 0x1p-10F;
    out.push_back(negative ? x : std::fabs(x));
  }
  return out;
}

std::vector<float> Transposed(const std::vector<float>& w) {
  std::vector<float> out(w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    out[i % kN * kK + i / kN] = w[i];
  }
  return out;
}

FloatMatrix MatrixOf(const std::vector<float>& w, bool transposed) {
  return {reinterpret_cast<const uint8_t*>(w.data()), kF32, kK, kN, transposed};
}

DType ComputeOf(DType type) { return CheckPackedOrder(type, kF16).ok() ? kF16 : kBF16; }

void Compare(const QuantiseSpec& spec, const Quantised& want, const std::vector<float>& w) {
  const DType compute = ComputeOf(spec.type);
  for (const bool transposed : {false, true}) {
    const std::vector<float> source = transposed ? Transposed(w) : w;
    const auto packed = QuantiseAndPack(MatrixOf(source, transposed), {spec, compute});
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    const UnpackedWeights got = packed->Unpack();
    ASSERT_EQ(got.codes, want.codes);
    ASSERT_EQ(packed->info().tensor_scale, want.tensor_scale);
    const int64_t across = (kN + spec.columns - 1) / spec.columns;
    for (size_t i = 0; i < got.scales.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / kN, column = static_cast<int64_t>(i) % kN;
      const auto at = static_cast<size_t>(row * across + column / spec.columns);
      ASSERT_EQ(got.scales[i], want.scales[at]);
      if (!want.zeros.empty()) {
        ASSERT_EQ(got.zeros[i], want.zeros[at]);
      }
    }
  }
}

void CompareWithReference(QuantiseSpec spec) {
  if (ComputeOf(spec.type) == kF16) spec.limit = 65504;
  const bool negative =
      spec.zero != ZeroPoint::kNone || !spec.type.IsUnsigned() || spec.codebook != nullptr;
  const std::vector<float> w = Weights(negative);
  const auto want = QuantiseGroups(w, kK, kN, spec);
  ASSERT_TRUE(want.ok()) << want.error().message;
  Compare(spec, *want, w);
}

class EveryType : public testing::TestWithParam<DType> {};

TEST_P(EveryType, IsQuantisedAsByTheReference) {
  const DType type = GetParam();
  for (const DType scale : {kF16, kBF16, kF32, kE8M0}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInteger, ZeroPoint::kFloat}) {
      if (zero != ZeroPoint::kNone && (type.IsFloat() || scale == kE8M0)) continue;
      CompareWithReference({.type = type, .group = 32, .zero = zero, .scale_type = scale});
    }
  }
  CompareWithReference({.type = type, .group = kK, .scale_type = kF16});
  CompareWithReference({.type = type, .group = 16, .columns = 128});
}

std::vector<DType> WeightTypes() {
  std::vector<DType> out;
  for (const DTypeRow& row : AllDTypes()) {
    if (LowPrecision(row.type)) out.push_back(row.type);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(W, EveryType, testing::ValuesIn(WeightTypes()),
                         [](const auto& test) { return std::string(DTypeName(test.param)); });

// Kernels compute with the values of codes in the type of the activations, so no code may mean an
// infinity there. By hand: the largest weight becomes 2^15, not 2^16, and half of it 2^14.
TEST(QuantiseWeights, RunOnTheVectorUnitThatIsAskedFor) {
  const Status available = CheckSimd();
  EXPECT_TRUE(available.ok()) << available.error().message;
}

TEST(QuantiseWeights, NoCodeExceedsTheActivations) {
  const std::vector<float> w = {1, 0.5F, -1, 0};
  const FloatMatrix matrix{reinterpret_cast<const uint8_t*>(w.data()), kF32, 4, 1, false};
  const DType type = *FindDType("f6e5m0");  // a code is the exponent, from -15
  for (const DType scale : {kF32, kE8M0}) {
    const QuantiseSpec spec{.type = type, .group = 4, .scale_type = scale};
    const auto half = QuantiseAndPack(matrix, {spec, kF16});
    ASSERT_TRUE(half.ok());
    EXPECT_EQ(half->Unpack().codes, (std::vector<uint8_t>{30, 29, 62, 0}));
    EXPECT_EQ(half->Unpack().scales[0], 0x1p-15F);
    const auto bfloat = QuantiseAndPack(matrix, {spec, kBF16});
    ASSERT_TRUE(bfloat.ok());
    EXPECT_EQ(bfloat->Unpack().codes, (std::vector<uint8_t>{31, 30, 63, 0}));
  }
  for (const char* const name : {"f7e5m1", "f8e5m2fn"}) {
    const auto packed = QuantiseAndPack(
        matrix, {{.type = *FindDType(name), .group = 4, .scale_type = kE8M0}, kF16});
    ASSERT_TRUE(packed.ok());
    for (const uint8_t code : packed->Unpack().codes) {
      EXPECT_LE(std::fabs(DecodeToDouble(*FindDType(name), code)), 65504) << name;
    }
  }
}

TEST(QuantiseWeights, LeastSquares) {
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInteger, ZeroPoint::kFloat}) {
    CompareWithReference({.type = zero == ZeroPoint::kNone ? kI3 : kU3,
                          .group = 32,
                          .zero = zero,
                          .scale_type = kF16,
                          .rule = ScaleRule::kLeastSquares});
  }
}

TEST(QuantiseWeights, Codebooks) {
  for (const Codebook& book : AllCodebooks()) {
    CompareWithReference({.type = kU4, .group = 32, .scale_type = kBF16, .codebook = &book});
  }
}

TEST(QuantiseWeights, TensorScale) {
  const std::vector<float> w = Weights(true);
  const auto want = QuantiseNvfp4(w, kK, kN);
  ASSERT_TRUE(want.ok());
  Compare({.type = kF4E2M1, .group = 16, .scale_type = kF8E4M3FN}, *want, w);
}

TEST(QuantiseWeights, NamesTheFirstBadWeight) {
  std::vector<float> w = Weights(true);
  w[static_cast<size_t>(70 * kN + 300)] = std::numeric_limits<float>::infinity();
  w[static_cast<size_t>(71 * kN + 3)] = std::numeric_limits<float>::quiet_NaN();
  const auto infinite = QuantiseAndPack(MatrixOf(w, false), {{.type = kI4, .group = 32}});
  ASSERT_FALSE(infinite.ok());
  EXPECT_EQ(infinite.error().message, "the weight at row 70, column 300 is not finite");
  std::vector<float> positive = Weights(false);
  positive[static_cast<size_t>(12 * kN + 34)] = -1;
  const auto negative = QuantiseAndPack(MatrixOf(positive, false), {{.type = kU4, .group = 32}});
  ASSERT_FALSE(negative.ok());
  EXPECT_EQ(
      negative.error().message,
      "the weight at row 12, column 34 is negative, which `u4` without zero points cannot hold");
}

// i4 has -8 to 7, so that 7 * 65504 is the largest weight for scales of f16.
TEST(QuantiseWeights, RefusesWeightsBeyondTheScales) {
  for (const ScaleRule rule : {ScaleRule::kAbsmax, ScaleRule::kLeastSquares}) {
    std::vector<float> w = Weights(true);
    QuantiseWeights request{{.type = kI4, .group = 32, .scale_type = kF16, .rule = rule}, kBF16};
    w[static_cast<size_t>(70 * kN + 300)] = 7 * 65504.0F;
    EXPECT_TRUE(QuantiseAndPack(MatrixOf(w, false), request).ok());
    w[static_cast<size_t>(70 * kN + 300)] = 7 * 65536.0F;
    w[static_cast<size_t>(71 * kN + 3)] = -9e30F;
    const auto packed = QuantiseAndPack(MatrixOf(w, false), request);
    ASSERT_FALSE(packed.ok());
    EXPECT_EQ(packed.error().message, "the weights of group 2, column 3 need a scale beyond `f16`");
    const auto reference = QuantiseGroups(w, kK, kN, request.spec);
    ASSERT_FALSE(reference.ok());
    EXPECT_EQ(reference.error().message, packed.error().message);
    request.spec.scale_type = kBF16;
    EXPECT_TRUE(QuantiseAndPack(MatrixOf(w, false), request).ok());
  }
}

TEST(QuantiseWeights, CanBeCancelled) {
  const std::vector<float> w = Weights(true);
  const auto packed = QuantiseAndPack(MatrixOf(w, false), {{.type = kI4, .group = 32}},
                                      [](uint64_t, uint64_t) { return false; });
  ASSERT_FALSE(packed.ok());
  EXPECT_STREQ(packed.error().info->id, "weights-cancelled");
}

}  // namespace
}  // namespace tarsia::quantise_weights_test
