// Code that never runs with the constants of a kernel is not in the program.
#include "isa/prune.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/text/printer.h"
#include "isa/validate.h"

namespace tarsia::prune_test {
namespace {

// The program's text after its header, or the errors.
std::string Specialised(const std::string& text, const std::vector<Binding>& bindings = {}) {
  const SourceFile source("test.tsa", text);
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  if (!module) return diagnostics.Render(source);
  const std::optional<ValidModule> valid = Validate(*std::move(module), diagnostics);
  if (!valid) return diagnostics.Render(source);
  const auto program = Specialise(*valid, "k", bindings, TargetLimits(), diagnostics);
  if (!program) return diagnostics.Render(source);
  const std::string printed = Print(program->module());
  return printed.substr(printed.find("{\n"));
}

constexpr char kBothArms[] = R"(kernel k(%p: ptr<f32>, %n: i32)
  const A: int = 1
{
  %t = fill 1.0 : f32 [4]
  if A == 1 {
    %g = view %p : global<f32>[4]
    store %g[0], %t
  } else {
    %m = mov %n * 2
    %g = view %p : global<f32>[%m, 4]
    %u = unsqueeze %t axes [0]
    store %g[0, 0], %u
  }
  %last = mov %n + 1
  %h = view %p : global<f32>[%last]
  store %h[%last - 1], %t
}
)";

TEST(Prune, OneArmStays) {
  EXPECT_EQ(Specialised(kBothArms), R"({
  %t = fill 1.0 : f32 [4]
  if true {
    %g = view %p : global<f32>[4]
    store %g[0], %t
  }
  %last = mov %n + 1
  %h = view %p : global<f32>[%last]
  store %h[%last - 1], %t
}
)");
  EXPECT_EQ(Specialised(kBothArms, {{"A", "2"}}), R"({
  %t = fill 1.0 : f32 [4]
  if true {
    %m = mov %n * 2
    %g = view %p : global<f32>[%m, 4]
    %u = unsqueeze %t axes [0]
    store %g[0, 0], %u
  }
  %last = mov %n + 1
  %h = view %p : global<f32>[%last]
  store %h[%last - 1], %t
}
)");
}

TEST(Prune, LoopsWithoutATurnGo) {
  EXPECT_EQ(Specialised(R"(kernel k(%n: i32)
  const N: int = 0
{
  for %i = 0 to N {
    %a = mov %i
  }
  for %i = 3 to 3 step -1 {
    %b = mov %i
  }
  for %i = 3 to 4 step -1 {
    %b = mov %i
  }
  while N > 0 {
    %c = mov 1
  }
  for %i = 0 to 1 {
    if N == 0 and %n > 1 {
      %d = mov %i
      if N != 0 {
        %d = mov 3
      }
    }
  }
  for %i = 0 to %n {
    %e = mov %i + 1
  }
  for %i = 4 to 3 step -1 {
    %f = mov %i
  }
}
)"),
            R"({
  for %i = 0 to 1 {
    if true and %n > 1 {
      %d = mov %i
    }
  }
  for %i = 0 to %n {
    %e = mov %i + 1
  }
  for %i = 4 to 3 step -1 {
    %f = mov %i
  }
}
)");
}

// Code after the end of the kernel does not run either.
TEST(Prune, NothingFollowsTheEnd) {
  EXPECT_EQ(Specialised(R"(kernel k(%n: i32)
  const EARLY: bool = true
{
  %a = mov %n
  while %a > 0 {
    if EARLY {
      if not EARLY {
        %b = mov 1
      } else {
        exit
      }
      %c = mov 2
    }
    %a = add %a, 1
  }
  %d = mov 3
  while EARLY {
    %d = add %d, 1
  }
  %e = mov 4
}
)"),
            R"({
  %a = mov %n
  while %a > 0 {
    if true {
      if true {
        exit
      }
    }
  }
  %d = mov 3
  while true {
    %d = add %d, 1
  }
}
)");
}

// An arm that is not taken need not be valid for the constants; one that is or may be taken must
// be.
TEST(Prune, OnlyWhatRunsMustFit) {
  const std::string text = R"(kernel k(%n: i32)
  const B: int = 12
{
  %t = fill 1.0 : f32 [B]
  if CONDITION {
    %r = reshape %t : [B / 8, 8]
    %s = alloc.shared : f32 [1000000 / B]
  }
}
)";
  const auto with = [&](const std::string& condition, const std::string& b) {
    std::string changed = text;
    changed.replace(changed.find("CONDITION"), 9, condition);
    return Specialised(changed, {{"B", b}});
  };
  EXPECT_EQ(with("B % 8 == 0", "12"), "{\n  %t = fill 1.0 : f32 [12]\n}\n");
  EXPECT_NE(with("%n > 0", "12").find("error"), std::string::npos);
  EXPECT_NE(with("B % 4 == 0", "12").find("error"), std::string::npos);
  EXPECT_EQ(with("B % 8 == 0", "16").find("if true"), std::string::npos);  // too much shared memory
}

}  // namespace
}  // namespace tarsia::prune_test
