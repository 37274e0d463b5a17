// The compiler must not emit PTX that ptxas refuses: texts that it does not parse, and more
// parameters than a target passes.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "compiler/assemble/assemble.h"
#include "compiler/assemble/tools.h"
#include "compiler/compile.h"
#include "isa/text/parser.h"
#include "isa/validate.h"
#include "tests/unit/compiler/programs.h"

namespace tarsia::compiler::ptx_limits_test {
namespace {

void ExpectAssembles(const CompiledKernel& kernel, Target target) {
  if (!FindTool(Tool::kPtxas).ok()) return;  // ptxas is not everywhere
  const auto assembled = Assemble(kernel.ptx, target);
  EXPECT_TRUE(assembled.ok()) << assembled.error().message;
}

// A tile that changes threads in rounds is read at addresses less a constant from the second round
// on. PTX writes that as a register plus a negative constant.
TEST(PtxLimits, NegativeOffsetsAreAdded) {
  const Program program = MakeProgram(
      "kernel k(%x: ptr<f32>)\n  warps 8\n{\n"
      "  %g = view %x : global<f32>[256, 128]\n"
      "  %a = load %g[0, 0] : [256, 128] layout(shape=[256, 128], modes=[32, 8, 32, 4], "
      "spatial=[1, 2], local=[0, 3])\n"
      "  %b = permute %a order [1, 0]\n"
      "  %c = convert_layout %b : [128, 256] layout(shape=[128, 256], modes=[32, 4, 64, 4], "
      "spatial=[1, 2], local=[0, 3])\n"
      "  %h = view %x : global<f32>[128, 256]\n"
      "  store %h[0, 0], %c\n}\n");
  const std::regex subtracted(R"(\[%r[a-z]*[0-9]+-)");
  const std::regex added(R"(\[%r[a-z]*[0-9]+\+-)");
  for (const TargetRow& row : AllTargets()) {
    const auto kernel = Compile(program, row.target);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_FALSE(std::regex_search(kernel->ptx, subtracted)) << row.name;
    EXPECT_TRUE(std::regex_search(kernel->ptx, added)) << "no such address on " << row.name;
    ExpectAssembles(*kernel, row.target);
  }
}

std::string WithAddresses(int count) {
  std::string text = "kernel k(";
  for (int i = 0; i < count; ++i) text += (i > 0 ? ", %p" : "%p") + std::to_string(i) + ": ptr<u8>";
  return text + ")\n{\n}\n";
}

TEST(PtxLimits, ParametersUpToWhatTheTargetPasses) {
  for (const TargetRow& row : AllTargets()) {
    // 32,764 bytes since PTX 8.1; before it what the oldest driver launches.
    const int most = row.target == Target::kSm80 ? 512 : 4095;
    const auto fits = Compile(MakeProgram(WithAddresses(most)), row.target);
    ASSERT_TRUE(fits.ok()) << row.name << ": " << fits.error().message;
    ExpectAssembles(*fits, row.target);
    const auto more = Compile(MakeProgram(WithAddresses(most + 1)), row.target);
    ASSERT_FALSE(more.ok()) << row.name;
    EXPECT_STREQ(more.error().info->id, "parameter-bytes");
    EXPECT_EQ(more.error().location.line, 1);
  }
}

// Names with another meaning in PTX, and names of other objects that the compiler emits.
TEST(PtxLimits, AnyNameOfAKernel) {
  for (const char* const name : {"_", "WARP_SZ", "ld", "reg", "entry", "tarsia_shared", "place"}) {
    const std::string text = "kernel " + std::string(name) +
                             "(%x: ptr<f32>)\n{\n  %g = view %x : global<f32>[64, 64]\n"
                             "  %a = load %g[0, 0] : [64, 64]\n"
                             "  %b = permute %a order [1, 0]\n  store %g[0, 0], %b\n}\n";
    const auto kernel = Compile(MakeProgram(text), Target::kSm80);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_NE(kernel->ptx.find(".entry " + kernel->name + "("), std::string::npos) << kernel->name;
    ExpectAssembles(*kernel, Target::kSm80);
  }
}

// The name of the source is in the PTX.
TEST(PtxLimits, AnyNameOfAFile) {
  for (const char* const name : {"a\"b.tsa", "a\\b.tsa", "a\nb.tsa", "a b.tsa", "\xC3\xBC.tsa"}) {
    const SourceFile source(name, "kernel k()\n{\n  sync\n}\n");
    Diagnostics diagnostics;
    auto module = Parse(source, diagnostics);
    ASSERT_TRUE(module);
    const auto valid = Validate(*std::move(module), diagnostics);
    ASSERT_TRUE(valid);
    const auto program = Specialise(*valid, "k", {}, {}, diagnostics);
    ASSERT_TRUE(program);
    const auto kernel = Compile(*program, Target::kSm80);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_NE(kernel->ptx.find(".file"), std::string::npos);
    ExpectAssembles(*kernel, Target::kSm80);
  }
}

}  // namespace
}  // namespace tarsia::compiler::ptx_limits_test
