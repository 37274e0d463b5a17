// Logic, shifts, moves and selection.
#include <algorithm>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::logic_test {
namespace {

TEST(Logic, WorksBitByBit) {
  const auto two = Combine(2, EdgeIntegers());
  for (const int width : {1, 16, 32, 64}) {
    const std::string type = width == 1 ? "pred" : fmt::format("b{}", width);
    const std::vector<int> both = {width, width};
    CheckRow(Op::kAnd, "and." + type + " d, s0, s1;", width, both, two,
             [](const Tuple& s) { return s[0] & s[1]; });
    CheckRow(Op::kOr, "or." + type + " d, s0, s1;", width, both, two,
             [](const Tuple& s) { return s[0] | s[1]; });
    CheckRow(Op::kXor, "xor." + type + " d, s0, s1;", width, both, two,
             [](const Tuple& s) { return s[0] ^ s[1]; });
    CheckRow(Op::kNot, "not." + type + " d, s0;", width, {width}, Combine(1, EdgeIntegers()),
             [](const Tuple& s) { return ~s[0]; });
    if (width == 1) continue;
    CheckRow(Op::kCnot, "cnot." + type + " d, s0;", width, {width}, Combine(1, EdgeIntegers()),
             [](const Tuple& s) { return s[0] == 0 ? 1 : 0; });
  }
}

TEST(Logic, TakesAnyTableOfThree) {
  for (const unsigned table : {0x00U, 0x80U, 0xFEU, 0x96U, 0xCAU, 0xE8U, 0x1BU, 0xFFU}) {
    CheckRow(Op::kLop3, fmt::format("lop3.b32 d, s0, s1, s2, {};", table), 32, {32, 32, 32},
             Combine(3, {0, 0xFFFFFFFF, 0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA}), [=](const Tuple& s) {
               uint64_t out = 0;
               for (int i = 0; i < 32; ++i) {
                 const uint64_t row = (s[0] >> i & 1) * 4 + (s[1] >> i & 1) * 2 + (s[2] >> i & 1);
                 out |= uint64_t{table >> row & 1} << i;
               }
               return out;
             });
  }
}

TEST(Logic, Shifts) {
  const auto inputs = Combine(2, EdgeIntegers());
  for (const int width : {16, 32, 64}) {
    const auto w = static_cast<uint64_t>(width);
    CheckRow(Op::kShl, fmt::format("shl.b{} d, s0, s1;", width), width, {width, 32}, inputs,
             [=](const Tuple& s) { return s[1] >= w ? 0 : s[0] << s[1]; });
    for (const char kind : {'b', 'u', 's'}) {
      CheckRow(Op::kShr, fmt::format("shr.{}{} d, s0, s1;", kind, width), width, {width, 32},
               inputs, [=](const Tuple& s) {
                 const bool sign = kind == 's' && (s[0] >> (width - 1) & 1) != 0;
                 uint64_t out = 0;
                 for (uint64_t i = 0; i < w; ++i) {
                   const uint64_t from = i + s[1];
                   out |= uint64_t{from < w ? (s[0] >> from & 1) != 0 : sign} << i;
                 }
                 return out;
               });
    }
  }
  for (const bool left : {true, false}) {
    for (const bool clamp : {true, false}) {
      CheckRow(
          Op::kShf,
          fmt::format("shf.{}.{}.b32 d, s0, s1, s2;", left ? "l" : "r", clamp ? "clamp" : "wrap"),
          32, {32, 32, 32}, Combine(3, {0, 1, 16, 31, 32, 40, 0x80000001, 0xDEADBEEF}),
          [=](const Tuple& s) {
            const uint64_t n = clamp ? std::min<uint64_t>(s[2], 32) : s[2] & 31;
            const uint64_t pair = s[1] << 32 | s[0];
            if (!left) return n == 64 ? 0 : pair >> n;
            return n == 32 ? s[0] : (s[1] << n) | (n == 0 ? 0 : s[0] >> (32 - n));
          });
    }
  }
}

TEST(Logic, PermutesBytes) {
  const uint64_t a = 0x83828180;
  const uint64_t b = 0x07060504;
  const auto run = [&](const std::string& mode, uint64_t c) {
    return RunRow(Op::kPrmt, "prmt.b32" + mode + " d, s0, s1, s2;", 32, {32, 32, 32},
                  {{a, b, c}})[0];
  };
  EXPECT_EQ(run("", 0x3210), a);
  EXPECT_EQ(run("", 0x7654), b);
  EXPECT_EQ(run("", 0x0415), 0x80048105U);
  EXPECT_EQ(run("", 0x8C9F), 0xFF00FF00U);  // signs of bytes 0, 4, 1, 7
  EXPECT_EQ(run(".f4e", 1), 0x04838281U);
  EXPECT_EQ(run(".f4e", 7), 0x06050483U);
  EXPECT_EQ(run(".b4e", 0), 0x05060780U);
  EXPECT_EQ(run(".b4e", 3), 0x80818283U);
  EXPECT_EQ(run(".rc8", 2), 0x82828282U);
  EXPECT_EQ(run(".ecl", 1), 0x83828181U);
  EXPECT_EQ(run(".ecr", 2), 0x82828180U);
  EXPECT_EQ(run(".rc16", 1), 0x83828382U);
  Covers(Op::kPrmt);
}

TEST(Move, CopiesAndSplits) {
  const auto inputs = Combine(2, EdgeIntegers());
  for (const int width : {16, 32, 64}) {
    CheckRow(Op::kMov, fmt::format("mov.b{} d, s0;", width), width, {width, width}, inputs,
             [](const Tuple& s) { return s[0]; });
  }
  CheckRow(Op::kMov, "mov.pred d, s0;", 1, {1}, {{0}, {1}}, [](const Tuple& s) { return s[0]; });
  for (const auto& pair : {std::pair("-1", 1), std::pair("1", 1), std::pair("0", 0)}) {
    const int truth = pair.second;
    CheckRow(Op::kMov, fmt::format("mov.pred d, {};", pair.first), 1, {1}, {{0}, {1}},
             [truth](const Tuple&) { return static_cast<uint64_t>(truth); });
  }
  CheckRow(Op::kMov, "mov.b32 d, {s0, s1};", 32, {16, 16}, inputs,
           [](const Tuple& s) { return s[1] << 16 | s[0]; });
  CheckRow(Op::kMov, "mov.b64 d, {s0, s1};", 64, {32, 32}, inputs,
           [](const Tuple& s) { return s[1] << 32 | s[0]; });
  CheckRow(Op::kMov, "mov.b64 {_, d}, s0;", 32, {64, 64}, inputs,
           [](const Tuple& s) { return s[0] >> 32; });
  CheckRow(
      Op::kMov, "{ .reg .b16 t<4>; mov.b64 {t0, t1, t2, t3}, s0; mov.b64 d, {t3, t2, t1, t0}; }",
      64, {64, 64}, inputs, [](const Tuple& s) {
        return s[0] >> 48 | (s[0] >> 32 & 0xFFFF) << 16 | (s[0] >> 16 & 0xFFFF) << 32 | s[0] << 48;
      });
  CheckRow(Op::kMov, "mov.f32 d, 0f3F800000;", 32, {32}, {{0}},
           [](const Tuple&) { return 0x3F800000; });
  CheckRow(Op::kMov, "mov.f32 d, -1.5;", 32, {32}, {{0}}, [](const Tuple&) { return 0xBFC00000; });
  CheckRow(Op::kMov, "mov.f64 d, 0d4000000000000000;", 64, {32}, {{0}},
           [](const Tuple&) { return 0x4000000000000000; });
}

TEST(Move, Selects) {
  for (const int width : {16, 32, 64}) {
    CheckRow(Op::kSelp, fmt::format("selp.b{} d, s0, s1, s2;", width), width, {width, width, 1},
             Combine(3, {0, 1, 0xFFFF0002, ~uint64_t{2}}),
             [](const Tuple& s) { return s[2] != 0 ? s[0] : s[1]; });
    CheckRow(Op::kSlct, fmt::format("slct.b{}.s32 d, s0, s1, s2;", width), width,
             {width, width, 32}, Combine(3, {0, 1, 0xFFFF0002, 0x7FFFFFFF}),
             [](const Tuple& s) { return s[2] >> 31 == 0 ? s[0] : s[1]; });
    // -0 counts as not negative, NaN as negative.
    CheckRow(Op::kSlctF32, fmt::format("slct.b{}.f32 d, s0, s1, s2;", width), width,
             {width, width, 32},
             {{1, 2, 0x80000000},
              {1, 2, 0x7FC00000},
              {1, 2, 0xBF800000},
              {1, 2, 0x3F800000},
              {1, 2, 0x80000001}},
             [](const Tuple& s) { return s[2] == 0x80000000 || s[2] == 0x3F800000 ? s[0] : s[1]; });
  }
  CheckRow(Op::kSlctF32, "slct.ftz.b32.f32 d, s0, s1, s2;", 32, {32, 32, 32}, {{1, 2, 0x80000001}},
           [](const Tuple&) { return 1; });
}

TEST(Move, ConvertsAddresses) {
  CheckRow(Op::kCvta, "cvta.shared.u64 d, s0; cvta.to.shared.u64 d, d;", 64, {64}, {{1024}, {4096}},
           [](const Tuple& s) { return s[0]; });
  CheckRow(Op::kIsspacep, "{ .reg .b64 t; cvta.shared.u64 t, s0; isspacep.shared d, t; }", 1, {64},
           {{1024}}, [](const Tuple&) { return 1; });
  CheckRow(Op::kIsspacep, "{ .reg .b64 t; cvta.local.u64 t, s0; isspacep.shared d, t; }", 1, {64},
           {{1024}}, [](const Tuple&) { return 0; });
  CheckRow(Op::kIsspacep, "isspacep.global d, rin;", 1, {64}, {{0}},
           [](const Tuple&) { return 1; });
}

}  // namespace
}  // namespace tarsia::ptx::logic_test
