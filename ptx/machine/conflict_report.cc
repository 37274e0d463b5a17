#include "ptx/machine/conflict_report.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

#include "ptx/machine/block.h"
#include "ptx/machine/counter.h"
#include "ptx/machine/warp.h"
#include "ptx/memory/access.h"
#include "ptx/race/race.h"

namespace tarsia::ptx {
namespace {

// ---- harmless conflicts ----------------------------------------------------------------------

bool LanesStoreSame(const Warp& warp, const Inst& inst, int a, int b) {
  for (const Operand& source : inst.At(1)) {
    const uint64_t mask = AllBits(std::min<int>(BytesOf(inst.type[0]), 8));
    if (((warp.Bits(source, a) ^ warp.Bits(source, b)) & mask) != 0) return false;
  }
  return true;
}

// Whether a lane of a store writes what `data` holds.
bool StoresWhatIsThere(const Warp& warp, const Inst& inst, int lane, uint8_t* data) {
  const int size = BytesOf(inst.type[0]);
  if (size > 8) return false;
  for (const Operand& source : inst.At(1)) {
    if (((warp.Bits(source, lane) ^ ReadBytes(data, size)) & AllBits(size)) != 0) return false;
    data += size;
  }
  return true;
}

// Whether an access and the one that it conflicts with are stores of the same value.
bool WritesSameValue(Warp& warp, const NotedAccess& noted, const Conflict& conflict) {
  const Inst& inst = noted.inst;
  const AccessRecord& with = conflict.with;
  const Inst* other = warp.launch().image->module().FindInst(with.inst);
  if (inst.op != Op::kSt || conflict.hazard != Hazard::kUnordered) return false;
  if (other == nullptr || other->op != Op::kSt) return false;
  // The value of a stale write is not known any more. An instruction that writes several values is
  // found where two of its writes follow each other.
  if ((with.semantics & kStaleBit) != 0) return with.inst == inst.id;
  const bool same_warp =
      with.block == warp.block().number() && with.actor / kLanes == warp.number();
  if (with.inst == inst.id && same_warp) {
    const int sibling = static_cast<int>(with.actor % kLanes);
    const bool together = (warp.mask() >> sibling & 1) != 0 && sibling != noted.lane;
    if (together && warp.Address(inst[0], sibling) == warp.Address(inst[0], noted.lane)) {
      return LanesStoreSame(warp, inst, noted.lane, sibling);
    }
  }
  return ChangesNothing(warp, noted);
}

// ---- the two accesses ------------------------------------------------------------------------

// One of two accesses that conflict, which a thread of its block made or is responsible for.
struct ConflictEnd {
  const Inst* inst = nullptr;
  AccessRecord record;
  bool write = false;
  uint32_t thread = 0;
  uint64_t address = 0;
  uint32_t bytes = 0;
};

// Fills the address and the bytes of an access that touched a cell.
void FindAccess(uint64_t cell, ConflictEnd* end) {
  end->address = cell + static_cast<uint64_t>(std::countr_zero(end->record.bytes));
  end->bytes = static_cast<uint32_t>(std::popcount(end->record.bytes));
  const uint32_t bytes = PlanCounts(*end->inst).bytes;
  if (bytes == 0) return;
  end->bytes = bytes;
  end->address -= end->address % bytes;
}

// Whether a conflict is reported at the earlier of the two accesses. Which of them comes first is
// chance, except for lanes of a warp and for what a block does asynchronously. Where it is chance,
// the conflict is reported at a thread rather than at an agent, and at the instruction that comes
// later in the text.
bool IsReportedAtOther(Warp& warp, const NotedAccess& noted, const Conflict& conflict) {
  const Accessor& accessor = noted.accessor;
  const AccessRecord& with = conflict.with;
  if (conflict.hazard == Hazard::kUnfenced) return false;
  if (with.block == warp.block().number()) {
    const bool of_warp = with.actor / kLanes == accessor.actor / kLanes;
    if (of_warp || accessor.IsAgent() || (with.semantics & kAsyncBit) != 0) return false;
  }
  const uint32_t threads = 2 * warp.block().threads();
  if (accessor.actor < threads && with.actor < threads) return with.inst > noted.inst.id;
  return with.actor < threads;
}

// ---- words -----------------------------------------------------------------------------------

// The actor of a record, as seen from a block.
std::string DescribeActor(Warp& warp, const AccessRecord& record, uint32_t from_block) {
  const auto text = [](const Dim3& at) { return fmt::format("{},{},{}", at.x, at.y, at.z); };
  Block& block = warp.block();
  const uint32_t threads = block.threads();
  std::string who;
  if (record.actor >= 2 * threads) {
    who = record.actor < block.WgmmaActor(block.warps())
              ? fmt::format("a wgmma of warp {}", record.actor - block.WgmmaActor(0))
              : "an asynchronous copy";
  } else {
    who = fmt::format("{}thread {}", record.actor < threads ? "" : "a cp.async of ",
                      text(UnravelIndex(record.actor % threads, block.shape())));
  }
  if (record.block == from_block) return who;
  return who + " of block " + text(UnravelIndex(record.block, warp.launch().config->grid));
}

// Whether a record is of a cp.async that its own thread has waited for.
bool IsAwaited(Warp& warp, const AccessRecord& record) {
  Block& block = warp.block();
  const uint32_t threads = block.threads();
  return record.block == block.number() && record.actor >= threads && record.actor < 2 * threads &&
         block.AsyncDone(record.actor - threads) >= record.clock;
}

// The kind of a conflict, and the reason that its message gives.
std::pair<FindingKind, std::string_view> KindOf(Warp& warp, const ConflictEnd& at,
                                                const ConflictEnd& other, Hazard hazard) {
  switch (hazard) {
    case Hazard::kUnordered:
      break;
    case Hazard::kUnfenced:
      return {FindingKind::kProxy,
              "the asynchronous proxy sees that only after a fence.proxy.async"};
    case Hazard::kNonCoherent:
      return {FindingKind::kRace,
              "ld.global.nc is for memory that nobody writes while the kernel runs"};
  }
  const bool is_agent = (at.record.semantics & kAsyncBit) != 0;
  if (!is_agent && (other.record.semantics & kAsyncBit) == 0) {
    return {FindingKind::kRace, "nothing orders the two"};
  }
  // What its own thread has waited for lacks a barrier, not a wait.
  if (IsAwaited(warp, other.record)) {
    return {FindingKind::kRace, "its thread has waited, and nothing orders this after that"};
  }
  return {FindingKind::kAsync, is_agent ? "the copy may do so before that and after it"
                                        : "that has not been waited for"};
}

Finding ConflictFinding(Warp& warp, const ConflictEnd& at, const ConflictEnd& other, Space space,
                        Hazard hazard) {
  const auto verb = [](const ConflictEnd& end) {
    return (end.record.semantics & kAtomicBit) != 0 ? "updates" : end.write ? "writes" : "reads";
  };
  const Module& module = warp.launch().image->module();
  const auto [kind, why] = KindOf(warp, at, other, hazard);
  Finding finding;
  finding.kind = kind;
  finding.location = at.inst->location;
  SetSource(module, *at.inst, &finding);
  finding.block = UnravelIndex(at.record.block, warp.launch().config->grid);
  finding.thread = UnravelIndex(at.thread, warp.block().shape());
  finding.message =
      fmt::format("{} {} bytes at {} address 0x{:x}: which {} {} at {}; {}", verb(at), at.bytes,
                  NameOf(space), at.address, DescribeActor(warp, other.record, at.record.block),
                  verb(other), module.LineText(other.inst->location, other.inst->loc), why);
  finding.count = 1;
  finding.order = !at.write     ? AccessOrder::kReadAfterWrite
                  : other.write ? AccessOrder::kWriteAfterWrite
                                : AccessOrder::kWriteAfterRead;
  finding.other = FindingPlace{other.inst->location, other.inst->loc};
  return finding;
}

// ---- severity --------------------------------------------------------------------------------

// Whether hardware keeps the order of an access after another, as long as it does not use all the
// freedom that the memory model gives it.
bool IsOrderedInPractice(Warp& warp, const Accessor& accessor, const AccessRecord& with) {
  const auto orders = [&](const StrongRead& read) {
    return read.Saw(with) &&
           accessor.IsAfter({warp.block().number(), read.actor, 0, 0, read.clock, 0});
  };
  return std::ranges::any_of(warp.block().strong_reads().all(), orders);
}

// Whether nothing but the memory model demands an order that two accesses lack.
bool IsOrderOfModel(Warp& warp, const Accessor& accessor, const Conflict& conflict,
                    FindingKind kind) {
  switch (conflict.hazard) {
    case Hazard::kUnfenced:
      return true;
    case Hazard::kUnordered:
      return kind == FindingKind::kRace && IsOrderedInPractice(warp, accessor, conflict.with);
    case Hazard::kNonCoherent:
      return false;
  }
  return false;
}

// Reports a conflict with an access of `other`.
void ReportConflict(Warp& warp, const NotedAccess& noted, const Conflict& conflict,
                    const Inst& other) {
  const Accessor& accessor = noted.accessor;
  ConflictEnd here{&noted.inst,
                   accessor.RecordOf(kAllBytes),
                   noted.access != Access::kRead,
                   warp.number() * kLanes + static_cast<uint32_t>(noted.lane),
                   noted.base + noted.offset,
                   noted.bytes};
  const uint32_t thread = conflict.with.actor % warp.block().threads();
  ConflictEnd there{&other, conflict.with, conflict.with_write, thread, 0, 0};
  FindAccess(noted.base + conflict.cell * ShadowRange::kCellBytes, &there);
  if (IsReportedAtOther(warp, noted, conflict)) std::swap(here, there);
  Finding finding = ConflictFinding(warp, here, there, noted.space, conflict.hazard);
  if (IsOrderOfModel(warp, accessor, conflict, finding.kind)) {
    finding.severity = Severity::kMemoryModel;
  }
  warp.AddFinding(std::move(finding), noted.lane);
}

}  // namespace

bool ChangesNothing(Warp& warp, const NotedAccess& noted) {
  const Inst& inst = noted.inst;
  const auto bytes = static_cast<uint32_t>(BytesOf(inst.type[0]) * inst.CountAt(1));
  Place place;
  return inst.op == Op::kSt &&
         warp.memory().Locate(inst, noted.space, noted.lane, noted.base + noted.offset, bytes,
                              Access::kWrite, &place) &&
         StoresWhatIsThere(warp, inst, noted.lane, place.data);
}

bool ReportConflicts(Warp& warp, const NotedAccess& noted) {
  bool changes = false;
  for (const Conflict& conflict : warp.block().worker().conflicts.all()) {
    if (noted.access == Access::kWrite && WritesSameValue(warp, noted, conflict)) continue;
    changes = changes || conflict.with_write;
    const Inst* other = warp.launch().image->module().FindInst(conflict.with.inst);
    if (other != nullptr) ReportConflict(warp, noted, conflict, *other);
  }
  return changes && noted.access != Access::kRead;
}

}  // namespace tarsia::ptx
