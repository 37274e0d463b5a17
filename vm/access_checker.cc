#include "vm/access_checker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "support/extents.h"
#include "vm/diagnostics.h"
#include "vm/trace.h"

namespace tarsia::vm {
namespace {

// The bits of a box in the shadow of its region.
void VisitShadow(const MemoryView& view, const Box& box,
                 const std::function<void(uint64_t bit, uint64_t count)>& visit) {
  const uint64_t first = 8 * view.region->shadow_first;
  VisitBits(view, box, [&](uint64_t bit, uint64_t count) { visit(first + bit, count); });
}

}  // namespace

void AccessChecker::Begin() {
  copies_.clear();
  open_group_ = 0;
  known_.clear();
  waited_for_grids_ = !block_.launch.plan.waits_for_grids;
}

void AccessChecker::Release(const uint8_t* semaphore) {
  BlockClock& released = block_.launch.released[semaphore];
  for (const auto& [block, intervals] : known_) {
    released[block] = std::max(released[block], intervals);
  }
  released[block_.linear] = block_.epoch;
}

void AccessChecker::Acquire(const uint8_t* semaphore) {
  for (const auto& [block, intervals] : block_.launch.released[semaphore]) {
    known_[block] = std::max(known_[block], intervals);
  }
}

Accessor AccessChecker::Me(const PlannedInst& inst) const {
  Accessor me;
  me.inst = static_cast<uint32_t>(&inst - block_.launch.plan.code.data());
  me.stamp = stamp_;
  me.epoch = block_.epoch;
  me.block = block_.linear;
  if (!known_.empty()) me.known = &known_;
  return me;
}

void AccessChecker::Check(const PlannedInst& inst, const MemoryView& view, const Box& box,
                          Access access) {
  Shadow* shadow = view.region->shadow;
  if (shadow == nullptr || access == Access::kNone) return;
  if (!waited_for_grids_ && view.region->space == Space::kGlobal) ReportEarly(inst, view, access);
  Accessor me = Me(inst);
  me.updates = access == Access::kAtomic;
  me.atomic = me.updates || access == Access::kAtomicRead;
  unsigned found = 0;
  const auto report = [&](FindingKind kind, const Accessor& other) {
    Report(inst, view, kind, other);
  };
  VisitShadow(view, box, [&](uint64_t bit, uint64_t count) {
    if (access != Access::kWrite) shadow->Read(bit, count, me, found, report);
    if (access == Access::kWrite || me.updates) shadow->Write(bit, count, me, found, report);
  });
}

void AccessChecker::ReportEarly(const PlannedInst& inst, const MemoryView& view, Access access) {
  LaunchState& launch = block_.launch;
  const bool reads = access == Access::kRead || access == Access::kAtomicRead;
  launch.Report(diag::kBeforeGriddepWait, inst, nullptr, block_.index,
                MakeDiagnostic(diag::kBeforeGriddepWait, launch.plan.LocationOf(inst),
                               Row(inst.inst->opcode).mnemonic, reads ? "reads" : "writes",
                               launch.plan.ValueName(view.region->value)));
}

void AccessChecker::Report(const PlannedInst& inst, const MemoryView& view, FindingKind kind,
                           const Accessor& other) {
  LaunchState& launch = block_.launch;
  const std::string name = launch.plan.ValueName(view.region->value);
  const std::string_view mnemonic = Row(inst.inst->opcode).mnemonic;
  const Location location = launch.plan.LocationOf(inst);
  const PlannedInst* earlier = other.stamp != 0 ? &launch.plan.code[other.inst] : nullptr;
  const auto report = [&](const DiagInfo& info, Diagnostic diagnostic) {
    if (earlier != nullptr && launch.plan.LocationOf(*earlier).line != 0) {
      diagnostic.notes.push_back({launch.plan.LocationOf(*earlier), TextOf(launch.plan, *earlier)});
    }
    launch.Report(info, inst, earlier, block_.index, std::move(diagnostic));
  };
  const auto race = [&](std::string_view did, std::string_view had_done) {
    const std::string_view by = Row(launch.plan.code[other.inst].inst->opcode).mnemonic;
    if (other.block == block_.linear) {
      return report(diag::kRace,
                    MakeDiagnostic(diag::kRace, location, mnemonic, did, name, by, had_done));
    }
    const auto& grid = launch.grid;
    report(diag::kRaceBetweenBlocks,
           MakeDiagnostic(diag::kRaceBetweenBlocks, location, mnemonic, did, name, by,
                          other.block % grid[0], other.block / grid[0] % grid[1],
                          other.block / grid[0] / grid[1], had_done));
  };
  switch (kind) {
    case FindingKind::kReadBeforeWait:
      return report(diag::kReadBeforeWait,
                    MakeDiagnostic(diag::kReadBeforeWait, location, mnemonic, name));
    case FindingKind::kWriteBeforeWait:
      return report(diag::kWriteBeforeWait,
                    MakeDiagnostic(diag::kWriteBeforeWait, location, mnemonic, name));
    case FindingKind::kUnwritten:
      return report(diag::kUnwritten, MakeDiagnostic(diag::kUnwritten, location, mnemonic, name));
    case FindingKind::kWriteAfterWrite:
      return race("writes", "wrote");
    case FindingKind::kWriteAfterRead:
      return race("writes", "read");
    case FindingKind::kReadAfterWrite:
      return race("reads", "wrote");
  }
}

// Until the wait, the target holds a pattern that is not a likely value.
void AccessChecker::StartCopy(PendingCopy copy) {
  copy.group = open_group_;
  std::vector<uint8_t> poison(copy.data.size(), 0xA5);
  const int64_t elements = Product(copy.inst->shape);
  const auto mask = static_cast<uint8_t>(CodeMask(copy.target.map->type()));
  for (uint8_t& byte : poison) byte &= mask;
  if (elements > 0) StoreBox(copy.target, copy.box, copy.inst->shape.data(), poison.data());
  if (Shadow* shadow = copy.target.region->shadow; shadow != nullptr) {
    const Accessor me = Me(*copy.inst);
    unsigned found = 0;
    VisitShadow(copy.target, copy.box, [&](uint64_t bit, uint64_t count) {
      shadow->WriteLater(bit, count, me, found, [&](FindingKind kind, const Accessor& other) {
        Report(*copy.inst, copy.target, kind, other);
      });
    });
  }
  copies_.push_back(std::move(copy));
}

void AccessChecker::WaitForCopies(int64_t pending) {
  while (!copies_.empty()) {
    const PendingCopy& copy = copies_.front();
    const uint64_t newer = open_group_ - copy.group;  // groups committed since, including its own
    if (copy.group >= open_group_ || newer <= static_cast<uint64_t>(pending)) return;
    StoreBox(copy.target, copy.box, copy.inst->shape.data(), copy.data.data());
    if (Shadow* shadow = copy.target.region->shadow; shadow != nullptr) {
      Accessor me = Me(*copy.inst);
      me.stamp = stamp_;
      VisitShadow(copy.target, copy.box,
                  [&](uint64_t bit, uint64_t count) { shadow->Deliver(bit, count, me); });
    }
    copies_.pop_front();
  }
}

}  // namespace tarsia::vm
