#include "ptx/count/transactions.h"

#include <algorithm>
#include <bit>
#include <span>

namespace tarsia::ptx {
namespace {

constexpr uint64_t kSectorBytes = 32;
constexpr uint64_t kBankBytes = 4;
constexpr uint64_t kBanks = 32;
constexpr uint64_t kLocalStride = 128;  // from a word of a thread to its next

// Some lanes' addresses, in rising order.
class Sorted {
 public:
  Sorted(const WarpAccess& access, uint32_t lanes) {
    for (uint32_t left = access.mask & lanes; left != 0; left &= left - 1) {
      list_[count_++] = access.address[static_cast<size_t>(std::countr_zero(left))];
    }
    const std::span all(list_.data(), count_);
    if (!std::ranges::is_sorted(all)) std::ranges::sort(all);
  }
  [[nodiscard]] std::span<const uint64_t> addresses() const { return {list_.data(), count_}; }

 private:
  std::array<uint64_t, kLanes> list_;
  size_t count_ = 0;
};

// How many distinct blocks of `size` bytes the accesses touch; f(block) for each.
template <typename F>
uint64_t ForBlocks(std::span<const uint64_t> addresses, uint64_t bytes, uint64_t size, const F& f) {
  uint64_t count = 0;
  uint64_t next = 0;  // all before it are counted
  for (const uint64_t address : addresses) {
    const uint64_t end = (address + bytes - 1) / size + 1;
    for (uint64_t block = std::max(address / size, next); block < end; ++block, ++count) f(block);
    next = std::max(next, end);
  }
  return count;
}

uint64_t DistinctBytes(std::span<const uint64_t> addresses, uint64_t bytes) {
  uint64_t count = 0;
  uint64_t covered = 0;  // all before it are counted
  for (const uint64_t address : addresses) {
    count += address + bytes - std::max(address, std::min(covered, address + bytes));
    covered = address + bytes;
  }
  return count;
}

// How many distinct words the busiest bank is asked for.
uint64_t BusiestBank(const Sorted& phase, uint64_t bytes, bool atomic) {
  std::array<uint8_t, kBanks> load{};
  const auto add = [&](uint64_t word) { ++load[word % kBanks]; };
  if (atomic) {
    for (const uint64_t address : phase.addresses()) add(address / kBankBytes);
  } else {
    ForBlocks(phase.addresses(), bytes, kBankBytes, add);
  }
  return *std::ranges::max_element(load);
}

}  // namespace

uint64_t SectorsOf(uint64_t address, uint64_t bytes) {
  if (bytes == 0) return 0;
  return (address + bytes - 1) / kSectorBytes - address / kSectorBytes + 1;
}

uint64_t IdealSectors(uint64_t bytes) { return (bytes + kSectorBytes - 1) / kSectorBytes; }

Transactions GlobalSectors(const WarpAccess& access) {
  const Sorted sorted(access, kAllLanes);
  const uint64_t bytes = access.bytes;
  const uint64_t actual =
      ForBlocks(sorted.addresses(), bytes, kSectorBytes, [](uint64_t /*sector*/) {});
  return {actual, IdealSectors(DistinctBytes(sorted.addresses(), bytes))};
}

Transactions SharedWavefronts(const WarpAccess& access, bool atomic) {
  const auto words = std::max<uint32_t>(1, access.bytes / kBankBytes);
  const uint32_t lanes = kLanes / words;  // of a phase
  const uint32_t first = lanes == kLanes ? kAllLanes : (uint32_t{1} << lanes) - 1;
  Transactions count;
  for (uint32_t shift = 0; shift < kLanes; shift += lanes) {
    if ((access.mask & first << shift) == 0) continue;
    count.actual += BusiestBank(Sorted(access, first << shift), access.bytes, atomic);
    ++count.ideal;
  }
  return count;
}

uint64_t LocalSectors(const WarpAccess& access) {
  // As if each word of four bytes were asked for by itself, where it lies among those of the warp.
  uint64_t count = 0;
  for (uint64_t offset = 0; offset < access.bytes; offset += kBankBytes) {
    WarpAccess words{access.mask, 1, {}};
    for (uint32_t left = access.mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(left));
      const uint64_t word = (access.address[lane] + offset) / kBankBytes;
      words.address[lane] = word * kLocalStride + lane * kBankBytes;
    }
    count += GlobalSectors(words).actual;
  }
  return count;
}

}  // namespace tarsia::ptx
