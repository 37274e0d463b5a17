// Every row of the table has a test of its values, and every word that a row takes (a modifier or a
// type) stands in some instruction that a test runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "ptx/table/table.h"
#include "tests/unit/ptx/row_testing.h"

namespace tarsia::ptx::coverage_test {
namespace {

// Whether an instruction has a word in the slot, the n-th of those that hold types.
bool HasWord(const Used& used, std::string_view word, size_t type_slot) {
  if (const auto type = FindType(word)) return used.types[type_slot] == *type;
  return used.mods[static_cast<size_t>(*FindMod(word))];
}

// "Ld: v8 L2::64B" for what no test runs.
std::string UnusedWords(const Row& row) {
  std::string missing;
  size_t type_slot = 0;
  for (const ModifierSlot& slot : row.slots) {
    for (const std::string_view word : slot.words) {
      const bool used = std::ranges::any_of(UsedInstructions(), [&](const Used& inst) {
        return inst.op == row.op && HasWord(inst, word, type_slot);
      });
      if (!used) missing += " " + std::string(word);
    }
    if (FindType(slot.words[0])) ++type_slot;
  }
  return missing.empty() ? "" : "\n" + std::string(row.name) + ":" + missing;
}

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
    std::string unused;
    for (const Row& row : Rows()) unused += UnusedWords(row);
    EXPECT_EQ(unused, "") << "words that no test runs";
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
    EXPECT_LE(row.slots.size(), 32U) << row.name;
    bool leading = true;
    for (const ModifierSlot& slot : row.slots) {
      EXPECT_TRUE(leading || !slot.leading) << row.name << ": a leading place after another";
      leading = slot.leading;
      // What comes after a place could otherwise never be used where that is left out.
      if (slot.previous >= 0) {
        EXPECT_FALSE(row.slots[static_cast<size_t>(slot.previous)].optional) << row.name;
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
}  // namespace tarsia::ptx::coverage_test
