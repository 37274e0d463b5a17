#include "dtypes/bulk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dtypes/bulk_simd.h"
#include "dtypes/simd.h"
#include "tests/unit/dtypes/oracle.h"

namespace tarsia::bulk_test {
namespace {

std::vector<uint8_t> Containers(DType type, const std::vector<uint64_t>& codes) {
  std::vector<uint8_t> out(codes.size() * static_cast<size_t>(ContainerBytes(type)));
  for (size_t i = 0; i < codes.size(); ++i) StoreContainer(type, out.data(), i, codes[i]);
  return out;
}

// All codes where there are few; else specials, numbers around the boundaries of small types, and
// random ones.
std::vector<uint64_t> Samples(DType type) {
  std::vector<uint64_t> out;
  if (type.bits <= 16) {
    // Every byte below 8 bits too: bits above the width are ignored.
    for (uint64_t code = 0; code < (type.bits <= 8 ? 256u : 65536u); ++code) out.push_back(code);
    return out;
  }
  std::mt19937_64 rng(type.bits);
  for (int bit = 0; bit < type.bits; ++bit) {
    for (int d = -2; d <= 2; ++d) {
      out.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(d));
      out.push_back(~((uint64_t{1} << bit) + static_cast<uint64_t>(d)));
    }
  }
  for (int i = 0; i < 3000; ++i) {
    out.push_back(rng());
    // Small and middling magnitudes, for integers and for float exponents alike.
    out.push_back(rng() >> (rng() % 64));
    const double x =
        std::ldexp(static_cast<double>(rng() % 4096) - 2048, static_cast<int>(rng() % 64) - 44);
    out.push_back(type.IsFloat() ? EncodeFromDouble(type, x) : rng() % 512);
  }
  if (type == kF32 || type == kF64 || type == kTF32) {
    for (const DTypeRow& row : AllDTypes()) {
      if (!row.type.IsFloat() || row.type.bits > 8) continue;
      for (const double x : oracle::Boundaries(oracle::Values(oracle::FormatOf(row.name)))) {
        out.push_back(EncodeFromDouble(type, x));
      }
    }
    for (int e = -130; e < 129; ++e) {  // those of e8m0
      for (const double x : {std::ldexp(1.0, e), std::ldexp(1.5, e)}) {
        for (const double y : {x, std::nextafter(x, 0.0), std::nextafter(x, oracle::kInf)}) {
          out.push_back(EncodeFromDouble(type, y));
          out.push_back(EncodeFromDouble(type, -y));
          const auto single = static_cast<float>(x);
          out.push_back(CastCode(kF32, std::bit_cast<uint32_t>(single) + 1, type));
          out.push_back(CastCode(kF32, std::bit_cast<uint32_t>(single) - 1, type));
        }
      }
    }
    for (uint64_t half = 0; half < 65536; half += 31) {  // ties of f16 and bf16, and beside them
      const uint64_t f16 = CastCode(kF16, half, kF32), bf16 = CastCode(kBF16, half, kF32);
      for (const uint64_t code :
           {f16 + 0xFFF, f16 + 0x1000, f16 + 0x1001, bf16 + 0x7FFF, bf16 + 0x8000, bf16 + 0x8001}) {
        out.push_back(CastCode(kF32, code & 0xFFFFFFFF, type));
      }
    }
  }
  for (uint64_t& code : out) code &= CodeMask(type);
  return out;
}

void ExpectBulkEqualsScalar(DType from, DType to, CastOptions options,
                            const std::vector<uint64_t>& codes, const std::vector<uint8_t>& src) {
  std::vector<uint8_t> dst(codes.size() * static_cast<size_t>(ContainerBytes(to)));
  CastBulk(from, src.data(), to, dst.data(), codes.size(), options);
  for (size_t i = 0; i < codes.size(); ++i) {
    ASSERT_EQ(LoadContainer(to, dst.data(), i), CastCode(from, codes[i], to, options))
        << DTypeName(from) << " to " << DTypeName(to) << " code " << std::hex << codes[i];
  }
}

TEST(BulkTest, EqualsScalarForEveryPair) {
  for (const DTypeRow& from : AllDTypes()) {
    const std::vector<uint64_t> all = Samples(from.type);
    std::vector<uint64_t> few;
    for (size_t i = 0; i < all.size(); i += 97) few.push_back(all[i]);
    const std::vector<uint8_t> src = Containers(from.type, all),
                               few_src = Containers(from.type, few);
    for (const DTypeRow& to : AllDTypes()) {
      ExpectBulkEqualsScalar(from.type, to.type, {}, all, src);
      for (const Overflow overflow :
           {Overflow::kSaturate, Overflow::kNonSaturating, Overflow::kWrap}) {
        ExpectBulkEqualsScalar(from.type, to.type, {Rounding::kNearestEven, overflow}, few,
                               few_src);
      }
      ExpectBulkEqualsScalar(from.type, to.type, {Rounding::kTowardZero, Overflow::kDefault}, few,
                             few_src);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BulkTest, StochasticReadsOneOperandAnElement) {
  const std::vector<uint64_t> codes = Samples(kF32);
  const std::vector<uint8_t> src = Containers(kF32, codes);
  std::vector<uint32_t> random(codes.size());
  std::mt19937 rng(3);
  for (uint32_t& r : random) r = static_cast<uint32_t>(rng());
  const CastOptions options{Rounding::kStochastic, Overflow::kDefault};
  for (const DType to : {kF16, kBF16, kF8E4M3FN, kF4E2M1, kI8, kI32, kE8M0}) {
    std::vector<uint8_t> dst(codes.size() * static_cast<size_t>(ContainerBytes(to)));
    CastBulk(kF32, src.data(), to, dst.data(), codes.size(), options, random.data());
    for (size_t i = 0; i < codes.size(); ++i) {
      ASSERT_EQ(LoadContainer(to, dst.data(), i), CastCode(kF32, codes[i], to, options, random[i]));
    }
  }
}

TEST(BulkTest, EveryCountAndUnalignedArrays) {
  std::mt19937 rng(4);
  for (const auto& [from, to] : {std::pair{kF32, kF16},
                                 {kF32, kF8E4M3FN},
                                 {kF16, kF32},
                                 {kBF16, kF32},
                                 {kF32, kI8},
                                 {kU4, kF16},
                                 {kI32, kF32},
                                 {kF16, kF6E3M2},
                                 {kF32, kTF32},
                                 {kF16, kBF16},
                                 {kF32, kE8M0},
                                 {kF32, kBoolType},
                                 {kF32, kF8E5M2FNUZ},
                                 {kF8E4M3, kF32},
                                 {kI5, kF32},
                                 {kU8, kF32},
                                 {kE8M0, kF32},
                                 {kBoolType, kF32}}) {
    const auto in = static_cast<size_t>(ContainerBytes(from));
    const auto out = static_cast<size_t>(ContainerBytes(to));
    for (size_t n = 0; n < 70; ++n) {
      std::vector<uint8_t> src(n * in + 1), dst(n * out + 2, 0xAA);
      for (uint8_t& byte : src) byte = static_cast<uint8_t>(rng());
      CastBulk(from, src.data() + 1, to, dst.data() + 1, n);
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(LoadContainer(to, dst.data() + 1, i),
                  CastCode(from, LoadContainer(from, src.data() + 1, i), to));
      }
      EXPECT_EQ(dst.front(), 0xAA);
      EXPECT_EQ(dst.back(), 0xAA);
    }
  }
}

TEST(BulkTest, InPlace) {
  std::vector<uint32_t> data(1500);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = std::bit_cast<uint32_t>(static_cast<float>(i) * 0.37f);
  const std::vector<uint32_t> before = data;
  CastBulk(kF32, data.data(), kI32, data.data(), data.size());
  for (size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(data[i], static_cast<uint32_t>(static_cast<float>(i) * 0.37f));
  }
  data = before;
  CastBulk(kF32, data.data(), kTF32, data.data(), data.size());
  for (size_t i = 0; i < data.size(); ++i) EXPECT_EQ(data[i], CastCode(kF32, before[i], kTF32));
}

TEST(BulkTest, ThreadsMayMeetInOneTable) {
  std::vector<uint8_t> src(4096);
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<uint8_t>(i * 7);
  std::vector<std::vector<float>> results(4, std::vector<float>(src.size()));
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back(
        [&src, &result] { CastBulk(kF8E5M2FN, src.data(), kF32, result.data(), src.size()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) {
    for (size_t i = 0; i < src.size(); ++i) {
      const uint64_t want = CastCode(kF8E5M2FN, src[i], kF32);
      ASSERT_EQ(std::bit_cast<uint32_t>(result[i]), want);
    }
  }
}

// The vector code once more on every instruction set that this machine has and the build made.
TEST(BulkTest, EveryInstructionSetAgrees) {
  std::set<std::string> names;
  const Simd before = ChosenSimd().simd;
  for (const SimdRow& row : AllSimd()) {
    if (!HasSimd(row.simd)) continue;
    UseSimd(row.simd);
    names.insert(internal::BulkTargetName());
    for (const DType from : {kF32, kF16, kBF16}) {
      const std::vector<uint64_t> codes = Samples(from);
      const std::vector<uint8_t> src = Containers(from, codes);
      for (const DTypeRow& to : AllDTypes()) {
        if (to.type.bits > 16 && to.type != kF32 && to.type != kTF32) continue;
        ExpectBulkEqualsScalar(from, to.type, {}, codes, src);
        const CastOptions open{Rounding::kNearestEven, Overflow::kNonSaturating};
        ExpectBulkEqualsScalar(from, to.type, open, codes, src);
        if (HasFatalFailure()) return;
      }
    }
    for (const DTypeRow& from : AllDTypes()) {
      if (from.type.bits > 8) continue;
      const std::vector<uint64_t> codes = Samples(from.type);
      const std::vector<uint8_t> src = Containers(from.type, codes);
      for (const Overflow overflow :
           {Overflow::kDefault, Overflow::kSaturate, Overflow::kNonSaturating, Overflow::kWrap}) {
        ExpectBulkEqualsScalar(from.type, kF32, {Rounding::kNearestEven, overflow}, codes, src);
      }
    }
    for (const DTypeRow& from : AllDTypes()) {  // by tables of 16 results
      if (from.type.bits > 4) continue;
      std::vector<uint64_t> codes;
      for (uint64_t i = 0; i < 75; ++i) codes.push_back(i * 7 / 3 & CodeMask(from.type));
      const std::vector<uint8_t> src = Containers(from.type, codes);
      for (const DTypeRow& to : AllDTypes()) {
        if (to.type.bits <= 16) ExpectBulkEqualsScalar(from.type, to.type, {}, codes, src);
        if (HasFatalFailure()) return;
      }
    }
  }
  UseSimd(before);
  EXPECT_EQ(names.size(), static_cast<size_t>(std::ranges::count_if(
                              AllSimd(), [](const SimdRow& row) { return HasSimd(row.simd); })));
}

TEST(BulkTest, TellsItsInstructionSet) { EXPECT_GT(std::strlen(internal::BulkTargetName()), 0u); }

}  // namespace
}  // namespace tarsia::bulk_test
