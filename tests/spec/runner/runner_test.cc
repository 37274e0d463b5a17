// The reader of spec files: what it accepts, and the errors that it must detect.
#include <gtest/gtest.h>

#include <string>

#include "tests/harness/run_case.h"
#include "tests/spec/runner/literal.h"
#include "tests/spec/runner/spec_file.h"

namespace tarsia::spec {
namespace {

constexpr char kKernel[] = R"(// add: two tiles
kernel add_tiles(%x: ptr<T>, %y: ptr<T>, %n: i32)
  const T: dtype = f16
{
  %gx = view %x : global<T>[%n, 2]
  %gy = view %y : global<T>[%n, 2]
  %a = load %gx[0, 0] : [4, 2]
  %b = add %a, %a
  store %gy[0, 0], %b
}
)";

// "" if every case holds, else the first error.
std::string RunCases(const std::string& directives) {
  const SpecFile file = ParseSpecFile("add.tsa", kKernel + directives);
  if (!file.errors.empty()) return file.errors[0];
  if (file.cases.empty()) return "no case";
  for (const SpecCase& spec : file.cases) {
    std::string error;
    const auto c = MakeCase(file, spec, error);
    if (!c) return error;
    const auto result = harness::RunEverywhere(*c);
    if (!result.ok()) return result.Text(*c);
  }
  return "";
}

bool Fails(const std::string& directives, const std::string& with) {
  const std::string text = RunCases(directives);
  EXPECT_NE(text.find(with), std::string::npos) << directives << text;
  return text.find(with) != std::string::npos;
}

TEST(SpecFile, RightCasesHold) {
  EXPECT_EQ(RunCases("//: arg n = 2\n//: in x = [[1, -0.5], [inf, nan]]\n"
                     "//: out y = [[2, -0x1p0], [inf, nan]]\n"),
            "");
  EXPECT_EQ(
      RunCases("//: set T=i32\n//: case some\n//: arg n = 2\n//: in x = iota(2, 2)\n"
               "//: out y = [[0, 2],\n//:   [4, 6]]\n"
               "//: case none\n//: arg n = 0\n//: in x = zeros(0, 2)\n//: out y = zeros(0, 2)\n"
               "//: case other type\n//: set T=u8\n//: arg n = 1\n//: in x = bytes(\"80ff\")\n"
               "//: out y = [[0, 0xfe]]\n"),
      "");
  EXPECT_EQ(
      RunCases("//: arg n = 1\n//: in x = full(0x1.004p0, 1, 2)\n//: out y ~ [[2, 2.003]] ulp 2\n"),
      "");
}

TEST(SpecFile, WrongExpectationsDoNot) {
  const std::string in = "//: arg n = 1\n//: in x = [[1, 0]]\n";
  EXPECT_TRUE(Fails(in + "//: out y = [[2, 1]]\n",
                    "tests/spec/add.tsa:11: case `add`: interpreter: `%y` at [0, 1]: expected 1 "
                    "(0x3C00), got 0 (0x0000); 1 of 2 elements differ"));
  EXPECT_TRUE(Fails(in + "//: out y = [[2, -0]]\n", "expected -0"));
  EXPECT_TRUE(Fails(in + "//: out y ~ [[2.01, 0]] ulp 5\n", "off by"));
  EXPECT_TRUE(Fails(in + "//: out y ~ [[2.01, 0]] abs 0.001\n", "off by"));
  EXPECT_TRUE(Fails(in + "//: out y = [[2, 0]]\n//: error \"no\"\n", "must fail"));
  EXPECT_TRUE(Fails(in + "//: out y = [[2, 0]]\n//: finding race\n", "no finding `race`"));
  EXPECT_TRUE(Fails(in + "//: out y = [[2, 0]]\n//: print \"x\"\n", "that is printed"));
}

TEST(SpecFile, MistakesInDirectives) {
  const std::string in = "//: arg n = 1\n//: in x = [[1, 0]]\n";
  EXPECT_TRUE(Fails("//: wish n = 1\n", "tests/spec/add.tsa:11: no directive `wish`"));
  EXPECT_TRUE(Fails(in, "the case expects nothing"));
  EXPECT_TRUE(Fails(in + "//: out y = [[0.1, 0]]\n", "f16 does not hold 0.1 exactly"));
  EXPECT_TRUE(Fails(in + "//: set T=u8\n//: out y = [[256, 0]]\n", "u8 does not hold 256"));
  EXPECT_TRUE(Fails(in + "//: out y = [2, 0]\n", "viewed as [1, 2], and [2] is given"));
  EXPECT_TRUE(Fails(in + "//: out y = [[2], [0, 1]]\n", "rows of different length"));
  EXPECT_TRUE(Fails(in + "//: out y = [[2, [0]]]\n", "a list among numbers"));
  EXPECT_TRUE(Fails(in + "//: out y = [[2, 0]] + 1\n", "is left over"));
  EXPECT_TRUE(Fails(in + "//: out y = [[2, 0]\n", "a bracket is not closed"));
  EXPECT_TRUE(Fails(in + "//: out y ~ [[2, 0]]\n", "expected `ulp N` or `abs X`"));
  EXPECT_TRUE(Fails(in + "//: out z = [[2, 0]]\n", "no top-level view of `%z`"));
  EXPECT_TRUE(Fails(in + "//: inout y = [[2, 0]]\n//: out x = [[2, 0]]\n", "has no `out y`"));
  EXPECT_TRUE(Fails("//: arg n = 1.5\n" + in, "i32 does not hold 1.5"));
  EXPECT_TRUE(Fails("//: arg m = 1\n" + in, "`m` is not a scalar parameter"));
  EXPECT_TRUE(Fails("//: set T\n" + in, "expected NAME=EXPR"));
  EXPECT_TRUE(Fails("//: set T=u9\n" + in, "error"));
  EXPECT_TRUE(Fails(in + "//: in x = bytes(\"00\")\n//: out y = [[0, 0]]\n", "has 4 bytes"));
  EXPECT_TRUE(Fails("//: arg n = 1\n//: out y = [[2, 0]]\n", "does not mention `%x`"));
}

TEST(SpecFile, ComplexNumbers) {
  std::string error;
  EXPECT_EQ(ExactCode(kC32, {"1", "-1"}, error), 0xBC003C00);
  EXPECT_EQ(ExactCode(kC32, {"1", ""}, error), 0x3C00);
  EXPECT_EQ(ExactCode(kC32, {"0.1", ""}, error), std::nullopt);
  EXPECT_EQ(ExactCode(kF16, {"1", "1"}, error), std::nullopt);
  std::string_view text = "[(1, 2), 3]";
  const auto literal = ReadLiteral(text, error);
  ASSERT_TRUE(literal);
  EXPECT_EQ(literal->shape, (harness::Shape{2}));
  EXPECT_EQ(literal->numbers[0].imaginary, "2");
}

}  // namespace
}  // namespace tarsia::spec
