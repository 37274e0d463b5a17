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

// p + q + 32 and p + q + 80, which are 48 apart; q + 4 is alone.
TEST(ReduceAddresses, SharesARegisterAmongPlacesThatNoLoopChanges) {
  EXPECT_EQ(Reduced(R"(define void @f(i32 %p, i32 %q, i1 %again) {
entry:
  br label %loop
loop:
  %a = add i32 %p, %q
  %b = add i32 %q, 80
  %c = add i32 %b, %p
  %d = add i32 %a, 32
  %e = add i32 %q, 4
  call void asm sideeffect "ld $0;", "r"(i32 %c)
  call void asm sideeffect "ld $0;", "r"(i32 %d)
  call void asm sideeffect "ld $0;", "r"(i32 %e)
  br i1 %again, label %loop, label %end
end:
  ret void
})"),
            R"(
entry:
  %0 = add i32 %q, %p
  %1 = add i32 %0, 32
  br label %loop

loop:                                             ; preds = %loop, %entry
  %e = add i32 %q, 4
  %2 = add i32 %1, 48
  call void asm sideeffect "ld $0;", "r"(i32 %2)
  call void asm sideeffect "ld $0;", "r"(i32 %1)
  call void asm sideeffect "ld $0;", "r"(i32 %e)
  br i1 %again, label %loop, label %end

end:                                              ; preds = %loop
  ret void
)");
}

}  // namespace
}  // namespace tarsia::compiler::reduce_addresses_test
