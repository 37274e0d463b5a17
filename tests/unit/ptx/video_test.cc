// Video instructions on halves and bytes, against a formula in arrays of parts.
#include <algorithm>
#include <array>

#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::video_test {
namespace {

using Parts = std::vector<int64_t>;

struct Operation {
  std::string name;  // without the number of parts
  Op two;
  Op four;
  std::function<int64_t(int64_t a, int64_t b)> of;
};

const std::vector<Operation>& Operations() {
  static const std::vector<Operation> all = {
      {"vadd", Op::kVadd2, Op::kVadd4, [](int64_t a, int64_t b) { return a + b; }},
      {"vsub", Op::kVsub2, Op::kVsub4, [](int64_t a, int64_t b) { return a - b; }},
      // Halves go up where the sum is not negative, and down where it is.
      {"vavrg", Op::kVavrg2, Op::kVavrg4,
       [](int64_t a, int64_t b) {
         const int64_t sum = a + b;
         return sum >= 0 ? (sum + 1) / 2 : -((-sum + 1) / 2);
       }},
      {"vabsdiff", Op::kVabsdiff2, Op::kVabsdiff4,
       [](int64_t a, int64_t b) { return std::abs(a - b); }},
      {"vmin", Op::kVmin2, Op::kVmin4, [](int64_t a, int64_t b) { return a < b ? a : b; }},
      {"vmax", Op::kVmax2, Op::kVmax4, [](int64_t a, int64_t b) { return a > b ? a : b; }},
  };
  return all;
}

// The parts of a word from the low end.
Parts PartsOf(uint64_t word, size_t count, bool is_signed) {
  const int bits = static_cast<int>(32 / count);
  Parts parts;
  for (size_t i = 0; i < count; ++i) {
    auto value = static_cast<int64_t>(word >> (bits * static_cast<int>(i)) & ((1 << bits) - 1));
    if (is_signed && value >= 1 << (bits - 1)) value -= 1 << bits;
    parts.push_back(value);
  }
  return parts;
}

uint64_t WordOf(const Parts& parts) {
  const int bits = static_cast<int>(32 / parts.size());
  uint64_t word = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    word |= (static_cast<uint64_t>(parts[i]) & ((uint64_t{1} << bits) - 1))
            << (bits * static_cast<int>(i));
  }
  return word;
}

int64_t Cut(int64_t value, size_t parts, bool is_signed) {
  const int64_t most = int64_t{1} << (32 / parts);
  return is_signed ? std::clamp(value, -most / 2, most / 2 - 1)
                   : std::clamp<int64_t>(value, 0, most - 1);
}

const std::vector<uint64_t>& Words() {
  static const std::vector<uint64_t> words = {0,          0x00010001, 0x7FFF8000, 0xFFFFFFFF,
                                              0x80017F80, 0x01FE80FF, 0x12345678, 0xFEDCBA98};
  return words;
}

std::string TypeOf(bool is_signed) { return is_signed ? ".s32" : ".u32"; }

// All types, plain, saturated, and added up.
TEST(Video, ComputesOnParts) {
  const auto inputs = Combine(3, Words());
  for (const Operation& operation : Operations()) {
    for (int form = 0; form < 2 * 8 * 3; ++form) {
      const size_t count = form % 2 == 0 ? 2 : 4;
      const bool d = (form >> 1 & 1) != 0;
      const bool a = (form >> 2 & 1) != 0;
      const bool b = (form >> 3 & 1) != 0;
      const int how = form >> 4;  // plain, saturated, added up
      const char* words[] = {"", ".sat", ".add"};
      const std::string text = operation.name + std::to_string(count) + TypeOf(d) + TypeOf(a) +
                               TypeOf(b) + words[how] + " d, s0, s1, s2;";
      CheckRow(count == 2 ? operation.two : operation.four, text, 32, {32, 32, 32}, inputs,
               [&](const Tuple& s) {
                 const Parts x = PartsOf(s[0], count, a);
                 const Parts y = PartsOf(s[1], count, b);
                 Parts out;
                 uint64_t sum = s[2];
                 for (size_t i = 0; i < count; ++i) {
                   int64_t value = operation.of(x[i], y[i]);
                   sum += static_cast<uint64_t>(value);
                   out.push_back(how == 1 ? Cut(value, count, d) : value);
                 }
                 return how == 2 ? sum : WordOf(out);
               });
    }
  }
}

TEST(Video, Compares) {
  const auto inputs = Combine(3, Words());
  struct Comparison {
    const char* name;
    bool (*holds)(int64_t a, int64_t b);
  };
  const Comparison comparisons[] = {{"eq", [](int64_t a, int64_t b) { return a == b; }},
                                    {"ne", [](int64_t a, int64_t b) { return a != b; }},
                                    {"lt", [](int64_t a, int64_t b) { return a < b; }},
                                    {"le", [](int64_t a, int64_t b) { return a <= b; }},
                                    {"gt", [](int64_t a, int64_t b) { return a > b; }},
                                    {"ge", [](int64_t a, int64_t b) { return a >= b; }}};
  for (const Comparison& comparison : comparisons) {
    for (int form = 0; form < 16; ++form) {
      const size_t count = form % 2 == 0 ? 2 : 4;
      const bool a = (form >> 1 & 1) != 0;
      const bool b = (form >> 2 & 1) != 0;
      const bool adds = form >> 3 != 0;
      CheckRow(count == 2 ? Op::kVset2 : Op::kVset4,
               "vset" + std::to_string(count) + TypeOf(a) + TypeOf(b) + "." + comparison.name +
                   (adds ? ".add" : "") + " d, s0, s1, s2;",
               32, {32, 32, 32}, inputs, [&](const Tuple& s) {
                 const Parts x = PartsOf(s[0], count, a);
                 const Parts y = PartsOf(s[1], count, b);
                 Parts out;
                 uint64_t sum = s[2];
                 for (size_t i = 0; i < count; ++i) {
                   out.push_back(comparison.holds(x[i], y[i]) ? 1 : 0);
                   sum += static_cast<uint64_t>(out[i]);
                 }
                 return adds ? sum : WordOf(out);
               });
    }
  }
}

// Parts come from both sources, by number, the high one first; a mask leaves the third source's.
TEST(Video, PicksParts) {
  const std::vector<Tuple> inputs = {{0x00020001, 0x00400030, 0x77776666}};
  const auto expect = [&](const std::string& text, Op op, uint64_t value) {
    CheckRow(op, text, 32, {32, 32, 32}, inputs, [=](const Tuple&) { return value; });
  };
  expect("vadd2.u32.u32.u32 d, s0.h01, s1, s2;", Op::kVadd2, 0x00410032);
  expect("vadd2.u32.u32.u32 d, s0.h32, s1.h22, s2;", Op::kVadd2, 0x00700060);
  expect("vadd2.u32.u32.u32 d.h1, s0, s1, s2;", Op::kVadd2, 0x00426666);
  expect("vadd2.u32.u32.u32.add d.h0, s0, s1, s2;", Op::kVadd2, 0x77776666 + 0x31);
  expect("vsub4.u32.u32.u32 d.b20, s1.b6240, s0.b6464, s2;", Op::kVsub4,
         // part 2: b2 of s1 less b0 of s0; part 0: b0 of s1 less b0 of s0
         0x77000000 | uint64_t{0x40 - 1} << 16 | 0x6600 | (0x30 - 1));
  expect("vmax4.s32.s32.s32 d.b3210, s0, s1.b7654, s2;", Op::kVmax4, 0x00400030);
}

TEST(Video, RefusesWhatIsNoSelection) {
  for (const char* text :
       {"vadd2.u32.u32.u32 a.h01, a, a, a;", "vadd2.u32.u32.u32 a.h2, a, a, a;",
        "vadd2.u32.u32.u32 a, a.h0, a, a;", "vadd2.u32.u32.u32 a, a.h40, a, a;",
        "vadd4.u32.u32.u32 a, a.h10, a, a;", "vadd4.u32.u32.u32 a, a.b3218, a, a;",
        "vadd4.u32.u32.u32 a, a, 5, a;", "vadd4.u32.u32.u32.sat.add a, a, a, a;",
        "vadd4.u32.u32.u32 a, a, a, a.b0;"}) {
    EXPECT_NE(ErrorsOf(std::string(kHeader) + ".entry k() { .reg .b32 a; " + text + " }"), "")
        << text;
  }
}

}  // namespace
}  // namespace tarsia::ptx::video_test
