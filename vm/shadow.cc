#include "vm/shadow.h"

#include <algorithm>

namespace tarsia::vm {
namespace {

// True the first time within an access.
bool First(FindingKind kind, unsigned& found) {
  const unsigned bit = 1u << static_cast<unsigned>(kind);
  if ((found & bit) != 0) return false;
  found |= bit;
  return true;
}

}  // namespace

Shadow::Shadow(uint64_t bytes, bool defined, bool replaceable)
    : bytes_(bytes),
      defined_(defined),
      replaceable_(replaceable),
      pages_((bytes + kPage - 1) / kPage) {}

Shadow::Cell& Shadow::At(uint64_t byte) {
  std::unique_ptr<Cell[]>& page = pages_[byte / kPage];
  if (page == nullptr) {
    page = std::make_unique<Cell[]>(kPage);
    if (defined_) {
      for (uint64_t i = 0; i < kPage; ++i) page[i].written = 0xFF;
    }
  }
  return page[byte % kPage];
}

template <typename Each>
void Shadow::ForEachByte(uint64_t bit, uint64_t count, const Each& each) {
  const uint64_t end = std::min(bit + count, bytes_ * 8);
  while (bit < end) {
    const uint64_t take = std::min(8 - bit % 8, end - bit);
    const auto mask = static_cast<uint8_t>(((1u << take) - 1) << (bit % 8));
    each(At(bit / 8), mask);
    bit += take;
  }
}

// Whether nothing orders the two accesses, one of them a write.
bool Shadow::Races(const Touch& earlier, const Accessor& by, uint8_t mask) {
  if ((earlier.mask & mask) == 0 || earlier.block < 0) return false;
  if (earlier.atomic && by.atomic) return false;
  if (earlier.block != by.block) {
    if (by.known == nullptr) return true;
    const auto known = by.known->find(earlier.block);
    return known == by.known->end() || known->second <= earlier.epoch;
  }
  return earlier.epoch == by.epoch && earlier.stamp != by.stamp;
}

void Shadow::Read(uint64_t bit, uint64_t count, const Accessor& by, unsigned& found,
                  const Report& report) {
  ForEachByte(bit, count, [&](Cell& cell, uint8_t mask) {
    const auto other = [](const Touch& touch) {
      return Accessor{touch.inst, touch.stamp, touch.epoch, touch.block, touch.atomic};
    };
    if ((cell.pending & mask) != 0) {
      if (First(FindingKind::kReadBeforeWait, found)) {
        report(FindingKind::kReadBeforeWait, other(cell.write));
      }
    } else if ((mask & ~cell.written) != 0) {
      if (First(FindingKind::kUnwritten, found)) report(FindingKind::kUnwritten, {});
      cell.written |= mask;  // report one fault only once
    } else {
      for (const Touch& write : {cell.write, cell.other_write}) {
        if (Races(write, by, mask) && First(FindingKind::kReadAfterWrite, found)) {
          report(FindingKind::kReadAfterWrite, other(write));
        }
      }
    }
    if (by.updates) return;  // recorded as a write
    Touch& read = cell.read;
    if (read.block == by.block && read.epoch == by.epoch && read.atomic == by.atomic) {
      read.mask |= mask;
    } else {
      if (read.block >= 0 && read.block != by.block) cell.other_read = read;
      read.mask = mask;
      read.block = by.block;
      read.epoch = by.epoch;
    }
    read.inst = by.inst;
    read.stamp = by.stamp;
    read.atomic = by.atomic;
  });
}

void Shadow::CheckWrite(Cell& cell, uint8_t mask, const Accessor& by, unsigned& found,
                        const Report& report) {
  const auto race = [&](FindingKind kind, const Touch& touch) {
    if (!Races(touch, by, mask) || !First(kind, found)) return;
    report(kind, {touch.inst, touch.stamp, touch.epoch, touch.block, touch.atomic});
  };
  if ((cell.pending & mask) != 0) {
    if (First(FindingKind::kWriteBeforeWait, found)) {
      report(FindingKind::kWriteBeforeWait, {cell.write.inst, cell.write.stamp, cell.write.epoch,
                                             cell.write.block, cell.write.atomic});
    }
  } else if (!replaceable_ || cell.write.block != by.block || cell.write.inst != by.inst) {
    race(FindingKind::kWriteAfterWrite, cell.write);
  }
  if (!replaceable_ || cell.read.block != by.block) {
    race(FindingKind::kWriteAfterRead, cell.read);
  }
  race(FindingKind::kWriteAfterRead, cell.other_read);
  race(FindingKind::kWriteAfterWrite, cell.other_write);
  Touch& write = cell.write;
  Accessor plain = by;
  plain.atomic = false;
  if (write.block != by.block && Races(write, plain, mask)) cell.other_write = write;
  const bool same = write.block == by.block && write.epoch == by.epoch && write.atomic == by.atomic;
  write.mask = same ? static_cast<uint8_t>(write.mask | mask) : mask;
  write.block = by.block;
  write.epoch = by.epoch;
  write.inst = by.inst;
  write.stamp = by.stamp;
  write.atomic = by.atomic;
}

void Shadow::Write(uint64_t bit, uint64_t count, const Accessor& by, unsigned& found,
                   const Report& report) {
  ForEachByte(bit, count, [&](Cell& cell, uint8_t mask) {
    CheckWrite(cell, mask, by, found, report);
    cell.written |= mask;
    cell.pending = static_cast<uint8_t>(cell.pending & ~mask);
  });
}

void Shadow::WriteLater(uint64_t bit, uint64_t count, const Accessor& by, unsigned& found,
                        const Report& report) {
  ForEachByte(bit, count, [&](Cell& cell, uint8_t mask) {
    CheckWrite(cell, mask, by, found, report);
    cell.pending |= mask;
  });
}

void Shadow::Deliver(uint64_t bit, uint64_t count, const Accessor& by) {
  ForEachByte(bit, count, [&](Cell& cell, uint8_t mask) {
    cell.pending = static_cast<uint8_t>(cell.pending & ~mask);
    cell.written |= mask;
    cell.write = {by.block, by.inst, by.stamp, by.epoch, mask, false};
  });
}

template <typename Each>
void Shadow::ForEachCell(uint64_t byte, uint64_t bytes, const Each& each) {
  for (uint64_t i = byte; i < byte + bytes && i < bytes_; ++i) {
    if (pages_[i / kPage] == nullptr) {
      i = (i / kPage + 1) * kPage - 1;
      continue;
    }
    each(At(i));
  }
}

void Shadow::Forget(uint64_t byte, uint64_t bytes) {
  ForEachCell(byte, bytes, [this](Cell& cell) {
    cell = Cell();
    if (defined_) cell.written = 0xFF;
  });
}

void Shadow::Undefine(uint64_t byte, uint64_t bytes) {
  ForEachCell(byte, bytes, [](Cell& cell) { cell.written = 0; });
}

}  // namespace tarsia::vm
