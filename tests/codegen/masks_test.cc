// Masks of accesses: none where the accesses are proven to lie inside.
#include <gtest/gtest.h>

#include <string>

#include "compiler/compile.h"
#include "tests/harness/program.h"

namespace tarsia::harness::masks_test {
namespace {

// How often a word begins an instruction, under a predicate or not.
int Count(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// y[i] = x[i] in tiles of 1024 by 128 threads.
std::string Copy(const std::string& head) {
  const std::string text =
      "kernel copy(%x: ptr<f32>, %y: ptr<f32>, %m: i32)\n"
      "  assume %x align 16\n"
      "  assume %y align 16\n" +
      head +
      "{\n"
      "  %gx = view %x : global<f32>[%m]\n"
      "  %gy = view %y : global<f32>[%m]\n"
      "  %b = block.x\n"
      "  %t = load %gx[%b * 1024] : [1024]\n"
      "  store %gy[%b * 1024], %t\n"
      "}\n";
  const Made made = MakeProgram(SourceFile("test.tsa", text), "", {});
  EXPECT_TRUE(made.program) << made.error;
  auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80);
  EXPECT_TRUE(kernel.ok());
  return kernel->ptx;
}

// Each thread moves 8 elements in two accesses of 16 bytes each way, which is the fewest.
TEST(Masks, AreGoneWhereTilesAreWhole) {
  for (const char* head : {"  assume %m % 1024 == 0\n  grid (ceildiv(%m, 1024))\n",
                           "  assume %m % 1024 == 0\n  grid (%m / 1024)\n"}) {
    const std::string ptx = Copy(head);
    EXPECT_EQ(Count(ptx, "setp."), 0) << ptx;
    EXPECT_EQ(Count(ptx, "\t@"), 0) << ptx;
    EXPECT_EQ(Count(ptx, "ld.global.nc.v4"), 2) << ptx;
    EXPECT_EQ(Count(ptx, "st.global.v4"), 2) << ptx;
  }
}

TEST(Masks, StayWhereTilesMayEndEarly) {
  for (const char* head :
       {"  grid (ceildiv(%m, 1024))\n", "  assume %m % 512 == 0\n  grid (ceildiv(%m, 1024))\n",
        "  assume %m % 1024 == 0\n  grid (ceildiv(%m, 1024) + 1)\n"}) {
    EXPECT_GT(Count(Copy(head), "setp."), 0) << head;
  }
}

}  // namespace
}  // namespace tarsia::harness::masks_test
