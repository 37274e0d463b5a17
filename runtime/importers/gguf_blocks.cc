#include "runtime/importers/gguf_blocks.h"

#include <fmt/format.h>

#include <algorithm>
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

constexpr int kMostGroups = 16;  // of a block

struct BlockFormat {
  uint32_t type;
  GgufBlock block;
  DType codes;
  int64_t group;
  DType scale_type;
  bool offsets;
  void (*decode)(const uint8_t* block, int chunk, uint8_t* out);
  void (*scales)(const uint8_t* block, BlockAffine* out);  // of all its groups
};

constexpr BlockFormat kFormats[] = {
    {2, {"Q4_0", 32, 18, true}, kI4, 32, kF16, false, Codes40, ScaleOnly},
    {3, {"Q4_1", 32, 20, true}, kU4, 32, kF16, true, Codes41, ScaleAndMin},
    {6, {"Q5_0", 32, 22, true}, kI5, 32, kF16, false, Codes50, ScaleOnly},
    {7, {"Q5_1", 32, 24, true}, kU5, 32, kF16, true, Codes51, ScaleAndMin},
    {8, {"Q8_0", 32, 34, true}, kI8, 32, kF16, false, Codes80, ScaleOnly},
    {10, {"Q2_K", 256, 84, true}, kU2, 16, kF32, true, Codes2K, Scales2K},
    {11, {"Q3_K", 256, 110, true}, kI3, 16, kF32, false, Codes3K, Scales3K},
    {12, {"Q4_K", 256, 144, true}, kU4, 32, kF32, true, Codes4K, Scales45K},
    {13, {"Q5_K", 256, 176, true}, kU5, 32, kF32, true, Codes5K, Scales45K},
    {14, {"Q6_K", 256, 210, true}, kI6, 16, kF32, false, Codes6K, Scales6K},
    {20, {"IQ4_NL", 32, 18, true}, kU4, 32, kF16, false, CodesIq4, ScaleOnly},
    {39, {"MXFP4", 32, 17, true}, kF4E2M1, 32, kE8M0, false, CodesMx4, ScaleMx4},
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

// Weights of a block without a scale are all -offset: as (0 - 1) * offset, they have the form of
// the others.
bool IsConstant(const BlockAffine& affine) { return affine.scale == 0 && affine.offset != 0; }

float ZeroOf(const BlockAffine& affine) {
  if (affine.scale == 0) return IsConstant(affine) ? 1 : 0;
  return affine.offset / affine.scale;
}

// A matrix within the file.
class BlockMatrix {
 public:
  BlockMatrix(const BlockFormat& format, const uint8_t* data, int64_t k, int64_t n)
      : format_(format),
        data_(data),
        blocks_(k / format.block.elements),
        groups_(format.block.elements / format.group),
        columns_(n) {}

  // Goes on to the matrix that lies so many behind it.
  void Skip(int64_t matrices) { data_ = Block(matrices * columns_, 0); }
  // Fills the scales, and the zero points of a format with offsets.
  void ReadScales(CodeSource* out);
  // Codes of a column of w (a row in memory); `row` and `count` are multiples of a chunk.
  void ReadCodes(int64_t column, int64_t row, int64_t count, uint8_t* out) const;

 private:
  [[nodiscard]] const uint8_t* Block(int64_t column, int64_t block) const {
    return data_ + (column * blocks_ + block) * format_.block.bytes;
  }
  void ClearConstants(const uint8_t* block, int chunk, uint8_t* out) const;

  const BlockFormat& format_;
  const uint8_t* data_;
  int64_t blocks_;  // of a column
  int64_t groups_;  // of a block
  int64_t columns_;
  std::shared_ptr<uint8_t[]> constants_;  // of each block: whether groups have no scale
};

void BlockMatrix::ReadScales(CodeSource* out) {
  out->scales.resize(Size(blocks_ * groups_ * columns_));
  if (format_.offsets) out->zeros.resize(out->scales.size());
  if (format_.offsets) constants_ = std::make_shared<uint8_t[]>(Size(columns_ * blocks_));
  // A few columns at a time: each is read as it lies, and a line of the scales is written at once.
  constexpr int64_t kColumns = 16;
  const int64_t groups = blocks_ * groups_;
  ParallelFor((columns_ + kColumns - 1) / kColumns, [&](int64_t strip) {
    const int64_t first = strip * kColumns;
    const int64_t columns = std::min(kColumns, columns_ - first);
    std::vector<BlockAffine> affines(Size(columns * groups));
    for (int64_t i = 0; i < columns * blocks_; ++i) {
      BlockAffine* const here = affines.data() + i * groups_;
      format_.scales(Block(first, i), here);
      if (!format_.offsets) continue;
      constants_[first * blocks_ + i] = std::any_of(here, here + groups_, IsConstant) ? 1 : 0;
    }
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t c = 0; c < columns; ++c) {
        const BlockAffine affine = affines[Size(c * groups + g)];
        const size_t at = Size(g * columns_ + first + c);
        out->scales[at] = IsConstant(affine) ? affine.offset : affine.scale;
        if (format_.offsets) out->zeros[at] = ZeroOf(affine);
      }
    }
  });
}

// Makes the codes of groups without a scale 0.
void BlockMatrix::ClearConstants(const uint8_t* block, int chunk, uint8_t* out) const {
  BlockAffine affines[kMostGroups];
  format_.scales(block, affines);
  for (int64_t i = 0; i < kChunk; i += format_.group) {
    if (IsConstant(affines[(chunk * kChunk + i) / format_.group])) {
      std::fill_n(out + i, format_.group, uint8_t{0});
    }
  }
}

void BlockMatrix::ReadCodes(int64_t column, int64_t row, int64_t count, uint8_t* out) const {
  const int64_t chunks = format_.block.elements / kChunk;  // of a block
  int64_t number = column * blocks_ + row / format_.block.elements;
  const uint8_t* block = Block(0, number);
  // Columns are read one after the other, and lie apart: their memory is asked for in time.
  constexpr int64_t kAhead = 16;
  if (column + kAhead < columns_) {
    const uint8_t* const ahead = block + kAhead * blocks_ * format_.block.bytes;
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + count * format_.block.bytes / format_.block.elements);
  }
  auto chunk = static_cast<int>(row / kChunk % chunks);
  for (int64_t i = 0; i < count; i += kChunk) {
    format_.decode(block, chunk, out + i);
    if (constants_ && constants_[number] != 0) ClearConstants(block, chunk, out + i);
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
