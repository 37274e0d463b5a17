// The attribute `via`: how the author wants tiles of global memory to arrive.
#ifndef TARSIA_COMPILER_PASSES_VIA_H_
#define TARSIA_COMPILER_PASSES_VIA_H_

#include <optional>

#include "compiler/tile/form.h"
#include "isa/instruction.h"

namespace tarsia::compiler {

bool IsGlobalLoad(const tile::Form& form, const tile::Operation& op);
// What the text says of a load; nothing: the compiler chooses.
std::optional<Via> ViaOf(const tile::Form& form, const tile::Operation& load);

// Replaces each load with `via shared` by one to registers, a tile in shared memory that gets its
// elements, and a load from there. Layouts are chosen for both sides later.
void LoadThroughShared(tile::Form& form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_PASSES_VIA_H_
