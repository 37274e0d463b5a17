// Packed weights: the fast packer against the layouts' own addresses, round trips, files.
#include "runtime/weights/packed_weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/diagnostics.h"
#include "runtime/weights/packed_order.h"
#include "runtime/weights/tsw.h"
#include "tests/harness/codec.h"

namespace tarsia::packed_weights_test {
namespace {

struct Matrix {
  CodeSource source;
  std::vector<uint8_t> codes;
};

TileMap::Fill FillFrom(const std::vector<uint8_t>& codes, int64_t n) {
  return [&codes, n](const Region& region, uint8_t* out, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      for (int64_t j = 0; j < region.columns; ++j) {
        out[i * stride + j] = codes[static_cast<size_t>((region.row + i) * n + region.column + j)];
      }
    }
  };
}

std::vector<DType> WeightTypes() {
  std::vector<DType> out;
  for (const DTypeRow& row : AllDTypes()) {
    if (LowPrecision(row.type)) out.push_back(row.type);
  }
  return out;
}

// The bits of a part, one after the other by the addresses of the layout: plain and slow.
std::vector<uint8_t> BytesByAddress(const MemLayout& layout, int bits,
                                    const std::vector<uint32_t>& codes) {
  std::vector<uint8_t> out(layout.SizeBytes(bits));
  const int64_t n = layout.shape()[1];
  for (size_t i = 0; i < codes.size(); ++i) {
    const int64_t index[] = {static_cast<int64_t>(i) / n, static_cast<int64_t>(i) % n};
    const uint64_t code = codes[i] ^ layout.Complement(index);
    for (int bit = 0; bit < bits; ++bit) {
      const uint64_t at = layout.BitAddress(index, bits, bit);
      out[at / 8] = static_cast<uint8_t>(out[at / 8] | (code >> bit & 1) << at % 8);
    }
  }
  return out;
}

WeightInfo InfoOf(DType type, DType compute, int64_t k, int64_t n, int64_t group) {
  WeightInfo info;
  info.type = type;
  info.compute = compute;
  info.k = info.whole_k = k;
  info.n = info.whole_n = n;
  info.group = group;
  return info;
}

std::vector<uint8_t> RandomCodes(DType type, int64_t count, std::mt19937_64& random) {
  std::vector<uint8_t> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<uint8_t>(random() & CodeMask(type)));
  return out;
}

TEST(PackedWeights, EveryTypeLiesWhereItsLayoutSays) {
  std::mt19937_64 random(1);
  constexpr std::pair<int64_t, int64_t> kShapes[] = {{1, 1}, {130, 67}, {128, 32}, {260, 530}};
  for (const DType type : WeightTypes()) {
    for (const DType compute : {kF16, kBF16, kI8, kF8E4M3FN}) {
      if (!CheckPackedOrder(type, compute).ok()) continue;
      for (const auto& [k, n] : kShapes) {
        SCOPED_TRACE(PackedLayoutId(type, compute) + " " + std::to_string(k));
        const std::vector<uint8_t> codes = RandomCodes(type, k * n, random);
        CodeSource source;
        source.info = InfoOf(type, compute, k, n, k);
        source.codes = FillFrom(codes, n);
        source.scales.assign(static_cast<size_t>(n), 0.5F);
        const auto packed = PackedWeights::Pack(source);
        ASSERT_TRUE(packed.ok()) << packed.error().message;
        const auto part = packed->part(WeightPart::kCodes);
        const std::vector<uint32_t> wide(codes.begin(), codes.end());
        ASSERT_EQ(std::vector<uint8_t>(part.begin(), part.end()),
                  BytesByAddress(packed->places().codes, type.bits, wide));
        EXPECT_EQ(packed->Unpack().codes, codes);
      }
    }
  }
}

// Of this process.
std::string PathOfTest() {
  return testing::TempDir() + "packed_weights_" + std::to_string(getpid()) + ".tsw";
}

// The bytes of a file, read with the standard library.
std::vector<uint8_t> BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return {text.begin(), text.end()};
}

// Of several batches, of less than one, with edges, without codes; with all parts; and weights that
// are looked at again.
TEST(PackedWeights, AFileHasTheBytesOfTheImageInMemory) {
  std::mt19937_64 random(5);
  const std::string path = PathOfTest();
  constexpr std::pair<int64_t, int64_t> kShapes[] = {{2048, 8200}, {32, 9000}, {96, 67}, {0, 5}};
  for (const auto& [k, n] : kShapes) {
    for (const float scale : {0.5F, 40000.0F}) {
      SCOPED_TRACE(std::to_string(k) + " " + std::to_string(scale));
      std::vector<uint8_t> codes = RandomCodes(kU4, k * n, random);
      for (uint8_t& code : codes) code &= 7;
      CodeSource source;
      source.info = InfoOf(kU4, kF16, k, n, 32);
      source.info.codebook.assign(16, 1);
      source.info.codebook[15] = 2;  // times 40000 it is beyond f16, but no weight has it
      source.codes = FillFrom(codes, n);
      source.scales.assign(static_cast<size_t>(k / 32 * n), scale);
      for (int64_t i = 0; i < k; ++i) source.gather.push_back(static_cast<int32_t>(k - 1 - i));
      const auto packed = PackedWeights::Pack(source);
      ASSERT_TRUE(packed.ok()) << packed.error().message;
      auto file = OutputFile::Create(path);
      ASSERT_TRUE(file.ok());
      uint64_t seen = 0, total = 0;
      const auto written = PackedWeights::PackTo(source, &*file, [&](uint64_t done, uint64_t all) {
        EXPECT_GE(done, seen);
        seen = done;
        total = all;
        return true;
      });
      ASSERT_TRUE(written.ok()) << written.error().message;
      EXPECT_LE(seen, total);
      ASSERT_TRUE(file->Commit().ok());
      const auto image = packed->image();
      EXPECT_TRUE(BytesOf(path) == std::vector<uint8_t>(image.begin(), image.end()));
      EXPECT_EQ(written->bytes, image.size());
      EXPECT_EQ(written->hash, packed->Summary().hash);
      const auto loaded = PackedWeights::Load(path);
      EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    }
  }
  std::remove(path.c_str());
}

TEST(PackedWeights, ACancelledFileIsNotThere) {
  const std::string path = PathOfTest();
  constexpr int64_t kK = 2048, kN = 8200;  // several batches, each of which asks first
  const std::vector<uint8_t> codes(kK * kN, 1);
  CodeSource source;
  source.info = InfoOf(kU4, kF16, kK, kN, kK);
  source.codes = FillFrom(codes, kN);
  source.scales.assign(kN, 0.5F);
  auto file = OutputFile::Create(path);
  ASSERT_TRUE(file.ok());
  const auto written =
      PackedWeights::PackTo(source, &*file, [](uint64_t done, uint64_t) { return done == 0; });
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().info, &diag::kWeightsCancelled);
  file = OutputFile::Create(path);  // drops the one before
  EXPECT_FALSE(std::ifstream(path).good());
}

// 200 x 327 = 65400 and 200 x 328 = 65600, which f16 rounds to an infinity.
TEST(PackedWeights, WeightsAreWithinTheRangeOfF16) {
  constexpr int64_t kK = 64, kN = 48, kGroup = 32;
  std::vector<uint8_t> codes(kK * kN, 100);
  codes[40 * kN + 7] = 200;
  const auto pack = [&](DType compute, float scale, std::vector<float> zeros,
                        DType zero_type = kU8) {
    CodeSource source;
    source.info = InfoOf(kU8, compute, kK, kN, kGroup);
    source.codes = FillFrom(codes, kN);
    source.scales.assign(kK / kGroup * kN, scale);
    if (!zeros.empty()) {
      source.info.zero = zero_type == kU8 ? ZeroPoint::kInteger : ZeroPoint::kFloat;
      source.info.zero_type = zero_type;
      source.zeros = std::move(zeros);
    }
    const auto packed = PackedWeights::Pack(source);
    return packed.ok() ? std::string() : packed.error().message;
  };
  EXPECT_EQ(pack(kF16, 327, {}), "");
  EXPECT_EQ(pack(kBF16, 328, {}), "");
  EXPECT_EQ(pack(kF16, 328, {}), "the weight of row 40, column 7 is 65600, which is beyond `f16`");
  EXPECT_EQ(pack(kF16, -328, {}),
            "the weight of row 40, column 7 is -65600, which is beyond `f16`");
  std::vector<float> zeros(kK / kGroup * kN, 0);
  zeros[kN + 7] = 1;
  EXPECT_EQ(pack(kF16, 328, zeros), "");
  zeros[kN + 7] = 0;
  zeros[9] = 255;  // (100 - 255) x 500
  EXPECT_EQ(pack(kF16, 500, zeros),
            "the weight of row 0, column 9 is -77500, which is beyond `f16`");
  zeros[9] = 1000;  // (100 - 1000) x 100, where no code times the scale is near the end of f16
  EXPECT_EQ(pack(kF16, 100, zeros, kF32),
            "the weight of row 0, column 9 is -90000, which is beyond `f16`");
}

// A file of another program, with 15 in the place of each 1.
TEST(PackedWeights, WeightsOfAFileAreWithinTheRangeOfF16) {
  constexpr int64_t kK = 64, kN = 64;
  const std::vector<uint8_t> codes(kK * kN, 1);
  for (const DType compute : {kF16, kBF16}) {
    CodeSource source;
    source.info = InfoOf(kU4, compute, kK, kN, kK);
    source.codes = FillFrom(codes, kN);
    source.scales.assign(kN, 30000);
    const auto packed = PackedWeights::Pack(source);
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    std::vector<uint8_t> image(packed->image().begin(), packed->image().end());
    ASSERT_TRUE(PackedWeights::FromBytes(image).ok());
    const PartRange& part = packed->places()[WeightPart::kCodes];
    std::fill_n(image.begin() + static_cast<std::ptrdiff_t>(part.offset), part.bytes, 0xFF);
    WriteTswHeader(packed->info(), image);
    const auto read = PackedWeights::FromBytes(image);
    EXPECT_EQ(
        read.ok() ? "" : read.error().message,
        compute == kF16 ? "the weight of row 0, column 0 is 450000, which is beyond `f16`" : "");
  }
}

TEST(PackedWeights, ScalesAndZerosLieWhereTheirLayoutSays) {
  constexpr int64_t kK = 96, kN = 131, kGroup = 32;
  const std::vector<uint8_t> codes(kK * kN, 3);
  const std::pair<DType, DType> types[] = {
      {kF16, kU8}, {kBF16, kBF16}, {kF32, kF32}, {kF8E4M3FN, kF16}, {kF16, kI8}};
  for (const auto& [scale, zero] : types) {
    CodeSource source;
    source.info = InfoOf(kU4, kF16, kK, kN, kGroup);
    source.info.scale_type = scale;
    source.info.zero = zero.IsInteger() ? ZeroPoint::kInteger : ZeroPoint::kFloat;
    source.info.zero_type = zero;
    source.codes = FillFrom(codes, kN);
    std::vector<uint32_t> scale_codes, zero_codes;
    for (int64_t i = 0; i < kK / kGroup * kN; ++i) {
      source.scales.push_back(0.25F * static_cast<float>(1 + i % 7));
      source.zeros.push_back(static_cast<float>(i % 13));
      scale_codes.push_back(static_cast<uint32_t>(
          *harness::EncodeExact(scale, 0.25 * (1 + static_cast<double>(i % 7)))));
      zero_codes.push_back(
          static_cast<uint32_t>(*harness::EncodeExact(zero, static_cast<double>(i % 13))));
    }
    const auto packed = PackedWeights::Pack(source);
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    const auto scales = packed->part(WeightPart::kScales);
    EXPECT_EQ(std::vector<uint8_t>(scales.begin(), scales.end()),
              BytesByAddress(packed->places().scales, scale.bits, scale_codes));
    const auto zeros = packed->part(WeightPart::kZeros);
    EXPECT_EQ(std::vector<uint8_t>(zeros.begin(), zeros.end()),
              BytesByAddress(packed->places().zeros, zero.bits, zero_codes));
    const UnpackedWeights back = packed->Unpack();
    EXPECT_EQ(back.scales, source.scales);
    EXPECT_EQ(back.zeros, source.zeros);
  }
}

}  // namespace
}  // namespace tarsia::packed_weights_test
