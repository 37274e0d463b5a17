// Recipes of bit layouts (layout/recipe.h) as machine code: step by step, the very instructions.
#ifndef TARSIA_COMPILER_LLVM_RECIPE_EMIT_H_
#define TARSIA_COMPILER_LLVM_RECIPE_EMIT_H_

#include <cstdint>
#include <optional>

#include "compiler/llvm/emitter.h"
#include "layout/recipe.h"

namespace tarsia::compiler {

// Emits a recipe on 32-bit words; gives a value of the compute type for each of `slots` slots.
Slots EmitRecipe(Emitter& e, const Recipe& recipe, const Slots& words, size_t slots);

// What a register tile's codes become by the recipe of their bit layout, in the layout that the
// tile lives in; nothing where the tile keeps no words or its bit layout has no such recipe.
std::optional<Slots> ByRecipe(Emitter& e, uint32_t value, DType compute, RecipeForm form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_RECIPE_EMIT_H_
