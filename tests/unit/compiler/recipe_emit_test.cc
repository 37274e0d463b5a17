// Kernels use the recipes of bit layouts: the PTX of a `cast` or `unpack` has as many of each
// instruction as the recipe has steps, and uses the words as loaded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiler/compile.h"
#include "layout/recipe.h"
#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::recipe_emit_test {
namespace {

constexpr RecipeForm kForms[] = {RecipeForm::kUnpack, RecipeForm::kCast, RecipeForm::kFiniteCast};

int64_t Occurrences(const std::string& text, const std::string& word) {
  int64_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

int64_t Steps(const Recipe& recipe, RecipeOp op) {
  return std::count_if(recipe.steps.begin(), recipe.steps.end(),
                       [&](const RecipeStep& step) { return step.op == op; });
}

// A packed tile of 64 by 16 codes: 32 per thread.
std::string Kernel(std::string_view type, std::string_view compute, std::string_view bits,
                   RecipeForm form) {
  constexpr std::string_view kTile = "permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0])";
  return fmt::format(
      "kernel k(%x: ptr<{0}>, %y: ptr<{1}>)\n  warps 1\n{{\n"
      "  %gx = view %x : global<{0}>[64, 16] packed({2}, {3})\n"
      "  %gy = view %y : global<{1}>[64, 16]\n"
      "  %t = load %gx[0, 0] : [64, 16] {2} bits {3}\n"
      "  {4} %t{5} : {1}\n  store %gy[0, 0], %q\n}}\n",
      type, compute, kTile, bits, form == RecipeForm::kUnpack ? "%q, %b = unpack" : "%q = cast",
      form == RecipeForm::kFiniteCast ? " finite" : "");
}

void ExpectRecipe(DType type, DType compute, const BitLayout& layout, RecipeForm form) {
  if (form == RecipeForm::kFiniteCast && !type.IsFloat()) return;
  const Recipe recipe = *MakeRecipe(layout, compute, form);
  const BitLayoutFamily family{layout.order(), {}, {}, layout.compute()};
  const std::string text = Kernel(DTypeName(type), DTypeName(compute), ToString(family), form);
  // It has no instruction that casts codes of any type.
  const auto kernel = Compile(MakeProgram(text), Target::kSm80);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message << "\n" << text;
  const std::string& ptx = kernel->ptx;
  EXPECT_EQ(Occurrences(ptx, "lop3.b32"), Steps(recipe, RecipeOp::kLop3)) << text;
  EXPECT_EQ(Occurrences(ptx, "shf.r.wrap.b32"), Steps(recipe, RecipeOp::kTurn)) << text;
  EXPECT_EQ(Occurrences(ptx, "prmt.b32"), Steps(recipe, RecipeOp::kPermute)) << text;
  EXPECT_EQ(Occurrences(ptx, "fma.rn." + std::string(DTypeName(compute)) + "x2"),
            Steps(recipe, RecipeOp::kFma))
      << text;
  // No other code extracts codes from words: halves of registers are stored directly.
  EXPECT_EQ(Occurrences(ptx, "and.b16"), 0) << text;
}

// Newer targets cast two codes of the OCP's floats at once: 1,024 codes of 32 threads.
TEST(RecipeEmit, PairsWhereTheTargetCastsThem) {
  for (const char* const bits : {"contiguous", "lanes(f16)"}) {
    const std::string text = Kernel("f8e5m2", "f16", bits, RecipeForm::kCast);
    for (const Target target : {Target::kSm89, Target::kSm90a}) {
      const auto kernel = Compile(MakeProgram(text), target);
      ASSERT_TRUE(kernel.ok()) << kernel.error().message << "\n" << text;
      EXPECT_EQ(Occurrences(kernel->ptx, "cvt.rn.f16x2.e5m2x2"), 16) << bits;
      EXPECT_EQ(Occurrences(kernel->ptx, "lop3.b32"), 0) << bits;
    }
  }
}

TEST(RecipeEmit, LanesOfEveryWidth) {
  for (const DType type : {kU1, kI2, kU3, kI4, kU5, kI6, kU7, kU8, kI8, kF3E1M1, kF4E2M1, kF6E3M2,
                           kF8E4M3FN, kF8E5M2}) {
    for (const DType compute : {kF16, kBF16}) {
      for (const RecipeForm form : kForms) {
        ExpectRecipe(type, compute, *BitLayout::Lanes(type, 32, compute), form);
      }
    }
  }
}

TEST(RecipeEmit, ContiguousCodesThatComeAsWords) {
  for (const DType type : {kU1, kI3, kU4, kU8, kF5E2M2}) {
    for (const RecipeForm form : kForms) {
      ExpectRecipe(type, kF16, *BitLayout::Contiguous(type, 32), form);
    }
  }
}

}  // namespace
}  // namespace tarsia::compiler::recipe_emit_test
