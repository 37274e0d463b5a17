// Writes operations that take several instructions. Internal to planner/.
#ifndef TARSIA_PLANNER_EMIT_FUNCTIONS_H_
#define TARSIA_PLANNER_EMIT_FUNCTIONS_H_

#include <vector>

#include "isa/graph/op.h"
#include "planner/tile_writer.h"

namespace tarsia {

// The first operand to the power of the second one, as IEEE 754 has it, but that a zero has no
// sign. Of f16, bf16 and f32 it is computed in f64.
TileValue Power(TileWriter& writer, std::vector<TileValue> operands, DType type);

// Elements of kRand, kUniform or kNormal. `seed`: an integer of any type; `number`: those of the
// elements, i64.
TileValue RandomNumbers(TileWriter& writer, GraphOp op, const TileValue& seed,
                        const TileValue& number);

}  // namespace tarsia

#endif  // TARSIA_PLANNER_EMIT_FUNCTIONS_H_
