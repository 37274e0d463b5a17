// atom and red on vectors: what memory holds before and after, by lanes that go one after the
// other.
#include <algorithm>
#include <cstring>

#include "tests/unit/ptx/element_testing.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::atomic_vector_test {
namespace {

using namespace elements;

struct Case {
  std::string operation;  // add, min or max
  Element element;
  bool packed = false;  // two of them in a register
  int length = 2;       // registers
  [[nodiscard]] int Bits() const { return element.bits * (packed ? 2 : 1); }
  [[nodiscard]] std::string Type() const {
    return std::string(element.name) + (packed ? "x2" : "");
  }
};

std::string List(char name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

// Words after atom or red, in either order.
std::string Words(const Case& c, bool vector_first) {
  const std::string noftz = c.element.bits == 16 ? ".noftz" : "";
  const std::string vector = fmt::format(".v{}", c.length);
  return vector_first ? vector + "." + c.Type() + "." + c.operation + noftz
                      : "." + c.operation + noftz + vector + "." + c.Type();
}

int After(const Case& c, int a, int b) {
  return c.operation == "add" ? a + b : c.operation == "min" ? std::min(a, b) : std::max(a, b);
}

std::vector<uint8_t> Image(const std::vector<int>& values, const Element& element) {
  std::vector<uint8_t> image;
  for (const int value : values) {
    const uint64_t code = CodeOf(value, element);
    for (int byte = 0; byte < element.bytes(); ++byte) {
      image.push_back(static_cast<uint8_t>(code >> (8 * byte)));
    }
  }
  return image;
}

// Four lanes update one vector, lane i with the values b + i.
void Check(const Case& c, bool atom, bool vector_first, const std::string& prefix,
           const std::string& hint = "") {
  const int numbers = c.length * (c.packed ? 2 : 1);
  std::vector<int> memory;
  std::vector<int> operand;
  for (int i = 0; i < numbers; ++i) memory.push_back(3 * i - 5);
  for (int lane = 0; lane < 4; ++lane) {
    for (int i = 0; i < numbers; ++i) operand.push_back(2 * i + lane - 4);
  }
  const int step = c.length * c.Bits() / 8;
  const std::string name = atom ? "atom" : "red";
  std::string text = std::string(kHeader) + fmt::format(R"(
.visible .entry k(.param .u64 m, .param .u64 in, .param .u64 out) {{
.reg .b{0} a<8>, d<8>; .reg .b64 x, y, z, h; .reg .b32 t; .reg .pred p;
mov.u32 t, %tid.x; mul.wide.u32 z, t, {1}; mov.u64 h, 0;
ld.param.u64 y, [in]; add.u64 y, y, z; ld.param.u64 x, [m];
)",
                                                        c.Bits(), step);
  const int each = c.Bits() / 8;
  for (int i = 0; i < c.length; ++i)
    text += fmt::format("ld.global.b{} a{}, [y+{}];\n", c.Bits(), i, i * each);
  std::string words = Words(c, vector_first);
  if (!hint.empty()) words.insert(words.find(vector_first ? "" : ".v"), vector_first ? "" : hint);
  text += name + prefix + words + " " + (atom ? List('d', c.length) + ", " : "") + "[x], " +
          List('a', c.length) + (hint.empty() ? "" : ", h") + ";\n";
  text += "ld.param.u64 y, [out]; add.u64 y, y, z;\n";
  for (int i = 0; atom && i < c.length; ++i)
    text += fmt::format("st.global.b{} [y+{}], d{};\n", c.Bits(), i * each, i);
  text += "ret;\n}\n";
  Machine machine(text);
  ASSERT_TRUE(machine.ok()) << text;
  const uint64_t at = machine.Put(Image(memory, c.element));
  const uint64_t out = machine.Put(std::vector<uint8_t>(4 * static_cast<size_t>(step)));
  ASSERT_EQ(Text(machine.Run("k", {1}, {4}, {at, machine.Put(Image(operand, c.element)), out})), "")
      << text;
  std::vector<int> before;
  size_t next = 0;  // of the operands
  for (int lane = 0; lane < 4; ++lane) {
    before.insert(before.end(), memory.begin(), memory.end());
    for (int i = 0; i < numbers; ++i) {
      auto& value = memory[static_cast<size_t>(i)];
      value = After(c, value, operand[next++]);
    }
  }
  EXPECT_EQ(machine.Get<uint8_t>(at, static_cast<size_t>(step)), Image(memory, c.element)) << text;
  if (!atom) return;
  EXPECT_EQ(machine.Get<uint8_t>(out, 4 * static_cast<size_t>(step)), Image(before, c.element));
}

std::vector<Case> Cases() {
  std::vector<Case> cases = {{"add", kF32, false, 2}, {"add", kF32, false, 4}};
  for (const char* const operation : {"add", "min", "max"}) {
    for (const Element& element : {kF16, kBF16}) {
      for (const int length : {2, 4, 8}) cases.push_back({operation, element, false, length});
      for (const int length : {2, 4}) cases.push_back({operation, element, true, length});
    }
  }
  return cases;
}

TEST(AtomicVector, EveryForm) {
  for (const Case& c : Cases()) {
    for (const bool first : {false, true}) {
      Check(c, true, first, ".global");
      Check(c, false, first, "");
    }
  }
  for (const Op op : {Op::kAtomVector, Op::kRedVector}) Covers(op);
}

// Operands and sums; zeros keep the sign.
TEST(AtomicVector, SumsOfF32FlushSubnormals) {
  Machine machine(std::string(kHeader) + R"(
.visible .entry k(.param .u64 m) {
.reg .b32 a<4>; .reg .b64 x;
ld.param.u64 x, [m];
mov.b32 a0, 0x00000001; mov.b32 a1, 0x80000001; mov.b32 a2, 0x80800000; mov.b32 a3, 0x00400000;
red.global.add.v4.f32 [x], {a0, a1, a2, a3};
ret;
}
)");
  ASSERT_TRUE(machine.ok());
  const std::vector<uint32_t> memory = {0x00000001, 0x80000001, 0x00800001, 0x00800000};
  std::vector<uint8_t> bytes(16);
  std::memcpy(bytes.data(), memory.data(), bytes.size());
  const uint64_t at = machine.Put(bytes);
  ASSERT_EQ(Text(machine.Run("k", {1}, {1}, {at})), "");
  EXPECT_EQ(machine.Get<uint32_t>(at, 4),
            (std::vector<uint32_t>{0x00000000, 0x80000000, 0x00000000, 0x00800000}));
}

TEST(AtomicVector, WordsThatOrder) {
  const Case c{"add", kF32, false, 2};
  for (const bool first : {false, true}) {
    for (const char* const scope : {"cta", "cluster", "gpu", "sys"}) {
      for (const char* const order : {"relaxed", "release"}) {
        Check(c, true, first, fmt::format(".{}.{}.global", order, scope));
        Check(c, false, first, fmt::format(".{}.{}.global", order, scope));
      }
      for (const char* const order : {"acquire", "acq_rel"}) {
        Check(c, true, first, fmt::format(".{}.{}", order, scope));
      }
    }
  }
  Check(c, true, false, ".global", ".L2::cache_hint");
  Check(c, false, false, ".global", ".L2::cache_hint");
}

TEST(AtomicVector, Findings) {
  const std::string text = std::string(kHeader) + R"(
.visible .entry k(.param .u64 m) {
.reg .b32 a, b; .reg .b64 x; ld.param.u64 x, [m]; mov.b32 a, 0;
red.global.add.v2.f32 [x], {a, a};
ret; }
)";
  Machine machine(text);
  const uint64_t at = machine.Put(std::vector<float>(4));
  EXPECT_NE(Text(machine.Run("k", {1}, {1}, {at + 4})).find("misaligned: "), std::string::npos);
  EXPECT_NE(Text(machine.Run("k", {1}, {1}, {machine.Room(8)})).find("uninitialised: "),
            std::string::npos);
  EXPECT_NE(Text(machine.Run("k", {1}, {1}, {at + 4096})).find("out_of_bounds: "),
            std::string::npos);
  for (const char* const form :
       {"red.global.min.v2.f32 [x], {a, a};", "red.add.v8.f32 [x], {a, a, a, a, a, a, a, a};",
        "red.add.v2.f16x2 [x], {a, a};"}) {
    EXPECT_NE(ErrorsOf(std::string(kHeader) + ".visible .entry k() {\n.reg .b32 a; .reg .b64 x;\n" +
                       form + "\nret;\n}\n"),
              "")
        << form;
  }
}

}  // namespace
}  // namespace tarsia::ptx::atomic_vector_test
