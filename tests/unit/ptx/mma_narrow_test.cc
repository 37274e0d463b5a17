// mma on 4-bit integers and on bits, and movmatrix, against plain sums.
#include <random>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::mma_narrow_test {
namespace {

struct Shape {
  int m, k;
};

// The word of a register: `elements` codes of `bits` bits, the first lowest.
struct Kernel {
  int a = 0, b = 0, d = 0;  // registers
  std::string instruction;
};

std::string TextOf(const Kernel& kernel) {
  std::string text = std::string(kHeader) + R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out) {
.reg .b64 x, y, z; .reg .b32 t, a<4>, b<4>, c<4>, d<4>;
mov.u32 t, %tid.x; cvt.u64.u32 z, t;
)";
  const auto load = [&](const std::string& name, int count) {
    text += fmt::format("ld.param.u64 x, [{}]; mul.lo.u64 y, z, {}; add.u64 x, x, y;\n", name,
                        4 * count);
    for (int r = 0; r < count; ++r)
      text += fmt::format("ld.global.u32 {}{}, [x+{}];\n", name, r, 4 * r);
  };
  load("a", kernel.a);
  load("b", kernel.b);
  load("c", kernel.d);
  const auto list = [](const std::string& name, int count) {
    std::string out = "{";
    for (int r = 0; r < count; ++r) out += fmt::format("{}{}{}", r == 0 ? "" : ", ", name, r);
    return out + "}";
  };
  text += kernel.instruction + " " + list("d", kernel.d) + ", " + list("a", kernel.a) + ", " +
          list("b", kernel.b) + ", " + list("c", kernel.d) + ";\n";
  text +=
      fmt::format("ld.param.u64 x, [out]; mul.lo.u64 y, z, {}; add.u64 x, x, y;\n", 4 * kernel.d);
  for (int r = 0; r < kernel.d; ++r) text += fmt::format("st.global.u32 [x+{}], d{};\n", 4 * r, r);
  return text + "ret;\n}\n";
}

// PTX ISA: a group of four lanes has a row of A and a column of B. A register holds 32 bits of K
// beside each other, the four lanes' follow each other, then come (for A) the 8 rows below, then
// the next 128 bits of K.
void Check(const Shape& shape, int bits, const std::string& types, int least_a, int least_b, int op,
           uint32_t start = 5) {
  const int per = 32 / bits;
  const int half = 4 * per;  // elements of K in the lanes of a group
  const int m_halves = shape.m / 8;
  const int k_parts = shape.k / half;
  Kernel kernel;
  kernel.a = m_halves * k_parts;
  kernel.b = k_parts;
  kernel.d = 2 * m_halves;
  const char* const tails[] = {"", ".xor.popc", ".and.popc"};
  kernel.instruction =
      fmt::format("mma.sync.aligned.m{}n8k{}.row.col{}{}", shape.m, shape.k, types, tails[op]);
  std::mt19937 random(static_cast<uint32_t>(shape.k * 7 + shape.m));
  const int count = 1 << bits;
  std::vector<std::vector<int>> a(16, std::vector<int>(256)), b(256, std::vector<int>(8));
  for (auto& row : a) {
    for (int& v : row) v = least_a + static_cast<int>(random() % static_cast<uint32_t>(count));
  }
  for (auto& row : b) {
    for (int& v : row) v = least_b + static_cast<int>(random() % static_cast<uint32_t>(count));
  }
  std::vector<uint32_t> wa, wb, wc;
  const auto code = [&](int value) { return static_cast<uint32_t>(value & (count - 1)); };
  for (size_t lane = 0; lane < 32; ++lane) {
    const size_t group = lane / 4;
    const size_t first = lane % 4 * static_cast<size_t>(per);
    for (int r = 0; r < kernel.a; ++r) {
      uint32_t word = 0;
      for (int e = 0; e < per; ++e) {
        const size_t row = group + 8 * static_cast<size_t>(r % m_halves);
        const size_t k = static_cast<size_t>(r / m_halves * half) + first + static_cast<size_t>(e);
        word |= code(a[row][k]) << (e * bits);
      }
      wa.push_back(word);
    }
    for (int r = 0; r < kernel.b; ++r) {
      uint32_t word = 0;
      for (int e = 0; e < per; ++e) {
        word |= code(b[static_cast<size_t>(r * half) + first + static_cast<size_t>(e)][group])
                << (e * bits);
      }
      wb.push_back(word);
    }
    for (int r = 0; r < kernel.d; ++r) wc.push_back(start + static_cast<uint32_t>(r));
  }
  Machine machine(TextOf(kernel));
  const uint64_t out = machine.Room(wc.size() * 4);
  ASSERT_EQ(
      Text(machine.Run("k", {1}, {32}, {machine.Put(wa), machine.Put(wb), machine.Put(wc), out})),
      "")
      << kernel.instruction;
  const auto d = machine.Get<uint32_t>(out, wc.size());
  for (size_t lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < kernel.d; ++r) {
      const size_t row = lane / 4 + 8 * static_cast<size_t>(r / 2);
      const size_t column = 2 * (lane % 4) + static_cast<size_t>(r % 2);
      int64_t sum = static_cast<int32_t>(start + static_cast<uint32_t>(r));
      for (size_t k = 0; k < static_cast<size_t>(shape.k); ++k) {
        const int x = a[row][k];
        const int y = b[k][column];
        sum += op == 1 ? (x != y ? 1 : 0) : op == 2 ? (x != 0 && y != 0 ? 1 : 0) : x * y;
      }
      if (types.starts_with(".satfinite")) sum = std::min<int64_t>(sum, INT32_MAX);
      EXPECT_EQ(d[lane * static_cast<size_t>(kernel.d) + static_cast<size_t>(r)],
                static_cast<uint32_t>(sum))
          << kernel.instruction << " lane " << lane << " register " << r;
    }
  }
}

TEST(MmaNarrow, FourBits) {
  for (const Shape& shape : {Shape{8, 32}, Shape{16, 32}, Shape{16, 64}}) {
    Check(shape, 4, ".s32.u4.u4.s32", 0, 0, 0);
    Check(shape, 4, ".s32.u4.s4.s32", 0, -8, 0);
    Check(shape, 4, ".s32.s4.u4.s32", -8, 0, 0);
    Check(shape, 4, ".s32.s4.s4.s32", -8, -8, 0);
    Check(shape, 4, ".satfinite.s32.u4.u4.s32", 0, 0, 0, 0x7FFFFFF0);
  }
  Covers(Op::kMmaInt4);
}

TEST(MmaNarrow, Bits) {
  for (const Shape& shape : {Shape{8, 128}, Shape{16, 128}, Shape{16, 256}}) {
    Check(shape, 1, ".s32.b1.b1.s32", 0, 0, 1);
    Check(shape, 1, ".s32.b1.b1.s32", 0, 0, 2);
  }
  Covers(Op::kMmaBit);
}

TEST(MovMatrix, Transposes) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 in, .param .u64 out) {
.reg .b64 x, y, z; .reg .b32 t, a, d;
mov.u32 t, %tid.x; mul.wide.u32 z, t, 4; ld.param.u64 x, [in]; add.u64 x, x, z;
ld.global.u32 a, [x]; movmatrix.sync.aligned.m8n8.trans.b16 d, a;
ld.param.u64 y, [out]; add.u64 y, y, z; st.global.u32 [y], d;
ret; }
)");
  // Element (row, column) is 100 row + column; a lane has two of a row.
  std::vector<uint16_t> in;
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column)
      in.push_back(static_cast<uint16_t>(100 * row + column));
  }
  const uint64_t out = machine.Room(128);
  EXPECT_EQ(Text(machine.Run("k", {1}, {32}, {machine.Put(in), out})), "");
  const auto d = machine.Get<uint16_t>(out, 64);
  for (size_t row = 0; row < 8; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      EXPECT_EQ(d[8 * row + column], 100 * column + row);
    }
  }
  Covers(Op::kMovMatrix);
}

}  // namespace
}  // namespace tarsia::ptx::mma_narrow_test
