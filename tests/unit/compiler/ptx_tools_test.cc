// The readers of the output of ptxas and nvdisasm, and finding the programs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/sass.h"
#include "compiler/assemble/tools.h"
#include "compiler/target.h"

namespace tarsia::compiler::ptx_tools_test {
namespace {

TEST(PtxasLog, GivesResourcesByKernel) {
  Assembled out;
  ParsePtxasLog(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
      "ptxas info    : Function properties for first\n"
      "    16 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, "
      "4096 bytes smem, 380 bytes cmem[0]\n"
      "ptxas info    : Compile time = 2.370 ms\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
      "ptxas info    : Function properties for second\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers, used 0 barriers\n",
      out);
  ASSERT_EQ(out.kernels.size(), 2U);
  const KernelResources* first = out.Find("first");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->registers, 40);
  EXPECT_EQ(first->stack_bytes, 16);
  EXPECT_EQ(first->spill_store_bytes, 24);
  EXPECT_EQ(first->spill_load_bytes, 28);
  EXPECT_EQ(first->shared_bytes, 4096);
  EXPECT_EQ(first->barriers, 1);
  EXPECT_EQ(out.kernels[1].registers, 8);
  EXPECT_EQ(out.kernels[1].shared_bytes, 0);
  EXPECT_EQ(out.Find("third"), nullptr);
  EXPECT_TRUE(out.warnings.empty());
}

TEST(PtxasLog, KeepsWarnings) {
  Assembled out;
  ParsePtxasLog(
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to "
      "determine register count at entry.\n"
      "ptxas warning : Value of threads per SM for entry k is out of range.\n",
      out);
  EXPECT_EQ(out.warnings.size(), 2U);
}

TEST(PtxasLog, TakesCalledFunctionsForWhatTheyAre) {
  Assembled out;
  ParsePtxasLog(
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Function properties for k\n"
      "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Function properties for helper\n"
      "    64 bytes stack frame, 32 bytes spill stores, 32 bytes spill loads\n"
      "ptxas info    : Used 20 registers, used 0 barriers\n",
      out);
  ASSERT_EQ(out.kernels.size(), 1U);
  EXPECT_EQ(out.kernels[0].stack_bytes, 8);
  EXPECT_EQ(out.kernels[0].spill_store_bytes, 0);
  EXPECT_EQ(out.kernels[0].registers, 20);
}

TEST(JoinPtx, KeepsOneHeader) {
  const std::string header = "// made\n.version 8.0\n.target sm_80\n.address_size 64\n";
  EXPECT_EQ(JoinPtx({header + "first\n", header + "second\n"}), header + "first\nsecond\n");
}

constexpr char kSass[] =
    "\t.target\tsm_90a\n"
    "//--------------------- .text.k                   --------------------------\n"
    "\t.section\t.text.k,\"ax\",@progbits\n"
    "\t.sectioninfo\t@\"SHI_REGISTERS=8\"\n"
    "        .type           k,@function\n"
    "k:\n"
    ".text.k:\n"
    "\t//## File \"a.tsa\", line 7\n"
    "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
    ".L_x_0:\n"
    "        /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64] ;\n"
    "\t//## File \"a.tsa\", line 9\n"
    "        /*0020*/                   HMMA.16816.F32 R8, R4, R6, R8 ;\n"
    "        /*0030*/              @!P0 BRA `(.L_x_0) ;\n"
    "        /*0040*/                   EXIT ;\n"
    ".L_x_1:\n"
    "        /*0050*/                   BRA `(.L_x_1);\n"
    "        /*0060*/                   NOP;\n"
    "\t.section\t.nv.shared.k,\"aw\",@nobits\n"
    "        /*0070*/                   HMMA.16816.F32 R8, R4, R6, R8 ;\n";

TEST(Sass, ReadsInstructionsLabelsAndLines) {
  const std::vector<SassKernel> kernels = ParseSass(kSass);
  ASSERT_EQ(kernels.size(), 1U);
  const SassKernel& k = kernels[0];
  EXPECT_EQ(k.name, "k");
  ASSERT_EQ(k.instructions.size(), 5U);  // without the padding
  EXPECT_EQ(k.instructions[1].opcode, "LDG.E.128");
  EXPECT_EQ(k.instructions[1].operands, "R4, desc[UR4][R2.64]");
  EXPECT_EQ(k.instructions[1].address, 0x10U);
  EXPECT_EQ(k.instructions[1].line, 7U);
  EXPECT_EQ(k.instructions[2].line, 9U);
  EXPECT_EQ(k.instructions[3].guard, "@!P0");
  EXPECT_EQ(k.instructions[3].opcode, "BRA");
  ASSERT_EQ(k.labels.size(), 1U);
  EXPECT_EQ(k.labels[0].name, ".L_x_0");
  EXPECT_EQ(k.labels[0].instruction, 1U);
  EXPECT_EQ(k.Count(SassClass::kTensor), 1U);
  EXPECT_EQ(k.Count(SassClass::kBranch), 2U);
  EXPECT_EQ(k.CountOpcode("LDG.E"), 1U);
  EXPECT_EQ(k.Counts()[static_cast<size_t>(SassClass::kLoadGlobal)], 1U);
}

TEST(Sass, FindsTheMainLoop) {
  const std::vector<SassKernel> kernels = ParseSass(kSass);
  ASSERT_EQ(kernels.size(), 1U);
  const auto loop = kernels[0].MainLoop();  // from the load to the branch
  ASSERT_EQ(loop.size(), 3U);
  EXPECT_EQ(loop[0].opcode, "LDG.E.128");
  const auto counts = CountClasses(loop);
  EXPECT_EQ(counts[static_cast<size_t>(SassClass::kTensor)], 1U);
  EXPECT_EQ(counts[static_cast<size_t>(SassClass::kLoadGlobal)], 1U);
  EXPECT_EQ(counts[static_cast<size_t>(SassClass::kBranch)], 1U);
  // Around it another loop, and beside it a longer one without tensor instructions.
  SassKernel nested = kernels[0];
  nested.labels = {{"outer", 0}, {"inner", 1}, {"other", 3}};
  nested.instructions[2].opcode = "BRA";
  nested.instructions[2].operands = "`(inner)";
  nested.instructions[1].opcode = "HMMA.16816.F32";
  nested.instructions[1].sass_class = SassClass::kTensor;
  nested.instructions[3].operands = "`(outer)";
  EXPECT_EQ(nested.MainLoop().size(), 2U);
  EXPECT_TRUE(SassKernel().MainLoop().empty());
  EXPECT_EQ(MixText(SassKernel()),
            "class            main loop       all\n"
            "sum                      0         0\n");
  const std::string mix = MixText(kernels[0]);
  EXPECT_NE(mix.find("tensor                   1         1\n"), std::string::npos) << mix;
}

TEST(Sass, KnowsClassesByTheStem) {
  EXPECT_EQ(ClassOf("HGMMA.64x256x16.F32"), SassClass::kTensor);
  EXPECT_EQ(ClassOf("LOP3.LUT"), SassClass::kLogic);
  EXPECT_EQ(ClassOf("LOP3X"), SassClass::kOther);
  EXPECT_EQ(SassClassName(SassClass::kTensor), "tensor");
}

TEST(Tools, AMissingOneSaysWhatToDo) {
  setenv("TARSIA_PTXAS", "/nowhere/ptxas", 1);
  const auto tool = FindTool(Tool::kPtxas);
  unsetenv("TARSIA_PTXAS");
  ASSERT_FALSE(tool.ok());
  EXPECT_EQ(tool.error().message,
            "ptxas is not found; searched TARSIA_PTXAS=/nowhere/ptxas; install the CUDA toolkit "
            "or the Python wheel nvidia-cuda-nvcc, or set TARSIA_PTXAS to its path");
}

TEST(Targets, AreFoundByName) {
  const auto target = FindTarget("sm_90a");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(*target, Target::kSm90a);
  const auto unknown = FindTarget("sm_90");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message,
            "`sm_90` is not a target; the targets are sm_80, sm_89, sm_90a");
}

}  // namespace
}  // namespace tarsia::compiler::ptx_tools_test
