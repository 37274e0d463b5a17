#include "support/inline_vector.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tarsia {
namespace {

using Four = InlineVector<int, 4>;

std::vector<int> Counted(int size) {
  std::vector<int> out;
  for (int i = 0; i < size; ++i) out.push_back(i);
  return out;
}

// In the object, just full, and on the heap.
class InlineVectorOf : public testing::TestWithParam<int> {};

TEST_P(InlineVectorOf, HoldsWhatAVectorHolds) {
  const std::vector<int> wanted = Counted(GetParam());
  Four one;
  for (const int value : wanted) one.push_back(value);
  EXPECT_EQ(one.Vector(), wanted);
  EXPECT_EQ(one, Four(wanted));
  EXPECT_EQ(one, Four(wanted.begin(), wanted.end()));
  Four copy = one;
  EXPECT_EQ(copy, one);
  copy.push_back(7);
  EXPECT_EQ(copy.back(), 7);
  EXPECT_EQ(copy.size(), one.size() + 1);
  EXPECT_EQ(one.Vector(), wanted);  // nothing is shared
  copy.pop_back();
  EXPECT_EQ(copy, one);
}

TEST_P(InlineVectorOf, MovesAndIsAssigned) {
  const std::vector<int> wanted = Counted(GetParam());
  for (const int before : {0, 3, 9}) {
    Four from(wanted);
    Four to(Counted(before));
    to = from;
    EXPECT_EQ(to.Vector(), wanted);
    Four moved(Counted(before));
    moved = std::move(from);
    EXPECT_EQ(moved.Vector(), wanted);
    from = {1, 2};  // it can be used again
    EXPECT_EQ(from.Vector(), (std::vector<int>{1, 2}));
  }
}

TEST_P(InlineVectorOf, ChangesItsSize) {
  for (const size_t size : {0U, 2U, 4U, 11U}) {
    std::vector<int> wanted = Counted(GetParam());
    Four one(wanted);
    one.resize(size);
    wanted.resize(size);
    EXPECT_EQ(one.Vector(), wanted);
  }
}

TEST_P(InlineVectorOf, TakesOneOfItsOwnElements) {
  Four one(Counted(GetParam() + 1));
  one.push_back(one.front());
  EXPECT_EQ(one.back(), 0);
}

TEST_P(InlineVectorOf, InsertsAndErasesAnywhere) {
  for (int at = 0; at <= GetParam(); ++at) {
    std::vector<int> wanted = Counted(GetParam());
    Four one(wanted);
    wanted.insert(wanted.begin() + at, 77);
    EXPECT_EQ(*one.insert(one.begin() + at, 77), 77);
    EXPECT_EQ(one.Vector(), wanted);
    wanted.erase(wanted.begin() + at);
    EXPECT_EQ(one.erase(one.begin() + at), one.begin() + at);
    EXPECT_EQ(one.Vector(), wanted);
  }
}

TEST_P(InlineVectorOf, IsOrderedAsWords) {
  const std::vector<int> wanted = Counted(GetParam());
  for (const std::vector<int>& other : {std::vector<int>(), {0}, {0, 1, 2, 3}, {0, 2}, {1}}) {
    EXPECT_EQ(Four(wanted) <=> Four(other), wanted <=> other);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, InlineVectorOf, testing::Values(0, 1, 3, 4, 5, 8, 9));

}  // namespace
}  // namespace tarsia
