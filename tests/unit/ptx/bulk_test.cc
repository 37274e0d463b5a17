// Bulk copies and reductions: what they write and when, and misuse.
#include <numeric>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::bulk_test {
namespace {

constexpr uint32_t kWords = 256;

// An entry over one warp (of each block): r0 is the thread, p1 says that it is the first; rd0 is
// the address of what is read, rd1 of what is written; r1 is an mbarrier, for one arrival, r2 a box
// of 1024 bytes in shared memory, r3 the thread's word there, rd3 the same of what is written.
std::string Entry(const std::string& body, bool fence = true,
                  const std::string& target = "sm_90a") {
  return ".version 8.6\n.target " + target + "\n.address_size 64\n" + R"(
.shared .align 16 .b8 bar[16];
.shared .align 128 .b8 box[1024];
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .pred p<8>; .reg .b16 h<4>; .reg .b32 r<24>; .reg .b64 rd<16>; .reg .f32 f<4>; .reg .f64 fd<4>;
ld.param.u64 rd0, [in]; ld.param.u64 rd1, [out]; mov.u32 r0, %tid.x; setp.eq.u32 p1, r0, 0;
mov.u32 r1, bar; mov.u32 r2, box; shl.b32 r3, r0, 2; cvt.u64.u32 rd2, r3; add.u64 rd3, rd1, rd2;
add.u32 r3, r3, r2; mov.u32 r4, %cluster_ctarank; mov.u64 rd9, 0;
@p1 mbarrier.init.shared.b64 [r1], 1;
)" + (fence ? "@p1 fence.mbarrier_init.release.cluster;\n" : "") +
         "barrier.cluster.arrive; barrier.cluster.wait;\n" + body + "\nret;\n}\n";
}

std::string Wait(const std::string& parity = "0") {
  return "{ .reg .pred q; spin: mbarrier.try_wait.parity.shared.b64 q, [r1], " + parity +
         ";\n@!q bra spin; }\n";
}

const std::string kExpect256 = "@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 256;\n";

struct Outcome {
  LaunchReport report;
  std::vector<uint32_t> in;
  std::vector<uint32_t> out;
};

uint32_t InWord(uint32_t i) { return 3 * i + 1; }
uint32_t OutWord(uint32_t i) { return 1000 + i; }

Outcome RunBlocks(const std::string& text, uint32_t blocks = 1, uint32_t threads = 32) {
  Machine machine(text);
  Outcome outcome;
  outcome.in.resize(kWords);
  outcome.out.resize(kWords);
  for (uint32_t i = 0; i < kWords; ++i) outcome.in[i] = InWord(i);
  for (uint32_t i = 0; i < kWords; ++i) outcome.out[i] = OutWord(i);
  const uint64_t in = machine.Put(outcome.in);
  const uint64_t out = machine.Put(outcome.out);
  LaunchConfig config;
  config.cluster = {blocks, 1, 1};
  outcome.report = machine.Run("k", {blocks}, {threads}, {in, out}, config);
  outcome.in = machine.Get<uint32_t>(in, kWords);
  outcome.out = machine.Get<uint32_t>(out, kWords);
  return outcome;
}

void ExpectOne(const std::string& body, FindingKind kind, const std::string& words,
               bool fence = true, uint32_t blocks = 1) {
  const LaunchReport report = RunBlocks(Entry(body, fence), blocks).report;
  ASSERT_EQ(report.findings.size(), 1U) << Text(report) << body;
  EXPECT_EQ(report.findings[0].kind, kind) << Text(report);
  EXPECT_NE(report.findings[0].message.find(words), std::string::npos) << Text(report);
}

TEST(Bulk, LoadsAndStores) {
  for (const std::string load :
       {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r2+128], [rd0+64], "
        "256, "
        "[r1];",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [r2+128], "
        "[rd0+64], 256, [r1], rd9;"}) {
    for (const std::string hint : {"", ".L2::cache_hint"}) {
      const std::string policy = hint.empty() ? "" : ", rd9";
      const Outcome out = RunBlocks(
          Entry("@p1 cp.async.bulk.prefetch.L2.global" + hint + " [rd0+64], 256" + policy + ";\n" +
                kExpect256 + "@p1 " + load + "\n" + Wait() +
                "ld.shared.u32 r5, [r3+128]; ld.shared.u32 r6, [r3+256];\n"
                "add.u32 r5, r5, 7; st.shared.u32 [r3+128], r5;\n"
                "fence.proxy.async.shared::cta; bar.warp.sync -1;\n"
                "@p1 cp.async.bulk.global.shared::cta.bulk_group" +
                hint + " [rd1+32], [r2+128], 256" + policy +
                ";\n@p1 cp.async.bulk.commit_group; @p1 cp.async.bulk.wait_group.read 0;\n"
                "@p1 st.shared.u32 [r2+128], 5; @p1 cp.async.bulk.wait_group 0;\n"
                "st.global.u32 [rd3+640], r6;"));
      EXPECT_EQ(Text(out.report), "") << load;
      for (uint32_t i = 0; i < kWords; ++i) {
        uint32_t expected = OutWord(i);
        if (i >= 8 && i < 72) expected = InWord(16 + i - 8) + (i < 40 ? 7 : 0);
        if (i >= 160 && i < 192) expected = InWord(16 + 32 + i - 160);
        EXPECT_EQ(out.out[i], expected) << i;
      }
    }
  }
  for (const Op op :
       {Op::kBulkLoad, Op::kBulkStore, Op::kBulkCommit, Op::kBulkWait, Op::kBulkPrefetch}) {
    Covers(op);
  }
}

// Rank 1 sends one copy to ranks 0, 2 and 3; all wait at their own mbarriers.
TEST(Bulk, SendsToManyBlocks) {
  for (const std::string hint : {"", ".L2::cache_hint"}) {
    const std::string policy = hint.empty() ? "" : ", rd9";
    const Outcome out = RunBlocks(Entry(R"(
setp.eq.u32 p2, r4, 1; and.pred p3, p1, p2; mov.b16 h1, 13; st.shared.u32 [r3+256], r4;
@!p2 bra receive;
@p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster)" +
                                        hint + " [r2], [rd0], 128, [r1], h1" + policy + R"(;
bra done;
receive:
@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 128;
)" + Wait() + R"(
ld.shared.u32 r5, [r3]; mad.lo.u32 r5, r4, 10000, r5;
mul.wide.u32 rd4, r4, 128; add.u64 rd4, rd4, rd3; st.global.u32 [rd4], r5;
done:
barrier.cluster.arrive; barrier.cluster.wait;
)"),
                                  4);
    EXPECT_EQ(Text(out.report), "");
    for (uint32_t i = 0; i < 128; ++i) {
      EXPECT_EQ(out.out[i], i / 32 == 1 ? OutWord(i) : i / 32 * 10000 + InWord(i % 32)) << i;
    }
  }
  Covers(Op::kBulkMulticast);
}

// Each block of two sends its box to the other, by a plain copy and by a reduction.
TEST(Bulk, SendsBetweenBlocks) {
  const std::string before = R"(
mad.lo.u32 r5, r4, 100, r0; add.u32 r5, r5, 1; st.shared.u32 [r3], r5; st.shared.u32 [r3+128], 50;
xor.b32 r6, r4, 1; add.u32 r7, r2, 128; mapa.shared::cluster.u32 r8, r7, r6;
mapa.shared::cluster.u32 r9, r1, r6;
@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 128;
fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;
)";
  const std::string after = Wait() + R"(
ld.shared.u32 r10, [r3+128]; mul.wide.u32 rd4, r4, 128; add.u64 rd4, rd4, rd3;
st.global.u32 [rd4], r10;
barrier.cluster.arrive; barrier.cluster.wait;
)";
  const auto check = [&](const std::string& send, auto&& formula) {
    const Outcome out = RunBlocks(Entry(before + send + after), 2);
    EXPECT_EQ(Text(out.report), "") << send;
    for (uint32_t i = 0; i < 64; ++i) {
      const uint32_t sent = (1 - i / 32) * 100 + i % 32 + 1;
      EXPECT_EQ(out.out[i], formula(sent)) << send << i;
    }
  };
  const std::string form = ".shared::cluster.shared::cta.mbarrier::complete_tx::bytes";
  const std::string rest = " [r8], [r2], 128, [r9];";
  const std::string async = ".async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes";
  check("@p1 cp.async.bulk" + form + rest, [](uint32_t x) { return x; });
  struct Case {
    std::string op;
    uint32_t (*formula)(uint32_t);
  };
  const Case cases[] = {
      {"add.u32", [](uint32_t x) { return 50 + x; }},
      {"add.s32", [](uint32_t x) { return 50 + x; }},
      {"min.u32", [](uint32_t x) { return std::min(50U, x); }},
      {"max.s32", [](uint32_t x) { return std::max(50U, x); }},
      {"inc.u32", [](uint32_t x) { return 50 >= x ? 0U : 51U; }},
      {"dec.u32", [](uint32_t x) { return 50 > x ? x : 49U; }},
      {"and.b32", [](uint32_t x) { return 50 & x; }},
      {"or.b32", [](uint32_t x) { return 50 | x; }},
      {"xor.b32", [](uint32_t x) { return 50 ^ x; }},
  };
  for (const Case& c : cases) {
    check("@p1 cp.reduce.async.bulk" + form + "." + c.op + rest, c.formula);
    check(
        "shl.b32 r11, r0, 2; add.u32 r12, r8, r11;\nred" + async + "." + c.op + " [r12], r5, [r9];",
        c.formula);
  }
  // Two words as one: no carry goes over.
  check("@p1 cp.reduce.async.bulk" + form + ".add.u64" + rest, [](uint32_t x) { return 50 + x; });
  check(
      "shl.b32 r11, r0, 3; add.u32 r12, r8, r11; add.u32 r13, r2, r11; setp.lt.u32 p2, r0, 16;\n"
      "@p2 ld.shared.u64 rd5, [r13]; @p2 red" +
          async + ".add.u64 [r12], rd5, [r9];",
      [](uint32_t x) { return 50 + x; });
  for (const Op op : {Op::kBulkShared, Op::kBulkReduceShared, Op::kRedAsync}) Covers(op);
}

TEST(Bulk, StoresRegistersToOtherBlocks) {
  struct Case {
    int lanes;
    std::string words;
    std::string values;
  };
  const Case cases[] = {
      {32, ".b32", "r5"},           {32, ".u32", "r5"},
      {32, ".s32", "r5"},           {32, ".f32", "f1"},
      {16, ".v2.b32", "{r5, r6}"},  {16, ".b64", "rd5"},
      {16, ".u64", "rd5"},          {16, ".s64", "rd5"},
      {16, ".f64", "fd1"},          {8, ".v4.u32", "{r5, r6, r7, r8}"},
      {8, ".v2.b64", "{rd5, rd6}"},
  };
  for (const Case& c : cases) {
    const std::string prefix = c.lanes == 32
                                   ? "st.async.mbarrier::complete_tx::bytes"
                                   : "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes";
    const Outcome out = RunBlocks(
        Entry(fmt::format(R"(
xor.b32 r10, r4, 1; mapa.shared::cluster.u32 r11, r1, r10; mapa.shared::cluster.u32 r12, r2, r10;
mul.lo.u32 r5, r0, {}; mad.lo.u32 r5, r4, 100, r5; add.u32 r6, r5, 1; add.u32 r7, r5, 2;
add.u32 r8, r5, 3; mov.b64 rd5, {{r5, r6}}; mov.b64 rd6, {{r7, r8}}; mov.b32 f1, r5; mov.b64 fd1, rd5;
@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 128;
mad.lo.u32 r13, r0, {}, r12; setp.lt.u32 p2, r0, {};
barrier.cluster.arrive; barrier.cluster.wait;
@p2 {}{} [r13], {}, [r11];
)",
                          32 / c.lanes, 128 / c.lanes, c.lanes, prefix, c.words, c.values) +
              Wait() + R"(
ld.shared.u32 r14, [r3]; mul.wide.u32 rd4, r4, 128; add.u64 rd4, rd4, rd3;
st.global.u32 [rd4], r14;
barrier.cluster.arrive; barrier.cluster.wait;
)"),
        2);
    EXPECT_EQ(Text(out.report), "") << c.words;
    for (uint32_t i = 0; i < 64; ++i) {
      EXPECT_EQ(out.out[i], (1 - i / 32) * 100 + i % 32) << c.words << i;
    }
  }
  Covers(Op::kStAsync);
}

// One reduction into global memory, of every operation and type.
TEST(Bulk, ReducesIntoGlobalMemory) {
  const auto check = [](const std::string& op, uint64_t old, uint64_t value, uint64_t expected,
                        int bytes, const std::string& hint = "") {
    Machine machine(
        Entry("ld.global.u64 rd5, [rd0]; st.shared.u64 [r2], rd5; "
              "st.shared.u64 [r2+8], rd5;\nfence.proxy.async.shared::cta;\n"
              "cp.reduce.async.bulk.global.shared::cta.bulk_group" +
              hint + "." + op + " [rd1], [r2], 16" + (hint.empty() ? "" : ", rd9") +
              ";\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"));
    const auto spread = [&](uint64_t word) {
      for (int shift = bytes * 8; shift < 64; shift += bytes * 8) word |= word << shift;
      return word;
    };
    const uint64_t in = machine.Put(std::vector<uint64_t>{spread(value)});
    const uint64_t out = machine.Put(std::vector<uint64_t>(4, spread(old)));
    EXPECT_EQ(Text(machine.Run("k", {1}, {1}, {in, out})), "") << op;
    EXPECT_EQ(machine.Get<uint64_t>(out, 4),
              (std::vector<uint64_t>{spread(expected), spread(expected), spread(old), spread(old)}))
        << op;
  };
  check("add.u32", 0xFFFFFFFF, 3, 2, 4);
  check("add.s32", 5, 0xFFFFFFFE, 3, 4, ".L2::cache_hint");
  check("add.u64", 0xFFFFFFFFFFFFFFFF, 3, 2, 8);
  check("min.u32", 5, 0xFFFFFFFE, 5, 4);
  check("min.s32", 5, 0xFFFFFFFE, 0xFFFFFFFE, 4);
  check("min.s64", 5, ~uint64_t{1}, ~uint64_t{1}, 8);
  check("max.u64", 5, ~uint64_t{1}, ~uint64_t{1}, 8);
  check("max.s64", 5, ~uint64_t{1}, 5, 8);
  check("inc.u32", 7, 7, 0, 4);
  check("dec.u32", 0, 7, 7, 4);
  check("and.b32", 12, 10, 8, 4);
  check("or.b64", 12, 10, 14, 8);
  check("xor.b64", 12, 10, 6, 8);
  check("add.f32", 0x3F800000, 0x40000000, 0x40400000, 4);  // 1 + 2
  check("add.f64", 0x3FF0000000000000, 0x4000000000000000, 0x4008000000000000, 8);
  check("add.noftz.f16", 0x3C00, 0x4000, 0x4200, 2);
  check("add.noftz.bf16", 0x3F80, 0x4000, 0x4040, 2);
  check("min.f16", 0x3C00, 0xC000, 0xC000, 2);  // 1, -2
  check("max.f16", 0x7E00, 0xC000, 0xC000, 2);  // NaN, -2
  check("max.bf16", 0x8000, 0x0000, 0x0000, 2);
  check("min.bf16", 0x8000, 0x0000, 0x8000, 2);
  Covers(Op::kBulkReduceGlobal);
}

TEST(Bulk, StoresZeros) {
  const Outcome out =
      RunBlocks(Entry("@p1 st.bulk.weak.shared::cta [r2], 64, 0;\nbar.warp.sync -1;\n"
                      "setp.lt.u32 p2, r0, 16; @p2 ld.shared.u32 r5, [r3];\n"
                      "@p2 st.global.u32 [rd3], r5;",
                      true, "sm_100"));
  EXPECT_EQ(Text(out.report), "");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out.out[i], i < 16 ? 0 : OutWord(i));
  Covers(Op::kStBulk);
}

TEST(Bulk, FencesOfProxies) {
  const Outcome out = RunBlocks(Entry(R"(
fence.proxy.async.global; fence.proxy.async.shared::cluster;
fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;
fence.acquire.sync_restrict::shared::cluster.cluster;
fence.release.sync_restrict::shared::cta.cluster;
fence.proxy.tensormap::generic.release.cta; fence.proxy.tensormap::generic.release.cluster;
fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.release.sys;
fence.proxy.tensormap::generic.acquire.cta [rd0], 128;
fence.proxy.tensormap::generic.acquire.cluster [rd0], 128;
fence.proxy.tensormap::generic.acquire.gpu [rd0], 128;
fence.proxy.tensormap::generic.acquire.sys [rd0], 128;
)"));
  EXPECT_EQ(Text(out.report), "");
  for (const Op op : {Op::kFenceSyncRestrict, Op::kFenceProxyGeneric, Op::kFenceTensormapRelease,
                      Op::kFenceTensormapAcquire}) {
    Covers(op);
  }
}

TEST(Bulk, FindsMisuse) {
  const std::string load = "@p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes ";
  const std::string store = "@p1 cp.async.bulk.global.shared::cta.bulk_group ";
  const std::string end = "@p1 cp.async.bulk.commit_group; @p1 cp.async.bulk.wait_group 0;\n";
  const std::string fill =
      "st.shared.u32 [r3], 1; st.shared.u32 [r3+128], 1; bar.warp.sync -1;\n"
      "fence.proxy.async;\n";
  ExpectOne(load + "[r2+8], [rd0], 256, [r1];", FindingKind::kMisaligned, "the destination");
  ExpectOne(load + "[r2], [rd0+4], 256, [r1];", FindingKind::kMisaligned, "the source");
  ExpectOne(load + "[r2], [rd0], 200, [r1];", FindingKind::kMisaligned, "the size (0xc8)");
  ExpectOne(load + "[r2], [rd0+1008], 32, [r1];", FindingKind::kOutOfBounds,
            "reads 32 bytes at global address");
  ExpectOne(load + "[r2+1008], [rd0], 32, [r1];", FindingKind::kOutOfBounds,
            "writes 32 bytes at shared address");
  ExpectOne(load + "[r2], [rd0], 0xFFFFFFF0, [r1];", FindingKind::kOutOfBounds,
            "a copy of 4294967280 bytes");
  ExpectOne(load + "[r2], [rd0], 256, [r1+8];", FindingKind::kMbarrier, "was not initialised");
  ExpectOne(kExpect256 + load + "[r2], [rd0], 256, [r1];\n" + Wait(), FindingKind::kMbarrier,
            "no fence.mbarrier_init or fence.proxy.async", false);
  // A missing wait: old bytes, and bytes that are still read are overwritten.
  ExpectOne(kExpect256 + load + "[r2], [rd0], 256, [r1];\nld.shared.u32 r5, [r3];\n" + Wait(),
            FindingKind::kAsync, "has not been waited for");
  ExpectOne(fill + store + "[rd1], [r2], 256;\nst.shared.u32 [r3], 2;\n" + end, FindingKind::kAsync,
            "which an asynchronous copy reads");
  // Of a wait for reads alone nothing follows for what is written.
  ExpectOne(fill + store + "[rd1], [r2], 256;\n@p1 cp.async.bulk.commit_group;\n" +
                "@p1 cp.async.bulk.wait_group.read 0;\n@p1 st.shared.u32 [r2], 2;\n"
                "@p1 ld.global.u32 r5, [rd1];\n" +
                end,
            FindingKind::kAsync, "reads 4 bytes");
  // Ordered, but through the generic proxy.
  ExpectOne("st.shared.u32 [r3], 1; st.shared.u32 [r3+128], 1; bar.warp.sync -1;\n" + store +
                "[rd1], [r2], 256;\n" + end,
            FindingKind::kProxy, "after a fence.proxy.async");
  ExpectOne(fill + store + "[rd1], [r2], 256;", FindingKind::kAsync,
            "it still reads shared memory of a block that has ended");
  ExpectOne(kExpect256 + load + "[r2], [rd0], 256, [r1];", FindingKind::kAsync,
            "it still writes shared memory of a block that has ended");
  ExpectOne(kExpect256 + load + "[r2], [rd0], 128, [r1];\n" + load +
                "[r2+64], [rd0], 128, [r1];\n" + Wait(),
            FindingKind::kAsync, "the copy may do so before that and after it");
  // What the mbarrier is then used for races with the copy as well.
  const std::string over =
      Text(RunBlocks(Entry(load +
                           "[r1], [rd0], 16, [r1];\n"
                           "@p1 mbarrier.arrive.expect_tx.shared.b64 _, [r1], 16;\n" +
                           Wait()))
               .report);
  EXPECT_NE(over.find("mbarrier: writes bytes of the mbarrier"), std::string::npos) << over;
  ExpectOne(store + "[rd1], [r2], 256;\n" + end, FindingKind::kUninitialised, "copies bits");
  // Fewer bytes come than are expected.
  ExpectOne(kExpect256 + load + "[r2], [rd0], 128, [r1];\n" + Wait(), FindingKind::kDeadlock,
            "0 of 1 arrivals and 128 bytes missing");
  // The wait of another phase's parity ends at once.
  ExpectOne(kExpect256 + load + "[r2], [rd0], 256, [r1];\n" + Wait("1") +
                "ld.shared.u32 r5, [r3];\n" + Wait(),
            FindingKind::kAsync, "has not been waited for");
  ExpectOne(
      "mapa.shared::cluster.u32 r5, r2, 1; mapa.shared::cluster.u32 r6, r1, 0;\n"
      "setp.eq.u32 p2, r4, 0; and.pred p3, p1, p2;\n"
      "@p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r5], [rd0], 16, "
      "[r6];\nbarrier.cluster.arrive; barrier.cluster.wait;",
      FindingKind::kMbarrier, "not belong to the block that gets the bytes", true, 2);
  ExpectOne("mapa.shared::cluster.u32 r5, r2, 1; setp.eq.u32 p2, r4, 0; and.pred p1, p1, p2;\n" +
                store + "[rd1], [r5], 256;\nbarrier.cluster.arrive; barrier.cluster.wait;",
            FindingKind::kOutOfBounds, "without .shared::cluster", true, 2);
}

// What a copy wrote another one may read without a fence: both are of the asynchronous proxy.
TEST(Bulk, CopiesOfWhatWasCopied) {
  const Outcome out =
      RunBlocks(Entry(kExpect256 +
                      "@p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
                      "[r2], [rd0], 256, [r1];\n" +
                      Wait() +
                      "@p1 cp.async.bulk.global.shared::cta.bulk_group [rd1], [r2], 256;\n"
                      "@p1 cp.async.bulk.commit_group; @p1 cp.async.bulk.wait_group 0;"));
  EXPECT_EQ(Text(out.report), "");
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out.out[i], InWord(i));
}

// Groups are waited for in order; the last may be left under way.
TEST(Bulk, WaitsForGroups) {
  const Outcome out = RunBlocks(Entry(R"(
st.shared.u32 [r3], r0; st.shared.u32 [r3+128], r0; bar.warp.sync -1;
fence.proxy.async;
@!p1 bra end;
cp.async.bulk.global.shared::cta.bulk_group [rd1], [r2], 128;
cp.async.bulk.commit_group;
cp.async.bulk.global.shared::cta.bulk_group [rd1+128], [r2+128], 128;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 1;
st.shared.u32 [r2], 77; ld.global.u32 r5, [rd1+4]; ld.global.u32 r6, [rd1+132];
st.global.u32 [rd1+512], r5; st.global.u32 [rd1+516], r6;
cp.async.bulk.wait_group 0;
end:
)"));
  // The second group is not waited for when its words are read.
  ASSERT_EQ(out.report.findings.size(), 1U) << Text(out.report);
  EXPECT_EQ(out.report.findings[0].kind, FindingKind::kAsync);
  EXPECT_NE(out.report.findings[0].message.find("reads 4 bytes"), std::string::npos);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out.out[i], i % 32);
  EXPECT_EQ(out.out[128], 1U);
  EXPECT_EQ(out.out[129], OutWord(33));  // not yet there
}

}  // namespace
}  // namespace tarsia::ptx::bulk_test
