// Addresses that loops move on: LLVM IR in, LLVM IR out.
#include "compiler/llvm/reduce_addresses.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/compiler/run_pass.h"

namespace tarsia::compiler::reduce_addresses_test {
namespace {

std::string Reduced(const std::string& text) { return RunPass(ReduceAddressesPass(), text); }

// A loop over i with this body.
std::string Loop(const std::string& body) {
  return "define void @f(i64 %p, i64 %q, i64 %n) {\nentry:\n  br label %loop\nloop:\n"
         "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n" +
         body +
         "  %next = add i64 %i, 1\n  %again = icmp ult i64 %next, %n\n"
         "  br i1 %again, label %loop, label %end\nend:\n  ret void\n}";
}

// p + 256 i and p + 256 i + 64 are 64 apart.
TEST(ReduceAddresses, SharesARegisterAmongThoseThatDifferByConstants) {
  EXPECT_EQ(Reduced(Loop(R"(  %by = shl i64 %i, 8
  %a = add i64 %p, %by
  %b = add i64 %a, 64
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %b)
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %a)
)")),
            R"(
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  %0 = phi i64 [ %p, %entry ], [ %2, %loop ]
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %1 = add i64 %0, 64
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %1)
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %0)
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, %n
  %2 = add i64 %0, 256
  br i1 %again, label %loop, label %end

end:                                              ; preds = %loop
  ret void
)");
}

// The offset of `cp.async` begins at -2048: from the first address, it would not reach the last.
TEST(ReduceAddresses, BeginsInTheMiddleOfWhatOffsetsReach) {
  const std::string out = Reduced(Loop(R"(  %a = add i64 %p, %i
  %b = add i64 %a, 4095
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %a)
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %b)
)"));
  EXPECT_NE(out.find("entry:\n  %0 = add i64 %p, 2048\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  %2 = add i64 %1, -2048\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  %3 = add i64 %1, 2047\n"), std::string::npos) << out;
}

size_t Phis(const std::string& text) { return CountOf(text, " = phi "); }

TEST(ReduceAddresses, TakesARegisterForEachBaseAndStep) {
  EXPECT_EQ(Phis(Reduced(Loop(R"(  %two = shl i64 %i, 1
  %a = add i64 %p, %i
  %b = add i64 %q, %i
  %c = add i64 %q, %two
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %a)
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %b)
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %c)
)"))),
            4u);
}

TEST(ReduceAddresses, LeavesWhatIsNotAffine) {
  const std::string text = Loop(R"(  %square = mul i64 %i, %i
  %a = add i64 %p, %square
  %b = add i64 %p, %q
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %a)
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %b)
  call void asm sideeffect "prefetch.global.L2 [$0];", "l"(i64 %i)
)");
  EXPECT_EQ(Phis(Reduced(text)), 1u);
  EXPECT_NE(Reduced(text).find("%square = mul i64 %i, %i"), std::string::npos);
}

}  // namespace
}  // namespace tarsia::compiler::reduce_addresses_test
