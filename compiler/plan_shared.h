// Where everything lies that a block keeps in shared memory: the tiles of the program, placed by
// lifetime (a tile lives to the end of its block of code, so blocks are a stack), and above them
// one run of scratch for conversions, reductions and the like. How much scratch there is shows when
// the code is made: no more than it uses.
//
// A kernel's shared memory is always of the dynamic kind: one extern array, its size given at
// launch.
#ifndef TARSIA_COMPILER_PLAN_SHARED_H_
#define TARSIA_COMPILER_PLAN_SHARED_H_

#include <cstdint>
#include <vector>

#include "compiler/target.h"
#include "isa/program.h"
#include "support/result.h"

namespace tarsia::compiler {

// Of the extern array itself; no tile is aligned to more.
inline constexpr uint64_t kSharedAlignment = 1024;
// Exchanges of more bytes go in rounds where there is less room, but of no fewer bytes than this.
inline constexpr uint64_t kLeastScratch = 4 * 1024;

struct SharedTile {
  uint32_t value = 0;
  uint64_t offset = 0;  // bytes from the start of the array
  uint64_t bytes = 0;   // rounded up: whole words may be written
  // Others have lived in these bytes, or this tile in an earlier turn of a loop: threads must meet
  // before it is written.
  bool reused = false;
};

struct SharedPlan {
  uint64_t tile_bytes = 0;        // of all tiles; scratch begins there
  uint64_t scratch_room = 0;      // what scratch may take
  uint64_t limit = 0;             // a block
  std::vector<SharedTile> tiles;  // in the order of the text
  Location largest;               // tile, for messages
  [[nodiscard]] const SharedTile* Find(uint32_t value) const;
};

// Errors: tiles whose layout does not fit.
Result<SharedPlan> PlanShared(const Program& program, Target target);
// The bytes of all, with so much scratch. Errors: more than the target has.
Result<uint64_t> TotalShared(const Program& program, const SharedPlan& plan, Target target,
                             uint64_t scratch);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PLAN_SHARED_H_
