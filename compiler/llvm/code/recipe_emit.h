// Recipes of bit layouts (layout/recipe.h) as code: each step is the instruction that it names.
#ifndef TARSIA_COMPILER_LLVM_CODE_RECIPE_EMIT_H_
#define TARSIA_COMPILER_LLVM_CODE_RECIPE_EMIT_H_

#include <cstdint>
#include <optional>

#include "compiler/llvm/code/register_tiles.h"
#include "layout/recipe.h"

namespace tarsia::compiler {

// The codes of a register tile, decoded by the recipe of their bit layout, in the layout of the
// tile; nothing where the tile keeps no words or its bit layout has no such recipe.
std::optional<Slots> DecodeByRecipe(FunctionBuilder& function, RegisterTiles& tiles, uint32_t value,
                                    DType compute, RecipeForm form);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_RECIPE_EMIT_H_
