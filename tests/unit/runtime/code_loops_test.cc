// The vector loops over codes, against plain ones.
#include "runtime/weights/code_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runtime/weights/quick_codes.h"
#include "support/extents.h"

namespace tarsia::code_loops_test {
namespace {

std::vector<uint8_t> RandomBytes(int64_t count) {
  std::mt19937_64 random(7);
  std::vector<uint8_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<uint8_t>(random()));
  return out;
}

TEST(CodeLoops, WordsHaveTheBitsThatMovesSay) {
  const std::vector<uint8_t> codes = RandomBytes(4 * kCodeLanes);
  for (const int64_t words : {1, 2, 4}) {
    // From none to three moves for a byte.
    std::vector<CodeMove> moves;
    std::vector<uint32_t> first = {0};
    std::mt19937_64 random(Size(words));
    for (int64_t byte = 0; byte < 4 * words; ++byte) {
      for (int64_t i = 0; i < byte % 4; ++i) {
        const int shift = static_cast<int>(random() % 15) - 7;
        const int bits = shift >= 0 ? 255 << shift : 255 >> -shift;  // that codes can have
        moves.push_back({static_cast<uint32_t>(random() % 4),
                         static_cast<uint8_t>(random() & Size(bits)), static_cast<int8_t>(shift)});
      }
      first.push_back(static_cast<uint32_t>(moves.size()));
    }
    std::vector<uint8_t> out(Size(4 * words * kCodeLanes + 1), 0xAA);
    MakeWords(codes.data(), moves.data(), first.data(), words, out.data());
    EXPECT_EQ(out.back(), 0xAA);
    for (int64_t t = 0; t < kCodeLanes; ++t) {
      for (int64_t byte = 0; byte < 4 * words; ++byte) {
        int wanted = 0;
        for (uint32_t m = first[Size(byte)]; m < first[Size(byte + 1)]; ++m) {
          const int code = codes[Size(moves[m].slot * kCodeLanes + t)];
          wanted |= (code * 128 >> (7 - moves[m].shift)) & moves[m].mask;
        }
        ASSERT_EQ(out[Size(4 * t * words + byte)], wanted) << words << " " << t << " " << byte;
      }
    }
  }
}

TEST(CodeLoops, QuadsTakeFourRowsOfEachColumn) {
  constexpr int64_t kStep = 37;
  const std::vector<uint8_t> codes = RandomBytes(400);
  const uint32_t first[] = {0, 5, 111, 281};  // the last one reads the last byte
  std::vector<uint8_t> out(4 * kCodeLanes);
  GatherQuads(codes.data(), first, kStep, out.data());
  for (int64_t slot = 0; slot < 4; ++slot) {
    for (int64_t t = 0; t < kCodeLanes; ++t) {
      ASSERT_EQ(out[Size(slot * kCodeLanes + t)], codes[Size(first[slot] + t % 4 * kStep + t / 4)])
          << slot << " " << t;
    }
  }
}

TEST(CodeLoops, TransposesRowsOfCodes) {
  constexpr int64_t kRows = 48, kInStride = 50, kOutStride = 19;
  const std::vector<uint8_t> in = RandomBytes(15 * kInStride + kRows);
  std::vector<uint8_t> out(Size((kRows - 1) * kOutStride + kTransposedCodes));
  TransposeCodes(in.data(), kInStride, kRows, out.data(), kOutStride);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kTransposedCodes; ++j) {
      ASSERT_EQ(out[Size(i * kOutStride + j)], in[Size(j * kInStride + i)]) << i << " " << j;
    }
  }
}

TEST(CodeLoops, TransposesRowsOfNumbers) {
  constexpr int64_t kRows = 12, kInStride = 13, kOutStride = 19;
  std::vector<float> in;
  while (std::ssize(in) < 15 * kInStride + kRows) in.push_back(static_cast<float>(in.size()));
  std::vector<float> out(Size((kRows - 1) * kOutStride + kTransposedFloats));
  TransposeFloats(in.data(), kInStride, kRows, out.data(), kOutStride);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kTransposedFloats; ++j) {
      ASSERT_EQ(out[Size(i * kOutStride + j)], in[Size(j * kInStride + i)]) << i << " " << j;
    }
  }
}

TEST(CodeLoops, SplitsWordsIntoCodes) {
  constexpr int64_t kCount = 2 * kSplitWords, kStride = 40;
  const std::vector<uint8_t> words = RandomBytes(4 * kCount);
  for (const int bits : {1, 2, 4, 8}) {
    std::vector<uint8_t> out(Size(32 / bits * kStride));
    SplitWords(words.data(), kCount, bits, out.data(), kStride);
    for (int64_t i = 0; i < kCount; ++i) {
      uint64_t word = 0;
      for (int64_t b = 0; b < 4; ++b) word |= uint64_t{words[Size(4 * i + b)]} << 8 * b;
      for (int64_t j = 0; j < 32 / bits; ++j) {
        ASSERT_EQ(out[Size(j * kStride + i)], word >> j * bits & ((1U << bits) - 1))
            << bits << " " << i << " " << j;
      }
    }
  }
}

TEST(CodeLoops, RangesOf16BitNumbersAreThoseOfTheirOrder) {
  constexpr int64_t kRows = 40, kColumns = 70, kStride = 151;  // no multiple of a number's bytes
  const std::vector<uint8_t> data = RandomBytes(kRows * kStride);
  std::vector<int16_t> least(kColumns, INT16_MAX), most(kColumns, INT16_MIN);
  AddRanges16(data.data(), kStride, kRows, kColumns, least.data(), most.data());
  // Signs and magnitudes as integers: -0 is below 0.
  const auto order = [](uint16_t code) {
    return (code & 0x8000) != 0 ? -1 - (code & 0x7FFF) : code & 0x7FFF;
  };
  for (int64_t j = 0; j < kColumns; ++j) {
    int low = INT16_MAX, high = INT16_MIN;
    for (int64_t i = 0; i < kRows; ++i) {
      const auto code = static_cast<uint16_t>(data[Size(i * kStride + 2 * j)] |
                                              data[Size(i * kStride + 2 * j + 1)] << 8);
      low = std::min(low, order(code));
      high = std::max(high, order(code));
    }
    EXPECT_EQ(order(Unsortable16(least[Size(j)])), low) << j;
    EXPECT_EQ(order(Unsortable16(most[Size(j)])), high) << j;
  }
}

// A code that is said to be sure is the integer nearest to the exact quotient.
TEST(CodeLoops, QuickCodesAreTheNearestIntegersOrUnsure) {
  const IntegerRange range{-128, 127, 255};
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> zeros(-511, 511), scales(1e-3F, 1e-1F);
  int sure = 0;
  constexpr int kTries = 200000;
  for (int i = 0; i < kTries; ++i) {
    const float scale = scales(random), zero = zeros(random);
    // Near the middle of two integers, or anywhere.
    const double q = static_cast<double>(random() % 256) - 128 +
                     (i % 2 == 0 ? 0.5 : static_cast<double>(random() % 1000) / 1000);
    const auto w = static_cast<float>((q - static_cast<double>(zero)) * static_cast<double>(scale));
    int32_t code = 0;
    if (!QuickCode(w, InverseOf(scale, zero), zero, range, &code)) continue;
    ++sure;
    const double exact =
        static_cast<double>(w) / static_cast<double>(scale) + static_cast<double>(zero);
    ASSERT_EQ(code, static_cast<int32_t>(std::clamp(std::nearbyint(exact), -128.0, 127.0)) & 255)
        << w << " " << scale << " " << zero;
  }
  EXPECT_GT(sure, kTries / 3);
  int32_t code = 0;
  EXPECT_FALSE(QuickCode(1, InverseOf(0, 0), 0, range, &code));
  EXPECT_FALSE(QuickCode(1, InverseOf(1, 600), 600, range, &code));
  EXPECT_FALSE(QuickCode(1, InverseOf(std::numeric_limits<float>::max(), 0), 0, range, &code));
}

}  // namespace
}  // namespace tarsia::code_loops_test
