// How many bytes a tensor takes whose shape is known later than its layout.
#ifndef TARSIA_LAYOUT_LAYOUT_SIZE_H_
#define TARSIA_LAYOUT_LAYOUT_SIZE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "layout/mem_layout.h"

namespace tarsia {

// Immutable and thread-safe.
class LayoutSize {
 public:
  LayoutSize() = default;  // row-major, of one-byte elements
  LayoutSize(const MemLayoutFamily& family, DType type);

  [[nodiscard]] const MemLayoutFamily& family() const { return family_; }
  [[nodiscard]] DType type() const { return type_; }
  // Apply(family, shape, type)->SizeBytes(type.bits) and its errors. Allocates only to report an
  // error.
  [[nodiscard]] Result<uint64_t> Bytes(std::span<const int64_t> shape) const;

 private:
  // Empty if Apply has to report an error or to compute the size.
  [[nodiscard]] std::optional<uint64_t> QuickBits(std::span<const int64_t> shape) const;
  [[nodiscard]] std::optional<uint64_t> DenseBits(std::span<const int64_t> shape) const;
  [[nodiscard]] std::optional<uint64_t> PackedBits(std::span<const int64_t> shape) const;

  MemLayoutFamily family_;
  DType type_ = kU8;
  bool quick_ = true;        // the family itself is valid
  int64_t tile_bits_ = 0;    // of the packed form
  uint64_t fixed_bits_ = 0;  // of a concrete layout
};

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_LAYOUT_SIZE_H_
