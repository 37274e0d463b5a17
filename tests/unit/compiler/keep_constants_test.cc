// Constant operands of products that become registers: LLVM IR in, LLVM IR out.
#include "compiler/llvm/keep_constants.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/compiler/run_pass.h"

namespace tarsia::compiler::keep_constants_test {
namespace {

std::string Kept(const std::string& text) { return RunPass(KeepConstantsPass(), text); }

// A product with these constants for its operand a.
std::string Product(const std::string& name, int first) {
  return fmt::format(
      "  %{} = call {{ float, float, float, float }} asm \"mma.sync.aligned {{$0, $1, $2, $3}}, "
      "{{$4, $5, $6, $7}}, {{$8, $9}}, {{$10, $11, $12, $13}};\", "
      "\"=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f\"(i32 {}, i32 {}, i32 {}, i32 {}, i32 %x, i32 7, "
      "float 0.0, float 0.0, float 0.0, float 0.0)\n",
      name, first, first, first + 1, first + 1);
}

std::string InLoop(const std::string& products) {
  return "define void @f(i32 %x, i1 %again) {\nentry:\n  br label %loop\nloop:\n" + products +
         "  br i1 %again, label %loop, label %end\nend:\n  ret void\n}";
}

// Equal constants, too, get registers that differ as far as ptxas knows.
TEST(KeepConstants, MakesRegistersBeforeALoop) {
  EXPECT_EQ(Kept(InLoop(Product("a", 50))),
            R"(
entry:
  %0 = call i32 asm "mov.u32 $0, %nctaid.z;", "=r"() #0
  %1 = ashr i32 %0, 31
  %2 = and i32 %1, 1
  %3 = xor i32 %2, 50
  %4 = and i32 %1, 2
  %5 = xor i32 %4, 50
  %6 = and i32 %1, 3
  %7 = xor i32 %6, 51
  %8 = and i32 %1, 4
  %9 = xor i32 %8, 51
  br label %loop

loop:                                             ; preds = %loop, %entry
  %a = call { float, float, float, float } asm "mma.sync.aligned {$0, $1, $2, $3}, )"
            R"({$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};", )"
            R"("=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"()"
            R"(i32 %3, i32 %5, i32 %7, i32 %9, i32 %x, i32 7, )"
            R"(float 0.000000e+00, float 0.000000e+00, )"
            R"(float 0.000000e+00, float 0.000000e+00)
  br i1 %again, label %loop, label %end

end:                                              ; preds = %loop
  ret void
)");
}

TEST(KeepConstants, LeavesProductsThatNoLoopRepeats) {
  const std::string once = "define void @f(i32 %x) {\n" + Product("a", 50) + "  ret void\n}";
  EXPECT_EQ(CountOf(Kept(once), "i32 50, i32 50, i32 51, i32 51"), 1U);
  EXPECT_EQ(CountOf(Kept(once), "nctaid"), 0U);
}

// Four operands of four registers. The one that fewer products use than any other stays as it is.
TEST(KeepConstants, TakesThoseThatMostProductsUse) {
  std::string products;
  int number = 0;
  for (const int first : {100, 200, 300, 400, 500}) {
    for (int i = 0; i < (first == 200 ? 1 : 2); ++i) {
      products += Product("p" + std::to_string(number++), first);
    }
  }
  const std::string out = Kept(InLoop(products));
  EXPECT_EQ(CountOf(out, " = and i32 "), 16U);
  EXPECT_EQ(CountOf(out, "(i32 200, i32 200, i32 201, i32 201,"), 1U);
  for (const int first : {100, 300, 400, 500}) {
    SCOPED_TRACE(first);
    EXPECT_EQ(CountOf(out, fmt::format("(i32 {}, ", first)), 0U);
    EXPECT_EQ(CountOf(out, fmt::format(", {}\n", first)), 2U);
  }
}

TEST(KeepConstants, LeavesOperandsWithAnotherValue) {
  std::string product = Product("a", 50);
  product.replace(product.find("i32 51"), 6, "i32 %x");
  EXPECT_EQ(CountOf(Kept(InLoop(product)), "nctaid"), 0U);
}

}  // namespace
}  // namespace tarsia::compiler::keep_constants_test
