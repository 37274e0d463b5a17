// The table of packed orders of docs/dtypes.md.
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>

#include "layout/mem_layout.h"
#include "layout/text/eval.h"
#include "tests/data/test_data.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::packed_order_test {
namespace {

using testing::Ints;

// "| 3 | `packed(..)` |" of docs/dtypes.md: one row a width, each a layout of 32 threads whose
// codes fill words, and above 3 bits, and at 3, pieces of 16 bytes.
TEST(PackedOrders, FillWordsForEveryWidth) {
  constexpr DType kTypes[] = {kU1, kU2, kU3, kU4, kU5, kU6, kU7, kU8};
  std::istringstream file(ReadTestFile(TestData("docs/dtypes.md")));
  size_t width = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find("`packed(permute(");
    if (!line.starts_with("| ") || begin == std::string::npos) continue;
    ASSERT_LT(width, std::size(kTypes));
    const DType type = kTypes[width++];
    EXPECT_EQ(line.substr(2, begin - 5), std::to_string(width));
    const std::string text = line.substr(begin + 1, line.rfind('`') - begin - 1);
    const auto layout = Apply(testing::Eval<MemLayoutFamily>(text), Ints{300, 40}, type);
    ASSERT_TRUE(layout.ok()) << text;
    const PackedTile& packed = layout->packed();
    EXPECT_EQ(packed.tile.threads(), 32);
    EXPECT_EQ(packed.bits.order(), BitOrder::kLanes);
    const int64_t thread_bits = packed.tile.slots() * type.bits;
    EXPECT_EQ(thread_bits % (width >= 3 ? 128 : 32), 0) << text;
  }
  EXPECT_EQ(width, std::size(kTypes));
}

}  // namespace
}  // namespace tarsia::packed_order_test
