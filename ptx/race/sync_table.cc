#include "ptx/race/sync_table.h"

#include <algorithm>

#include "ptx/table/lanes.h"

namespace tarsia::ptx {

bool IsWithinScope(const Release& release, Strength scope, const Accessor& accessor) {
  return std::min(release.scope, scope) >= accessor.NeededScope(release.block);
}

void AddRelease(const Release& release, Releases* to) {
  for (Release& known : *to) {
    if (known.block != release.block || known.scope != release.scope) continue;
    known.past.Join(release.past);
    return;
  }
  to->push_back(release);
}

void SyncTable::Write(uint64_t address, const Release* release) {
  const std::lock_guard lock(mutex_);
  if (release == nullptr) {
    by_address_.erase(address);
  } else {
    by_address_[address].assign(1, *release);
  }
  size_.store(by_address_.size(), std::memory_order_release);
}

void SyncTable::Update(uint64_t address, const Release& release) {
  const std::lock_guard lock(mutex_);
  AddRelease(release, &by_address_[address]);
  size_.store(by_address_.size(), std::memory_order_release);
}

Releases SyncTable::Read(uint64_t address) {
  if (empty()) return {};
  const std::lock_guard lock(mutex_);
  const auto found = by_address_.find(address);
  return found != by_address_.end() ? found->second : Releases{};
}

void FenceState::Fence(uint32_t lanes, Strength scope, const Accessor& accessor, WarpOrder* order) {
  ForLanes(lanes, [&](int lane) {
    Lane& state = lanes_[static_cast<size_t>(lane)];
    const uint32_t bit = uint32_t{1} << lane;
    for (const auto& [read_scope, release] : state.seen) {
      if (IsWithinScope(release, std::min(scope, read_scope), accessor)) {
        order->Acquire(bit, release.past);
      }
    }
    state.seen.clear();
    state.released.block = accessor.block;
    state.released.scope = scope;
    state.released.past = {};
    order->Release(bit, &state.released.past);
  });
}

void FenceState::Saw(int lane, Strength scope, const Releases& releases) {
  Lane& state = lanes_[static_cast<size_t>(lane)];
  for (const Release& release : releases) {
    const auto known = std::ranges::find_if(state.seen, [&](const auto& seen) {
      return seen.first == scope && seen.second.block == release.block &&
             seen.second.scope == release.scope;
    });
    if (known == state.seen.end()) {
      state.seen.emplace_back(scope, release);
    } else if (!known->second.past.SameAs(release.past)) {
      known->second.past.Join(release.past);
    }
  }
}

bool FenceState::Released(int lane, Release* release) const {
  *release = lanes_[static_cast<size_t>(lane)].released;
  return release->scope != Strength::kWeak;
}

}  // namespace tarsia::ptx
