// malloc and free on the device.
#include "ptx/memory/heap.h"

#include "tests/unit/ptx/run_testing.h"

namespace tarsia::ptx::heap_test {
namespace {

constexpr char kDeclarations[] = R"(
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func free (.param .b64 a);
)";

std::string Malloc(const std::string& into, const std::string& bytes) {
  return "{ .param .b64 n; .param .b64 r; st.param.b64 [n], " + bytes +
         "; call.uni (r), malloc, (n); ld.param.b64 " + into + ", [r]; }\n";
}
std::string Free(const std::string& address) {
  return "{ .param .b64 a; st.param.b64 [a], " + address + "; call.uni free, (a); }\n";
}
std::string Kernel(const std::string& body) {
  return kHeader + (kDeclarations + (".visible .entry k(.param .u64 out) {\n"
                                     ".reg .pred p<4>; .reg .b32 r<8>; .reg .b64 d<8>;\n"
                                     "ld.param.u64 d0, [out];\n" +
                                     body + "ret;\n}\n"));
}

// What is found by so many threads; `out` has room for 64 words.
std::string Findings(const std::string& body, uint32_t threads = 1) {
  Machine machine(Kernel(body));
  const uint64_t out = machine.Put(std::vector<uint64_t>(64));
  return Text(machine.Run("k", {1}, {threads}, {out}));
}

void ExpectFinding(const std::string& body, const std::string& text) {
  const std::string findings = Findings(body);
  EXPECT_NE(findings.find(text), std::string::npos) << body << findings;
}

TEST(Heap, EachThreadHasItsOwn) {
  Machine machine(Kernel(Malloc("d1", "24") + R"(
mov.u32 r0, %tid.x; cvt.u64.u32 d2, r0; mul.lo.u64 d3, d2, 3;
st.u64 [d1+16], d3; st.global.u64 [d1], d2; ld.u64 d4, [d1+16]; ld.global.u64 d5, [d1];
add.u64 d4, d4, d5; shl.b64 d6, d2, 3; add.u64 d6, d6, d0; st.global.u64 [d6], d4;
)" + Free("d1")));
  const uint64_t out = machine.Put(std::vector<uint64_t>(64));
  EXPECT_EQ(Text(machine.Run("k", {1}, {64}, {out})), "");
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(machine.Get<uint64_t>(out, 64)[i], 4 * i);
}

TEST(Heap, FindsWhatIsWrong) {
  ExpectFinding(Malloc("d1", "20") + "ld.u32 r1, [d1];st.global.u32 [d0], r1;\n" + Free("d1"),
                "uninitialised");
  ExpectFinding(Malloc("d1", "20") + "st.u32 [d1+20], 1;\n",
                "out_of_bounds: writes 4 bytes at global address 0x50000000014: 0 bytes past the "
                "20 bytes of malloc at 0x50000000000");
  ExpectFinding(Malloc("d1", "20") + "st.u64 [d1+16], 1;\n", "byte 16 of the 20 bytes of malloc");
  ExpectFinding(Malloc("d1", "20") + Free("d1") + "st.u32 [d1+4], 1;\n",
                "within 20 bytes of malloc at 0x50000000000 that were freed");
  ExpectFinding(Malloc("d1", "20") + Free("d1") + Malloc("d2", "20") + "st.u32 [d1], 1;\n",
                "that were freed");
  ExpectFinding(Malloc("d1", "20") + Free("d1") + Free("d1"),
                "out_of_bounds: frees 0x50000000000, which malloc did not give: within 20 bytes of "
                "malloc at 0x50000000000 that were freed");
  ExpectFinding(Malloc("d1", "20") + "add.u64 d1, d1, 4;\n" + Free("d1"),
                "which malloc did not give: byte 4 of the 20 bytes");
  ExpectFinding(Free("d0"), "which malloc did not give");
  ExpectFinding(Malloc("d1", "d2"), "uninitialised: the size that malloc gets is undefined");
  ExpectFinding(Free("d2"), "uninitialised: the address that free gets is undefined");
}

TEST(Heap, WhatIsKeptOrNullIsNoFault) {
  EXPECT_EQ(Findings(Malloc("d1", "100") + Malloc("d2", "0") + Free("0")), "");
}

// One thread gives its block to another, with and without a barrier before that frees it.
TEST(Heap, FreeComesAfterTheLastUse) {
  const std::string share = "mov.u32 r0, %tid.x; setp.eq.u32 p0, r0, 0;\n@!p0 bra wait;\n" +
                            Malloc("d1", "16") + "st.global.u64 [d0], d1; st.u32 [d1], 5;\n" +
                            "wait: bar.sync 0;\nld.global.u64 d2, [d0];\n" +
                            "@p0 bra next;\nld.u32 r1, [d2]; st.global.u32 [d0+8], r1;\nnext:\n";
  const std::string release = "@!p0 bra end;\n" + Free("d2") + "end:\n";
  EXPECT_EQ(Findings(share + "bar.sync 0;\n" + release, 64).find("race"), std::string::npos);
  EXPECT_NE(Findings(share + release, 64).find("race"), std::string::npos);
}

TEST(Heap, IsAsLargeAsAsked) {
  const std::string counts = R"(
mov.u64 d5, 0;
again:
)" + Malloc("d1", "1048576") +
                             R"(
setp.eq.u64 p0, d1, 0; @p0 bra done;
add.u64 d5, d5, 1; bra again;
done: st.global.u64 [d0], d5;
)";
  for (const auto& [bytes, blocks] : {std::pair(0, 8), {3 << 20, 3}}) {
    Machine machine(kHeader + std::string(".visible .entry none() { ret; }\n"));
    if (bytes != 0) machine.memory().SetHeapBytes(static_cast<uint64_t>(bytes));
    Diagnostics diagnostics;
    const auto module = ParseModule(SourceFile("heap.ptx", Kernel(counts)), &diagnostics);
    ASSERT_NE(module, nullptr);
    const auto image = Image::Load(module, &machine.memory());
    ASSERT_TRUE(image.ok());
    const uint64_t out = machine.Room(8);
    std::vector<uint8_t> parameters(8);
    std::memcpy(parameters.data(), &out, 8);
    LaunchConfig config;
    config.parameters = parameters;
    const auto report = Launch(**image, "k", config);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(Text(*report), "");
    EXPECT_EQ(machine.Get<uint64_t>(out, 1)[0], static_cast<uint64_t>(blocks));
  }
}

// Room that was freed is used again, in whatever order it comes back, at other addresses.
TEST(Heap, RoomComesBack) {
  const auto heap = Heap::Make(1024);
  std::vector<uint64_t> seen;
  for (int round = 0; round < 3; ++round) {
    std::vector<uint64_t> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(heap->Allocate(128));
    EXPECT_EQ(heap->Allocate(1), 0U);
    for (const int i : {3, 1, 2, 7, 0, 5, 4, 6}) {
      const uint64_t block = blocks[static_cast<size_t>(i)];
      EXPECT_NE(block, 0U);
      EXPECT_EQ(block % 16, 0U);
      EXPECT_EQ(std::count(seen.begin(), seen.end(), block), 0);
      seen.push_back(block);
      EXPECT_TRUE(heap->Free(block));
      EXPECT_FALSE(heap->Free(block));
    }
    const uint64_t whole = heap->Allocate(1024);
    EXPECT_NE(whole, 0U);
    EXPECT_TRUE(heap->Free(whole));
  }
  EXPECT_EQ(heap->Allocate(1025), 0U);
  EXPECT_EQ(heap->Allocate(0), 0U);
  EXPECT_EQ(heap->Allocate(UINT64_MAX), 0U);
}

// A module's own function of that name is what it says.
TEST(Heap, AModuleMayHaveItsOwn) {
  Machine machine(kHeader + std::string(R"(
.func (.param .b64 r) malloc (.param .b64 n) { st.param.b64 [r], 42; ret; }
.visible .entry k(.param .u64 out) { .reg .b64 d<4>; ld.param.u64 d0, [out];
)") + Malloc("d1", "8") +
                  "st.global.u64 [d0], d1; ret; }\n");
  const uint64_t out = machine.Room(8);
  EXPECT_EQ(Text(machine.Run("k", {1}, {1}, {out})), "");
  EXPECT_EQ(machine.Get<uint64_t>(out, 1)[0], 42U);
}

}  // namespace
}  // namespace tarsia::ptx::heap_test
