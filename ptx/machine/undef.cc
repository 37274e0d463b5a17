// How undefined bits of the sources reach the destinations: exactly where defined bits decide, and
// otherwise as an upper bound.
#include <optional>

#include "ptx/machine/bitops.h"
#include "ptx/machine/warp.h"

namespace tarsia::ptx {
namespace {

// All bits at and above the lowest that is set.
uint64_t Smear(uint64_t bits) { return bits | (~bits + 1); }

uint64_t SmearHalves(uint64_t bits) {
  uint64_t out = 0;
  for (int half = 0; half < 4; ++half) {
    const uint64_t mask = uint64_t{0xFFFF} << (16 * half);
    if ((bits & mask) != 0) out |= mask;
  }
  return out;
}

// The sources of an instruction in one lane.
struct Sources {
  static constexpr int kMost = 5;
  int count = 0;
  uint64_t value[kMost] = {};
  uint64_t undef[kMost] = {};
  int bytes[kMost] = {};
  std::optional<LoadSource> loaded[kMost];  // where the undefined bits were loaded from
  [[nodiscard]] uint64_t Any() const {
    uint64_t any = 0;
    for (int i = 0; i < count; ++i) any |= undef[i];
    return any;
  }
};

uint64_t Shifted(const Inst& inst, const Sources& s, uint64_t all) {
  if (s.undef[1] != 0) return all;
  const uint64_t width = static_cast<uint64_t>(s.bytes[0]) * 8;
  const uint64_t by = std::min(s.value[1], width);
  const uint64_t undef = s.undef[0];
  if (inst.op == Op::kShl) return by >= 64 ? 0 : undef << by;
  const bool fills = IsSigned(inst.type[0]) && (undef >> (width - 1) & 1) != 0;
  const uint64_t low = by >= 64 ? 0 : undef >> by;
  return fills ? low | ~(by >= 64 ? 0 : all >> by) : low;
}

// Bits that come through a truth table with undefined inputs: those whose outcome is the same
// whatever the undefined inputs are stay defined.
uint64_t ThroughTable(const Sources& s) {
  uint64_t out = 0;
  for (int bit = 0; bit < 32; ++bit) {
    bool may_be[2] = {false, false};
    for (unsigned row = 0; row < 8; ++row) {
      bool possible = true;
      for (int input = 0; input < 3; ++input) {
        const bool want = (row >> (2 - input) & 1) != 0;
        const bool is = (s.value[input] >> bit & 1) != 0;
        possible = possible && (want == is || (s.undef[input] >> bit & 1) != 0);
      }
      if (possible) may_be[s.value[3] >> row & 1] = true;
    }
    if (may_be[0] && may_be[1]) out |= uint64_t{1} << bit;
  }
  return out;
}

// Whether the undefined bits of source i, alone among the inputs, come through the table as they
// are where they come through at all.
bool PassesTable(const Sources& s, int i) {
  for (int bit = 0; bit < 32; ++bit) {
    if ((s.undef[i] >> bit & 1) == 0) continue;
    unsigned row = 0;
    for (int input = 0; input < 3; ++input) {
      const bool set = input != i && (s.value[input] >> bit & 1) != 0;
      row |= unsigned{set} << (2 - input);
    }
    const unsigned with = row | 1u << (2 - i);
    if ((s.value[3] >> row & 1) == 1 && (s.value[3] >> with & 1) == 0) return false;
  }
  return true;
}

// shf and prmt: undefined bits go where the bits go.
uint64_t Funnelled(const Inst& inst, const Sources& s) {
  const auto low = static_cast<uint32_t>(s.undef[0]);
  const auto high = static_cast<uint32_t>(s.undef[1]);
  const auto amount = static_cast<uint32_t>(s.value[2]);
  const uint32_t by = inst.Has(Mod::kClamp) ? std::min<uint32_t>(amount, 32) : amount & 31;
  return inst.Has(Mod::kL) ? FunnelLeft(low, high, by) : FunnelRight(low, high, by);
}

uint64_t Fielded(const Inst& inst, const Sources& s) {
  const auto width = static_cast<uint32_t>(s.bytes[0]) * 8;
  const size_t at = s.count - 2;
  const auto position = static_cast<uint32_t>(s.value[at]);
  const auto length = static_cast<uint32_t>(s.value[at + 1]);
  if (inst.op == Op::kBfe) {
    return ExtractField(s.undef[0], position, length, width, IsSigned(inst.type[0]));
  }
  return InsertField(s.undef[0], s.undef[1], position, length, width);
}

// cvt between integers: the low bits, extended. Saturation depends on all bits.
uint64_t Converted(const Inst& inst, const Sources& s, uint64_t all) {
  const int width = InfoOf(inst.type[1]).bits;
  const uint64_t undef = s.undef[0] & AllBits(width / 8);
  if (inst.Has(Mod::kSat)) return undef != 0 ? all : 0;
  const bool fills = IsSigned(inst.type[1]) && (undef >> (width - 1) & 1) != 0;
  const uint64_t extended = fills ? undef | ~AllBits(width / 8) : undef;
  const int kept = InfoOf(inst.type[0]).bits;
  const uint64_t low = extended & AllBits(kept / 8);
  const bool fills_dest = IsSigned(inst.type[0]) && (low >> (kept - 1) & 1) != 0;
  return fills_dest ? low | ~AllBits(kept / 8) : low;
}

// Whether a comparison asks if memory has changed since it was last looked at, as the loop around a
// compare-and-swap does. The answer does not depend on what was there.
bool AsksForChange(const Inst& inst, const Sources& s) {
  if (inst.op != Op::kSetpInt || !(inst.Has(Mod::kEq) || inst.Has(Mod::kNe))) return false;
  bool compared = false;
  std::optional<uint64_t> place;
  for (int i = 0; i < s.count; ++i) {
    if (s.undef[i] == 0) continue;
    if (!s.loaded[i] || place.value_or(s.loaded[i]->first) != s.loaded[i]->first) return false;
    place = s.loaded[i]->first;
    compared = compared || s.loaded[i]->compared;
  }
  return compared;
}

uint64_t ResultOf(const Inst& inst, const Sources& s, uint64_t all) {
  const uint64_t everything = s.Any() != 0 ? all : 0;
  switch (inst.undef) {
    case UndefRule::kAll:
      return everything != 0 && AsksForChange(inst, s) ? 0 : everything;
    case UndefRule::kConcat:
    case UndefRule::kOwn:
      return everything;
    case UndefRule::kBits:
      return s.Any();
    case UndefRule::kAnd:
      return (s.undef[0] | s.undef[1]) & (s.undef[0] | s.value[0]) & (s.undef[1] | s.value[1]);
    case UndefRule::kOr:
      return (s.undef[0] | s.undef[1]) & (s.undef[0] | ~s.value[0]) & (s.undef[1] | ~s.value[1]);
    case UndefRule::kLop3:
      return s.undef[3] != 0 ? all : ThroughTable(s);
    case UndefRule::kCarry:
      return Smear(s.Any());
    case UndefRule::kHalves:
      return SmearHalves(s.Any());
    case UndefRule::kShift:
      return Shifted(inst, s, all);
    case UndefRule::kSelect:
      return s.undef[2] != 0 ? all : s.undef[s.value[2] != 0 ? 0 : 1];
    case UndefRule::kFunnel:
      return s.undef[2] != 0 ? all : Funnelled(inst, s);
    case UndefRule::kPermute:
      // A mode's selector is worked out by the instruction; the plain one is the operand.
      if (s.undef[2] != 0 || inst.mods.any()) return everything;
      return PermuteBytes(static_cast<uint32_t>(s.undef[0]), static_cast<uint32_t>(s.undef[1]),
                          static_cast<uint32_t>(s.value[2]));
    case UndefRule::kField:
      return s.undef[s.count - 1] != 0 || s.undef[s.count - 2] != 0 ? all : Fielded(inst, s);
    case UndefRule::kConvert:
      return Converted(inst, s, all);
  }
  return everything;
}

// ---- load sources ----------------------------------------------------------------------------

// How far up the bits of source i move (down, if it is less than 0) where an instruction passes
// those that are undefined on as they are; nothing where it does not.
std::optional<int64_t> MoveOf(const Inst& inst, const Sources& s, int i) {
  const uint64_t undef = s.undef[i];
  uint64_t others = 0;  // bits of other sources that are, or may be, set
  uint64_t others_undef = 0;
  for (int o = 0; o < s.count; ++o) {
    if (o == i) continue;
    others |= s.value[o];
    others_undef |= s.undef[o];
  }
  const int width = s.bytes[i] * 8;
  const bool extends = width > 0 && (undef >> (width - 1) & 1) != 0;
  const auto by = static_cast<int64_t>(s.value[1]);
  switch (inst.undef) {
    case UndefRule::kBits:
      if (inst.op == Op::kNot || ((others | others_undef) & undef) != 0) return std::nullopt;
      return 0;
    case UndefRule::kAnd:
    case UndefRule::kOr:
      return (others_undef & undef) == 0 ? std::optional<int64_t>(0) : std::nullopt;
    case UndefRule::kLop3:
      return others_undef == 0 && PassesTable(s, i) ? std::optional<int64_t>(0) : std::nullopt;
    case UndefRule::kShift:
      if (i != 0 || (inst.op == Op::kShr && IsSigned(inst.type[0]) && extends)) return std::nullopt;
      return inst.op == Op::kShl ? by : -by;
    case UndefRule::kSelect:
      return 0;
    case UndefRule::kField: {
      const auto position = static_cast<int64_t>(s.value[s.count - 2] & 0xFF);
      if (inst.op == Op::kBfi) return i == 0 ? position : 0;
      return IsSigned(inst.type[0]) ? std::nullopt : std::optional<int64_t>(-position);
    }
    case UndefRule::kConvert:
      if (inst.Has(Mod::kSat) || (IsSigned(inst.type[1]) && extends)) return std::nullopt;
      return 0;
    case UndefRule::kAll:
    case UndefRule::kCarry:
    case UndefRule::kHalves:
    case UndefRule::kFunnel:
    case UndefRule::kPermute:
    case UndefRule::kConcat:
    case UndefRule::kOwn:
      return std::nullopt;
  }
  return std::nullopt;
}

// Where the undefined bits of a result were loaded from, if all of those that it is made of were
// loaded from there.
std::optional<LoadSource> ResultSource(const Inst& inst, const Sources& s) {
  std::optional<LoadSource> out;
  for (int i = 0; i < s.count; ++i) {
    if (s.undef[i] == 0) continue;
    if (inst.undef == UndefRule::kSelect && i != (s.value[2] != 0 ? 0 : 1)) continue;
    const auto by = MoveOf(inst, s, i);
    if (!by || !s.loaded[i]) return std::nullopt;
    const uint64_t first = s.loaded[i]->first - static_cast<uint64_t>(*by);
    if (out && out->first != first) return std::nullopt;
    out = LoadSource{first, s.loaded[i]->compared};
  }
  return out;
}

// The whole that a list of registers makes, or the part of a whole that a register of a list takes.
void PropagateConcat(Warp& warp, const Inst& inst, int lane) {
  uint64_t low = 0;
  uint64_t high = 0;
  int at = 0;
  bool in_place = true;
  std::optional<LoadSource> whole;
  for (const Operand& source : inst.At(1)) {
    const uint64_t undef = warp.undefined().Bits(source, lane);
    if (undef != 0) {
      const LoadSource* loaded = warp.undefined().LoadSourceOf(source, lane);
      const uint64_t first = loaded == nullptr ? 0 : loaded->first - static_cast<uint64_t>(at);
      in_place = in_place && loaded != nullptr && (!whole || whole->first == first);
      whole = LoadSource{first, loaded != nullptr && loaded->compared};
    }
    if (at < 64) {
      low |= undef << at;
    } else {
      high |= undef << (at - 64);
    }
    at += source.bytes * 8;
  }
  at = 0;
  for (const Operand& dest : inst.At(0)) {
    const uint64_t undef = at < 64 ? low >> at : high >> (at - 64);
    warp.undefined().Set(dest, lane, undef & AllBits(dest.bytes));
    if (whole && in_place && (undef & AllBits(dest.bytes)) != 0) {
      warp.undefined().SetLoadSource(dest, lane,
                                     {whole->first + static_cast<uint64_t>(at), whole->compared});
    }
    at += dest.bytes * 8;
  }
}

}  // namespace

void PropagateUndef(Warp& warp, const Inst& inst, uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (inst.undef == UndefRule::kConcat) {
      PropagateConcat(warp, inst, lane);
      continue;
    }
    Sources sources;
    for (const Operand& operand : inst.operands) {
      if (operand.dest || sources.count == Sources::kMost) continue;
      sources.value[sources.count] = warp.Bits(operand, lane);
      sources.undef[sources.count] = warp.undefined().Bits(operand, lane);
      if (const LoadSource* loaded = warp.undefined().LoadSourceOf(operand, lane))
        sources.loaded[sources.count] = *loaded;
      sources.bytes[sources.count++] = operand.bytes;
    }
    const std::optional<LoadSource> source = ResultSource(inst, sources);
    for (const Operand& operand : inst.operands) {
      if (!operand.dest) continue;
      const uint64_t all = AllBits(operand.bytes);
      const uint64_t undef = ResultOf(inst, sources, all) & all;
      warp.undefined().Set(operand, lane, undef);
      if (undef != 0 && source) warp.undefined().SetLoadSource(operand, lane, *source);
    }
  }
}

}  // namespace tarsia::ptx
