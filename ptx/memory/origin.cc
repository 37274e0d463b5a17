#include "ptx/memory/origin.h"

#include <fmt/format.h>

#include "ptx/parse/module.h"
#include "ptx/table/table.h"

namespace tarsia::ptx {

Origin Origin::Of(const Inst& inst) { return Origin(inst.id + 1); }

void Origin::Describe(const Module& module, Finding* finding) const {
  if (none()) return;
  if ((code_ & kVariable) != 0) {
    const FrameVariable& variable = module.frame_variables[code_ & ~kVariable];
    finding->origin = FindingPlace{variable.location, 0};
    finding->origin_name = fmt::format("the local variable `{}`", variable.name);
    return;
  }
  const Inst* inst = module.FindInst(code_ - 1);
  if (inst == nullptr) return;
  finding->origin = FindingPlace{inst->location, inst->loc};
  finding->origin_name = fmt::format("the {}", RowOf(inst->op).mnemonic);
}

// ---- in memory ---------------------------------------------------------------------------------

// No piece reaches over `at` afterwards.
void MemoryOrigins::Cut(uint64_t at) {
  auto next = pieces_.lower_bound(at);
  if (next == pieces_.begin()) return;
  Piece& before = std::prev(next)->second;
  if (before.end <= at) return;
  pieces_.emplace_hint(next, at, before);
  before.end = at;
}

void MemoryOrigins::Set(int lane, uint64_t address, uint64_t bytes, Origin origin) {
  if (origin.none() || bytes == 0) return;
  const uint64_t begin = Key(lane, address);
  Cut(begin);
  Cut(begin + bytes);
  const auto next = pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(begin + bytes));
  if (next != pieces_.begin()) {
    Piece& before = std::prev(next)->second;
    if (before.end == begin && before.origin == origin) {
      before.end = begin + bytes;
      return;
    }
  }
  if (pieces_.size() < kMostPieces) pieces_.emplace_hint(next, begin, Piece{begin + bytes, origin});
}

Origin MemoryOrigins::Find(int lane, uint64_t address, uint64_t bytes) const {
  const uint64_t begin = Key(lane, address);
  auto at = pieces_.upper_bound(begin);
  if (at != pieces_.begin() && std::prev(at)->second.end > begin) at = std::prev(at);
  return at != pieces_.end() && at->first < begin + bytes ? at->second.origin : Origin();
}

void MemoryOrigins::Forget(int lane, uint64_t address) {
  const uint64_t begin = Key(lane, address);
  Cut(begin);
  pieces_.erase(pieces_.lower_bound(begin), pieces_.lower_bound(Key(lane + 1, 0)));
}

void MemoryOrigins::Copy(int lane, uint64_t to, uint64_t from, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i) Set(lane, to + i, 1, Find(lane, from + i, 1));
}

}  // namespace tarsia::ptx
