// Memory layouts: the address of the element at an index.
//
// Strided form: each dimension is cut into modes (outermost first), each mode has a stride in
// elements; the element's bits form a stream, element offset * width; then a chain of XOR swizzles
// (base, bits, shift) acts on the *byte* address: x becomes x ^ ((x & mask) >> shift) with `bits`
// mask bits from base + shift. So a swizzle means the same for any element type.
//
// Packed form, packed(T, B): T is the register layout of one tile without replication (P threads,
// P a multiple of 32, S slots), B a bit layout of S codes in V words. The tensor is cut into tiles
// of T's shape, row-major over tiles, ragged edges padded to whole tiles. A tile is one run of P*V
// words; the V words of a thread lie in pieces of 4 words while 4 remain, then one of 2 if at
// least 2 remain, then one of 1; piece-major, then thread, so that a warp reads each piece as one
// contiguous access. Bits that hold no code are zero.
//
// A slice keeps the form and remembers its origin: addresses stay relative to the whole tensor's.
//
// Pure and immutable; safe from any thread.
#ifndef TARSIA_LAYOUT_MEM_LAYOUT_H_
#define TARSIA_LAYOUT_MEM_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dtypes/dtype.h"
#include "layout/bit_layout.h"
#include "layout/reg_layout.h"
#include "support/result.h"

namespace tarsia {

inline constexpr int64_t kMaxMemoryElements = int64_t{1} << 48;
inline constexpr int64_t kMaxPackedTileBits = int64_t{1} << 22;

struct Swizzle {
  int base = 4;   // at least 4
  int bits = 3;   // at least 1
  int shift = 3;  // at least 1; base + bits + shift is at most 32
  friend bool operator==(const Swizzle&, const Swizzle&) = default;
  [[nodiscard]] uint64_t Apply(uint64_t byte) const {
    const uint64_t mask = ((uint64_t{1} << bits) - 1) << (base + shift);
    return byte ^ ((byte & mask) >> shift);
  }
  // The map repeats after this many bytes.
  [[nodiscard]] int64_t Period() const { return int64_t{1} << (base + bits + shift); }
  // It moves bytes only within aligned blocks of this size.
  [[nodiscard]] int64_t Block() const { return int64_t{1} << (base + bits); }
};
Result<Swizzle> MakeSwizzle(int64_t base, int64_t bits, int64_t shift);

// Whether T and B make a packed layout.
Status CheckPacked(const RegLayout& tile, const BitLayout& bits);

// The table of one tile of packed(T, B).
struct PackedTile {
  RegLayout tile;
  BitLayout bits;
  int64_t tile_bits = 0;  // P * V * 32
  // Bit address within the tile: places[element * N + bit], elements in row-major order.
  std::vector<uint32_t> places;
  // Complemented bits of the element's code; empty where there are none.
  std::vector<uint8_t> complement;
};

class MemLayout {
 public:
  struct Mode {
    int64_t extent = 1;
    int64_t stride = 0;  // elements
    friend bool operator==(const Mode&, const Mode&) = default;
  };

  MemLayout() = default;  // rank 0: one element at address 0

  // Extents may be 0. Errors: negative extents or strides, sizes above the limits.
  static Result<MemLayout> RowMajor(std::span<const int64_t> shape);
  static Result<MemLayout> ColumnMajor(std::span<const int64_t> shape);
  // `modes` is flat over the dimensions as in RegLayout::Make, with one stride per mode.
  static Result<MemLayout> Strided(std::span<const int64_t> shape, std::span<const int64_t> modes,
                                   std::span<const int64_t> strides);
  // One stride per dimension.
  static Result<MemLayout> Strided(std::span<const int64_t> shape,
                                   std::span<const int64_t> strides);
  static Result<MemLayout> Packed(const RegLayout& tile, const BitLayout& bits,
                                  std::span<const int64_t> shape);
  // This layout followed by one more swizzle; strided forms only.
  [[nodiscard]] Result<MemLayout> WithSwizzle(Swizzle swizzle) const;

  [[nodiscard]] const Extents& shape() const { return shape_; }
  [[nodiscard]] int rank() const { return static_cast<int>(shape_.size()); }
  [[nodiscard]] int64_t elements() const;
  [[nodiscard]] bool IsPacked() const { return packed_ != nullptr; }
  [[nodiscard]] const std::vector<Swizzle>& swizzles() const { return swizzles_; }
  // Modes of a dimension, outermost first (strided form).
  [[nodiscard]] const std::vector<Mode>& modes(int dim) const {
    return dims_[static_cast<size_t>(dim)];
  }
  // Where this slice begins in the whole tensor; zeros for a whole tensor.
  [[nodiscard]] const Extents& origin() const { return origin_; }
  [[nodiscard]] const PackedTile& packed() const { return *packed_; }

  // Element offset before swizzles (strided form). `index` is within the shape.
  [[nodiscard]] int64_t ElementOffset(std::span<const int64_t> index) const;
  // Address in bits of bit `bit` of an element of `bits` bits; swizzles applied. In packed form
  // `bits` is that of the bit layout.
  [[nodiscard]] uint64_t BitAddress(std::span<const int64_t> index, int bits, int bit) const;
  // Packed form: bits of the element's code that are stored complemented.
  [[nodiscard]] uint64_t Complement(std::span<const int64_t> index) const;
  // Packed form: the number of the tile that holds an element and the element's row-major number
  // within it; BitAddress is then tile * tile_bits + places[element * N + bit].
  struct TileElement {
    int64_t tile = 0;
    int64_t element = 0;
  };
  [[nodiscard]] TileElement InTile(std::span<const int64_t> index) const;
  // Packed form: extents of the grid of tiles (of the whole tensor).
  [[nodiscard]] const Extents& tiles() const { return tiles_; }
  // Packed form: for each word of tile number `tile`, the bits that hold codes; others are padding.
  [[nodiscard]] std::vector<uint32_t> UsedBits(int64_t tile) const;

  // The size of the whole tensor, from address 0 to its last bit (with the padding of the packed
  // form and of swizzled blocks); 0 for an empty one.
  [[nodiscard]] uint64_t SizeBits(int bits) const;
  [[nodiscard]] uint64_t SizeBytes(int bits) const;
  // The alignment of address 0 in bytes: the period of the swizzles, 16 if packed, else 1.
  [[nodiscard]] int64_t Alignment() const;

  // A strided layout with one mode per dimension and no swizzles: address = (offset + sum index *
  // stride) * N.
  struct Affine {
    int64_t offset = 0;  // elements
    Extents strides;     // elements, one per dimension
  };
  [[nodiscard]] std::optional<Affine> AsAffine() const;
  // Whole, dense, the last dimension fastest.
  [[nodiscard]] bool IsRowMajor() const;
  // Elements along the last dimension follow each other without gaps in one run of bits.
  [[nodiscard]] bool RowsAreContiguous() const;
  // No two elements share an address, as far as nested strides show.
  [[nodiscard]] bool IsInjective() const;

  // The part that begins at `offsets` and has `shape`; an error if it does not lie within.
  [[nodiscard]] Result<MemLayout> Slice(std::span<const int64_t> offsets,
                                        std::span<const int64_t> shape) const;

  friend bool operator==(const MemLayout& a, const MemLayout& b);

 private:
  friend std::string ToString(const MemLayout& layout);
  static Result<MemLayout> FromModes(std::span<const int64_t> shape,
                                     std::vector<std::vector<Mode>> dims);
  Extents shape_;
  Extents origin_;
  Extents whole_;  // the shape of the whole tensor
  std::vector<std::vector<Mode>> dims_;
  std::vector<Swizzle> swizzles_;
  Extents tiles_;
  std::shared_ptr<const PackedTile> packed_;
};

// A memory layout that is not yet applied to a shape, such as a constant of kind memlayout.
struct MemLayoutFamily {
  enum class Kind : uint8_t { kRowMajor, kColumnMajor, kPacked, kConcrete };
  Kind kind = Kind::kRowMajor;
  std::vector<Swizzle> swizzles;  // not for kPacked and kConcrete
  RegLayout tile;                 // kPacked
  BitLayoutFamily bits;           // kPacked
  MemLayout concrete;             // kConcrete

  static MemLayoutFamily Of(MemLayout layout);  // kConcrete

  friend bool operator==(const MemLayoutFamily&, const MemLayoutFamily&) = default;
};

// The layout of a tensor of this shape and element type. A concrete layout must have that shape.
Result<MemLayout> Apply(const MemLayoutFamily& family, std::span<const int64_t> shape, DType type);

// The text that makes the layout (for a slice, that of the whole tensor). Row- and column-major
// layouts print as such.
std::string ToString(const MemLayout& layout);
std::string ToString(const MemLayoutFamily& family);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_MEM_LAYOUT_H_
