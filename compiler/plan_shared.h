// The layout of a block's shared memory: the tiles of the program, where the pass `shared` has
// placed them, and above them scratch for reductions, conversions and similar instructions. The
// size of the scratch is what the generated code uses.
//
// A kernel's shared memory is always of the dynamic kind: one extern array, its size given at
// launch.
#ifndef TARSIA_COMPILER_PLAN_SHARED_H_
#define TARSIA_COMPILER_PLAN_SHARED_H_

#include <cstdint>
#include <vector>

#include "compiler/target.h"
#include "isa/limits.h"
#include "isa/program.h"
#include "support/result.h"

namespace tarsia::compiler {

// The alignment of the extern array; no tile needs more.
inline constexpr uint64_t kSharedAlignment = kMostSharedAlignment;
// Tiles begin at multiples of it at least, and take whole units of it: whole words may be written.
inline constexpr uint64_t kSharedTileAlignment = 16;
// Exchanges of more bytes are done in rounds if there is less space, but with no fewer bytes than
// this.
inline constexpr uint64_t kLeastScratch = 4096;
// Those of more bytes are done in rounds always. A tile of 256 x 128 halves fits, with gaps between
// its rows.
inline constexpr uint64_t kMostScratch = 73728;

// Up to here nothing is lost by using more. A multiprocessor has at least 100 KiB (CUDA programming
// guide, compute capability 8.9), so two blocks of this size run on each one.
inline constexpr uint64_t kUsualSharedBytes = uint64_t{48} << 10;

struct SharedPlan {
  uint64_t tile_bytes = 0;    // of all tiles; scratch begins there
  uint64_t scratch_room = 0;  // the space for scratch
  uint64_t limit = 0;         // a block
  Location largest;           // tile, for messages
};

// Errors: tiles whose layout does not fit.
Result<SharedPlan> PlanShared(const Program& program, Target target);
// The total bytes with this much scratch. Errors: more than the target has.
Result<uint64_t> TotalShared(const Program& program, const SharedPlan& plan, Target target,
                             uint64_t scratch);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PLAN_SHARED_H_
