#include "runtime/importers/gguf_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "runtime/importers/fill.h"
#include "runtime/importers/tensor_set.h"
#include "runtime/weights/code_loops.h"
#include "support/extents.h"

namespace tarsia {
namespace {

constexpr int kChunk = 32;  // codes are decoded so many at a time

// Of the groups of a block, one after the other: a weight is scale * value(code) - offset. Formats
// without offsets leave them alone.
struct GroupLists {
  float* scales;
  float* offsets;
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

void ScaleOnly(const uint8_t* b, GroupLists out) { out.scales[0] = LoadF16(b); }
void ScaleAndMin(const uint8_t* b, GroupLists out) {
  out.scales[0] = LoadF16(b);
  out.offsets[0] = -LoadF16(b + 2);
}
void ScaleMx4(const uint8_t* b, GroupLists out) { out.scales[0] = E8m0(b[0]); }

// ---- blocks of 256, whose scales are quantised themselves --------------------------------------

// Two bits of byte l of the half's 32, chunk by chunk.
void Codes2K(const uint8_t* b, int chunk, uint8_t* out) {
  const uint8_t* const codes = b + 16 + Size(chunk / 4) * 32;
  const int shift = chunk % 4 * 2;
  for (int l = 0; l < kChunk; ++l) out[l] = codes[l] >> shift & 3;
}
void Scales2K(const uint8_t* b, GroupLists out) {
  const float d = LoadF16(b + 80), least = LoadF16(b + 82);
  for (int i = 0; i < 16; ++i) {
    out.scales[i] = d * static_cast<float>(b[i] & 15);
    out.offsets[i] = least * static_cast<float>(b[i] >> 4);
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
void Scales3K(const uint8_t* b, GroupLists out) {
  const uint8_t* const s = b + 96;
  const float d = LoadF16(b + 108);
  for (int i = 0; i < 16; ++i) {
    const int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
    const int high = s[8 + i % 4] >> (2 * (i / 4)) & 3;
    out.scales[i] = d * static_cast<float>((low | high << 4) - 32);
  }
}

// Scale and minimum of 6 bits each: eight pairs in 12 bytes. The first four of both are the low
// bits of bytes 0 to 3 and 4 to 7, whose high bits are those of the last four.
void Scales45K(const uint8_t* b, GroupLists out) {
  constexpr uint32_t kLow = 0x3F3F3F3F, kHigh = 0x30303030, kNibbles = 0x0F0F0F0F;
  const float d = LoadF16(b), dmin = LoadF16(b + 2);
  const uint32_t scales = LoadU32(b + 4), mins = LoadU32(b + 8), rest = LoadU32(b + 12);
  const uint32_t words[] = {scales & kLow, (rest & kNibbles) | (scales >> 2 & kHigh), mins & kLow,
                            (rest >> 4 & kNibbles) | (mins >> 2 & kHigh)};
  for (int i = 0; i < 8; ++i) {
    const int shift = i % 4 * 8;
    out.scales[i] = d * static_cast<float>(words[i / 4] >> shift & 63);
    out.offsets[i] = dmin * static_cast<float>(words[2 + i / 4] >> shift & 63);
  }
}

// The low or high nibbles of a chunk's bytes.
void LowOrHigh(const uint8_t* __restrict codes, bool high, uint8_t* __restrict out) {
  if (high) {
    for (int l = 0; l < kChunk; ++l) out[l] = codes[l] >> 4;
  } else {
    for (int l = 0; l < kChunk; ++l) out[l] = codes[l] & 15;
  }
}

void Codes4K(const uint8_t* b, int chunk, uint8_t* out) {
  LowOrHigh(b + 16 + Size(chunk / 2) * 32, chunk % 2 != 0, out);
}
void Codes5K(const uint8_t* b, int chunk, uint8_t* out) {
  LowOrHigh(b + 48 + Size(chunk / 2) * 32, chunk % 2 != 0, out);
  for (int l = 0; l < kChunk; ++l) {
    out[l] = static_cast<uint8_t>(out[l] | (b[16 + l] >> chunk & 1) << 4);
  }
}

void Codes6K(const uint8_t* b, int chunk, uint8_t* out) {
  const int half = chunk / 4, quarter = chunk % 4;
  const uint8_t* const high = b + 128 + 32 * Size(half);
  LowOrHigh(b + 64 * Size(half) + Size(quarter % 2) * 32, quarter / 2 != 0, out);
  for (int l = 0; l < kChunk; ++l) {
    const int code = out[l] | (high[l] >> (2 * quarter) & 3) << 4;
    out[l] = static_cast<uint8_t>(code ^ 32);
  }
}
void Scales6K(const uint8_t* b, GroupLists out) {
  const float d = LoadF16(b + 208);
  for (int i = 0; i < 16; ++i) out.scales[i] = d * static_cast<float>(SignedByte(b[192 + i]));
}

// Columns whose blocks lie `step` bytes apart, from chunk `chunk` of a block on. As these are far
// apart, `ahead` bytes of each column of the next strip are asked for in time.
struct BlockStrip {
  const uint8_t* block;
  int64_t step;
  int64_t columns;
  int chunk;
  int64_t ahead = 0;
};

// How the blocks of a format are read. The table has functions for many blocks, so that the one for
// a block is part of their loop.
struct BlockFormat {
  uint32_t type;
  GgufBlock block;
  DType codes;
  int64_t group;
  DType scale_type;
  bool offsets;
  // Decodes `count` chunks of each column of a strip.
  void (*decode)(const BlockFormat& format, const BlockStrip& strip, int64_t count, uint8_t* out);
  // Reads the scales (and the offsets) of `blocks` blocks.
  void (*scales)(const BlockFormat& format, const uint8_t* data, int64_t blocks, GroupLists out);

  [[nodiscard]] int chunks() const { return static_cast<int>(block.elements / kChunk); }
  [[nodiscard]] int64_t groups() const { return block.elements / group; }
};

template <void (*kCodes)(const uint8_t* block, int chunk, uint8_t* out)>
void Decode(const BlockFormat& format, const BlockStrip& strip, int64_t count, uint8_t* out) {
  const int chunks = format.chunks();
  for (int64_t c = 0; c < strip.columns; ++c) {
    const uint8_t* block = strip.block + c * strip.step;
    int chunk = strip.chunk;
    for (int64_t i = 0; i < strip.ahead; i += kCacheLine) {
      __builtin_prefetch(block + strip.columns * strip.step + i);
    }
    for (const uint8_t* const end = out + count * kChunk; out != end; out += kChunk) {
      kCodes(block, chunk, out);
      if (++chunk < chunks) continue;
      chunk = 0;
      block += format.block.bytes;
    }
  }
}

template <void (*kScales)(const uint8_t* block, GroupLists out)>
void Scales(const BlockFormat& format, const uint8_t* data, int64_t blocks, GroupLists out) {
  const int64_t groups = format.groups();
  for (int64_t i = 0; i < blocks; ++i) {
    kScales(data + i * format.block.bytes, {out.scales + i * groups, out.offsets + i * groups});
  }
}

constexpr BlockFormat kFormats[] = {
    {2, {"Q4_0", 32, 18, true}, kI4, 32, kF16, false, Decode<Codes40>, Scales<ScaleOnly>},
    {3, {"Q4_1", 32, 20, true}, kU4, 32, kF16, true, Decode<Codes41>, Scales<ScaleAndMin>},
    {6, {"Q5_0", 32, 22, true}, kI5, 32, kF16, false, Decode<Codes50>, Scales<ScaleOnly>},
    {7, {"Q5_1", 32, 24, true}, kU5, 32, kF16, true, Decode<Codes51>, Scales<ScaleAndMin>},
    {8, {"Q8_0", 32, 34, true}, kI8, 32, kF16, false, Decode<Codes80>, Scales<ScaleOnly>},
    {10, {"Q2_K", 256, 84, true}, kU2, 16, kF32, true, Decode<Codes2K>, Scales<Scales2K>},
    {11, {"Q3_K", 256, 110, true}, kI3, 16, kF32, false, Decode<Codes3K>, Scales<Scales3K>},
    {12, {"Q4_K", 256, 144, true}, kU4, 32, kF32, true, Decode<Codes4K>, Scales<Scales45K>},
    {13, {"Q5_K", 256, 176, true}, kU5, 32, kF32, true, Decode<Codes5K>, Scales<Scales45K>},
    {14, {"Q6_K", 256, 210, true}, kI6, 16, kF32, false, Decode<Codes6K>, Scales<Scales6K>},
    {20, {"IQ4_NL", 32, 18, true}, kU4, 32, kF16, false, Decode<CodesIq4>, Scales<ScaleOnly>},
    {39, {"MXFP4", 32, 17, true}, kF4E2M1, 32, kE8M0, false, Decode<CodesMx4>, Scales<ScaleMx4>},
};

struct PlainType {
  uint32_t type;
  GgufBlock block;
};
constexpr PlainType kPlain[] = {{0, {"F32", 1, 4, false}},  {1, {"F16", 1, 2, false}},
                                {24, {"I8", 1, 1, false}},  {25, {"I16", 1, 2, false}},
                                {26, {"I32", 1, 4, false}}, {27, {"I64", 1, 8, false}},
                                {28, {"F64", 1, 8, false}}, {30, {"BF16", 1, 2, false}}};

// Types of ggml that are not read.
struct TypeName {
  uint32_t type;
  const char* name;
};
constexpr TypeName kOtherTypes[] = {{4, "Q4_2"},     {5, "Q4_3"},    {9, "Q8_1"},     {15, "Q8_K"},
                                    {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
                                    {21, "IQ3_S"},   {22, "IQ2_S"},  {23, "IQ4_XS"},  {29, "IQ1_M"},
                                    {34, "TQ1_0"},   {35, "TQ2_0"},  {40, "NVFP4"}};

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
        chunk_bits_(std::countr_zero(static_cast<uint64_t>(format.chunks()))),
        chunk_groups_(kChunk / format.group),
        columns_(n) {}

  // Goes on to the matrix that lies so many behind it.
  void Skip(int64_t matrices) { data_ = Block(matrices * columns_ * blocks_); }
  // Fills the scales, and the zero points of a format with offsets.
  void ReadScales(CodeSource* out);
  // Codes of columns of w (rows in memory), one after the other; the rows of the region are
  // multiples of a chunk.
  void ReadCodes(const Region& region, uint8_t* out) const;

 private:
  // Of all blocks, column by column.
  [[nodiscard]] const uint8_t* Block(int64_t number) const {
    return data_ + number * format_.block.bytes;
  }
  void NoteConstants(int64_t column, int64_t columns, GroupLists groups);
  void ClearConstants(const Region& region, uint8_t* out) const;

  const BlockFormat& format_;
  const uint8_t* data_;
  int64_t blocks_;        // of a column
  int chunk_bits_;        // log2 of the chunks of a block
  int64_t chunk_groups_;  // of a chunk
  int64_t columns_;
  // Of each block, row by row: a bit for a constant group. None where no group is constant.
  std::shared_ptr<uint16_t[]> constants_;
};

// Weights of a group without a scale are all -offset: as (0 - 1) * offset, they have the form of
// the others.
uint32_t IsConstant(float scale, float offset) {
  // Compared as integers, which becomes vector code.
  const uint32_t magnitude = std::bit_cast<uint32_t>(scale) << 1;
  const uint32_t other = std::bit_cast<uint32_t>(offset) << 1;
  return static_cast<uint32_t>(magnitude == 0) & static_cast<uint32_t>(other != 0);
}

bool HasConstants(int64_t count, GroupLists groups) {
  uint32_t any = 0;
  for (int64_t i = 0; i < count; ++i) any |= IsConstant(groups.scales[i], groups.offsets[i]);
  return any != 0;
}

// Makes offsets zero points.
void MakeZeros(int64_t count, float* __restrict scales, float* __restrict offsets) {
  for (int64_t i = 0; i < count; ++i) {
    const float scale = scales[i];
    const float offset = offsets[i];
    const uint32_t constant = IsConstant(scale, offset);
    const float zero = offset / (scale != 0 ? scale : 1);
    scales[i] = constant != 0 ? offset : scale;
    offsets[i] = constant != 0 ? 1 : zero;
  }
}

// Notes which groups of columns are constant.
void BlockMatrix::NoteConstants(int64_t column, int64_t columns, GroupLists groups) {
  const int64_t count = format_.groups();
  for (int64_t c = column; c < column + columns; ++c) {
    for (int64_t i = 0; i < blocks_; ++i, groups.scales += count, groups.offsets += count) {
      uint32_t mask = 0;
      for (int64_t g = 0; g < count; ++g) {
        mask |= IsConstant(groups.scales[g], groups.offsets[g]) << g;
      }
      constants_[i * columns_ + c] = static_cast<uint16_t>(mask);
    }
  }
}

void BlockMatrix::ReadScales(CodeSource* out) {
  const int64_t groups = blocks_ * format_.groups();
  out->scales.resize(Size(groups * columns_));
  if (format_.offsets) out->zeros.resize(out->scales.size());
  if (format_.offsets) constants_ = std::make_shared<uint16_t[]>(Size(columns_ * blocks_));
  std::atomic<bool> constant{false};
  // A few columns at a time: each is read as it lies, and a line of the scales is written at once.
  constexpr int64_t kColumns = kTransposedFloats;
  ParallelFor((columns_ + kColumns - 1) / kColumns, [&](int64_t strip) {
    const int64_t first = strip * kColumns;
    const int64_t columns = std::min(kColumns, columns_ - first);
    std::vector<float> scales(Size(columns * groups)), offsets(scales.size());
    const GroupLists lists{scales.data(), offsets.data()};
    format_.scales(format_, Block(first * blocks_), columns * blocks_, lists);
    if (format_.offsets) {
      const int64_t count = std::ssize(scales);
      if (HasConstants(count, lists)) {
        NoteConstants(first, columns, lists);
        constant.store(true, std::memory_order_relaxed);
      }
      MakeZeros(count, scales.data(), offsets.data());
    }
    const auto store = [&](const std::vector<float>& from, std::vector<float>* to) {
      float* const rows = to->data() + first;
      const int64_t quick = columns == kTransposedFloats ? groups / 4 * 4 : 0;
      TransposeFloats(from.data(), groups, quick, rows, columns_);
      for (int64_t g = quick; g < groups; ++g) {
        for (int64_t c = 0; c < columns; ++c) rows[g * columns_ + c] = from[Size(c * groups + g)];
      }
    };
    store(scales, &out->scales);
    if (format_.offsets) store(offsets, &out->zeros);
  });
  if (!constant) constants_ = nullptr;
}

// Makes the codes 0 that are in constant groups.
void BlockMatrix::ClearConstants(const Region& region, uint8_t* out) const {
  for (int64_t row = 0; row < region.rows; row += kChunk) {
    const int64_t chunk = (region.row + row) / kChunk;
    const int64_t first = (chunk & (format_.chunks() - 1)) * chunk_groups_;  // of its groups
    const uint16_t* const constants =
        constants_.get() + (chunk >> chunk_bits_) * columns_ + region.column;
    for (int64_t c = 0; c < region.columns; ++c) {
      for (int64_t g = 0; constants[c] != 0 && g < chunk_groups_; ++g) {
        if ((constants[c] >> (first + g) & 1) == 0) continue;
        std::fill_n(out + c * region.rows + row + g * format_.group, format_.group, uint8_t{0});
      }
    }
  }
}

void BlockMatrix::ReadCodes(const Region& region, uint8_t* out) const {
  const int64_t first = region.row / kChunk;
  const int64_t count = region.rows / kChunk;
  const int64_t number = region.column * blocks_ + (first >> chunk_bits_);
  const int64_t step = blocks_ * format_.block.bytes;
  BlockStrip strip{Block(number), step, region.columns,
                   static_cast<int>(first & (format_.chunks() - 1))};
  if (strip.chunk == 0 && region.column + 2 * region.columns <= columns_) {
    strip.ahead = (((count - 1) >> chunk_bits_) + 1) * format_.block.bytes;
  }
  format_.decode(format_, strip, count, out);
  if (constants_) ClearConstants(region, out);
}

}  // namespace

std::optional<GgufBlock> GgufBlockSize(uint32_t type) {
  if (const BlockFormat* const format = FindFormat(type); format != nullptr) return format->block;
  for (const PlainType& plain : kPlain) {
    if (plain.type == type) return plain.block;
  }
  return std::nullopt;
}

std::string GgufTypeName(uint32_t type) {
  if (const auto block = GgufBlockSize(type)) return std::string(block->name);
  for (const TypeName& other : kOtherTypes) {
    if (other.type == type) return other.name;
  }
  return std::to_string(type);
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
  out.codes =
      FromStrips([matrix](const Region& region, uint8_t* to) { matrix.ReadCodes(region, to); });
  return out;
}

}  // namespace tarsia
