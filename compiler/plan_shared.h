// Where everything lies that a block keeps in shared memory: the tiles of the program, placed by
// lifetime (a tile lives to the end of its block of code, so blocks are a stack), and below them
// one run of scratch for conversions, reductions and the like.
//
// A kernel's shared memory is always of the dynamic kind: one extern array, its size given at
// launch.
#ifndef TARSIA_COMPILER_PLAN_SHARED_H_
#define TARSIA_COMPILER_PLAN_SHARED_H_

#include <cstdint>
#include <vector>

#include "compiler/infer_layouts.h"
#include "compiler/target.h"
#include "isa/program.h"
#include "support/result.h"

namespace tarsia::compiler {

// Of the extern array itself; no tile is aligned to more.
inline constexpr uint64_t kSharedAlignment = 1024;

struct SharedTile {
  uint32_t value = 0;
  uint64_t offset = 0;  // bytes from the start of the array
  uint64_t bytes = 0;   // rounded up: whole words may be written
  // Others have lived in these bytes, or this tile in an earlier turn of a loop: threads must meet
  // before it is written.
  bool reused = false;
};

struct SharedPlan {
  uint64_t total_bytes = 0;
  uint64_t scratch_bytes = 0;     // at offset 0
  std::vector<SharedTile> tiles;  // in the order of the text
  [[nodiscard]] const SharedTile* Find(uint32_t value) const;
};

// Errors: more than the target has.
Result<SharedPlan> PlanShared(const Program& program, const LayoutPlan& layouts, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PLAN_SHARED_H_
