// Loads, stores, gathers, scatters and atomics against plain loops over a model of the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "layout/text/eval.h"
#include "tests/unit/vm/run_testing.h"

namespace tarsia::vm::memory_test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes RandomBytes(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes out(n);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random());
  return out;
}

uint64_t Bit(const Bytes& bytes, uint64_t at) { return bytes[at / 8] >> (at % 8) & 1; }
void SetBit(Bytes& bytes, uint64_t at, uint64_t bit) {
  bytes[at / 8] = static_cast<uint8_t>((bytes[at / 8] & ~(1u << (at % 8))) | bit << (at % 8));
}

// A copy of a [ROWS, COLS] tile that begins at (%r, %c) of a [%m, N] tensor in some layout into a
// row-major one, and back to another place of a third.
constexpr std::string_view kCopy = R"(
kernel k(%x: ptr<u8>, %y: ptr<u8>, %z: ptr<u8>, %m: i32, %r: i64, %c: i64)
  const T: dtype
  const N: int
  const ROWS: int
  const COLS: int
  const L: memlayout = row_major
{
  %gx = view %x : global<T>[%m, N] L
  %gy = view %y : global<T>[ROWS, COLS]
  %gz = view %z : global<T>[%m, N] L
  %t = load %gx[%r, %c] : [ROWS, COLS]
  store %gy[0, 0], %t
  store %gz[%r, %c], %t
}
)";

struct CopyCase {
  std::string layout;  // a family, or one with {} for the shape
  int64_t m, n, r, c, rows, cols;
};

class MemoryCopy : public testing::TestWithParam<CopyCase> {};

TEST_P(MemoryCopy, MatchesBitByBit) {
  const CopyCase& p = GetParam();
  for (const std::string type : {"u1", "i3", "u4", "f6e3m2", "u7", "u8", "f16", "i32", "c64"}) {
    SCOPED_TRACE(type);
    const DType dtype = *FindDType(type);
    const Result<EvalValue> value = EvaluateText(p.layout);
    ASSERT_TRUE(value.ok());
    const int64_t shape[] = {p.m, p.n};
    const Result<MemLayout> layout = Apply(std::get<MemLayoutFamily>(*value), shape, dtype);
    ASSERT_TRUE(layout.ok()) << layout.error().message;
    const size_t bytes = layout->SizeBytes(dtype.bits);
    const Bytes x = RandomBytes(bytes, 1);
    Bytes z = RandomBytes(bytes, 2);
    Bytes y = RandomBytes(static_cast<size_t>(p.rows * p.cols * dtype.bits + 7) / 8, 3);
    Bytes want_z = z;
    Bytes want_y = y;
    for (int64_t i = 0; i < p.rows; ++i) {
      for (int64_t j = 0; j < p.cols; ++j) {
        // Compared this way around, nothing overflows.
        const bool inside = p.r >= -i && p.r < p.m - i && p.c >= -j && p.c < p.n - j;
        const int64_t index[] = {inside ? p.r + i : 0, inside ? p.c + j : 0};
        for (int bit = 0; bit < dtype.bits; ++bit) {
          const auto at = static_cast<uint64_t>((i * p.cols + j) * dtype.bits + bit);
          uint64_t from = 0;
          if (inside) {
            const uint64_t address = layout->BitAddress(index, dtype.bits, bit);
            const uint64_t flip =
                layout->IsPacked() ? layout->Complement(index) >> bit & 1 : uint64_t{0};
            from = Bit(x, address) ^ flip;
            SetBit(want_z, address, Bit(x, address));
          }
          SetBit(want_y, at, from);
        }
      }
    }
    RunOk(kCopy,
          Args()
              .In(x)
              .Out(y)
              .Out(z)
              .I32(static_cast<int32_t>(p.m))
              .Scalar(kI64, static_cast<uint64_t>(p.r))
              .Scalar(kI64, static_cast<uint64_t>(p.c)),
          {},
          {{"T", type},
           {"N", std::to_string(p.n)},
           {"ROWS", std::to_string(p.rows)},
           {"COLS", std::to_string(p.cols)},
           {"L", p.layout}});
    EXPECT_EQ(y, want_y);
    EXPECT_EQ(z, want_z);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MemoryCopy,
    testing::Values(
        CopyCase{"row_major", 7, 13, 0, 0, 7, 13},     // whole
        CopyCase{"row_major", 7, 13, 2, 3, 4, 5},      // inside
        CopyCase{"row_major", 7, 13, 5, 9, 4, 8},      // past the end
        CopyCase{"row_major", 7, 13, -2, -3, 4, 8},    // before the start
        CopyCase{"row_major", 7, 13, -2, -3, 20, 30},  // all around
        CopyCase{"row_major", 7, 13, 7, 0, 3, 3},      // outside
        CopyCase{"row_major", 7, 13, INT64_MAX, INT64_MIN, 3, 3},
        CopyCase{"row_major", 1, 1, 0, 0, 1, 1}, CopyCase{"row_major", 0, 5, 0, 0, 2, 2},
        CopyCase{"row_major", 4, 6, 1, 1, 0, 3}, CopyCase{"row_major", 9, 300, 1, 1, 8, 299},
        CopyCase{"column_major", 7, 13, 0, 0, 7, 13}, CopyCase{"column_major", 7, 13, -1, 5, 9, 9},
        CopyCase{"strided(shape=[6, 8], strides=[1, 20])", 6, 8, 1, 2, 7, 5},
        CopyCase{"strided(shape=[6, 8], modes=[2, 3, 4, 2], strides=[24, 1, 6, 3])", 6, 8, -1, 1, 6,
                 8},
        CopyCase{"swizzle(row_major, 4, 3, 3)", 16, 64, 0, 0, 16, 64},
        CopyCase{"swizzle(row_major, 4, 3, 3)", 16, 64, 3, 5, 20, 70},
        CopyCase{"swizzle(column_major, 4, 2, 4)", 33, 20, -3, 2, 30, 30}));

struct PackedCase {
  std::string type, layout;
};
class PackedCopy : public testing::TestWithParam<PackedCase> {};

TEST_P(PackedCopy, MatchesBitByBit) {
  const DType dtype = *FindDType(GetParam().type);
  const Result<EvalValue> value = EvaluateText(GetParam().layout);
  ASSERT_TRUE(value.ok()) << value.error().message;
  constexpr int64_t kShape[] = {150, 43};
  const Result<MemLayout> layout = Apply(std::get<MemLayoutFamily>(*value), kShape, dtype);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  const size_t bytes = layout->SizeBytes(dtype.bits);
  const Bytes x = RandomBytes(bytes, 4);
  Bytes z(bytes, 0);
  constexpr int64_t kRow = 9, kColumn = 3, kRows = 150, kColumns = 30;
  Bytes y(static_cast<size_t>(kRows * kColumns * dtype.bits + 7) / 8);
  Bytes want_y = y;
  Bytes want_z = z;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const int64_t index[] = {kRow + i, kColumn + j};
      if (index[0] >= kShape[0] || index[1] >= kShape[1]) continue;
      for (int bit = 0; bit < dtype.bits; ++bit) {
        const uint64_t address = layout->BitAddress(index, dtype.bits, bit);
        SetBit(want_z, address, Bit(x, address));
        SetBit(want_y, static_cast<uint64_t>((i * kColumns + j) * dtype.bits + bit),
               Bit(x, address) ^ (layout->Complement(index) >> bit & 1));
      }
    }
  }
  RunOk(kCopy, Args().In(x).Out(y).Out(z).I32(150).Scalar(kI64, kRow).Scalar(kI64, kColumn), {},
        {{"T", GetParam().type},
         {"N", "43"},
         {"ROWS", std::to_string(kRows)},
         {"COLS", std::to_string(kColumns)},
         {"L", GetParam().layout}});
  EXPECT_EQ(y, want_y);
  EXPECT_EQ(z, want_z);
}

INSTANTIATE_TEST_SUITE_P(
    All, PackedCopy,
    testing::Values(
        PackedCase{"u4", "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"},
        PackedCase{"i2", "packed(permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0]), lanes(bf16))"},
        PackedCase{"u3", "packed(permute(local(2, 8) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"},
        PackedCase{"f6e3m2",
                   "packed(permute(local(1, 8) * mma.m16n8k16.f16.a, [1, 0]), lanes(f16))"},
        PackedCase{"u5", "packed(spatial(8, 4) * local(3, 2), contiguous)"},
        PackedCase{"f16", "packed(spatial(8, 4) * local(3, 2), contiguous)"}));

// Blocks write neighbouring elements that share bytes; none loses another's bits.
TEST(Memory, ConcurrentWritersOfAByteKeepEachOthersBits) {
  constexpr int kBlocks = 512;
  for (const auto& [type, bits] : {std::pair<std::string, int>{"u3", 3}, {"u1", 1}, {"i7", 7}}) {
    Bytes y(static_cast<size_t>(kBlocks * bits + 7) / 8, 0);
    LaunchOptions options;
    options.threads = 4;
    RunOk(R"(
kernel k(%y: ptr<u8>)
  const T: dtype
  grid (512)
{
  %b = block.x
  %g = view %y : global<T>[512]
  %v = fill %b : u32 [1]
  %one = cast %v wrap : T
  store %g[%b], %one
}
)",
          Args().Out(y), options, {{"T", type}});
    for (int i = 0; i < kBlocks; ++i) {
      for (int bit = 0; bit < bits; ++bit) {
        ASSERT_EQ(Bit(y, static_cast<uint64_t>(i * bits + bit)),
                  static_cast<uint64_t>(i >> bit & 1))
            << type << " " << i;
      }
    }
  }
}

TEST(Memory, SlicesKeepTheBoundsOfTheirSource) {
  std::vector<int32_t> x(24);
  for (int i = 0; i < 24; ++i) x[static_cast<size_t>(i)] = i + 1;
  std::vector<int32_t> y(9, -1);
  RunOk(R"(
kernel k(%x: ptr<i32>, %y: ptr<i32>, %i: i32)
{
  %g = view %x : global<i32>[4, 6]
  %s = slice %g[%i, 1] : [2, 3]
  // A slice of a slice begins before its source, which stays masked.
  %t = slice %s[-1, 1] : [9, 9]
  %v = load %t[0, 0] : [3, 3]
  %o = view %y : global<i32>[3, 3]
  store %o[0, 0], %v
}
)",
        Args().In(x).Out(y).I32(2));
  // Rows 1 (masked), 2, 3 of columns 2, 3 and 4 (masked).
  EXPECT_EQ(y, (std::vector<int32_t>{0, 0, 0, 15, 16, 0, 21, 22, 0}));
}

TEST(Memory, StoresThroughSlicesStayInside) {
  std::vector<int32_t> y(24, 0);
  RunOk(R"(
kernel k(%y: ptr<i32>)
{
  %g = view %y : global<i32>[4, 6]
  %s = slice %g[1, 4] : [2, 5]
  %v = fill 7 : i32 [6, 6]
  store %s[-1, -1], %v
}
)",
        Args().Out(y));
  std::vector<int32_t> want(24, 0);
  for (const size_t i : {10u, 11u, 16u, 17u}) want[i] = 7;
  EXPECT_EQ(y, want);
}

TEST(Memory, ViewsOfMemoryShowItsBytes) {
  const std::vector<uint32_t> x = {0x04030201, 0x08070605, 0x0C0B0A09, 0x100F0E0D};
  Bytes y(8);
  RunOk(R"(
kernel k(%x: ptr<u32>, %y: ptr<u8>)
{
  %g = view %x : global<u32>[2, 2]
  %row = slice %g[1, 0] : [1, 2]
  %b = view %row : global<u8>[8]
  %t = load %b[0] : [8]
  %s = alloc.shared : shared<u16>[4]
  %sb = view %s : shared<u8>[8]
  store %sb[0], %t
  sync
  %h = load %s[0] : [4]
  %h = add %h, 1
  sync
  store %s[0], %h
  sync
  %u = load %sb[0] : [8]
  %o = view %y : global<u8>[8]
  store %o[0], %u
}
)",
        Args().In(x).Out(y));
  EXPECT_EQ(y, (Bytes{10, 10, 12, 12, 14, 14, 16, 16}));
}

TEST(Memory, ViewsOfColumnsAreRefused) {
  const std::vector<uint32_t> x(16);
  EXPECT_EQ(ErrorId(R"(
kernel k(%x: ptr<u32>)
{
  %g = view %x : global<u32>[4, 4]
  %column = slice %g[0, 1] : [4, 1]
  %b = view %column : global<u8>[16]
}
)",
                    Args().In(x)),
            "view-of-slice");
}

TEST(Memory, GatherAndScatter) {
  const std::vector<int32_t> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<int32_t> i = {2, -1, 0, 3, 1, 100};
  std::vector<int32_t> rows(18, -1), columns(18, -1), back(12, 0);
  RunOk(R"(
kernel k(%x: ptr<i32>, %i: ptr<i32>, %r: ptr<i32>, %c: ptr<i32>, %b: ptr<i32>)
{
  %g = view %x : global<i32>[3, 4]
  %gi = view %i : global<i32>[6]
  %t = load %gi[0] : [6]
  %h = slice %g[0, 0] : [3, 3]
  %rows = gather %h, %t axis 0
  %gr = view %r : global<i32>[6, 3]
  store %gr[0, 0], %rows
  %cols = gather %h, %t axis 1
  %gc = view %c : global<i32>[3, 6]
  store %gc[0, 0], %cols
  %gb = view %b : global<i32>[3, 4]
  %cut = slice %gb[0, 0] : [3, 4]
  %times = mul %cols, 10
  scatter %cut, %t, %times axis 1
}
)",
        Args().In(x).In(i).Out(rows).Out(columns).Out(back));
  EXPECT_EQ(rows, (std::vector<int32_t>{9, 10, 11, 0, 0, 0, 1, 2, 3, 0, 0, 0, 5, 6, 7, 0, 0, 0}));
  EXPECT_EQ(columns,
            (std::vector<int32_t>{3, 0, 1, 0, 2, 0, 7, 0, 5, 0, 6, 0, 11, 0, 9, 0, 10, 0}));
  EXPECT_EQ(back, (std::vector<int32_t>{10, 20, 30, 0, 50, 60, 70, 0, 90, 100, 110, 0}));
}

TEST(Memory, AtomicsOfManyBlocksLoseNothing) {
  std::vector<int32_t> sums(4, 0), tickets(300, -1);
  std::vector<float> f(1, 0);
  LaunchOptions options;
  options.threads = 4;
  RunOk(R"(
kernel k(%s: ptr<i32>, %t: ptr<i32>, %f: ptr<f32>)
  grid (300)
{
  %b = block.x
  %gs = view %s : global<i32>[4]
  %gt = view %t : global<i32>[300]
  %gf = view %f : global<f32>[1]
  %v = fill %b : i32 [4]
  red.add %gs[2], %v
  red.max %gs[1], %v
  %one = fill 1 : i32 [1]
  %ticket = atomic.add %gs[0], %one
  store %gt[%b], %ticket
  %half = fill 0.5 : f32 [1]
  red.add %gf[0], %half
}
)",
        Args().Out(sums).Out(tickets).Out(f), options);
  // Elements 0, 1 of v reach sums[2], sums[3]; the rest is outside. red.max covers 1, 2, 3, which
  // the additions raise as well: only the ticket counter and the last are plain sums.
  EXPECT_EQ(sums[0], 300);
  EXPECT_EQ(f[0], 150.0f);
  std::sort(tickets.begin(), tickets.end());
  for (int i = 0; i < 300; ++i) EXPECT_EQ(tickets[static_cast<size_t>(i)], i);
}

TEST(Memory, CompareAndSwapAndMasks) {
  std::vector<uint32_t> m = {5, 6, 7};
  std::vector<uint32_t> old(4, 99);
  RunOk(R"(
kernel k(%m: ptr<u32>, %o: ptr<u32>)
{
  %g = view %m : global<u32>[3]
  %go = view %o : global<u32>[4]
  %expected = fill 6 : u32 [4]
  %value = iota : u32 [4]
  %value = add %value, 100
  %value = atomic.cas %g[0], %expected, %value
  store %go[0], %value
}
)",
        Args().Out(m).Out(old));
  EXPECT_EQ(m, (std::vector<uint32_t>{5, 101, 7}));
  EXPECT_EQ(old, (std::vector<uint32_t>{5, 6, 7, 0}));
}

TEST(Memory, LoadScalarMasksAndExtends) {
  const std::vector<int8_t> x = {-3, 4};
  std::vector<int32_t> y(3, 9);
  RunOk(R"(
kernel k(%x: ptr<i8>, %y: ptr<i32>)
{
  %g = view %x : global<i8>[2]
  %o = view %y : global<i32>[3]
  for %i = 0 to 3 {
    %s = load.scalar %g[%i]
    %w = mov %s + 0
    %t = fill %w : i32 [1]
    store %o[%i], %t
  }
}
)",
        Args().In(x).Out(y));
  EXPECT_EQ(y, (std::vector<int32_t>{-3, 4, 0}));
}

TEST(Memory, CopiesThroughSharedMemory) {
  std::vector<uint16_t> x(20 * 10);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i + 1);
  for (const bool check : {false, true}) {
    std::vector<uint16_t> y(16 * 12, 7);
    LaunchOptions options;
    options.check = check;
    const LaunchReport report = RunOk(R"(
kernel k(%x: ptr<u16>, %y: ptr<u16>)
{
  %g = view %x : global<u16>[20, 10]
  %s = alloc.shared : shared<u16>[2, 16, 16] swizzle(row_major, 4, 2, 3)
  %g3 = view %x : global<u16>[2, 10, 10]
  copy.async %s[0, 0, 0], %g3[0, 2, 1] : [1, 16, 16]
  copy.commit
  copy.async %s[1, 0, 0], %g3[1, 0, 0] : [1, 16, 16]
  copy.commit
  copy.wait 1
  sync
  %a = load %s[0, 0, 0] : [1, 16, 12]
  copy.wait 0
  sync
  %b = load %s[1, 0, 0] : [1, 16, 12]
  %a = add %a, %b
  %o = view %y : global<u16>[1, 16, 12]
  store %o[0, 0, 0], %a
}
)",
                                      Args().In(x).Out(y), options);
    EXPECT_TRUE(report.findings.empty());
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 12; ++j) {
        const int first = i + 2 < 10 && j + 1 < 10 ? (i + 2) * 10 + j + 2 : 0;
        const int second = i < 10 && j < 10 ? 100 + i * 10 + j + 1 : 0;
        EXPECT_EQ(y[static_cast<size_t>(i * 12 + j)], first + second) << i << ", " << j;
      }
    }
  }
}

}  // namespace
}  // namespace tarsia::vm::memory_test
