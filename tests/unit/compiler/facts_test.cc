// Facts against every pair of numbers for which they hold.
#include "compiler/facts/facts.h"

#include <gtest/gtest.h>

#include <vector>

namespace tarsia::compiler::facts_test {
namespace {

constexpr int64_t kMost = 24;

bool Holds(const Facts& facts, int64_t x) {
  if (x < facts.lo || x > facts.hi) return false;
  return facts.multiple == 0 ? x == 0 : x % static_cast<int64_t>(facts.multiple) == 0;
}

std::vector<Facts> Some() {
  std::vector<Facts> out = {Facts::Exactly(0), Facts::Exactly(8), Facts::Exactly(-6)};
  for (const int64_t lo : {-24, -7, 0, 3}) {
    for (const uint64_t multiple : {1u, 2u, 4u, 6u}) {
      Facts facts = Facts::Between(lo, kMost);
      facts.multiple = multiple;
      out.push_back(facts);
    }
  }
  return out;
}

template <typename Of, typename Op>
void CheckAll(const Of& of_facts, const Op& of_numbers) {
  for (const Facts& a : Some()) {
    for (const Facts& b : Some()) {
      const Facts out = of_facts(a, b);
      for (int64_t x = -kMost; x <= kMost; ++x) {
        for (int64_t y = -kMost; y <= kMost; ++y) {
          if (!Holds(a, x) || !Holds(b, y)) continue;
          ASSERT_TRUE(Holds(out, of_numbers(x, y)))
              << x << ", " << y << " of [" << a.lo << ", " << a.hi << "] * " << a.multiple
              << " and [" << b.lo << ", " << b.hi << "] * " << b.multiple;
        }
      }
    }
  }
}

TEST(Facts, HoldOfWhatIsComputed) {
  using F = const Facts&;
  CheckAll([](F a, F b) { return a + b; }, [](int64_t x, int64_t y) { return x + y; });
  CheckAll([](F a, F b) { return a - b; }, [](int64_t x, int64_t y) { return x - y; });
  CheckAll([](F a, F b) { return a * b; }, [](int64_t x, int64_t y) { return x * y; });
  CheckAll([](F a, F b) { return Smaller(a, b); },
           [](int64_t x, int64_t y) { return x < y ? x : y; });
  CheckAll([](F a, F b) { return Larger(a, b); },
           [](int64_t x, int64_t y) { return x > y ? x : y; });
  // Division by zero is all ones, and the remainder is the number itself.
  CheckAll([](F a, F b) { return Quotient(a, b); },
           [](int64_t x, int64_t y) { return y == 0 ? -1 : x / y; });
  CheckAll([](F a, F b) { return Remainder(a, b); },
           [](int64_t x, int64_t y) { return y == 0 ? x : x % y; });
}

TEST(Facts, AreSharpWhereItCounts) {
  Facts n = Facts::Between(0, 100);
  n.multiple = 8;
  EXPECT_EQ((n * Facts::Exactly(4)).multiple, 32u);
  EXPECT_EQ((n + Facts::Exactly(16)).multiple, 8u);
  EXPECT_EQ(Quotient(n, Facts::Exactly(4)).multiple, 2u);
  EXPECT_EQ(Quotient(n, Facts::Exactly(4)).hi, 25);
  EXPECT_EQ(Remainder(n, Facts::Exactly(16)).hi, 15);
  EXPECT_EQ(Remainder(n, Facts::Exactly(16)).multiple, 8u);
  EXPECT_EQ(n.PowerOfTwo(64), 8u);
  EXPECT_EQ(n.PowerOfTwo(4), 4u);
}

TEST(Facts, WrapAndCut) {
  const Facts large = Facts::Exactly(INT64_MAX - 7);  // a multiple of 8
  const Facts wrapped = large + Facts::Exactly(16);
  EXPECT_EQ(wrapped.lo, INT64_MIN);
  EXPECT_EQ(wrapped.multiple, 8u);
  const Facts cut = Truncated(Facts::Exactly(260), kU8);
  EXPECT_EQ(cut.lo, 0);
  EXPECT_EQ(cut.hi, 255);
  EXPECT_EQ(cut.multiple, 4u);
  EXPECT_EQ(Truncated(Facts::Exactly(25), kU8), Facts::Exactly(25));
  EXPECT_EQ(Facts::OfType(kI3).lo, -4);
  EXPECT_EQ(Facts::OfType(kU32).hi, 4294967295);
  const Facts both = Both(Facts::Between(0, 50), Facts::Between(10, 90));
  EXPECT_EQ(both.lo, 10);
  EXPECT_EQ(both.hi, 50);
}

}  // namespace
}  // namespace tarsia::compiler::facts_test
