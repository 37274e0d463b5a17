// Errors of the text, as they are shown, and what parsing gives.
#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::parser_test {
namespace {

std::string Body(const std::string& text) {
  return std::string(kHeader) + ".visible .entry k(.param .u64 p) {\n" + text + "\nret;\n}\n";
}

// The first line of the errors, without file and place.
void ExpectError(const std::string& text, const std::string& expected) {
  const std::string errors = ErrorsOf(text);
  EXPECT_NE(errors.find(expected), std::string::npos) << text << errors;
}

TEST(Parser, ShowsTheWordAndItsPlace) {
  EXPECT_EQ(ErrorsOf(Body(".reg .b32 r<4>;\nadd.rx.u32 r1, r2, r3;")),
            "test.ptx:6:4: error: `add` does not take `.rx` here [unknown-modifier]\n"
            "  add.rx.u32 r1, r2, r3;\n"
            "     ^~~\n");
  EXPECT_EQ(ErrorsOf(Body("bdd.u32 r1, r2, r3;")),
            "test.ptx:5:1: error: unknown instruction `bdd` [unknown-instruction]\n"
            "  bdd.u32 r1, r2, r3;\n"
            "  ^~~\n"
            "  help: did you mean `add`?\n");
  EXPECT_EQ(ErrorsOf(Body(".reg .b32 r<4>;\nadd.u32 r1, r2, s;")),
            "test.ptx:6:17: error: `s` is not declared here [unknown-name]\n"
            "  add.u32 r1, r2, s;\n"
            "                  ^\n");
}

TEST(Parser, ReportsEveryError) {
  const std::string errors = ErrorsOf(Body(
      ".reg .b32 r<4>; .reg .b64 d<4>;\nadd.u32 r1, r2;\nadd.u32 r1, d2, r3;\nmul.u32 r1, r1, r1;\n"
      "bra nowhere;\nsetp.eq.u32 r1, r2, r3;\nadd.f32 r1, r2, 3;\nld.global.u32 r1, [r7];"));
  for (const char* words :
       {"`add` takes another number of operands", "`d2` has 64 bits",
        "`mul` is not complete: expected one of .lo, .hi, .wide", "label `nowhere` is not defined",
        "`r1` has 32 bits", "a float, as in", "`r7` is not declared"}) {
    EXPECT_NE(errors.find(words), std::string::npos) << words << "\n" << errors;
  }
}

TEST(Parser, KnowsWhatIsMissing) {
  ExpectError("", "PTX begins with .version and .target");
  ExpectError(Body("setp.eq r1, r2;"), "`setp` is not complete: expected one of .b16");
  ExpectError(Body(".reg .b32 r<3>\nret;"), "expected `;`");
  ExpectError(std::string(kHeader) + ".entry k() {", "expected `}`");
  ExpectError(std::string(kHeader) + ".nonsense x;", "unknown directive `.nonsense`");
  ExpectError(Body("\x01"), "this is not a text: it has the control character 0x01");
  ExpectError(Body("\u00e9"), "a character that PTX does not use");
  ExpectError(Body(".reg .b32 r; mov.u32 r, 0xZZ;"), "`0xZZ` is not a number");
  ExpectError(Body(".reg .b32 r, r;"), "`r` is declared twice");
  ExpectError(Body(".reg .b32 r; ld.shared.u32 r, [r-4];"), "expected `]`");
  ExpectError(Body("x: x: ret;"), "`x` is declared twice");
  ExpectError(Body("call nobody;"), "`nobody` is not declared");
  ExpectError(std::string(kHeader) + ".func f(.param .b32 a);\n.entry k() { call f; }",
              "function `f` is called and not defined");
  ExpectError(std::string(kHeader) + ".func f(.param .b32 a) { ret; }\n.entry k() { call f; }",
              "`f` takes 1 arguments and gives 0 results");
  ExpectError(
      Body(".reg .b32 r<9>;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {r0,r1,r2,r3}, "
           "{r0,r1}, {r0,r1}, {r0,r1,r2,r3};"),
      "`mma` has no such form");
  ExpectError(Body(".reg .b32 r<9>; .reg .b64 d;\natom.global.inc.b32 r1, [d], r2;"),
              "`atom` has no such form");
  for (const char* words :
       {"setp.lt.b32 q, r1, r2;", "setp.lo.s32 q, r1, r2;", "add.sat.bf16 h1, h2, h3;",
        "fma.rn.sat.relu.f16 h1, h2, h3, h1;", "ex2.approx.bf16 h1, h2;",
        "atom.global.exch.u32 r1, [d], r2;", "atom.global.add.f16 h1, [d], h2;",
        "set.eq.f16.bf16 h1, h2, h3;", "cvt.sat.s32.s16 r1, h1;",
        "cp.async.ca.shared.global [r1], [d], 32;", "cp.async.cg.shared.global [r1], [d], 8;",
        "cp.async.ca.shared.global [r1], [d], r2;"}) {
    ExpectError(
        Body(std::string(".reg .b16 h<9>; .reg .b32 r<9>; .reg .b64 d; .reg .pred q;\n") + words),
        "has no such form");
  }
  ExpectError(Body(".local .align 3 .b8 x[4];"), "the alignment is larger");
  ExpectError(Body(".local .b8 x[99999999999];"), "the variable is larger");
  ExpectError(std::string(kHeader) + ".global .b32 x[2] = {1, 2, 3};", "no more values");
  ExpectError(Body(".reg .v2 .b32 x;"), "`v2` is not a type");
}

TEST(Parser, ReadsOverWhatDoesNotMatter) {
  const SourceFile source("test.ptx", R"(// a comment
/* and
 another */
.version 9.0
.target sm_90a, debug
.address_size 64
.file 1 "a.cu", 12345, 99
.weak .func (.param .b32 r) helper(.param .b64 .ptr .align 8 a) .noreturn { .pragma "x"; ret; }
.visible .entry k(
  .param .u64 .ptr .global .align 16 a,
  .param .align 4 .b8 s[12]
)
.maxntid 128, 2
.minnctapersm 2
.maxnreg 64
{
  .reg .pred %p<2>;
  .loc 1 3 7, function_name $L__info_string0, inlined_at 1 9 1
$L__x:
  .pragma "nounroll";
  { .reg .b32 %t; mov.u32 %t, 1; }
  { .reg .b64 %t; mov.u64 %t, 1; }
  ret;
}
.section .debug_str { info: .b8 1, 2 .b8 0 }
)");
  Diagnostics diagnostics;
  const auto module = ParseModule(source, &diagnostics);
  ASSERT_NE(module, nullptr) << diagnostics.Render(source);
  const Function* entry = module->FindEntry("k");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->params.size(), 2U);
  EXPECT_EQ(entry->params[1].offset, 8U);
  EXPECT_EQ(entry->params[1].bytes, 12U);
  EXPECT_EQ(entry->param_bytes, 20U);
  EXPECT_EQ(entry->max_threads, (std::array<uint32_t, 3>{128, 2, 1}));
  EXPECT_EQ(entry->min_blocks_per_sm, 2U);
  EXPECT_EQ(entry->max_registers, 64U);
  EXPECT_EQ(module->version, "9.0");
  EXPECT_EQ(module->targets, (std::vector<std::string>{"sm_90a", "debug"}));
}

TEST(Launch, RefusesWhatADriverRefuses) {
  Machine machine(
      std::string(kHeader) +
      ".shared .b8 x[1000];\n.visible .entry k(.param .u64 p) .maxntid 64 {\n"
      ".reg .b32 r; mov.u32 r, x; ret; }\n.visible .entry q() .reqntid 8, 4 { ret; }\n");
  std::vector<uint8_t> bytes(8);
  LaunchConfig config;
  config.parameters = bytes;
  const auto error = [&](const char* entry) {
    const auto report = Launch(machine.image(), entry, config);
    return report.ok() ? "" : report.error().message;
  };
  config.block = {64};
  EXPECT_EQ(error("k"), "");
  EXPECT_EQ(error("z"), "the module has no entry `z`");
  config.block = {65};
  EXPECT_EQ(error("k"),
            "a block of 65 x 1 x 1 threads cannot be launched: the entry takes at most 64");
  config.block = {2048};
  EXPECT_NE(error("k").find("1 to 1024"), std::string::npos);
  config.block = {32};
  config.grid = {0};
  EXPECT_NE(error("k").find("a grid of 0"), std::string::npos);
  config.grid = {1};
  config.dynamic_shared = 227 * 1024;
  EXPECT_NE(error("k").find("shared memory"), std::string::npos);
  config.dynamic_shared = 0;
  config.parameters = {};
  EXPECT_EQ(error("k"), "`k` takes 8 bytes of parameters, and 0 are given");
  EXPECT_NE(error("q").find("requires 8 x 4 x 1"), std::string::npos);
  config.block = {8, 4};
  EXPECT_EQ(error("q"), "");
  EXPECT_EQ(machine.image().FindEntry("k")->static_shared, 1000U);
  EXPECT_EQ(machine.image().FindEntry("q")->static_shared, 0U);
}

TEST(Image, PlacesVariables) {
  Machine machine(std::string(kHeader) +
                  ".visible .global .align 8 .f64 x[3] = {1.0, -2.5, 0d3FF0000000000000};\n"
                  ".visible .const .b8 y[2][2] = {{1, 2}, {3, 255}};\n.visible .global .f32 z;\n");
  const auto x = machine.image().FindGlobal("x");
  ASSERT_TRUE(x.has_value());
  EXPECT_EQ(x->bytes, 24U);
  EXPECT_EQ(machine.Get<double>(x->address, 3), (std::vector<double>{1, -2.5, 1}));
  const auto y = machine.image().FindGlobal("y");
  ASSERT_TRUE(y.has_value());
  EXPECT_EQ(machine.Get<uint8_t>(y->address, 4), (std::vector<uint8_t>{1, 2, 3, 255}));
  EXPECT_EQ(machine.Get<float>(machine.image().FindGlobal("z")->address, 1)[0], 0.0F);
  EXPECT_FALSE(machine.image().FindGlobal("w").has_value());
  // A second image of the module has variables of its own.
  Diagnostics diagnostics;
  Memory& memory = machine.memory();
  const uint64_t used = memory.used();
  const auto module = ParseModule(
      SourceFile("b.ptx", std::string(kHeader) + ".extern .global .b32 lost;\n"), &diagnostics);
  ASSERT_NE(module, nullptr);
  EXPECT_FALSE(Image::Load(module, &memory).ok());
  EXPECT_EQ(memory.used(), used);
}

}  // namespace
}  // namespace tarsia::ptx::parser_test
