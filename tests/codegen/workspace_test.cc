// Which kernels need a workspace: those that print, assert or allocate, and those that may have to
// report why they stopped. Extents that depend only on parameters are checked before the launch.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/devices/device.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

// The workspace of a kernel whose parameters except %n are pointers.
uint64_t WorkspaceOf(const SourceFile& source, const std::vector<Binding>& constants = {}) {
  const Made made = MakeProgram(source, "", constants);
  EXPECT_TRUE(made.program) << made.error;
  if (!made.program) return UINT64_MAX;
  const auto device = runtime::OpenDevice("ptx:sm_80");
  const auto kernel = (*device)->Load(*made.program);
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().message);
  if (!kernel.ok()) return UINT64_MAX;
  return *(*kernel)->WorkspaceBytes(std::vector<uint64_t>(made.program->kernel().params.size(), 8));
}

uint64_t WorkspaceOf(const std::string& body) {
  return WorkspaceOf(SourceFile(
      "test.tsa", "kernel k(%p: ptr<u8>, %n: i32)\n  grid (2)\n  warps 1\n{\n" + body + "\n}\n"));
}

TEST(Workspace, NoneWithoutAWordToSay) {
  EXPECT_EQ(
      WorkspaceOf(ReadExample("matmul_scaled.tsa"), {{"K", "128"}, {"N", "128"}, {"G", "64"}}), 0u);
  for (const char* body : {
           // Codes that share the last byte.
           R"(
  %t = iota : i32 [64]
  %c = cast %t wrap : u3
  %g = view %p : global<u3>[%n]
  store %g[0], %c)",
           // Extents of parameters: of a slice, in a loop, of a part of it.
           R"(
  %g = view %p : global<u8>[%n, 4]
  %t = fill 1 : u8 [4, 4]
  %m = slice %g[0, 0] : [%n - 3, 4]
  for %i = 0 to %n {
    %s = slice %m[%i, 0] : [%n, 2]
    store %s[0, 0], %t
  }
  %h = view %p : global<u8>[%n * 4]
  %k = slice %h[%n] : [%n / 2]
  %u = fill 1 : u8 [8]
  store %k[0], %u)",
           // Extents that are never too small.
           R"(
  %x = block.x
  %g = view %p : global<u8>[%x + 1]
  %s = slice %g[0] : [min(%x, 3)]
  %t = fill 1 : u8 [4]
  store %s[0], %t)",
       }) {
    EXPECT_EQ(WorkspaceOf(body), 0u) << body;
  }
}

TEST(Workspace, EnoughToSayWhy) {
  const char* const extent = R"(
  %x = block.x
  %g = view %p : global<u8>[%n]
  %s = slice %g[0] : [%n - %x]
  %t = fill 1 : u8 [4]
  store %s[0], %t)";
  EXPECT_GT(WorkspaceOf(extent), 0u);
  EXPECT_LE(WorkspaceOf(extent), 4096u);
  const char* const copy = R"(
  %m = mov %n
  %g = view %p : global<u8>[%m]
  %t = fill 1 : u8 [4]
  store %g[0], %t)";
  EXPECT_GT(WorkspaceOf(copy), 0u) << "no launch checks the extent";
  EXPECT_LE(WorkspaceOf("  assert %n > 0, \"n\""), 256u);
  EXPECT_GT(WorkspaceOf("  assert %n > 0, \"n\""), 0u);
  EXPECT_GT(WorkspaceOf("  print \"n\", %n"), uint64_t{1} << 20);
}

// The same words on every device, before any block has run. The kernel has a pointer and an i32
// of 1.
void ExpectRefused(const std::string& body, const std::string& error) {
  const SourceFile source(
      "test.tsa", "kernel k(%p: ptr<u8>, %n: i32)\n  grid (2)\n  warps 1\n{" + body + "\n}\n");
  const Made made = MakeProgram(source, "", {});
  ASSERT_TRUE(made.program) << made.error;
  for (const char* name : {"cpu", "ptx:sm_80"}) {
    const auto device = runtime::OpenDevice(name);
    const auto kernel = (*device)->Load(*made.program);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    std::vector<uint8_t> bytes(16, 7);
    const runtime::DevicePointer memory = *(*device)->Allocate(bytes.size());
    ASSERT_TRUE((*device)->Write(memory, bytes.data(), bytes.size(), nullptr).ok());
    const std::vector<launch::Argument> args = {launch::Buffer{memory, bytes.size(), true},
                                                launch::ScalarValue{kI32, 1}};
    runtime::LaunchRequest request;
    request.args = args;
    const auto result = (*kernel)->Launch(request);
    ASSERT_FALSE(result.ok()) << name;
    EXPECT_EQ(Render(result.error(), source), error) << name;
    ASSERT_TRUE((*device)->Read(bytes.data(), memory, bytes.size(), nullptr).ok());
    EXPECT_EQ(bytes, std::vector<uint8_t>(16, 7)) << name;
    EXPECT_TRUE((*device)->Free(memory).ok());
  }
}

TEST(Workspace, ExtentsOfParametersAreCheckedBefore) {
  ExpectRefused(R"(
  %g = view %p : global<u8>[16]
  %t = fill 1 : u8 [4]
  store %g[0], %t
  for %i = 0 to 2 {
    %s = slice %g[%i] : [%n - 3]
    store %s[0], %t
  })",
                "test.tsa:9:10: error: extent 0 of the view is -2, outside of 0 to 2^40 "
                "[view-extent]\n"
                "      %s = slice %g[%i] : [%n - 3]\n"
                "           ^~~~~\n");
}

TEST(Workspace, ExtentsOfScratchAreCheckedBefore) {
  ExpectRefused(R"(
  %g = view %p : global<u8>[16]
  %t = fill 1 : u8 [4]
  store %g[0], %t
  %w = alloc.global : global<u8>[4, %n - 3]
  %u = fill 1 : u8 [4, 4]
  store %w[0, 0], %u)",
                "test.tsa:8:23: error: extent 1 of scratch `%w` is -2, outside of 0 to 2^40 "
                "[scratch-extent]\n"
                "    %w = alloc.global : global<u8>[4, %n - 3]\n"
                "                        ^~~~~~~~~~~~~~~~~~~~~\n");
}

// Who asks for the size is told the same.
TEST(Workspace, SizesOfScratchSayWhatIsWrong) {
  const SourceFile source("test.tsa", R"(kernel k(%n: i64)
  warps 1
{
  %w = alloc.global : global<u8>[%n + 1]
}
)");
  const Made made = MakeProgram(source, "", {});
  ASSERT_TRUE(made.program) << made.error;
  const auto device = runtime::OpenDevice("ptx:sm_80");
  const auto kernel = (*device)->Load(*made.program);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto most = (*kernel)->WorkspaceBytes(std::vector<uint64_t>{(uint64_t{1} << 40) - 1});
  ASSERT_TRUE(most.ok()) << most.error().message;
  EXPECT_EQ(*most, uint64_t{1} << 40);
  const auto more = (*kernel)->WorkspaceBytes(std::vector<uint64_t>{uint64_t{1} << 40});
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(Render(more.error(), source),
            "test.tsa:4:23: error: extent 0 of scratch `%w` is 1099511627777, outside of 0 to 2^40 "
            "[scratch-extent]\n"
            "    %w = alloc.global : global<u8>[%n + 1]\n"
            "                        ^~~~~~~~~~~~~~~~~~\n");
}

}  // namespace
}  // namespace tarsia::harness
