// Which reductions the lanes of a warp do by `redux.sync`: one instruction for what takes five
// exchanges and five combinations otherwise (PTX ISA: since compute capability 8.0).
//
// Some lanes alone gain nothing: the instruction combines the active lanes of a warp, so that each
// group of them would take one by itself.
#ifndef TARSIA_COMPILER_SELECT_WARP_REDUCTION_H_
#define TARSIA_COMPILER_SELECT_WARP_REDUCTION_H_

#include <cstdint>
#include <optional>

#include "compiler/tile_layout.h"
#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia::compiler {

enum class Redux : uint8_t { kAdd, kMin, kMax, kUnsignedMin, kUnsignedMax, kAnd, kOr };

struct WarpReduction {
  Redux operation = Redux::kAdd;
  // Floats in the order of signed integers: of those below zero the magnitude is complemented.
  bool by_keys = false;
  // Then the lowest of the indices that have the result.
  bool finds_index = false;

  [[nodiscard]] int64_t instructions() const { return finds_index ? 2 : 1; }
  // Arithmetic besides: making a key and the element again, and choosing the indices.
  [[nodiscard]] int64_t arithmetic() const { return (by_keys ? 4 : 0) + (finds_index ? 2 : 0); }
};

// Of codes of a type, which is that of the sums, where all lanes of a warp take part.
std::optional<WarpReduction> SelectWarpReduction(Opcode reduce, DType type,
                                                 const ThreadReduction& threads);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_WARP_REDUCTION_H_
