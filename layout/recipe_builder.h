// Builds recipes: registers, the functions of three bits that they need, and the steps that all bit
// layouts share, from codes at their target to the values. Internal to layout/.
#ifndef TARSIA_LAYOUT_RECIPE_BUILDER_H_
#define TARSIA_LAYOUT_RECIPE_BUILDER_H_

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "layout/recipe.h"

namespace tarsia::internal {

// The same 16 bits in both lanes, and the same 8 bits in all four.
constexpr uint32_t Both(uint32_t lane) { return lane << 16 | lane; }
constexpr uint32_t Four(uint32_t lane) { return Both(lane << 8 | lane); }
constexpr uint32_t Lanes(uint32_t low, uint32_t high) { return high << 16 | low; }

class RecipeBuilder {
 public:
  // A register of the recipe.
  using Register = uint32_t;

  RecipeBuilder(const BitLayout& layout, DType compute, RecipeForm form);

  [[nodiscard]] const BitLayout& layout() const { return layout_; }
  [[nodiscard]] DType type() const { return layout_.type(); }
  [[nodiscard]] DType compute() const { return compute_; }
  [[nodiscard]] RecipeForm form() const { return form_; }

  // (b:a) >> bits; with bits = 0 it is a. Equal calls of Turn and Permute share one step.
  Register Turn(Register a, Register b, uint32_t bits);
  Register Permute(Register a, Register b, uint32_t selector);
  Register PermuteConstant(Register a, uint32_t b, uint32_t selector);
  Register And(Register a, uint32_t mask);
  Register MaskXor(Register a, uint32_t mask, uint32_t flip);          // (a & mask) ^ flip
  Register Select(Register a, Register b, uint32_t mask);              // mask ? a : b, bit by bit
  Register Choose(Register condition, Register a, Register b);         // the same by a register
  Register XorWhere(Register a, Register condition, uint32_t bits);    // a ^ (condition & bits)
  Register OrWhere(Register a, Register condition, uint32_t bits);     // a | (condition & bits)
  Register ClearWhere(Register a, Register condition, uint32_t bits);  // a & ~(condition & bits)
  Register AndNot(Register a, Register b);                             // a & ~b
  Register OrAnd(Register a, Register b, uint32_t mask);               // (a | b) & mask
  Register Add(Register a, uint32_t b);
  Register Fma(Register a, uint32_t b, uint32_t c);

  // The bits that turn a code at lane bit `position` (under a mask) into an integer's float.
  [[nodiscard]] uint32_t Magic(int position) const;
  // Ends a pair of integers: the value of the bits as floats, minus `excess` of the low and the
  // high lane, is the value of the code.
  void EndInteger(Register q, std::array<double, 2> excess, std::array<double, 2> bias);
  // Integers of more bits than the mantissa has, in the low bits of each lane: subnormal numbers.
  void EndWideInteger(Register bits);
  // Floats: sign and rest at their target.
  void EndFloat(Register bits);
  // Ends neighbours whose values are complete.
  void End(Register value) { recipe_.values.push_back(value); }

  Recipe Take() { return std::move(recipe_); }

 private:
  Register Step(RecipeOp op, uint8_t table, RecipeOperand a, RecipeOperand b, RecipeOperand c);
  Register Once(RecipeOp op, Register a, Register b, uint32_t constant);
  // All ones in the lanes whose magnitude is at least `threshold`.
  Register AtLeast(Register magnitude, uint32_t threshold);
  Register SpreadSigns(Register x);
  // Specials of floats: `value` is right except for the codes that are not finite numbers in the
  // type.
  Register MendIeee(Register value, Register magnitude, int scale);
  Register MendFn(Register value, Register magnitude, int scale);
  Register MendFnuz(Register value, Register bits, Register magnitude);
  // f16, and 5 exponent bits of a type where all are numbers: f16 has no numbers with the largest
  // exponent.
  Register MendLargest(Register bits, Register magnitude);
  // The code of a value, of infinity, and of NaN in the compute type.
  [[nodiscard]] uint32_t Code(double value) const;
  [[nodiscard]] uint32_t Infinity() const;
  [[nodiscard]] uint32_t QuietNan() const;

  const BitLayout& layout_;
  const DType compute_;
  const RecipeForm form_;
  Recipe recipe_;
  std::map<std::tuple<RecipeOp, Register, Register, uint32_t>, Register> known_;
};

}  // namespace tarsia::internal

#endif  // TARSIA_LAYOUT_RECIPE_BUILDER_H_
