#include "runtime/importers/gguf_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "runtime/importers/fill.h"
#include "runtime/importers/tensor_set.h"
#include "support/extents.h"

namespace tarsia {
namespace {

constexpr int kChunk = 32;  // codes are decoded so many at a time

// A weight is scale * value(code) - offset.
struct BlockAffine {
  float scale = 0;
  float offset = 0;
};

float E8m0(uint8_t code) { return code == 0xFF ? std::nanf("") : std::ldexp(1.0F, code - 127); }

int8_t SignedByte(uint8_t byte) { return static_cast<int8_t>(byte); }

// ---- blocks of 32: a scale (and an offset), then the codes -------------------------------------

// Element j in the low nibble of byte j, element j + 16 in its high nibble; `flip` makes signed
// codes.
void Nibbles(const uint8_t* __restrict codes, uint8_t flip, uint8_t* __restrict out) {
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<uint8_t>((codes[j] & 15) ^ flip);
    out[j + 16] = static_cast<uint8_t>(codes[j] >> 4 ^ flip);
  }
}

// The same with bit j of `high` as bit 4 of element j.
void Fives(const uint8_t* __restrict high, const uint8_t* __restrict codes, uint8_t flip,
           uint8_t* __restrict out) {
  Nibbles(codes, flip, out);
  const uint32_t bits = LoadU32(high);
  for (int j = 0; j < kChunk; ++j) out[j] = static_cast<uint8_t>(out[j] ^ (bits >> j & 1) << 4);
}

void Codes40(const uint8_t* b, int /*chunk*/, uint8_t* out) { Nibbles(b + 2, 8, out); }
void Codes41(const uint8_t* b, int /*chunk*/, uint8_t* out) { Nibbles(b + 4, 0, out); }
void Codes50(const uint8_t* b, int /*chunk*/, uint8_t* out) { Fives(b + 2, b + 6, 16, out); }
void Codes51(const uint8_t* b, int /*chunk*/, uint8_t* out) { Fives(b + 4, b + 8, 0, out); }
void Codes80(const uint8_t* b, int /*chunk*/, uint8_t* out) { std::memcpy(out, b + 2, kChunk); }
void CodesIq4(const uint8_t* b, int /*chunk*/, uint8_t* out) { Nibbles(b + 2, 0, out); }
void CodesMx4(const uint8_t* b, int /*chunk*/, uint8_t* out) { Nibbles(b + 1, 0, out); }

void ScaleOnly(const uint8_t* b, BlockAffine* out) { out[0] = {LoadF16(b), 0}; }
void ScaleAndMin(const uint8_t* b, BlockAffine* out) { out[0] = {LoadF16(b), -LoadF16(b + 2)}; }
void ScaleMx4(const uint8_t* b, BlockAffine* out) { out[0] = {E8m0(b[0]), 0}; }

// ---- blocks of 256, whose scales are quantised themselves --------------------------------------

// Two bits of byte l of the half's 32, chunk by chunk.
void Codes2K(const uint8_t* b, int chunk, uint8_t* out) {
  const uint8_t* const codes = b + 16 + Size(chunk / 4) * 32;
  const int shift = chunk % 4 * 2;
  for (int l = 0; l < kChunk; ++l) out[l] = codes[l] >> shift & 3;
}
void Scales2K(const uint8_t* b, BlockAffine* out) {
  const float d = LoadF16(b + 80), least = LoadF16(b + 82);
  for (int i = 0; i < 16; ++i) {
    out[i] = {d * static_cast<float>(b[i] & 15), least * static_cast<float>(b[i] >> 4)};
  }
}

// Bit `chunk` of the masks is the third bit; a code is the value plus 4.
void Codes3K(const uint8_t* b, int chunk, uint8_t* out) {
  const uint8_t* const codes = b + 32 + Size(chunk / 4) * 32;
  const int shift = chunk % 4 * 2;
  for (int l = 0; l < kChunk; ++l) {
    const int code = (codes[l] >> shift & 3) | (b[l] >> chunk & 1) << 2;
    out[l] = static_cast<uint8_t>(code ^ 4);
  }
}
void Scales3K(const uint8_t* b, BlockAffine* out) {
  const uint8_t* const s = b + 96;
  const float d = LoadF16(b + 108);
  for (int i = 0; i < 16; ++i) {
    const int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
    const int high = s[8 + i % 4] >> (2 * (i / 4)) & 3;
    out[i] = {d * static_cast<float>((low | high << 4) - 32), 0};
  }
}

// Scale and minimum of 6 bits each: eight pairs in 12 bytes.
void Scales45K(const uint8_t* b, BlockAffine* out) {
  const uint8_t* const s = b + 4;
  const float d = LoadF16(b), dmin = LoadF16(b + 2);
  for (int i = 0; i < 4; ++i) {
    out[i] = {d * static_cast<float>(s[i] & 63), dmin * static_cast<float>(s[i + 4] & 63)};
    const int scale = (s[i + 8] & 15) | s[i] >> 6 << 4;
    const int least = s[i + 8] >> 4 | s[i + 4] >> 6 << 4;
    out[i + 4] = {d * static_cast<float>(scale), dmin * static_cast<float>(least)};
  }
}
void Codes4K(const uint8_t* b, int chunk, uint8_t* out) {
  const uint8_t* const codes = b + 16 + Size(chunk / 2) * 32;
  const int shift = chunk % 2 * 4;
  for (int l = 0; l < kChunk; ++l) out[l] = codes[l] >> shift & 15;
}
void Codes5K(const uint8_t* b, int chunk, uint8_t* out) {
  const uint8_t* const codes = b + 48 + Size(chunk / 2) * 32;
  const int shift = chunk % 2 * 4;
  for (int l = 0; l < kChunk; ++l) {
    out[l] = static_cast<uint8_t>((codes[l] >> shift & 15) | (b[16 + l] >> chunk & 1) << 4);
  }
}

void Codes6K(const uint8_t* b, int chunk, uint8_t* out) {
  const int half = chunk / 4, quarter = chunk % 4;
  const uint8_t* const low = b + 64 * Size(half) + Size(quarter % 2) * 32;
  const uint8_t* const high = b + 128 + 32 * Size(half);
  for (int l = 0; l < kChunk; ++l) {
    const int code = (low[l] >> (quarter / 2 * 4) & 15) | (high[l] >> (2 * quarter) & 3) << 4;
    out[l] = static_cast<uint8_t>(code ^ 32);
  }
}
void Scales6K(const uint8_t* b, BlockAffine* out) {
  const float d = LoadF16(b + 208);
  for (int i = 0; i < 16; ++i) out[i] = {d * static_cast<float>(SignedByte(b[192 + i])), 0};
}

// The scales of blocks that lie one after the other.
template <void (*kScales)(const uint8_t* block, BlockAffine* out)>
void Every(const uint8_t* data, int64_t block_bytes, int64_t groups, int64_t blocks,
           BlockAffine* out) {
  for (int64_t i = 0; i < blocks; ++i) kScales(data + i * block_bytes, out + i * groups);
}

struct BlockFormat {
  uint32_t type;
  GgufBlock block;
  DType codes;
  int64_t group;
  DType scale_type;
  bool offsets;
  void (*decode)(const uint8_t* block, int chunk, uint8_t* out);
  void (*scales)(const uint8_t* data, int64_t block_bytes, int64_t groups, int64_t blocks,
                 BlockAffine* out);
};

constexpr BlockFormat kFormats[] = {
    {2, {"Q4_0", 32, 18, true}, kI4, 32, kF16, false, Codes40, Every<ScaleOnly>},
    {3, {"Q4_1", 32, 20, true}, kU4, 32, kF16, true, Codes41, Every<ScaleAndMin>},
    {6, {"Q5_0", 32, 22, true}, kI5, 32, kF16, false, Codes50, Every<ScaleOnly>},
    {7, {"Q5_1", 32, 24, true}, kU5, 32, kF16, true, Codes51, Every<ScaleAndMin>},
    {8, {"Q8_0", 32, 34, true}, kI8, 32, kF16, false, Codes80, Every<ScaleOnly>},
    {10, {"Q2_K", 256, 84, true}, kU2, 16, kF32, true, Codes2K, Every<Scales2K>},
    {11, {"Q3_K", 256, 110, true}, kI3, 16, kF32, false, Codes3K, Every<Scales3K>},
    {12, {"Q4_K", 256, 144, true}, kU4, 32, kF32, true, Codes4K, Every<Scales45K>},
    {13, {"Q5_K", 256, 176, true}, kU5, 32, kF32, true, Codes5K, Every<Scales45K>},
    {14, {"Q6_K", 256, 210, true}, kI6, 16, kF32, false, Codes6K, Every<Scales6K>},
    {20, {"IQ4_NL", 32, 18, true}, kU4, 32, kF16, false, CodesIq4, Every<ScaleOnly>},
    {39, {"MXFP4", 32, 17, true}, kF4E2M1, 32, kE8M0, false, CodesMx4, Every<ScaleMx4>},
};

struct PlainType {
  uint32_t type;
  GgufBlock block;
};
constexpr PlainType kPlain[] = {{0, {"F32", 1, 4, false}},  {1, {"F16", 1, 2, false}},
                                {24, {"I8", 1, 1, false}},  {25, {"I16", 1, 2, false}},
                                {26, {"I32", 1, 4, false}}, {27, {"I64", 1, 8, false}},
                                {28, {"F64", 1, 8, false}}, {30, {"BF16", 1, 2, false}}};

const BlockFormat* FindFormat(uint32_t type) {
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                         [type](const BlockFormat& f) { return f.type == type; });
  return found == std::end(kFormats) ? nullptr : found;
}

// A matrix within the file.
class BlockMatrix {
 public:
  BlockMatrix(const BlockFormat& format, const uint8_t* data, int64_t k, int64_t n)
      : format_(format),
        data_(data),
        blocks_(k / format.block.elements),
        groups_(format.block.elements / format.group),
        chunk_bits_(std::countr_zero(static_cast<uint64_t>(format.block.elements / kChunk))),
        columns_(n) {}

  // Goes on to the matrix that lies so many behind it.
  void Skip(int64_t matrices) { data_ = Block(matrices * columns_ * blocks_); }
  // Fills the scales, and the zero points of a format with offsets.
  void ReadScales(CodeSource* out);
  // Codes of a column of w (a row in memory); `row` and `count` are multiples of a chunk.
  void ReadCodes(int64_t column, int64_t row, int64_t count, uint8_t* out) const;

 private:
  // Of all blocks, column by column.
  [[nodiscard]] const uint8_t* Block(int64_t number) const {
    return data_ + number * format_.block.bytes;
  }
  void ClearConstants(uint16_t constants, int chunk, uint8_t* out) const;

  const BlockFormat& format_;
  const uint8_t* data_;
  int64_t blocks_;  // of a column
  int64_t groups_;  // of a block
  int chunk_bits_;  // log2 of the chunks of a block
  int64_t columns_;
  std::shared_ptr<uint16_t[]> constants_;  // of each block: a bit for a group without a scale
};

// Makes offsets zero points. Which of the groups of a block are constant: weights of a group
// without a scale are all -offset; as (0 - 1) * offset, they have the form of the others.
uint16_t MakeZeros(BlockAffine* block, int64_t groups) {
  uint32_t constants = 0;
  for (int64_t g = 0; g < groups; ++g) {
    const auto [scale, offset] = block[g];
    const bool constant = scale == 0 && offset != 0;
    const float zero = offset / (scale != 0 ? scale : 1);
    constants |= (constant ? 1U : 0U) << g;
    block[g] = {constant ? offset : scale, constant ? 1 : zero};
  }
  return static_cast<uint16_t>(constants);
}

void BlockMatrix::ReadScales(CodeSource* out) {
  out->scales.resize(Size(blocks_ * groups_ * columns_));
  if (format_.offsets) out->zeros.resize(out->scales.size());
  if (format_.offsets) constants_ = std::make_shared<uint16_t[]>(Size(columns_ * blocks_));
  // A few columns at a time: each is read as it lies, and a line of the scales is written at once.
  constexpr int64_t kColumns = 16;
  const int64_t groups = blocks_ * groups_;
  ParallelFor((columns_ + kColumns - 1) / kColumns, [&](int64_t strip) {
    const int64_t first = strip * kColumns;
    const int64_t columns = std::min(kColumns, columns_ - first);
    std::vector<BlockAffine> affines(Size(columns * groups));
    format_.scales(Block(first * blocks_), format_.block.bytes, groups_, columns * blocks_,
                   affines.data());
    for (int64_t i = 0; format_.offsets && i < columns * blocks_; ++i) {
      constants_[first * blocks_ + i] = MakeZeros(affines.data() + i * groups_, groups_);
    }
    for (int64_t g = 0; g < groups; ++g) {
      const BlockAffine* const from = affines.data() + g;
      const size_t at = Size(g * columns_ + first);
      for (int64_t c = 0; c < columns; ++c) out->scales[at + Size(c)] = from[c * groups].scale;
      if (!format_.offsets) continue;
      for (int64_t c = 0; c < columns; ++c) out->zeros[at + Size(c)] = from[c * groups].offset;
    }
  });
}

// Makes the codes of a chunk 0 that are in constant groups.
void BlockMatrix::ClearConstants(uint16_t constants, int chunk, uint8_t* out) const {
  const int64_t first = int64_t{chunk} * kChunk;
  for (int64_t i = 0; i < kChunk; i += format_.group) {
    if ((constants >> ((first + i) / format_.group) & 1) != 0) {
      std::fill_n(out + i, format_.group, uint8_t{0});
    }
  }
}

void BlockMatrix::ReadCodes(int64_t column, int64_t row, int64_t count, uint8_t* out) const {
  const int64_t chunks = int64_t{1} << chunk_bits_;  // of a block
  const int64_t first = row / kChunk;
  int64_t number = column * blocks_ + (first >> chunk_bits_);
  const uint8_t* block = Block(number);
  // Columns are read one after the other, and lie apart: blocks that are new are asked for in time.
  constexpr int64_t kAhead = 16;
  if (column + kAhead < columns_ && (first & (chunks - 1)) == 0) {
    const uint8_t* const ahead = block + kAhead * blocks_ * format_.block.bytes;
    const int64_t touched = (((count - 1) / kChunk) >> chunk_bits_) + 1;
    for (int64_t line = 0; line < touched * format_.block.bytes + 63; line += 64) {
      __builtin_prefetch(ahead + line);
    }
  }
  auto chunk = static_cast<int>(first & (chunks - 1));
  for (int64_t i = 0; i < count; i += kChunk) {
    format_.decode(block, chunk, out + i);
    if (constants_ && constants_[number] != 0) ClearConstants(constants_[number], chunk, out + i);
    if (++chunk < chunks) continue;
    chunk = 0;
    ++number;
    block += format_.block.bytes;
  }
}

}  // namespace

std::optional<GgufBlock> GgufBlockSize(uint32_t type) {
  if (const BlockFormat* const format = FindFormat(type); format != nullptr) return format->block;
  for (const PlainType& plain : kPlain) {
    if (plain.type == type) return plain.block;
  }
  return std::nullopt;
}

Result<CodeSource> ReadGguf(const GgufTensor& tensor, const uint8_t* file, int64_t index) {
  const BlockFormat* const format = FindFormat(tensor.type);
  if (format == nullptr) {
    return TensorError(tensor.name, fmt::format("its type {} is not one of weights", tensor.type));
  }
  if (tensor.extents.size() < 2) return TensorError(tensor.name, "it is no matrix");
  int64_t matrices = 1;
  for (size_t i = 2; i < tensor.extents.size(); ++i) matrices *= tensor.extents[i];
  if (tensor.bytes == 0 || index < 0 || index >= matrices) {
    return TensorError(tensor.name, fmt::format("it has no matrix {}", index));
  }
  CodeSource out;
  WeightInfo& info = out.info;
  info.type = format->codes;
  info.k = info.whole_k = tensor.extents[0];
  info.n = info.whole_n = tensor.extents[1];
  info.group = format->group;
  info.scale_type = format->scale_type;
  if (format->offsets) {
    info.scale_type = kF32;  // that of a block without a scale is an offset
    info.zero = ZeroPoint::kFloat;
    info.zero_type = kF32;
  }
  if (format->block.name == "IQ4_NL") {
    const Codebook* const book = FindCodebook("iq4_nl");
    info.codebook.assign(book->values.begin(), book->values.end());
  }
  BlockMatrix matrix(*format, file + tensor.offset, info.k, info.n);
  matrix.Skip(index);
  matrix.ReadScales(&out);
  out.codes = FromColumns([matrix](int64_t column, int64_t row, int64_t count, uint8_t* to) {
    matrix.ReadCodes(column, row, count, to);
  });
  return out;
}

}  // namespace tarsia
