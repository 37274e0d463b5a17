// What loops and branches carry.
#ifndef TARSIA_COMPILER_TILE_CARRIED_H_
#define TARSIA_COMPILER_TILE_CARRIED_H_

#include "compiler/tile/form.h"

namespace tarsia::compiler::tile {

// Removes the arguments, inits, yields and results that nothing but other such ones uses.
void RemoveUnusedCarried(Form& form);

}  // namespace tarsia::compiler::tile

#endif  // TARSIA_COMPILER_TILE_CARRIED_H_
