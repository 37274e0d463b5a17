// Which tiles `ldmatrix` reads from shared memory. It loads 8x8 matrices of 16-bit elements, whose
// rows of 16 bytes lie anywhere; each thread of a warp gives the address of a row, and gets two
// elements of each matrix (PTX ISA, warp-level matrix load instruction).
#ifndef TARSIA_COMPILER_SELECT_MATRICES_H_
#define TARSIA_COMPILER_SELECT_MATRICES_H_

#include <cstdint>
#include <optional>

#include "compiler/tile_layout.h"

namespace tarsia::compiler {

struct MatrixLoads {
  bool transposed = false;  // the rows in memory are the columns of the fragments
  int count = 1;            // matrices of an instruction: 1, 2 or 4
  // The rows of instruction i: each thread holds one, in slots 8 * i to 8 * i + 7.
  TileLayout rows;
};

// How a tile of elements of `bytes` bytes is loaded from shared memory where those along `fast`
// follow each other. Instruction i, matrix j has the slots 2 * (i * count + j) and the next one.
// Empty: `ldmatrix` cannot.
std::optional<MatrixLoads> FindMatrixLoads(const TileLayout& tile, int fast, int bytes);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_MATRICES_H_
