#include "dtypes/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "dtypes/convert.h"

namespace tarsia::quantize_test {
namespace {

std::vector<float> Gaussian(size_t n, uint32_t seed, float mean = 0) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(mean, 1.0f);
  std::vector<float> out(n);
  for (float& x : out) x = normal(rng);
  return out;
}

Quantised Quantise(const std::vector<float>& w, int64_t k, int64_t n, const QuantiseSpec& spec) {
  Result<Quantised> result = QuantiseGroups(w, k, n, spec);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return *std::move(result);
}

std::vector<float> Back(const Quantised& q) {
  Result<std::vector<float>> result = Dequantise(q);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return *std::move(result);
}

TEST(QuantizeTest, SymmetricByHand) {
  // Column 0: [-8, 7] fits i4 with scale 1. Column 1: 14 asks for scale 2.
  const std::vector<float> w = {-8, 14, 7, -3, 3.5f, 5, 2.5f, 0};
  const Quantised q = Quantise(w, 4, 2, {kI4, 4, ZeroPoint::kNone, kF32});
  EXPECT_EQ(q.scales, (std::vector<float>{1, 2}));
  EXPECT_TRUE(q.zeros.empty());
  // -1.5 and 2.5 are ties, to even: -2 and 2.
  EXPECT_EQ(q.codes, (std::vector<uint8_t>{0x8, 0x7, 0x7, 0xE, 0x4, 0x2, 0x2, 0x0}));
  EXPECT_EQ(Back(q), (std::vector<float>{-8, 14, 7, -4, 4, 4, 2, 0}));
}

TEST(QuantizeTest, GroupsAlongK) {
  const std::vector<float> w = {1, 2, 3, 4, 10, 20, 30, 70};  // one column of 8
  const Quantised q = Quantise(w, 8, 1, {kI4, 2, ZeroPoint::kNone, kF32});
  ASSERT_EQ(q.scales.size(), 4u);
  EXPECT_EQ(q.scales[3], 10);
  EXPECT_EQ(q.codes[6], 3);
  EXPECT_EQ(q.codes[7], 7);
}

TEST(QuantizeTest, IntegerZeroPointByHand) {
  // [-1, 14] in steps of 1 with zero point 1.
  const std::vector<float> w = {-1, 0, 14, 6.6f};
  const Quantised q = Quantise(w, 4, 1, {kU4, 4, ZeroPoint::kInteger, kF16});
  EXPECT_EQ(q.scales, std::vector<float>{1});
  EXPECT_EQ(q.zeros, std::vector<float>{1});
  EXPECT_EQ(q.codes, (std::vector<uint8_t>{0, 1, 15, 8}));
  EXPECT_EQ(Back(q), (std::vector<float>{-1, 0, 14, 7}));
}

TEST(QuantizeTest, FloatZeroPointNeedNotCoverZero) {
  const std::vector<float> w = {100, 101, 102, 103};
  const Quantised q = Quantise(w, 4, 1, {kU2, 4, ZeroPoint::kFloat, kF32});
  EXPECT_EQ(q.scales, std::vector<float>{1});
  EXPECT_EQ(q.zeros, std::vector<float>{-100});
  EXPECT_EQ(Back(q), w);
  const std::vector<float> constant(6, -2.5f);
  EXPECT_EQ(Back(Quantise(constant, 6, 1, {kU3, 3, ZeroPoint::kFloat, kF32})), constant);
}

TEST(QuantizeTest, OneBitTypes) {
  const std::vector<float> w = {-3, 0, -1, -2.5f};
  const Quantised q = Quantise(w, 4, 1, {kI1, 4, ZeroPoint::kNone, kF32});
  EXPECT_EQ(q.scales, std::vector<float>{3});
  EXPECT_EQ(q.codes, (std::vector<uint8_t>{1, 0, 0, 1}));
  const std::vector<float> signs = {-1, 1, 1, -1};
  EXPECT_EQ(Back(Quantise(signs, 4, 1, {kU1, 4, ZeroPoint::kFloat, kF32})), signs);
}

TEST(QuantizeTest, MxByHand) {
  std::vector<float> w(32, 0.0f);
  w[0] = 7;      // floor(log2 7) = 2 = that of 6, the largest f4e2m1: scale 1; 7 saturates at 6
  w[1] = -2.5f;  // the tie of 2 and 3, to the even code of 2
  w[2] = 0.3f;
  Result<Quantised> q = QuantiseMx(w, 32, 1, kF4E2M1);
  ASSERT_TRUE(q.ok());
  EXPECT_EQ(q->scales, std::vector<float>{1});
  EXPECT_EQ(q->codes[0], 0x7);
  EXPECT_EQ(q->codes[1], 0xC);
  EXPECT_EQ(q->codes[2], 0x1);
  w[3] = 100;  // floor(log2 100) - 2 = 4
  q = QuantiseMx(w, 32, 1, kF4E2M1);
  EXPECT_EQ(q->scales, std::vector<float>{16});
  EXPECT_EQ(Back(*q)[3], 96);
  q = QuantiseMx(w, 32, 1, kF8E4M3FN);  // floor(log2 100) - 8 = -2
  EXPECT_EQ(q->scales, std::vector<float>{0.25f});
  EXPECT_EQ(Back(*q)[3], 96);  // 400 lies half way from 384 (0x7C) to 416 (0x7D)
  q = QuantiseMx(std::vector<float>(32, 0.0f), 32, 1, kF6E3M2);
  EXPECT_EQ(q->scales, std::vector<float>{0x1p-127f});
  EXPECT_EQ(Back(*q), std::vector<float>(32, 0.0f));
}

TEST(QuantizeTest, Nvfp4ByHand) {
  std::vector<float> w(32, 0.0f);
  w[0] = 2688;  // 448 * 6: the tensor's scale is 1, this block's 448
  w[16] = 6;    // the second block's scale is 1
  w[17] = -1.5f;
  Result<Quantised> q = QuantiseNvfp4(w, 32, 1);
  ASSERT_TRUE(q.ok());
  EXPECT_EQ(q->tensor_scale, 1);
  EXPECT_EQ(q->scales, (std::vector<float>{448, 1}));
  EXPECT_EQ(Back(*q), w);
  q = QuantiseNvfp4(std::vector<float>(16, 0.0f), 16, 1);
  EXPECT_EQ(q->tensor_scale, 1);
  EXPECT_EQ(Back(*q), std::vector<float>(16, 0.0f));
}

// The error of each weight is at most half a step of its group, as far as the scale's own rounding
// lets the range be covered.
TEST(QuantizeTest, IntegersStayWithinHalfAStep) {
  const int64_t k = 64, n = 7;
  for (int bits = 1; bits <= 8; ++bits) {
    for (const bool is_signed : {false, true}) {
      const DType type = *FindDType((is_signed ? "i" : "u") + std::to_string(bits));
      for (const ZeroPoint zero : {ZeroPoint::kNone, ZeroPoint::kInteger, ZeroPoint::kFloat}) {
        std::vector<float> w = Gaussian(static_cast<size_t>(k * n), 5, 0.3f);
        for (float& x : w) {
          if (zero == ZeroPoint::kNone && !is_signed) x = std::fabs(x);
          if (zero == ZeroPoint::kNone && type == kI1) x = -std::fabs(x);
        }
        for (const int64_t group : {1, 4, 16, 64}) {
          const Quantised q = Quantise(w, k, n, {type, group, zero, kF32});
          ASSERT_EQ(q.scales.size(), static_cast<size_t>(k / group * n));
          const std::vector<float> back = Back(q);
          for (size_t i = 0; i < w.size(); ++i) {
            const size_t at = i / static_cast<size_t>(group * n) * n + i % n;
            // An integer zero point is itself off by up to half a step at the ends.
            const double steps = zero == ZeroPoint::kInteger ? 1.0 : 0.5;
            const double bound = steps * q.scales[at] * 1.0001 + 1e-5;
            ASSERT_LE(std::fabs(back[i] - w[i]), bound) << DTypeName(type) << " group " << group;
            ASSERT_EQ(q.codes[i] >> bits, 0);
          }
        }
      }
    }
  }
}

TEST(QuantizeTest, MoreBitsAreBetter) {
  const std::vector<float> w = Gaussian(128 * 16, 9);
  double last = -100;
  for (const DType type : {kI2, kI3, kI4, kI5, kI6, kI7, kI8}) {
    const Quantised q = Quantise(w, 128, 16, {type, 32, ZeroPoint::kNone, kF16});
    Result<QuantiseError> error = MeasureError(w, Back(q));
    ASSERT_TRUE(error.ok());
    EXPECT_GT(error->snr_db, last + 4);  // about 6 dB a bit
    last = error->snr_db;
  }
  EXPECT_GT(last, 40);
}

TEST(QuantizeTest, EveryFloatQuantisesItsOwnValues) {
  for (const DTypeRow& row : AllDTypes()) {
    if (!row.type.IsFloat() || row.type.bits > 8) continue;
    // All finite values of the type, times 0.5: the scale is 0.5, the codes come back.
    std::vector<float> w;
    std::vector<uint8_t> codes;
    for (uint64_t code = 0; code < uint64_t{1} << row.type.bits; ++code) {
      const double value = DecodeToDouble(row.type, code);
      if (!std::isfinite(value)) continue;
      w.push_back(static_cast<float>(value * 0.5));
      codes.push_back(static_cast<uint8_t>(code));
    }
    const auto k = static_cast<int64_t>(w.size());
    const Quantised q = Quantise(w, k, 1, {row.type, k, ZeroPoint::kNone, kF32});
    EXPECT_EQ(q.scales, std::vector<float>{0.5f}) << row.name;
    EXPECT_EQ(q.codes, codes) << row.name;
    EXPECT_EQ(Back(q), w) << row.name;
  }
}

TEST(QuantizeTest, ScalesHaveTheirType) {
  const std::vector<float> w = Gaussian(64 * 4, 21);
  for (const DType scale : {kF16, kBF16, kF8E4M3FN, kE8M0, kF32}) {
    const Quantised q = Quantise(w, 64, 4, {kI4, 16, ZeroPoint::kNone, scale});
    for (const float s : q.scales) {
      const double value = static_cast<double>(s);
      EXPECT_EQ(DecodeToDouble(scale, EncodeFromDouble(scale, value)), value) << DTypeName(scale);
    }
  }
  // Far below the least scale: all weights become zero, and nothing is divided by it.
  const std::vector<float> tiny(8, 1e-30f);
  EXPECT_EQ(Back(Quantise(tiny, 8, 1, {kI4, 8, ZeroPoint::kNone, kF16})),
            std::vector<float>(8, 0.0f));
  EXPECT_EQ(Back(Quantise(tiny, 8, 1, {kU4, 8, ZeroPoint::kInteger, kF16})),
            std::vector<float>(8, 0.0f));
}

TEST(QuantizeTest, MeasuresErrors) {
  const std::vector<float> a = {3, 4, 0, 0}, b = {3, 3, 0, 0};
  Result<QuantiseError> error = MeasureError(a, b);
  ASSERT_TRUE(error.ok());
  EXPECT_EQ(error->max_abs, 1);
  EXPECT_EQ(error->rms, 0.5);
  EXPECT_NEAR(error->snr_db, 13.9794, 1e-4);  // 10 log10 25
  EXPECT_EQ(MeasureError(a, a)->snr_db, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(MeasureError(a, std::vector<float>(3)).ok());
}

TEST(QuantizeTest, RefusesWhatItCannotDo) {
  const std::vector<float> w(12, 1.0f);
  const auto id = [](const std::vector<float>& weights, int64_t k, int64_t n, QuantiseSpec spec) {
    Result<Quantised> result = QuantiseGroups(weights, k, n, spec);
    return result.ok() ? std::string("ok") : std::string(result.error().info->id);
  };
  EXPECT_EQ(id(w, 4, 3, {kI4, 2, ZeroPoint::kNone, kF32}), "ok");
  EXPECT_EQ(id(w, 4, 3, {kF16, 2, ZeroPoint::kNone, kF32}), "quantise-type");
  EXPECT_EQ(id(w, 4, 3, {kE8M0, 2, ZeroPoint::kNone, kF32}), "quantise-type");
  EXPECT_EQ(id(w, 4, 3, {DType{}, 2, ZeroPoint::kNone, kF32}), "quantise-type");
  EXPECT_EQ(id(w, 4, 3, {kI4, 2, ZeroPoint::kNone, kI8}), "quantise-scale-type");
  EXPECT_EQ(id(w, 4, 3, {kF4E2M1, 2, ZeroPoint::kInteger, kF32}), "quantise-zero-point");
  EXPECT_EQ(id(w, 4, 3, {kU4, 2, ZeroPoint::kFloat, kE8M0}), "quantise-zero-point");
  EXPECT_EQ(id(w, 4, 3, {kI4, 3, ZeroPoint::kNone, kF32}), "quantise-group");
  EXPECT_EQ(id(w, 4, 3, {kI4, 2, ZeroPoint::kNone, kF32, 0}), "quantise-columns");
  EXPECT_EQ(id(w, 4, 3, {kI4, 2, ZeroPoint::kNone, kF32, -2}), "quantise-columns");
  EXPECT_EQ(id(w, 4, 3, {kI4, 0, ZeroPoint::kNone, kF32}), "quantise-group");
  EXPECT_EQ(id(w, 4, 3, {kI4, -1, ZeroPoint::kNone, kF32}), "quantise-group");
  EXPECT_EQ(id(w, 4, 4, {kI4, 2, ZeroPoint::kNone, kF32}), "quantise-shape");
  EXPECT_EQ(id(w, -4, -3, {kI4, 2, ZeroPoint::kNone, kF32}), "quantise-shape");
  EXPECT_EQ(id(w, INT64_MAX, 4, {kI4, 1, ZeroPoint::kNone, kF32}), "quantise-shape");
  std::vector<float> bad = w;
  bad[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(id(bad, 4, 3, {kI4, 2, ZeroPoint::kNone, kF32}), "quantise-not-finite");
  bad[7] = -1;
  EXPECT_EQ(id(bad, 4, 3, {kU4, 2, ZeroPoint::kNone, kF32}), "quantise-negative");
  bad[7] = 1e30F;
  EXPECT_EQ(id(bad, 4, 3, {kU4, 2, ZeroPoint::kNone, kF16}), "quantise-scale");
  EXPECT_EQ(id(bad, 4, 3, {kI4, 2, ZeroPoint::kFloat, kF16}), "quantise-scale");
  EXPECT_EQ(id(bad, 4, 3, {kU4, 2, ZeroPoint::kNone, kBF16}), "ok");
  bad[7] = -1;
  Result<Quantised> negative = QuantiseGroups(bad, 4, 3, {kU4, 2, ZeroPoint::kNone, kF32});
  EXPECT_EQ(
      negative.error().message,
      "the weight at row 2, column 1 is negative, which `u4` without zero points cannot hold");
  EXPECT_FALSE(QuantiseMx(w, 4, 3, kF4E2M1).ok());
  EXPECT_FALSE(QuantiseMx(std::vector<float>(32), 32, 1, kI8).ok());
  Quantised q = Quantise(w, 4, 3, {kI4, 2, ZeroPoint::kNone, kF32});
  q.scales.pop_back();
  EXPECT_FALSE(Dequantise(q).ok());
}

TEST(QuantizeTest, EmptyMatrices) {
  const Quantised q = Quantise({}, 8, 0, {kI4, 4, ZeroPoint::kInteger, kF32});
  EXPECT_TRUE(Back(q).empty());
}

TEST(DiagnosticsTest, IdsAreDistinct) {
  const std::vector<std::string> ids = {
#define DIAG(name, id, format, help) id,
#include "dtypes/diagnostics.def"
#undef DIAG
  };
  EXPECT_EQ(ids.size(), 12u);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
}

}  // namespace
}  // namespace tarsia::quantize_test
