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

Mark MarkSets::Make(const Set& set) {
  if (set.count == 0) return {};
  if (set.count == 1) return set.marks[0];
  const uint64_t hash = HashOf(set);
  const Lock lock(this);
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
  Entry& entry = entries_[slot.clock];
  entry.set = set;
  entry.uses = 1;
  entry.hash = hash;
  by_hash_.emplace(hash, slot.clock);
  return slot;
}

void MarkSets::Drop(const Mark& slot) {
  if (slot.block != Mark::kSet) return;
  const Lock lock(this);
  DropLocked(slot);
}

void MarkSets::DropLocked(const Mark& slot) {
  if (slot.block != Mark::kSet) return;
  Entry& entry = entries_[slot.clock];
  if (--entry.uses != 0) return;
  const auto [first, last] = by_hash_.equal_range(entry.hash);
  const auto at = std::find_if(first, last, [&](const auto& e) { return e.second == slot.clock; });
  if (at != last) by_hash_.erase(at);
  ++entry.generation;
  free_.push_back(slot.clock);
}

MarkSets::Step& MarkSets::StepOf(const Mark& before, const Mark& added) {
  if (steps_.empty()) steps_.resize(kSteps);
  uint64_t hash = (uint64_t{before.clock} << 32 | before.block) * 0x9E3779B97F4A7C15U;
  hash ^= uint64_t{before.actor} << 16 | before.inst;
  hash = (hash ^ (uint64_t{added.clock} << 32 | added.inst)) * 0xC2B2AE3D27D4EB4FU;
  hash = (hash ^ (uint64_t{added.actor} << 8 | added.bytes)) * 0x9E3779B97F4A7C15U;
  return steps_[hash >> 32 & (kSteps - 1)];
}

bool MarkSets::Recall(Mark* slot, const Mark& added) {
  const Lock lock(this);
  const Step& step = StepOf(*slot, added);
  const bool known = step.before == *slot && step.added == added &&
                     step.after.block != Mark::kNone &&
                     step.generation_before == GenerationOf(step.before) &&
                     step.generation_after == GenerationOf(step.after);
  if (!known) return false;
  if (step.after == *slot) return true;
  if (step.after.block == Mark::kSet) ++entries_[step.after.clock].uses;
  DropLocked(*slot);
  *slot = step.after;
  return true;
}

void MarkSets::Remember(const Mark& before, const Mark& added, const Mark& after) {
  const Lock lock(this);
  StepOf(before, added) = {before, added, after, GenerationOf(before), GenerationOf(after)};
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
