// Kernels that only decode: PTX made directly from recipes, to count their machine code.
#ifndef TARSIA_TESTS_UNIT_COMPILER_RECIPE_KERNEL_H_
#define TARSIA_TESTS_UNIT_COMPILER_RECIPE_KERNEL_H_

#include <string>

#include "layout/recipe.h"

namespace tarsia::compiler {

// A kernel whose loop reads the words of `tiles` tiles, runs the recipe on each and passes the
// values to the tensor core. The recipe's layout holds a multiple of 8 codes.
std::string RecipeKernel(const std::string& name, const Recipe& recipe, int tiles);

// The header of a module of such kernels for sm_90a.
std::string RecipeModuleHeader();

}  // namespace tarsia::compiler

#endif  // TARSIA_TESTS_UNIT_COMPILER_RECIPE_KERNEL_H_
