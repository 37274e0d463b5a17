// How many bytes or elements an access to memory moves.
#ifndef TARSIA_COMPILER_SELECT_ACCESS_H_
#define TARSIA_COMPILER_SELECT_ACCESS_H_

#include <cstdint>

#include "compiler/target.h"
#include "dtypes/dtype.h"
#include "isa/instruction.h"

namespace tarsia::compiler {

inline constexpr int64_t kWidestAccess = 16;  // bytes of a thread

// The largest power of two, at most kWidestAccess, that divides a number of bytes.
constexpr int UnitOf(int64_t bytes) {
  int64_t unit = 1;
  while (unit < kWidestAccess && bytes % (unit * 2) == 0) unit *= 2;
  return static_cast<int>(unit);
}

// Neighbouring elements that an atomic instruction updates together, each in one step. PTX ISA,
// red: two f16 since compute capability 6.0; two bf16, and in global memory 16 bytes of f16, bf16
// and f32, since 9.0.
inline int64_t UpdatedTogether(Opcode opcode, DType type, Space space, Target target) {
  const bool newest = Row(target).capability >= 90;
  if (opcode != Opcode::kRedAdd && opcode != Opcode::kRedScatterAdd) return 1;
  const bool vectors = newest && space == Space::kGlobal;
  if (type == kF32) return vectors ? 4 : 1;
  if (type != kF16 && !(type == kBF16 && newest)) return 1;
  return vectors ? 8 : 2;
}

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_SELECT_ACCESS_H_
