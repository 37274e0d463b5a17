// atom.exch and atom.cas on 128 bits. A host has no such operation on two words, so that they take
// their turns at a lock.
#include <array>
#include <mutex>

#include "ptx/exec/exec.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

using Words = std::array<uint64_t, 2>;

std::mutex& LockOf(const uint8_t* at) {
  static std::array<std::mutex, 64> locks;
  return locks[reinterpret_cast<uintptr_t>(at) / sizeof(Words) % locks.size()];
}

Words ReadWords(uint8_t* at) { return {ReadBytes(at, 8), ReadBytes(at + 8, 8)}; }
void WriteWords(uint8_t* at, const Words& words) {
  WriteBytes(at, 8, words[0]);
  WriteBytes(at + 8, 8, words[1]);
}
Words RegisterOf(Warp& warp, const Operand& operand, int lane) {
  Words words;
  std::memcpy(words.data(), warp.Values(operand) + lane * 16, sizeof words);
  return words;
}

// What memory held; `compare` is what it must hold to change, if it must hold anything.
Words Exchange(const Place& place, const Words* compare, const Words& value) {
  const std::lock_guard lock(LockOf(place.data));
  const Words old = ReadWords(place.data);
  if (compare == nullptr || *compare == old) WriteWords(place.data, value);
  return old;
}

constexpr Words kDefined = {~uint64_t{0}, ~uint64_t{0}};

// Lanes in which a source has undefined bits.
uint32_t UndefOfOperands(const Warp& warp, const Inst& inst) {
  uint32_t lanes = 0;
  for (const Operand& operand : inst.operands) {
    if (!operand.dest) lanes |= warp.undefined().Lanes(operand);
  }
  return lanes;
}

void UpdateLane(Warp& warp, const Inst& inst, int lane, bool compares, const Place& place,
                uint64_t address) {
  const Space narrow = ResolveGeneric(inst.space, &address);
  const Operand& value = inst[compares ? 3 : 2];
  bool old_defined = ReadWords(place.defined) == kDefined;
  const Origin origin =
      old_defined ? Origin()
                  : warp.undefined().OriginOfLoad(inst, narrow, lane, address, sizeof(Words));
  bool defined = warp.undefined().Bits(value, lane) == 0;
  if (compares) defined = defined && old_defined && warp.undefined().Bits(inst[2], lane) == 0;
  if (!defined && narrow == Space::kGlobal) {
    const bool by_operand = (UndefOfOperands(warp, inst) >> lane & 1) != 0;
    warp.undefined().Report(inst, lane, "updates global memory with bits that were never written",
                            by_operand ? warp.undefined().OriginOfResult(inst, lane) : origin);
    defined = old_defined = true;
  }
  if (!defined) warp.undefined().NoteStore(inst, value, narrow, lane, address, sizeof(Words));
  if (warp.checking()) warp.races().NoteStrongWrite(inst, lane, narrow, address);
  const Words compare = RegisterOf(warp, inst[2], lane);
  const Words old = Exchange(place, compares ? &compare : nullptr, RegisterOf(warp, value, lane));
  if (warp.checking()) warp.races().NoteStrongRead(inst, lane, narrow, address);
  WriteWords(place.defined, defined ? kDefined : Words{});
  std::memcpy(warp.Dest(inst[0]) + lane * 16, old.data(), sizeof old);
  warp.undefined().Set(inst[0], lane, old_defined ? 0 : ~uint64_t{0}, origin);
}

template <bool kCompares>
Step Run(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[1], "the address");
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t address = warp.Address(inst[1], lane);
    const bool there = warp.memory().FindAndUpdate(
        inst, inst.space, lane, address, sizeof(Words),
        [&](const Place& place) { UpdateLane(warp, inst, lane, kCompares, place, address); });
    if (!there) warp.undefined().Set(inst[0], lane, 0);
  });
  warp.divergence().NotePoll(16);
  return Step::kNext;
}

}  // namespace

PTX_BIND(AtomWide) { return &Run<false>; }
PTX_BIND(AtomCasWide) { return &Run<true>; }

}  // namespace tarsia::ptx
