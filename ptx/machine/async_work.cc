#include "ptx/machine/async_work.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "ptx/count/transactions.h"
#include "ptx/machine/atomic.h"
#include "ptx/machine/cluster.h"
#include "ptx/machine/numeric.h"
#include "ptx/memory/access.h"

namespace tarsia::ptx {
namespace {

constexpr uint64_t kMostTurns = 16;  // turns after which an operation goes on though threads run

// In words as large as the place allows: other host threads may touch the same bytes.
void CopyOut(uint8_t* from, uint8_t* to, uint32_t bytes) {
  const auto bits = reinterpret_cast<uintptr_t>(from) | bytes;
  const int step = bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : 1;
  for (uint32_t i = 0; i < bytes; i += static_cast<uint32_t>(step)) {
    const uint64_t word = ReadBytes(from + i, step);
    std::memcpy(to + i, &word, static_cast<size_t>(step));
  }
}

void CopyIn(const uint8_t* from, uint8_t* to, uint32_t bytes) {
  const auto bits = reinterpret_cast<uintptr_t>(to) | bytes;
  const int step = bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : 1;
  for (uint32_t i = 0; i < bytes; i += static_cast<uint32_t>(step)) {
    uint64_t word = 0;
    std::memcpy(&word, from + i, static_cast<size_t>(step));
    WriteBytes(to + i, step, word);
  }
}

bool AllDefined(std::span<const uint8_t> defined) {
  return defined.empty() || (defined[0] == 0xFF && std::memcmp(defined.data(), defined.data() + 1,
                                                               defined.size() - 1) == 0);
}

std::span<const uint8_t> DefinedOf(const AsyncOperation& operation, const AsyncPiece& piece) {
  return std::span(operation.defined).subspan(piece.buffer, piece.bytes);
}

// Where undefined bits of a piece come from: what its source knows, or the operation itself.
Origin OriginOf(const AsyncOperation& operation, const AsyncPiece& piece) {
  Origin origin = operation.origin;
  if (piece.from.block != nullptr) {
    origin = piece.from.block->origins().Find(0, piece.from.address, piece.bytes);
  }
  return origin.none() ? Origin::Of(*operation.by.inst) : origin;
}

void FlushSubnormals(std::vector<uint8_t>* floats) {
  for (size_t i = 0; i + 4 <= floats->size(); i += 4) {
    float value = 0;
    std::memcpy(&value, floats->data() + i, sizeof value);
    value = FlushF32(value);
    std::memcpy(floats->data() + i, &value, sizeof value);
  }
}

void Reduce(const AsyncOperation& operation, const AsyncPiece& piece) {
  const auto size = static_cast<uint32_t>(BytesOf(operation.reduces));
  for (uint32_t i = 0; i < piece.bytes; i += size) {
    uint64_t value = 0;
    uint64_t defined = 0;
    std::memcpy(&value, operation.buffer.data() + piece.buffer + i, size);
    std::memcpy(&defined, operation.defined.data() + piece.buffer + i, size);
    uint8_t* const bits = piece.to.place.defined + i;
    const uint64_t all = AllBits(static_cast<int>(size));
    const bool known = (defined & ReadBytes(bits, static_cast<int>(size)) & all) == all;
    if (!known && piece.to.block == nullptr) {
      operation.by.ReportUndefined("updates global memory with bits that were never written",
                                   OriginOf(operation, piece));
    } else if (!known) {
      piece.to.block->origins().Set(0, piece.to.address + i, size, OriginOf(operation, piece));
    }
    UpdateMemory(*operation.by.inst, operation.reduces, piece.to.place.data + i, value);
    WriteBytes(bits, static_cast<int>(size), known || piece.to.block == nullptr ? all : 0);
  }
}

}  // namespace

// ---- the queue -------------------------------------------------------------------------------

void AsyncWork::Issue(AsyncOperation operation) {
  operation.issued = turn_;
  if (operation.ends == AsyncOperation::Ends::kWithGroup) {
    operation.group = operation.by.warp->bulk(operation.by.lane).Begin();
  }
  if (operation.ends == AsyncOperation::Ends::kWithMbarrier) {
    for (AsyncCompletion& completion : operation.completions) {
      Mbarrier* mbarrier = completion.block->mbarriers().Peek(completion.address);
      if (mbarrier != nullptr) completion.copy = mbarrier->BeginCopy();
    }
  }
  if (operation.by.warp->checking()) Note(operation);
  if (operation.by.warp->block().counter() != nullptr) Count(operation);
  queue_.push_back(std::move(operation));
}

void AsyncWork::Count(const AsyncOperation& operation) {
  BulkCopy copy;
  uint64_t global = 0;
  const auto add = [&](const AsyncBytes& bytes, uint64_t count, bool* direction) {
    if (bytes.place.data == nullptr || bytes.block != nullptr) return;
    *direction = true;
    global += count;
    copy.sectors += SectorsOf(bytes.address, count);
  };
  for (const AsyncPiece& piece : operation.pieces) {
    copy.bytes += piece.bytes;
    add(piece.from, piece.bytes, &copy.from_global);
    add(piece.to, piece.bytes, &copy.to_global);
  }
  copy.ideal_sectors = IdealSectors(global);
  if (copy.bytes != 0) AddBulkCopy(*operation.by.warp, *operation.by.inst, copy);
}

// The accesses of an operation happen at some time after it is issued. A thread that waits for its
// end knows of them: those of a bulk group are of two agents of the thread, since one may wait for
// its reads alone; those that complete at an mbarrier are of the mbarrier's agent.
void AsyncWork::Note(const AsyncOperation& operation) {
  const Issuer& by = operation.by;
  const bool grouped = operation.ends == AsyncOperation::Ends::kWithGroup;
  const uint32_t lane = uint32_t{1} << by.lane;
  const auto note = [&](const AsyncPiece& piece, const AsyncBytes& bytes, Access access) {
    if (bytes.place.data == nullptr) return;
    AgentAccess agent;
    if (grouped) {
      const BulkGroups& groups = by.warp->bulk(by.lane);
      const uint32_t actor = access == Access::kRead ? groups.reader() : groups.writer();
      agent = by.warp->races().BeginAgent(*by.inst, lane, by.warp->block(), actor,
                                          static_cast<Clock>(operation.group + 1), true);
    } else {
      const AsyncCompletion* completion = operation.CompletionOf(bytes.block);
      const Mbarrier* at = completion == nullptr
                               ? nullptr
                               : completion->block->mbarriers().Peek(completion->address);
      if (at == nullptr) return;
      agent = by.warp->races().BeginAgent(*by.inst, lane, at->block(), at->actor(),
                                          completion->copy, operation.proxy == Proxy::kAsync);
    }
    if (access == Access::kAtomic) {
      agent.accessor.semantics |= kAtomicBit | static_cast<uint8_t>(Strength::kGpu);
    }
    by.warp->races().NoteByAgent(*by.inst, agent, by.lane, bytes.block, bytes.address, piece.bytes,
                                 access);
  };
  const Access writes = operation.reduces == Type::kNone ? Access::kWrite : Access::kAtomic;
  for (const AsyncPiece& piece : operation.pieces) note(piece, piece.from, Access::kRead);
  for (const AsyncPiece& piece : operation.pieces) note(piece, piece.to, writes);
}

const AsyncCompletion* AsyncOperation::CompletionOf(const Block* block) const {
  const AsyncCompletion* found = completions.empty() ? nullptr : &completions.front();
  for (const AsyncCompletion& completion : completions) {
    if (completion.block == block) found = &completion;
  }
  return found;
}

bool AsyncWork::Turn(bool idle) {
  ++turn_;
  if (queue_.empty()) return false;
  if (idle) {
    Step();
    return true;
  }
  while (!queue_.empty() && turn_ - queue_.front().issued > kMostTurns) Step();
  return true;
}

void AsyncWork::Finish() {
  while (!queue_.empty()) Step();
}

void AsyncWork::Step() {
  AsyncOperation& operation = queue_.front();
  if (!operation.has_read) {
    operation.has_read = true;
    Read(&operation);
    if (operation.ends != AsyncOperation::Ends::kWithArrival) return;
  }
  Write(operation);
  Complete(operation);
  queue_.pop_front();
}

// Memory of a block that has ended is not its own any more.
void AsyncWork::CheckAlive(const AsyncOperation& operation, bool writes) {
  for (const AsyncPiece& piece : operation.pieces) {
    const Block* block = writes ? piece.to.block : piece.from.block;
    if (block == nullptr || !block->Done()) continue;
    operation.by.Report(
        FindingKind::kAsync,
        fmt::format("it still {} shared memory of a block that has ended: nobody waited for it",
                    writes ? "writes" : "reads"));
    return;
  }
}

void AsyncWork::Read(AsyncOperation* operation) {
  CheckAlive(*operation, false);
  bool to_global = false;
  for (const AsyncPiece& piece : operation->pieces) {
    if (piece.from.place.data == nullptr) continue;
    CopyOut(piece.from.place.data, operation->buffer.data() + piece.buffer, piece.bytes);
    CopyOut(piece.from.place.defined, operation->defined.data() + piece.buffer, piece.bytes);
    to_global = to_global || (piece.to.block == nullptr && piece.to.place.data != nullptr);
  }
  if (operation->flushes) FlushSubnormals(&operation->buffer);
  if (to_global && operation->reduces == Type::kNone && !AllDefined(operation->defined)) {
    const auto undefined = std::ranges::find_if(operation->pieces, [&](const AsyncPiece& piece) {
      return !AllDefined(DefinedOf(*operation, piece));
    });
    operation->by.ReportUndefined("copies bits to global memory that were never written",
                                  undefined != operation->pieces.end()
                                      ? OriginOf(*operation, *undefined)
                                      : Origin::Of(*operation->by.inst));
    std::ranges::fill(operation->defined, 0xFF);
  }
  if (operation->ends == AsyncOperation::Ends::kWithGroup) {
    operation->by.warp->bulk(operation->by.lane).HasRead(operation->group);
    operation->by.warp->divergence().WakeForBulk();
  }
}

void AsyncWork::Write(const AsyncOperation& operation) {
  CheckAlive(operation, true);
  for (const AsyncPiece& piece : operation.pieces) {
    if (piece.to.place.data == nullptr) continue;
    if (operation.reduces != Type::kNone) {
      Reduce(operation, piece);
      continue;
    }
    CopyIn(operation.buffer.data() + piece.buffer, piece.to.place.data, piece.bytes);
    CopyIn(operation.defined.data() + piece.buffer, piece.to.place.defined, piece.bytes);
    if (piece.to.block == nullptr || AllDefined(DefinedOf(operation, piece))) continue;
    piece.to.block->origins().Set(0, piece.to.address, piece.bytes, OriginOf(operation, piece));
  }
}

void AsyncWork::Complete(const AsyncOperation& operation) {
  const Issuer& by = operation.by;
  switch (operation.ends) {
    case AsyncOperation::Ends::kWithMbarrier:
      for (const AsyncCompletion& completion : operation.completions) {
        Mbarrier* mbarrier = completion.block->mbarriers().Find(by, completion.address);
        if (mbarrier != nullptr) mbarrier->CompleteBytes(by, completion.bytes, completion.copy);
      }
      break;
    case AsyncOperation::Ends::kWithGroup:
      by.warp->bulk(by.lane).HasWritten(operation.group);
      by.warp->divergence().WakeForBulk();
      break;
    case AsyncOperation::Ends::kWithArrival: {
      while (by.warp->async(by.lane).delivered < operation.copies) {
        DeliverFirstCopy(*by.warp, by.lane);
      }
      const AsyncCompletion& at = operation.completions.front();
      Mbarrier* mbarrier = at.block->mbarriers().Find(by, at.address);
      if (mbarrier == nullptr) break;
      mbarrier->ReleaseCopies(by, operation.clock);
      mbarrier->Arrive(by, 1, false);
      break;
    }
  }
}

// ---- for handlers ----------------------------------------------------------------------------

namespace {

std::string_view Verb(Access access) {
  constexpr std::string_view kVerbs[] = {"reads", "writes", "updates"};
  return kVerbs[static_cast<size_t>(access)];
}

}  // namespace

bool FindAsyncShared(const Issuer& by, uint64_t address, uint64_t bytes, Access access,
                     AsyncBytes* found) {
  Block* block = &by.warp->block();
  const uint64_t whole = address;
  if (address >= kSharedPeers) {
    block = by.warp->memory().FindPeer(*by.inst, by.lane, &address, bytes, access);
    if (block == nullptr) return false;
  }
  MemoryRange& shared = block->shared();
  if (!shared.Holds(address, bytes)) {
    by.Report(
        FindingKind::kOutOfBounds,
        fmt::format("{} {} bytes at shared address 0x{:x}: the block has {} bytes from 0x{:x}",
                    Verb(access), bytes, whole, shared.bytes, shared.address));
    return false;
  }
  if (const Mbarrier* mbarrier = block->mbarriers().Overlapping(address, bytes)) {
    by.Report(FindingKind::kMbarrier,
              fmt::format("{} bytes of {}", Verb(access), mbarrier->Describe()));
  }
  const uint64_t at = address - shared.address;
  *found = {block, address, {shared.data + at, shared.defined + at}};
  return true;
}

bool FindAsyncGlobal(const Issuer& by, uint64_t address, uint64_t bytes, Access access,
                     AsyncBytes* found) {
  const Memory& memory = by.warp->launch().image->memory();
  MemoryRange block;
  const MemoryRange* range = memory.Find(address);
  if (memory.heap() != nullptr && memory.heap()->Find(address, &block)) range = &block;
  if (range == nullptr || !range->Holds(address, bytes)) {
    by.Report(FindingKind::kOutOfBounds,
              fmt::format("{} {} bytes at global address 0x{:x}: {}", Verb(access), bytes, address,
                          memory.Describe(address)));
    return false;
  }
  if (range->read_only && access != Access::kRead) {
    by.Report(FindingKind::kOutOfBounds,
              fmt::format("{} {} bytes at global address 0x{:x}: the variable is constant",
                          Verb(access), bytes, address));
    return false;
  }
  const uint64_t at = address - range->address;
  *found = {nullptr, address, {range->data + at, range->defined + at}};
  return true;
}

Mbarrier* FindMbarrier(const Issuer& by, uint64_t address) {
  Block* block = &by.warp->block();
  if (address >= kSharedPeers) {
    block =
        by.warp->memory().FindPeer(*by.inst, by.lane, &address, Mbarrier::kBytes, Access::kAtomic);
  }
  return block == nullptr ? nullptr : block->mbarriers().Find(by, address);
}

bool RequireMultiple(const Issuer& by, uint64_t value, uint64_t align, std::string_view what) {
  if (value % align == 0) return true;
  by.Report(FindingKind::kMisaligned,
            fmt::format("{} (0x{:x}) is not a multiple of {}", what, value, align));
  return false;
}

}  // namespace tarsia::ptx
