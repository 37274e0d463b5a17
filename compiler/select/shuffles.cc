#include "compiler/select/shuffles.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <utility>

#include "support/extents.h"

namespace tarsia::compiler {
namespace {

constexpr int kLaneBits = 5;
constexpr size_t kMostChoices = 2;  // bits

using Digit = RegLayout::Digit;
using Digits = RegLayout::Digits;
using ElementBit = std::pair<int, int>;  // a dimension, and a bit of the index along it

// What each bit of a number gives of an element's index, the lowest first; nothing for replicas.
using Bits = std::vector<std::optional<ElementBit>>;

bool IsPower(int64_t x) { return x > 0 && (x & (x - 1)) == 0; }
int Log(int64_t x) { return std::countr_zero(static_cast<uint64_t>(x)); }

std::optional<Bits> BitsOf(const Digits& digits) {
  Bits out;
  for (size_t d = digits.size(); d-- > 0;) {
    const Digit& digit = digits[d];
    const bool replica = digit.dim == RegLayout::kReplication;
    if (!IsPower(digit.extent) || (!replica && !IsPower(digit.stride))) return std::nullopt;
    for (int bit = 0; bit < Log(digit.extent); ++bit) {
      out.push_back(replica ? std::nullopt
                            : std::optional(ElementBit(digit.dim, Log(digit.stride) + bit)));
    }
  }
  return out;
}

struct LayoutBits {
  Bits thread, slot;
  std::map<ElementBit, int> in_thread, in_slot;  // where an element's bits are
};

LayoutBits WithPlaces(Bits thread, Bits slot) {
  LayoutBits out{std::move(thread), std::move(slot), {}, {}};
  for (size_t i = 0; i < out.thread.size(); ++i) {
    if (out.thread[i]) out.in_thread[*out.thread[i]] = static_cast<int>(i);
  }
  for (size_t i = 0; i < out.slot.size(); ++i) {
    if (out.slot[i]) out.in_slot[*out.slot[i]] = static_cast<int>(i);
  }
  return out;
}

// Whether each warp has the elements that it wants: the bits of its number mean the same in both.
bool WarpsStay(const Bits& from, const Bits& to) {
  for (size_t bit = kLaneBits; bit < from.size(); ++bit) {
    if (from[bit] && (bit >= to.size() || to[bit] != from[bit])) return false;
  }
  return true;
}

int64_t BitAt(int64_t number, int bit) { return number >> bit & 1; }

class Planner {
 public:
  Planner(LayoutBits from, LayoutBits to) : from_(std::move(from)), to_(std::move(to)) {}

  std::optional<ShufflePlan> Plan(int bits) {
    if (!FindLanes() || !FindSlots()) return std::nullopt;
    if (plan_.reads_others && !plan_.choice.empty()) return std::nullopt;  // both at once
    const int low = LowBits(bits);
    plan_.run = int64_t{1} << low;
    plan_.words = bits > 32 ? 2 : 1;
    const int64_t slots = int64_t{1} << to_.slot.size();
    for (int64_t slot = 0; slot < slots; slot += plan_.run) plan_.runs.push_back(RunAt(slot));
    return plan_;
  }

 private:
  // Where the bits of the lane that is read come from; WarpsStay holds for those of the warp.
  bool FindLanes() {
    const int bits = std::min(kLaneBits, static_cast<int>(from_.thread.size()));
    for (int bit = 0; bit < bits; ++bit) {
      const std::optional<ElementBit>& element = from_.thread[Size(bit)];
      int source = bit;  // of replicas the own one
      if (element) {
        const auto there = to_.in_thread.find(*element);
        if (there == to_.in_thread.end()) {
          // A bit of the slot that is wanted.
          if (!to_.in_slot.contains(*element)) return false;
          lane_of_slot_.push_back({to_.in_slot.at(*element), bit});
          plan_.reads_others = true;
          continue;
        }
        source = there->second;
      }
      plan_.reads_others = plan_.reads_others || source != bit;
      plan_.lane.push_back({source, bit});
    }
    return true;
  }

  // Where the bits of the slot that is read come from.
  bool FindSlots() {
    for (int bit = 0; bit < static_cast<int>(from_.slot.size()); ++bit) {
      const std::optional<ElementBit>& element = from_.slot[Size(bit)];
      if (!element) return false;
      if (const auto slot = to_.in_slot.find(*element); slot != to_.in_slot.end()) {
        slot_of_slot_.push_back({slot->second, bit});
      } else if (const auto thread = to_.in_thread.find(*element); thread != to_.in_thread.end()) {
        plan_.choice.push_back(thread->second);
        choice_to_.push_back(bit);
      } else {
        return false;
      }
    }
    return plan_.choice.size() <= kMostChoices;
  }

  // Low bits of slots that both sides have in common, as far as a word has them.
  [[nodiscard]] int LowBits(int bits) const {
    int low = 0;
    while (bits << (low + 1) <= 32 && Size(low) < to_.slot.size() &&
           Size(low) < from_.slot.size() && from_.slot[Size(low)] == to_.slot[Size(low)]) {
      ++low;
    }
    return low;
  }

  [[nodiscard]] ShufflePlan::Run RunAt(int64_t slot) const {
    ShufflePlan::Run out;
    for (const auto& [of_slot, bit] : lane_of_slot_) out.lane |= BitAt(slot, of_slot) << bit;
    int64_t common = 0;
    for (const auto& [of_slot, bit] : slot_of_slot_) common |= BitAt(slot, of_slot) << bit;
    for (int64_t choice = 0; choice < int64_t{1} << choice_to_.size(); ++choice) {
      int64_t source = common;
      for (size_t i = 0; i < choice_to_.size(); ++i) {
        source |= BitAt(choice, static_cast<int>(i)) << choice_to_[i];
      }
      out.sources.push_back(source);
    }
    return out;
  }

  const LayoutBits from_, to_;
  ShufflePlan plan_;
  std::vector<std::pair<int, int>> lane_of_slot_, slot_of_slot_;  // bit of `to`'s slot, own bit
  std::vector<int> choice_to_;                                    // bits of the source's slot
};

}  // namespace

std::optional<ShufflePlan> PlanShuffles(const TileLayout& from, const TileLayout& to, int bits) {
  if (from.shape() != to.shape() || from.empty() || from.padded() || to.padded()) {
    return std::nullopt;
  }
  auto source = BitsOf(from.reg().spatial()), target = BitsOf(to.reg().spatial());
  // Most pairs end here, and the solver of layouts asks often.
  if (!source || !target || !WarpsStay(*source, *target)) return std::nullopt;
  auto source_slot = BitsOf(from.reg().local()), target_slot = BitsOf(to.reg().local());
  if (!source_slot || !target_slot) return std::nullopt;
  return Planner(WithPlaces(*std::move(source), *std::move(source_slot)),
                 WithPlaces(*std::move(target), *std::move(target_slot)))
      .Plan(bits);
}

}  // namespace tarsia::compiler
