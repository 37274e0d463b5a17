// Bit layouts: one to one for every type, contiguous by formula. The purpose of lanes is tested
// with their recipes.
#include "layout/bit_layout.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

#include "layout/diagnostics.h"
#include "layout/text/eval.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::bit_layout_test {
namespace {

constexpr DType kSigned[] = {kI1, kI2, kI3, kI4, kI5, kI6, kI7, kI8};

void ExpectOneToOne(const BitLayout& layout) {
  std::set<std::pair<int64_t, int>> taken;
  for (int64_t slot = 0; slot < layout.count(); ++slot) {
    for (int bit = 0; bit < layout.bits(); ++bit) {
      const BitPlace place = layout.Place(slot, bit);
      ASSERT_LT(place.word, layout.words());
      ASSERT_LT(place.bit, 32);
      ASSERT_TRUE(taken.emplace(place.word, place.bit).second) << ToString(layout);
      const CodeBit back = layout.CodeAt(place.word, place.bit);
      ASSERT_EQ(back, (CodeBit{slot, static_cast<uint8_t>(bit)})) << ToString(layout);
    }
  }
  for (int64_t word = 0; word < layout.words(); ++word) {
    for (int bit = 0; bit < 32; ++bit) {
      ASSERT_EQ(layout.CodeAt(word, bit).slot < 0, taken.count({word, bit}) == 0);
    }
  }
}

bool Takes(DType compute, DType type) {
  if (compute == kBF16) return true;
  if (compute == kF16) return type.exponent <= 5;
  if (compute == kI8) return type.IsInteger();
  if (type.IsInteger()) return type.bits <= 3;
  return type == kF8E4M3FN || (type.bits < 8 && type.exponent <= 4 && type.mantissa <= 3);
}

TEST(BitLayoutTest, OneToOneForEveryType) {
  for (const DTypeRow& row : AllDTypes()) {
    if (!LowPrecision(row.type)) continue;
    for (const int64_t count : {0, 1, 5, 32, 33, 100}) {
      ExpectOneToOne(*BitLayout::Contiguous(row.type, count));
    }
    for (const DType compute : {kF16, kBF16, kI8, kF8E4M3FN}) {
      for (const int64_t count : {0, 32, 64, 128}) {
        const auto layout = BitLayout::Lanes(row.type, count, compute);
        ASSERT_EQ(layout.ok(), Takes(compute, row.type)) << row.name << DTypeName(compute);
        if (layout.ok()) ExpectOneToOne(*layout);
      }
    }
  }
}

TEST(BitLayoutTest, ContiguousIsABitStream) {
  const auto layout = BitLayout::Contiguous(kU5, 20);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->words(), 4);  // 100 bits
  EXPECT_EQ(layout->Place(6, 1), (BitPlace{0, 31}));
  EXPECT_EQ(layout->Place(6, 2), (BitPlace{1, 0}));
  EXPECT_EQ(layout->Place(19, 4), (BitPlace{3, 3}));
}

TEST(BitLayoutTest, PackAndUnpackAreInverse) {
  SCOPED_TRACE(testing::Seed());
  std::mt19937_64 random(testing::Seed());
  for (const DType type : {kU1, kI3, kU4, kI5, kF6E3M2, kU7, kF8E4M3FN}) {
    for (const BitLayout& layout :
         {*BitLayout::Contiguous(type, 37), *BitLayout::Lanes(type, 96, kF16),
          *BitLayout::Lanes(type, 96, kBF16),
          *BitLayout::Lanes(type, 96, type.IsInteger() ? kI8 : kF8E4M3FN)}) {
      std::vector<uint64_t> codes(static_cast<size_t>(layout.count())), back(codes.size());
      for (uint64_t& code : codes) code = random() & CodeMask(type);
      std::vector<uint32_t> words(static_cast<size_t>(layout.words()));
      layout.Pack(codes, words);
      layout.Unpack(words, back);
      EXPECT_EQ(back, codes) << ToString(layout);
      for (int64_t slot = 0; slot < layout.count(); ++slot) {
        for (int bit = 0; bit < layout.bits(); ++bit) {
          const BitPlace place = layout.Place(slot, bit);
          const uint64_t stored = words[place.word] >> place.bit & 1;
          const uint64_t wanted =
              (codes[static_cast<size_t>(slot)] ^ layout.Complement(slot)) >> bit & 1;
          ASSERT_EQ(stored, wanted);
        }
      }
    }
  }
}

// Turning a word may move a bit of a code across the middle, and that of its neighbour the other
// way.
TEST(BitLayoutTest, NeighboursAreHalfAWordApartAndFourShareABias) {
  for (const DType type : kSigned) {
    for (const DType compute : {kF16, kBF16}) {
      const BitLayout layout = *BitLayout::Lanes(type, 64, compute);
      for (int64_t slot = 0; slot < 64; slot += 2) {
        for (int bit = 0; bit < layout.bits(); ++bit) {
          const BitPlace low = layout.Place(slot, bit), high = layout.Place(slot + 1, bit);
          ASSERT_EQ(low.word, high.word);
          ASSERT_EQ((low.bit + 16) % 32, high.bit);
        }
        ASSERT_EQ(*layout.Unpack(slot, compute), *layout.Unpack(slot / 4 * 4, compute));
        ASSERT_EQ(*layout.Unpack(slot, compute), *layout.Unpack(slot + 1, compute));
      }
    }
  }
}

TEST(BitLayoutTest, FourNeighboursAreBytesApartAndAllShareABias) {
  const auto expect = [](DType type, DType compute) {
    const BitLayout layout = *BitLayout::Lanes(type, 64, compute);
    for (int64_t slot = 0; slot < 64; ++slot) {
      for (int bit = 0; bit < layout.bits(); ++bit) {
        const BitPlace first = layout.Place(slot / 4 * 4, bit), at = layout.Place(slot, bit);
        ASSERT_EQ(first.word, at.word);
        ASSERT_EQ((first.bit + slot % 4 * 8) % 32, at.bit);
      }
      ASSERT_EQ(*layout.Unpack(slot, compute), *layout.Unpack(0, compute));
    }
  };
  for (const DType type : kSigned) expect(type, kI8);
  for (const DType type : {kI3, kF4E2M1, kF6E3M2}) expect(type, kF8E4M3FN);
}

// Only `i8` for f16 stores a bit complemented: the one that its byte permutation cannot flip.
TEST(BitLayoutTest, Complements) {
  for (const DType type : kSigned) {
    for (const DType compute : {kF16, kBF16}) {
      const uint64_t wanted = type == kI8 && compute == kF16 ? 0x80 : 0;
      EXPECT_EQ(BitLayout::Lanes(type, 32, compute)->Complement(7), wanted) << DTypeName(type);
    }
  }
  EXPECT_EQ(BitLayout::Contiguous(kI8, 32)->Complement(7), 0U);
  EXPECT_EQ(BitLayout::Lanes(kU8, 32, kF16)->Complement(7), 0U);
}

TEST(BitLayoutTest, UnpackForms) {
  // u8 in bf16 is the value itself; in f16 the magic number 1024 stays; signed adds 2^7.
  EXPECT_EQ(BitLayout::Lanes(kU8, 32, kBF16)->Unpack(0, kBF16)->bias, 0);
  EXPECT_EQ(BitLayout::Lanes(kU8, 32, kF16)->Unpack(0, kF16)->bias, 1024);
  EXPECT_EQ(BitLayout::Lanes(kI8, 32, kF16)->Unpack(0, kF16)->bias, 1024 + 128);
  EXPECT_EQ(BitLayout::Contiguous(kU3, 7)->Unpack(3, kF16)->bias, 1024);
  EXPECT_EQ(BitLayout::Contiguous(kI3, 7)->Unpack(3, kBF16)->bias, 128 + 4);
  // In a byte: a signed code with its sign flipped, a byte as it is or less 128.
  EXPECT_EQ(BitLayout::Lanes(kU4, 32, kI8)->Unpack(0, kI8)->bias, 0);
  EXPECT_EQ(BitLayout::Lanes(kI4, 32, kI8)->Unpack(0, kI8)->bias, 8);
  EXPECT_EQ(BitLayout::Lanes(kI8, 32, kI8)->Unpack(0, kI8)->bias, 0);
  EXPECT_EQ(BitLayout::Contiguous(kU8, 32)->Unpack(0, kI8)->bias, -128);
  // 8 is the least number of f8e4m3fn whose last place is worth 1.
  EXPECT_EQ(BitLayout::Lanes(kU3, 32, kF8E4M3FN)->Unpack(0, kF8E4M3FN)->bias, 8);
  EXPECT_EQ(BitLayout::Lanes(kI3, 32, kF8E4M3FN)->Unpack(0, kF8E4M3FN)->bias, 8 + 4);
  EXPECT_EQ(BitLayout::Lanes(kF4E2M1, 32, kF8E4M3FN)->Unpack(0, kF8E4M3FN)->exponent, 6);
  EXPECT_EQ(BitLayout::Lanes(kF7E4M2, 32, kF8E4M3FN)->Unpack(0, kF8E4M3FN)->exponent, 0);
  // Floats: 2^15 for one exponent bit and f16, whose bias is 0; 2^127 for bf16; and so on.
  EXPECT_EQ(BitLayout::Lanes(kF3E1M1, 32, kF16)->Unpack(0, kF16)->exponent, 15);
  EXPECT_EQ(BitLayout::Lanes(kF4E2M1, 32, kF16)->Unpack(0, kF16)->exponent, 14);
  EXPECT_EQ(BitLayout::Lanes(kF6E3M2, 32, kF16)->Unpack(0, kF16)->exponent, 12);
  EXPECT_EQ(BitLayout::Lanes(kF8E4M3FN, 32, kF16)->Unpack(0, kF16)->exponent, 8);
  EXPECT_EQ(BitLayout::Lanes(kF8E5M2, 32, kF16)->Unpack(0, kF16)->exponent, 0);
  // Twice its value would be beyond f16.
  EXPECT_EQ(BitLayout::Lanes(kF8E5M2FNUZ, 32, kF16)->Unpack(0, kF16)->exponent, 0);
  EXPECT_EQ(BitLayout::Lanes(kF8E5M2FNUZ, 32, kBF16)->Unpack(0, kBF16)->exponent, 127 - 16);
  EXPECT_EQ(BitLayout::Lanes(kF8E6M1, 32, kBF16)->Unpack(0, kBF16)->exponent, 127 - 31);
  EXPECT_EQ(BitLayout::Lanes(kF8E6M1, 32, kBF16)->Unpack(0, kBF16)->bias, 0);
}

TEST(BitLayoutTest, Refusals) {
  const auto error = [](const auto& result) { return result.ok() ? nullptr : result.error().info; };
  EXPECT_EQ(error(BitLayout::Lanes(kU4, 33, kF16)), &diag::kLanesCount);
  EXPECT_EQ(error(BitLayout::Lanes(kU4, 32, kF32)), &diag::kLanesCompute);
  EXPECT_EQ(error(BitLayout::Lanes(kU16, 32, kF16)), &diag::kLanesType);
  EXPECT_EQ(error(BitLayout::Lanes(kE8M0, 32, kF16)), &diag::kLanesType);
  for (const DType type : {kF7E6M0, kF8E6M1, kF8E7M0}) {
    EXPECT_EQ(error(BitLayout::Lanes(type, 32, kF16)), &diag::kLanesRange);
    EXPECT_EQ(BitLayout::Lanes(type, 32, kF16).error().help, "use bf16");
    EXPECT_TRUE(BitLayout::Lanes(type, 32, kBF16).ok());
  }
  EXPECT_EQ(error(BitLayout::Lanes(kF4E2M1, 32, kI8)), &diag::kLanesI8);
  for (const DType type : {kU4, kF5E2M2, kF6E5M0, kF6E1M4, kF8E4M3, kF8E4M3FNUZ}) {
    const bool fits = type == kF5E2M2;
    EXPECT_EQ(error(BitLayout::Lanes(type, 32, kF8E4M3FN)), fits ? nullptr : &diag::kLanesF8);
  }
  EXPECT_EQ(error(BitLayout::Lanes(kU4, 32, kI8)->Unpack(0, kF16)), &diag::kUnpackCompute);
  EXPECT_EQ(error(BitLayout::Contiguous(kU4, -1)), &diag::kBitLayoutCount);
  EXPECT_EQ(error(BitLayout::Contiguous(kU4, int64_t{1} << 40)), &diag::kBitLayoutCount);
  EXPECT_EQ(error(BitLayout::Lanes(kU4, 32, kF16)->Unpack(0, kBF16)), &diag::kUnpackCompute);
  EXPECT_EQ(error(BitLayout::Contiguous(kU16, 4)->Unpack(0, kF16)), &diag::kLanesType);
  const BitLayoutFamily fixed = testing::Eval<BitLayoutFamily>("contiguous(u3, 32)");
  EXPECT_EQ(error(fixed.Apply(kU4, 32)), &diag::kBitLayoutFixed);
  EXPECT_EQ(error(fixed.Apply(kU3, 64)), &diag::kBitLayoutFixed);
  EXPECT_EQ(error(BitLayoutFamily{}.Concrete()), &diag::kBitLayoutOpen);
}

TEST(BitLayoutTest, TextRoundTrip) {
  for (const char* const text :
       {"contiguous", "contiguous(u3)", "contiguous(u3, 32)", "contiguous(count=8)", "lanes(f16)",
        "lanes(u3, 32, f16)", "lanes(f4e2m1, 64, bf16)", "lanes(u3, compute=f16)",
        "lanes(count=32, compute=bf16)", "lanes(i8)", "lanes(i5, 64, i8)", "lanes(f8e4m3fn)",
        "lanes(f4e2m1, compute=f8e4m3fn)"}) {
    EXPECT_EQ(ToString(testing::Eval<BitLayoutFamily>(text)), text);
  }
}

}  // namespace
}  // namespace tarsia::bit_layout_test
