#include "ptx/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/table/diagnostics.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kAlign = 512;
constexpr uint64_t kGap = 64 * 1024;
constexpr size_t kMaxFreed = 4096;

}  // namespace

Result<uint64_t> Memory::Allocate(uint64_t bytes) {
  if (bytes > capacity_ - used_) return MakeDiagnostic(diag::kOutOfMemory, {}, bytes);
  Allocation allocation;
  // Fresh pages of calloc cost nothing until they are touched. A few bytes more let handlers read
  // a word at a byte's place.
  allocation.data.reset(static_cast<uint8_t*>(std::calloc(bytes + kAlign, 1)));
  allocation.defined.reset(static_cast<uint8_t*>(std::calloc(bytes + kAlign, 1)));
  if (!allocation.data || !allocation.defined) {
    return MakeDiagnostic(diag::kOutOfMemory, {}, bytes);
  }
  const uint64_t address = next_;
  allocation.range = {address, bytes, allocation.data.get(), allocation.defined.get(), false};
  next_ += (bytes + kAlign - 1) / kAlign * kAlign + kGap;
  used_ += bytes;
  allocations_.emplace(address, std::move(allocation));
  return address;
}

Status Memory::Free(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return MakeDiagnostic(diag::kNotAllocated, {}, address);
  used_ -= found->second.range.bytes;
  freed_[address] = found->second.range.bytes;
  if (freed_.size() > kMaxFreed) freed_.erase(freed_.begin());
  allocations_.erase(found);
  return OkStatus();
}

Status Memory::MakeHeap() {
  if (heap_ == nullptr) heap_ = Heap::Make(heap_bytes_);
  if (heap_ == nullptr) return MakeDiagnostic(diag::kOutOfMemory, {}, heap_bytes_);
  return OkStatus();
}

const MemoryRange* Memory::Find(uint64_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const MemoryRange& range = std::prev(after)->second.range;
  return range.Holds(address, 0) || address == range.address ? &range : nullptr;
}

Result<const MemoryRange*> Memory::FindAll(uint64_t address, uint64_t bytes) const {
  const MemoryRange* range = Find(address);
  if (range == nullptr || (bytes > 0 && !range->Holds(address, bytes))) {
    return MakeDiagnostic(diag::kBadCopy, {}, bytes, address);
  }
  return range;
}

Status Memory::CopyIn(uint64_t address, std::span<const uint8_t> data) {
  if (data.empty()) return OkStatus();
  TARSIA_TRY(const MemoryRange* range, FindAll(address, data.size()));
  const uint64_t at = address - range->address;
  std::memcpy(range->data + at, data.data(), data.size());
  std::memset(range->defined + at, 0xFF, data.size());
  return OkStatus();
}

Status Memory::CopyOut(uint64_t address, std::span<uint8_t> data) const {
  if (data.empty()) return OkStatus();
  TARSIA_TRY(const MemoryRange* range, FindAll(address, data.size()));
  std::memcpy(data.data(), range->data + (address - range->address), data.size());
  return OkStatus();
}

Status Memory::CopyWithin(uint64_t to, uint64_t from, uint64_t bytes) {
  if (bytes == 0) return OkStatus();
  TARSIA_TRY(const MemoryRange* source, FindAll(from, bytes));
  TARSIA_TRY(const MemoryRange* target, FindAll(to, bytes));
  std::memmove(target->data + (to - target->address), source->data + (from - source->address),
               bytes);
  std::memmove(target->defined + (to - target->address), source->defined + (from - source->address),
               bytes);
  return OkStatus();
}

Status Memory::Fill(uint64_t address, uint32_t value, int width, uint64_t count) {
  if (count == 0) return OkStatus();
  const auto step = static_cast<uint64_t>(width);
  if (count > UINT64_MAX / 4) return MakeDiagnostic(diag::kBadCopy, {}, count, address);
  TARSIA_TRY(const MemoryRange* range, FindAll(address, count * step));
  uint8_t* at = range->data + (address - range->address);
  for (uint64_t i = 0; i < count; ++i) std::memcpy(at + i * step, &value, step);
  std::memset(range->defined + (address - range->address), 0xFF, count * step);
  return OkStatus();
}

Result<bool> Memory::IsDefined(uint64_t address, uint64_t bytes) const {
  if (bytes == 0) return true;
  TARSIA_TRY(const MemoryRange* range, FindAll(address, bytes));
  const uint8_t* at = range->defined + (address - range->address);
  return std::all_of(at, at + bytes, [](uint8_t byte) { return byte == 0xFF; });
}

Status Memory::SetReadOnly(uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return MakeDiagnostic(diag::kNotAllocated, {}, address);
  found->second.range.read_only = true;
  return OkStatus();
}

std::string Memory::Describe(uint64_t address) const {
  if (heap_ != nullptr && Heap::Covers(address)) return heap_->Describe(address);
  const auto after = allocations_.upper_bound(address);
  if (after != allocations_.begin()) {
    const MemoryRange& range = std::prev(after)->second.range;
    const uint64_t at = address - range.address;
    if (at < range.bytes) {
      return fmt::format("byte {} of the allocation of {} bytes at 0x{:x}", at, range.bytes,
                         range.address);
    }
    if (at - range.bytes < kGap) {
      return fmt::format("{} bytes past the allocation of {} bytes at 0x{:x}", at - range.bytes,
                         range.bytes, range.address);
    }
  }
  const auto freed = freed_.upper_bound(address);
  if (freed != freed_.begin()) {
    const auto& [start, bytes] = *std::prev(freed);
    if (address - start < bytes) {
      return fmt::format("within {} bytes at 0x{:x} that were freed", bytes, start);
    }
  }
  if (after != allocations_.end() && after->first - address <= kGap) {
    return fmt::format("{} bytes before the allocation of {} bytes at 0x{:x}",
                       after->first - address, after->second.range.bytes, after->first);
  }
  return "no allocation";
}

}  // namespace tarsia::ptx
