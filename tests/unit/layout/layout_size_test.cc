// LayoutSize against the layout itself: every form, shapes at and beyond the limits.
#include "layout/layout_size.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/unit/layout/layout_testing.h"

namespace tarsia::layout_size_test {
namespace {

constexpr const char* kFamilies[] = {
    "row_major",
    "column_major",
    "swizzle(row_major, 4, 3, 3)",
    "swizzle(swizzle(column_major, 4, 1, 3), 5, 2, 2)",
    "packed(spatial(4, 8), contiguous)",
    "packed(local(2, 1) * spatial(8, 4) * local(1, 2), contiguous)",
    "strided(shape=[3, 5], strides=[5, 1])",
    "strided(shape=[4, 4], strides=[16, 2])",
};

// The bytes, or the id of the error.
std::string Text(const Result<uint64_t>& bytes) {
  return bytes.ok() ? std::to_string(*bytes) : std::string(bytes.error().info->id);
}

std::string Expected(const MemLayoutFamily& family, const std::vector<int64_t>& shape, DType type) {
  const Result<MemLayout> layout = Apply(family, shape, type);
  return Text(layout.ok() ? Result<uint64_t>(layout->SizeBytes(type.bits)) : layout.error());
}

TEST(LayoutSize, IsThatOfTheLayout) {
  const std::vector<int64_t> extents = {-1,
                                        0,
                                        1,
                                        2,
                                        3,
                                        4,
                                        5,
                                        7,
                                        8,
                                        9,
                                        16,
                                        33,
                                        4096,
                                        int64_t{1} << 24,
                                        int64_t{1} << 40,
                                        int64_t{1} << 48,
                                        (int64_t{1} << 48) + 1,
                                        INT64_MAX};
  std::mt19937 random(7);
  int good = 0;
  for (const char* text : kFamilies) {
    const auto family = testing::Eval<MemLayoutFamily>(text);
    for (const DType type : {kU8, *FindDType("u3"), kF16, *FindDType("f6e3m2"), kF64}) {
      const LayoutSize size(family, type);
      for (int i = 0; i < 400; ++i) {
        std::vector<int64_t> shape(i % 20 == 0 ? random() % 10 : 2);
        for (int64_t& extent : shape) extent = extents[random() % extents.size()];
        if (i % 20 == 1) shape = {3, 5};
        if (i % 20 == 2) shape = {4, 4};
        const Result<uint64_t> bytes = size.Bytes(shape);
        EXPECT_EQ(Text(bytes), Expected(family, shape, type)) << text << " " << ToString(shape);
        good += bytes.ok() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(good, 2000);
}

}  // namespace
}  // namespace tarsia::layout_size_test
