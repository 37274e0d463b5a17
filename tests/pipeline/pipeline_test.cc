// `pipeline n` on every witness: the interpreter with `--check` after each pass, which finds early
// reads and races, and the emulator, on which asynchronous copies arrive as late as they may.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "compiler/pass.h"
#include "tests/harness/codec.h"
#include "tests/harness/program.h"
#include "tests/harness/run_case.h"

namespace tarsia::pipeline_test {
namespace {

using harness::Decode;
using harness::Tensor;

// Small integers, so that all sums are exact.
Tensor Random(DType type, const harness::Shape& shape, int least, int most, uint64_t seed) {
  Tensor out{type, shape, {}};
  std::mt19937_64 engine(seed);
  for (int64_t i = 0; i < harness::Elements(shape); ++i) {
    const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(least) + 1;
    const auto code =
        harness::EncodeExact(type, static_cast<double>((engine() >> 20) % range) + least);
    if (!code) std::abort();  // a mistake in this file
    out.codes.push_back(*code);
  }
  return out;
}

harness::Expectation Exactly(const harness::Shape& shape, const std::vector<double>& values) {
  Tensor out{kF32, shape, {}};
  for (const double value : values) {
    const auto code = harness::EncodeExact(kF32, value);
    if (!code) std::abort();
    out.codes.push_back(*code);
  }
  return harness::Expectation::Exact(out);
}

struct Loop {
  std::string text;        // the bounds and the hints
  std::vector<int> turns;  // its counters, in their order
};

std::vector<int> Counters(int start, int stop, int step = 1) {
  std::vector<int> out;
  for (int i = start; i < stop; i += step) out.push_back(i);
  return out;
}

// y = ((a0 b0) * 3 + a1 b1) * 3 + ..: the order of the turns matters.
struct Product {
  std::string head;  // parameters after the pointers
  Loop loop;
  std::string load_b = "%fb = load %gb[%t * 16, 0] : [16, 32]";
  std::string layout_b;
  DType type_b = kF16;
  int64_t rows = 32;  // of y
  int64_t columns = 32;
  std::vector<harness::ScalarInput> scalars;
};

harness::Case CaseOf(const Product& p, int64_t depth) {
  harness::Case c;
  c.title = p.loop.text;
  const std::string text = "kernel product(%a: ptr<f16>, %b: ptr<" +
                           std::string(p.type_b.bits < 8 ? "u8" : DTypeName(p.type_b)) +
                           ">, %y: ptr<f32>" + p.head + R"()
  warps 2
{
  %ga = view %a : global<f16>[)" +
                           std::to_string(p.rows) + ", " + std::to_string(depth) + R"(]
  %gb = view %b : global<)" +
                           std::string(DTypeName(p.type_b)) + ">[" + std::to_string(depth) + ", " +
                           std::to_string(p.columns) + "]" + p.layout_b + R"(
  %gy = view %y : global<f32>[)" +
                           std::to_string(p.rows) + ", " + std::to_string(p.columns) + R"(]
  %acc = fill 0.0 : f32 [32, 32]
  for %t = )" + p.loop.text +
                           R"( {
    %ta = load %ga[0, %t * 16] : [32, 16]
    )" + p.load_b + R"(
    %acc = mul %acc, 3.0
    %acc = dot %ta, %fb, %acc
  }
  store %gy[0, 0], %acc
}
)";
  c.source = SourceFile("product.tsa", text);
  const Tensor a = Random(kF16, {p.rows, depth}, -3, 3, 1);
  const Tensor b = Random(p.type_b, {depth, p.columns}, p.type_b.IsSigned() ? -3 : 0, 3, 2);
  std::vector<double> y(static_cast<size_t>(p.rows * p.columns));
  for (const int t : p.loop.turns) {
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.columns; ++j) {
        double& sum = y[static_cast<size_t>(i * p.columns + j)];
        sum *= 3;
        for (int64_t k = 16 * t; k < 16 * t + 16; ++k) {
          sum += Decode(kF16, a.codes[static_cast<size_t>(i * depth + k)]) *
                 Decode(p.type_b, b.codes[static_cast<size_t>(k * p.columns + j)]);
        }
      }
    }
  }
  c.scalars = p.scalars;
  c.inputs = {{"a", a}, {"b", b}};
  c.outputs = {{"y", Exactly({p.rows, p.columns}, y)}};
  return c;
}

// How often an instruction stands in the program after the pass.
size_t Count(const harness::Case& c, Opcode opcode) {
  const harness::Made made = harness::MakeProgram(c.source, c.kernel, c.constants);
  if (!made.program) return 0;
  compiler::PassOptions options;
  options.last = "pipeline";
  const Result<Program> after = compiler::ProgramAfter(*made.program, options, {});
  if (!after.ok()) return 0;
  size_t out = 0;
  for (const Inst& inst : after->kernel().code) out += inst.opcode == opcode ? 1 : 0;
  return out;
}

void Check(const Product& p, int64_t depth = 16 * 9) {
  const harness::Case c = CaseOf(p, depth);
  SCOPED_TRACE(c.source.text());
  EXPECT_GT(Count(c, Opcode::kCopyAsync), 0u);
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

constexpr const char* kHints[] = {"pipeline 2",          "pipeline 3",
                                  "pipeline 4",          "pipeline 3 unroll 1",
                                  "pipeline 2 unroll 3", "pipeline 4 unroll 2"};

TEST(Pipeline, OfKnownTurns) {
  for (const std::string hints : kHints) {
    for (const int turns : {2, 3, 4, 5, 6, 9}) {
      Product p;
      p.loop = {"0 to " + std::to_string(turns) + " " + hints, Counters(0, turns)};
      Check(p);
    }
  }
}

TEST(Pipeline, OfAnyNumberOfTurns) {
  for (const std::string hints : kHints) {
    for (const int turns : {0, 1, 2, 4, 5, 9}) {
      Product p;
      p.head = ", %n: i32";
      p.scalars = {{"n", static_cast<uint64_t>(turns)}};
      p.loop = {"0 to %n " + hints, Counters(0, turns)};
      Check(p);
    }
  }
}

TEST(Pipeline, OfStepsFromAnyStart) {
  for (const std::string hints : kHints) {
    Product p;
    p.loop = {"1 to 8 step 2 " + hints, Counters(1, 8, 2)};
    Check(p);
    p.head = ", %s: i32, %n: i32";
    p.scalars = {{"s", 2}, {"n", 9}};
    p.loop = {"%s to %n step 3 " + hints, Counters(2, 9, 3)};
    Check(p);
    // The first turn is no multiple of the step, nor below it.
    p.loop = {"3 to 9 " + hints, Counters(3, 9)};
    Check(p);
    p.scalars = {{"s", 3}, {"n", 9}};
    p.loop = {"%s to %n step 2 " + hints, Counters(3, 9, 2)};
    Check(p);
  }
}

// Rows and columns that do not exist are zeros, in the copies too.
TEST(Pipeline, OfTilesBeyondTheTensor) {
  Product p;
  p.rows = 20;
  p.columns = 24;
  p.loop = {"0 to 5 pipeline 3", Counters(0, 5)};
  Check(p);
}

TEST(Pipeline, OfColumns) {
  Product p;
  p.layout_b = " column_major";
  p.loop = {"0 to 7 pipeline 3", Counters(0, 7)};
  Check(p);
}

// Codes go from the ring to registers, and as f16 through a tile of the turn to other threads.
TEST(Pipeline, OfCodes) {
  for (const DType type : {kU8, *FindDType("u4")}) {
    for (const std::string hints : {"pipeline 3", "pipeline 4 unroll 1"}) {
      Product p;
      p.type_b = type;
      p.load_b = "%tb = load %gb[%t * 16, 0] : [16, 32]\n    %fb = cast %tb : f16";
      p.loop = {"0 to 7 " + hints, Counters(0, 7)};
      Check(p);
    }
  }
}

// Rows of codes that are no whole bytes are copied as bytes, and read from the ring as codes.
TEST(Pipeline, OfRowsOfCodesAsBytes) {
  harness::Case c;
  c.title = "codes";
  c.source = SourceFile("codes.tsa", R"(kernel codes(%w: ptr<u8>, %y: ptr<f32>)
  const HINT: int
  warps 2
{
  %gw = view %w : global<u3>[72, 256]
  %gy = view %y : global<f32>[8, 256]
  %s = fill 0.0 : f32 [8, 256]
  for %i = 0 to 9 pipeline HINT {
    %q = load %gw[%i * 8, 0] : [8, 256]
    %f = cast %q : f32
    %s = mul %s, 2.0
    %s = add %s, %f
  }
  store %gy[0, 0], %s
}
)");
  const Tensor w = Random(*FindDType("u3"), {72, 256}, 0, 7, 11);
  std::vector<double> y(size_t{8} * 256, 0);
  for (size_t t = 0; t < 9; ++t) {
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = 2 * y[i] + static_cast<double>(w.codes[t * y.size() + i]);
    }
  }
  c.inputs = {{"w", w}};
  c.outputs = {{"y", Exactly({8, 256}, y)}};
  for (const char* const hint : {"2", "3", "4"}) {
    c.constants = {{"HINT", hint}};
    EXPECT_GT(Count(c, Opcode::kCopyAsync), 0u);
    EXPECT_GE(Count(c, Opcode::kView), 4u) << "of both memories as bytes";
    const harness::CaseResult result = harness::RunEverywhere(c);
    EXPECT_TRUE(result.ok()) << result.Text(c);
  }
}

// The author says how the tiles arrive, with and without the hint, alone and together.
TEST(Pipeline, AsTheAuthorSays) {
  for (const std::string hints : {"", " pipeline 3", " pipeline 2 unroll 1"}) {
    for (const std::string via : {"registers", "async", "shared"}) {
      Product p;
      p.loop = {"0 to 7" + hints, Counters(0, 7)};
      p.load_b = "%fb = load %gb[%t * 16, 0] via " + via + " : [16, 32]";
      Check(p);
    }
  }
}

// Of a loop without the hint and without a product, only loads that the author wants ahead are.
TEST(Pipeline, OfOneLoadByItsAttribute) {
  harness::Case c;
  c.title = "sums";
  c.source = SourceFile("sums.tsa", R"(kernel sums(%x: ptr<f32>, %y: ptr<f32>)
  warps 2
{
  %gx = view %x : global<f32>[9, 64]
  %gy = view %y : global<f32>[1, 64]
  %s = fill 0.0 : f32 [1, 64]
  for %i = 0 to 8 {
    %t = load %gx[%i, 0] via async : [1, 64]
    %u = load %gx[%i + 1, 0] : [1, 64]
    %s = mul %s, 2.0
    %s = fma %t, %u, %s
  }
  store %gy[0, 0], %s
}
)");
  const Tensor x = Random(kF32, {9, 64}, -9, 9, 9);
  std::vector<double> y(64, 0);
  for (size_t i = 0; i < 8; ++i) {
    for (size_t k = 0; k < 64; ++k) {
      y[k] = y[k] * 2 + Decode(kF32, x.codes[i * 64 + k]) * Decode(kF32, x.codes[i * 64 + 64 + k]);
    }
  }
  c.inputs = {{"x", x}};
  c.outputs = {{"y", Exactly({1, 64}, y)}};
  EXPECT_EQ(Count(c, Opcode::kAllocShared), 1u);
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

// An address by scalars and views of the turn.
TEST(Pipeline, OfSlices) {
  Product p;
  p.load_b =
      "%k = mul %t, 16\n    %sb = slice %gb[%k, 0] : [16, 32]\n"
      "    %fb = load %sb[0, 0] : [16, 32]";
  p.loop = {"0 to 7 pipeline 3", Counters(0, 7)};
  Check(p);
}

// The elements are needed in the product, and as they were loaded.
TEST(Pipeline, OfElementsWithTwoUses) {
  Product p;
  p.load_b =
      "%fb = load %gb[%t * 16, 0] : [16, 32]\n    %zero = sub %fb, %fb\n"
      "    %none = reduce.sum %zero axes [0, 1]\n    %nothing = cast %none : f32\n"
      "    %rows = reshape %nothing : [1, 1]\n    %acc = add %acc, %rows";
  p.loop = {"0 to 7 pipeline 3", Counters(0, 7)};
  Check(p);
}

// The turns of a ring are one, side by side, up to where sums take half of the registers of a
// thread.
TEST(Pipeline, OfManySumsHasOneTurnAtATime) {
  const auto dots = [](int columns, const char* product) {
    harness::Case c;
    c.title = "sums";
    c.source =
        SourceFile("sums.tsa", std::string(R"(kernel sums(%a: ptr<f16>, %b: ptr<f16>, %y: ptr<f32>)
  const BN: int
  warps 4
{
  %ga = view %a : global<f16>[64, 512]
  %gb = view %b : global<f16>[512, BN]
  %gy = view %y : global<f32>[64, BN]
  %sum = fill 0.0 : f32 [64, BN]
  %none = fill 0.0 : f32 [64, BN]
  for %t = 0 to 32 pipeline 4 {
    %p = load %ga[0, %t * 16] : [64, 16]
    %q = load %gb[%t * 16, 0] : [16, BN]
    )") + product + R"(
  }
  store %gy[0, 0], %sum
}
)");
    c.constants = {{"BN", std::to_string(columns)}};
    return Count(c, Opcode::kDot);
  };
  constexpr size_t kLeftOver = 1;  // a second loop has the turns after the last round
  // 32 or 64 sums of a thread, and as many products of a turn.
  constexpr const char* kOfTurn = "%part = dot %p, %q, %none\n    %sum = fma %part, 3.0, %sum";
  EXPECT_EQ(dots(64, kOfTurn), 4 + kLeftOver);
  EXPECT_EQ(dots(128, kOfTurn), 1 + kLeftOver);
  // 128 sums, to which products are added in their place.
  EXPECT_EQ(dots(256, "%sum = dot %p, %q, %sum"), 4 + kLeftOver);
}

// x[i + d] = 2 x[i] + 1 in turn i: a turn reads what the d-th one before it wrote, so its load
// stays. It may store in a branch, too.
void CheckRecurrence(const std::string& store) {
  for (const int distance : {1, 2}) {
    harness::Case c;
    c.title = "recurrence";
    c.source = SourceFile("recurrence.tsa", R"(kernel recurrence(%x: ptr<f32>)
  const D: int
  warps 2
{
  %gx = view %x : global<f32>[12, 64]
  for %i = 0 to 8 pipeline 3 {
    %t = load %gx[%i, 0] : [1, 64]
    %t = mul %t, 2.0
    %t = add %t, 1.0
)" + store + R"(    sync
  }
}
)");
    c.constants = {{"D", std::to_string(distance)}};
    const Tensor x = Random(kF32, {12, 64}, -9, 9, 4);
    std::vector<double> y;
    for (const uint64_t code : x.codes) y.push_back(Decode(kF32, code));
    for (size_t i = 0; i < 8; ++i) {
      for (size_t k = 0; k < 64; ++k) {
        y[(i + static_cast<size_t>(distance)) * 64 + k] = 2 * y[i * 64 + k] + 1;
      }
    }
    c.inputs = {{"x", x}};
    c.outputs = {{"x", Exactly({12, 64}, y)}};
    EXPECT_EQ(Count(c, Opcode::kCopyAsync), 0u);
    const harness::CaseResult result = harness::RunEverywhere(c);
    EXPECT_TRUE(result.ok()) << result.Text(c);
  }
}

TEST(Pipeline, LeavesLoadsOfMemoryThatTheLoopWrites) {
  CheckRecurrence("    store %gx[%i + D, 0], %t\n");
  CheckRecurrence("    if %i < 8 {\n      store %gx[%i + D, 0], %t\n    }\n");
}

// A turn goes where the one before it says.
TEST(Pipeline, LeavesLoadsWhoseAddressATurnComputes) {
  harness::Case c;
  c.title = "walk";
  c.source = SourceFile("walk.tsa", R"(kernel walk(%x: ptr<f32>, %y: ptr<f32>)
  warps 2
{
  %gx = view %x : global<f32>[16, 64]
  %gy = view %y : global<f32>[8, 64]
  %at = mov 3
  for %i = 0 to 8 pipeline 3 {
    %t = load %gx[%at, 0] : [1, 64]
    %u = load %gx[%i, 0] : [1, 64]
    %t = sub %t, %u
    store %gy[%i, 0], %t
    %at = mov (%at * 5 + 1) % 16
  }
}
)");
  const Tensor x = Random(kF32, {16, 64}, -9, 9, 5);
  std::vector<double> y;
  for (size_t i = 0, at = 3; i < 8; ++i, at = (at * 5 + 1) % 16) {
    for (size_t k = 0; k < 64; ++k) {
      y.push_back(Decode(kF32, x.codes[at * 64 + k]) - Decode(kF32, x.codes[i * 64 + k]));
    }
  }
  c.inputs = {{"x", x}};
  c.outputs = {{"y", Exactly({8, 64}, y)}};
  EXPECT_GT(Count(c, Opcode::kCopyAsync), 0u);
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

// The ring is made anew in each turn of the outer loop, which has copies and so no ring of its own.
TEST(Pipeline, WithinALoop) {
  harness::Case c;
  c.title = "rows";
  c.source = SourceFile("rows.tsa", R"(kernel rows(%x: ptr<f32>, %y: ptr<f32>, %n: i32)
  warps 2
{
  %gx = view %x : global<f32>[4, 8, 64]
  %gy = view %y : global<f32>[4, 64]
  for %i = 0 to 4 pipeline 2 {
    %s = load %gx[%i, 0, 0] : [1, 1, 64]
    for %j = 0 to %n pipeline 3 {
      %t = load %gx[%i, %j, 0] : [1, 1, 64]
      %s = mul %s, 2.0
      %s = add %s, %t
    }
    %r = reshape %s : [1, 64]
    store %gy[%i, 0], %r
  }
}
)");
  const Tensor x = Random(kF32, {4, 8, 64}, -9, 9, 3);
  for (const int turns : {0, 1, 2, 8}) {
    std::vector<double> y;
    for (size_t i = 0; i < 4; ++i) {
      for (size_t k = 0; k < 64; ++k) {
        double sum = Decode(kF32, x.codes[i * 8 * 64 + k]);
        for (size_t j = 0; j < static_cast<size_t>(turns); ++j) {
          sum = sum * 2 + Decode(kF32, x.codes[(i * 8 + j) * 64 + k]);
        }
        y.push_back(sum);
      }
    }
    c.scalars = {{"n", static_cast<uint64_t>(turns)}};
    c.inputs = {{"x", x}};
    c.outputs = {{"y", Exactly({4, 64}, y)}};
    EXPECT_GT(Count(c, Opcode::kCopyAsync), 0u);
    const harness::CaseResult result = harness::RunEverywhere(c);
    EXPECT_TRUE(result.ok()) << result.Text(c);
  }
}

// y = (y * 2) + s[g] * (a[.., g] b[g, ..]), with b in tiles of 32 x 32 codes in packed order. The
// turns of a group become part of the loop over groups, whose scales come ahead, too.
struct Groups {
  int groups = 4;
  int turns = 2;     // of a group, each of 32 rows of b
  std::string stop;  // of the loop over groups; empty: a constant
  std::string hints = "pipeline 4";
  std::string type_b = "u4";
  int64_t columns = 64;  // of b, s and y; tiles have 64
};

std::string TextOf(const Groups& p) {
  const auto text = [](int64_t n) { return std::to_string(n); };
  const std::string group = text(32 * p.turns), depth = text(32 * p.turns * p.groups);
  const std::string columns = text(p.columns);
  return "kernel groups(%a: ptr<f16>, %b: ptr<u8>, %s: ptr<f32>, %y: ptr<f32>, %n: i32)\n"
         "  warps 2\n"
         "{\n"
         "  %ga = view %a : global<f16>[32, " +
         depth +
         "]\n"
         "  %gb = view %b : global<" +
         p.type_b + ">[" + depth + ", " + columns +
         "] "
         "packed(permute(local(2, 2) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))\n"
         "  %gs = view %s : global<f32>[" +
         text(p.groups) + ", " + columns +
         "]\n"
         "  %gy = view %y : global<f32>[32, " +
         columns +
         "]\n"
         "  %acc = fill 0.0 : f32 [32, 64]\n"
         "  for %g = 0 to " +
         (p.stop.empty() ? text(p.groups) : p.stop) +
         " {\n"
         "    %as = slice %ga[0, %g * " +
         group + "] : [32, " + group +
         "]\n"
         "    %bs = slice %gb[%g * " +
         group + ", 0] : [" + group + ", " + columns +
         "]\n"
         "    %part = fill 0.0 : f32 [32, 64]\n"
         "    for %t = 0 to " +
         text(p.turns) + " " + p.hints +
         " {\n"
         "      %ta = load %as[0, %t * 32] : [32, 32]\n"
         "      %tb = load %bs[%t * 32, 0] : [32, 64]\n"
         "      %fb = cast %tb : f16\n"
         "      %part = dot %ta, %fb, %part\n"
         "    }\n"
         "    %ts = load %gs[%g, 0] : [1, 64]\n"
         "    %acc = mul %acc, 2.0\n"
         "    %acc = fma %part, %ts, %acc\n"
         "  }\n"
         "  store %gy[0, 0], %acc\n"
         "}\n";
}

harness::Case CaseOf(const Groups& p) {
  const int64_t group = int64_t{32} * p.turns, depth = group * p.groups;
  const DType type_b = *FindDType(p.type_b);
  const Tensor a = Random(kF16, {32, depth}, -3, 3, 6);
  const Tensor b = Random(type_b, {depth, p.columns}, type_b.IsSigned() ? -1 : 0, 1, 7);
  const Tensor scale = Random(kF32, {p.groups, p.columns}, -2, 2, 8);
  const auto at = [](const Tensor& t, int64_t row, int64_t column) {
    return Decode(t.type, t.codes[static_cast<size_t>(row * t.shape[1] + column)]);
  };
  std::vector<double> y;
  for (int64_t i = 0; i < 32; ++i) {
    for (int64_t j = 0; j < p.columns; ++j) {
      double sum = 0;
      for (int64_t g = 0; g < p.groups; ++g) {
        double part = 0;
        for (int64_t k = g * group; k < (g + 1) * group; ++k) part += at(a, i, k) * at(b, k, j);
        sum = 2 * sum + part * at(scale, g, j);
      }
      y.push_back(sum);
    }
  }
  harness::Case c;
  c.title = "groups";
  c.source = SourceFile("groups.tsa", TextOf(p));
  c.scalars = {{"n", static_cast<uint64_t>(p.groups)}};
  c.inputs = {{"a", a}, {"b", b}, {"s", scale}};
  c.outputs = {{"y", Exactly({32, p.columns}, y)}};
  return c;
}

void Check(const Groups& p) {
  const harness::Case c = CaseOf(p);
  SCOPED_TRACE(c.source.text());
  const harness::CaseResult result = harness::RunEverywhere(c);
  EXPECT_TRUE(result.ok()) << result.Text(c);
}

TEST(Pipeline, OfNests) {
  for (const int turns : {1, 2, 3}) {
    for (const int groups : {2, 3, 7}) {
      for (const std::string hints : {"pipeline 2", "pipeline 4"}) {
        for (const std::string stop : {"", "%n"}) {
          const Groups p{groups, turns, stop, hints};
          // Rings of a and b for each turn of a group, and of the scales.
          EXPECT_EQ(Count(CaseOf(p), Opcode::kAllocShared), 2 * static_cast<size_t>(turns) + 1);
          Check(p);
        }
      }
    }
  }
}

// Where the author says `unroll 1`, or the turns are many, the inner loop has rings of its own.
TEST(Pipeline, LeavesNestsAsTheyAre) {
  for (const Groups& p :
       {Groups{4, 4, "", "pipeline 2 unroll 1"}, Groups{2, 9, "", "pipeline 3"}}) {
    EXPECT_EQ(Count(CaseOf(p), Opcode::kAllocShared), 2u);
    Check(p);
  }
}

// Whole tiles of a packed order are copied as they lie. Those that do not exist are zeros; where a
// tile exists in part, its load stays.
TEST(Pipeline, OfPackedCodes) {
  for (const char* const type : {"u1", "u3", "u4", "i7", "u8", "f6e3m2"}) {
    for (const std::string hints : {"pipeline 2", "pipeline 4", "pipeline 3 unroll 1"}) {
      SCOPED_TRACE(type);
      const Groups whole{1, 7, "", hints, type, 64};
      const Groups half{1, 7, "", hints, type, 32};
      const Groups part{1, 7, "", hints, type, 40};
      for (const Groups& p : {whole, half, part}) Check(p);
      const auto copies = [](const Groups& p) { return Count(CaseOf(p), Opcode::kCopyAsync); };
      EXPECT_EQ(copies(whole), copies(half));
      EXPECT_EQ(copies(whole), 2 * copies(part)) << "of a alone";
    }
  }
}

}  // namespace
}  // namespace tarsia::pipeline_test
