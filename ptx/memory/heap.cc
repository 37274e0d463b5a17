#include "ptx/memory/heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "support/align.h"

namespace tarsia::ptx {
namespace {}  // namespace

Heap::Heap(uint64_t bytes, CBytes data, CBytes defined)
    : capacity_(bytes), data_(std::move(data)), defined_(std::move(defined)) {
  if (bytes != 0) room_.emplace(0, bytes);
}

std::unique_ptr<Heap> Heap::Make(uint64_t bytes) {
  bytes = bytes / kAlign * kAlign;
  // A few bytes more let handlers read a word at a byte's place. Fresh pages of calloc cost
  // nothing.
  CBytes data(static_cast<uint8_t*>(std::calloc(bytes + kAlign, 1)));
  CBytes defined(static_cast<uint8_t*>(std::calloc(bytes + kAlign, 1)));
  if (!data || !defined) return nullptr;
  return std::unique_ptr<Heap>(new Heap(bytes, std::move(data), std::move(defined)));
}

// A block of at most a chunk lies within one; a larger one begins with a chunk.
uint64_t Heap::NextAddress(uint64_t bytes) {
  if (next_ % kChunk + bytes > kChunk) next_ = AlignUp(next_, kChunk);
  const uint64_t address = next_;
  next_ += AlignUp(bytes, kAlign) + kGap;
  if (bytes > kChunk) next_ = AlignUp(next_, kChunk);
  return address;
}

uint64_t Heap::Allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > capacity_) return 0;
  const uint64_t size = AlignUp(bytes, kAlign);
  const auto found =
      std::ranges::find_if(room_, [&](const auto& hole) { return hole.second >= size; });
  if (found == room_.end() || next_ - kHeapBase > kHeapWindow / 2) return 0;
  const auto [offset, hole] = *found;
  room_.erase(found);
  if (hole > size) room_.emplace(offset + size, hole - size);
  std::memset(defined_.get() + offset, 0, size);
  const uint64_t address = NextAddress(bytes);
  blocks_.emplace(address, Block{offset, bytes});
  return address;
}

bool Heap::Free(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return false;
  GiveBack(found->second);
  freed_.emplace(address, found->second.bytes);
  if (freed_.size() > kMostFreed) freed_.erase(freed_.begin());
  blocks_.erase(found);
  return true;
}

// Joins a block's room to what lies beside it.
void Heap::GiveBack(const Block& block) {
  uint64_t offset = block.offset;
  uint64_t size = AlignUp(block.bytes, kAlign);
  auto after = room_.lower_bound(offset);
  if (after != room_.end() && after->first == offset + size) {
    size += after->second;
    after = room_.erase(after);
  }
  if (after != room_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      room_.erase(before);
    }
  }
  room_.emplace(offset, size);
}

std::map<uint64_t, Heap::Block>::const_iterator Heap::AtOrBefore(uint64_t address) const {
  const auto after = blocks_.upper_bound(address);
  return after == blocks_.begin() ? blocks_.end() : std::prev(after);
}

bool Heap::Find(uint64_t address, MemoryRange* range) const {
  const std::lock_guard lock(mutex_);
  const auto found = AtOrBefore(address);
  if (found == blocks_.end() || address - found->first >= found->second.bytes) return false;
  const auto& [start, block] = *found;
  *range = {start, block.bytes, data_.get() + block.offset, defined_.get() + block.offset, false};
  return true;
}

std::string Heap::Describe(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto freed = freed_.upper_bound(address);
  if (freed != freed_.begin()) {
    const auto& [start, bytes] = *std::prev(freed);
    if (address - start < bytes) {
      return fmt::format("within {} bytes of malloc at 0x{:x} that were freed", bytes, start);
    }
  }
  const auto found = AtOrBefore(address);
  if (found == blocks_.end()) return "no block of malloc";
  const auto& [start, block] = *found;
  const uint64_t at = address - start;
  if (at < block.bytes) {
    return fmt::format("byte {} of the {} bytes of malloc at 0x{:x}", at, block.bytes, start);
  }
  if (at - block.bytes < kChunk) {
    return fmt::format("{} bytes past the {} bytes of malloc at 0x{:x}", at - block.bytes,
                       block.bytes, start);
  }
  return "no block of malloc";
}

}  // namespace tarsia::ptx
