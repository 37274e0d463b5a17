// What scans, lookups and atomics at gathered places emit: nothing of shared memory where elements
// and tables lie in one warp, and as few instructions as their ways need.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/compile.h"
#include "tests/codegen/machine_code.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

std::string PtxOf(const std::string& text, compiler::Target target) {
  const Made made = MakeProgram(SourceFile("k.tsa", text), "", {});
  EXPECT_TRUE(made.program) << made.error << text;
  if (!made.program) return "";
  const auto kernel = compiler::Compile(*made.program, target);
  EXPECT_TRUE(kernel.ok()) << text;
  return kernel.ok() ? kernel->ptx : "";
}

void ExpectInRegisters(const std::string& ptx) {
  EXPECT_EQ(Occurrences(ptx, "bar."), 0);
  EXPECT_EQ(Occurrences(ptx, ".shared."), 0);
}

// ---- scans -----------------------------------------------------------------------------------

struct ScanCase {
  const char* name;
  const char* type;
  const char* scan;
  const char* layout;
  size_t shuffles;           // of 32 bits
  bool in_registers = true;  // what is loaded and stored, too
};

// 16 rows of 128 elements.
std::string ScanKernel(const ScanCase& c) {
  return fmt::format(
      "kernel k(%x: ptr<{0}>, %y: ptr<{0}>)\n  warps 4\n{{\n"
      "  %gx = view %x : global<{0}>[16, 128]\n  %gy = view %y : global<{0}>[16, 128]\n"
      "  %t = load %gx[0, 0] : [16, 128] {2}\n  %s = {1}\n  store %gy[0, 0], %s\n}}\n",
      c.type, c.scan, c.layout);
}

class ScanCode : public testing::TestWithParam<ScanCase> {};

TEST_P(ScanCode, StaysInRegisters) {
  const std::string ptx = PtxOf(ScanKernel(GetParam()), compiler::Target::kSm80);
  EXPECT_EQ(Occurrences(ptx, "shfl.sync"), GetParam().shuffles);
  if (GetParam().in_registers) ExpectInRegisters(ptx);
}

constexpr char kRows[] = "local(4, 1) * spatial(4, 32) * local(1, 4)";
constexpr char kInThreads[] = "replicate(8) * spatial(16, 1) * local(1, 128)";

// 4 rows a thread with 4 neighbours each, over 32 lanes: 5 steps and one for what comes before; in
// one thread none.
constexpr ScanCase kScans[] = {
    {"f32_sum", "f32", "scan.sum %t axis 1", kRows, 24},
    {"i32_sum_exclusive", "i32", "scan.sum %t axis 1 exclusive", kRows, 24},
    {"f16_max_reverse", "f16", "scan.max %t axis 1 reverse", kRows, 24},
    {"i64_sum", "i64", "scan.sum %t axis 1", kRows, 48, false},
    {"f64_prod_in_threads", "f64", "scan.prod %t axis 1", kInThreads, 0, false},
};

INSTANTIATE_TEST_SUITE_P(Rows, ScanCode, testing::ValuesIn(kScans),
                         [](const auto& of) { return of.param.name; });

// A block of one warp or of warps with rows of their own: without layouts from the text.
TEST(ScanCode, OfRowsNeedsNoLayoutFromTheText) {
  for (const char* const scan :
       {"scan.sum %t axis 1", "scan.sum %t axis 0", "scan.max %t axis 1"}) {
    SCOPED_TRACE(scan);
    ExpectInRegisters(PtxOf(
        fmt::format("kernel k(%x: ptr<f32>, %y: ptr<f32>)\n  warps 1\n{{\n"
                    "  %gx = view %x : global<f32>[16, 64]\n  %gy = view %y : global<f32>[16, 64]\n"
                    "  %t = load %gx[0, 0] : [16, 64]\n  %s = {}\n  store %gy[0, 0], %s\n}}\n",
                    scan),
        compiler::Target::kSm90a));
  }
}

// ---- the largest elements ----------------------------------------------------------------------

struct TopKCase {
  const char* name;
  const char* type;
  const char* row;
  const char* layout;
  size_t reductions, shuffles;
};

class TopKCode : public testing::TestWithParam<TopKCase> {};

TEST_P(TopKCode, StaysInRegisters) {
  const TopKCase& c = GetParam();
  const std::string ptx = PtxOf(
      fmt::format("kernel k(%x: ptr<{0}>, %y: ptr<{0}>, %i: ptr<i32>)\n  warps 4\n{{\n"
                  "  %gx = view %x : global<{0}>[16, 128]\n  %gy = view %y : global<{0}>[16, 4]\n"
                  "  %gi = view %i : global<i32>[16, 4]\n"
                  "  %t = load %gx[0, 0] : [16, 128] {2}\n  %v, %a = {1}\n"
                  "  store %gy[0, 0], %v\n  store %gi[0, 0], %a\n}}\n",
                  c.type, c.row, c.layout),
      compiler::Target::kSm80);
  EXPECT_EQ(Occurrences(ptx, "redux.sync"), c.reductions);
  EXPECT_EQ(Occurrences(ptx, "shfl.sync"), c.shuffles);
  ExpectInRegisters(ptx);
}

// 4 rows a thread, of which 4 elements are found: as many turns, each of one word or two.
constexpr TopKCase kTopKs[] = {
    {"f16", "f16", "topk %t, 4 axis 1", kRows, 16, 0},
    {"i8_smallest", "i8", "topk %t, 4 axis 1 smallest", kRows, 16, 0},
    {"f32", "f32", "topk %t, 4 axis 1", kRows, 32, 0},
    {"f16_of_8_lanes", "f16", "topk %t, 4 axis 1", "spatial(16, 8) * local(1, 16)", 0, 4 * 3},
    {"u32_in_threads", "u32", "topk %t, 4 axis 1", kInThreads, 0, 0},
};

INSTANTIATE_TEST_SUITE_P(Rows, TopKCode, testing::ValuesIn(kTopKs),
                         [](const auto& of) { return of.param.name; });

// ---- lookups ---------------------------------------------------------------------------------

struct LookupCase {
  const char* name;
  const char* codes;
  const char* elements;
  size_t permutes, shuffles, barriers;
};

std::string LookupKernel(const LookupCase& c, const std::string& row = "lookup %c, %b") {
  const int entries = 1 << (c.codes[1] - '0');
  return fmt::format(
      "kernel k(%x: ptr<u8>, %t: ptr<{1}>, %y: ptr<{1}>)\n  warps 1\n{{\n"
      "  %gx = view %x : global<{0}>[32, 16]\n  %gt = view %t : global<{1}>[{2}]\n"
      "  %gy = view %y : global<{1}>[32, 16]\n"
      "  %c = load %gx[0, 0] : [32, 16] spatial(32, 1) * local(1, 16)\n"
      "  %b = load %gt[0] : [{2}]\n  %v = {3}\n  store %gy[0, 0], %v\n}}\n",
      c.codes, c.elements, entries, row);
}

class LookupCode : public testing::TestWithParam<LookupCase> {};

TEST_P(LookupCode, TakesItsWay) {
  const LookupCase& c = GetParam();
  const std::string ptx = PtxOf(LookupKernel(c), compiler::Target::kSm80);
  EXPECT_EQ(Occurrences(ptx, "prmt.b32"), c.permutes);
  EXPECT_EQ(Occurrences(ptx, "shfl.sync"), c.shuffles);
  // Barriers of accesses to the other tiles are those of a cast.
  const std::string cast =
      PtxOf(LookupKernel(c, fmt::format("cast %c : {}", c.elements)), compiler::Target::kSm80);
  EXPECT_EQ(Occurrences(ptx, "bar.sync"), Occurrences(cast, "bar.sync") + c.barriers);
}

// 16 codes a thread. Of four codes: three permutations a byte for 16 entries and one for up to 8,
// and two for the halves of the results; once the bytes of the table's 8 words.
constexpr LookupCase kLookups[] = {
    {"u4_to_f16", "u4", "f16", 4 * (3 + 3 + 2) + 8, 0, 0},
    {"u4_to_u8", "u4", "u8", 4 * 3, 0, 0},
    {"u4_to_f32", "u4", "f32", 0, 16, 0},
    {"u4_to_f64", "u4", "f64", 0, 32, 0},
    {"u5_to_bf16", "u5", "bf16", 0, 16, 0},
    {"u8_to_f16", "u8", "f16", 0, 0, 2},
};

INSTANTIATE_TEST_SUITE_P(Types, LookupCode, testing::ValuesIn(kLookups),
                         [](const auto& of) { return of.param.name; });

// ---- atomics at gathered places --------------------------------------------------------------

// 16 elements a thread, each with one instruction.
TEST(ScatterCode, IsOneInstructionAnElement) {
  const std::string text =
      "kernel k(%m: ptr<i32>, %k: ptr<i32>)\n  warps 1\n{\n"
      "  %gm = view %m : global<i32>[100, 64]\n  %gk = view %k : global<i32>[8]\n"
      "  %i = load %gk[0] : [8]\n  %v = fill 1 : i32 [8, 64]\n"
      "  red.scatter.add %gm, %i, %v\n}\n";
  EXPECT_EQ(Occurrences(PtxOf(text, compiler::Target::kSm80), "atom.global"), 16);
}

std::string ScatterOfHalves(const std::string& type, const std::string& axis) {
  return fmt::format(
      "kernel k(%m: ptr<{0}>, %k: ptr<i32>, %x: ptr<{0}>)\n  warps 1\n{{\n"
      "  %gm = view %m : global<{0}>[64, 64]\n  %gk = view %k : global<i32>[64]\n"
      "  %gx = view %x : global<{0}>[64, 64]\n  %i = load %gk[0] : [64]\n"
      "  %t = load %gx[0, 0] : [64, 64]\n  red.scatter.add %gm, %i, %t axis {1}\n}}\n",
      type, axis);
}

// 128 elements a thread. Neighbours beside the axis are added in pairs, on sm_90a of global memory
// in 16 bytes; along the axis each goes to a place of its own.
TEST(ScatterCode, AddsNeighboursBesideTheAxisTogether) {
  const auto count = [](const std::string& ptx, const std::string& what) {
    return Occurrences(ptx, what + ".global.add.noftz.");
  };
  const std::string rows = ScatterOfHalves("f16", "0");
  EXPECT_EQ(count(PtxOf(rows, compiler::Target::kSm80), "red"), 128 / 2);
  EXPECT_EQ(count(PtxOf(rows, compiler::Target::kSm90a), "red"), 128 / 8);
  const std::string halves = ScatterOfHalves("bf16", "0");
  EXPECT_EQ(count(PtxOf(halves, compiler::Target::kSm90a), "red"), 128 / 8);
  const std::string columns = PtxOf(ScatterOfHalves("f16", "1"), compiler::Target::kSm80);
  EXPECT_EQ(count(columns, "red"), 0);
  EXPECT_EQ(count(columns, "atom"), 128);
}

// Rows of a table in accesses of 16 bytes.
TEST(GatherCode, LoadsNeighboursBesideTheAxisTogether) {
  const std::string text =
      "kernel k(%x: ptr<f16>, %k: ptr<i32>, %y: ptr<f16>)\n  warps 1\n{\n"
      "  %gx = view %x : global<f16>[100, 64]\n  %gk = view %k : global<i32>[8]\n"
      "  %gy = view %y : global<f16>[8, 64]\n  %i = load %gk[0] : [8]\n"
      "  %t = gather %gx, %i\n  store %gy[0, 0], %t\n}\n";
  const std::string ptx = PtxOf(text, compiler::Target::kSm80);
  EXPECT_EQ(Occurrences(ptx, "ld.global.v4.b32"), 2);
  EXPECT_EQ(Occurrences(ptx, "st.global.v4.b32"), 2);
}

}  // namespace
}  // namespace tarsia::harness
