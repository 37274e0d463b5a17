#include "tests/harness/memory.h"

#include <algorithm>
#include <bit>

#include "tests/harness/codec.h"

namespace tarsia::harness {

uint64_t PoisonCode(Poison poison, DType type) {
  if (poison == Poison::kPattern) return 0x5A5A5A5A5A5A5A5A & CodeMask(type);
  const bool fnuz = type.specials == Specials::kFnuz;
  return fnuz ? uint64_t{1} << (type.bits - 1) : CodeMask(type);
}

GuardedMemory::GuardedMemory(const MemLayout& layout, DType type, uint64_t bytes, Poison poison)
    : layout_(layout), type_(type), plain_(layout.IsRowMajor()), bytes_(bytes) {
  bytes_ = std::max(bytes_, layout.SizeBytes(type.bits));
  Allocate(std::max(kAlignment, static_cast<uint64_t>(layout.Alignment())),
           layout.IsPacked() ? 0x00 : 0xFF);
  MarkOwned();
  const Shape shape(layout.shape().begin(), layout.shape().end());
  const std::vector<uint64_t> poisoned(static_cast<size_t>(Elements(shape)),
                                       PoisonCode(poison, type));
  Write({type, shape, poisoned});
}

GuardedMemory::GuardedMemory(uint64_t bytes, Poison poison) : type_(kU8), plain_(true) {
  bytes_ = bytes;
  const auto extent = static_cast<int64_t>(bytes);
  layout_ = *MemLayout::RowMajor({&extent, 1});
  Allocate(kAlignment, static_cast<uint8_t>(PoisonCode(poison, kU8)));
  owned_.assign(bytes_, 0xFF);
}

void GuardedMemory::Allocate(uint64_t alignment, uint8_t background) {
  const uint64_t guard = std::max(kGuardBytes, alignment);
  storage_.assign(bytes_ + 2 * guard + 2 * alignment, 0xFF);
  // The first address after the guard that is aligned to `alignment` but not to twice that.
  const auto start = std::bit_cast<uintptr_t>(storage_.data());
  uint64_t at = start + guard;
  at += (alignment + 2 * alignment - at % (2 * alignment)) % (2 * alignment);
  base_ = at - start;
  std::fill_n(data(), bytes_, background);
}

uint64_t GuardedMemory::BitAddress(const Shape& index, int64_t k, int bit) const {
  if (plain_) return static_cast<uint64_t>(k) * type_.bits + static_cast<uint64_t>(bit);
  return layout_.BitAddress(index, type_.bits, bit);
}

void GuardedMemory::MarkOwned() {
  owned_.assign(bytes_, 0);
  const Shape shape(layout_.shape().begin(), layout_.shape().end());
  const int64_t count = Elements(shape);
  for (int64_t k = 0; k < count; ++k) {
    const Shape index = plain_ ? Shape() : IndexOf(shape, k);
    for (int bit = 0; bit < type_.bits; ++bit) {
      const uint64_t at = BitAddress(index, k, bit);
      owned_[at / 8] = static_cast<uint8_t>(owned_[at / 8] | 1u << at % 8);
    }
  }
  // The bytes after the elements belong to other views of the pointer.
  const uint64_t size = layout_.SizeBytes(type_.bits);
  std::fill(owned_.begin() + static_cast<std::ptrdiff_t>(size), owned_.end(), 0xFF);
}

void GuardedMemory::Write(const Tensor& tensor) {
  uint8_t* const to = data();
  for (size_t k = 0; k < tensor.codes.size(); ++k) {
    const auto number = static_cast<int64_t>(k);
    const Shape index = plain_ ? Shape() : IndexOf(tensor.shape, number);
    uint64_t code = tensor.codes[k];
    if (layout_.IsPacked()) code ^= layout_.Complement(index);
    for (int bit = 0; bit < type_.bits; ++bit) {
      const uint64_t at = BitAddress(index, number, bit);
      const auto mask = static_cast<uint8_t>(1u << at % 8);
      const bool set = (code >> bit & 1) != 0;
      to[at / 8] = static_cast<uint8_t>(set ? to[at / 8] | mask : to[at / 8] & ~mask);
    }
  }
}

void GuardedMemory::WriteBytes(const std::vector<uint8_t>& bytes) {
  std::copy_n(bytes.begin(), std::min<size_t>(bytes.size(), bytes_), data());
}

void GuardedMemory::Seal() { sealed_ = storage_; }

Tensor GuardedMemory::Read() const {
  const uint8_t* const from = storage_.data() + base_;
  Tensor out{type_, {layout_.shape().begin(), layout_.shape().end()}, {}};
  const int64_t count = Elements(out.shape);
  for (int64_t k = 0; k < count; ++k) {
    const Shape index = plain_ ? Shape() : IndexOf(out.shape, k);
    uint64_t code = 0;
    for (int bit = 0; bit < type_.bits; ++bit) {
      const uint64_t at = BitAddress(index, k, bit);
      code |= uint64_t{from[at / 8] >> at % 8 & 1u} << bit;
    }
    if (layout_.IsPacked()) code ^= layout_.Complement(index);
    out.codes.push_back(code);
  }
  return out;
}

std::string GuardedMemory::FindDamage(bool writable) const {
  for (uint64_t i = 0; i < storage_.size(); ++i) {
    const auto changed = static_cast<uint8_t>(storage_[i] ^ sealed_[i]);
    if (changed == 0) continue;
    if (i < base_) {
      return "byte " + std::to_string(base_ - i) + " before the start was overwritten";
    }
    const uint64_t at = i - base_;
    if (at >= bytes_) {
      return "byte " + std::to_string(at - bytes_ + 1) + " past the end was overwritten";
    }
    if (!writable) return "an input was changed at byte " + std::to_string(at);
    if ((changed & ~owned_[at]) != 0) {
      return "byte " + std::to_string(at) + " has bits that belong to no element and changed";
    }
  }
  return "";
}

}  // namespace tarsia::harness
