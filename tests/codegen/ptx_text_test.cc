// PTX text besides instructions: names and lines for readers.
#include <gtest/gtest.h>

#include <string>

#include "compiler/compile.h"
#include "tests/codegen/machine_code.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

compiler::CompiledKernel Compiled(const compiler::CompileOptions& options) {
  const Made made = MakeProgram(ReadExample("matmul.tsa"), "", {{"K", "64"}, {"N", "64"}});
  EXPECT_TRUE(made.program) << made.error;
  auto kernel = compiler::Compile(*made.program, compiler::Target::kSm89, options);
  EXPECT_TRUE(kernel.ok());
  return *std::move(kernel);
}

TEST(PtxText, NamesTheKernelAndTheLines) {
  const compiler::CompiledKernel kernel = Compiled({});
  EXPECT_NE(kernel.ptx.find(".visible .entry matmul("), std::string::npos);
  EXPECT_NE(kernel.ptx.find("\t.loc\t1 33 "), std::string::npos) << "the line of `dot`";
  EXPECT_NE(kernel.ptx.find("matmul.tsa\""), std::string::npos);
  EXPECT_EQ(kernel.ptx.find(".target sm_89, debug"), std::string::npos);
  EXPECT_EQ(kernel.llvm_ir, "");
}

// 64 x 64 elements of 128 threads: 2 halves at once since sm_80 (bf16: sm_90), and 16 bytes in
// global memory since sm_90.
TEST(PtxText, NeighboursAreAddedTogether) {
  const char* const text = R"(
kernel k(%x: ptr<T>, %y: ptr<T>, %z: ptr<T>)
  const T: dtype
  warps 4
{
  %gx = view %x : global<T>[64, 64]
  %gy = view %y : global<T>[64, 64]
  %gz = view %z : global<T>[64, 64]
  %t = load %gx[0, 0] : [64, 64] local(2, 1) * spatial(16, 8) * local(2, 8)
  red.add %gy[0, 0], %t
  %s = alloc.shared : T [64, 64]
  store %s[0, 0], %t
  sync
  red.add %s[0, 0], %t
  sync
  %u = load %s[0, 0] : [64, 64]
  store %gz[0, 0], %u
}
)";
  struct Case {
    const char* type;
    compiler::Target target;
    const char* global;
    size_t count;
    size_t shared;
  };
  const Case cases[] = {
      {"f16", compiler::Target::kSm80, "red.global.add.noftz.f16x2 ", 16, 16},
      {"bf16", compiler::Target::kSm80, "atom.global.cas.b16 ", 32, 0},
      {"f16", compiler::Target::kSm90a, "red.global.add.noftz.v4.f16x2 ", 4, 16},
      {"bf16", compiler::Target::kSm90a, "red.global.add.noftz.v4.bf16x2 ", 4, 16},
      {"f32", compiler::Target::kSm80, "atom.global.add.f32 ", 32, 0},
      {"f32", compiler::Target::kSm90a, "red.global.add.v4.f32 ", 8, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.type) + " " + std::string(Row(c.target).name));
    const Made made = MakeProgram(SourceFile("k.tsa", text), "", {{"T", c.type}});
    ASSERT_TRUE(made.program) << made.error;
    const auto kernel = compiler::Compile(*made.program, c.target);
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ(Occurrences(kernel->ptx, c.global), c.count);
    EXPECT_EQ(Occurrences(kernel->ptx, "red.shared.add.noftz." + std::string(c.type) + "x2 "),
              c.shared);
    const bool by_cas = std::string_view(c.global).find("cas") != std::string_view::npos;
    EXPECT_EQ(Occurrences(kernel->ptx, ".cas") != 0, by_cas);
  }
}

// 64 x 64 elements of 4 warps: 4 matrices of 8 x 8 at once, written by rows or by columns.
TEST(PtxText, FragmentsAreStoredAsMatrices) {
  const char* const text = R"(
kernel k(%x: ptr<f16>, %y: ptr<f16>)
  const M: memlayout
  warps 4
{
  %gx = view %x : global<f16>[64, 64]
  %gy = view %y : global<f16>[64, 64]
  %t = load %gx[0, 0] : [64, 64] spatial(4, 1) * local(1, 8) * mma.m16n8k16.f16.c
  %s = alloc.shared : shared<f16>[64, 64] M
  store %s[0, 0], %t
  sync
  %u = load %s[0, 0] : [64, 64]
  store %gy[0, 0], %u
}
)";
  for (const std::string memory : {"row_major", "column_major"}) {
    SCOPED_TRACE(memory);
    const Made made = MakeProgram(SourceFile("k.tsa", text), "", {{"M", memory}});
    ASSERT_TRUE(made.program) << made.error;
    const std::string form = memory == "row_major" ? "x4.shared" : "x4.trans.shared";
    const auto newest = compiler::Compile(*made.program, compiler::Target::kSm90a);
    ASSERT_TRUE(newest.ok());
    EXPECT_EQ(Occurrences(newest->ptx, "stmatrix.sync.aligned.m8n8." + form + ".b16"), 4);
    EXPECT_EQ(Occurrences(newest->ptx, "stmatrix"), 4);
    EXPECT_EQ(Occurrences(newest->ptx, "st.shared.b32"), 0) << "two elements";
    EXPECT_EQ(Occurrences(newest->ptx, "st.shared.b16"), 0);
    const auto older = compiler::Compile(*made.program, compiler::Target::kSm80);
    ASSERT_TRUE(older.ok());
    EXPECT_EQ(Occurrences(older->ptx, "stmatrix"), 0);
  }
}

// Sums of a matmul are stored to rows of 16 bytes on their way to global memory.
TEST(PtxText, SumsAreStagedAsMatrices) {
  const Made made =
      MakeProgram(ReadExample("gemm.tsa"), "", {{"M", "256"}, {"N", "256"}, {"K", "256"}});
  ASSERT_TRUE(made.program) << made.error;
  const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm90a);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(Occurrences(kernel->ptx, "stmatrix.sync.aligned.m8n8.x4"), 128 * 128 / 128 / 8);
  EXPECT_EQ(Occurrences(kernel->ptx, "st.global.v4"), 128 * 128 / 128 / 8);
}

// Two elements of 16 bits are a word; eight lanes that hold the same four elements keep one each.
TEST(PtxText, ElementsChangeLanesByShuffles) {
  const char* const text = R"(
kernel k(%x: ptr<f16>, %y: ptr<f16>)
  const FROM: reglayout
  const TO: reglayout
  warps 4
{
  %gx = view %x : global<f16>[16, 16]
  %gy = view %y : global<f16>[16, 16]
  %t = load %gx[0, 0] : [16, 16] FROM
  %u = convert_layout %t : [16, 16] TO
  %v = neg %u
  store %gy[0, 0], %v
}
)";
  struct Case {
    const char* from;
    const char* to;
    size_t shuffles;
  };
  const Case cases[] = {
      {"spatial(4, 1) * spatial(4, 8) * local(1, 2)",
       "spatial(4, 1) * column_spatial(4, 8) * local(1, 2)", 1},
      {"spatial(4, 1) * spatial(4, 1) * replicate(8) * local(1, 16)",
       "spatial(4, 1) * spatial(4, 1) * replicate(2) * spatial(1, 4) * local(1, 4)", 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.to);
    const Made made = MakeProgram(SourceFile("k.tsa", text), "", {{"FROM", c.from}, {"TO", c.to}});
    ASSERT_TRUE(made.program) << made.error;
    const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80);
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ(Occurrences(kernel->ptx, "shfl.sync"), c.shuffles);
    EXPECT_EQ(Occurrences(kernel->ptx, "bar."), 0);
    EXPECT_EQ(Occurrences(kernel->ptx, ".shared."), 0);
  }
}

// Loads of whole packed tiles keep the cache hint, as do those of rows.
TEST(PtxText, LoadsKeepTheirCacheHints) {
  const char* const text = R"(
kernel k(%x: ptr<u8>, %y: ptr<f16>)
  const PACK: memlayout
  warps 1
{
  %gx = view %x : global<u4>[64, 16] PACK
  %gy = view %y : global<f16>[64, 16]
  %t = load %gx[0, 0] cache evict_first : [64, 16]
  %h = cast %t : f16
  store %gy[0, 0], %h
}
)";
  for (const char* const pack :
       {"row_major", "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"}) {
    const Made made = MakeProgram(SourceFile("k.tsa", text), "", {{"PACK", pack}});
    ASSERT_TRUE(made.program) << made.error;
    const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_NE(kernel->ptx.find("ld.global.nc.L1::no_allocate.L2::cache_hint."), std::string::npos)
        << pack;
  }
}

// One thread waits, with an acquire of the device's scope, and a barrier passes it on; a barrier
// collects what the block wrote, which one thread releases.
TEST(PtxText, SemaphoresAreAcquiredAndReleased) {
  const char* const text = R"(
kernel k(%y: ptr<i32>)
  warps 2
{
  %s = alloc.global zeroed : i32 [1]
  %wide = alloc.global zeroed : u64 [1]
  semaphore.lock %s[0], 0
  semaphore.release %s[0], 1
  semaphore.lock %wide[0], 0
  semaphore.release %wide[0], 1
  griddep.wait
  griddep.launch
}
)";
  const Made made = MakeProgram(SourceFile("k.tsa", text), "", {});
  ASSERT_TRUE(made.program) << made.error;
  for (const auto target :
       {compiler::Target::kSm80, compiler::Target::kSm89, compiler::Target::kSm90a}) {
    const auto kernel = compiler::Compile(*made.program, target, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    size_t at = 0;
    for (const char* const next : {"ld.acquire.gpu.global.b32 ", "bar.sync", "bar.sync",
                                   "red.release.gpu.global.add.u32 ", "ld.acquire.gpu.global.b64 ",
                                   "bar.sync", "bar.sync", "red.release.gpu.global.add.u64 "}) {
      at = kernel->ptx.find(next, at);
      ASSERT_NE(at, std::string::npos) << next;
      at += 1;
    }
    const bool newest = target == compiler::Target::kSm90a;
    const size_t wait = kernel->ptx.find("griddepcontrol.wait;");
    EXPECT_EQ(wait != std::string::npos, newest);
    EXPECT_EQ(kernel->ptx.find("griddepcontrol.launch_dependents;") != std::string::npos, newest);
  }
}

// What an earlier kernel may still write is not read-only before the wait for it, and no load moves
// over that.
TEST(PtxText, LoadsAfterOtherGridsAreOrdinary) {
  const char* const text = R"(
kernel k(%x: ptr<i32>, %w: ptr<i32>, %y: ptr<i32>)
  warps 1
{
  %gx = view %x : global<i32>[32]
  %gw = view %w : global<i32>[32]
  %gy = view %y : global<i32>[32]
  %tw = load %gw[0] : [32]
  griddep.wait
  %tx = load %gx[0] : [32]
  %t = add %tw, %tx
  store %gy[0], %t
}
)";
  const Made made = MakeProgram(SourceFile("k.tsa", text), "", {});
  ASSERT_TRUE(made.program) << made.error;
  const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm90a, {});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const size_t wait = kernel->ptx.find("griddepcontrol.wait;");
  ASSERT_NE(wait, std::string::npos);
  EXPECT_NE(kernel->ptx.find("ld.global.nc.v4.b32"), std::string::npos);
  const size_t load = kernel->ptx.find("ld.global.v4.b32");
  ASSERT_NE(load, std::string::npos);
  EXPECT_GT(load, wait);
}

// `ld.global.nc` is for memory that the kernel does not write through any view. It moves over
// barriers, so a loop with barriers has none.
// ptxas must not unroll a loop that goes down: it would lose turns.
TEST(PtxText, LoopsThatGoDownAreNotUnrolled) {
  const auto pragmas = [](const std::string& step) {
    const Made made = MakeProgram(SourceFile("k.tsa",
                                             "kernel k(%x: ptr<i32>, %n: i32)\n  warps 1\n{\n"
                                             "  %g = view %x : global<i32>[64]\n"
                                             "  for %i = %n to -%n step " +
                                                 step +
                                                 " {\n    %t = fill %i : i32 [1]\n"
                                                 "    store %g[%i], %t\n  }\n}\n"),
                                  "", {});
    EXPECT_TRUE(made.program) << made.error;
    const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm90a, {});
    EXPECT_TRUE(kernel.ok());
    return Occurrences(kernel->ptx, "\"nounroll\"");
  };
  EXPECT_EQ(pragmas("-5"), 1U);
  EXPECT_EQ(pragmas("5"), 0U);
}

// Where both numbers fit.
TEST(PtxText, NumbersOf32BitsAreDividedIn32) {
  const char* const text = R"(
kernel k(%y: ptr<T>, %a: T, %b: T)
  const T: dtype
  warps 1
{
  %gy = view %y : global<T>[2]
  %q = mov %a / %b : T
  %r = mov %a % %b : T
  %t = fill %q : T [1]
  %u = fill %r : T [1]
  store %gy[0], %t
  store %gy[1], %u
}
)";
  const auto count = [](const std::string& program, const char* type, std::string_view part) {
    const Made made = MakeProgram(SourceFile("k.tsa", program), "", {{"T", type}});
    EXPECT_TRUE(made.program) << made.error;
    const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80, {});
    EXPECT_TRUE(kernel.ok());
    return Occurrences(kernel->ptx, part);
  };
  EXPECT_GE(count(text, "i32", "div.s32"), 1U);
  EXPECT_EQ(count(text, "i32", "div.s64"), 0U);
  EXPECT_GE(count(text, "u32", "div.u32"), 1U);
  EXPECT_EQ(count(text, "u32", "div.s64"), 0U);
  EXPECT_GE(count(text, "i64", "div.s64"), 1U);
  // Known to be positive, but not to fit.
  std::string positive = text;
  positive.replace(positive.find("%a / %b"), 7, "max(%a, 0) / max(%b, 1)");
  positive.replace(positive.find("%a % %b"), 7, "max(%a, 0) % max(%b, 1)");
  EXPECT_GE(count(positive, "i64", "div.s64") + count(positive, "i64", "div.u64"), 1U);
  EXPECT_GE(count(positive, "i32", "div.u32"), 1U);
}

TEST(PtxText, ReadOnlyMemoryIsLoadedAsSuch) {
  const auto loads = [](const std::string& body) {
    const Made made = MakeProgram(SourceFile("k.tsa", R"(
kernel k(%x: ptr<f32>, %y: ptr<f32>)
  warps 1
{
  %gx = view %x : global<f32>[256]
  %again = view %x : global<f32>[2, 128]
  %gy = view %y : global<f32>[256]
)" + body + "}\n"),
                                  "", {});
    EXPECT_TRUE(made.program) << made.error;
    const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80, {});
    EXPECT_TRUE(kernel.ok());
    const bool plain = kernel->ptx.find("ld.global.v4") != std::string::npos;
    const bool read_only = kernel->ptx.find("ld.global.nc.v4") != std::string::npos;
    EXPECT_NE(plain, read_only);
    return read_only;
  };
  const std::string read = "  %t = load %gx[0] : [128]\n";
  const std::string write = "  store %gy[0], %t\n";
  EXPECT_TRUE(loads(read + write));
  EXPECT_TRUE(loads("  for %i = 0 to 100 {\n" + read + write + "  }\n"));
  EXPECT_FALSE(loads("  for %i = 0 to 100 {\n" + read + write + "  sync\n  }\n"));
  EXPECT_TRUE(loads("  for %i = 0 to 100 {\n  sync\n  }\n" + read + write));
  EXPECT_FALSE(loads(read + "  store %gx[128], %t\n"));
  EXPECT_FALSE(loads(read + "  %v = reshape %t : [1, 128]\n  store %again[1, 0], %v\n"));
}

// Memory that nobody writes is read once, in front of the loop.
TEST(PtxText, ReadOnlyLoadsLeaveLoops) {
  const Made made = MakeProgram(SourceFile("k.tsa", R"(
kernel k(%x: ptr<f32>, %y: ptr<f32>, %n: i32)
{
  %gx = view %x : global<f32>[128]
  %gy = view %y : global<f32>[%n, 128]
  for %i = 0 to %n {
    %t = load %gx[0] : [128]
    %u = load %gx[0] : [128]
    %v = add %t, %u
    %w = reshape %v : [1, 128]
    store %gy[%i, 0], %w
  }
}
)"),
                                "", {});
  ASSERT_TRUE(made.program) << made.error;
  const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80, {});
  ASSERT_TRUE(kernel.ok());
  const size_t load = kernel->ptx.find("ld.global.nc.b32");
  ASSERT_NE(load, std::string::npos) << kernel->ptx;
  EXPECT_EQ(kernel->ptx.find("ld.global", load + 1), std::string::npos) << "two loads";
  const size_t loop = kernel->ptx.find("$L__BB0_2:");
  ASSERT_NE(loop, std::string::npos) << kernel->ptx;
  EXPECT_LT(load, loop);
}

// A kernel whose code changes values in a loop, in both branches and in the code of single
// instructions: an atomic operation, codes that share words of memory that may end within a word.
TEST(PtxText, ValuesAreNotInMemory) {
  const char* const text = R"(
kernel k(%x: ptr<f32>, %y: ptr<u8>, %n: i32)
  warps 1
{
  %gx = view %x : global<f32>[%n]
  %gy = view %y : global<u3>[%n]
  %sum = fill 0.0 : reg<f32>[64]
  %turns = mov 0 : i32
  for %i = 0 to %n {
    %a = load %gx[%i] : [64]
    if %turns < 4 {
      %sum = add %sum, %a
    } else {
      %sum = sub %sum, %a
    }
    %turns = mov %turns + 1
  }
  %old = atomic.add %gx[0], %sum
  %codes = cast %old : u3
  store %gy[0], %codes
}
)";
  const Made made = MakeProgram(SourceFile("k.tsa", text), "", {});
  ASSERT_TRUE(made.program) << made.error;
  compiler::CompileOptions options;
  options.keep_llvm_ir = true;
  const auto kernel = compiler::Compile(*made.program, compiler::Target::kSm80, options);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_NE(kernel->llvm_ir.find(" phi float "), std::string::npos);
  EXPECT_EQ(kernel->llvm_ir.find("alloca"), std::string::npos);
}

TEST(PtxText, OptionsDecideWhatElseIsThere) {
  compiler::CompileOptions options;
  options.line_info = false;
  options.keep_llvm_ir = true;
  const compiler::CompiledKernel kernel = Compiled(options);
  EXPECT_EQ(kernel.ptx.find(".loc"), std::string::npos);
  EXPECT_NE(kernel.llvm_ir.find("define void @matmul("), std::string::npos);
}

}  // namespace
}  // namespace tarsia::harness
