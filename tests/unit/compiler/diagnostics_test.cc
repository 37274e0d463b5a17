// Diagnostics of the compiler that no program text can cause (the others: tests/invalid).
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstdlib>
#include <string>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/process.h"
#include "compiler/assemble/tools.h"
#include "compiler/compile.h"
#include "compiler/llvm/backend.h"
#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::diagnostics_test {
namespace {

TEST(Diagnostics, UnknownTarget) {
  const auto target = FindTarget("sm_70");
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(
      Render(target.error(), SourceFile("", "")),
      "error: `sm_70` is not a target; the targets are sm_80, sm_89, sm_90a [unknown-target]\n"
      "  help: PTX for sm_80 or sm_89 also runs on newer GPUs, whose driver compiles it; "
      "PTX for sm_90a runs on Hopper only\n");
}

TEST(Diagnostics, TooManyReports) {
  std::string text = "kernel k(%n: i32)\n{\n";
  for (int i = 0; i <= 1 << 16; ++i) text += "assert %n > 0, \"\"\n";
  const auto kernel = Compile(MakeProgram(text + "}\n"), Target::kSm80);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().message, "the kernel has more than 65536 instructions that can report");
  EXPECT_EQ(kernel.error().location.line, (1 << 16) + 3);
}

TEST(Diagnostics, LlvmInvalidModule) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto* f = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "f", module);
  llvm::BasicBlock::Create(context, "entry", f);
  const auto ptx = EmitPtx(module, Target::kSm80);
  ASSERT_FALSE(ptx.ok());
  EXPECT_EQ(ptx.error().message,
            "the code generator made an invalid module:\nBasic Block in function 'f' does not have "
            "terminator!\nlabel %entry\n");
  EXPECT_STREQ(ptx.error().info->help, "this is a fault of Tarsia; please report it");
}

TEST(Diagnostics, LlvmFailed) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  auto* f = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "f", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", f));
  auto* code = llvm::FunctionType::get(b.getInt32Ty(), false);
  b.CreateCall(code, llvm::InlineAsm::get(code, "", "=x", true));
  b.CreateRetVoid();
  const auto ptx = EmitPtx(module, Target::kSm89);
  ASSERT_FALSE(ptx.ok());
  EXPECT_EQ(ptx.error().message,
            "LLVM cannot make code for sm_89:\ncouldn't allocate output register for constraint "
            "'x'");
}

TEST(Diagnostics, ToolFailed) {
  const auto run = RunProcess("/nowhere/program", {});
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().message, "/nowhere/program failed: No such file or directory");
}

TEST(Diagnostics, ScratchFile) {
  const char* const before = std::getenv("TMPDIR");
  const std::string folder = before != nullptr ? before : "";
  setenv("TMPDIR", "/nowhere", 1);
  const auto file = ScratchFile::Make(".ptx", "text");
  if (before != nullptr) {
    setenv("TMPDIR", folder.c_str(), 1);
  } else {
    unsetenv("TMPDIR");
  }
  ASSERT_FALSE(file.ok());
  const std::string& said = file.error().message;
  EXPECT_TRUE(said.starts_with("cannot make the scratch file /nowhere/tarsia-")) << said;
  EXPECT_TRUE(said.ends_with(".ptx: No such file or directory")) << said;
}

TEST(Diagnostics, AssembleFailed) {
  if (!FindTool(Tool::kPtxas).ok()) GTEST_SKIP() << "no ptxas";
  const auto assembled =
      Assemble(".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n", Target::kSm80);
  ASSERT_FALSE(assembled.ok());
  EXPECT_TRUE(assembled.error().message.starts_with("ptxas refuses the code:\nptxas "));
}

}  // namespace
}  // namespace tarsia::compiler::diagnostics_test
