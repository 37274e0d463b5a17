// What is known of the turns of a `for` before a launch.
#ifndef TARSIA_COMPILER_LOOPS_COUNTED_LOOP_H_
#define TARSIA_COMPILER_LOOPS_COUNTED_LOOP_H_

#include <cstdint>
#include <optional>

#include "compiler/tile/form.h"

namespace tarsia::compiler {

// A loop whose counter is start, start + step, ...: each of these is a value of the counter's type,
// and sums of a bound and of 2^24 steps do not overflow.
struct CountedLoop {
  ExprId start;
  ExprId stop;
  int64_t step = 1;              // positive if `turns` is not known
  std::optional<int64_t> turns;  // if the bounds are constants
};

// Nothing if that cannot be shown.
std::optional<CountedLoop> Counted(const tile::Form& form, const tile::Operation& loop);

// The number of a hint of a `for`; nothing if it is not there.
std::optional<int64_t> HintOf(const tile::Form& form, const tile::Operation& loop, Attr hint);

// x + n, where a constant is computed.
ExprId Plus(ExprPool& pool, ExprId x, int64_t n);

// The first counter that is not reached in whole rounds of `n` turns:
// start + max(0, ceildiv(stop - start - less, n * step)) * n * step.
ExprId EndOfRounds(ExprPool& pool, const CountedLoop& loop, int64_t n, int64_t less);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LOOPS_COUNTED_LOOP_H_
