// Least-squares scales against a search over all scales, blocks of several columns, and codebooks.
// Expected values are found by plain loops over all levels and scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dtypes/codebook.h"
#include "dtypes/convert.h"
#include "dtypes/quantize.h"
#include "tests/data/test_data.h"
#include "tests/unit/dtypes/oracle.h"

namespace tarsia::quantize_formats_test {
namespace {

// Normally distributed numbers, with occasional outliers.
std::vector<float> Weights(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, 0.04f);
  std::vector<float> out(n);
  for (float& x : out) x = normal(rng) * (rng() % 16 == 0 ? 4.0f : 1.0f);
  return out;
}

// The values of the codes of a type, from its name alone.
std::vector<double> ValuesOf(DType type) {
  std::vector<double> out;
  const auto size = static_cast<int64_t>(1) << type.bits;
  for (int64_t code = 0; code < size; ++code) {
    double value = static_cast<double>(type.IsSigned() && code >= size / 2 ? code - size : code);
    if (type.IsFloat()) {
      value = oracle::Decode(oracle::FormatOf(DTypeName(type)), static_cast<uint64_t>(code));
    }
    if (std::isfinite(value)) out.push_back(value);
  }
  return out;
}

std::vector<double> ValuesOf(const Codebook& book) {
  return {book.values.begin(), book.values.end()};
}

// The error when every weight takes the best of all values.
double ErrorAt(const std::vector<float>& w, const std::vector<double>& values, double step) {
  double sum = 0;
  for (const float x : w) {
    double best = std::numeric_limits<double>::infinity();
    for (const double value : values) {
      best = std::min(best, std::fabs(static_cast<double>(x) - value * step));
    }
    sum += best * best;
  }
  return sum;
}

// The least error over all finite non-negative scales of a type.
double LeastError(const std::vector<float>& w, const std::vector<double>& values, DType scale) {
  double least = std::numeric_limits<double>::infinity();
  for (uint64_t code = 0; code <= MaxFiniteCode(scale); ++code) {
    least = std::min(least, ErrorAt(w, values, DecodeToDouble(scale, code)));
  }
  return least;
}

double ErrorOf(const std::vector<float>& w, const Quantised& q) {
  const std::vector<float> back = *Dequantise(q);
  double sum = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    const double error = static_cast<double>(back[i]) - static_cast<double>(w[i]);
    sum += error * error;
  }
  return sum;
}

QuantiseSpec LeastSquares(DType type, int64_t group, DType scale) {
  return {.type = type, .group = group, .scale_type = scale, .rule = ScaleRule::kLeastSquares};
}

// --- least squares ---

TEST(LeastSquaresTest, ByHand) {
  // One large weight: absmax makes the step 7 / 7 = 1 for i4, and 0.5 becomes 0 three times over.
  // Of all steps 1 is best all the same; in i2 (-2 to 1) clipping is not.
  const std::vector<float> w = {4, 4, 4, 5};
  // All at level 1: the best step is their mean. Absmax takes 5.
  const Quantised q = *QuantiseGroups(w, 4, 1, LeastSquares(kI2, 4, kF32));
  EXPECT_EQ(q.scales, std::vector<float>{4.25f});
  EXPECT_EQ(q.codes, (std::vector<uint8_t>{1, 1, 1, 1}));
  const Quantised absmax = *QuantiseGroups(w, 4, 1, {kI2, 4, ZeroPoint::kNone, kF32});
  EXPECT_EQ(absmax.scales, std::vector<float>{5});
  // Only powers of two: 4 has an error of 1, 8 one of 3 * 16 + 9.
  EXPECT_EQ(QuantiseGroups(w, 4, 1, LeastSquares(kI2, 4, kE8M0))->scales, std::vector<float>{4});
}

TEST(LeastSquaresTest, NoScaleOfTheTypeIsBetter) {
  for (const DType scale : {kF8E4M3FN, kE8M0}) {
    for (const DTypeRow& row : AllDTypes()) {
      if (!LowPrecision(row.type)) continue;
      const std::vector<double> values = ValuesOf(row.type);
      for (const size_t group : {size_t{1}, size_t{5}, size_t{16}}) {
        std::vector<float> w = Weights(group, row.code);
        for (float& x : w) x *= 50;  // into the range of f8e4m3fn scales
        if (row.type.IsUnsigned()) {
          for (float& x : w) x = std::fabs(x);
        }
        const auto k = static_cast<int64_t>(group);
        const Quantised q = *QuantiseGroups(w, k, 1, LeastSquares(row.type, k, scale));
        const double least = LeastError(w, values, scale);
        ASSERT_LE(ErrorOf(w, q), least * (1 + 1e-5) + 1e-9)
            << row.name << " with " << DTypeName(scale) << ", group " << group;
      }
    }
  }
}

TEST(LeastSquaresTest, NoHalfPrecisionScaleIsBetter) {
  const std::vector<float> w = Weights(12, 99);
  for (const DType type : {kI1, kI3, kI4, kF4E2M1, kF3E1M1}) {
    for (const DType scale : {kF16, kBF16}) {
      const Quantised q = *QuantiseGroups(w, 12, 1, LeastSquares(type, 12, scale));
      EXPECT_LE(ErrorOf(w, q), LeastError(w, ValuesOf(type), scale) * (1 + 1e-5))
          << DTypeName(type) << " with " << DTypeName(scale);
    }
  }
}

TEST(LeastSquaresTest, NoSinglePrecisionScaleIsBetterAsFarAsAGridSees) {
  for (uint32_t seed = 1; seed < 40; ++seed) {
    const std::vector<float> w = Weights(32, seed);
    const DType type = seed % 2 == 0 ? kI4 : kF4E2M1;
    const std::vector<double> values = ValuesOf(type);
    const double error = ErrorOf(w, *QuantiseGroups(w, 32, 1, LeastSquares(type, 32, kF32)));
    for (int i = 1; i < 2000; ++i) {
      ASSERT_LE(error, ErrorAt(w, values, i * 5e-5) * (1 + 1e-5)) << seed << " at " << i * 5e-5;
    }
  }
}

TEST(LeastSquaresTest, IsNeverWorseThanAbsmax) {
  const int64_t k = 128, n = 6;
  const std::vector<float> w = Weights(static_cast<size_t>(k * n), 7);
  for (const DType type : {kI2, kI4, kI8, kU2, kU4, kU8, kF4E2M1, kF6E3M2, kF8E4M3FN}) {
    for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInteger, ZeroPoint::kFloat}) {
      if (type.IsFloat() && zero != ZeroPoint::kNone) continue;
      if (type.IsUnsigned() && zero == ZeroPoint::kNone) continue;
      for (const int64_t group : {int64_t{8}, int64_t{32}, k}) {
        QuantiseSpec spec{type, group, zero, kF16};
        const double absmax = ErrorOf(w, *QuantiseGroups(w, k, n, spec));
        spec.rule = ScaleRule::kLeastSquares;
        const double least = ErrorOf(w, *QuantiseGroups(w, k, n, spec));
        EXPECT_LE(least, absmax * (1 + 1e-6)) << DTypeName(type) << " group " << group;
        if (type.bits <= 4 && group == 32) {
          EXPECT_LT(least, absmax * 0.95) << DTypeName(type);
        }
      }
    }
  }
}

TEST(LeastSquaresTest, BlockFormats) {
  const int64_t k = 64, n = 8;
  const std::vector<float> w = Weights(static_cast<size_t>(k * n), 17);
  const ScaleRule rule = ScaleRule::kLeastSquares;
  for (const DType type : {kF4E2M1, kF6E2M3, kF6E3M2, kF8E4M3FN, kF8E5M2}) {
    EXPECT_LE(ErrorOf(w, *QuantiseMx(w, k, n, type, rule)), ErrorOf(w, *QuantiseMx(w, k, n, type)));
  }
  // In NVFP4 every block is as good as its scales allow with the tensor's scale.
  const Quantised q = *QuantiseNvfp4(w, k, n, rule);
  const double tensor = static_cast<double>(q.tensor_scale);
  const std::vector<double> values = ValuesOf(kF4E2M1);
  double least = 0;
  for (int64_t row = 0; row < k; row += 16) {
    for (int64_t column = 0; column < n; ++column) {
      std::vector<float> block;
      for (int64_t i = 0; i < 16; ++i) block.push_back(w[size_t((row + i) * n + column)]);
      double best = std::numeric_limits<double>::infinity();
      for (uint64_t code = 0; code < 127; ++code) {
        best = std::min(best, ErrorAt(block, values, DecodeToDouble(kF8E4M3FN, code) * tensor));
      }
      least += best;
    }
  }
  EXPECT_NEAR(ErrorOf(w, q), least, least * 1e-5);
  EXPECT_LT(ErrorOf(w, q), ErrorOf(w, *QuantiseNvfp4(w, k, n)));
}

TEST(LeastSquaresTest, DegenerateGroups) {
  const std::vector<float> zeros(8, 0.0f);
  for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInteger, ZeroPoint::kFloat}) {
    QuantiseSpec spec{kI4, 8, zero, kF32};
    spec.rule = ScaleRule::kLeastSquares;
    EXPECT_EQ(*Dequantise(*QuantiseGroups(zeros, 8, 1, spec)), zeros);
  }
  const std::vector<float> constant(8, -2.5f);
  QuantiseSpec spec{kU3, 8, ZeroPoint::kFloat, kF32};
  spec.rule = ScaleRule::kLeastSquares;
  EXPECT_EQ(*Dequantise(*QuantiseGroups(constant, 8, 1, spec)), constant);
  // i1 holds 0 and -1: positive weights stay 0 for every scale.
  const Quantised q =
      *QuantiseGroups(std::vector<float>{-3, 5, -1, 2}, 4, 1, LeastSquares(kI1, 4, kF32));
  EXPECT_EQ(q.scales, std::vector<float>{3});  // -1 at 0 costs 1; both at -2 would cost 2
  EXPECT_EQ(*Dequantise(q), (std::vector<float>{-3, 0, 0, 0}));
}

// --- blocks of several columns ---

TEST(BlockScaleTest, ColumnsShareAScale) {
  // Blocks of 2 rows and 2 columns; the last block is one column wide.
  const std::vector<float> w = {7, 1, 70, -2, 3, -70, 14, 0, 0.7f, 1, -14, 0.1f};
  const Quantised q = *QuantiseGroups(w, 4, 3, {kI4, 2, ZeroPoint::kNone, kF32, 2});
  EXPECT_EQ(q.scales, (std::vector<float>{1, 10, 2, 0.1f}));
  EXPECT_EQ(q.codes, (std::vector<uint8_t>{7, 1, 7, 14, 3, 9, 7, 0, 7, 0, 9, 1}));
  const std::vector<float> back = *Dequantise(q);
  const std::vector<float> want = {7, 1, 70, -2, 3, -70, 14, 0, 0.7f, 0, -14, 0.1f};
  for (size_t i = 0; i < want.size(); ++i) EXPECT_FLOAT_EQ(back[i], want[i]) << i;
}

TEST(BlockScaleTest, Fp8Blocks) {
  const int64_t k = 256, n = 200;
  std::vector<float> w(static_cast<size_t>(k * n), 0.0f);
  const auto at = [&](int64_t row, int64_t column) -> float& {
    return w[size_t(row * n + column)];
  };
  at(5, 127) = -448;   // block 0, 0: scale 1
  at(0, 0) = 18;       // a number of the type
  at(127, 128) = 896;  // block 0, 1: scale 2
  at(128, 3) = 44.8f;  // block 1, 0: scale 0.1
  const Quantised q = *QuantiseFp8Blocks(w, k, n);
  ASSERT_EQ(q.scales.size(), 4u);
  EXPECT_EQ(q.scales[0], 1);
  EXPECT_EQ(q.scales[1], 2);
  EXPECT_FLOAT_EQ(q.scales[2], 0.1f);
  EXPECT_EQ(q.scales[3], 0);
  EXPECT_EQ(*Dequantise(q), w);
  EXPECT_FALSE(QuantiseFp8Blocks(w, k, n, kF4E2M1).ok());
  EXPECT_FALSE(QuantiseFp8Blocks(w, n, k).ok());  // 128 does not divide 200 rows
  EXPECT_TRUE(QuantiseFp8Blocks(w, k, n, kF8E5M2, ScaleRule::kLeastSquares).ok());
}

TEST(BlockScaleTest, WiderThanTheMatrixAndPerTensor) {
  const std::vector<float> w = {1, -8, 3.5f, 0, 2, 6};
  const Quantised q = *QuantiseGroups(w, 2, 3, {kI4, 2, ZeroPoint::kNone, kF32, 1000});
  EXPECT_EQ(q.scales, std::vector<float>{1});
  EXPECT_EQ(*Dequantise(q), (std::vector<float>{1, -8, 4, 0, 2, 6}));
}

// --- codebooks ---

// The x below which a normal variable lies with probability p.
double NormalQuantile(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return low;
}

TEST(CodebookTest, Nf4IsTheQuantilesOfTheNormalDistribution) {
  // Eight positive and seven negative quantiles at even steps from 0.9677083 to a half, and 0,
  // divided by the largest.
  constexpr double kOffset = 0.9677083;
  std::vector<double> want = {0};
  for (int i = 0; i < 8; ++i) want.push_back(NormalQuantile(kOffset + (0.5 - kOffset) * i / 8));
  for (int i = 0; i < 7; ++i) want.push_back(-NormalQuantile(kOffset + (0.5 - kOffset) * i / 7));
  std::sort(want.begin(), want.end());
  const double largest = want.back();
  const Codebook& book = *FindCodebook("nf4");
  ASSERT_EQ(book.values.size(), 16u);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(static_cast<double>(book.values[i]), want[i] / largest, 2e-6) << i;
  }
  EXPECT_EQ(book.values[7], 0);
}

TEST(CodebookTest, TheOthers) {
  // The magnitudes of fp4 in twelfths; code 8 is the sign.
  const double twelfths[] = {0, 0.0625, 8, 12, 4, 6, 2, 3};
  const Codebook& fp4 = *FindCodebook("fp4");
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(static_cast<double>(fp4.values[i]), twelfths[i] / 12, 1e-7);
    EXPECT_EQ(fp4.values[i + 8], -fp4.values[i]);
  }
  const Codebook& iq4 = *FindCodebook("iq4_nl");
  EXPECT_EQ(iq4.values[0], -127);
  EXPECT_EQ(iq4.values[8], 1);
  EXPECT_EQ(iq4.values[15], 113);
  EXPECT_TRUE(std::is_sorted(iq4.values.begin(), iq4.values.end()));
  EXPECT_EQ(FindCodebook("nf5"), nullptr);
  for (const Codebook& book : AllCodebooks()) {
    EXPECT_EQ(CodeTypeOf(book), kU4) << book.name;
    EXPECT_EQ(FindCodebook(book.name), &book);
    EXPECT_FALSE(book.doc.empty());
  }
}

TEST(CodebookTest, TheManualHasEveryValue) {
  const std::string text = ReadTestFile(TestData("docs/dtypes.md"));
  for (size_t code = 0; code < 16; ++code) {
    std::string row = "| " + std::to_string(code) + " |";
    for (const Codebook& book : AllCodebooks()) {
      row += " " + DecodeToString(kF32, std::bit_cast<uint32_t>(book.values[code])) + " |";
    }
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(CodebookTest, QuantisesItsOwnValues) {
  for (const Codebook& book : AllCodebooks()) {
    std::vector<float> w;
    for (const float value : book.values) w.push_back(value * 0.25f);
    for (const ScaleRule rule : {ScaleRule::kAbsmax, ScaleRule::kLeastSquares}) {
      const Quantised q = *QuantiseCodebook(w, 16, 1, book, 16, kF32, rule);
      EXPECT_EQ(q.scales, std::vector<float>{0.25f}) << book.name;
      EXPECT_EQ(*Dequantise(q), w) << book.name;
    }
  }
}

TEST(CodebookTest, TakesTheNearestAndInATieTheLowerCode) {
  const float values[] = {4, -4, 0, 1};  // in no order
  const Codebook book{"mine", "", values};
  const std::vector<float> w = {4, 2.5f, 2.4f, -2, -1.9f, 0.5f, 0.6f, -4};
  const Quantised q = *QuantiseCodebook(w, 8, 1, book, 8);
  EXPECT_EQ(q.scales, std::vector<float>{1});
  // 2.5 lies between 4 (code 0) and 1 (3), -2 between -4 (1) and 0 (2), 0.5 between 0 (2), 1 (3).
  EXPECT_EQ(q.codes, (std::vector<uint8_t>{0, 0, 3, 1, 2, 2, 3, 1}));
  EXPECT_EQ(q.spec.type, kU2);
}

TEST(CodebookTest, LeastSquaresIsTheBestOfAllScales) {
  for (const Codebook& book : AllCodebooks()) {
    for (uint32_t seed = 1; seed < 20; ++seed) {
      std::vector<float> w = Weights(16, seed);
      for (float& x : w) x *= book.name == "iq4_nl" ? 5000.0f : 50.0f;
      const Quantised q =
          *QuantiseCodebook(w, 16, 1, book, 16, kF8E4M3FN, ScaleRule::kLeastSquares);
      ASSERT_LE(ErrorOf(w, q), LeastError(w, ValuesOf(book), kF8E4M3FN) * (1 + 1e-5))
          << book.name << " " << seed;
    }
  }
}

TEST(CodebookTest, Nf4BeatsIntegersOnNormalWeights) {
  std::mt19937 rng(5);
  std::normal_distribution<float> normal;
  std::vector<float> w(4096);
  for (float& x : w) x = normal(rng);
  const Quantised nf4 = *QuantiseCodebook(w, 4096, 1, *FindCodebook("nf4"), 64);
  const Quantised i4 = *QuantiseGroups(w, 4096, 1, {kI4, 64, ZeroPoint::kNone, kF32});
  const QuantiseError a = *MeasureError(w, *Dequantise(nf4));
  const QuantiseError b = *MeasureError(w, *Dequantise(i4));
  EXPECT_GT(a.snr_db, b.snr_db);
  EXPECT_GT(a.snr_db, 19);  // about 20 dB for blocks of 64
  EXPECT_LT(a.snr_db, 22);
}

TEST(CodebookTest, RefusesWhatIsNone) {
  const std::vector<float> w(4, 1.0f);
  const auto id = [&](const Codebook& book, QuantiseSpec spec) {
    spec.codebook = &book;
    const auto result = QuantiseGroups(w, 4, 1, spec);
    return result.ok() ? std::string("ok") : std::string(result.error().info->id);
  };
  const float three[] = {1, 2, 3}, infinite[] = {1, INFINITY}, positive[] = {0, 1};
  const Codebook& nf4 = *FindCodebook("nf4");
  EXPECT_EQ(id(nf4, {kU4, 4}), "ok");
  EXPECT_EQ(id(nf4, {kI4, 4}), "quantise-codebook");
  EXPECT_EQ(id(nf4, {kU3, 4}), "quantise-codebook");
  EXPECT_EQ(id({"three", "", three}, {kU2, 4}), "quantise-codebook");
  EXPECT_EQ(id({"infinite", "", infinite}, {kU1, 4}), "quantise-codebook");
  EXPECT_EQ(id({"none", "", {}}, {kU1, 4}), "quantise-codebook");
  EXPECT_EQ(id({"positive", "", positive}, {kU1, 4}), "ok");
  EXPECT_EQ(id(nf4, {kU4, 4, ZeroPoint::kInteger}), "quantise-zero-point");
  const Codebook book{"positive", "", positive};
  EXPECT_FALSE(QuantiseCodebook(std::vector<float>{1, -1}, 2, 1, book, 2).ok());
}

}  // namespace
}  // namespace tarsia::quantize_formats_test
