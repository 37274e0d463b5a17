// What the words of memory instructions that only hint or order (scopes, caches, policies) must not
// change: every word of a row in turn, on the same data.
#include "ptx/table/table.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::words_test {
namespace {

// An entry over one thread: a pointer in rd0, whose allocation begins with `words`.
std::vector<uint32_t> RunBody(const std::string& body, const std::vector<uint32_t>& words) {
  Machine machine(std::string(kNewHeader) + R"(
.shared .align 16 .b8 tile[64];
.visible .entry k(.param .u64 p) {
.reg .pred p<4>; .reg .b16 h<8>; .reg .b32 r<16>; .reg .b64 rd<8>; .reg .b128 q<2>;
.reg .f32 f<4>; .reg .f64 fd<4>;
.local .align 16 .b8 frame[64];
ld.param.u64 rd0, [p]; mov.u32 r0, tile; mov.u64 rd7, 0;
)" + body + "\nret;\n}\n");
  const uint64_t at = machine.Put(words);
  EXPECT_EQ(Text(machine.Run("k", {1}, {1}, {at})), "") << body;
  return machine.Get<uint32_t>(at, words.size());
}

std::vector<std::string> WordsOf(Op op, size_t slot) {
  const auto& words = RowOf(op).slots[slot].words;
  return {words.begin(), words.end()};
}

constexpr uint32_t kWord = 0x8123ABCD;

TEST(Words, OfLoads) {
  const auto check = [](const std::string& load) {
    EXPECT_EQ(RunBody(load + " r1, [rd0]; st.global.u32 [rd0+16], r1;", {kWord, 0, 0, 0, 0})[4],
              kWord)
        << load;
  };
  check("ld.mmio.relaxed.sys.global.u32");
  for (const std::string& order : WordsOf(Op::kLd, 1)) {
    if (order == "weak" || order == "volatile") {
      check("ld." + order + ".global.u32");
      continue;
    }
    for (const std::string& scope : WordsOf(Op::kLd, 2)) {
      check("ld." + order + "." + scope + ".global.u32");
    }
  }
  for (const std::string& cache : WordsOf(Op::kLd, 4)) check("ld.global." + cache + ".u32");
  for (const std::string& evict : WordsOf(Op::kLd, 6)) check("ld.global." + evict + ".u32");
  for (const std::string& ahead : WordsOf(Op::kLd, 9)) check("ld.global." + ahead + ".u32");
  for (const std::string& evict : WordsOf(Op::kLd, 7)) {
    const auto out = RunBody("ld.global." + evict +
                                 ".v8.b32 {r1, r2, r3, r4, r5, r6, r7, r8}, [rd0];\n"
                                 "st.global." +
                                 evict + ".v8.b32 [rd0+32], {r8, r7, r6, r5, r4, r3, r2, r1};",
                             {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(std::vector<uint32_t>(out.begin() + 8, out.end()),
              (std::vector<uint32_t>{8, 7, 6, 5, 4, 3, 2, 1}));
  }
  // Spaces under their longer names.
  const auto out = RunBody(R"(
st.shared::cta.u32 [r0], 7; ld.shared::cluster.u32 r1, [r0]; st.global.u32 [rd0], r1;
st.shared::cluster.u32 [r0+4], 8; ld.shared::cta.u32 r1, [r0+4]; st.global.u32 [rd0+4], r1;
ld.param::entry.u32 r1, [p]; cvt.u32.u64 r2, rd0; sub.u32 r1, r1, r2; st.global.u32 [rd0+8], r1;
)",
                           {0, 0, 1});
  EXPECT_EQ(out, (std::vector<uint32_t>{7, 8, 0}));
}

TEST(Words, OfStores) {
  const auto check = [](const std::string& store, const std::string& more = "") {
    EXPECT_EQ(RunBody("mov.u32 r1, 77; " + store + ".u32 [rd0], r1" + more + ";", {0})[0], 77U)
        << store;
  };
  check("st.mmio.relaxed.sys.global");
  for (const std::string& order : WordsOf(Op::kSt, 1)) {
    if (order == "weak" || order == "volatile") {
      check("st." + order + ".global");
      continue;
    }
    for (const std::string& scope : WordsOf(Op::kSt, 2))
      check("st." + order + "." + scope + ".global");
  }
  for (const std::string& cache : WordsOf(Op::kSt, 4)) check("st.global." + cache);
  for (const std::string& evict : WordsOf(Op::kSt, 5)) check("st.global." + evict);
  check("st.global.L2::cache_hint", ", rd7");
}

// Every type, in a register of its width and, if it is narrower, in a wider one.
TEST(Words, TypesOfLoadsAndStores) {
  struct Case {
    const char* type;
    const char* reg;
    int bits;
  };
  const Case cases[] = {{"b8", "h1", 8},    {"u8", "h1", 8},    {"s8", "r1", 8},
                        {"b16", "h1", 16},  {"u16", "h1", 16},  {"s16", "h1", 16},
                        {"b32", "r1", 32},  {"u32", "r1", 32},  {"s32", "rd1", 32},
                        {"f32", "f1", 32},  {"b64", "rd1", 64}, {"u64", "rd1", 64},
                        {"s64", "rd1", 64}, {"f64", "fd1", 64}, {"b128", "q1", 128}};
  const std::vector<uint32_t> words = {0x11223344, 0x55667788, 0x99AABBCC, 0xDDEEFF00, 0, 0, 0, 0};
  for (const Case& c : cases) {
    for (const std::string load : {"ld.global", "ldu.global"}) {
      const auto out = RunBody(fmt::format("{}.{} {}, [rd0]; st.global.{} [rd0+16], {};", load,
                                           c.type, c.reg, c.type, c.reg),
                               words);
      for (int i = 0; i < 4; ++i) {
        const int left = c.bits - 32 * i;
        const uint32_t mask = left <= 0 ? 0 : left >= 32 ? UINT32_MAX : (1U << left) - 1;
        EXPECT_EQ(out[4 + static_cast<size_t>(i)], words[static_cast<size_t>(i)] & mask) << c.type;
      }
    }
  }
  const auto pair = RunBody(
      "ldu.global.v2.u32 {r1, r2}, [rd0]; st.global.v2.u32 [rd0+16], {r2, r1};\n"
      "ldu.global.v4.u8 {h1, h2, h3, h4}, [rd0]; st.global.u8 [rd0+24], h4;",
      words);
  EXPECT_EQ(pair[4], 0x55667788U);
  EXPECT_EQ(pair[5], 0x11223344U);
  EXPECT_EQ(pair[6], 0x11U);
}

TEST(Words, OfPrefetchesAndPolicies) {
  std::string body;
  for (const std::string& level : WordsOf(Op::kPrefetch, 1)) {
    body += "prefetch.global." + level + " [rd0];\n";
  }
  body += "prefetch.local.L1 [frame];\n";
  for (const std::string& policy : WordsOf(Op::kCreatepolicy, 1)) {
    body += "createpolicy.fractional." + policy + ".b64 rd1, 0.5;\n";
  }
  body +=
      "ld.global.L2::cache_hint.u32 r1, [rd0], rd1; add.u32 r1, r1, 1; st.global.u32 [rd0], r1;";
  EXPECT_EQ(RunBody(body, {4})[0], 5U);
}

TEST(Words, OfAtomics) {
  const auto check = [](const std::string& body, uint32_t before, uint32_t after) {
    EXPECT_EQ(RunBody(body, {before})[0], after) << body;
  };
  for (const std::string& order : WordsOf(Op::kAtom, 0)) {
    for (const std::string& scope : WordsOf(Op::kAtom, 1)) {
      const std::string words = order + "." + scope;
      check("atom." + words + ".global.add.u32 r1, [rd0], 3;", 4, 7);
      check("atom." + words + ".global.cas.b32 r1, [rd0], 4, 9;", 4, 9);
      if (order == "relaxed" || order == "release")
        check("red." + words + ".global.add.u32 [rd0], 3;", 4, 7);
    }
  }
  // As headers of nvcc write them.
  check("atom.global.cta.add.u32 r1, [rd0], 3;", 4, 7);
  check("atom.add.acq_rel.sys.u32 r1, [rd0], 3;", 4, 7);
  check("red.global.sys.add.u32 [rd0], 3;", 4, 7);
  for (const std::string space : {"shared", "shared::cta", "shared::cluster"}) {
    check("st.shared.u32 [r0], 5; atom." + space + ".add.u32 r1, [r0], 6; red." + space +
              ".add.u32 [r0], r1;\natom." + space +
              ".cas.b32 r1, [r0], 16, 17; ld.shared.u32 r2, [r0]; mad.lo.u32 r2, r2, 100, r1; "
              "st.global.u32 [rd0], r2;",
          0, 1716);
  }
}

// Operations and types, in 64 bits; the old value and the new one.
TEST(Words, AtomicsByType) {
  struct Case {
    const char* words;
    const char* reg;
    uint64_t before, operand, after;
    bool red = true;
  };
  const Case cases[] = {
      {"min.u32", "r", 5, 3, 3},
      {"max.s32", "r", 0xFFFFFFFF, 3, 3},
      {"min.s32", "r", 0xFFFFFFFF, 3, 0xFFFFFFFF},
      {"inc.u32", "r", 7, 7, 0},
      {"dec.u32", "r", 0, 7, 7},
      {"and.b32", "r", 12, 10, 8},
      {"or.b32", "r", 12, 10, 14},
      {"xor.b32", "r", 12, 10, 6},
      {"exch.b32", "r", 12, 10, 10, false},
      {"add.s32", "r", 5, 0xFFFFFFFF, 4},
      {"add.u64", "rd", 0xFFFFFFFF, 1, 0x100000000},
      {"min.s64", "rd", ~uint64_t{0}, 1, ~uint64_t{0}},
      {"max.u64", "rd", ~uint64_t{0}, 1, ~uint64_t{0}},
      {"max.s64", "rd", ~uint64_t{0}, 1, 1},
      {"and.b64", "rd", 0xF0F0F0F0F0, 0xFF00000000, 0xF000000000},
      {"exch.b64", "rd", 1, 0x123456789A, 0x123456789A, false},
      {"add.f32", "f", 0x3F800000, 0x40000000, 0x40400000},
      {"add.f64", "fd", 0x3FF0000000000000, 0x4000000000000000, 0x4008000000000000},
      {"add.noftz.f16", "h", 0x3C00, 0x4000, 0x4200},
      {"add.noftz.bf16", "h", 0x3F80, 0x4000, 0x4040},
      {"add.noftz.f16x2", "r", 0x3C000001, 0x40000001, 0x42000002},
      {"add.noftz.bf16x2", "r", 0x3F800001, 0x40000001, 0x40400002},
  };
  for (const Case& c : cases) {
    const int bits = c.reg[0] == 'h' ? 16 : c.reg[1] == 'd' ? 64 : 32;
    const std::string move = fmt::format("ld.global.b{} {}1, [rd0+8]; ", bits, c.reg);
    const auto lane = [](uint64_t value) {
      return std::vector<uint32_t>{static_cast<uint32_t>(value),
                                   static_cast<uint32_t>(value >> 32)};
    };
    std::vector<uint32_t> words = lane(c.before);
    for (const uint32_t word : lane(c.operand)) words.push_back(word);
    words.resize(6);
    std::vector<uint32_t> out =
        RunBody(move + fmt::format("atom.global.{} {}2, [rd0], {}1; st.global.b{} [rd0+16], {}2;",
                                   c.words, c.reg, c.reg, bits, c.reg),
                words);
    EXPECT_EQ(out[0] | uint64_t{out[1]} << 32, c.after) << c.words;
    EXPECT_EQ(out[4] | uint64_t{out[5]} << 32, c.before) << c.words;
    if (!c.red) continue;
    out = RunBody(move + fmt::format("red.global.{} [rd0], {}1;", c.words, c.reg), words);
    EXPECT_EQ(out[0] | uint64_t{out[1]} << 32, c.after) << c.words;
  }
  const auto hinted = RunBody(
      "atom.global.add.L2::cache_hint.u32 r1, [rd0], 2, rd7;\n"
      "red.global.add.L2::cache_hint.u32 [rd0], 3, rd7;",
      {1});
  EXPECT_EQ(hinted[0], 6U);
}

TEST(Words, OfAsynchronousCopies) {
  for (const std::string space : {"shared", "shared::cta"}) {
    for (const std::string& ahead : WordsOf(Op::kCpAsync, 4)) {
      const auto out =
          RunBody("cp.async.ca." + space + ".global." + ahead + " [r0], [rd0], 8;\ncp.async.cg." +
                      space + ".global.L2::cache_hint." + ahead +
                      " [r0+16], [rd0], 16, rd7;\ncp.async.wait_all;\n"
                      "ld.shared.u32 r1, [r0+4]; ld.shared.u32 r2, [r0+28]; "
                      "st.global.v2.u32 [rd0+16], {r1, r2};",
                  {1, 2, 3, 4, 0, 0});
      EXPECT_EQ(out[4], 2U);
      EXPECT_EQ(out[5], 4U);
    }
  }
}

TEST(Words, OfFences) {
  std::string body = "membar.cta; membar.gl; membar.sys;\n";
  for (const std::string& scope : WordsOf(Op::kFence, 1)) {
    body += "fence." + scope + ";\n";
    for (const std::string& order : WordsOf(Op::kFence, 0))
      body += "fence." + order + "." + scope + ";\n";
  }
  body += "fence.proxy.alias; fence.proxy.async;\n";
  for (const std::string& space : WordsOf(Op::kFenceProxy, 2)) {
    body += "fence.proxy.async." + space + ";\n";
  }
  body += "griddepcontrol.launch_dependents; griddepcontrol.wait;\n";
  EXPECT_EQ(RunBody(body + "st.global.u32 [rd0], 1;", {0})[0], 1U);
}

// The lanes' accesses of one instruction need not lie in one allocation, nor in one space.
TEST(Words, LanesInSeveralPlaces) {
  Machine machine(std::string(kHeader) + R"(
.shared .align 4 .b8 tile[4];
.visible .entry k(.param .u64 p, .param .u64 q) {
.reg .pred p<4>; .reg .b32 r<8>; .reg .b64 rd<8>;
ld.param.u64 rd0, [p]; ld.param.u64 rd1, [q];
mov.u32 r0, %tid.x; mul.wide.u32 rd2, r0, 4; add.u64 rd0, rd0, rd2; add.u64 rd1, rd1, rd2;
and.b32 r1, r0, 1; setp.eq.u32 p1, r1, 0; selp.u64 rd3, rd0, rd1, p1;
mov.u64 rd4, tile; cvta.shared.u64 rd4, rd4;
setp.eq.u32 p2, r0, 5; selp.u64 rd3, rd4, rd3, p2;
add.u32 r2, r0, 100; st.u32 [rd3], r2; ld.u32 r3, [rd3];
st.global.u32 [rd0+256], r3;
ret; }
)");
  const uint64_t a = machine.Put(std::vector<uint32_t>(128));
  const uint64_t b = machine.Put(std::vector<uint32_t>(64));
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {a, b})), "");
  const auto first = machine.Get<uint32_t>(a, 128);
  const auto second = machine.Get<uint32_t>(b, 64);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(first[i], i % 2 == 0 ? 100 + i : 0U) << i;
    EXPECT_EQ(second[i], i % 2 == 1 && i != 5 ? 100 + i : 0U) << i;
    EXPECT_EQ(first[64 + i], 100 + i) << i;
  }
}

}  // namespace
}  // namespace tarsia::ptx::words_test
