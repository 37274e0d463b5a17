#include "vm/ptx/shadow.h"

#include <algorithm>
#include <cstring>

namespace tarsia::ptx {
namespace {

uint64_t HashOf(const MarkSets::Set& set) {
  uint64_t hash = set.count;
  for (const Mark& mark : set.all()) {
    uint64_t words[2];
    static_assert(sizeof mark == sizeof words);
    std::memcpy(words, &mark, sizeof words);
    for (const uint64_t word : words) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29;
    }
  }
  return hash;
}

bool SameMarks(const MarkSets::Set& a, const MarkSets::Set& b) {
  return std::ranges::equal(a.all(), b.all());
}

}  // namespace

MarkSets::Set MarkSets::Get(const Mark& slot) {
  Set set;
  if (slot.block == Mark::kNone) return set;
  if (slot.block != Mark::kSet) {
    set.count = 1;
    set.marks[0] = slot;
    return set;
  }
  const std::lock_guard lock(mutex_);
  return entries_[slot.clock].set;
}

Mark MarkSets::Make(const Set& set) {
  if (set.count == 0) return {};
  if (set.count == 1) return set.marks[0];
  const uint64_t hash = HashOf(set);
  const std::lock_guard lock(mutex_);
  Mark slot;
  slot.block = Mark::kSet;
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (!SameMarks(entries_[at->second].set, set)) continue;
    ++entries_[at->second].uses;
    slot.clock = at->second;
    return slot;
  }
  if (free_.empty()) {
    if (bytes_.load(std::memory_order_relaxed) >= limit_.load(std::memory_order_relaxed)) {
      return set.marks[set.count - 1];
    }
    free_.push_back(static_cast<uint32_t>(entries_.size()));
    entries_.emplace_back();
    bytes_.fetch_add(sizeof(Entry) + 64, std::memory_order_relaxed);
  }
  slot.clock = free_.back();
  free_.pop_back();
  entries_[slot.clock] = {set, 1, hash};
  by_hash_.emplace(hash, slot.clock);
  return slot;
}

void MarkSets::Drop(const Mark& slot) {
  if (slot.block != Mark::kSet) return;
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[slot.clock];
  if (--entry.uses != 0) return;
  const auto [first, last] = by_hash_.equal_range(entry.hash);
  const auto at = std::find_if(first, last, [&](const auto& e) { return e.second == slot.clock; });
  if (at != last) by_hash_.erase(at);
  free_.push_back(slot.clock);
}

ShadowRange::ShadowRange(uint64_t bytes, MarkSets* sets)
    : sets_(sets), pages_((bytes + kPageCells * kCellBytes - 1) / (kPageCells * kCellBytes) + 1) {}

ShadowRange::~ShadowRange() {
  for (std::atomic<Page*>& slot : pages_) delete slot.load();
}

ShadowRange::Page* ShadowRange::NewPage(std::atomic<Page*>* slot) {
  auto fresh = std::make_unique<Page>();
  Page* known = nullptr;
  if (!slot->compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return known;
  bytes_.fetch_add(sizeof(Page), std::memory_order_relaxed);
  sets_->Allow(kPageCells * kCellBytes);
  return fresh.release();
}

ShadowRange& GlobalShadow::Of(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<ShadowRange>& range = ranges_[address];
  if (range == nullptr) range = std::make_unique<ShadowRange>(bytes, &sets_);
  return *range;
}

uint64_t GlobalShadow::bytes() {
  const std::lock_guard lock(mutex_);
  uint64_t sum = sets_.bytes();
  for (const auto& [address, range] : ranges_) sum += range->bytes();
  return sum;
}

}  // namespace tarsia::ptx
