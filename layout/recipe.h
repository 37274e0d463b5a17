// Recipes: the instructions that turn the words of sub-byte codes into values of f16, bf16, i8 or
// f8e4m3fn, as data.
//
// A recipe is a list of steps on 32-bit registers. Registers 0 to words - 1 are the words of a bit
// layout; each step writes the next register. At the end the values of neighbours fill register
// `values[j]` from the low bits on: slots 2j and 2j+1 of 16 bits, or slots 4j to 4j+3 of 8. The
// steps are instructions that every target since sm_80 has, one for one:
//
//   kTurn     shf.r.wrap.b32   the low word of (b:a) >> constant; with a = b a rotation
//   kPermute  prmt.b32         four bytes of (b:a), by the nibbles of a constant
//   kLop3     lop3.b32         any function of three bits, by its table
//   kAdd      add.u32
//   kFma      fma.rn.f16x2, fma.rn.bf16x2, by the recipe's compute type
//
// `unpack` computes what BitLayout::Unpack specifies, `cast` the values of the codes; both bit for
// bit, including the NaN of the compute type. The CPU runs recipes here (RunRecipe); the code
// generator emits them as they are.
#ifndef TARSIA_LAYOUT_RECIPE_H_
#define TARSIA_LAYOUT_RECIPE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layout/bit_layout.h"
#include "support/result.h"

namespace tarsia {

enum class RecipeOp : uint8_t { kTurn, kPermute, kLop3, kAdd, kFma };

// A register or a constant.
struct RecipeOperand {
  bool is_constant = true;
  uint32_t value = 0;
  friend bool operator==(const RecipeOperand&, const RecipeOperand&) = default;
};

struct RecipeStep {
  RecipeOp op{};
  uint8_t table = 0;  // of lop3
  RecipeOperand a, b, c;
  friend bool operator==(const RecipeStep&, const RecipeStep&) = default;
};

enum class RecipeForm : uint8_t {
  kUnpack,
  kCast,
  kFiniteCast,  // of codes that are finite numbers; the values of others are unspecified
};

struct Recipe {
  DType compute;
  uint32_t words = 0;
  std::vector<RecipeStep> steps;
  std::vector<uint32_t> values;  // registers; of an odd count the last one's high half is anything

  // Values in a register.
  [[nodiscard]] size_t lanes() const { return 32 / compute.bits; }
};

// Whether there is a recipe: to f16 and bf16 always; to i8 and f8e4m3fn from lanes only, and for
// f8e4m3fn no `cast` of integers and of floats with another bias, since no target computes with it.
bool HasRecipe(const BitLayout& layout, DType compute, RecipeForm form);

// The recipe for the codes of a layout; HasRecipe must hold. Errors: those of BitLayout::Unpack.
Result<Recipe> MakeRecipe(const BitLayout& layout, DType compute, RecipeForm form);

// Runs a recipe; `words` and `values` (codes of the compute type, one a slot) are of its layout.
void RunRecipe(const Recipe& recipe, std::span<const uint32_t> words, std::span<uint16_t> values);

// A line a step: "r9 = lop3(r2, 0x03C003C0, 0x64006400, 0x6A)".
std::string ToString(const Recipe& recipe);

}  // namespace tarsia

#endif  // TARSIA_LAYOUT_RECIPE_H_
