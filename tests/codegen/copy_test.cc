// Copies of tiles through registers: accesses of 16 bytes for every type. Needs the pinned ptxas
// and nvdisasm.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "tests/codegen/machine_code.h"

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

class Copies : public MachineCodeTest<int> {};

TEST_P(Copies, OfEveryTypeAreAccessesOf16Bytes) {
  // As many as registers hold, and 16 bytes at least of any type.
  const auto elements_of = [](DType type) { return type.bits < 64 ? size_t{128} : size_t{32}; };
  std::vector<KernelText> kernels;
  for (const DTypeRow& row : AllDTypes()) {
    kernels.push_back({SourceFile("copy.tsa", kCopy),
                       {{"T", std::string(DTypeName(row.type))},
                        {"ROWS", std::to_string(elements_of(row.type) / 2)}}});
  }
  const std::vector<MachineCode> codes = MachineCodesOf(kernels, compiler::Target::kSm80);
  for (size_t i = 0; i < codes.size(); ++i) {
    const DType type = AllDTypes()[i].type;
    SCOPED_TRACE(std::string(DTypeName(type)));
    const MachineCode& code = codes[i];
    const size_t accesses = elements_of(type) * static_cast<size_t>(type.bits) / 128;
    EXPECT_EQ(code.sass.CountOpcode("LDG.E.128"), accesses);
    EXPECT_EQ(code.sass.CountOpcode("STG.E.128"), accesses);
    EXPECT_EQ(code.sass.CountOpcode("LDG") + code.sass.CountOpcode("STG"), 2 * accesses);
    EXPECT_EQ(code.sass.CountOpcode("ATOM") + code.sass.CountOpcode("RED"), 0U);
    EXPECT_EQ(code.resources.spill_store_bytes, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Once, Copies, testing::Values(0));

// The stride between heads is a multiple of 64 elements, whatever the length is.
class CopyOf : public MachineCodeTest<int> {};

TEST_P(CopyOf, HeadsOfARuntimeLengthIsAccessesOf16Bytes) {
  const MachineCode code = MachineCodeOf(SourceFile("heads.tsa", R"(
kernel heads(%x: ptr<f16>, %y: ptr<f16>, %heads: i32, %length: i32)
  assume %length % 64 == 0
  grid (ceildiv(%length, 64), %heads)
{
  %i = block.x
  %h = block.y
  %gx = view %x : global<f16>[%heads, %length, 64]
  %gy = view %y : global<f16>[%heads, %length, 64]
  %t = load %gx[%h, %i * 64, 0] : [1, 64, 64]
  store %gy[%h, %i * 64, 0], %t
}
)"),
                                         {}, compiler::Target::kSm80);
  EXPECT_EQ(code.sass.CountOpcode("LDG.E.128"), 4U) << "32 elements a thread";
  EXPECT_EQ(code.sass.CountOpcode("STG.E.128"), 4U);
  EXPECT_EQ(code.sass.CountOpcode("LDG") + code.sass.CountOpcode("STG"), 8U);
}

INSTANTIATE_TEST_SUITE_P(Once, CopyOf, testing::Values(0));

}  // namespace
}  // namespace tarsia::harness
