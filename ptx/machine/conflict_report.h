// Reports of conflicting accesses: which of them are harmless, at which of the two accesses a
// conflict is reported, and in which words.
#ifndef TARSIA_PTX_MACHINE_CONFLICT_REPORT_H_
#define TARSIA_PTX_MACHINE_CONFLICT_REPORT_H_

#include <cstdint>

#include "ptx/memory/place.h"
#include "ptx/race/race.h"
#include "ptx/table/code.h"

namespace tarsia::ptx {

class Warp;

// An access that has been noted, on behalf of a lane.
struct NotedAccess {
  const Inst& inst;
  const Accessor& accessor;
  int lane = 0;
  Space space = Space::kGlobal;
  uint64_t base = 0;    // where the range that holds it begins
  uint64_t offset = 0;  // within that
  uint32_t bytes = 0;
  Access access = Access::kRead;
};

// Reports the conflicts of an access, which the worker of the warp's block has collected. Whether
// it is a write that changed what a conflicting write left.
bool ReportConflicts(Warp& warp, const NotedAccess& noted);

// Whether an access is a store of the value that memory already holds.
bool ChangesNothing(Warp& warp, const NotedAccess& noted);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MACHINE_CONFLICT_REPORT_H_
