// Bit layouts: where the codes of a sub-byte register tile lie in 32-bit words.
//
// A bit layout of `count` codes of N bits maps (slot, bit of the code) to (word, bit of the word),
// one to one, and may complement bits (the complement is part of the map). Two families exist:
//
//   contiguous   slot s occupies bits [s*N, (s+1)*N): what `view` of bytes means.
//   lanes        made for fast dequantisation: the lanes of a register are as wide as the type
//                that codes become, two of 16 bits or four of 8, and as many neighbours (slots 2j
//                and 2j+1, or 4j to 4j+3) are placed at the same bits of the lanes, each code where
//                one `lop3` turns it into its value, by as few instructions as a search could find.
//                It exists for multiples of 32 codes of at most 8 bits and is made for one compute
//                type, because their magic numbers differ. The places come from a table
//                (layout/lanes.def) with a version; layout/recipe.h makes the instructions.
//
// The compute types: f16 and bf16 for all codes in their range; i8 for integers; f8e4m3fn for
// itself, for smaller floats whose exponent and mantissa fit, and for integers of up to 3 bits.
//
// `unpack` returns for a code of value v: v + bias for integers, v * 2^-exponent for floats. In
// lanes of 16 bits, slots 4i to 4i+3 share their bias: with the rows of a fragment in slot bit 1,
// the bias depends on k alone. In lanes of 8 bits, all slots share it.
//
// Pure functions of their arguments; safe from any thread.
#ifndef TARSIA_LAYOUT_BIT_LAYOUT_H_
#define TARSIA_LAYOUT_BIT_LAYOUT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dtypes/dtype.h"
#include "support/result.h"

namespace tarsia {

// Part of the identity of packed data: incremented whenever a place in layout/lanes.def changes.
inline constexpr int kLanesVersion = 2;
inline constexpr int64_t kMaxBitLayoutCodes = int64_t{1} << 20;

struct BitPlace {
  uint32_t word = 0;
  uint8_t bit = 0;  // of the word, 0 to 31
  friend bool operator==(const BitPlace&, const BitPlace&) = default;
};

// What lies at a bit of the words: a bit of a code, or nothing (slot < 0).
struct CodeBit {
  int64_t slot = -1;
  uint8_t bit = 0;
  friend bool operator==(const CodeBit&, const CodeBit&) = default;
};

// How `unpack` represents a code of value v: q = (v + bias) * 2^-exponent, one of the two zero.
struct UnpackForm {
  int32_t bias = 0;      // integers: subtract it from q to get v
  int16_t exponent = 0;  // floats: multiply q by 2^exponent to get v
  friend bool operator==(const UnpackForm&, const UnpackForm&) = default;
};

// How the codes of neighbours are moved to their target in lanes: bit b of a code belongs at bit
// target[b] of its lane. Each piece moves the bits of the code in a mask: they are at their
// target, or `offset` bits above it (modulo 32), in the word turned right by `turn` bits.
struct LanePiece {
  uint8_t word = 0;  // within the period of 32 codes
  uint8_t turn = 0;
  uint8_t mask = 0;
};
struct LaneCode {
  static constexpr int kMostPieces = 8;
  uint8_t position = 0;  // integers: the target of bit 0
  uint8_t offset = 0;
  uint8_t count = 0;
  std::array<LanePiece, kMostPieces> pieces{};
  std::array<uint8_t, 8> target{};

  [[nodiscard]] std::span<const LanePiece> Pieces() const { return {pieces.data(), count}; }
};

enum class BitOrder : uint8_t { kContiguous, kLanes };

// Whether codes can be unpacked to values of a type: f16, bf16, i8 or f8e4m3fn.
bool IsComputeType(DType type);
// Whether `unpack` makes values of the type `compute` of codes of a type: integers and floats of at
// most 8 bits, and a compute type that takes them (see above). The errors name those that do.
Status CheckUnpack(DType type, DType compute);

class BitLayout {
 public:
  BitLayout() = default;  // for no codes
  // `count` is from 0 to the limit, `type` any type.
  static Result<BitLayout> Contiguous(DType type, int64_t count);
  // `count` is a multiple of 32. Errors: those of CheckUnpack.
  static Result<BitLayout> Lanes(DType type, int64_t count, DType compute);

  [[nodiscard]] BitOrder order() const { return order_; }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] int bits() const { return type_.bits; }
  [[nodiscard]] int64_t count() const { return count_; }
  // What lanes are made for; no type (0 bits) otherwise.
  [[nodiscard]] DType compute() const { return compute_; }
  // Codes of a register at their target, each in a lane; lanes only.
  [[nodiscard]] int lanes() const { return 32 / compute_.bits; }
  // 32-bit words, the last one padded.
  [[nodiscard]] int64_t words() const { return (count_ * type_.bits + 31) / 32; }

  // Where bit `bit` of the code in `slot` lies; both within range.
  [[nodiscard]] BitPlace Place(int64_t slot, int bit) const;
  // The inverse.
  [[nodiscard]] CodeBit CodeAt(int64_t word, int bit) const;
  // The bits of the code in `slot` that are stored complemented.
  [[nodiscard]] uint64_t Complement(int64_t slot) const;
  // How `unpack` to `compute` represents the code in `slot`. Errors: those of CheckUnpack, and for
  // lanes made for another compute type.
  [[nodiscard]] Result<UnpackForm> Unpack(int64_t slot, DType compute) const;
  // Lanes only: how the code of a slot is put together.
  [[nodiscard]] const LaneCode& Code(int64_t slot) const;

  // Packs codes (one per slot, in the low bits) into words. `words` has words() elements. Unpack is
  // the inverse.
  void Pack(std::span<const uint64_t> codes, std::span<uint32_t> words) const;
  void Unpack(std::span<const uint32_t> words, std::span<uint64_t> codes) const;

  friend bool operator==(const BitLayout&, const BitLayout&) = default;

 private:
  BitOrder order_ = BitOrder::kContiguous;
  DType type_;
  DType compute_;
  int64_t count_ = 0;
};

// A bit layout whose type and count may still be open, as in `packed(T, lanes(f16))`.
struct BitLayoutFamily {
  BitOrder order = BitOrder::kContiguous;
  std::optional<DType> type;
  std::optional<int64_t> count;
  DType compute;  // lanes only

  [[nodiscard]] bool IsConcrete() const { return type.has_value() && count.has_value(); }
  // The layout for these codes. Errors: the family fixes another type or count.
  [[nodiscard]] Result<BitLayout> Apply(DType codes_type, int64_t codes_count) const;
  // The layout of a concrete family.
  [[nodiscard]] Result<BitLayout> Concrete() const;
  static BitLayoutFamily Of(const BitLayout& layout);
  friend bool operator==(const BitLayoutFamily&, const BitLayoutFamily&) = default;
};

// `contiguous(u3, 32)`, `lanes(u3, 32, f16)`; families as `contiguous`, `lanes(f16)`.
std::string ToString(const BitLayout& layout);
std::string ToString(const BitLayoutFamily& family);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_BIT_LAYOUT_H_
