// Elementwise operands are repeated by instructions that the text does not have.
#include "isa/broadcasts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>

#include "isa/bytecode/bytecode.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "isa/validate.h"

namespace tarsia::broadcasts_test {
namespace {

std::span<const uint8_t> Bytes(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

ValidModule Valid(Module module) {
  Diagnostics diagnostics;
  std::optional<ValidModule> valid = Validate(std::move(module), diagnostics);
  EXPECT_TRUE(valid) << diagnostics.Render(SourceFile());
  return *std::move(valid);
}

Program Specialised(const ValidModule& module) {
  Diagnostics diagnostics;
  std::optional<Program> program = Specialise(module, "k", {}, TargetLimits(), diagnostics);
  EXPECT_TRUE(program) << diagnostics.Render(SourceFile());
  return *std::move(program);
}

ValidModule FromText(const std::string& text) {
  const SourceFile source("test.tsa", text);
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  EXPECT_TRUE(module) << diagnostics.Render(source);
  return Valid(*std::move(module));
}

// The program's text after its header.
std::string Body(const Program& program) {
  const std::string printed = Print(program.module());
  return printed.substr(printed.find("{\n"));
}

constexpr char kLoop[] = R"(kernel k(%p: ptr<f32>, %n: i32)
  const N: int = 8
{
  %t = fill 1.0 : f32 [16, N]
  %row = fill 2.0 : f32 [N]
  %t_1 = fill 3.0 : f32 [16, 1]
  for %i = 0 to %n {
    if %i > 2 {
      %t = mul %t, %row
    } else {
      %t = fma %t_1, %t, %row
    }
    %n_1 = mov %i + 1
  }
  %last = mov %n + 1
  %g = view %p : global<f32>[%last, N]
  store %g[%last - 16, 0], %t
}
)";

TEST(Broadcasts, AreInstructionsOfTheProgram) {
  EXPECT_EQ(Body(Specialised(FromText(kLoop))), R"({
  %t = fill 1.0 : f32 [16, 8]
  %row = fill 2.0 : f32 [8]
  %t_1 = fill 3.0 : f32 [16, 1]
  for %i = 0 to %n {
    if %i > 2 {
      %row_1 = unsqueeze %row axes [0]
      %row_2 = broadcast %row_1 : [16, 8]
      %t = mul %t, %row_2
    } else {
      %t_1_1 = broadcast %t_1 : [16, 8]
      %row_3 = unsqueeze %row axes [0]
      %row_4 = broadcast %row_3 : [16, 8]
      %t = fma %t_1_1, %t, %row_4
    }
    %n_1 = mov %i + 1
  }
  %last = mov %n + 1
  %g = view %p : global<f32>[%last, 8]
  store %g[%last - 16, 0], %t
}
)");
}

TEST(Broadcasts, LeaveTheModuleAsItIs) {
  const ValidModule module = FromText(kLoop);
  const std::string before = Print(module.module());
  static_cast<void>(Specialised(module));
  EXPECT_EQ(Print(module.module()), before);
  EXPECT_EQ(before.find("broadcast"), std::string::npos);
}

// The program is a module like any other: it can be written, read, and specialised again.
TEST(Broadcasts, KeepTheRulesOfModules) {
  const Program program = Specialised(FromText(kLoop));
  const auto bytes = Encode(program.module());
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  auto decoded = Decode(Bytes(*bytes), "test.tsb");
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_TRUE(Equal(program.module(), *decoded));
  EXPECT_EQ(Body(Specialised(Valid(*std::move(decoded)))), Body(program));
}

// Bytecode without places has the same program.
TEST(Broadcasts, NeedNoPlaces) {
  const ValidModule module = FromText(kLoop);
  const auto bytes = Encode(module.module(), {.version = {}, .debug = false, .producer = ""});
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  auto decoded = Decode(Bytes(*bytes), "test.tsb");
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(Body(Specialised(Valid(*std::move(decoded)))), Body(Specialised(module)));
}

// What is inserted has the place of the operand's instruction.
TEST(Broadcasts, HaveThePlaceOfTheirInstruction) {
  const Program program = Specialised(FromText(kLoop));
  const Kernel& kernel = program.kernel();
  size_t checked = 0;
  for (size_t i = 0; i < kernel.code.size(); ++i) {
    if (kernel.code[i].opcode != Opcode::kMul) continue;
    for (const size_t before : {i - 1, i - 2}) {
      EXPECT_EQ(kernel.LocationOf(kernel.code[before]), kernel.LocationOf(kernel.code[i]));
      EXPECT_EQ(kernel.ArgLocation(kernel.code[before], 1).column, 20u);
    }
    ++checked;
  }
  EXPECT_EQ(checked, 1u);
}

TEST(Broadcasts, ProgramsWithoutThemStayAsTheyAre) {
  constexpr char kText[] = R"({
  %t = fill 1.0 : f32 [16, 1]
  %u = broadcast %t : [16, 8]
  %v = add %u, 1.0
  print "v", %v
}
)";
  EXPECT_EQ(Body(Specialised(FromText("kernel k()\n" + std::string(kText)))), kText);
}

}  // namespace
}  // namespace tarsia::broadcasts_test
