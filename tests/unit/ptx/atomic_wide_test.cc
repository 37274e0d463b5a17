// Atomics of 128 bits.
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::atomic_wide_test {
namespace {

std::string Entry(const std::string& body) {
  return ".version 8.4\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 cell[16];\n"
         ".visible .entry k(.param .u64 p, .param .u64 o) {\n"
         ".reg .pred p<4>; .reg .b32 r<8>; .reg .b64 rd<16>; .reg .b128 q<8>;\n"
         "ld.param.u64 rd0, [p]; ld.param.u64 rd1, [o]; mov.u32 r0, %tid.x; mov.u32 r1, %ctaid.x;\n"
         "mad.lo.u32 r2, r1, 32, r0; cvt.u64.u32 rd2, r2;\n" +
         body + "\nret;\n}\n";
}

// Every thread takes what the one before it left, so that each pair comes out once.
TEST(AtomicWide, Exchanges) {
  for (const char* words :
       {".global.exch.b128 q1, [rd0], q0;", ".exch.b128 q1, [rd0], q0;",
        ".relaxed.gpu.global.exch.L2::cache_hint.b128 q1, [rd0], q0, rd4;",
        ".acquire.sys.exch.b128 q1, [rd0], q0;", ".release.gpu.global.exch.b128 q1, [rd0], q0;",
        ".acq_rel.gpu.exch.b128 q1, [rd0], q0;"}) {
    Machine machine(Entry("add.u64 rd3, rd2, 1000; mov.b128 q0, {rd2, rd3}; mov.b64 rd4, 0;\natom" +
                          std::string(words) +
                          "\nmul.lo.u64 rd5, rd2, 16; add.u64 rd1, rd1, rd5;\n"
                          "st.global.b128 [rd1], q1;"));
    const uint64_t cell = machine.Put(std::vector<uint64_t>{777, 888});
    const uint64_t out = machine.Room(64 * 16);
    EXPECT_EQ(Text(machine.Run("k", {2}, {32}, {cell, out})), "");
    auto seen = machine.Get<uint64_t>(out, 128);
    const auto last = machine.Get<uint64_t>(cell, 2);
    seen.insert(seen.end(), last.begin(), last.end());
    std::set<uint64_t> found;
    for (size_t i = 0; i < seen.size(); i += 2) {
      found.insert(seen[i]);
      EXPECT_EQ(seen[i + 1], seen[i] == 777 ? 888 : seen[i] + 1000);
    }
    EXPECT_EQ(found.size(), 65U);
  }
  Covers(Op::kAtomWide);
}

// A sum of 128 bits by compare and swap, in each space and scope.
TEST(AtomicWide, ComparesAndSwaps) {
  for (const char* cas :
       {".global.cas", ".cas", ".relaxed.cta.shared.cas", ".acquire.cluster.shared::cta.cas",
        ".release.cluster.shared::cluster.cas", ".acq_rel.gpu.global.cas",
        ".relaxed.sys.global.cas"}) {
    const bool shared = std::string(cas).find("shared") != std::string::npos;
    const std::string place = shared ? "[cell]" : "[rd0]";
    const std::string space = shared ? ".shared" : ".global";
    Machine machine(
        Entry("setp.eq.u32 p1, r0, 0; mov.u64 rd4, -40; mov.u64 rd5, 0; mov.b128 q0, {rd4, rd5};\n"
              "@p1 st" +
              space + ".b128 " + place +
              ", q0;\nbar.sync 0;\nmov.b128 q1, q0;\n"
              "again: mov.b128 {rd4, rd5}, q1;\nadd.cc.u64 rd6, rd4, 3; addc.u64 rd7, rd5, 0;\n"
              "mov.b128 q2, {rd6, rd7};\natom" +
              std::string(cas) + ".b128 q3, " + place +
              ", q1, q2;\nmov.b128 {rd8, rd9}, q3;\nsetp.eq.u64 p2, rd8, rd4; "
              "setp.eq.and.u64 p2, rd9, rd5, p2;\nmov.b128 q1, q3;\n@!p2 bra again;\nbar.sync 0;\n"
              "@p1 ld" +
              space + ".b128 q4, " + place + ";\n@p1 st.global.b128 [rd1], q4;"));
    const uint64_t cell = machine.Room(16);
    const uint64_t out = machine.Room(16);
    EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {cell, out})), "") << cas;
    // -40 + 32 * 3 carries into the second word.
    EXPECT_EQ(machine.Get<uint64_t>(out, 2), (std::vector<uint64_t>{56, 1})) << cas;
  }
  Covers(Op::kAtomCasWide);
}

// Memory holds {7, 8}; what agrees with one word of that alone changes nothing.
TEST(AtomicWide, ComparesBothWords) {
  for (const auto& [low, high, swaps] : {std::tuple(7, 8, true), {7, 9, false}, {6, 8, false}}) {
    Machine machine(
        Entry(fmt::format("mov.u64 rd4, {}; mov.u64 rd5, {}; mov.b128 q0, {{rd4, rd5}};\n"
                          "mov.u64 rd6, 1; mov.b128 q1, {{rd6, rd6}};\n"
                          "atom.global.cas.b128 q2, [rd0], q0, q1; st.global.b128 [rd1], q2;",
                          low, high)));
    const uint64_t cell = machine.Put(std::vector<uint64_t>{7, 8});
    const uint64_t out = machine.Room(16);
    EXPECT_EQ(Text(machine.Run("k", {1}, {1}, {cell, out})), "");
    EXPECT_EQ(machine.Get<uint64_t>(out, 2), (std::vector<uint64_t>{7, 8}));
    const std::vector<uint64_t> after =
        swaps ? std::vector<uint64_t>{1, 1} : std::vector<uint64_t>{7, 8};
    EXPECT_EQ(machine.Get<uint64_t>(cell, 2), after) << low << " " << high;
  }
}

TEST(AtomicWide, OnManyThreadsOfTheHost) {
  Machine machine(
      Entry("mov.b128 q0, {rd2, rd2}; atom.global.exch.b128 q1, [rd0], q0;\n"
            "mul.lo.u64 rd5, rd2, 16; add.u64 rd1, rd1, rd5;\n"
            "st.global.b128 [rd1], q1;"));
  const uint64_t cell = machine.Put(std::vector<uint64_t>{99999, 99999});
  const uint64_t out = machine.Room(64 * 32 * 16);
  LaunchConfig config;
  config.host_threads = 4;
  EXPECT_EQ(Text(machine.Run("k", {64}, {32}, {cell, out}, config)), "");
  const auto seen = machine.Get<uint64_t>(out, 64 * 32 * 2);
  for (size_t i = 0; i < seen.size(); i += 2) EXPECT_EQ(seen[i], seen[i + 1]);
}

TEST(AtomicWide, FindsFaults) {
  const auto found = [](const std::string& body) {
    Machine machine(Entry(body));
    return Text(machine.Run("k", {1}, {1}, {machine.Put(std::vector<uint64_t>(4, 1)), 0}));
  };
  const auto expect = [](const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  const std::string zeros = "mov.b128 q0, {rd2, rd2};\n";
  expect(found("atom.global.exch.b128 q1, [rd0], q0;"), "uninitialised: updates global memory");
  expect(found(zeros + "atom.global.cas.b128 q1, [rd0], q0, q2;"), "uninitialised: updates");
  expect(found(zeros + "atom.global.exch.b128 q1, [rd0+8], q0;"), "misaligned");
  expect(found(zeros + "atom.global.exch.b128 q1, [rd0+32], q0;"), "out_of_bounds");
  for (const char* words :
       {".shared", ".relaxed.cta.shared::cta", ".acquire.cluster.shared::cluster"}) {
    EXPECT_EQ(found(zeros + "atom" + words + ".exch.b128 q1, [cell], q0;"), "");
  }
}

}  // namespace
}  // namespace tarsia::ptx::atomic_wide_test
