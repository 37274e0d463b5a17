// wmma: matrices of small integers from memory, multiplied and stored, against plain sums. How they
// lie in registers is not seen.
#include <random>

#include "support/extents.h"
#include "tests/unit/ptx/element_testing.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::wmma_test {
namespace {

using namespace elements;

struct Case {
  int m = 16, n = 16, k = 16;
  Element ab = kF16, c = kF32, d = kF32;
  bool row_a = true, row_b = false, row_c = true;
  std::string space;  // of the loads and stores
  std::string types;  // of mma, after the shape
};

// A matrix in memory: rows or columns of `stride` elements.
struct Stored {
  int rows = 0, columns = 0, stride = 0;
  bool row_major = true;
  Element type;
  std::vector<int> values;

  Stored(int height, int width, bool by_rows, const Element& element)
      : rows(height),
        columns(width),
        stride((by_rows ? width : height) + 8),
        row_major(by_rows),
        type(element),
        values(Size(height) * Size(width)) {}
  [[nodiscard]] size_t Bytes() const {
    return Size(stride) * Size(row_major ? rows : columns) * Size(type.bytes());
  }
  [[nodiscard]] size_t At(int row, int column) const {
    return Size(row_major ? row * stride + column : column * stride + row) * Size(type.bytes());
  }
  int& Value(int row, int column) { return values[Size(row) * Size(columns) + Size(column)]; }
  [[nodiscard]] std::vector<uint8_t> Image() {
    std::vector<uint8_t> image(Bytes());
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        const uint64_t code = CodeOf(Value(row, column), type);
        std::memcpy(image.data() + At(row, column), &code, static_cast<size_t>(type.bytes()));
      }
    }
    return image;
  }
};

int Registers(const Element& type, int elements, bool factor) {
  if (factor && type.name == "f16") return 8;
  return elements * type.bytes() / (type.bytes() == 8 ? 8 : 4) / 32;
}

std::string List(const std::string& prefix, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", prefix, i);
  return text + "}";
}

std::string TextOf(const Case& c, const Stored& a, const Stored& b, const Stored& sum,
                   const Stored& result) {
  const std::string shape = fmt::format("m{}n{}k{}", c.m, c.n, c.k);
  const std::string width = c.ab.bytes() == 8 ? ".b64" : ".b32";
  const auto major = [](bool row) { return row ? "row" : "col"; };
  std::string text = std::string(kHeader) + fmt::format(R"(
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {{
.reg {} a<8>, b<8>, c<8>, d<8>; .reg .b64 xa, xb, xc, xd;
ld.param.u64 xa, [pa]; ld.param.u64 xb, [pb]; ld.param.u64 xc, [pc]; ld.param.u64 xd, [pd];
)",
                                                        width);
  const std::string lists[] = {
      List("a", Registers(c.ab, c.m * c.k, true)), List("b", Registers(c.ab, c.n * c.k, true)),
      List("c", Registers(c.c, c.m * c.n, false)), List("d", Registers(c.d, c.m * c.n, false))};
  const auto load = [&](const char* name, bool row, const Element& type, int list, int stride) {
    text += fmt::format("wmma.load.{}.sync.aligned.{}.{}{}.{} {}, [x{}], {};\n", name, major(row),
                        shape, c.space, type.name, lists[list], name, stride);
  };
  load("a", c.row_a, c.ab, 0, a.stride);
  load("b", c.row_b, c.ab, 1, b.stride);
  load("c", c.row_c, c.c, 2, sum.stride);
  text += fmt::format("wmma.mma.sync.aligned.{}.{}.{}{} {}, {}, {}, {};\n", major(c.row_a),
                      major(c.row_b), shape, c.types, lists[3], lists[0], lists[1], lists[2]);
  text += fmt::format("wmma.store.d.sync.aligned.{}.{}{}.{} [xd], {}, {};\nret;\n}}\n",
                      major(c.row_c), shape, c.space, c.d.name, lists[3], result.stride);
  return text;
}

void Check(const Case& c) {
  Stored a(c.m, c.k, c.row_a, c.ab);
  Stored b(c.k, c.n, c.row_b, c.ab);
  Stored sum(c.m, c.n, c.row_c, c.c);
  Stored result(c.m, c.n, c.row_c, c.d);
  std::mt19937 random(static_cast<uint32_t>(c.m * 64 + c.n));
  const int least = c.ab.name == "u8" ? 0 : -3;
  for (int& value : a.values) value = least + static_cast<int>(random() % 7);
  for (int& value : b.values) value = least + static_cast<int>(random() % 7);
  for (int& value : sum.values) value = static_cast<int>(random() % 100) - 50;
  const std::string text = TextOf(c, a, b, sum, result);
  Machine machine(text);
  ASSERT_TRUE(machine.ok()) << text;
  const uint64_t out = machine.Put(std::vector<uint8_t>(result.Bytes()));
  ASSERT_EQ(Text(machine.Run(
                "k", {1}, {32},
                {machine.Put(a.Image()), machine.Put(b.Image()), machine.Put(sum.Image()), out})),
            "")
      << text;
  const auto image = machine.Get<uint8_t>(out, result.Bytes());
  for (int row = 0; row < c.m; ++row) {
    for (int column = 0; column < c.n; ++column) {
      int expected = sum.Value(row, column);
      for (int k = 0; k < c.k; ++k) expected += a.Value(row, k) * b.Value(k, column);
      const uint64_t code = CodeOf(expected, c.d);
      uint64_t got = 0;
      std::memcpy(&got, image.data() + result.At(row, column), static_cast<size_t>(c.d.bytes()));
      // What cancels is -0 where it is rounded down.
      if (expected == 0 && c.types.starts_with(".rm")) got = got << 1 >> 1;
      EXPECT_EQ(got, code) << c.types << " " << row << ", " << column;
    }
  }
}

// Every shape of 16 bits and less, every order of rows and columns.
template <typename F>
void ForShapes(const F& f) {
  constexpr int kShapes[][2] = {{16, 16}, {8, 32}, {32, 8}};
  for (const auto& shape : kShapes) {
    for (int major = 0; major < 8; ++major) {
      Case c;
      c.m = shape[0];
      c.n = shape[1];
      c.row_a = (major & 1) != 0;
      c.row_b = (major & 2) != 0;
      c.row_c = (major & 4) != 0;
      c.space = (major & 1) != 0 ? ".global" : "";
      f(c);
    }
  }
}

TEST(Wmma, Halves) {
  ForShapes([](Case c) {
    for (const Element& d : {kF16, kF32}) {
      for (const Element& sum : {kF16, kF32}) {
        c.d = d;
        c.c = sum;
        c.types = fmt::format(".{}.{}", d.name, sum.name);
        Check(c);
      }
    }
    c.ab = kBF16;
    c.c = c.d = kF32;
    c.types = ".f32.bf16.bf16.f32";
    Check(c);
  });
  Covers(Op::kWmmaHalf);
  Covers(Op::kWmmaLoad);
  Covers(Op::kWmmaStore);
}

TEST(Wmma, Integers) {
  ForShapes([](Case c) {
    c.c = c.d = kS32;
    for (const Element& ab : {kS8, kU8}) {
      c.ab = ab;
      c.types = fmt::format(".s32.{0}.{0}.s32{1}", ab.name, c.row_a ? ".satfinite" : "");
      Check(c);
    }
  });
  Covers(Op::kWmmaInt);
}

TEST(Wmma, WideFloats) {
  for (int major = 0; major < 8; ++major) {
    Case c;
    c.row_a = (major & 1) != 0;
    c.row_b = (major & 2) != 0;
    c.row_c = (major & 4) != 0;
    c.k = 8;
    c.ab = kTF32;
    c.types = ".f32.tf32.tf32.f32";
    c.space = ".global";
    Check(c);
    c.m = c.n = 8;
    c.k = 4;
    c.ab = c.c = c.d = kF64;
    constexpr const char* kRoundings[] = {"", ".rn", ".rz", ".rm", ".rp"};
    for (const char* const rounding : kRoundings) {
      c.types = std::string(rounding) + ".f64.f64.f64.f64";
      Check(c);
    }
  }
  Covers(Op::kWmmaFloat);
  Covers(Op::kWmmaF64);
  Covers(Op::kWmmaLoadF64);
  Covers(Op::kWmmaStoreF64);
}

// To shared memory and back.
TEST(Wmma, SharedMemory) {
  for (const char* const space : {".shared", ".shared::cta"}) {
    for (const bool wide : {false, true}) {
      const std::string kind = wide ? ".m8n8k4" + std::string(space) + ".f64"
                                    : ".m16n16k16" + std::string(space) + ".f32";
      const std::string list = wide ? "{d0, d1}" : "{r0, r1, r2, r3, r4, r5, r6, r7}";
      Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 out) {
.reg .b64 x, z, d<2>; .reg .b32 t, s, r<8>; .shared .align 16 .b8 tile[1024]; .shared .align 16 .b8 copy[1024];
ld.param.u64 x, [out];
mov.u32 t, %tid.x; shl.b32 s, t, 4; mov.u32 r0, tile; add.u32 s, s, r0;
st.shared.v4.u32 [s], {t, t, t, t}; st.shared.v4.u32 [s+512], {t, s, s, t};
bar.sync 0; mov.u32 r0, tile; mov.u32 s, copy;
)" +
                      fmt::format("wmma.load.c.sync.aligned.row{0} {1}, [tile];\n"
                                  "wmma.store.d.sync.aligned.col{0} [copy], {1};\n",
                                  kind, list) +
                      R"(bar.sync 0;
mul.wide.u32 z, t, 16; add.u64 x, x, z; shl.b32 t, t, 4; add.u32 s, s, t;
ld.shared.v4.u32 {r0, r1, r2, r3}, [s]; st.global.v4.u32 [x], {r0, r1, r2, r3};
ret; }
)");
      const uint64_t out = machine.Room(512);
      ASSERT_EQ(Text(machine.Run("k", {1}, {32}, {out})), "") << kind;
      // Column 0 of what was stored by columns is row 0.. of the words, each 4 bytes (8: two).
      const auto words = machine.Get<uint32_t>(out, 128);
      const size_t n = wide ? 8 : 16;
      const size_t per = wide ? 2 : 1;
      for (size_t i = 0; i < 128 / per && i < n * n; ++i) {
        const size_t from = (i % n) * n + i / n;  // an element of the rows
        const size_t thread = from * per / 4 % 32;
        if (from * per / 128 != 0) continue;
        EXPECT_EQ(words[i * per], thread) << kind << " " << i;
      }
    }
  }
}

TEST(Wmma, FormsThatDoNotExist) {
  const auto error = [](const std::string& body) {
    return ErrorsOf(std::string(kHeader) + ".visible .entry k() {\n.reg .b32 r<8>; .reg .b64 x;\n" +
                    body + "\nret;\n}\n");
  };
  for (const char* const body : {
           "wmma.load.a.sync.aligned.row.m16n16k16.f16 {r0, r1, r2, r3}, [x];",
           "wmma.load.a.sync.aligned.row.m16n16k16.f32 {r0, r1, r2, r3, r4, r5, r6, r7}, [x];",
           "wmma.load.c.sync.aligned.row.m16n16k16.s8 {r0, r1, r2, r3, r4, r5, r6, r7}, [x];",
           "wmma.load.a.sync.aligned.row.m16n16k8.f16 {r0, r1, r2, r3}, [x];",
       }) {
    EXPECT_NE(error(body).find("no-such-form"), std::string::npos) << body;
  }
}

}  // namespace
}  // namespace tarsia::ptx::wmma_test
