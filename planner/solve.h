// `cholesky` and `triangular_solve`: what they solve, and how it is cut. Internal to planner/.
//
// The result lies in memory as a whole along the solved axes. A first kernel writes the matrix, or
// the right-hand sides, there. Then the columns of the triangular matrix are taken a panel at a
// time, with one launch each for the kernels that
//   factor      make the factor of the block on the diagonal (of `cholesky` alone),
//   substitute  solve with the block on the diagonal: the rows below it, or the right-hand sides,
//   update      subtract what the panel adds to everything behind it: products of matrices, in
//               parallel over tiles.
#ifndef TARSIA_PLANNER_SOLVE_H_
#define TARSIA_PLANNER_SOLVE_H_

#include <cstdint>

namespace tarsia {

struct Solve {
  bool factors = false;  // `cholesky`
  bool upper = false;    // the matrix is upper triangular: panels come from the last one on
  uint32_t rows = 0;     // axes of the triangular matrix
  uint32_t columns = 0;  // that one is also the solved axis of the result
  uint32_t matrix = 0;   // the value; of `cholesky` what is factored
  uint32_t right = 0;    // the value that is first in the memory of the result
};

inline constexpr int64_t kPanel = 64;  // columns

}  // namespace tarsia

#endif  // TARSIA_PLANNER_SOLVE_H_
