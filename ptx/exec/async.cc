// cp.async: what is copied is read at once and comes to shared memory when its group is waited for,
// so that a missing wait shows: until then the bytes there are old, and whoever touches them is
// reported.
#include <algorithm>

#include "ptx/exec/exec.h"
#include "ptx/machine/async_work.h"
#include "ptx/machine/block.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

// How many bytes of the source are read; the rest is zeros.
uint32_t SourceBytes(Warp& warp, const Inst& inst, int lane, uint32_t bytes) {
  if (inst.CountAt(3) == 0) return bytes;
  const Operand& operand = inst[3];
  if (operand.bytes == 0) return warp.Bits(operand, lane) != 0 ? 0 : bytes;  // ignore-src
  return static_cast<uint32_t>(std::min<uint64_t>(warp.Bits(operand, lane), bytes));
}

// The source is aligned as the whole copy is, and read in pieces that its length allows.
bool ReadSource(Warp& warp, const Inst& inst, int lane, uint32_t count, const Accessor& agent,
                CpAsyncCopy* copy) {
  const uint64_t address = warp.Address(inst[1], lane);
  Place place;
  if (count == copy->bytes) {
    if (!warp.memory().Locate(inst, Space::kGlobal, lane, address, count, Access::kRead, &place)) {
      return false;
    }
    if (warp.checking()) {
      warp.races().NoteAccess(inst, agent, lane, Space::kGlobal, address, count, Access::kRead);
    }
    for (uint32_t i = 0; i < count; i += 4) {
      const auto data = static_cast<uint32_t>(ReadBytes(place.data + i, 4));
      const auto defined = static_cast<uint32_t>(ReadBytes(place.defined + i, 4));
      std::memcpy(copy->data + i, &data, 4);
      std::memcpy(copy->defined + i, &defined, 4);
    }
    return true;
  }
  std::memset(copy->defined, 0xFF, sizeof copy->defined);
  if (warp.checking() && count != 0) {
    warp.races().NoteAccess(inst, agent, lane, Space::kGlobal, address, count, Access::kRead);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (!warp.memory().Locate(inst, Space::kGlobal, lane, address + i, 1, Access::kRead, &place)) {
      return false;
    }
    copy->data[i] = static_cast<uint8_t>(ReadBytes(place.data, 1));
    copy->defined[i] = static_cast<uint8_t>(ReadBytes(place.defined, 1));
  }
  return true;
}

Step Copy(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[0], "the address in shared memory");
  warp.undefined().Require(inst, inst[1], "the address in global memory");
  if (inst.CountAt(3) != 0) warp.undefined().Require(inst, inst[3], "the size of the source");
  ForLanes(warp.mask(), [&](int lane) {
    CpAsyncCopy copy;
    copy.inst = &inst;
    copy.bytes = static_cast<uint8_t>(warp.Bits(inst[2], lane));
    copy.address = warp.Address(inst[0], lane);
    Place place;
    if (!warp.memory().Locate(inst, Space::kShared, lane, copy.address, copy.bytes, Access::kWrite,
                              &place)) {
      return;
    }
    CpAsyncState& state = warp.async(lane);
    copy.group = state.open_group;
    copy.clock = state.clock;
    const Accessor agent = warp.races().AsyncAccessorOf(inst, lane, copy.clock);
    if (!ReadSource(warp, inst, lane, SourceBytes(warp, inst, lane, copy.bytes), agent, &copy)) {
      std::memset(copy.defined, 0xFF, sizeof copy.defined);  // that is reported
    }
    if (warp.checking()) {
      warp.races().NoteAccess(inst, agent, lane, Space::kShared, copy.address, copy.bytes,
                              Access::kWrite);
    }
    state.copies.push_back(copy);
  });
  return Step::kNext;
}

// Delivers a lane's copies of groups before `end`.
void Deliver(Warp& warp, int lane, uint64_t end) {
  const std::deque<CpAsyncCopy>& copies = warp.async(lane).copies;
  while (!copies.empty() && copies.front().group < end) DeliverFirstCopy(warp, lane);
}

// The lane knows of all copies that have been delivered.
void FinishCopies(Warp& warp, int lane) {
  const CpAsyncState& state = warp.async(lane);
  const Clock open = state.copies.empty() ? state.clock : state.copies.front().clock;
  warp.races().order().FinishAsync(lane, std::max(warp.races().order().AsyncDone(lane), open - 1));
}

Step Commit(Warp& warp, const Inst&) {
  ForLanes(warp.mask(), [&](int lane) {
    ++warp.async(lane).open_group;
    ++warp.async(lane).clock;
  });
  return Step::kNext;
}

// All but the last N groups that were committed.
Step WaitGroup(Warp& warp, const Inst& inst) {
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t left = warp.Get<uint32_t>(inst[0], lane);
    const uint64_t open = warp.async(lane).open_group;
    Deliver(warp, lane, open > left ? open - left : 0);
    FinishCopies(warp, lane);
  });
  return Step::kNext;
}

Step WaitAll(Warp& warp, const Inst&) {
  ForLanes(warp.mask(), [&](int lane) {
    Deliver(warp, lane, UINT64_MAX);
    ++warp.async(lane).clock;
    FinishCopies(warp, lane);
  });
  return Step::kNext;
}

// .cg copies 16 bytes, .ca also 4 and 8; the size is a constant.
Handler CopyFor(const Inst& inst) {
  const uint64_t bytes = inst.operands[2].bank == 1 ? inst.operands[2].immediate : 0;
  const bool small = inst.Has(Mod::kCa) && (bytes == 4 || bytes == 8);
  return small || bytes == 16 ? &Copy : nullptr;
}

}  // namespace

void DeliverFirstCopy(Warp& warp, int lane) {
  CpAsyncState& state = warp.async(lane);
  MemoryRange& shared = warp.block().shared();
  const CpAsyncCopy& copy = state.copies.front();
  const uint64_t at = copy.address - kSharedBase;
  std::memcpy(shared.data + at, copy.data, copy.bytes);
  std::memcpy(shared.defined + at, copy.defined, copy.bytes);
  constexpr uint8_t kDefined[16] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  if (std::memcmp(copy.defined, kDefined, copy.bytes) != 0) {
    warp.block().origins().Set(0, copy.address, copy.bytes, Origin::Of(*copy.inst));
  }
  state.copies.pop_front();
  ++state.delivered;
}

PTX_BIND(CpAsync) { return CopyFor(inst); }
PTX_BIND(CpAsyncHint) { return CopyFor(inst); }
PTX_BIND(CpAsyncCommit) { return &Commit; }
PTX_BIND(CpAsyncWaitGroup) { return &WaitGroup; }
PTX_BIND(CpAsyncWaitAll) { return &WaitAll; }

}  // namespace tarsia::ptx
