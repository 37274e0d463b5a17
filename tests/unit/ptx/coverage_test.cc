// Every row of the table has a test.
#include <gtest/gtest.h>

#include "tests/unit/ptx/row_testing.h"
#include "vm/ptx/table.h"

namespace tarsia::ptx {
namespace {

// Looks when all tests have run; a filtered run says nothing.
class RowCoverage : public ::testing::Environment {
 public:
  void TearDown() override {
    if (::testing::GTEST_FLAG(filter) != "*") return;
    std::string missing;
    for (const Row& row : Rows()) {
      if (!CoveredRows().contains(row.op)) missing += " " + std::string(row.name);
    }
    EXPECT_EQ(missing, "") << "rows without a test";
  }
};

[[maybe_unused]] ::testing::Environment* const kCoverage =
    ::testing::AddGlobalTestEnvironment(new RowCoverage);

TEST(Table, RowsAreWellFormed) {
  for (const Row& row : Rows()) {
    for (const ModifierSlot& slot : row.slots) {
      for (const std::string_view word : slot.words) {
        EXPECT_TRUE(FindMod(word) || FindType(word)) << row.name << ": " << word;
      }
    }
    EXPECT_LE(row.shapes.size(), static_cast<size_t>(kMaxGroups)) << row.name;
    for (const OperandShape& shape : row.shapes) {
      const bool typed = shape.role != OperandRole::kDest && shape.role != OperandRole::kSource;
      EXPECT_TRUE(typed || shape.type_index >= 0 || shape.type != Type::kNone) << row.name;
    }
  }
}

}  // namespace
}  // namespace tarsia::ptx
