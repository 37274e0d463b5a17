// Copies of tiles through registers: accesses of 16 bytes for every type. Needs the pinned ptxas
// and nvdisasm.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/sass.h"
#include "compiler/assemble/tools.h"
#include "compiler/compile.h"
#include "support/diagnostic.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

// A thread copies 2 * ROWS elements. The last rows may not exist.
constexpr char kCopy[] = R"(kernel copy(%x: ptr<u8>, %y: ptr<u8>, %rows: i32)
  const T: dtype
  const ROWS: int
  grid (ceildiv(%rows, ROWS), 2)
{
  %bx = block.x
  %by = block.y
  %gx = view %x : global<T>[%rows, 512]
  %gy = view %y : global<T>[%rows, 512]
  %t = load %gx[%bx * ROWS, %by * 256] : [ROWS, 256]
  store %gy[%bx * ROWS, %by * 256], %t
}
)";

class Copies : public testing::TestWithParam<DTypeRow> {};

TEST_P(Copies, AreAccessesOf16Bytes) {
  for (const auto tool : {compiler::Tool::kPtxas, compiler::Tool::kNvdisasm}) {
    const auto found = compiler::FindTool(tool);
    if (!found.ok()) GTEST_SKIP() << found.error().message;
  }
  const DType type = GetParam().type;
  // As many as registers hold, and 16 bytes at least of any type.
  const size_t elements = type.bits < 64 ? 128 : 32;
  const Made made =
      MakeProgram(SourceFile("copy.tsa", kCopy), "",
                  {{"T", std::string(DTypeName(type))}, {"ROWS", std::to_string(elements / 2)}});
  ASSERT_TRUE(made.program) << made.error;
  const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80);
  ASSERT_TRUE(kernel.ok());
  const auto assembled = compiler::Assemble(kernel->ptx, compiler::Target::kSm80);
  ASSERT_TRUE(assembled.ok());
  const auto sass = compiler::Disassemble(assembled->cubin);
  ASSERT_TRUE(sass.ok());
  const compiler::SassKernel& code = sass->front();
  const size_t accesses = elements * static_cast<size_t>(type.bits) / 128;
  EXPECT_EQ(code.CountOpcode("LDG.E.128"), accesses);
  EXPECT_EQ(code.CountOpcode("STG.E.128"), accesses);
  EXPECT_EQ(code.CountOpcode("LDG") + code.CountOpcode("STG"), 2 * accesses);
  EXPECT_EQ(code.CountOpcode("ATOM") + code.CountOpcode("RED"), 0U);
  EXPECT_EQ(assembled->kernels[0].spill_store_bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(Types, Copies,
                         testing::ValuesIn(std::vector<DTypeRow>(AllDTypes().begin(),
                                                                 AllDTypes().end())),
                         [](const auto& of) { return std::string(DTypeName(of.param.type)); });

}  // namespace
}  // namespace tarsia::harness
