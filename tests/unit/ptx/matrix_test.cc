// ldmatrix, stmatrix and mma. Fragments are built here element by element from the figures of the
// PTX ISA, written out as plain conditions.
#include <bit>
#include <cmath>

#include "dtypes/convert.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::matrix_test {
namespace {

// The newest of the forms came with 8.7.
constexpr char kMmaHeader[] = ".version 8.7\n.target sm_90a\n.address_size 64\n";

struct MmaCase {
  Op op;
  std::string name;  // after mma.sync.aligned.
  int m, n, k;
  DType a, b, c;
  bool integer = false;
};

using Words = std::vector<std::vector<uint64_t>>;  // by lane

int BitsOf(DType type) { return type == kTF32 ? 32 : type.bits; }

// (row, column) of element i of a fragment of A, as the manual's formulas give it.
std::pair<int, int> PlaceA(const MmaCase& c, int lane, int i) {
  const int g = lane / 4;
  const int t = lane % 4;
  if (c.m == 8) return {g, BitsOf(c.a) == 8 ? t * 4 + i : t};
  if (BitsOf(c.a) == 16) {
    const bool low_rows = c.k == 8 ? i < 2 : (i < 2 || (i >= 4 && i < 6));
    return {low_rows ? g : g + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
  }
  if (BitsOf(c.a) == 8) {
    const bool low_rows = i < 4 || (i >= 8 && i < 12);
    return {low_rows ? g : g + 8, t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  }
  return {i % 2 == 0 ? g : g + 8, t + 4 * (i / 2)};
}

std::pair<int, int> PlaceB(const MmaCase& c, int lane, int i) {
  const int g = lane / 4;
  const int t = lane % 4;
  if (BitsOf(c.b) == 16) return {t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g};
  if (BitsOf(c.b) == 8) return {t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g};
  return {t + 4 * i, g};
}

std::pair<int, int> PlaceC(int lane, int i) {
  return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)};
}

uint64_t Encode(DType type, double value, bool integer) {
  if (integer) return Low(static_cast<uint64_t>(static_cast<int64_t>(value)), type.bits);
  return EncodeFromDouble(type, value, {});
}

// Packs the elements of a lane into registers of 32 bits, or 64 for f64.
template <typename Place>
Words Pack(const std::vector<std::vector<double>>& matrix, DType type, int elements, bool integer,
           const Place& place) {
  Words words(32);
  const int per = type == kF64 ? 1 : 32 / BitsOf(type);
  for (int lane = 0; lane < 32; ++lane) {
    auto& list = words[static_cast<size_t>(lane)];
    list.resize(static_cast<size_t>(elements / per));
    for (int i = 0; i < elements; ++i) {
      const auto [row, column] = place(lane, i);
      const uint64_t code =
          Encode(type, matrix[static_cast<size_t>(row)][static_cast<size_t>(column)], integer);
      list[static_cast<size_t>(i / per)] |= code << (i % per * BitsOf(type));
    }
  }
  return words;
}

std::vector<std::vector<double>> RandomMatrix(int rows, int columns, DType type, uint32_t seed) {
  std::mt19937 random(seed);
  const bool is_unsigned = type == kU8;
  std::vector<std::vector<double>> matrix(static_cast<size_t>(rows));
  for (auto& row : matrix) {
    for (int i = 0; i < columns; ++i) {
      const int value = static_cast<int>(random() % 9) - (is_unsigned ? 0 : 4);
      row.push_back(value);
    }
  }
  return matrix;
}

std::string List(char name, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

// Small integers: every sum is exact, in any order.
void CheckMma(const MmaCase& c) {
  const auto a = RandomMatrix(c.m, c.k, c.a, 1);
  const auto b = RandomMatrix(c.k, c.n, c.b, 2);
  const auto acc = RandomMatrix(c.m, c.n, c.c, 3);
  const Words wa =
      Pack(a, c.a, c.m * c.k / 32, c.integer, [&](int l, int i) { return PlaceA(c, l, i); });
  const Words wb =
      Pack(b, c.b, c.k * c.n / 32, c.integer, [&](int l, int i) { return PlaceB(c, l, i); });
  const Words wc =
      Pack(acc, c.c, c.m * c.n / 32, c.integer, [](int l, int i) { return PlaceC(l, i); });
  const bool f64 = c.c == kF64;
  const int width = f64 ? 64 : 32;
  std::string text = kMmaHeader;
  text += ".visible .entry k(.param .u64 p) {\n.reg .b64 rd<4>; .reg .b32 r<4>;\n";
  text +=
      fmt::format(".reg .b{0} a<9>; .reg .b{0} b<9>; .reg .b{0} c<9>; .reg .b{0} d<9>;\n", width);
  text +=
      "ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mul.wide.u32 rd1, r0, 192; add.u64 rd1, rd1, "
      "rd0;\n";
  const auto load = [&](char name, size_t count, size_t from) {
    for (size_t i = 0; i < count; ++i) {
      text += fmt::format("ld.global.b{} {}{}, [rd1+{}];\n", width, name, i, (from + i) * 8);
    }
  };
  load('a', wa[0].size(), 0);
  load('b', wb[0].size(), 8);
  load('c', wc[0].size(), 12);
  const size_t outs = wc[0].size();
  text += fmt::format("mma.sync.aligned.{} {}, {}, {}, {};\n", c.name, List('d', outs),
                      List('a', wa[0].size()), List('b', wb[0].size()), List('c', outs));
  for (size_t i = 0; i < outs; ++i) {
    text += fmt::format("st.global.b{} [rd1+{}], d{};\n", width, (16 + i) * 8, i);
  }
  text += "ret;\n}\n";
  std::vector<uint64_t> memory(32 * 24);
  for (size_t lane = 0; lane < 32; ++lane) {
    std::copy(wa[lane].begin(), wa[lane].end(), memory.begin() + static_cast<long>(lane * 24));
    std::copy(wb[lane].begin(), wb[lane].end(), memory.begin() + static_cast<long>(lane * 24 + 8));
    std::copy(wc[lane].begin(), wc[lane].end(), memory.begin() + static_cast<long>(lane * 24 + 12));
  }
  Machine machine(text);
  const uint64_t at = machine.Put(memory);
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {at})), "") << c.name;
  const auto out = machine.Get<uint64_t>(at, memory.size());
  auto expected = acc;
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t j = 0; j < expected[i].size(); ++j) {
      for (size_t k = 0; k < b.size(); ++k) expected[i][j] += a[i][k] * b[k][j];
    }
  }
  const Words wanted =
      Pack(expected, c.c, c.m * c.n / 32, c.integer, [](int l, int i) { return PlaceC(l, i); });
  for (size_t lane = 0; lane < 32; ++lane) {
    for (size_t i = 0; i < outs; ++i) {
      EXPECT_EQ(out[lane * 24 + 16 + i], wanted[lane][i])
          << c.name << " lane " << lane << " d" << i;
    }
  }
  Covers(c.op);
}

TEST(Mma, MultipliesEveryShape) {
  CheckMma({Op::kMmaHalf, "m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 8, kF16, kF16, kF32});
  CheckMma({Op::kMmaHalf, "m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 16, kF16, kF16, kF32});
  CheckMma({Op::kMmaHalf, "m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, kF16, kF16, kF16});
  CheckMma({Op::kMmaHalf, "m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 8, kBF16, kBF16, kF32});
  CheckMma({Op::kMmaHalf, "m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 16, kBF16, kBF16, kF32});
  CheckMma({Op::kMmaTf32, "m16n8k4.row.col.f32.tf32.tf32.f32", 16, 8, 4, kTF32, kTF32, kF32});
  CheckMma({Op::kMmaTf32, "m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, kTF32, kTF32, kF32});
  CheckMma(
      {Op::kMmaF8, "m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 8, 32, kF8E4M3FN, kF8E4M3FN, kF32});
  CheckMma({Op::kMmaF8, "m16n8k32.row.col.f32.e5m2.e4m3.f32", 16, 8, 32, kF8E5M2, kF8E4M3FN, kF32});
  CheckMma({Op::kMmaF8, "m16n8k16.row.col.f32.e4m3.e5m2.f32", 16, 8, 16, kF8E4M3FN, kF8E5M2, kF32});
  CheckMma(
      {Op::kMmaF8, "m16n8k16.row.col.f16.e4m3.e4m3.f16", 16, 8, 16, kF8E4M3FN, kF8E4M3FN, kF16});
  CheckMma({Op::kMmaInt, "m16n8k16.row.col.s32.s8.s8.s32", 16, 8, 16, kI8, kI8, kI32, true});
  CheckMma(
      {Op::kMmaInt, "m16n8k32.row.col.satfinite.s32.s8.u8.s32", 16, 8, 32, kI8, kU8, kI32, true});
  CheckMma({Op::kMmaInt, "m16n8k32.row.col.s32.u8.u8.s32", 16, 8, 32, kU8, kU8, kI32, true});
  CheckMma({Op::kMmaInt, "m8n8k16.row.col.s32.s8.s8.s32", 8, 8, 16, kI8, kI8, kI32, true});
  CheckMma({Op::kMmaF64, "m8n8k4.row.col.f64.f64.f64.f64", 8, 8, 4, kF64, kF64, kF64});
  CheckMma({Op::kMmaF64, "m16n8k4.row.col.f64.f64.f64.f64", 16, 8, 4, kF64, kF64, kF64});
  CheckMma({Op::kMmaF64, "m16n8k8.row.col.f64.f64.f64.f64", 16, 8, 8, kF64, kF64, kF64});
  CheckMma({Op::kMmaF64, "m16n8k16.row.col.f64.f64.f64.f64", 16, 8, 16, kF64, kF64, kF64});
}

// One product of (1 + 2^-52) with itself: in a mode, one rounding.
TEST(Mma, RoundsF64InTheMode) {
  struct Mode {
    const char* name;
    double one;  // (1 + 2^-52)^2, which lies just above 1 + 2^-51
    double minus;
  };
  const double low = 1 + 0x1p-51;
  const double high = 1 + 0x1p-51 + 0x1p-52;
  for (const Mode& mode : {Mode{"rn", low, -low}, Mode{"rz", low, -low}, Mode{"rm", low, -high},
                           Mode{"rp", high, -low}}) {
    Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 p) {
.reg .b64 rd<4>; .reg .b32 r<2>; .reg .f64 a, b, c<2>, d<2>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mul.wide.u32 rd1, r0, 16; add.u64 rd0, rd0, rd1;
and.b32 r1, r0, 3; mov.f64 a, 0d0000000000000000; mov.f64 b, a; mov.f64 c0, a; mov.f64 c1, a;
.reg .pred first; setp.eq.u32 first, r1, 0;
@first mov.f64 a, 0d3FF0000000000001;
@first mov.f64 b, 0d3FF0000000000001;
.reg .pred odd; .reg .b32 g; shr.u32 g, r0, 2; and.b32 g, g, 1; setp.eq.u32 odd, g, 1;
@odd neg.f64 a, a;
mma.sync.aligned.m8n8k4.row.col.)" +
                    std::string(mode.name) + R"(.f64.f64.f64.f64 {d0, d1}, {a}, {b}, {c0, c1};
st.global.v2.f64 [rd0], {d0, d1};
ret; }
)");
    const uint64_t at = machine.Room(32 * 16);
    EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {at})), "");
    const auto out = machine.Get<double>(at, 64);
    for (size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(out[i], i / 8 % 2 == 0 ? mode.one : mode.minus) << mode.name << " " << i;
    }
  }
}

TEST(Mma, MovesMatrices) {
  // Four 8x8 matrices of numbers 64 m + 8 row + column, rows of 16 bytes one after the other.
  for (const bool trans : {false, true}) {
    for (const int count : {1, 2, 4}) {
      std::string regs = "{r4";
      for (int i = 1; i < count; ++i) regs += fmt::format(", r{}", 4 + i);
      regs += "}";
      const char* kind = trans ? ".trans" : "";
      const char* first = trans ? "shared::cta" : "shared";
      const char* second = trans ? "shared" : "shared::cta";
      const std::string text =
          fmt::format(R"({}
.shared .align 16 .b8 tile[1024];
.visible .entry k(.param .u64 p) {{
.reg .b64 rd<4>; .reg .b32 r<12>;
ld.param.u64 rd0, [p]; mov.u32 r0, %tid.x; mul.wide.u32 rd1, r0, 16; add.u64 rd1, rd1, rd0;
mov.u32 r1, tile; shl.b32 r2, r0, 4; add.u32 r1, r1, r2;
ld.global.v4.b32 {{r8, r9, r10, r11}}, [rd1];
st.shared.v4.b32 [r1], {{r8, r9, r10, r11}}; st.shared.v4.b32 [r1+512], {{r8, r9, r10, r11}};
bar.sync 0;
ldmatrix.sync.aligned.m8n8.x{}{}.{}.b16 {}, [r1];
add.u64 rd2, rd1, 512; st.global.b32 [rd2], r4;
bar.sync 0;
stmatrix.sync.aligned.m8n8.x{}{}.{}.b16 [r1+512], {};
bar.sync 0;
ld.shared.v4.b32 {{r8, r9, r10, r11}}, [r1+512]; st.global.v4.b32 [rd1], {{r8, r9, r10, r11}};
ret; }}
)",
                      kHeader, count, kind, first, regs, count, kind, second, regs);
      std::vector<uint16_t> values(512);
      for (size_t i = 0; i < 256; ++i) values[i] = static_cast<uint16_t>(i * 7 + 1);
      Machine machine(text);
      const uint64_t at = machine.Put(values);
      EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {at})), "");
      const auto out = machine.Get<uint16_t>(at, 512);
      // There and back again: nothing has changed.
      EXPECT_EQ(std::vector(out.begin(), out.begin() + 256),
                std::vector(values.begin(), values.begin() + 256));
      for (size_t lane = 0; lane < 32; ++lane) {
        for (size_t e = 0; e < 2; ++e) {
          const size_t row = lane / 4;
          const size_t column = lane % 4 * 2 + e;
          EXPECT_EQ(out[256 + lane * 8 + e], values[trans ? column * 8 + row : row * 8 + column]);
        }
      }
    }
  }
  Covers(Op::kLdMatrix);
  Covers(Op::kStMatrix);
}

}  // namespace
}  // namespace tarsia::ptx::matrix_test
