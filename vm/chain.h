// Chains: runs of elementwise instructions on tiles that do not fit in the L1 cache together. A
// chain is computed piece by piece, all of its instructions on one piece before the next one, and
// values that only the chain uses exist only as pieces. Results are those of the instructions one
// by one.
#ifndef TARSIA_VM_CHAIN_H_
#define TARSIA_VM_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "dtypes/convert.h"
#include "dtypes/dtype.h"
#include "vm/host/elementwise.h"
#include "vm/host/fused.h"

namespace tarsia::vm {

class Plan;

struct Chain {
  // Where a piece of a value is: in the tile of a value, or in a slot of the chain's scratch.
  struct Place {
    bool in_tile = false;
    uint32_t number = 0;  // of the value or of the slot
    uint8_t container = 0;
  };
  struct Copy {};
  struct Cast {
    DType from, to;
    CastOptions options;
  };
  // Of the whole tile in operand 0, which is smaller: element i is its element i / inner % period.
  struct Repeat {
    size_t inner = 1, period = 1;
  };
  // Of two whole tiles, a column and a row.
  struct Outer {
    host::OuterKernel kernel = nullptr;
    Repeat column;
  };
  // Of a term, the error and the sum: makes the new sum, and the new error as its second result.
  struct Compensated {
    host::CompensatedKernel kernel = nullptr;
  };
  using Operation = std::variant<host::Loop, Copy, Cast, Repeat, Outer, Compensated>;
  struct Step {
    Operation operation;
    uint8_t operands = 0;
    Place operand[3];
    Place result;
    Place second;  // of Compensated
  };
  // An operand that is the same for all elements: a slot is filled with it first.
  struct Uniform {
    uint32_t instruction = 0;
    uint8_t operand = 0;
    DType type;
    uint32_t slot = 0;
  };

  uint32_t end = 0;              // the instruction after the chain
  std::vector<uint32_t> before;  // instructions between those of the chain that run before it
  std::vector<Uniform> uniforms;
  std::vector<Step> steps;
  size_t count = 0;       // elements of a tile
  size_t piece = 0;       // elements of a piece
  size_t slot_bytes = 0;  // a multiple of 64
  uint32_t slots = 0;
  [[nodiscard]] size_t ScratchBytes() const { return slots * slot_bytes; }
};

// Finds the chains of a plan whose instructions are complete, and sets PlannedInst::chain of their
// first instructions.
void FindChains(Plan& plan);

}  // namespace tarsia::vm

#endif  // TARSIA_VM_CHAIN_H_
