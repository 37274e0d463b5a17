// What the lanes of a warp do together: shfl, vote, match, redux, elect.
#include <algorithm>

#include "ptx/exec/exec.h"

namespace tarsia::ptx {
namespace {

// The handler of what the lanes of the mask in the n-th place do together.
template <void (*act)(Warp&, const Inst&), int mask_at>
Step Together(Warp& warp, const Inst& inst) {
  return warp.divergence().ActTogether(inst, inst[mask_at], act);
}

// The lane that a lane of shfl reads, and whether it is within the segment.
int ShuffleSource(const Inst& inst, int lane, uint32_t b, uint32_t c, bool* inside) {
  const auto self = static_cast<uint32_t>(lane);
  const uint32_t segment = c >> 8 & 31;
  const uint32_t clamp = c & 31;
  const uint32_t last = (self & segment) | (clamp & ~segment);
  const uint32_t first = self & segment;
  b &= 31;
  int64_t from = 0;
  if (inst.Has(Mod::kUp)) {
    from = int64_t{self} - b;
    *inside = from >= int64_t{last};
  } else {
    from = inst.Has(Mod::kDown)   ? int64_t{self} + b
           : inst.Has(Mod::kBfly) ? int64_t{self ^ b}
                                  : int64_t{first | (b & ~segment)};
    *inside = from <= int64_t{last};
  }
  return *inside ? static_cast<int>(from) : lane;
}

// Where undefined bits that a lane gets from another come from; `from` is -1 if that takes no part.
Origin ShuffleOrigin(const Warp& warp, const Inst& inst, int lane, int from) {
  const bool by_choice =
      (warp.undefined().Bits(inst[3], lane) | warp.undefined().Bits(inst[4], lane)) != 0;
  if (by_choice) return warp.undefined().OriginOfResult(inst, lane);
  const Origin origin = from < 0 ? Origin() : warp.undefined().OriginOf(inst[2], from);
  return origin.none() ? Origin::Of(inst) : origin;
}

void Shuffle(Warp& warp, const Inst& inst) {
  uint32_t values[kLanes];
  uint64_t undef[kLanes];
  Origin origins[kLanes];
  uint32_t inside_lanes = 0;
  uint32_t unknown = 0;  // lanes whose predicate depends on undefined bits
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t undef_lane =
        warp.undefined().Bits(inst[3], lane) | warp.undefined().Bits(inst[4], lane);
    bool inside = false;
    const int from = ShuffleSource(inst, lane, warp.Get<uint32_t>(inst[3], lane),
                                   warp.Get<uint32_t>(inst[4], lane), &inside);
    values[lane] = warp.Get<uint32_t>(inst[2], from);
    const bool active = (warp.mask() >> from & 1) != 0;
    // What a lane holds that does not take part is undefined.
    undef[lane] = undef_lane != 0 || !active ? AllBits(4) : warp.undefined().Bits(inst[2], from);
    if (undef[lane] != 0) origins[lane] = ShuffleOrigin(warp, inst, lane, active ? from : -1);
    inside_lanes |= static_cast<uint32_t>(inside) << lane;
    unknown |= static_cast<uint32_t>(undef_lane != 0) << lane;
  });
  ForLanes(warp.mask(), [&](int lane) {
    warp.SetBits(inst[0], lane, values[lane]);
    if (undef[lane] != 0 || (warp.undefined().Lanes(inst[0]) >> lane & 1) != 0) {
      warp.undefined().Set(inst[0], lane, undef[lane], origins[lane]);
    }
  });
  if (inst.CountAt(1) != 0) {
    warp.SetPredicate(inst[1], inside_lanes);
    ForLanes(warp.mask(),
             [&](int lane) { warp.undefined().Set(inst[1], lane, unknown >> lane & 1); });
  }
}

// One result for all executing lanes; undefined if any lane's source is.
void SetAll(Warp& warp, const Operand& dest, uint64_t bits, bool undef) {
  ForLanes(warp.mask(), [&](int lane) {
    warp.SetBits(dest, lane, bits);
    warp.undefined().Set(dest, lane, undef ? AllBits(dest.bytes) : 0);
  });
}

bool AnyUndef(const Warp& warp, const Operand& source) {
  return (warp.undefined().Lanes(source) & warp.mask()) != 0;
}

void Vote(Warp& warp, const Inst& inst) {
  const uint32_t lanes = warp.Predicate(inst[1]) & warp.mask();
  uint64_t bits = lanes;
  if (inst.Has(Mod::kAll)) bits = lanes == warp.mask() ? 1 : 0;
  if (inst.Has(Mod::kAny)) bits = lanes != 0 ? 1 : 0;
  if (inst.Has(Mod::kUni)) bits = lanes == 0 || lanes == warp.mask() ? 1 : 0;
  SetAll(warp, inst[0], bits, AnyUndef(warp, inst[1]));
}

void MatchAnyLane(Warp& warp, const Inst& inst) {
  uint32_t groups[kLanes] = {};
  ForLanes(warp.mask(), [&](int lane) {
    ForLanes(warp.mask(), [&](int other) {
      const bool same = warp.Bits(inst[1], lane) == warp.Bits(inst[1], other);
      groups[lane] |= static_cast<uint32_t>(same) << other;
    });
  });
  const bool undef = AnyUndef(warp, inst[1]);
  ForLanes(warp.mask(), [&](int lane) {
    warp.SetBits(inst[0], lane, groups[lane]);
    warp.undefined().Set(inst[0], lane, undef ? AllBits(4) : 0);
  });
}

void MatchAllLanes(Warp& warp, const Inst& inst) {
  const uint64_t first = warp.Bits(inst[2], std::countr_zero(warp.mask()));
  bool same = true;
  ForLanes(warp.mask(), [&](int lane) { same = same && warp.Bits(inst[2], lane) == first; });
  const bool undef = AnyUndef(warp, inst[2]);
  SetAll(warp, inst[0], same ? warp.mask() : 0, undef);
  if (inst.CountAt(1) != 0) SetAll(warp, inst[1], same ? 1 : 0, undef);
}

uint32_t Reduced(const Inst& inst, uint32_t a, uint32_t b) {
  const bool is_signed = IsSigned(inst.type[0]);
  const bool less = is_signed ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
  if (inst.Has(Mod::kAdd)) return a + b;
  if (inst.Has(Mod::kMin)) return less ? a : b;
  if (inst.Has(Mod::kMax)) return less ? b : a;
  if (inst.Has(Mod::kAnd)) return a & b;
  return inst.Has(Mod::kOr) ? a | b : a ^ b;
}

void Redux(Warp& warp, const Inst& inst) {
  const int first = std::countr_zero(warp.mask());
  auto value = warp.Get<uint32_t>(inst[1], first);
  ForLanes(warp.mask() & ~(uint32_t{1} << first),
           [&](int lane) { value = Reduced(inst, value, warp.Get<uint32_t>(inst[1], lane)); });
  SetAll(warp, inst[0], value, AnyUndef(warp, inst[1]));
}

// The lowest lane of the mask is elected.
void ElectOne(Warp& warp, const Inst& inst) {
  const int leader = std::countr_zero(warp.mask());
  SetAll(warp, inst[0], static_cast<uint64_t>(leader), false);
  if (inst.CountAt(1) != 0) {
    SetAll(warp, inst[1], 0, false);
    warp.SetBits(inst[1], leader, 1);
  }
}

}  // namespace

PTX_BIND(Shfl) { return &Together<Shuffle, 5>; }
PTX_BIND(VotePred) { return &Together<Vote, 2>; }
PTX_BIND(VoteBallot) { return &Together<Vote, 2>; }
PTX_BIND(Activemask) {
  return [](Warp& warp, const Inst& i) {
    SetAll(warp, i[0], warp.mask(), false);
    return Step::kNext;
  };
}
PTX_BIND(MatchAny) { return &Together<MatchAnyLane, 2>; }
PTX_BIND(MatchAll) { return &Together<MatchAllLanes, 3>; }
PTX_BIND(ReduxInt) { return &Together<Redux, 2>; }
PTX_BIND(ReduxBits) { return &Together<Redux, 2>; }
PTX_BIND(Elect) { return &Together<ElectOne, 2>; }

}  // namespace tarsia::ptx
