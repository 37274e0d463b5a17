// The cost of the machine code of the matmul, to detect changes that make it worse. Needs the
// pinned ptxas and nvdisasm.
#include <gtest/gtest.h>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/sass.h"
#include "compiler/assemble/tools.h"
#include "compiler/compile.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

using compiler::SassClass;

TEST(Cost, LoopOfTheMatmul) {
  for (const auto tool : {compiler::Tool::kPtxas, compiler::Tool::kNvdisasm}) {
    const auto found = compiler::FindTool(tool);
    if (!found.ok()) GTEST_SKIP() << found.error().message;
  }
  const Made made = MakeProgram(ReadExample("matmul.tsa"), "", {{"K", "4096"}, {"N", "4096"}});
  ASSERT_TRUE(made.program) << made.error;
  const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm90a);
  ASSERT_TRUE(kernel.ok());
  const auto assembled = compiler::Assemble(kernel->ptx, compiler::Target::kSm90a);
  ASSERT_TRUE(assembled.ok());
  EXPECT_EQ(assembled->kernels[0].spill_store_bytes, 0);
  const auto sass = compiler::Disassemble(assembled->cubin);
  ASSERT_TRUE(sass.ok());
  const auto loop = sass->front().MainLoop();
  const auto counts = compiler::CountClasses(loop);
  // 16 x 128 by 64 per iteration in products of 16 x 8 x 16: 4 warps share the 16 along n, 4 each
  // along k.
  EXPECT_EQ(counts[static_cast<size_t>(SassClass::kTensor)], 16U);
  EXPECT_LE(loop.size(), 600U);  // 580 when this was written
}

}  // namespace
}  // namespace tarsia::harness
