// Every fragment against the formulas of the PTX manual (groupID = lane / 4, t = lane % 4).
#include "layout/fragments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "tests/unit/layout/layout_testing.h"

namespace tarsia {
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
  for (const char* const type : {"u4", "i4"}) {
    add(std::string("m8n8k32.") + type, A8(32, 8), B(32, 8), C8());
    add(std::string("m16n8k32.") + type, A16(32, 8), B(32, 8), C16());
    add(std::string("m16n8k64.") + type, A16(64, 8), B(64, 8), C16());
  }
  return out;
}

TEST(FragmentsTest, FormulasOfTheManual) {
  const std::map<std::string, Fragment> expected = Expected();
  EXPECT_EQ(FragmentNames().size(), expected.size());
  for (const std::string_view name : FragmentNames()) {
    SCOPED_TRACE(name);
    const auto found = expected.find(std::string(name));
    ASSERT_NE(found, expected.end());
    const RegLayout* const layout = FindFragment(name);
    ASSERT_NE(layout, nullptr);
    const Fragment& fragment = found->second;
    ASSERT_EQ(layout->shape(), fragment.shape);
    ASSERT_EQ(layout->threads(), 32);
    ASSERT_EQ(layout->slots(), fragment.slots);
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < fragment.slots; ++i) {
        Ints index(2);
        layout->Element(lane, i, index);
        ASSERT_EQ(index, fragment.at(lane / 4, lane % 4, i)) << lane << ":" << i;
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
}  // namespace tarsia
