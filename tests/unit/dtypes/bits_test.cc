#include "dtypes/bits.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "dtypes/simd.h"

namespace tarsia::bits_test {
namespace {

// Bit k of a stream, by definition.
int BitAt(const std::vector<uint8_t>& bytes, uint64_t bit) {
  return bytes[bit / 8] >> (bit % 8) & 1;
}

uint64_t Slow(const std::vector<uint8_t>& bytes, uint64_t bit, int width) {
  uint64_t value = 0;
  for (int i = 0; i < width; ++i) {
    value |= static_cast<uint64_t>(BitAt(bytes, bit + static_cast<uint64_t>(i))) << i;
  }
  return value;
}

std::vector<uint8_t> RandomBytes(size_t n, uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<uint8_t> out(n);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(rng());
  return out;
}

size_t Container(int width) { return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8; }

// Exactly as long as the stream, so that a sanitizer sees any byte read or written past it.
std::vector<uint8_t> StreamOf(uint64_t bits, uint32_t seed) {
  return RandomBytes(static_cast<size_t>((bits + 7) / 8), seed);
}

TEST(BitsTest, OrderIsLeastSignificantFirst) {
  const uint8_t bytes[] = {0b11010010, 0b00000110};
  EXPECT_EQ(ReadBits(bytes, 0, 3), 0b010u);
  EXPECT_EQ(ReadBits(bytes, 3, 3), 0b010u);
  EXPECT_EQ(ReadBits(bytes, 6, 5), 0b11011u);
}

TEST(BitsTest, ReadAndWriteAnyWidthAtAnyOffset) {
  for (int width = 1; width <= 64; ++width) {
    for (uint64_t bit = 0; bit < 17; ++bit) {
      const uint64_t end = bit + static_cast<uint64_t>(width);
      std::vector<uint8_t> bytes = StreamOf(end, static_cast<uint32_t>(width));
      ASSERT_EQ(ReadBits(bytes.data(), bit, width), Slow(bytes, bit, width));
      const std::vector<uint8_t> before = bytes;
      const uint64_t value = 0x9E3779B97F4A7C15u * (bit + 3);
      WriteBits(bytes.data(), bit, width, value);
      for (uint64_t i = 0; i < bytes.size() * 8; ++i) {
        const bool inside = i >= bit && i < end;
        const int want = inside ? static_cast<int>(value >> (i - bit) & 1) : BitAt(before, i);
        ASSERT_EQ(BitAt(bytes, i), want) << width << " at " << bit << ", bit " << i;
      }
    }
  }
}

TEST(BitsTest, UnpackReadsTheStream) {
  for (int width = 1; width <= 64; ++width) {
    for (const size_t n : {0, 1, 7, 8, 9, 16, 31, 32, 33, 64, 101, 203}) {
      for (const uint64_t offset : {0, 1, 3, 4, 7, 8, 13, 67}) {
        const uint64_t step = static_cast<uint64_t>(width);
        const std::vector<uint8_t> stream = StreamOf(offset + n * step, 77);
        std::vector<uint8_t> out(n * Container(width));
        UnpackBits(stream.data(), offset, width, n, out.data());
        for (size_t i = 0; i < n; ++i) {
          uint64_t value = 0;
          std::memcpy(&value, out.data() + i * Container(width), Container(width));
          ASSERT_EQ(value, Slow(stream, offset + i * step, width)) << width << " " << offset;
        }
      }
    }
  }
}

TEST(BitsTest, PackWritesTheStreamAndNothingElse) {
  for (int width = 1; width <= 64; ++width) {
    for (const size_t n : {0, 1, 7, 8, 9, 16, 31, 32, 33, 64, 101, 203}) {
      for (const uint64_t offset : {0, 1, 3, 4, 7, 8, 13, 67}) {
        const uint64_t step = static_cast<uint64_t>(width);
        const uint64_t end = offset + n * step;
        // Containers with bits above the width set: they must be ignored.
        const std::vector<uint8_t> codes = RandomBytes(n * Container(width), 5);
        std::vector<uint8_t> stream = StreamOf(end + 3, 6);
        const std::vector<uint8_t> before = stream;
        PackBits(codes.data(), width, n, stream.data(), offset);
        for (uint64_t bit = 0; bit < stream.size() * 8; ++bit) {
          int want = BitAt(before, bit);
          if (bit >= offset && bit < end) {
            const uint64_t element = (bit - offset) / step, within = (bit - offset) % step;
            want = BitAt(codes, element * Container(width) * 8 + within);
          }
          ASSERT_EQ(BitAt(stream, bit), want) << width << " n " << n << " offset " << offset;
        }
      }
    }
  }
}

TEST(BitsTest, PackTouchesNoByteOutside) {
  for (int width = 1; width <= 64; ++width) {
    const std::vector<uint8_t> codes = RandomBytes(19 * Container(width), 5);
    std::vector<uint8_t> stream = StreamOf(5 + 19 * static_cast<uint64_t>(width), 9);
    std::vector<uint8_t> out(codes.size());
    PackBits(codes.data(), width, 19, stream.data(), 5);
    UnpackBits(stream.data(), 5, width, 19, out.data());
    std::vector<uint8_t> again(stream.size());
    PackBits(out.data(), width, 19, again.data(), 5);
    for (uint64_t bit = 5; bit < 5 + 19 * static_cast<uint64_t>(width); ++bit) {
      ASSERT_EQ(BitAt(again, bit), BitAt(stream, bit));
    }
  }
}

// Streams and codes in memory of exactly their size, every count and offset: on each instruction
// set that this machine has, packing is the inverse of unpacking and both are the definition.
TEST(BitsTest, EveryInstructionSetAgrees) {
  const Simd running = ChosenSimd().simd;
  for (const SimdRow& row : AllSimd()) {
    if (!HasSimd(row.simd)) continue;
    UseSimd(row.simd);
    for (int width = 1; width <= 7; ++width) {
      for (size_t n = 0; n < 150; ++n) {
        for (uint64_t offset = 0; offset < 8; ++offset) {
          const uint64_t step = static_cast<uint64_t>(width), end = offset + n * step;
          const std::vector<uint8_t> stream = StreamOf(end, static_cast<uint32_t>(n));
          const auto exact = std::make_unique<uint8_t[]>(n);
          UnpackBits(stream.data(), offset, width, n, exact.get());
          for (size_t i = 0; i < n; ++i) {
            ASSERT_EQ(exact[i], Slow(stream, offset + i * step, width));
          }
          std::vector<uint8_t> back = StreamOf(end, 1);
          const std::vector<uint8_t> before = back;
          for (size_t i = 0; i < n; ++i) exact[i] = static_cast<uint8_t>(exact[i] | 0xFF << width);
          PackBits(exact.get(), width, n, back.data(), offset);
          for (uint64_t bit = 0; bit < back.size() * 8; ++bit) {
            const bool inside = bit >= offset && bit < end;
            ASSERT_EQ(BitAt(back, bit), BitAt(inside ? stream : before, bit))
                << width << " bits, " << n << " codes from bit " << offset;
          }
        }
      }
    }
  }
  UseSimd(running);
}

TEST(BitsTest, BytesForBits) {
  EXPECT_EQ(BytesForBits(0), 0u);
  EXPECT_EQ(BytesForBits(1), 1u);
  EXPECT_EQ(BytesForBits(8), 1u);
  EXPECT_EQ(BytesForBits(9), 2u);
  EXPECT_EQ(BytesForBits(UINT64_MAX), UINT64_MAX / 8 + 1);
}

}  // namespace
}  // namespace tarsia::bits_test
