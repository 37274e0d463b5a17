#include "layout/bit_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/diagnostics.h"

namespace tarsia {
namespace {

constexpr int kMostRows = 16;  // of neighbours in a period
constexpr int kWordBits = 32;
constexpr int64_t kPeriod = 32;
constexpr int kMostExponent = 8;
constexpr DType kComputes[] = {kF16, kBF16, kI8, kF8E4M3FN};

// A row of layout/lanes.def.
struct LaneRow {
  DType compute;
  uint8_t bits;
  uint8_t exponent;  // 0: integers
  uint8_t position;
  uint8_t offset;
  std::array<LanePiece, LaneCode::kMostPieces> pieces;
};

#define LANE_COST(compute, bits, exponent, cost)
#define P(word, turn, mask) \
  LanePiece { word, turn, mask }
#define LANE(compute, bits, exponent, position, offset, ...) \
  {compute, bits, exponent, position, offset, {__VA_ARGS__}},
constexpr LaneRow kLaneRows[] = {
#include "layout/lanes.def"
};
#undef LANE
#undef P
#undef LANE_COST

// The codes of a type of N bits, and the inverse of their places.
struct LaneTable {
  std::array<LaneCode, kMostRows> codes;
  CodeBit code_at[8][kWordBits];
};

// The bit of its lane that holds a bit of a code.
int TargetBit(const LaneRow& row, int bit) {
  if (row.exponent == 0) return row.position + bit;
  if (bit == row.bits - 1) return row.compute.bits - 1;
  return row.compute.mantissa - (row.bits - 1 - row.exponent) + bit;
}

LaneCode CodeOf(const LaneRow& row) {
  LaneCode out;
  out.position = row.position;
  out.offset = row.offset;
  out.pieces = row.pieces;
  while (out.count < LaneCode::kMostPieces && row.pieces[out.count].mask != 0) ++out.count;
  for (int bit = 0; bit < row.bits; ++bit) {
    out.target[static_cast<size_t>(bit)] = static_cast<uint8_t>(TargetBit(row, bit));
  }
  return out;
}

// The place of a bit of the code in the lane that begins with bit `lane` of the register.
BitPlace PlaceOf(const LaneCode& code, int lane, int bit) {
  for (const LanePiece& piece : code.Pieces()) {
    if ((piece.mask >> bit & 1) == 0) continue;
    const int at = lane + code.target[static_cast<size_t>(bit)] + code.offset;
    return {piece.word, static_cast<uint8_t>((at + piece.turn) % kWordBits)};
  }
  return {};
}

// By compute type, width and exponent bits.
template <typename T>
using ByShape = std::array<std::array<std::array<T, kMostExponent>, 9>, std::size(kComputes)>;

size_t IndexOf(DType compute) {
  return static_cast<size_t>(std::find(std::begin(kComputes), std::end(kComputes), compute) -
                             std::begin(kComputes));
}

ByShape<LaneTable> MakeTables() {
  ByShape<LaneTable> tables;
  ByShape<uint8_t> filled{};
  for (const LaneRow& row : kLaneRows) {
    const size_t compute = IndexOf(row.compute);
    LaneTable& table = tables[compute][row.bits][row.exponent];
    const uint8_t at = filled[compute][row.bits][row.exponent]++;
    table.codes[at] = CodeOf(row);
    const int lanes = kWordBits / row.compute.bits;
    for (int lane = 0; lane < lanes; ++lane) {
      for (uint8_t bit = 0; bit < row.bits; ++bit) {
        const BitPlace place = PlaceOf(table.codes[at], lane * row.compute.bits, bit);
        table.code_at[place.word][place.bit] = {at * lanes + lane, bit};
      }
    }
  }
  return tables;
}

const LaneTable& TableOf(DType type, DType compute) {
  static const ByShape<LaneTable> tables = MakeTables();
  const size_t exponent = type.IsFloat() ? type.exponent : 0;
  return tables[IndexOf(compute)][type.bits][exponent];
}

Status CheckCount(int64_t count) {
  if (count < 0 || count > kMaxBitLayoutCodes) {
    return MakeDiagnostic(diag::kBitLayoutCount, {}, count, kMaxBitLayoutCodes);
  }
  return OkStatus();
}

// Whether each code is one of f8e4m3fn in other bits, or can be the mantissa of a number.
bool FitsF8(DType type) {
  if (type.IsInteger()) return type.bits <= kF8E4M3FN.mantissa;
  const bool fits = type.exponent <= kF8E4M3FN.exponent && type.mantissa <= kF8E4M3FN.mantissa;
  return type == kF8E4M3FN || (fits && type.bits < 8);
}

}  // namespace

bool IsComputeType(DType type) { return IndexOf(type) < std::size(kComputes); }

Status CheckUnpack(DType type, DType compute) {
  if (!IsComputeType(compute)) {
    return MakeDiagnostic(diag::kLanesCompute, {}, DTypeName(compute));
  }
  if (!LowPrecision(type)) return MakeDiagnostic(diag::kLanesType, {}, DTypeName(type));
  if (compute == kI8 && type.IsFloat()) {
    return MakeDiagnostic(diag::kLanesI8, {}, DTypeName(type));
  }
  if (compute == kF8E4M3FN && !FitsF8(type)) {
    return MakeDiagnostic(diag::kLanesF8, {}, DTypeName(type));
  }
  if (type.IsFloat() && compute == kF16 && type.exponent > kF16.exponent) {
    return MakeDiagnostic(diag::kLanesRange, {}, DTypeName(type));
  }
  return OkStatus();
}

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
  const auto lane = static_cast<int>(slot % lanes());
  BitPlace place = PlaceOf(Code(slot), lane * compute_.bits, bit);
  place.word += static_cast<uint32_t>(slot / kPeriod * type_.bits);
  return place;
}

CodeBit BitLayout::CodeAt(int64_t word, int bit) const {
  if (order_ == BitOrder::kContiguous) {
    const int64_t at = word * 32 + bit;
    if (at >= count_ * type_.bits) return {};
    return {at / type_.bits, static_cast<uint8_t>(at % type_.bits)};
  }
  CodeBit at = TableOf(type_, compute_).code_at[word % type_.bits][bit];
  at.slot += word / type_.bits * kPeriod;
  return at;
}

uint64_t BitLayout::Complement(int64_t /*slot*/) const {
  // Where a byte permutation inserts the magic number, no `lop3` is left that could flip the sign.
  const bool permuted = order_ == BitOrder::kLanes && compute_ == kF16 && type_ == kI8;
  return permuted ? 0x80 : 0;
}

const LaneCode& BitLayout::Code(int64_t slot) const {
  return TableOf(type_, compute_).codes[static_cast<size_t>(slot % kPeriod / lanes())];
}

Result<UnpackForm> BitLayout::Unpack(int64_t slot, DType compute) const {
  TARSIA_CHECK(CheckUnpack(type_, compute));
  if (order_ == BitOrder::kLanes && compute != compute_) {
    return MakeDiagnostic(diag::kUnpackCompute, {}, DTypeName(compute_), DTypeName(compute));
  }
  UnpackForm out;
  if (type_.IsFloat()) {
    // If the largest exponent holds numbers, but is that of infinity in the compute type, the code
    // is cast.
    const bool clash = type_.exponent == compute.exponent && type_.specials != Specials::kIeee;
    if (!clash) out.exponent = static_cast<int16_t>(compute.bias - type_.bias);
    return out;
  }
  const int sign = type_.IsSigned() ? 1 << (type_.bits - 1) : 0;
  if (compute == kI8) {
    // Bits as they are, signed codes with their sign flipped; whole bytes the other way round.
    out.bias = type_.bits == 8 ? sign - 128 : sign;
    return out;
  }
  const int position = order_ == BitOrder::kLanes ? Code(slot).position : 0;
  const int mantissa = compute.mantissa;
  // The field as the low mantissa bits of a float whose last place is worth 2^-position; signed
  // codes have their sign flipped on the way. Where it does not fit (8 bits in bf16) it is cast.
  if (position + type_.bits > mantissa) return out;
  out.bias = (1 << (mantissa - position)) + sign;
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
    // The compute type is positional only after both the type and the count, or neither.
    const bool keyword = family.type.has_value() != family.count.has_value();
    add((keyword ? "compute=" : "") + std::string(DTypeName(family.compute)));
  }
  if (arguments.empty()) return out;
  return out + "(" + arguments + ")";
}

}  // namespace tarsia
