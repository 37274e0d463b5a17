#include "layout/bit_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/diagnostics.h"

namespace tarsia {
namespace {

constexpr int kColumnCodes = 16;  // codes of a lane column: half of the period of 32
constexpr int kLaneBits = 16;
constexpr int64_t kPeriod = 32;
constexpr uint8_t kFree = 0xFF;

// The rows of layout/lanes.def.
struct FieldRow {
  DType compute;
  int bits;
  LaneView view;
  int start;
  int position;
};
struct PieceRow {
  DType compute;
  int bits;
  int code;
  int bit;
  int word;
  int start;
  int count;
};
struct CollectedRow {
  DType compute;
  int bits;
  int position;
};

#define LANE_FIELD(compute, bits, view, start, position)
#define LANE_PIECE(compute, bits, code, bit, word, start, count)
#define LANE_COLLECTED(compute, bits, position)

#undef LANE_FIELD
#define LANE_FIELD(compute, bits, view, start, position) \
  {compute, bits, LaneView::view, start, position},
constexpr FieldRow kFields[] = {
#include "layout/lanes.def"
};
#undef LANE_FIELD
#define LANE_FIELD(compute, bits, view, start, position)

#undef LANE_PIECE
#define LANE_PIECE(compute, bits, code, bit, word, start, count) \
  {compute, bits, code, bit, word, start, count},
constexpr PieceRow kPieces[] = {
#include "layout/lanes.def"
};
#undef LANE_PIECE
#define LANE_PIECE(compute, bits, code, bit, word, start, count)

#undef LANE_COLLECTED
#define LANE_COLLECTED(compute, bits, position) {compute, bits, position},
constexpr CollectedRow kCollected[] = {
#include "layout/lanes.def"
};
#undef LANE_FIELD
#undef LANE_PIECE
#undef LANE_COLLECTED

struct LanePlace {
  uint8_t word = kFree;
  uint8_t bit = kFree;  // of the lane
};

// The map of one lane column and its inverse.
struct LaneColumn {
  LaneField fields[kColumnCodes] = {};
  LanePlace places[kColumnCodes][8] = {};
  uint8_t code_at[8][kLaneBits] = {};
  uint8_t bit_at[8][kLaneBits] = {};
  bool valid = true;  // one to one, and codes 2i and 2i+1 share their position
};

// A column whose codes are still in the order of the table.
struct RawColumn {
  LaneField fields[kColumnCodes] = {};
  LanePlace places[kColumnCodes][8] = {};
  int count = 0;
};

constexpr RawColumn ReadTable(DType compute, int bits) {
  RawColumn out;
  for (int word = 0; word < bits; ++word) {
    for (const FieldRow& row : kFields) {
      if (row.compute != compute || row.bits != bits) continue;
      out.fields[out.count] = {row.view, static_cast<uint8_t>(word),
                               static_cast<uint8_t>(row.start), static_cast<uint8_t>(row.position)};
      for (int b = 0; b < bits; ++b) {
        out.places[out.count][b] = {static_cast<uint8_t>(word),
                                    static_cast<uint8_t>((row.start + b) % kLaneBits)};
      }
      ++out.count;
    }
  }
  const int first = out.count;
  uint8_t position = 0;
  for (const CollectedRow& row : kCollected) {
    if (row.compute == compute && row.bits == bits) position = static_cast<uint8_t>(row.position);
  }
  for (const PieceRow& row : kPieces) {
    if (row.compute != compute || row.bits != bits) continue;
    const int code = first + row.code;
    if (row.bit == 0) {
      out.fields[code] = {LaneView::kCollected, static_cast<uint8_t>(row.word),
                          static_cast<uint8_t>(row.start), position};
      ++out.count;
    }
    for (int i = 0; i < row.count; ++i) {
      out.places[code][row.bit + i] = {static_cast<uint8_t>(row.word),
                                       static_cast<uint8_t>(row.start + i)};
    }
  }
  return out;
}

constexpr LaneColumn MakeColumn(DType compute, int bits) {
  const RawColumn raw = ReadTable(compute, bits);
  LaneColumn out;
  out.valid = raw.count == kColumnCodes;
  bool taken[kColumnCodes] = {};
  int next = 0;
  const auto take = [&](int i) {
    taken[i] = true;
    out.fields[next] = raw.fields[i];
    for (int b = 0; b < bits; ++b) out.places[next][b] = raw.places[i][b];
    ++next;
  };
  for (int i = 0; i < raw.count; ++i) {
    if (taken[i]) continue;
    take(i);
    int mate = i + 1;
    while (mate < raw.count &&
           (taken[mate] || raw.fields[mate].position != raw.fields[i].position)) {
      ++mate;
    }
    if (mate >= raw.count) {
      out.valid = false;
      return out;
    }
    take(mate);
  }
  for (auto& word : out.code_at) {
    for (uint8_t& code : word) code = kFree;
  }
  for (int code = 0; code < kColumnCodes; ++code) {
    for (int b = 0; b < bits; ++b) {
      const LanePlace place = out.places[code][b];
      if (place.word >= bits || out.code_at[place.word][place.bit] != kFree) {
        out.valid = false;
        return out;
      }
      out.code_at[place.word][place.bit] = static_cast<uint8_t>(code);
      out.bit_at[place.word][place.bit] = static_cast<uint8_t>(b);
    }
  }
  return out;
}

constexpr auto kColumns = [] {
  std::array<std::array<LaneColumn, 8>, 2> out{};
  for (int bits = 1; bits <= 8; ++bits) {
    out[0][static_cast<size_t>(bits - 1)] = MakeColumn(kF16, bits);
    out[1][static_cast<size_t>(bits - 1)] = MakeColumn(kBF16, bits);
  }
  return out;
}();

constexpr bool AllValid() {
  for (const auto& columns : kColumns) {
    for (const LaneColumn& column : columns) {
      if (!column.valid) return false;
    }
  }
  return true;
}
static_assert(AllValid(), "layout/lanes.def is no bijection or breaks the pairs");

const LaneColumn& ColumnOf(DType compute, int bits) {
  return kColumns[compute == kF16 ? 0 : 1][static_cast<size_t>(bits - 1)];
}

Status CheckCount(int64_t count) {
  if (count < 0 || count > kMaxBitLayoutCodes) {
    return MakeDiagnostic(diag::kBitLayoutCount, {}, count, kMaxBitLayoutCodes);
  }
  return OkStatus();
}

// Whether codes of this type can become floats of the compute type by `unpack`.
Status CheckUnpack(DType type, DType compute) {
  if (compute != kF16 && compute != kBF16) {
    return MakeDiagnostic(diag::kLanesCompute, {}, DTypeName(compute));
  }
  if (!LowPrecision(type)) return MakeDiagnostic(diag::kLanesType, {}, DTypeName(type));
  if (type.IsFloat() && compute == kF16 && type.exponent > kF16.exponent) {
    return MakeDiagnostic(diag::kLanesRange, {}, DTypeName(type));
  }
  return OkStatus();
}

}  // namespace

Result<BitLayout> BitLayout::Contiguous(DType type, int64_t count) {
  TARSIA_CHECK(CheckCount(count));
  BitLayout out;
  out.type_ = type;
  out.count_ = count;
  return out;
}

Result<BitLayout> BitLayout::Lanes(DType type, int64_t count, DType compute) {
  TARSIA_CHECK(CheckCount(count));
  TARSIA_CHECK(CheckUnpack(type, compute));
  if (count % kPeriod != 0) return MakeDiagnostic(diag::kLanesCount, {}, count);
  BitLayout out;
  out.order_ = BitOrder::kLanes;
  out.type_ = type;
  out.compute_ = compute;
  out.count_ = count;
  return out;
}

BitPlace BitLayout::Place(int64_t slot, int bit) const {
  if (order_ == BitOrder::kContiguous) {
    const int64_t at = slot * type_.bits + bit;
    return {static_cast<uint32_t>(at / 32), static_cast<uint8_t>(at % 32)};
  }
  const LaneColumn& column = ColumnOf(compute_, type_.bits);
  const LanePlace place = column.places[slot % kPeriod / 2][bit];
  return {static_cast<uint32_t>(slot / kPeriod * type_.bits + place.word),
          static_cast<uint8_t>(slot % 2 * kLaneBits + place.bit)};
}

CodeBit BitLayout::CodeAt(int64_t word, int bit) const {
  if (order_ == BitOrder::kContiguous) {
    const int64_t at = word * 32 + bit;
    if (at >= count_ * type_.bits) return {};
    return {at / type_.bits, static_cast<uint8_t>(at % type_.bits)};
  }
  const LaneColumn& column = ColumnOf(compute_, type_.bits);
  const int64_t in_period = word % type_.bits;
  const int64_t code = column.code_at[in_period][bit % kLaneBits];
  return {word / type_.bits * kPeriod + code * 2 + bit / kLaneBits,
          column.bit_at[in_period][bit % kLaneBits]};
}

uint64_t BitLayout::Complement(int64_t /*slot*/) const {
  // No place of table version 1 is complemented: signed codes get their flip from the `lop3`.
  return 0;
}

LaneField BitLayout::Field(int64_t slot) const {
  return ColumnOf(compute_, type_.bits).fields[slot % kPeriod / 2];
}

Result<UnpackForm> BitLayout::Unpack(int64_t slot, DType compute) const {
  TARSIA_CHECK(CheckUnpack(type_, compute));
  if (order_ == BitOrder::kLanes && compute != compute_) {
    return MakeDiagnostic(diag::kUnpackCompute, {}, DTypeName(compute_), DTypeName(compute));
  }
  UnpackForm out;
  if (type_.IsFloat()) {
    // Where the largest exponent is that of the infinities of the compute type, but holds numbers,
    // the code is cast.
    const bool clash = type_.exponent == compute.exponent && type_.specials != Specials::kIeee;
    if (!clash) out.exponent = static_cast<int16_t>(compute.bias - type_.bias);
    return out;
  }
  const int position = order_ == BitOrder::kLanes ? Field(slot).position : 0;
  const int mantissa = compute.mantissa;
  // The field as the low mantissa bits of a float whose last place is worth 2^-position; signed
  // codes have their sign flipped on the way. Where it does not fit (8 bits in bf16) it is cast.
  if (position + type_.bits > mantissa) return out;
  out.bias = 1 << (mantissa - position);
  if (type_.IsSigned()) out.bias += 1 << (type_.bits - 1);
  return out;
}

void BitLayout::Pack(std::span<const uint64_t> codes, std::span<uint32_t> words) const {
  std::fill(words.begin(), words.end(), 0U);
  for (int64_t slot = 0; slot < count_; ++slot) {
    const uint64_t code = codes[static_cast<size_t>(slot)] ^ Complement(slot);
    for (int bit = 0; bit < type_.bits; ++bit) {
      const BitPlace place = Place(slot, bit);
      words[place.word] |= static_cast<uint32_t>(code >> bit & 1) << place.bit;
    }
  }
}

void BitLayout::Unpack(std::span<const uint32_t> words, std::span<uint64_t> codes) const {
  for (int64_t slot = 0; slot < count_; ++slot) {
    uint64_t code = 0;
    for (int bit = 0; bit < type_.bits; ++bit) {
      const BitPlace place = Place(slot, bit);
      code |= static_cast<uint64_t>(words[place.word] >> place.bit & 1) << bit;
    }
    codes[static_cast<size_t>(slot)] = code ^ Complement(slot);
  }
}

Result<BitLayout> BitLayoutFamily::Apply(DType codes_type, int64_t codes_count) const {
  if (type.value_or(codes_type) != codes_type || count.value_or(codes_count) != codes_count) {
    return MakeDiagnostic(
        diag::kBitLayoutFixed, {}, count ? fmt::format("{}", *count) : std::string("any number of"),
        type ? DTypeName(*type) : std::string_view("any type"), codes_count, DTypeName(codes_type));
  }
  if (order == BitOrder::kContiguous) return BitLayout::Contiguous(codes_type, codes_count);
  return BitLayout::Lanes(codes_type, codes_count, compute);
}

Result<BitLayout> BitLayoutFamily::Concrete() const {
  if (!IsConcrete()) return MakeDiagnostic(diag::kBitLayoutOpen, {});
  return Apply(*type, *count);
}

BitLayoutFamily BitLayoutFamily::Of(const BitLayout& layout) {
  return {layout.order(), layout.type(), layout.count(), layout.compute()};
}

std::string ToString(const BitLayout& layout) { return ToString(BitLayoutFamily::Of(layout)); }

std::string ToString(const BitLayoutFamily& family) {
  const bool lanes = family.order == BitOrder::kLanes;
  std::string out = lanes ? "lanes" : "contiguous";
  std::string arguments;
  const auto add = [&](std::string_view text) {
    if (!arguments.empty()) arguments += ", ";
    arguments += text;
  };
  if (family.type) add(DTypeName(*family.type));
  if (family.count) add((family.type ? "" : "count=") + fmt::format("{}", *family.count));
  if (lanes) {
    // Positions hold only when what stands before is there too, or nothing does.
    const bool keyword = family.type.has_value() != family.count.has_value();
    add((keyword ? "compute=" : "") + std::string(DTypeName(family.compute)));
  }
  if (arguments.empty()) return out;
  return out + "(" + arguments + ")";
}

}  // namespace tarsia
