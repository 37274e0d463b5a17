// Statements of assembly that become one: LLVM IR in, LLVM IR out.
#include <gtest/gtest.h>

#include <string>

#include "compiler/llvm/merge_assembly.h"
#include "tests/unit/compiler/run_pass.h"

namespace tarsia::compiler::merge_assembly_test {
namespace {

std::string Merged(const std::string& text) { return RunPass(MergeAssemblyPass(), text); }

// %b stays inside, and %a is needed once more. Arguments that are the same are one.
TEST(MergeAssembly, MakesOneStatementWithRegistersOfItsOwn) {
  EXPECT_EQ(
      Merged(R"(define i32 @f(i32 %x, i32 %y) {
  %a = call i32 asm "add.s32 $0, $1, $2;", "=r,r,r"(i32 %x, i32 %y) #0
  %b = call i32 asm "mul.lo.s32 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %x) #0
  %c = call i32 asm "sub.s32 $0, $1, $2;", "=r,r,r"(i32 %b, i32 %y) #0
  %d = xor i32 %a, %c
  ret i32 %d
}
attributes #0 = { memory(none) })"),
      R"(
  %1 = call { i32, i32 } asm "{\0A\09.reg .b32 %mr<1>;\0A\09add.s32 $0, $2, $3;\0A\09)"
      R"(mul.lo.s32 %mr0, $0, $2;\0A\09sub.s32 $1, %mr0, $3;\0A\09}", "=&r,=&r,r,r"(i32 %x, i32 %y) #0
  %2 = extractvalue { i32, i32 } %1, 0
  %3 = extractvalue { i32, i32 } %1, 1
  %d = xor i32 %2, %3
  ret i32 %d
)");
}

TEST(MergeAssembly, TakesSeveralResultsApartWhereverThatStands) {
  EXPECT_EQ(Merged(R"(define void @f(i64 %p, i1 %again) {
entry:
  %a = call { float, float } asm sideeffect "ld.v2.f32 {$0, $1}, [$2];", "=f,=f,l,~{memory}"(i64 %p)
  %x = extractvalue { float, float } %a, 0
  call void asm sideeffect "st.f32 [$0], $1;", "l,f,~{memory}"(i64 %p, float %x)
  br i1 %again, label %more, label %end
more:
  %y = extractvalue { float, float } %a, 1
  call void asm sideeffect "st.f32 [$0+4], $1;", "l,f,~{memory}"(i64 %p, float %y)
  br label %end
end:
  ret void
})"),
            R"(
entry:
  %0 = call float asm sideeffect "{\0A\09.reg .f32 %mf<1>;\0A\09ld.v2.f32 {%mf0, $0}, [$1];\0A\09)"
            R"(st.f32 [$1], %mf0;\0A\09}", "=&f,l,~{memory}"(i64 %p) #0
  br i1 %again, label %more, label %end

more:                                             ; preds = %entry
  call void asm sideeffect "st.f32 [$0+4], $1;", "l,f,~{memory}"(i64 %p, float %0)
  br label %end

end:                                              ; preds = %more, %entry
  ret void
)");
}

// The number of statements of a function.
size_t Count(const std::string& ir) { return CountOf(ir, " asm "); }

TEST(MergeAssembly, PassesMemoryOnlyWithStatementsWithoutEffects) {
  const auto around = [](const std::string& effects, const std::string& attributes) {
    const std::string call = "call i32 asm " + effects + " \"mov.b32 $0, $1;\", \"=r,r\"";
    return Count(Merged("define i32 @f(i32 %x, ptr addrspace(1) %p) {\n  %a = " + call +
                        "(i32 %x) " + attributes + "\n  store i32 0, ptr addrspace(1) %p\n  %b = " +
                        call + "(i32 %a) " + attributes + "\n  ret i32 %b\n}\n"));
  };
  EXPECT_EQ(around("", "memory(none)"), 1U);
  EXPECT_EQ(around("", ""), 2U);
  EXPECT_EQ(around("sideeffect", "memory(none)"), 2U);
}

// What the first statement makes, an instruction in between needs.
TEST(MergeAssembly, EndsWhereAnInstructionNeedsAResult) {
  EXPECT_EQ(Count(Merged(R"(define i32 @f(i32 %x) {
  %a = call i32 asm "abs.s32 $0, $1;", "=r,r"(i32 %x) #0
  %b = add i32 %a, 1
  %c = call i32 asm "neg.s32 $0, $1;", "=r,r"(i32 %b) #0
  ret i32 %c
}
attributes #0 = { memory(none) })")),
            2U);
}

// The second statement makes what the turn before has handed to the first: they stay apart, so that
// one register does for both. Without the loop they are one.
TEST(MergeAssembly, KeepsTheNewValueOfALoopApartFromTheOldOne) {
  const auto body = [](const std::string& argument) {
    return Count(Merged(R"(define i32 @f(i32 %n) {
entry:
  br label %loop
loop:
  %old = phi i32 [ 0, %entry ], [ %new, %loop ]
  %a = call i32 asm "abs.s32 $0, $1;", "=r,r"(i32 )" +
                        argument + R"() #0
  %new = call i32 asm "neg.s32 $0, $1;", "=r,r"(i32 %a) #0
  %more = icmp ult i32 %new, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 %old
}
attributes #0 = { memory(none) })"));
  };
  EXPECT_EQ(body("%old"), 2U);
  EXPECT_EQ(body("%n"), 1U);
}

TEST(MergeAssembly, KeepsPredicatesAndOtherRegisterClassesApart) {
  EXPECT_EQ(Count(Merged(R"(define void @f(i1 %p, i64 %x) {
  call void asm sideeffect "@$0 st.u32 [$1], 0;", "b,l,~{memory}"(i1 %p, i64 %x)
  call void asm sideeffect "@$0 st.u32 [$1+4], 0;", "b,l,~{memory}"(i1 %p, i64 %x)
  ret void
})")),
            2U);
  EXPECT_EQ(Count(Merged(R"(define i16 @f(i16 %x) {
  %a = call i16 asm "abs.s16 $0, $1;", "=h,h"(i16 %x) #0
  %b = call i16 asm "cvt.s16.s32 $0, $1;", "=h,r"(i16 %a) #0
  ret i16 %b
}
attributes #0 = { memory(none) })")),
            2U);
}

// Text that only LLVM can finish stays as it is; `$$` is a dollar.
TEST(MergeAssembly, LeavesTextThatItDoesNotUnderstand) {
  const auto second = [](const std::string& text, const std::string& constraints) {
    return Count(
        Merged("define void @f(i64 %x) {\n"
               "  call void asm sideeffect \"membar.gl;\", \"~{memory}\"()\n"
               "  call void asm sideeffect \"" +
               text + "\", \"" + constraints + ",~{memory}\"(i64 %x)\n  ret void\n}\n"));
  };
  EXPECT_EQ(second("$$here: prefetch.global.L2 [$0];", "l"), 1U);
  EXPECT_EQ(second("l${:uid}: prefetch.global.L2 [$0];", "l"), 2U);
  EXPECT_EQ(second("prefetch.global.L2 [$0];", "X"), 2U);
}

TEST(MergeAssembly, SaysTheLineOfEachInstruction) {
  const std::string merged = Merged(R"(define void @f() !dbg !3 {
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #0, !dbg !4
  call void asm sideeffect "bar.sync 1;", "~{memory}"() #0, !dbg !4
  call void asm sideeffect "bar.sync 2;", "~{memory}"() #0, !dbg !5
  ret void
}
attributes #0 = { convergent }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!6}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "a.tsa", directory: "")
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "f", file: !1, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 3, column: 5, scope: !3)
!5 = !DILocation(line: 4, column: 7, scope: !3)
!6 = !{i32 2, !"Debug Info Version", i32 3})");
  EXPECT_EQ(merged, R"(
  call void asm sideeffect "{\0A\09.loc\091 3 5\0A\09bar.sync 0;\0A\09bar.sync 1;\0A\09)"
                    R"(.loc\091 4 7\0A\09bar.sync 2;\0A\09}", "~{memory}"() #0, !dbg !6
  ret void
)");
}

}  // namespace
}  // namespace tarsia::compiler::merge_assembly_test
