// The resolved instructions of Specialise: operands, types, attributes, and which memory is
// written.
#include "isa/resolved.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "isa/program.h"
#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/validate.h"

namespace tarsia::resolved_test {
namespace {

using Kind = Operand::Kind;

std::optional<Program> Specialised(const std::string& text) {
  const SourceFile source("test.tsa", text);
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  std::optional<ValidModule> valid;
  if (module) valid = Validate(*std::move(module), diagnostics);
  std::optional<Program> program;
  if (valid) program = Specialise(*valid, "k", {}, TargetLimits(), diagnostics);
  EXPECT_TRUE(program) << diagnostics.Render(source);
  return program;
}

uint32_t ValueNamed(const Program& program, std::string_view name) {
  const auto& names = program.kernel().value_names;
  const auto found = std::find(names.begin(), names.end(), name);
  EXPECT_NE(found, names.end()) << name;
  return static_cast<uint32_t>(found - names.begin());
}

std::vector<int64_t> List(std::span<const int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

// Two views of one pointer, one of which is written through a slice; a pointer that is only read.
constexpr char kViews[] = R"(
kernel k(%p: ptr<f16>, %q: ptr<f16>)
{
  %read = view %p : global<f16>[8]
  %whole = view %p : global<f16>[4, 2]
  %part = slice %whole[1, 0] : [1, 2]
  %other = slice %whole[2, 0] : [1, 2]
  %bytes = view %read : global<u8>[16]
  %input = view %q : global<f16>[8]
  %room = alloc.shared : shared<f16>[1, 2]
  %x = load %other[0, 0] : [1, 2]
  store %part[0, 0], %x
  copy.async %room[0, 0], %other[0, 0] : [1, 2]
}
)";

TEST(Resolved, RootsOfViews) {
  const auto program = Specialised(kViews);
  ASSERT_TRUE(program);
  const auto root = [&](std::string_view name) {
    return program->kernel().ValueName(program->resolved().root(ValueNamed(*program, name)));
  };
  for (const char* name : {"p", "read", "whole", "part", "other", "bytes"}) {
    EXPECT_EQ(root(name), "p") << name;
  }
  EXPECT_EQ(root("input"), "q");
  EXPECT_EQ(root("room"), "room");
  EXPECT_EQ(root("x"), "x");
}

// Writes through a view differ from writes to its memory: the contents of a view can change
// although nothing writes through it.
TEST(Resolved, WrittenMemory) {
  const auto program = Specialised(kViews);
  ASSERT_TRUE(program);
  const ResolvedCode& code = program->resolved();
  std::string through, memory;
  for (const char* name :
       {"p", "q", "read", "whole", "part", "other", "bytes", "input", "room", "x"}) {
    const uint32_t value = ValueNamed(*program, name);
    if (code.WritesThrough(value)) through += std::string(name) + " ";
    if (code.WritesMemoryOf(value)) memory += std::string(name) + " ";
  }
  EXPECT_EQ(through, "p whole part room ");
  EXPECT_EQ(memory, "p read whole part other bytes room ");
}

constexpr char kOperands[] = R"(
kernel k(%p: ptr<f32>, %n: i32)
  const K: int = 3
{
  %g = view %p : global<f32>[%n, 4]
  %x = load %g[%n - 1, 0] cache evict_first : [2, 4]
  %y = add %x, K + 0.5
  %m = mov %n * 2
  %z = select true, %y, 1.0
  %s = reduce.sum %z axes [1, 0] keepdims
  %v, %i = reduce.argmax %z axis 1
  %t = permute %z order [1, 0]
  %h = cast %x sat : f16
  print "n", %n / 2.0
  print "x", %x
  copy.wait 0
}
)";

TEST(Resolved, KindsOfOperands) {
  const auto program = Specialised(kOperands);
  ASSERT_TRUE(program);
  const auto& code = program->instructions();
  ASSERT_EQ(code.size(), 12u);
  EXPECT_EQ(code[0].operand[0].kind, Kind::kMemory);  // a pointer
  EXPECT_EQ(code[0].operand[0].role, Role::kViewed);
  const Operand& element = code[1].operand[0];
  EXPECT_EQ(element.kind, Kind::kMemory);
  EXPECT_EQ(element.role, Role::kRead);
  EXPECT_EQ(program->pool().children(element.indices).size(), 2u);
  EXPECT_EQ(code[2].operand[0].kind, Kind::kTile);
  EXPECT_EQ(code[2].operand[1].kind, Kind::kConstant);
  EXPECT_EQ(code[2].operand[1].type, kF32);
  EXPECT_FALSE(code[2].operand[2].present());
  EXPECT_EQ(code[3].operand[0].kind, Kind::kExpr);
  EXPECT_EQ(code[4].operand[0].kind, Kind::kConstant);
  EXPECT_EQ(code[4].operand[0].type, kBoolType);
  EXPECT_EQ(code[4].operand[2].type, kF32);
  EXPECT_EQ(program->pool().Text(code[9].operand[0].expr), "n");
  EXPECT_EQ(code[10].operand[1].kind, Kind::kTile);
  EXPECT_EQ(code[11].operand[0].kind, Kind::kExpr);
}

TEST(Resolved, TypesOfComputations) {
  const auto program = Specialised(kOperands);
  ASSERT_TRUE(program);
  const auto& code = program->instructions();
  EXPECT_EQ(code[2].type, kF32);
  EXPECT_EQ(code[3].type, kI32);   // of the result
  EXPECT_EQ(code[4].type, kF32);   // not of the condition
  EXPECT_EQ(code[8].type, kF32);   // the source type of the cast, not the result type
  EXPECT_EQ(code[9].type, kF64);   // printed values are computed in 64 bits
  EXPECT_EQ(code[11].type, kI32);  // of the count
}

TEST(Resolved, Attributes) {
  const auto program = Specialised(kOperands);
  ASSERT_TRUE(program);
  const auto& code = program->instructions();
  EXPECT_EQ(kCacheWords[code[1].cache], "evict_first");
  EXPECT_EQ(List(code[1].shape), (std::vector<int64_t>{2, 4}));
  EXPECT_TRUE(code[0].shape.empty());  // %n is not a number
  EXPECT_EQ(List(code[5].axes), (std::vector<int64_t>{1, 0}));
  EXPECT_TRUE(code[5].keepdims);
  EXPECT_EQ(List(code[6].axes), (std::vector<int64_t>{1}));
  EXPECT_EQ(code[6].axis, 1);
  EXPECT_FALSE(code[6].keepdims);
  EXPECT_EQ(List(code[7].axes), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(code[8].cast.overflow, Overflow::kSaturate);
  EXPECT_EQ(code[8].cast.rounding, Rounding::kNearestEven);
  EXPECT_EQ(code[6].results.size(), 2u);
}

}  // namespace
}  // namespace tarsia::resolved_test
