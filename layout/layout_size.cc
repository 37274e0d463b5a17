#include "layout/layout_size.h"

#include <algorithm>

#include "layout/checked.h"

namespace tarsia {
namespace {

// Whether a layout accepts every extent, and the product of the nonzero ones is small enough for
// the strides.
bool IsSmallEnough(std::span<const int64_t> shape) {
  if (shape.size() > static_cast<size_t>(kMaxLayoutRank)) return false;
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) return false;
    if (__builtin_mul_overflow(product, std::max<int64_t>(extent, 1), &product)) return false;
    if (product > kMaxMemoryElements) return false;
  }
  return true;
}

}  // namespace

LayoutSize::LayoutSize(const MemLayoutFamily& family, DType type) : family_(family), type_(type) {
  switch (family_.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
    case MemLayoutFamily::Kind::kColumnMajor:
      quick_ = Apply(family_, {}, type_).ok();  // only the swizzles can be wrong
      return;
    case MemLayoutFamily::Kind::kPacked: {
      const Result<BitLayout> bits = family_.bits.Apply(type_, family_.tile.slots());
      quick_ = bits.ok() && CheckPacked(family_.tile, *bits).ok();
      if (quick_) tile_bits_ = family_.tile.threads() * bits->words() * 32;
      return;
    }
    case MemLayoutFamily::Kind::kConcrete: {
      const MemLayout& concrete = family_.concrete;
      quick_ = !concrete.IsPacked() || concrete.packed().bits.type() == type_;
      if (quick_) fixed_bits_ = concrete.SizeBits(type_.bits);
      return;
    }
  }
}

Result<uint64_t> LayoutSize::Bytes(std::span<const int64_t> shape) const {
  std::optional<uint64_t> bits = QuickBits(shape);
  if (!bits) {
    TARSIA_TRY(const MemLayout layout, Apply(family_, shape, type_));
    bits = layout.SizeBits(type_.bits);
  }
  return *bits / 8 + (*bits % 8 != 0 ? 1 : 0);
}

std::optional<uint64_t> LayoutSize::QuickBits(std::span<const int64_t> shape) const {
  if (!quick_) return std::nullopt;
  switch (family_.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
    case MemLayoutFamily::Kind::kColumnMajor:
      return DenseBits(shape);
    case MemLayoutFamily::Kind::kPacked:
      return PackedBits(shape);
    case MemLayoutFamily::Kind::kConcrete:
      break;
  }
  const Extents& wanted = family_.concrete.shape();
  const bool same = std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end());
  return same ? std::optional<uint64_t>(fixed_bits_) : std::nullopt;
}

std::optional<uint64_t> LayoutSize::DenseBits(std::span<const int64_t> shape) const {
  if (!IsSmallEnough(shape)) return std::nullopt;
  if (HasZero(shape)) return 0;
  uint64_t size = static_cast<uint64_t>(type_.bits);
  for (const int64_t extent : shape) size *= static_cast<uint64_t>(extent);
  for (const Swizzle& swizzle : family_.swizzles) {
    const auto block = static_cast<uint64_t>(swizzle.Block()) * 8;
    size = (size + block - 1) / block * block;
  }
  return size;
}

std::optional<uint64_t> LayoutSize::PackedBits(std::span<const int64_t> shape) const {
  const Extents& tile = family_.tile.shape();
  if (shape.size() != tile.size() || !IsSmallEnough(shape)) return std::nullopt;
  int64_t tiles = 1;
  int64_t padded = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t count = shape[d] / tile[d] + (shape[d] % tile[d] != 0 ? 1 : 0);
    tiles *= count;
    if (__builtin_mul_overflow(padded, std::max<int64_t>(count * tile[d], 1), &padded) ||
        padded > kMaxMemoryElements) {
      return std::nullopt;
    }
  }
  return static_cast<uint64_t>(tiles * tile_bits_);
}

}  // namespace tarsia
