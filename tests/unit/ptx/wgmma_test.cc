// wgmma: values against sums of small integers, which are exact in every type, with matrices laid
// out by the formulas of the PTX ISA; and what it reports.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/ptx/element_testing.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::wgmma_test {
namespace {

using namespace elements;

// A matrix in shared memory.
struct Placed {
  bool mn_major = false;
  int swizzle = 0;
  uint64_t start = 0;  // in the block's shared memory; with `base`, where the pattern begins
  uint64_t leading = 0;
  uint64_t stride = 0;
  uint64_t base = 0;     // in units of 128 bytes
  uint64_t advance = 0;  // of the descriptor's start, within the rows of the pattern

  // Of an element at byte `byte` of row `row` (of M or N, if K is contiguous; else of K).
  [[nodiscard]] uint64_t At(int row, int byte) const {
    const auto r = static_cast<uint64_t>(row);
    const auto chunk = static_cast<uint64_t>(byte) / 16;
    const uint64_t rest = static_cast<uint64_t>(byte) % 16;
    if (swizzle == 0) {
      const uint64_t outer = mn_major ? leading * (r / 8) : stride * (r / 8);
      return start + 16 * (r % 8) + outer + (mn_major ? stride : leading) * chunk + rest;
    }
    const auto width = static_cast<uint64_t>(swizzle);
    const uint64_t per_row = width / 16;
    uint64_t offset = (r % 8) * width + (r / 8) * stride;
    offset += mn_major ? chunk / per_row * leading + chunk % per_row * 16 : chunk * 16;
    offset += advance;
    // Chunk j of a line of 128 bytes changes places with chunk j ^ (line % per_row).
    const uint64_t line = offset / 128 % per_row;
    return start + (offset / 16 ^ line) * 16 + rest;
  }
  [[nodiscard]] uint64_t Descriptor() const {
    const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
    return (start + advance) / 16 | leading / 16 << 16 | stride / 16 << 32 | base << 49 |
           mode << 62;
  }
};

// A code of at most 32 bits.
uint32_t Code32(int value, const Element& type) {
  return static_cast<uint32_t>(CodeOf(value, type));
}

struct Case {
  int n = 8;
  Element d = kF32;
  Element a = kF16;
  Element b = kF16;
  bool registers = false;  // A
  Placed place_a;
  Placed place_b;
  bool scale_d = true;
  int scale_a = 1;
  int scale_b = 1;
  std::string saturate;
  [[nodiscard]] int k() const { return 256 / a.bits; }
  [[nodiscard]] int results() const { return n * 64 * d.bits / 32 / 128; }
  [[nodiscard]] std::string Name() const {
    return fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}{}.{}.{}.{}", n, k(), saturate,
                       d.name, a.name, b.name);
  }
};

std::string List(const std::string& prefix, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", prefix, i);
  return text + "}";
}

std::string Instruction(const Case& c) {
  std::string text = c.Name() + " " + List("d", c.results()) + ", ";
  text += (c.registers ? List("a", 4) : "da") + ", db, p";
  if (c.a.exponent != 0) text += fmt::format(", {}, {}", c.scale_a, c.scale_b);
  if (c.a.bits == 16) {
    if (!c.registers) text += fmt::format(", {}", c.place_a.mn_major ? 1 : 0);
    text += fmt::format(", {}", c.place_b.mn_major ? 1 : 0);
  }
  return text + ";\n";
}

constexpr int kSharedBytes = 80 * 1024;

// Fills shared memory and the registers from global memory, runs `body`, stores d.
std::string Kernel(const Case& c, const std::string& body) {
  std::string text = kHeader;
  text += fmt::format(R"(
.visible .entry k(.param .u64 image, .param .u64 a, .param .u64 c, .param .u64 out,
                  .param .u64 pda, .param .u64 pdb, .param .u32 scale) {{
.reg .b64 x, y, z, da, db; .reg .b32 t, i, s, w, a<4>, d<{0}>, e<{0}>; .reg .pred p, q;
.reg .b16 h<4>;
.shared .align 1024 .b8 sm[{1}];
ld.param.u64 x, [image]; mov.u32 t, %tid.x; shr.u32 w, t, 5; shl.b32 i, t, 4;
fill: setp.ge.u32 q, i, {1}; @q bra filled;
cvt.u64.u32 y, i; add.u64 y, y, x; mov.u32 s, sm; add.u32 s, s, i;
.reg .b32 v<4>;
ld.global.v4.u32 {{v0, v1, v2, v3}}, [y]; st.shared.v4.u32 [s], {{v0, v1, v2, v3}};
add.u32 i, i, 2048; bra fill;
filled: fence.proxy.async; bar.sync 0;
mov.u64 y, sm; shr.u64 y, y, 4;
ld.param.u64 da, [pda]; add.u64 da, da, y; ld.param.u64 db, [pdb]; add.u64 db, db, y;
ld.param.u32 s, [scale]; setp.ne.u32 p, s, 0;
cvt.u64.u32 z, t;
ld.param.u64 x, [a]; mul.lo.u64 y, z, 16; add.u64 x, x, y;
)",
                      c.results(), kSharedBytes);
  for (int r = 0; r < 4; ++r) text += fmt::format("ld.global.u32 a{}, [x+{}];\n", r, 4 * r);
  const int results = c.results();
  text += fmt::format("ld.param.u64 x, [c]; mul.lo.u64 y, z, {}; add.u64 x, x, y;\n", 4 * results);
  for (int r = 0; r < results; ++r) text += fmt::format("ld.global.u32 d{}, [x+{}];\n", r, 4 * r);
  text += body;
  text += "ld.param.u64 x, [out]; add.u64 x, x, y;\n";
  for (int r = 0; r < results; ++r) text += fmt::format("st.global.u32 [x+{}], d{};\n", 4 * r, r);
  return text + "ret;\n}\n";
}

std::string Whole(const Case& c) {
  return "wgmma.fence.sync.aligned;\n" + Instruction(c) +
         "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
}

// Matrices of small integers, and what their kernel is given.
struct Data {
  std::vector<std::vector<int>> a, b, c;  // 64 x K, K x N, 64 x N
  std::vector<uint8_t> image = std::vector<uint8_t>(kSharedBytes);
  std::vector<uint32_t> fragments, accumulators;

  explicit Data(const Case& c_) {
    std::mt19937 random(static_cast<uint32_t>(c_.n * 31 + c_.a.bits));
    const auto fill = [&](auto* matrix, int rows, int columns, int least, int most) {
      matrix->assign(static_cast<size_t>(rows), std::vector<int>(static_cast<size_t>(columns)));
      std::uniform_int_distribution<int> any(least, most);
      for (auto& row : *matrix) {
        for (int& value : row) value = any(random);
      }
    };
    fill(&a, 64, c_.k(), c_.a.name == "u8" ? 0 : -3, 3);
    fill(&b, c_.k(), c_.n, c_.b.name == "u8" ? 0 : -3, 3);
    fill(&c, 64, c_.n, -100, 100);
    for (int m = 0; m < 64; ++m) {
      for (int k = 0; k < c_.k(); ++k) Store(c_.place_a, c_.a, m, k, ValueA(m, k));
    }
    for (int n = 0; n < c_.n; ++n) {
      for (int k = 0; k < c_.k(); ++k) {
        Store(c_.place_b, c_.b, n, k, b[static_cast<size_t>(k)][static_cast<size_t>(n)]);
      }
    }
    MakeRegisters(c_);
  }

  [[nodiscard]] int ValueA(int m, int k) const {
    return a[static_cast<size_t>(m)][static_cast<size_t>(k)];
  }

  void Store(const Placed& place, const Element& type, int mn, int k, int value) {
    const int bytes = type.bits / 8;
    const uint64_t at = place.mn_major ? place.At(k, mn * bytes) : place.At(mn, k * bytes);
    const uint64_t code = CodeOf(value, type);
    std::memcpy(image.data() + at, &code, static_cast<size_t>(bytes));
  }

  void MakeRegisters(const Case& c_) {
    const int per = 32 / c_.a.bits;
    const int wide = c_.d.bits == 16 ? 2 : 1;
    for (int thread = 0; thread < 128; ++thread) {
      const int row = thread / 32 * 16 + thread % 32 / 4;
      for (int r = 0; r < 4; ++r) {
        uint32_t word = 0;
        for (int e = 0; e < per; ++e) {
          const int column = (r / 2) * 4 * per + thread % 4 * per + e;
          word |= Code32(ValueA(row + 8 * (r % 2), column), c_.a) << (e * c_.a.bits);
        }
        fragments.push_back(word);
      }
      for (int r = 0; r < c_.results(); ++r) {
        uint32_t word = 0;
        for (int e = 0; e < wide; ++e) {
          const auto [m, n] = ResultAt(c_, thread, r, e);
          word |= Code32(c[static_cast<size_t>(m)][static_cast<size_t>(n)], c_.d) << (16 * e);
        }
        accumulators.push_back(word);
      }
    }
  }

  // PTX ISA, the fragment of D: two columns beside each other, then 8 rows down, then the next 8
  // columns.
  static std::pair<int, int> ResultAt(const Case& c_, int thread, int r, int e) {
    const int element = c_.d.bits == 16 ? 2 * r + e : r;  // the n-th of the thread
    const int m = thread / 32 * 16 + thread % 32 / 4 + element / 2 % 2 * 8;
    return {m, element / 4 * 8 + thread % 4 * 2 + element % 2};
  }

  [[nodiscard]] int Expected(const Case& c_, int m, int n) const {
    int sum = 0;
    for (int k = 0; k < c_.k(); ++k) {
      sum += ValueA(m, k) * b[static_cast<size_t>(k)][static_cast<size_t>(n)];
    }
    const int before = c_.scale_d ? c[static_cast<size_t>(m)][static_cast<size_t>(n)] : 0;
    return before + c_.scale_a * c_.scale_b * sum;
  }
};

struct Outcome {
  std::string findings;
  std::vector<uint32_t> d;
};

Outcome RunKernel(const Case& c, const Data& data, const std::string& body,
                  uint32_t threads = 128) {
  Machine machine(Kernel(c, body));
  if (!machine.ok()) return {"not parsed", {}};
  const uint64_t out = machine.Room(data.accumulators.size() * 4);
  const LaunchReport report = machine.Run(
      "k", {1}, {threads},
      {machine.Put(data.image), machine.Put(data.fragments), machine.Put(data.accumulators), out,
       c.place_a.Descriptor(), c.place_b.Descriptor(), c.scale_d ? 1U : 0U});
  return {Text(report), machine.Get<uint32_t>(out, data.accumulators.size())};
}

void Check(const Case& c) {
  const Data data(c);
  const Outcome outcome = RunKernel(c, data, Whole(c));
  ASSERT_EQ(outcome.findings, "") << Instruction(c);
  ASSERT_EQ(outcome.d.size(), data.accumulators.size());
  int wrong = 0;
  for (int thread = 0; thread < 128; ++thread) {
    for (int r = 0; r < c.results(); ++r) {
      uint32_t expected = 0;
      for (int e = 0; e < (c.d.bits == 16 ? 2 : 1); ++e) {
        const auto [m, n] = Data::ResultAt(c, thread, r, e);
        expected |= Code32(data.Expected(c, m, n), c.d) << (16 * e);
      }
      const uint32_t got = outcome.d[static_cast<size_t>(thread * c.results() + r)];
      if (got == expected || ++wrong > 3) continue;
      ADD_FAILURE() << Instruction(c) << "thread " << thread << " register " << r
                    << fmt::format(": 0x{:x}, expected 0x{:x}", got, expected);
    }
  }
}

// A without a swizzle at the beginning, B after it.
Case Plain(int n, const Element& d, const Element& a, const Element& b) {
  Case c;
  c.n = n;
  c.d = d;
  c.a = a;
  c.b = b;
  c.place_a.leading = 128;
  c.place_a.stride = 256;
  c.place_b.start = 4096;
  c.place_b.leading = 128;
  c.place_b.stride = 256;
  return c;
}

TEST(Wgmma, EveryNumberOfColumns) {
  for (int n = 8; n <= 256; n += 8) Check(Plain(n, kF32, kF16, kF16));
  for (int n = 8; n <= 256; n += n < 32 ? 8 : 16) Check(Plain(n, kS32, kS8, kS8));
  Covers(Op::kWgmmaHalf);
}

TEST(Wgmma, EveryType) {
  for (const bool registers : {false, true}) {
    for (const bool scale_d : {false, true}) {
      std::vector<Case> cases = {
          Plain(16, kF16, kF16, kF16),
          Plain(24, kF32, kF16, kF16),
          Plain(32, kF32, kBF16, kBF16),
          Plain(40, kF32, kTF32, kTF32),
      };
      for (const Element& a : {kE4M3, kE5M2}) {
        for (const Element& b : {kE4M3, kE5M2}) {
          cases.push_back(Plain(48, kF32, a, b));
          cases.push_back(Plain(16, kF16, a, b));
        }
      }
      for (const Element& a : {kS8, kU8}) {
        for (const Element& b : {kS8, kU8}) cases.push_back(Plain(24, kS32, a, b));
      }
      for (Case& c : cases) {
        c.registers = registers;
        c.scale_d = scale_d;
        Check(c);
        if (c.a.exponent == 0) continue;
        c.scale_a = -1;
        Check(c);
        c.scale_b = -1;
        Check(c);
      }
    }
  }
  for (const Op op : {Op::kWgmmaTf32, Op::kWgmmaF8, Op::kWgmmaInt, Op::kWgmmaFence,
                      Op::kWgmmaCommit, Op::kWgmmaWait}) {
    Covers(op);
  }
}

// Rows of K, and of the other dimension, in every swizzle.
TEST(Wgmma, EveryLayout) {
  for (const int swizzle : {0, 32, 64, 128}) {
    for (const int major : {0, 1, 2, 3}) {
      for (const int n : {8, 64, 96, 136, 256}) {
        Case c = Plain(n, kF32, kBF16, kBF16);
        for (Placed* place : {&c.place_a, &c.place_b}) {
          place->swizzle = swizzle;
          place->mn_major = (major >> (place == &c.place_a ? 0 : 1) & 1) != 0;
          // Room for every block of 8 rows, and for every column of blocks.
          const uint64_t atom = swizzle == 0 ? 128 : static_cast<uint64_t>(swizzle) * 8;
          place->stride = place->mn_major && swizzle == 0 ? 128 : atom * (place->mn_major ? 1 : 2);
          place->leading = place->mn_major ? 2 * atom : 128;
          if (place->mn_major && swizzle == 0) place->leading = 4096;
        }
        c.place_b.start = 16384;
        if (c.place_b.mn_major && swizzle == 128) c.place_b.base = 0;
        Check(c);
      }
    }
  }
}

// Steps of K within the rows of a swizzle, and patterns that begin between multiples of 1024.
TEST(Wgmma, StartsWithinThePattern) {
  for (const int swizzle : {64, 128}) {
    for (uint64_t advance = 0; advance < static_cast<uint64_t>(swizzle); advance += 32) {
      Case c = Plain(32, kF32, kE4M3, kE5M2);
      for (Placed* place : {&c.place_a, &c.place_b}) {
        place->swizzle = swizzle;
        place->stride = static_cast<uint64_t>(swizzle) * 8;
        place->advance = advance;
      }
      c.place_b.start = 8192;
      Check(c);
      c.place_b.base = 3;
      c.place_b.start += 3 * 128;
      if (swizzle == 128) Check(c);
    }
  }
}

// A matrix that begins in any line of the pattern: its rows go by their addresses.
TEST(Wgmma, StartsInAnyLineOfThePattern) {
  for (const int swizzle : {32, 64, 128}) {
    for (uint64_t line = 1; line < 8; ++line) {
      Case c = Plain(32, kF32, kF16, kF16);
      for (Placed* place : {&c.place_a, &c.place_b}) {
        place->swizzle = swizzle;
        place->stride = static_cast<uint64_t>(swizzle) * 8;
        place->advance = line * 128;
      }
      c.place_b.start = 16384;
      Check(c);
    }
  }
}

// A group completes for its warpgroup: after its wait one thread has the asynchronous proxy write
// over what all four warps read, while the others are still before theirs.
TEST(Wgmma, OneThreadReleasesForTheWarpgroup) {
  const Case c = Plain(8, kF32, kF16, kF16);
  const auto body = [&](const std::string& wait) {
    return ".shared .align 8 .b64 bar; .reg .b64 state; .reg .pred r;\n"
           "mov.u32 s, bar; setp.ne.u32 r, t, 0;\n@!r mbarrier.init.shared.b64 [s], 1;\n"
           "fence.proxy.async; bar.sync 0;\n"
           "wgmma.fence.sync.aligned;\n" +
           Instruction(c) + "wgmma.commit_group.sync.aligned;\n" + wait +
           "@r bra over;\nld.param.u64 z, [image]; mov.u32 i, sm;\n"
           "mbarrier.arrive.expect_tx.shared.b64 state, [s], 8192;\n"
           "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [i], [z], 8192, "
           "[s];\nover:\nwgmma.wait_group.sync.aligned 0;\n"
           "again: mbarrier.try_wait.parity.shared.b64 q, [s], 0; @!q bra again;\n";
  };
  const Data data(c);
  const Outcome outcome = RunKernel(c, data, body("wgmma.wait_group.sync.aligned 0;\n"));
  EXPECT_EQ(outcome.findings, "");
  EXPECT_EQ(outcome.d, RunKernel(c, data, Whole(c)).d);
  const std::string early = RunKernel(c, data, body("")).findings;
  EXPECT_NE(early.find(": async: "), std::string::npos) << early;
}

TEST(Wgmma, SaturatesIntegers) {
  for (const bool after : {false, true}) {
    for (const std::string word : {"", ".satfinite"}) {
      Case c = Plain(8, kS32, kU8, kU8);
      Data data(c);
      for (uint32_t& value : data.accumulators) value = 0x7FFFFFFF;
      std::string body = Whole(c);
      const std::string place = after ? ".u8.u8" : ".s32.";
      const size_t at = body.find(place);
      body.insert(after ? at + place.size() : at, word);
      const Outcome outcome = RunKernel(c, data, body);
      EXPECT_EQ(outcome.findings, "");
      for (int thread = 0; thread < 128; ++thread) {
        for (int r = 0; r < c.results(); ++r) {
          const auto [m, n] = Data::ResultAt(c, thread, r, 0);
          const auto sum = static_cast<uint32_t>(
              data.Expected(c, m, n) - data.c[static_cast<size_t>(m)][static_cast<size_t>(n)]);
          EXPECT_EQ(outcome.d[static_cast<size_t>(thread * c.results() + r)],
                    word.empty() ? 0x7FFFFFFF + sum : 0x7FFFFFFF);
        }
      }
    }
  }
}

// ---- findings ----------------------------------------------------------------------------------

std::string FindingsOf(const Case& c, const std::string& body, uint32_t threads = 128) {
  return RunKernel(c, Data(c), body, threads).findings;
}

constexpr char kFence[] = "wgmma.fence.sync.aligned;\n";
constexpr char kCommit[] = "wgmma.commit_group.sync.aligned;\n";
constexpr char kWait[] = "wgmma.wait_group.sync.aligned 0;\n";

void ExpectFinding(const std::string& findings, const std::string& kind, const std::string& text) {
  EXPECT_NE(findings.find(kind + ": "), std::string::npos) << findings;
  EXPECT_NE(findings.find(text), std::string::npos) << findings;
}

TEST(WgmmaFinding, AccumulatorTouchedInFlight) {
  const Case c = Plain(8, kF32, kF16, kF16);
  const std::string start = kFence + Instruction(c) + kCommit;
  ExpectFinding(FindingsOf(c, start + "add.u32 e0, d1, 1;\n" + kWait), "wgmma",
                "reads a register of the accumulator");
  ExpectFinding(FindingsOf(c, start + "add.u32 d1, t, 1;\n" + kWait), "wgmma",
                "writes a register of the accumulator");
  ExpectFinding(FindingsOf(c, start + "mov.b32 d1, 0;\n" + kWait), "wgmma", "writes");
  // A copy is as much in flight.
  ExpectFinding(
      FindingsOf(c, start + "mov.b32 e0, d1; mov.b32 e1, e0; add.u32 e2, e1, 1;\n" + kWait),
      "wgmma", "reads a register of the accumulator");
  ExpectFinding(FindingsOf(c, start + "mov.b32 {h0, h1}, d1; add.u16 h2, h0, h1;\n" + kWait),
                "wgmma", "reads a register of the accumulator");
  EXPECT_EQ(FindingsOf(c, start + "mov.b32 e0, d1;\n" + kWait + "add.u32 e0, e0, d1;\n"), "");
  EXPECT_EQ(FindingsOf(c, start + kWait + "add.u32 d0, d0, 0;\n"), "");
}

TEST(WgmmaFinding, RegistersOfMatrixA) {
  Case c = Plain(8, kF32, kF16, kF16);
  c.registers = true;
  const std::string start = kFence + Instruction(c) + kCommit;
  ExpectFinding(FindingsOf(c, start + "add.u32 a1, t, 1;\n" + kWait), "wgmma",
                "writes a register of matrix A");
  ExpectFinding(FindingsOf(c, std::string(kFence) + "add.u32 a1, a1, 0;\n" + Instruction(c) +
                                  kCommit + kWait),
                "wgmma", "a register of matrix A was written after the last wgmma.fence");
  EXPECT_EQ(FindingsOf(c, start + Instruction(c) + kCommit + kWait), "");
}

TEST(WgmmaFinding, WaitsForAsManyGroupsAsItSays) {
  const Case c = Plain(8, kF32, kF16, kF16);
  std::string other = Instruction(c);
  for (int r = 3; r >= 0; --r) {
    other.replace(other.find(fmt::format("d{}", r)), 2, fmt::format("e{}", r));
  }
  const std::string both = "mov.b32 e0, 0; mov.b32 e1, 0; mov.b32 e2, 0; mov.b32 e3, 0;\n" +
                           (kFence + Instruction(c)) + kCommit + other + kCommit;
  const std::string one = "wgmma.wait_group.sync.aligned 1;\n";
  EXPECT_EQ(FindingsOf(c, both + one + "add.u32 d0, d0, 0;\n" + kWait), "");
  ExpectFinding(FindingsOf(c, both + one + "add.u32 e0, e0, 0;\n" + kWait), "wgmma",
                "a register of the accumulator");
  ExpectFinding(
      FindingsOf(c, kFence + Instruction(c) + kWait + "add.u32 d0, d0, 0;\n" + kCommit + kWait),
      "wgmma", "a register of the accumulator");
}

// Thread 0 writes over a row of A, which wgmma of its warp alone reads.
TEST(WgmmaFinding, MatricesWrittenInFlight) {
  const Case c = Plain(8, kF32, kF16, kF16);
  const std::string write = "setp.eq.u32 q, t, 0; @q st.shared.u32 [sm], 0;\n";
  const std::string both = (kFence + Instruction(c)) + kCommit + Instruction(c) + kCommit;
  EXPECT_EQ(FindingsOf(c, both + kWait + write), "");
  ExpectFinding(FindingsOf(c, both + "wgmma.wait_group.sync.aligned 1;\n" + write + kWait), "async",
                "a wgmma of warp 0 reads");
  // Written before, and no fence for the asynchronous proxy.
  ExpectFinding(FindingsOf(c, write + "bar.sync 0;\n" + both + kWait), "proxy",
                "after a fence.proxy.async");
  EXPECT_EQ(FindingsOf(c, write + "fence.proxy.async; bar.sync 0;\n" + both + kWait), "");
}

TEST(WgmmaFinding, MissingFence) {
  const Case c = Plain(8, kF32, kF16, kF16);
  const std::string end = std::string(kCommit) + kWait;
  ExpectFinding(FindingsOf(c, Instruction(c) + end), "wgmma", "written after the last wgmma.fence");
  ExpectFinding(FindingsOf(c, std::string(kFence) + "add.u32 d0, d0, 0;\n" + Instruction(c) + end),
                "wgmma", "the accumulator was written after the last wgmma.fence");
  // Between wgmmas of one shape none is needed, and a copy is none the newer.
  EXPECT_EQ(FindingsOf(c, kFence + Instruction(c) + "mov.b32 e0, d0; mov.b32 d0, e0;\n" +
                              Instruction(c) + end),
            "");
  EXPECT_EQ(FindingsOf(c, "mov.b32 e0, d0;\n" + (kFence + Instruction(c)) + end), "");
}

TEST(WgmmaFinding, AnotherShape) {
  const Case c = Plain(8, kF32, kF16, kF16);
  const Case other = Plain(8, kS32, kS8, kS8);
  ExpectFinding(FindingsOf(c, kFence + Instruction(c) + Instruction(other) + kCommit + kWait),
                "wgmma", "in another shape");
}

TEST(WgmmaFinding, NeverWaitedFor) {
  const Case c = Plain(8, kF32, kF16, kF16);
  ExpectFinding(FindingsOf(c, kFence + Instruction(c) + kCommit + "exit;\n"), "wgmma",
                "was never waited for");
  ExpectFinding(FindingsOf(c, kFence + Instruction(c) + "exit;\n"), "wgmma", "was never committed");
}

TEST(WgmmaFinding, PartOfAWarpgroup) {
  const Case c = Plain(8, kF32, kF16, kF16);
  ExpectFinding(FindingsOf(c, "setp.eq.u32 q, w, 2; @q bra over;\n" + Whole(c) + "over:\n"),
                "wgmma", "warp 2 ends without it");
  ExpectFinding(FindingsOf(c, "setp.eq.u32 q, w, 2;\n" + (kFence + ("@!q " + Instruction(c))) +
                                  kCommit + kWait),
                "wgmma", "in its place");
  ExpectFinding(FindingsOf(c, Whole(c), 96), "wgmma", "the block has 3 of this one");
  ExpectFinding(FindingsOf(c, "setp.lt.u32 q, t, 16; @q bra over;\n" + Whole(c) + "over:\n"),
                "divergence", "all lanes must execute it together");
  ExpectFinding(FindingsOf(c, "setp.lt.u32 p, w, 2;\n" + Whole(c)), "wgmma",
                "its operands differ from those of another warp");
  ExpectFinding(FindingsOf(c, "setp.lt.u32 p, t, 5;\n" + Whole(c)), "wgmma",
                "scale-d differs by lane");
}

TEST(WgmmaFinding, Descriptors) {
  const Case good = Plain(8, kF32, kF16, kF16);
  const auto with = [&](auto change) {
    Case c = good;
    change(&c.place_b);
    return RunKernel(c, Data(good), Whole(c)).findings;
  };
  ExpectFinding(with([](Placed* b) {
                  b->stride = 0;
                  b->leading = 0x3FFF0;
                }),
                "out_of_bounds", "a matrix reads 16 bytes");
  ExpectFinding(with([](Placed* b) { b->base = 1; }), "wgmma", "its base offset 1 needs a swizzle");
  ExpectFinding(with([](Placed* b) { b->base = 8; }), "wgmma", "mean nothing and must be 0");
  ExpectFinding(with([](Placed* b) {
                  b->swizzle = 128;
                  b->start = 4096 + 112;
                }),
                "wgmma",
                "it starts at byte 112 of a row of its swizzle of 128 bytes, and reads 32 there");
  // A step of K beyond the row.
  ExpectFinding(with([](Placed* b) {
                  b->swizzle = 64;
                  b->start = 4096 + 64;
                }),
                "wgmma",
                "it starts at byte 64 of a row of its swizzle of 64 bytes, and reads 32 there");
}

// Shared memory that nobody wrote makes the rows and columns undefined, nothing else.
TEST(WgmmaFinding, UndefinedElements) {
  Case c = Plain(8, kF32, kF16, kF16);
  Data data(c);
  std::string text = Whole(c);
  const Outcome outcome =
      RunKernel(c, data,
                "mov.u32 s, sm; .shared .align 16 .b8 other[4096];\n"
                "mov.u64 y, other; shr.u64 y, y, 4;\n"
                "ld.param.u64 x, [pdb]; sub.u64 db, x, 256; add.u64 db, db, y;\n"
                "ld.param.u64 x, [c]; mul.lo.u64 y, z, 16;\n" +
                    text);
  ExpectFinding(outcome.findings, "uninitialised", "");
}

TEST(Wgmma, FormsThatDoNotExist) {
  const auto error = [](const std::string& instruction) {
    return ErrorsOf(
        std::string(kHeader) +
        ".visible .entry k() {\n.reg .b32 d<64>, a<8>; .reg .b64 da, db; .reg .pred p;\n" +
        instruction + "\nret;\n}\n");
  };
  const std::string start = "wgmma.mma_async.sync.aligned.";
  EXPECT_EQ(error(start + "m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, da, db, 1, 1, 1, 0, 0;"), "");
  for (const char* const rest : {
           "m64n8k16.f16.bf16.bf16 {d0, d1}, da, db, p, 1, 1, 0, 0;",
           "m64n8k16.f32.f16.bf16 {d0, d1, d2, d3}, da, db, p, 1, 1, 0, 0;",
           "m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, da, db, p, 2, 1, 0, 0;",
           "m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, da, db, p, 1, 1, 0, 2;",
           "m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, da, db, p, 1, 1, 0;",
           "m64n8k16.f32.f16.f16 {d0, d1, d2}, da, db, p, 1, 1, 0, 0;",
           "m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, {a0, a1, a2, a3}, db, p, 1, 1, 0, 0;",
           "m64n8k16.f32.f16.f16 {d0, d1, d2, d3}, {a0, a1, a2}, db, p, 1, 1, 0;",
           "m64n40k32.s32.s8.s8 {d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, "
           "d15, d16, d17, d18, d19}, da, db, p;",
       }) {
    EXPECT_NE(error(start + rest).find("no-such-form"), std::string::npos) << rest;
  }
  for (const char* const rest :
       {"m64n8k8.f32.f16.f16 {d0, d1, d2, d3}, da, db, p, 1, 1, 0, 0;",
        "m64n0k16.f32.f16.f16 {d0, d1, d2, d3}, da, db, p, 1, 1, 0, 0;",
        "m64n+8k16.f32.f16.f16 {d0, d1, d2, d3}, da, db, p, 1, 1, 0, 0;",
        "m64n1000k16.f32.f16.f16 {d0, d1, d2, d3}, da, db, p, 1, 1, 0, 0;"}) {
    EXPECT_NE(error(start + rest), "") << rest;
  }
  EXPECT_NE(error("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {d0}, da, db, d1, 0, p, 1, "
                  "1, 0, 0;")
                .find("`wgmma` does not take `.sp` here"),
            std::string::npos);
}

}  // namespace
}  // namespace tarsia::ptx::wgmma_test
