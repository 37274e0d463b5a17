// A cache hint is on every access to global memory that its instruction becomes, whatever the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "tests/harness/program.h"

namespace tarsia::harness {
namespace {

constexpr compiler::Target kTargets[] = {compiler::Target::kSm80, compiler::Target::kSm90a};

// The instructions of PTX that contain a text, without their operands.
std::vector<std::string> InstructionsWith(const std::string& ptx, const std::string& text) {
  std::vector<std::string> out;
  std::istringstream words(ptx);
  for (std::string word; words >> word;) {
    if (word.find(text) != std::string::npos) out.push_back(word);
  }
  return out;
}

std::string CompiledFor(compiler::Target target, const std::string& text,
                        std::vector<std::string> without = {}) {
  const Made made = MakeProgram(SourceFile("k.tsa", text), "", {});
  if (!made.program) {
    ADD_FAILURE() << made.error;
    return "";
  }
  compiler::CompileOptions options;
  options.without = std::move(without);
  const auto kernel = compiler::Compile(*made.program, target, options);
  if (!kernel.ok()) {
    ADD_FAILURE() << kernel.error().message;
    return "";
  }
  return kernel->ptx;
}

// How a tile moves from one view to another.
struct Way {
  const char* name;
  const char* parameters;
  const char* from;  // the views
  const char* to;
  std::vector<const char*> body;
  const char* load;  // the one way in which all are loaded and stored; "": various
  const char* store;
};

std::string TextOf(const Way& way) {
  std::string text = std::string("kernel k(%x: ptr<u8>, %y: ptr<u8>, %n: i32)\n") + way.parameters +
                     "  warps 1\n{\n";
  text += std::string("  %gx = view %x : global<") + way.from + "\n";
  text += std::string("  %gy = view %y : global<") + way.to + "\n";
  for (const char* const line : way.body) text += std::string("  ") + line + "\n";
  return text + "}\n";
}

class CacheHints : public testing::TestWithParam<Way> {};

TEST_P(CacheHints, AreOnEveryAccess) {
  const Way& way = GetParam();
  for (const compiler::Target target : kTargets) {
    SCOPED_TRACE(std::string(Row(target).name));
    const std::string ptx = CompiledFor(target, TextOf(way));
    size_t loads = 0, stores = 0;
    for (const std::string& access : InstructionsWith(ptx, ".global")) {
      if (access.starts_with("ld.")) {
        EXPECT_NE(access.find(".L1::no_allocate.L2::cache_hint."), std::string::npos) << access;
        EXPECT_TRUE(access.ends_with(way.load)) << access;
        ++loads;
      } else if (access.starts_with("st.")) {
        EXPECT_NE(access.find(".L1::no_allocate."), std::string::npos) << access;
        EXPECT_TRUE(access.ends_with(way.store)) << access;
        ++stores;
      }
    }
    EXPECT_NE(loads, 0U);
    EXPECT_NE(stores, 0U);
  }
}

// The lines of a kernel that copies a whole tile.
std::vector<const char*> Copy() {
  return {"%t = load %gx[0, 0] cache evict_first : [32, 32]",
          "store %gy[0, 0], %t cache no_allocate"};
}

INSTANTIATE_TEST_SUITE_P(
    Ways, CacheHints,
    testing::Values(
        Way{"one_element",
            "",
            "f32>[32, 32]",
            "f32>[32, 32]",
            {"%t = load %gx[0, 0] cache evict_first : [32, 32] local(32, 1) * spatial(1, 32)",
             "store %gy[0, 0], %t cache no_allocate"},
            ".b32",
            ".b32"},
        Way{"wide", "", "f16>[32, 32]", "f16>[32, 32]", Copy(), ".v4.b32", ".v4.b32"},
        Way{"bytes", "  assume %x align 1\n  assume %y align 1\n", "u8>[32, 32]", "u8>[32, 32]",
            Copy(), ".b8", ".b8"},
        Way{"masked", "", "f16>[%n, 32]", "f16>[%n, 32]", Copy(), ".v4.b32", ".v4.b32"},
        // Through shared memory, both ways.
        Way{"staged",
            "",
            "f16>[32, 32]",
            "f16>[32, 32]",
            {"%t = load %gx[0, 0] cache evict_first : [32, 32]",
             "%a = convert_layout %t : [32, 32] local(2, 2) * mma.m16n8k16.f16.a", "%b = neg %a",
             "store %gy[0, 0], %b cache no_allocate"},
            ".v4.b32",
            ".v4.b32"},
        Way{"scalar",
            "",
            "f32>[64]",
            "f32>[64]",
            {"%t = load.scalar %gx[%n] cache evict_first", "%f = fill %t : reg<f32>[64]",
             "store %gy[0], %f cache no_allocate"},
            ".b32",
            ".v4.b32"},
        Way{"words_of_codes", "", "u4>[32, 32]", "u4>[32, 32]", Copy(), ".v4.b32", ".v4.b32"},
        // Words with codes that begin at any bit.
        Way{"codes_from_any_bit",
            "",
            "u3>[4096]",
            "f16>[4096]",
            {"%t = load %gx[%n] cache evict_first : [256]", "%h = cast %t : f16",
             "store %gy[0], %h cache no_allocate"},
            ".b32",
            ""},
        Way{"packed_tiles",
            "",
            "u4>[64, 16] packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))",
            "f16>[64, 16]",
            {"%t = load %gx[0, 0] cache evict_first : [64, 16]", "%h = cast %t : f16",
             "store %gy[0, 0], %h cache no_allocate"},
            ".v4.b32",
            ""},
        Way{"packed_codes_one_by_one",
            "",
            "u4>[64, 16] packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))",
            "f16>[64, 16]",
            {"%t = load %gx[0, 0] cache evict_first : [64, 16] local(32, 1) * spatial(2, 16)",
             "%h = cast %t : f16", "store %gy[0, 0], %h cache no_allocate"},
            ".b32",
            ".b16"},
        // Three elements are no copy of the hardware.
        Way{"copied_through_registers",
            "",
            "f16>[32, 3]",
            "f16>[32, 3]",
            {"%s = alloc.shared : f16 [32, 3]",
             "copy.async %s[0, 0], %gx[0, 0] cache evict_first : [32, 3]", "copy.commit",
             "copy.wait 0", "sync", "%t = load %s[0, 0] : [32, 3]",
             "store %gy[0, 0], %t cache no_allocate"},
            "",
            ""}),
    [](const auto& of) { return of.param.name; });

// Words of codes that other threads change by atomic operations. ptxas drops what orders a load
// together with evict_first.
TEST(CacheHintsOf, OrderedAccessesLeaveThemOrdered) {
  struct Case {
    const char* hint;
    const char* load;
    const char* store;
  };
  const Case cases[] = {
      {"", "ld.relaxed.gpu.global.v4.b32", "st.relaxed.gpu.global.v4.b32"},
      {" cache evict_first", "ld.relaxed.gpu.global.v4.b32",
       "st.relaxed.gpu.global.L1::no_allocate.L2::cache_hint.v4.b32"},
      {" cache no_allocate", "ld.relaxed.gpu.global.L1::no_allocate.v4.b32",
       "st.relaxed.gpu.global.L1::no_allocate.v4.b32"},
  };
  for (const Case& c : cases) {
    const std::string store = std::string("  store %gx[0, 0], %t") + c.hint + "\n";
    const std::string text = std::string("kernel k(%x: ptr<u8>)\n  warps 1\n{\n") +
                             "  %gx = view %x : global<u4>[32, 32]\n" + "  %t = load %gx[0, 0]" +
                             c.hint + " : [32, 32]\n" + store + store + "}\n";
    for (const compiler::Target target : kTargets) {
      SCOPED_TRACE(std::string(c.hint) + " " + std::string(Row(target).name));
      const std::string ptx = CompiledFor(target, text, {"coalesce"});  // bytes need no order
      EXPECT_EQ(InstructionsWith(ptx, ".global"),
                std::vector<std::string>({c.load, c.store, c.store}));
    }
  }
}

// Hopper has no `cp.async` with a policy of the second-level cache: on an H200 (driver 580) it is
// an illegal instruction.
TEST(CacheHintsOf, CopiesInBackgroundAreDropped) {
  struct Case {
    const char* type;
    const char* copy;
  };
  for (const Case& c : {Case{"f32>[%n, 4]", "cp.async.cg.shared.global"},
                        Case{"f16>[%n, 4]", "cp.async.ca.shared.global"}}) {
    for (const char* hint : {"", " cache no_allocate", " cache evict_first"}) {
      for (const compiler::Target target : kTargets) {
        SCOPED_TRACE(std::string(c.type) + hint + " " + std::string(Row(target).name));
        const std::string element(c.type, 3);
        const std::string ptx =
            CompiledFor(target, "kernel k(%x: ptr<u8>, %y: ptr<u8>, %n: i32)\n  warps 1\n{\n" +
                                    std::string("  %gx = view %x : global<") + c.type +
                                    "\n  %gy = view %y : global<" + element + ">[64, 4]\n" +
                                    "  %s = alloc.shared : " + element + " [64, 4]\n" +
                                    "  copy.async %s[0, 0], %gx[0, 0]" + hint + " : [64, 4]\n" +
                                    "  copy.commit\n  copy.wait 0\n  sync\n" +
                                    "  %t = load %s[0, 0] : [64, 4]\n  store %gy[0, 0], %t\n}\n");
        const auto copies = InstructionsWith(ptx, "cp.async.c");
        EXPECT_EQ(std::count(copies.begin(), copies.end(), c.copy), 2);
        EXPECT_TRUE(InstructionsWith(ptx, "createpolicy").empty());
      }
    }
  }
}

// Packed tiles of 64 x 16 weights of 4 bits, 512 bytes each: 64 x 128 are 256 pieces of 16 bytes,
// two for each of 128 threads, and every second piece begins a sector. Parts of tiles are left out.
TEST(CacheHintsOf, PackedTilesArePrefetchedBySectors) {
  const auto prefetches = [](const std::string& at) {
    return InstructionsWith(
               CompiledFor(compiler::Target::kSm90a,
                           "kernel k(%w: ptr<u8>)\n  warps 4\n{\n"
                           "  %gw = view %w : global<u4>[1024, 512] packed(permute(local(1, 4) * "
                           "mma.m16n8k16.f16.a, [1, 0]), lanes(f16))\n  prefetch %gw[" +
                               at + "] : [64, 128]\n}\n"),
               "prefetch.global.L2")
        .size();
  };
  EXPECT_EQ(prefetches("128, 32"), 2U);
  EXPECT_EQ(prefetches("960, 448"), 1U) << "half of it lies outside";
  EXPECT_EQ(prefetches("128, 8"), 0U);
}

}  // namespace
}  // namespace tarsia::harness
