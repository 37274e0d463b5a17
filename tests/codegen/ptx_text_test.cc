// PTX text besides instructions: names and lines for readers.
#include <gtest/gtest.h>

#include <string>

#include "compiler/compile.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

compiler::CompiledKernel Compiled(const compiler::CompileOptions& options) {
  const Made made = MakeProgram(ReadExample("matmul.tsa"), "", {{"K", "64"}, {"N", "64"}});
  EXPECT_TRUE(made.program) << made.error;
  auto kernel = compiler::Compile(*made.program, compiler::Target::kSm89, options);
  EXPECT_TRUE(kernel.ok());
  return *std::move(kernel);
}

TEST(PtxText, NamesTheKernelAndTheLines) {
  const compiler::CompiledKernel kernel = Compiled({});
  EXPECT_NE(kernel.ptx.find(".visible .entry matmul("), std::string::npos);
  EXPECT_NE(kernel.ptx.find("\t.loc\t1 33 "), std::string::npos) << "the line of `dot`";
  EXPECT_NE(kernel.ptx.find("matmul.tsa\""), std::string::npos);
  EXPECT_EQ(kernel.ptx.find(".target sm_89, debug"), std::string::npos);
  EXPECT_EQ(kernel.llvm_ir, "");
}

// Loads of whole packed tiles keep the cache hint, as do those of rows.
TEST(PtxText, LoadsKeepTheirCacheHints) {
  const char* const text = R"(
kernel k(%x: ptr<u8>, %y: ptr<f16>)
  const PACK: memlayout
  warps 1
{
  %gx = view %x : global<u4>[64, 16] PACK
  %gy = view %y : global<f16>[64, 16]
  %t = load %gx[0, 0] cache evict_first : [64, 16]
  %h = cast %t : f16
  store %gy[0, 0], %h
}
)";
  for (const char* const pack :
       {"row_major", "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"}) {
    const Made made = MakeProgram(SourceFile("k.tsa", text), "", {{"PACK", pack}});
    ASSERT_TRUE(made.program) << made.error;
    const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_NE(kernel->ptx.find("ld.global.L1::evict_first."), std::string::npos) << pack;
  }
}

// A kernel whose code changes values in a loop, in both branches and in the code of single
// instructions: an atomic operation, codes that share words of memory that may end within a word.
TEST(PtxText, ValuesAreNotInMemory) {
  const char* const text = R"(
kernel k(%x: ptr<f32>, %y: ptr<u8>, %n: i32)
  warps 1
{
  %gx = view %x : global<f32>[%n]
  %gy = view %y : global<u3>[%n]
  %sum = fill 0.0 : reg<f32>[64]
  %turns = mov 0 : i32
  for %i = 0 to %n {
    %a = load %gx[%i] : [64]
    if %turns < 4 {
      %sum = add %sum, %a
    } else {
      %sum = sub %sum, %a
    }
    %turns = mov %turns + 1
  }
  %old = atomic.add %gx[0], %sum
  %codes = cast %old : u3
  store %gy[0], %codes
}
)";
  const Made made = MakeProgram(SourceFile("k.tsa", text), "", {});
  ASSERT_TRUE(made.program) << made.error;
  compiler::CompileOptions options;
  options.keep_llvm_ir = true;
  const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80, options);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_NE(kernel->llvm_ir.find(" phi float "), std::string::npos);
  EXPECT_EQ(kernel->llvm_ir.find("alloca"), std::string::npos);
}

TEST(PtxText, OptionsDecideWhatElseIsThere) {
  compiler::CompileOptions options;
  options.line_info = false;
  options.keep_llvm_ir = true;
  const compiler::CompiledKernel kernel = Compiled(options);
  EXPECT_EQ(kernel.ptx.find(".loc"), std::string::npos);
  EXPECT_NE(kernel.llvm_ir.find("define void @matmul("), std::string::npos);
}

}  // namespace
}  // namespace tarsia::harness
