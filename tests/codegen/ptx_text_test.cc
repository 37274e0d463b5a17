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
