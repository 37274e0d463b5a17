// Every fragment against the formulas of the PTX manual (groupID = lane / 4, t = lane % 4).
#include "layout/text/fragments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "tests/unit/layout/layout_testing.h"

namespace tarsia::fragments_test {
namespace {

using testing::Ints;

struct Fragment {
  Ints shape;
  int slots;
  std::function<Ints(int g, int t, int i)> at;  // (row, column) of register element i
};

Fragment A16(int64_t k, int run) {
  // m16: elements come in runs along k; the row alternates between g and g + 8 run by run.
  const int slots = static_cast<int>(16 * k / 32);
  return {{16, k}, slots, [run](int g, int t, int i) {
            return Ints{g + (i / run % 2 == 1 ? 8 : 0),
                        t * run + i % run + i / (2 * run) * 4 * run};
          }};
}
Fragment A8(int64_t k, int run) {
  return {{8, k}, run, [run](int g, int t, int i) { return Ints{g, t * run + i}; }};
}
Fragment B(int64_t k, int run) {
  const int slots = static_cast<int>(8 * k / 32);
  return {{k, 8}, slots, [run](int g, int t, int i) {
            return Ints{t * run + i % run + i / run * 4 * run, g};
          }};
}
Fragment C16() {
  return {{16, 8}, 4, [](int g, int t, int i) { return Ints{i < 2 ? g : g + 8, t * 2 + (i & 1)}; }};
}
Fragment C8() {
  return {{8, 8}, 2, [](int g, int t, int i) { return Ints{g, t * 2 + (i & 1)}; }};
}

std::map<std::string, Fragment> Expected() {
  std::map<std::string, Fragment> out;
  const auto add = [&out](const std::string& name, Fragment a, Fragment b, Fragment c) {
    out["mma." + name + ".a"] = std::move(a);
    out["mma." + name + ".b"] = std::move(b);
    out["mma." + name + ".c"] = std::move(c);
  };
  for (const char* const type : {"f16", "bf16"}) {
    add(std::string("m16n8k8.") + type, A16(8, 2), B(8, 2), C16());
    add(std::string("m16n8k16.") + type, A16(16, 2), B(16, 2), C16());
  }
  add("m16n8k4.tf32", A16(4, 1), B(4, 1), C16());
  add("m16n8k8.tf32", A16(8, 1), B(8, 1), C16());
  add("m8n8k4.f64", A8(4, 1), B(4, 1), C8());
  add("m16n8k4.f64", A16(4, 1), B(4, 1), C16());
  add("m16n8k8.f64", A16(8, 1), B(8, 1), C16());
  add("m16n8k16.f64", A16(16, 1), B(16, 1), C16());
  for (const char* const type : {"u8", "i8"}) {
    add(std::string("m8n8k16.") + type, A8(16, 4), B(16, 4), C8());
    add(std::string("m16n8k16.") + type, A16(16, 4), B(16, 4), C16());
  }
  for (const char* const type : {"u8", "i8", "f8"}) {
    add(std::string("m16n8k32.") + type, A16(32, 4), B(32, 4), C16());
  }
  add("m16n8k16.f8", A16(16, 4), B(16, 4), C16());
  add("m8n8k128.u1", A8(128, 32), B(128, 32), C8());
  add("m16n8k128.u1", A16(128, 32), B(128, 32), C16());
  add("m16n8k256.u1", A16(256, 32), B(256, 32), C16());
  for (const char* const type : {"u4", "i4"}) {
    add(std::string("m8n8k32.") + type, A8(32, 8), B(32, 8), C8());
    add(std::string("m16n8k32.") + type, A16(32, 8), B(32, 8), C16());
    add(std::string("m16n8k64.") + type, A16(64, 8), B(64, 8), C16());
  }
  return out;
}

// m8n8k4 of f16: the quad pairs of lanes 4q to 4q + 3 and 16 + 4q to 19 + 4q make product q. The
// formulas are those of the manual's section on that shape, in lanes and not in groups.
Fragment QuadPairs(int64_t rows, int64_t columns, int slots,
                   std::function<Ints(int lane, int i)> at) {
  return {{4, rows, columns}, slots, [at = std::move(at)](int g, int t, int i) {
            const int lane = g * 4 + t;
            const Ints place = at(lane, i);
            return Ints{lane / 4 % 4, place[0], place[1]};
          }};
}

void AddQuadPairs(std::map<std::string, Fragment>& out) {
  const std::string name = "mma.m8n8k4.f16.";
  out[name + "a"] = QuadPairs(8, 4, 4, [](int lane, int i) {
    return lane < 16 ? Ints{lane % 4, i} : Ints{lane % 4 + 4, i};
  });
  out[name + "a_col"] = QuadPairs(8, 4, 4, [](int lane, int i) {
    return lane < 16 ? Ints{i % 4, lane % 4} : Ints{i % 4 + 4, lane % 4};
  });
  out[name + "b"] = QuadPairs(4, 8, 4, [](int lane, int i) {
    return lane < 16 ? Ints{i, lane % 4} : Ints{i, lane % 4 + 4};
  });
  out[name + "b_row"] = QuadPairs(4, 8, 4, [](int lane, int i) {
    return lane < 16 ? Ints{lane % 4, i} : Ints{lane % 4, i + 4};
  });
  out[name + "c_f16"] = QuadPairs(8, 8, 8, [](int lane, int i) {
    return lane < 16 ? Ints{lane % 4, i} : Ints{lane % 4 + 4, i};
  });
  out[name + "c"] = QuadPairs(8, 8, 8, [](int lane, int i) {
    const int x = (lane & 1) + (i & 2);
    return Ints{lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + (i & 1)};
  });
}

// One matrix of 8x8 a register; transposed, a thread holds what lies below each other.
void AddMatrices(std::map<std::string, Fragment>& out) {
  for (const char* const name : {"ldmatrix", "stmatrix"}) {
    for (const int count : {1, 2, 4}) {
      const std::string full = std::string(name) + ".x" + std::to_string(count);
      out[full] = {{8 * count, 8}, 2 * count, [](int g, int t, int i) {
                     return Ints{i / 2 * 8 + g, 2 * t + i % 2};
                   }};
      out[full + ".trans"] = {{8 * count, 8}, 2 * count, [](int g, int t, int i) {
                                return Ints{i / 2 * 8 + 2 * t + i % 2, g};
                              }};
    }
  }
}

// wgmma: `g` is %tid / 4 of the warpgroup, so g / 8 the warp and g % 8 the group within it.
void AddWarpgroups(std::map<std::string, Fragment>& out) {
  const auto a16 = [](int g, int t, int i) {
    return Ints{16 * (g / 8) + g % 8 + (i / 2 % 2) * 8, t * 2 + i % 2 + i / 4 * 8};
  };
  const auto a32 = [](int g, int t, int i) {
    return Ints{16 * (g / 8) + g % 8 + i % 2 * 8, t + i / 2 * 4};
  };
  const auto a8 = [](int g, int t, int i) {
    return Ints{16 * (g / 8) + g % 8 + (i / 4 % 2) * 8, t * 4 + i % 4 + i / 8 * 16};
  };
  const auto c = [](int g, int t, int i) {
    return Ints{16 * (g / 8) + g % 8 + (i / 2 % 2) * 8, i / 4 * 8 + t * 2 + i % 2};
  };
  const auto add = [&](int n, int k, const std::string& type, int slots, auto a) {
    const std::string name =
        "wgmma.m64n" + std::to_string(n) + "k" + std::to_string(k) + "." + type;
    out[name + ".a"] = {{64, k}, slots, a};
    out[name + ".c"] = {{64, n}, n / 2, c};
  };
  for (int n = 8; n <= 256; n += 8) {
    add(n, 16, "f16", 8, a16);
    add(n, 16, "bf16", 8, a16);
    add(n, 8, "tf32", 4, a32);
    add(n, 32, "f8", 16, a8);
  }
  for (const int n :
       {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256}) {
    add(n, 32, "u8", 16, a8);
    add(n, 32, "i8", 16, a8);
  }
}

TEST(FragmentsTest, FormulasOfTheManual) {
  std::map<std::string, Fragment> expected = Expected();
  AddQuadPairs(expected);
  AddMatrices(expected);
  AddWarpgroups(expected);
  EXPECT_EQ(FragmentNames().size(), expected.size());
  for (const std::string_view name : FragmentNames()) {
    SCOPED_TRACE(name);
    const auto found = expected.find(std::string(name));
    ASSERT_NE(found, expected.end());
    const RegLayout* const layout = FindFragment(name);
    ASSERT_NE(layout, nullptr);
    const Fragment& fragment = found->second;
    const int threads = name.starts_with("wgmma") ? 128 : 32;
    ASSERT_EQ(layout->shape(), fragment.shape);
    ASSERT_EQ(layout->threads(), threads);
    ASSERT_EQ(layout->slots(), fragment.slots);
    ASSERT_EQ(layout->replication(), 1);
    for (int thread = 0; thread < threads; ++thread) {
      for (int i = 0; i < fragment.slots; ++i) {
        Ints index(fragment.shape.size());
        layout->Element(thread, i, index);
        ASSERT_EQ(index, fragment.at(thread / 4, thread % 4, i)) << thread << ":" << i;
      }
    }
  }
}

// The operand of the most used instruction, spelled out from its figure.
TEST(FragmentsTest, M16N8K16ByHand) {
  const RegLayout& a = *FindFragment("mma.m16n8k16.f16.a");
  EXPECT_EQ(a.LocateFirst(Ints{0, 0}), (Holder{0, 0}));
  EXPECT_EQ(a.LocateFirst(Ints{0, 1}), (Holder{0, 1}));
  EXPECT_EQ(a.LocateFirst(Ints{8, 0}), (Holder{0, 2}));
  EXPECT_EQ(a.LocateFirst(Ints{0, 8}), (Holder{0, 4}));
  EXPECT_EQ(a.LocateFirst(Ints{15, 15}), (Holder{31, 7}));
  EXPECT_EQ(a.LocateFirst(Ints{3, 6}), (Holder{15, 0}));
}

TEST(FragmentsTest, UnknownNames) {
  EXPECT_EQ(FindFragment("mma.m16n8k16.f16.d"), nullptr);
  const auto error = EvaluateText("mma.m16n8k16.f16.d").error();
  EXPECT_EQ(error.message, "unknown fragment `mma.m16n8k16.f16.d`");
  EXPECT_EQ(error.help, "did you mean `mma.m16n8k16.f16.a`?");
}

}  // namespace
}  // namespace tarsia::fragments_test
