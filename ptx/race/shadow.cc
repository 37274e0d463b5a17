#include "ptx/race/shadow.h"

#include <algorithm>
#include <cstring>

namespace tarsia::ptx {
namespace {

uint64_t HashOf(std::span<const AccessRecord> records) {
  uint64_t hash = records.size();
  for (const AccessRecord& record : records) {
    uint64_t words[2];
    static_assert(sizeof record == sizeof words);
    std::memcpy(words, &record, sizeof words);
    for (const uint64_t word : words) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29;
    }
  }
  return hash;
}

Trail TrailOf(std::span<const AccessRecord> records) {
  Trail trail;
  trail.plain = true;
  for (const AccessRecord& record : records) {
    trail.records[trail.count++] = record;
    trail.bytes |= record.bytes;
    trail.semantics |= record.semantics;
    if (record.block != 0 || (record.semantics & kAsyncBit) != 0) trail.plain = false;
  }
  return trail;
}

}  // namespace

Trails::Trails() : table_(256) {
  chunks_[0] = std::make_unique<Chunk>();
  chunks_[0]->trails[0] = TrailOf({});
  bytes_.store(sizeof(Chunk));
}

// Where the trail of these records is named, or would be.
uint32_t& Trails::PlaceOf(std::span<const AccessRecord> records) {
  size_t at = HashOf(records) & (table_.size() - 1);
  while (table_[at] != 0 && !std::ranges::equal((*this)[table_[at]].all(), records)) {
    at = (at + 1) & (table_.size() - 1);
  }
  return table_[at];
}

// For one more trail.
bool Trails::MakeRoom() {
  if (count_ % kChunk == 0) {
    const bool full = bytes_.load(std::memory_order_relaxed) + sizeof(Chunk) >
                      limit_.load(std::memory_order_relaxed);
    if (full || count_ == kMost) return false;
    chunks_[count_ / kChunk] = std::make_unique<Chunk>();
    bytes_.fetch_add(sizeof(Chunk), std::memory_order_relaxed);
  }
  if (count_ * 2 > table_.size()) {
    table_.assign(table_.size() * 2, 0);
    for (uint32_t number = 1; number < count_; ++number) PlaceOf((*this)[number].all()) = number;
  }
  return true;
}

uint32_t Trails::Number(std::span<const AccessRecord> records) {
  if (records.empty()) return 0;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (shared_) lock.lock();
  if (const uint32_t known = PlaceOf(records)) return known;
  if (!MakeRoom()) return 0;
  chunks_[count_ / kChunk]->trails[count_ % kChunk] = TrailOf(records);
  PlaceOf(records) = count_;
  return count_++;
}

ShadowRange::ShadowRange(uint64_t bytes, Trails* trails)
    : trails_(trails),
      pages_((bytes + kPageCells * kCellBytes - 1) / (kPageCells * kCellBytes) + 1) {}

ShadowRange::~ShadowRange() {
  for (std::atomic<Page*>& slot : pages_) delete slot.load();
}

ShadowRange::Page* ShadowRange::NewPage(std::atomic<Page*>* slot) {
  auto fresh = std::make_unique<Page>();
  Page* known = nullptr;
  if (!slot->compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) return known;
  count_.fetch_add(1, std::memory_order_relaxed);
  if (trails_ != nullptr) trails_->Allow(kPageCells * kCellBytes / 2);
  return fresh.release();
}

ShadowRange& GlobalShadow::Of(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<ShadowRange>& range = ranges_[address];
  if (range == nullptr) range = std::make_unique<ShadowRange>(bytes, &trails_);
  return *range;
}

uint64_t GlobalShadow::bytes() {
  const std::lock_guard lock(mutex_);
  uint64_t sum = trails_.bytes();
  for (const auto& [address, range] : ranges_) sum += range->bytes();
  return sum;
}

uint64_t GlobalShadow::touched() {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [address, range] : ranges_) sum += range->touched();
  return sum;
}

}  // namespace tarsia::ptx
