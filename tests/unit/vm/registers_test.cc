// Register tiles: layouts, bits, and instructions whose result is one of their operands.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "dtypes/convert.h"
#include "layout/text/eval.h"
#include "tests/unit/vm/run_testing.h"

namespace tarsia::vm::registers_test {
namespace {

using Bytes = std::vector<uint8_t>;

// The contents of thread t, viewed as one row of bytes per thread, show the layout.
TEST(Registers, AViewOfBitsFollowsTheLayout) {
  // Element (i, j) is in thread (i % 8) * 4 + j / 2, slot (i / 8) * 2 + j % 2.
  Bytes x(16 * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i);
  Bytes y(32 * 4);
  RunOk(R"(
kernel k(%x: ptr<u8>, %y: ptr<u8>)
  warps 1
{
  %g = view %x : global<u8>[16, 8]
  %t = load %g[0, 0] : [16, 8] local(2, 1) * spatial(8, 4) * local(1, 2)
  %v = view %t : reg<u8>[32, 4] spatial(32, 1) * local(1, 4)
  %o = view %y : global<u8>[32, 4]
  store %o[0, 0], %v
}
)",
        Args().In(x).Out(y));
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      const int thread = i % 8 * 4 + j / 2;
      const int slot = i / 8 * 2 + j % 2;
      EXPECT_EQ(y[static_cast<size_t>(thread * 4 + slot)], i * 8 + j);
    }
  }
}

// 5 bytes per thread are 8 codes of 5 bits.
TEST(Registers, AViewRegroupsBitsAcrossBytes) {
  Bytes x(32 * 5);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(37 * i + 11);
  Bytes y(32 * 8), z(32 * 5);
  RunOk(R"(
kernel k(%x: ptr<u8>, %y: ptr<u8>, %z: ptr<u8>)
  warps 1
{
  %g = view %x : global<u8>[32, 5]
  %t = load %g[0, 0] : [32, 5] spatial(32, 1) * local(1, 5)
  %c = view %t : reg<u5>[32, 8] spatial(32, 1) * local(1, 8)
  %b = cast %c : u8
  %o = view %y : global<u8>[32, 8]
  store %o[0, 0], %b
  %back = view %c : reg<u8>[32, 5] spatial(32, 1) * local(1, 5)
  %oz = view %z : global<u8>[32, 5]
  store %oz[0, 0], %back
}
)",
        Args().In(x).Out(y).Out(z));
  EXPECT_EQ(z, x);
  for (size_t thread = 0; thread < 32; ++thread) {
    uint64_t bits = 0;
    for (size_t i = 0; i < 5; ++i) bits |= uint64_t{x[thread * 5 + i]} << (8 * i);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(y[thread * 8 + i], bits >> (5 * i) & 31);
  }
}

TEST(Registers, ElementwiseWorksOnAnyLayout) {
  std::vector<float> x(64), y(64), z(64);
  for (size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i) / 4;
  RunOk(R"(
kernel k(%x: ptr<f32>, %y: ptr<f32>, %z: ptr<f32>)
  const L: reglayout = spatial(4, 8) * local(2, 1)
  const M: reglayout = replicate(4) * (spatial(8, 1) * local(1, 8))
  warps 1
{
  %g = view %x : global<f32>[8, 8]
  %a = load %g[0, 0] : [8, 8] L
  %b = load %g[0, 0] : [8, 8]
  %c = add %a, %b
  %d = convert_layout %c : [8, 8] M
  %e = mul %d, %d
  %p = permute %a order [1, 0]
  %q = convert_layout %p : [8, 8] L
  %e = sub %e, %p
  %o = view %y : global<f32>[8, 8]
  store %o[0, 0], %e
  %oz = view %z : global<f32>[8, 8]
  store %oz[0, 0], %q
}
)",
        Args().In(x).Out(y).Out(z));
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      const float v = x[i * 8 + j];
      EXPECT_EQ(y[i * 8 + j], 4 * v * v - x[j * 8 + i]);
      EXPECT_EQ(z[i * 8 + j], x[j * 8 + i]);
    }
  }
}

TEST(Registers, ResultsMayBeTheirOperands) {
  std::vector<int32_t> x(16), y(16);
  for (int i = 0; i < 16; ++i) x[static_cast<size_t>(i)] = i * i;
  RunOk(R"(
kernel k(%x: ptr<i32>, %y: ptr<i32>)
{
  %g = view %x : global<i32>[4, 4]
  %t = load %g[0, 0] : [4, 4]
  %t = permute %t order [1, 0]
  %t = sub %t, %t
  %u = load %g[0, 0] : [4, 4]
  %u = permute %u order [1, 0]
  %t = add %u, %t
  %i = iota : i32 [4]
  %i = sub 3, %i
  %s = slice %g[0, 0] : [4, 4]
  %t = gather %s, %i axis 0
  %t = permute %t order [1, 0]
  %o = view %y : global<i32>[4, 4]
  store %o[0, 0], %t
}
)",
        Args().In(x).Out(y));
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int at = (3 - j) * 4 + i;
      EXPECT_EQ(y[static_cast<size_t>(i * 4 + j)], at * at);
    }
  }
}

TEST(Registers, ADotMayReplaceAnyOperand) {
  const std::vector<float> x = {1, 2, 3, 4};
  for (const std::string which : {"a", "b", "c"}) {
    std::vector<float> y(4);
    RunOk(R"(
kernel k(%x: ptr<f32>, %y: ptr<f32>)
{
  %g = view %x : global<f32>[2, 2]
  %a = load %g[0, 0] : [2, 2]
  %b = add %a, 1.0
  %c = mul %a, 10.0
  %)" + which +
              R"( = dot %a, %b, %c
  %o = view %y : global<f32>[2, 2]
  store %o[0, 0], %)" +
              which + "\n}\n",
          Args().In(x).Out(y));
    // [1 2; 3 4] * [2 3; 4 5] + [10 20; 30 40].
    EXPECT_EQ(y, (std::vector<float>{20, 33, 52, 69})) << which;
  }
}

struct UnpackCase {
  std::string type, bits, compute;
};
class Unpack : public testing::TestWithParam<UnpackCase> {};

// q - b is the code's value for integers, q * b for floats, exactly, in any bit layout.
TEST_P(Unpack, GivesTheValueOfEveryCode) {
  const DType dtype = *FindDType(GetParam().type);
  const DType compute = *FindDType(GetParam().compute);
  Bytes codes(32 * 32);  // one per byte
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint8_t>(i * 7 + i / 32) & static_cast<uint8_t>(CodeMask(dtype));
  }
  Bytes packed(codes.size() * dtype.bits / 8, 0);
  for (size_t i = 0; i < codes.size(); ++i) {
    for (size_t bit = 0; bit < dtype.bits; ++bit) {
      const size_t at = i * dtype.bits + bit;
      packed[at / 8] = static_cast<uint8_t>(packed[at / 8] | (codes[i] >> bit & 1) << (at % 8));
    }
  }
  std::vector<double> q(codes.size()), b(codes.size());
  RunOk(R"(
kernel k(%w: ptr<u8>, %q0: ptr<f64>, %b0: ptr<f64>)
  const T: dtype
  const C: dtype
  const B: bitlayout
  const L: reglayout = spatial(32, 1) * local(1, 32)
  warps 1
{
  %g = view %w : global<T>[32, 32]
  %t = load %g[0, 0] : [32, 32] L bits B
  %q, %b = unpack %t : C
  %qd = cast %q : f64
  %bd = cast %b : f64
  %oq = view %q0 : global<f64>[32, 32]
  store %oq[0, 0], %qd
  %ob = view %b0 : global<f64>[32, 32]
  store %ob[0, 0], %bd
}
)",
        Args().In(packed).Out(q).Out(b), {},
        {{"T", GetParam().type}, {"C", GetParam().compute}, {"B", GetParam().bits}});
  const Result<EvalValue> value = EvaluateText(GetParam().bits);
  ASSERT_TRUE(value.ok());
  const BitLayout layout = *std::get<BitLayoutFamily>(*value).Apply(dtype, 32);
  for (size_t i = 0; i < codes.size(); ++i) {
    const double want = DecodeToDouble(dtype, codes[i]);
    EXPECT_EQ(dtype.IsInteger() ? q[i] - b[i] : q[i] * b[i], want) << i;
    const UnpackForm form = *layout.Unpack(static_cast<int64_t>(i % 32), compute);
    EXPECT_EQ(b[i], dtype.IsInteger() ? form.bias : std::ldexp(1.0, form.exponent)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Unpack,
                         testing::Values(UnpackCase{"u4", "contiguous", "f16"},
                                         UnpackCase{"u4", "lanes(f16)", "f16"},
                                         UnpackCase{"i3", "lanes(f16)", "f16"},
                                         UnpackCase{"i5", "lanes(bf16)", "bf16"},
                                         UnpackCase{"u7", "lanes(bf16)", "bf16"},
                                         UnpackCase{"f6e3m2", "lanes(f16)", "f16"},
                                         UnpackCase{"f4e2m1", "contiguous", "bf16"}));

// Bytes of packed words become codes through the map of the bit layout, and back.
TEST(Registers, AViewReadsLanes) {
  const DType dtype = kU3;
  Bytes words(32 * 12);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint8_t>(i * 41 + 3);
  Bytes codes(32 * 32), back(32 * 12);
  RunOk(R"(
kernel k(%w: ptr<u8>, %c: ptr<u8>, %b: ptr<u8>)
  warps 1
{
  %g = view %w : global<u8>[32, 12]
  %t = load %g[0, 0] : [32, 12] spatial(32, 1) * local(1, 12)
  %codes = view %t : reg<u3>[32, 32] spatial(32, 1) * local(1, 32) bits lanes(f16)
  %bytes = cast %codes : u8
  %oc = view %c : global<u8>[32, 32]
  store %oc[0, 0], %bytes
  %again = view %codes : reg<u8>[32, 12] spatial(32, 1) * local(1, 12)
  %ob = view %b : global<u8>[32, 12]
  store %ob[0, 0], %again
}
)",
        Args().In(words).Out(codes).Out(back));
  EXPECT_EQ(back, words);
  const BitLayout layout = *BitLayout::Lanes(dtype, 32, kF16);
  for (size_t thread = 0; thread < 32; ++thread) {
    for (int64_t slot = 0; slot < 32; ++slot) {
      uint64_t want = layout.Complement(slot);
      for (int bit = 0; bit < 3; ++bit) {
        const BitPlace place = layout.Place(slot, bit);
        const size_t byte = thread * 12 + place.word * 4 + place.bit / 8u;
        want ^= static_cast<uint64_t>(words[byte] >> (place.bit % 8) & 1) << bit;
      }
      EXPECT_EQ(codes[thread * 32 + static_cast<size_t>(slot)], want);
    }
  }
}

TEST(Registers, CastsWithAttributes) {
  const std::vector<float> x = {1000, -1000, 2.5f, -2.5f};
  Bytes y(4 * 5);
  const std::vector<uint32_t> random = {0, 0, 0x80000000u, 0x7FFFFFFFu};
  RunOk(R"(
kernel k(%x: ptr<f32>, %r: ptr<u32>, %y: ptr<u8>)
{
  %g = view %x : global<f32>[4]
  %t = load %g[0] : [4]
  %i = cast %t : i32
  %o = view %y : global<i8>[5, 4]
  %a = cast %i : i8
  %a2 = reshape %a : [1, 4]
  store %o[0, 0], %a2
  %b = cast %i wrap : i8
  %b2 = reshape %b : [1, 4]
  store %o[1, 0], %b2
  %gr = view %r : global<u32>[4]
  %bits = load %gr[0] : [4]
  %c = cast %t, %bits rounding stochastic : i8
  %c2 = reshape %c : [1, 4]
  store %o[2, 0], %c2
  %of = view %y : global<f8e5m2>[5, 4]
  %d = cast %t nosat : f8e5m2
  %d2 = reshape %d : [1, 4]
  store %of[3, 0], %d2
  %e = cast %t rounding toward_zero : f8e5m2
  %e2 = reshape %e : [1, 4]
  store %of[4, 0], %e2
}
)",
        Args().In(x).In(random).Out(y));
  const auto row = [&](size_t i) {
    return std::vector<int8_t>(y.begin() + static_cast<ptrdiff_t>(i * 4),
                               y.begin() + static_cast<ptrdiff_t>(i * 4 + 4));
  };
  EXPECT_EQ(row(0), (std::vector<int8_t>{127, -128, 2, -2}));
  EXPECT_EQ(row(1), (std::vector<int8_t>{-24, 24, 2, -2}));  // 1000 = 3 * 256 + 232
  EXPECT_EQ(row(2), (std::vector<int8_t>{127, -128, 3, -2}));
  // 1000 rounds to 1024 (exponent 10 + 15, mantissa 0), truncates to 896 (24, 3); 2.5 is exact.
  EXPECT_EQ(row(3), (std::vector<int8_t>{0x64, static_cast<int8_t>(0xE4), 0x41,
                                         static_cast<int8_t>(0xC1)}));
  EXPECT_EQ(row(4), (std::vector<int8_t>{0x63, static_cast<int8_t>(0xE3), 0x41,
                                         static_cast<int8_t>(0xC1)}));
}

TEST(Registers, ShapesAndReductions) {
  std::vector<float> x(24), sum(4), top(6);
  std::vector<int32_t> where(6);
  for (size_t i = 0; i < 24; ++i) x[i] = static_cast<float>((i * 7) % 24);
  RunOk(R"(
kernel k(%x: ptr<f32>, %s: ptr<f32>, %v: ptr<f32>, %i: ptr<i32>)
{
  %g = view %x : global<f32>[24]
  %t = load %g[0] : [24]
  %t3 = reshape %t : [2, 3, 4]
  %sum = reduce.sum %t3 axes [0, 1]
  %gs = view %s : global<f32>[4]
  store %gs[0], %sum
  %max, %at = reduce.argmax %t3 axis 2
  %gv = view %v : global<f32>[2, 3]
  store %gv[0, 0], %max
  %gi = view %i : global<i32>[2, 3]
  store %gi[0, 0], %at
  %row = reduce.max %t3 axes [0, 1, 2] keepdims
  %wide = broadcast %row : [2, 3, 4]
  %flat = squeeze %row axes [0, 2]
  %up = unsqueeze %flat axes [0]
  %ok = ge %wide, %t3
  assert %ok, "no element is above the largest"
  %one = reduce.all %ok axes [0, 1, 2]
  assert %one, "all hold"
}
)",
        Args().In(x).Out(sum).Out(top).Out(where));
  for (size_t j = 0; j < 4; ++j) {
    float want = 0;
    for (size_t i = 0; i < 6; ++i) want += x[i * 4 + j];
    EXPECT_EQ(sum[j], want);
  }
  for (size_t i = 0; i < 6; ++i) {
    size_t best = 0;
    for (size_t j = 1; j < 4; ++j) best = x[i * 4 + j] > x[i * 4 + best] ? j : best;
    EXPECT_EQ(top[i], x[i * 4 + best]);
    EXPECT_EQ(where[i], static_cast<int32_t>(best));
  }
}

}  // namespace
}  // namespace tarsia::vm::registers_test
