// The types of GGUF. A block is random bytes, except for its scales in f16; the weights are
// computed from it here, as the comments of ggml's structs define them.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/codec.h"
#include "tests/weights/files.h"
#include "tests/weights/layer.h"

namespace tarsia::weights {
namespace {

using Block = std::vector<uint8_t>;

double Half(const Block& b, size_t at) {
  return harness::Decode(kF16, static_cast<uint64_t>(b[at] | b[at + 1] << 8));
}

// A weight of a block: a * code - c. `code` may have been made signed.
struct Parts {
  double scale = 0;
  double code = 0;
  double offset = 0;
};

// In blocks of 32, element i has the nibble i of 16 low ones followed by 16 high ones.
int Nibble(const Block& b, size_t at, size_t i) {
  return i < 16 ? b[at + i] & 15 : b[at + i - 16] >> 4;
}
int HighBit(const Block& b, size_t at, size_t i) { return b[at + i / 8] >> i % 8 & 1; }

Parts Q40(const Block& b, size_t i) { return {Half(b, 0), Nibble(b, 2, i) - 8.0, 0}; }
Parts Q41(const Block& b, size_t i) {
  return {Half(b, 0), static_cast<double>(Nibble(b, 4, i)), -Half(b, 2)};
}
Parts Q50(const Block& b, size_t i) {
  return {Half(b, 0), Nibble(b, 6, i) + 16.0 * HighBit(b, 2, i) - 16, 0};
}
Parts Q51(const Block& b, size_t i) {
  return {Half(b, 0), Nibble(b, 8, i) + 16.0 * HighBit(b, 4, i), -Half(b, 2)};
}
Parts Q80(const Block& b, size_t i) {
  return {Half(b, 0), static_cast<double>(static_cast<int8_t>(b[2 + i])), 0};
}
Parts Iq4Nl(const Block& b, size_t i) {
  constexpr int kValues[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                             1,    13,   25,  38,  53,  69,  89,  113};
  return {Half(b, 0), static_cast<double>(kValues[Nibble(b, 2, i)]), 0};
}
Parts Mxfp4(const Block& b, size_t i) {
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const int code = Nibble(b, 1, i);
  return {std::ldexp(1.0, b[0] - 127), (code >= 8 ? -1 : 1) * kValues[code % 8], 0};
}

// Q2_K: scales[16], qs[64], d, dmin. Elements of a half of 128 are in 4 layers of 2 bits.
Parts Q2K(const Block& b, size_t i) {
  const int code = b[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
  return {Half(b, 80) * (b[i / 16] & 15), static_cast<double>(code),
          Half(b, 82) * (b[i / 16] >> 4)};
}
// Q3_K: hmask[32], qs[64], scales[12], d.
Parts Q3K(const Block& b, size_t i) {
  int code = b[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
  if ((b[i % 32] >> (i / 32) & 1) == 0) code -= 4;
  const size_t s = i / 16;
  const int low = s < 8 ? b[96 + s] & 15 : b[96 + s - 8] >> 4;
  const int high = b[104 + s % 4] >> (s / 4 * 2) & 3;
  return {Half(b, 108) * ((high << 4 | low) - 32), static_cast<double>(code), 0};
}
// Q4_K and Q5_K: d, dmin, scales[12].
std::pair<int, int> ScaleAndMin(const Block& b, size_t j) {
  const size_t q = 4;
  if (j < 4) return {b[q + j] & 63, b[q + j + 4] & 63};
  return {(b[q + j + 4] & 15) | (b[q + j - 4] >> 6) << 4, b[q + j + 4] >> 4 | (b[q + j] >> 6) << 4};
}
Parts Q4K(const Block& b, size_t i) {
  const auto [scale, least] = ScaleAndMin(b, i / 32);
  const int code = b[16 + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
  return {Half(b, 0) * scale, static_cast<double>(code), Half(b, 2) * least};
}
Parts Q5K(const Block& b, size_t i) {
  const auto [scale, least] = ScaleAndMin(b, i / 32);
  int code = b[48 + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
  code += (b[16 + i % 32] >> (i / 32) & 1) * 16;
  return {Half(b, 0) * scale, static_cast<double>(code), Half(b, 2) * least};
}
// Q6_K: ql[128], qh[64], scales[16], d.
Parts Q6K(const Block& b, size_t i) {
  const size_t half = i / 128, quarter = i % 128 / 32, l = i % 32;
  const int low = b[half * 64 + quarter % 2 * 32 + l] >> (quarter / 2 * 4) & 15;
  const int high = b[128 + half * 32 + l] >> (quarter * 2) & 3;
  return {Half(b, 208) * static_cast<int8_t>(b[192 + i / 16]), (high << 4 | low) - 32.0, 0};
}

struct Kind {
  const char* name;
  uint32_t type;
  size_t elements, bytes;
  std::vector<size_t> halves;  // places of numbers in f16
  Parts (*weight)(const Block& b, size_t i);
  std::vector<size_t> scales;  // places of bytes that scale; for exact data
  bool offset = false;
};

std::vector<Kind> Kinds() {
  return {
      {"Q4_0", 2, 32, 18, {0}, Q40, {}},
      {"Q4_1", 3, 32, 20, {0, 2}, Q41, {}, true},
      {"Q5_0", 6, 32, 22, {0}, Q50, {}},
      {"Q5_1", 7, 32, 24, {0, 2}, Q51, {}, true},
      {"Q8_0", 8, 32, 34, {0}, Q80, {}},
      {"Q2_K", 10, 256, 84, {80, 82}, Q2K, {}, true},
      {"Q3_K", 11, 256, 110, {108}, Q3K, {}},
      {"Q4_K", 12, 256, 144, {0, 2}, Q4K, {}, true},
      {"Q5_K", 13, 256, 176, {0, 2}, Q5K, {}, true},
      {"Q6_K", 14, 256, 210, {208}, Q6K, {}},
      {"IQ4_NL", 20, 32, 18, {0}, Iq4Nl, {}},
      {"MXFP4", 39, 32, 17, {}, Mxfp4, {}},
  };
}

// Sets the bytes that scale to 1, so that data with small codes is exact: the form is still that of
// all bits, which random data shows.
void MakeExact(const Kind& kind, Block* b) {
  const std::string name = kind.name;
  if (name == "Q2_K") std::fill_n(b->begin(), 16, uint8_t{0x21});
  if (name == "Q3_K") {  // low 1, high 2: 33 - 32
    std::fill_n(b->begin() + 96, 8, uint8_t{0x11});
    std::fill_n(b->begin() + 104, 4, uint8_t{0xAA});
  }
  if (name == "Q4_K" || name == "Q5_K") {
    std::fill_n(b->begin() + 4, 8, uint8_t{0x01});
    std::fill_n(b->begin() + 12, 4, uint8_t{0x11});
  }
  if (name == "Q6_K") std::fill_n(b->begin() + 192, 16, uint8_t{1});
  if (name == "MXFP4") (*b)[0] = 127;
  for (size_t i = 0; i < kind.halves.size(); ++i) {
    (*b)[kind.halves[i]] = 0;
    (*b)[kind.halves[i] + 1] = i == 0 ? 0x38 : 0x3C;  // 0.5 and 1
  }
}

Layer GgufLayer(const Kind& kind, bool exact) {
  std::mt19937_64 random(21);
  Layer out;
  out.file_name = "model.gguf";
  out.name = "blk.0.ffn_up.weight";
  out.format = kind.name;
  out.exact = exact;
  out.k = 512;
  out.n = 40;
  out.weights.resize(static_cast<size_t>(out.k * out.n));
  // Offsets are divided by the scale, and the quotient is rounded.
  out.tolerance = kind.offset && !exact ? 0x1p-22 : 0;
  std::string bytes;
  for (int64_t n = 0; n < out.n; ++n) {
    for (int64_t k = 0; k < out.k; k += static_cast<int64_t>(kind.elements)) {
      Block b(kind.bytes);
      for (uint8_t& byte : b) byte = static_cast<uint8_t>(random() >> 56);
      for (const size_t half : kind.halves)
        b[half + 1] = static_cast<uint8_t>(0x28 + b[half + 1] % 4);
      if (kind.halves.empty()) b[0] = static_cast<uint8_t>(118 + b[0] % 8);
      if (n == 3 && kind.offset && !exact) b[kind.halves[0]] = b[kind.halves[0] + 1] = 0;
      if (exact) MakeExact(kind, &b);
      for (size_t i = 0; i < kind.elements; ++i) {
        const Parts parts = kind.weight(b, i);
        out.at(k + static_cast<int64_t>(i), n) = {
            parts.scale * parts.code - parts.offset,
            std::fabs(parts.scale * parts.code) + std::fabs(parts.offset), 0};
      }
      bytes.append(b.begin(), b.end());
    }
  }
  out.file = GgufFile(
      {{"output_norm.weight", 0, {2}, "12345678"}, {out.name, kind.type, {out.k, out.n}, bytes}});
  return out;
}

class GgufTest : public testing::TestWithParam<Kind> {};

TEST_P(GgufTest, IsAsTheBlocksSay) {
  CheckLayer(GgufLayer(GetParam(), false));
  CheckLayer(GgufLayer(GetParam(), true));
}

INSTANTIATE_TEST_SUITE_P(Gguf, GgufTest, testing::ValuesIn(Kinds()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tarsia::weights
