// Which tiles `ldmatrix` reads from shared memory, and `stmatrix` writes. They move matrices of 8
// rows of 16 bytes, which lie anywhere; each thread of a warp gives the address of a row, and has 4
// bytes of each matrix (PTX ISA, warp-level matrix load and store instructions): two elements of 16
// bits, in rows or in columns; or four of 8 bits or one of 32, in rows.
#ifndef TARSIA_COMPILER_SELECT_MATRICES_H_
#define TARSIA_COMPILER_SELECT_MATRICES_H_

#include <cstdint>
#include <optional>

#include "compiler/target.h"
#include "compiler/tile_layout.h"

namespace tarsia::compiler {

struct MatrixAccesses {
  bool transposed = false;  // the rows in memory are the columns of the fragments
  int count = 1;            // matrices of an instruction: 1, 2 or 4
  int64_t elements = 2;     // that a thread has of a matrix
  // The rows of instruction i: each thread holds one, in slots RowElements() * i and those after
  // it.
  TileLayout rows;

  [[nodiscard]] int64_t RowElements() const { return 4 * elements; }
  [[nodiscard]] int64_t InstructionsFor(const TileLayout& tile) const {
    return tile.slots() / (elements * count);
  }
};

// How a tile of elements of `bytes` bytes is loaded from shared memory where those along `fast`
// follow each other. Instruction i, matrix j has the slots elements * (i * count + j) and those
// after. Empty: `ldmatrix` cannot.
std::optional<MatrixAccesses> FindMatrixLoads(const TileLayout& tile, int fast, int bytes);
// The same for `stmatrix`: tiles whose elements have one holder, four matrices at once. Fewer save
// little over stores of pairs, and need registers for addresses of their own.
std::optional<MatrixAccesses> FindMatrixStores(const TileLayout& tile, int fast, int bytes);
// Whether what `FindMatrixLoads` says of a tile holds for its stores.
bool StoresLikeLoads(const TileLayout& tile, const MatrixAccesses& loads);
// Whether the target has `stmatrix`.
bool HasMatrixStores(Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_MATRICES_H_
