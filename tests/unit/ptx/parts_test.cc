// Texts with something wrong in them: one fault is one error, and what it does not concern runs.
#include <algorithm>

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::parts_test {
namespace {

std::string Body(const std::string& text) {
  return std::string(kHeader) + ".visible .entry k(.param .u64 p) {\n" + text + "\nret;\n}\n";
}

size_t CountErrors(const std::string& text) {
  const SourceFile source("test.ptx", text);
  Diagnostics diagnostics;
  (void)ParseModule(source, &diagnostics);
  return diagnostics.count();
}

constexpr char kStores[] = " .reg .b64 d; ld.param.u64 d, [p]; st.global.u32 [d], 7; ret; }\n";

// A module of which the entry `good` stores 7.
class Parts {
 public:
  explicit Parts(const std::string& text) {
    Diagnostics diagnostics;
    module_ = ParseModuleInParts(
        SourceFile("test.ptx", kHeader + text + ".visible .entry good(.param .u64 p) {" + kStores),
        &diagnostics);
    EXPECT_TRUE(diagnostics.ok());
    if (module_ == nullptr) return;
    auto image = Image::Load(module_, &memory_);
    EXPECT_TRUE(image.ok()) << (image.ok() ? "" : image.error().message);
    if (image.ok()) image_ = *std::move(image);
  }
  const Module& module() { return *module_; }

  // What refuses a launch, or "" if it stores 7.
  std::string Launch(const std::string& entry) {
    if (image_ == nullptr) return "no image";
    const uint64_t at = *memory_.Allocate(4);
    std::vector<uint8_t> parameters(8);
    std::memcpy(parameters.data(), &at, 8);
    LaunchConfig config;
    config.parameters = parameters;
    const auto report = ptx::Launch(*image_, entry, config);
    if (!report.ok()) return report.error().message;
    uint32_t word = 0;
    EXPECT_TRUE(memory_.CopyOut(at, {reinterpret_cast<uint8_t*>(&word), 4}).ok());
    return word == 7 ? Text(*report) : "it stores " + std::to_string(word);
  }

 private:
  std::shared_ptr<const Module> module_;
  Memory memory_;
  std::unique_ptr<Image> image_;
};

TEST(Parts, AnEntryWithAnErrorLeavesTheOthers) {
  Parts parts(R"(.visible .entry bad(.param .u64 p) {
.reg .f32 f<5>; .reg .b64 d; ld.param.u64 d, [p];
tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [d, {f4, f4}];
ret; }
)");
  EXPECT_EQ(parts.Launch("good"), "");
  EXPECT_EQ(parts.Launch("bad"),
            "`bad` cannot be launched: line 6, in `bad`: unknown instruction `tex`");
  EXPECT_TRUE(parts.module().errors.empty());
  EXPECT_TRUE(parts.module().BrokenFrom(*parts.module().FindEntry("good")).empty());
}

TEST(Parts, AFunctionWithAnErrorBreaksItsCallers) {
  Parts parts(R"(.func inner() { frob.x; ret; }
.func outer() { call inner; ret; }
.visible .entry bad(.param .u64 p) { call outer; ret; }
)");
  EXPECT_EQ(parts.Launch("good"), "");
  EXPECT_EQ(parts.Launch("bad"),
            "`bad` cannot be launched: line 4, in `inner`: unknown instruction `frob`");
}

TEST(Parts, WhatIsNotDefinedConcernsWhoUsesIt) {
  Parts parts(R"(.extern .func (.param .b32 r) elsewhere (.param .b64 a);
.extern .global .align 4 .b32 lost;
.visible .global .align 8 .u64 table[1] = {lost};
.visible .entry calls(.param .u64 p) {
{ .param .b64 a; .param .b32 r; st.param.b64 [a], 16; call.uni (r), elsewhere, (a); }
ret; }
.visible .entry reads(.param .u64 p) { .reg .b32 r; ld.global.u32 r, [lost]; ret; }
.visible .entry looks(.param .u64 p) { .reg .b64 d; ld.global.u64 d, [table]; ret; }
)");
  EXPECT_EQ(parts.Launch("good"), "");
  EXPECT_EQ(parts.Launch("calls"),
            "`calls` cannot be launched: line 8, in `calls`: function `elsewhere` is called and "
            "not defined");
  EXPECT_EQ(parts.Launch("reads"), "the external variable `lost` is not defined");
  EXPECT_EQ(parts.Launch("looks"), "the external variable `table` is not defined");
}

TEST(Parts, DeclarationsAndHeadsThatAreWrong) {
  Parts parts(R"(.global .texref picture;
.visible .entry odd(.param .u64 p) .sometimes 3 { ret; }
.visible .entry uses(.param .u64 p) { .reg .b64 d; mov.u64 d, picture; ret; }
.visible .entry calls(.param .u64 p) { call odd; ret; }
)");
  EXPECT_EQ(parts.module().errors.size(), 1U);
  EXPECT_EQ(parts.Launch("good"), "");
  EXPECT_NE(parts.Launch("odd").find("unknown directive `.sometimes`"), std::string::npos);
  EXPECT_NE(parts.Launch("uses").find("`picture` is not declared here"), std::string::npos);
  EXPECT_NE(parts.Launch("calls").find("in `odd`"), std::string::npos);
}

TEST(Parts, CallsThroughARegisterFindOutWhenTheyRun) {
  Parts parts(R"(.func broken() { frob.x; ret; }
.visible .entry jumps(.param .u64 p) {
.reg .b64 d; mov.u64 d, broken;
proto: .callprototype _ ();
call d, proto;
ret; }
)");
  EXPECT_EQ(parts.Launch("good"), "");
  EXPECT_NE(parts.Launch("jumps"), "");
}

TEST(Parts, ATextWithoutAHeaderIsNone) {
  Diagnostics diagnostics;
  EXPECT_EQ(ParseModuleInParts(SourceFile("x", "This is no PTX.\nNot at all;\n{}"), &diagnostics),
            nullptr);
  EXPECT_EQ(diagnostics.count(), 1U);
}

// As before: a module that is wanted as a whole is refused as a whole.
TEST(Parts, AWholeModuleHasNoErrors) {
  const std::string text =
      std::string(kHeader) + ".entry a() { frob; }\n.entry b() { ret; }\n.entry c() { grob; }\n";
  EXPECT_EQ(CountErrors(text), 2U);
  EXPECT_LT(ErrorsOf(text).find("frob"), ErrorsOf(text).find("grob"));
}

// ---- one fault, one error ----------------------------------------------------------------------

std::string Many(const std::string& line, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line;
  return text;
}

TEST(Recovery, ListsInBracesDoNotEndTheFunction) {
  const std::string rest = Many("add.u32 r1, r2, r3;\n", 1000);
  for (const char* const statement :
       {"mov.b64 d, {h0, nobody, 3, 4};", "st.global.v2.b32 [d], {r1, $};",
        "ld.global.v2.b32 {r1, r2, r3}, [d];", "frob {r1, r2}, {r3};", "mov.b64 {r1, r2, d;",
        "mov.b64 d, {{r1, r2}, r3};"}) {
    const std::string text = Body(".reg .b16 h<4>; .reg .b32 r<4>; .reg .b64 d;\n" +
                                  std::string(statement) + "\n" + rest) +
                             ".visible .entry other() { ret; }\n";
    EXPECT_EQ(CountErrors(text), 1U) << statement << "\n" << ErrorsOf(text).substr(0, 2000);
  }
}

TEST(Recovery, ANameThatIsNotDeclaredIsSaidOnce) {
  EXPECT_EQ(CountErrors(Body(".reg .b32 r;\n" + Many("add.u32 r, x, x;\n", 1000))), 1U);
  EXPECT_EQ(CountErrors(
                Body(".reg .v4 .b32 v, w;\n.reg .texref t<9>;\n.reg .b32 r;\n" +
                     Many("mov.b32 r, v; mov.b32 w, r; mov.b32 t3, t8; ld.b32 r, [t1];\n", 1000))),
            2U);
  EXPECT_EQ(
      CountErrors(Body(".local .align 3 .b8 x[4]; .reg .b64 d;\n" + Many("mov.u64 d, x;\n", 1000))),
      1U);
  EXPECT_EQ(CountErrors(Body(".reg .b64 d;\n" + Many("call d, nothing;\n", 1000))), 1U);
  // In each function, whose error it is.
  const std::string text = "{ .reg .b32 r; add.u32 r, r, x; ret; }\n";
  EXPECT_EQ(CountErrors(kHeader + (".entry a()" + text) + ".entry b()" + text), 2U);
}

TEST(Recovery, GoesOnAtTheNextDirective) {
  const std::string code = Many("add.u32 r1, r2, r3;\n", 1000);
  // A brace too many ends the function.
  EXPECT_EQ(CountErrors(Body(".reg .b32 r<4>;\n}\n" + code) + ".entry other() { ret; }\n"), 1U);
  EXPECT_EQ(CountErrors(kHeader + (".global .b32 x[2] = {1, 2, 3, {4}};\n" + code)), 2U);
  EXPECT_EQ(CountErrors(kHeader + (".nonsense {\n" + code + "}\n.entry k() { frob; }\n")), 2U);
  EXPECT_EQ(CountErrors(kHeader + std::string("$ $ $ $\n.entry k() { ret; }\n")), 1U);
  EXPECT_EQ(CountErrors(kHeader +
                        (".entry k() { .reg .b32 r\n {.reg .b32 r<4>;\n" + code + "} ret; }\n")),
            1U);
}

TEST(Recovery, FurtherErrorsAreCounted) {
  const std::string text =
      Body(Many("frob;\n", 500)) + ".entry l() { " + Many("grob; ", 500) + "}\n";
  EXPECT_EQ(CountErrors(text), 1000U);
  const std::string errors = ErrorsOf(text);
  EXPECT_NE(errors.find("... and 900 more errors"), std::string::npos);
  EXPECT_LT(std::ranges::count(errors, '\n'), 500);
}

TEST(Recovery, ArgumentsAreAsWideAsParameters) {
  const std::string head = kHeader + std::string(".func f(.param .b64 a) { ret; }\n");
  EXPECT_EQ(ErrorsOf(head + ".entry k() { .param .b32 x; call f, (x); }\n")
                .find("test.ptx:5:34: error: parameter or result 1 of `f` has 8 bytes, and 4 are "
                      "given [call-size]"),
            0U);
  EXPECT_EQ(CountErrors(head + ".entry k() { .param .b64 x; call f, (x); }\n"), 0U);
  // What calls itself vprintf and takes something else is not that of CUDA.
  EXPECT_EQ(
      CountErrors(kHeader + std::string(".extern .func vprintf;\n.entry k() { call vprintf; }\n")),
      1U);
}

}  // namespace
}  // namespace tarsia::ptx::parts_test
