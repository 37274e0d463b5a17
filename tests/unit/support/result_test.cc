// Status, Result and the macros that leave a function early.
#include "support/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace tarsia::result_test {
namespace {

constexpr DiagInfo kOdd{"odd-number", "{} is odd", ""};

Status CheckEven(int n) {
  if (n % 2 != 0) return MakeDiagnostic(kOdd, Location{1, 2, 3}, n);
  return OkStatus();
}

Result<int> Half(int n) {
  TARSIA_CHECK(CheckEven(n));
  return n / 2;
}

Result<std::string> Quarter(int n, int* steps) {
  TARSIA_TRY(const int half, Half(n));
  ++*steps;
  TARSIA_TRY(const int quarter, Half(half));
  ++*steps;
  return std::to_string(quarter);
}

Status CheckQuarter(int n) {
  int steps = 0;
  TARSIA_TRY(const std::string ignored, Quarter(n, &steps));
  return ignored.empty() ? CheckEven(1) : OkStatus();
}

TEST(Status, IsOkUntilItHoldsAnError) {
  EXPECT_TRUE(OkStatus().ok());
  EXPECT_TRUE(static_cast<bool>(CheckEven(2)));
  Status odd = CheckEven(3);
  EXPECT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().info, &kOdd);
  EXPECT_EQ(odd.error().message, "3 is odd");
  EXPECT_EQ(odd.error().location, (Location{1, 2, 3}));
  EXPECT_EQ(odd.TakeError().message, "3 is odd");
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> four = Half(8);
  ASSERT_TRUE(four.ok());
  EXPECT_EQ(four.value(), 4);
  EXPECT_EQ(*four, 4);
  Result<int> none = Half(7);
  ASSERT_FALSE(none.ok());
  EXPECT_FALSE(static_cast<bool>(none));
  EXPECT_EQ(none.error().message, "7 is odd");
  EXPECT_EQ(none.TakeError().info, &kOdd);
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, GivesItsValueToBeChanged) {
  Result<std::string> text(std::string("ab"));
  text->push_back('c');
  *text += 'd';
  EXPECT_EQ(text.value(), "abcd");
}

TEST(Macros, LeaveTheFunctionAtTheFirstError) {
  int steps = 0;
  EXPECT_EQ(Quarter(12, &steps).value(), "3");
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(Quarter(6, &steps).error().message, "3 is odd");
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(Quarter(5, &steps).error().message, "5 is odd");
  EXPECT_EQ(steps, 3);
  EXPECT_TRUE(CheckQuarter(4).ok());
  EXPECT_EQ(CheckQuarter(2).error().message, "1 is odd");
}

}  // namespace
}  // namespace tarsia::result_test
