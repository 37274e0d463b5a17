// Bulk copies and reductions without tensor maps: cp.async.bulk, cp.reduce.async.bulk, st.async,
// red.async, st.bulk, and waiting for their groups.
#include <cstring>

#include "ptx/exec/exec.h"
#include "ptx/machine/async_work.h"
#include "ptx/machine/cluster.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kBulkAlign = 16;
constexpr uint64_t kNoLimit = uint64_t{1} << 40;

Issuer By(Warp& warp, const Inst& inst, int lane) { return {&warp, &inst, lane}; }

void RequireOperands(Warp& warp, const Inst& inst) {
  for (const Operand& operand : inst.operands)
    warp.undefined().Require(inst, operand, "an operand");
}

// The address and size of a bulk operation are multiples of 16; what is larger than shared memory
// gets no buffer.
bool RequireBulkShape(const Issuer& by, uint64_t to, uint64_t from, uint64_t bytes) {
  const uint64_t room = by.warp->block().shared().bytes;
  if (bytes > room) {
    by.Report(FindingKind::kOutOfBounds,
              fmt::format("a copy of {} bytes, and the block has {}", bytes, room));
    return false;
  }
  const bool good = RequireMultiple(by, to, kBulkAlign, "the address of the destination");
  const bool source = RequireMultiple(by, from, kBulkAlign, "the address of the source");
  return RequireMultiple(by, bytes, kBulkAlign, "the size") && good && source;
}

AsyncOperation NewOperation(const Issuer& by, uint64_t bytes, AsyncOperation::Ends ends) {
  AsyncOperation operation;
  operation.by = by;
  operation.ends = ends;
  operation.buffer.resize(bytes);
  operation.defined.resize(bytes);
  return operation;
}

// ---- into shared memory ----------------------------------------------------------------------

// Bytes for shared memory of a block, which are completed at an mbarrier of the same block.
bool AddTarget(AsyncOperation* operation, uint64_t address, uint64_t mbarrier_address,
               const AsyncBytes& from, Access access) {
  const Issuer& by = operation->by;
  const auto bytes = static_cast<uint32_t>(operation->buffer.size());
  AsyncPiece piece;
  piece.from = from;
  piece.bytes = bytes;
  Mbarrier* mbarrier = FindMbarrier(by, mbarrier_address);
  if (mbarrier == nullptr || !FindAsyncShared(by, address, bytes, access, &piece.to)) return false;
  mbarrier->RequireVisible(by, operation->proxy == Proxy::kAsync);
  if (&mbarrier->block() != piece.to.block) {
    by.Report(FindingKind::kMbarrier,
              "the mbarrier does not belong to the block that gets the bytes");
    return false;
  }
  operation->pieces.push_back(piece);
  operation->completions.push_back({piece.to.block, mbarrier->address(), bytes});
  return true;
}

// The error is reported and no bytes come: a thread that waits for them is no further fault.
void NoteDropped(const Issuer& by) { by.warp->block().cluster().NoteDropped(); }

void IssueIn(Warp& warp, AsyncOperation operation) {
  if (operation.pieces.empty()) return NoteDropped(operation.by);
  warp.block().cluster().async().Issue(std::move(operation));
}

Step LoadBulk(Warp& warp, const Inst& inst) {
  RequireOperands(warp, inst);
  const bool from_shared = !inst.Has(Mod::kGlobal);
  ForLanes(warp.mask(), [&](int lane) {
    const Issuer by = By(warp, inst, lane);
    const uint64_t to = warp.Address(inst[0], lane);
    const uint64_t from = warp.Address(inst[1], lane);
    const uint64_t bytes = warp.Get<uint32_t>(inst[2], lane);
    AsyncBytes source;
    if (bytes == 0) return;
    if (!RequireBulkShape(by, to, from, bytes)) return NoteDropped(by);
    const bool there = from_shared ? FindAsyncShared(by, from, bytes, Access::kRead, &source)
                                   : FindAsyncGlobal(by, from, bytes, Access::kRead, &source);
    if (!there) return NoteDropped(by);
    AsyncOperation operation = NewOperation(by, bytes, AsyncOperation::Ends::kWithMbarrier);
    if (inst.Has(Mod::kReduce)) operation.reduces = inst.type[0];
    const Access access = inst.Has(Mod::kReduce) ? Access::kAtomic : Access::kWrite;
    const uint64_t mbarrier = warp.Address(inst[3], lane);
    if (!inst.Has(Mod::kMulticastCluster)) {
      AddTarget(&operation, to, mbarrier, source, access);
      return IssueIn(warp, std::move(operation));
    }
    const auto ranks = warp.Get<uint16_t>(inst[4], lane);
    for (uint32_t rank = 0; rank < 16; ++rank) {
      if ((ranks >> rank & 1) == 0) continue;
      AddTarget(&operation, AddressOfRank(to, rank), AddressOfRank(mbarrier, rank), source, access);
      source = {};  // it is read once
    }
    IssueIn(warp, std::move(operation));
  });
  return Step::kNext;
}

// ---- into global memory ----------------------------------------------------------------------

Step CopyOut(Warp& warp, const Inst& inst) {
  RequireOperands(warp, inst);
  ForLanes(warp.mask(), [&](int lane) {
    const Issuer by = By(warp, inst, lane);
    const uint64_t to = warp.Address(inst[0], lane);
    const uint64_t from = warp.Address(inst[1], lane);
    const uint64_t bytes = warp.Get<uint32_t>(inst[2], lane);
    if (!RequireBulkShape(by, to, from, bytes) || bytes == 0) return;
    AsyncOperation operation = NewOperation(by, bytes, AsyncOperation::Ends::kWithGroup);
    if (inst.Has(Mod::kReduce)) operation.reduces = inst.type[0];
    const Access access = inst.Has(Mod::kReduce) ? Access::kAtomic : Access::kWrite;
    AsyncPiece piece;
    piece.bytes = static_cast<uint32_t>(bytes);
    const bool there = FindAsyncShared(by, from, bytes, Access::kRead, &piece.from) &&
                       FindAsyncGlobal(by, to, bytes, access, &piece.to);
    if (!there) return;
    operation.pieces.push_back(piece);
    IssueIn(warp, std::move(operation));
  });
  return Step::kNext;
}

Step CommitBulk(Warp& warp, const Inst&) {
  ForLanes(warp.mask(), [&](int lane) { warp.bulk(lane).Commit(); });
  return Step::kNext;
}

// The reads of groups that are done happened before, and their writes unless only reads were waited
// for.
void LearnOfGroups(Warp& warp, const Inst& inst) {
  ForLanes(warp.mask(), [&](int lane) {
    const BulkGroups& groups = warp.bulk(lane);
    const auto clock = static_cast<Clock>(groups.CountBut(warp.Get<uint32_t>(inst[0], lane)));
    if (clock == 0) return;
    WarpOrder& order = warp.races().order();
    order.Learn(uint32_t{1} << lane, groups.reader(), clock);
    if (!inst.Has(Mod::kRead)) order.Learn(uint32_t{1} << lane, groups.writer(), clock);
  });
}

Step WaitBulkGroup(Warp& warp, const Inst& inst) {
  warp.divergence().split().timed_out = false;
  bool done = true;
  ForLanes(warp.mask(), [&](int lane) {
    const uint64_t left = warp.Get<uint32_t>(inst[0], lane);
    done = done && warp.bulk(lane).Done(left, inst.Has(Mod::kRead));
  });
  if (done) {
    if (warp.checking()) LearnOfGroups(warp, inst);
    return Step::kNext;
  }
  warp.divergence().Suspend(inst, Split::State::kBulk, nullptr, kNoLimit, true);
  return Step::kMoved;
}

// A hint; but what it names is looked at.
Step PrefetchBulk(Warp& warp, const Inst& inst) {
  RequireOperands(warp, inst);
  ForLanes(warp.mask(), [&](int lane) {
    const Issuer by = By(warp, inst, lane);
    const uint64_t from = warp.Address(inst[0], lane);
    const uint64_t bytes = warp.Get<uint32_t>(inst[1], lane);
    AsyncBytes source;
    const bool good = RequireMultiple(by, from, kBulkAlign, "the address of the source");
    if (RequireMultiple(by, bytes, kBulkAlign, "the size") && good && bytes != 0) {
      FindAsyncGlobal(by, from, bytes, Access::kRead, &source);
    }
  });
  return Step::kNext;
}

// ---- registers into shared memory ------------------------------------------------------------

// st.async and red.async: the values are those at the time of issue.
Step StoreAsync(Warp& warp, const Inst& inst) {
  warp.undefined().Require(inst, inst[0], "the address");
  warp.undefined().Require(inst, inst[2], "the address of the mbarrier");
  const auto size = static_cast<uint64_t>(BytesOf(inst.type[0]));
  const auto values = inst.At(1);
  const bool reduces = inst.op == Op::kRedAsync;
  ForLanes(warp.mask(), [&](int lane) {
    const Issuer by = By(warp, inst, lane);
    const uint64_t bytes = size * values.size();
    const uint64_t to = warp.Address(inst[0], lane);
    if (!RequireMultiple(by, to, bytes, "the address of the destination")) return NoteDropped(by);
    AsyncOperation operation = NewOperation(by, bytes, AsyncOperation::Ends::kWithMbarrier);
    operation.proxy = Proxy::kGeneric;
    if (reduces) operation.reduces = inst.type[0];
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t bits = warp.Bits(values[i], lane);
      const uint64_t undef = warp.undefined().Bits(values[i], lane);
      const uint64_t defined = ~undef;
      if (undef != 0) operation.origin = warp.undefined().OriginOfResult(inst, lane);
      std::memcpy(operation.buffer.data() + i * size, &bits, size);
      std::memcpy(operation.defined.data() + i * size, &defined, size);
    }
    AddTarget(&operation, to, warp.Address(inst[2], lane), {},
              reduces ? Access::kAtomic : Access::kWrite);
    IssueIn(warp, std::move(operation));
  });
  return Step::kNext;
}

// Zeros, at once.
Step StoreBulk(Warp& warp, const Inst& inst) {
  RequireOperands(warp, inst);
  ForLanes(warp.mask(), [&](int lane) {
    const Issuer by = By(warp, inst, lane);
    uint64_t to = warp.Address(inst[0], lane);
    const uint64_t bytes = warp.Get<uint64_t>(inst[1], lane);
    AsyncBytes target;
    const bool shared = ResolveGeneric(inst.space, &to) == Space::kShared;
    if (!shared) by.Report(FindingKind::kOutOfBounds, "st.bulk outside of shared memory");
    const bool good = RequireMultiple(by, to, 8, "the address of the destination");
    if (!RequireMultiple(by, bytes, 8, "the size") || !good || !shared || bytes == 0) return;
    if (!FindAsyncShared(by, to, bytes, Access::kWrite, &target)) return;
    std::memset(target.place.data, 0, bytes);
    std::memset(target.place.defined, 0xFF, bytes);
  });
  return Step::kNext;
}

// ---- forms -----------------------------------------------------------------------------------

// Which types an operation takes; of 64-bit ones shared memory takes only sums.
bool Reduces(const Inst& inst, bool global) {
  const Type type = inst.type[0];
  const bool half = type == Type::kF16 || type == Type::kBF16;
  const bool bits = InfoOf(type).kind == TypeKind::kBits;
  if (inst.Has(Mod::kNoFtz) != (half && inst.Has(Mod::kAdd))) return false;
  if (!global && BytesOf(type) == 8 && !(inst.Has(Mod::kAdd) && type == Type::kU64)) return false;
  if (inst.Has(Mod::kInc) || inst.Has(Mod::kDec)) return type == Type::kU32;
  if (inst.Has(Mod::kAdd)) return !bits && type != Type::kS64;
  if (inst.Has(Mod::kMin) || inst.Has(Mod::kMax)) return IsInteger(type) || half;
  return bits;
}

Step Nothing(Warp&, const Inst&) { return Step::kNext; }

}  // namespace

PTX_BIND(BulkLoad) { return &LoadBulk; }
PTX_BIND(BulkMulticast) { return &LoadBulk; }
PTX_BIND(BulkShared) { return &LoadBulk; }
PTX_BIND(BulkStore) { return &CopyOut; }
PTX_BIND(BulkReduceShared) { return Reduces(inst, false) ? &LoadBulk : nullptr; }
PTX_BIND(BulkReduceGlobal) { return Reduces(inst, true) ? &CopyOut : nullptr; }
PTX_BIND(BulkCommit) { return &CommitBulk; }
PTX_BIND(BulkWait) { return &WaitBulkGroup; }
PTX_BIND(BulkPrefetch) { return &PrefetchBulk; }
PTX_BIND(StAsync) { return inst.CountAt(1) * BytesOf(inst.type[0]) > 16 ? nullptr : &StoreAsync; }
PTX_BIND(RedAsync) { return Reduces(inst, false) ? &StoreAsync : nullptr; }
PTX_BIND(StBulk) { return &StoreBulk; }
PTX_BIND(FenceSyncRestrict) { return &Nothing; }
PTX_BIND(FenceProxyGeneric) { return &Nothing; }
PTX_BIND(FenceTensormapRelease) { return &Nothing; }
PTX_BIND(FenceTensormapAcquire) { return &Nothing; }

}  // namespace tarsia::ptx
