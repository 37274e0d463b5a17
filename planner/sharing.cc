#include "planner/sharing.h"

#include <algorithm>

namespace tarsia {
namespace {

// Of a merge, in additions of elements: a byte of a state, which goes through the host's memory
// to rank 0 and back, and a message.
constexpr double kMergedBytePrice = 2;
constexpr double kMessagePrice = 100'000;
// A byte of an output that goes to rank 0.
constexpr double kCollectedBytePrice = 1;

}  // namespace

bool Sharing::IsShared(uint32_t axis) const { return choice_.share && choice_.share->axis == axis; }

StepRange Sharing::RangeOf(uint32_t axis) const {
  if (IsShared(axis)) return {axis, choice_.share->low(), choice_.share->high()};
  return {axis, 0, meaning_.axis(axis).extent};
}

int64_t Sharing::LengthOf(uint32_t axis) const {
  return IsShared(axis) ? choice_.share->longest() : meaning_.axis(axis).extent;
}

int64_t Sharing::RoundsOf(const Split& split) const {
  return (LengthOf(split.axis) + split.chunk - 1) / split.chunk;
}

ScheduleLoop Sharing::LoopOf(const ScheduleItem& item) const {
  if (item.panels) {
    const int64_t extent = meaning_.axis(item.panels->axis).extent;
    return {{item.panels->axis, 0, extent},
            kPanel,
            (extent + kPanel - 1) / kPanel,
            item.panels->descending};
  }
  const Split& by = choice_.splits[item.split];
  const StepRange all = RangeOf(by.axis);
  return {all, by.chunk, RoundsOf(by), false};
}

int64_t Sharing::GranuleOf(const Split& split) const {
  const int64_t of_chunk = split.chunk & -split.chunk;
  if (!IsShared(split.axis)) return of_chunk;
  const int64_t of_share = choice_.share->granule;
  return split.chunk < LengthOf(split.axis) ? std::min(of_chunk, of_share) : of_share;
}

int64_t Sharing::ExtentOf(const Tensor& tensor, size_t at) const {
  const uint32_t axis = tensor.axes[at];
  const Place& place = places_[NumberOf(tensor)];
  int64_t out = place.shared[at] ? LengthOf(axis) : meaning_.axis(axis).extent;
  if (!place.chunked[at]) return out;
  for (const Split& split : choice_.splits) {
    if (split.axis == axis) out = std::min(out, split.chunk);
  }
  return out;
}

bool Sharing::IsLocal(const Tensor& tensor, uint32_t axis) const {
  const auto at = std::find(tensor.axes.begin(), tensor.axes.end(), axis) - tensor.axes.begin();
  return places_[NumberOf(tensor)].local[static_cast<size_t>(at)];
}

bool Sharing::HasWholeBytes(const Tensor& tensor, size_t at, int64_t granule) const {
  if (tensor.dtype.bits >= 8) return true;
  uint64_t bits = tensor.dtype.bits * static_cast<uint64_t>(granule);
  for (size_t i = 1; i < tensor.axes.size(); ++i) {
    bits *= static_cast<uint64_t>(meaning_.axis(tensor.axes[i]).extent);
  }
  return at == 0 && bits % 8 == 0;
}

bool Sharing::IsPartOfChunk(const Tensor& tensor, uint32_t axis) const {
  if (tensor.dtype.bits >= 8) return false;
  return std::any_of(choice_.splits.begin(), choice_.splits.end(), [&](const Split& split) {
    const auto& axes = tensor.axes;
    return split.axis != axis && split.chunk < LengthOf(split.axis) &&
           std::find(axes.begin(), axes.end(), split.axis) != axes.end();
  });
}

bool Sharing::IsShared(const Tensor& tensor) const {
  if (!choice_.share || !tensor.used) return false;
  const auto& axes = tensor.axes;
  return std::find(axes.begin(), axes.end(), choice_.share->axis) != axes.end() &&
         IsLocal(tensor, choice_.share->axis);
}

bool Sharing::IsPossible() const {
  return !choice_.share || std::all_of(tensors_.begin(), tensors_.end(), [&](const Tensor& t) {
    const auto& axes = t.axes;
    const bool has = std::find(axes.begin(), axes.end(), choice_.share->axis) != axes.end();
    const bool made = t.kind != PlanBuffer::Kind::kInput;
    // Two ranks cannot write bits of one byte.
    if (has && t.kind == PlanBuffer::Kind::kOutput) {
      const auto at = std::find(axes.begin(), axes.end(), choice_.share->axis) - axes.begin();
      if (!HasWholeBytes(t, static_cast<size_t>(at), choice_.share->granule)) return false;
    }
    return !has || !t.used || (!made && !t.overwritten) || IsLocal(t, choice_.share->axis);
  });
}

bool Sharing::CanShare(const Tensor& tensor, size_t at) const {
  const bool port = tensor.kind != PlanBuffer::Kind::kScratch;
  if (port && limit_kind_ != LimitKind::kTotal) return false;
  if (!IsShared(tensor.axes[at])) return false;
  if (port && !HasWholeBytes(tensor, at, choice_.share->granule)) return false;
  return IsLocal(tensor, tensor.axes[at]);
}

double Sharing::TimesOf(size_t work) const {
  if (!choice_.share) return 1;
  if (works_[work].kind == KernelKind::kMerge)
    return static_cast<double>(choice_.share->ranks() - 1);
  const uint32_t axis = choice_.share->axis;
  if (loops_of_[work].count(axis) == 0) return 1;
  return static_cast<double>(LengthOf(axis)) / static_cast<double>(meaning_.axis(axis).extent);
}

double Sharing::ExchangeCost() const {
  if (!choice_.share) return 0;
  double out = 0;
  const auto others = static_cast<double>(choice_.share->ranks() - 1);
  for (const Work& work : works_) {
    for (const auto& [n, state] : work.incoming) {
      for (const size_t t : state) {
        const auto bytes = static_cast<double>(places_[t].bytes);
        out += others * (kMessagePrice + bytes * kMergedBytePrice);
      }
    }
  }
  for (const Tensor& tensor : tensors_) {
    if (tensor.kind != PlanBuffer::Kind::kOutput || !IsShared(tensor)) continue;
    double bytes = tensor.dtype.bits / 8.0;
    for (const uint32_t axis : tensor.axes) {
      bytes *= static_cast<double>(meaning_.axis(axis).extent);
    }
    out += bytes * kCollectedBytePrice;
  }
  return out;
}

}  // namespace tarsia
