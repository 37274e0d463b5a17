// Memory layouts: strides and swizzles by formula, slices, queries, errors. Packed layouts are in
// packed_layout_test.cc.
#include "layout/mem_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "layout/diagnostics.h"
#include "tests/unit/layout/layout_testing.h"

namespace tarsia::mem_layout_test {
namespace {

using testing::Eval;
using testing::Ints;
using testing::Memory;
using testing::Reg;

const DiagInfo* ErrorOf(const Result<MemLayout>& result) {
  return result.ok() ? nullptr : result.error().info;
}

TEST(MemLayoutTest, DenseOrders) {
  const MemLayout row = Memory("row_major(3, 5, 7)"), column = Memory("column_major(3, 5, 7)");
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      for (int64_t k = 0; k < 7; ++k) {
        EXPECT_EQ(row.ElementOffset(Ints{i, j, k}), (i * 5 + j) * 7 + k);
        EXPECT_EQ(column.ElementOffset(Ints{i, j, k}), i + 3 * (j + 5 * k));
        EXPECT_EQ(row.BitAddress(Ints{i, j, k}, 3, 2),
                  static_cast<uint64_t>(((i * 5 + j) * 7 + k) * 3 + 2));
      }
    }
  }
  EXPECT_EQ(row.SizeBits(3), 315u);
  EXPECT_EQ(row.SizeBytes(3), 40u);
  EXPECT_TRUE(row.IsRowMajor() && row.RowsAreContiguous() && row.IsInjective());
  EXPECT_FALSE(column.IsRowMajor() || column.RowsAreContiguous());
  EXPECT_TRUE(column.IsInjective());
}

TEST(MemLayoutTest, ModesCutADimension) {
  // Columns in blocks of 4: block-major, then rows, then within the block.
  const MemLayout layout = Memory("strided(shape=[6, 8], modes=[6, 2, 4], strides=[4, 24, 1])");
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 8; ++j) {
      EXPECT_EQ(layout.ElementOffset(Ints{i, j}), j / 4 * 24 + i * 4 + j % 4);
    }
  }
  EXPECT_FALSE(layout.AsAffine().has_value());
  EXPECT_FALSE(layout.RowsAreContiguous());
  EXPECT_TRUE(layout.IsInjective());
  EXPECT_EQ(layout.SizeBits(8), 48u * 8);
}

TEST(MemLayoutTest, SameFunctionSameLayout) {
  EXPECT_EQ(Memory("strided(shape=[4, 8], strides=[8, 1])"), Memory("row_major(4, 8)"));
  EXPECT_EQ(Memory("strided(shape=[4, 8], modes=[2, 2, 4, 2], strides=[16, 8, 2, 1])"),
            Memory("row_major(4, 8)"));
  EXPECT_NE(Memory("strided(shape=[4, 8], strides=[9, 1])"), Memory("row_major(4, 8)"));
}

TEST(MemLayoutTest, EmptyTensors) {
  const MemLayout layout = Memory("row_major(0, 64)");
  EXPECT_EQ(layout.elements(), 0);
  EXPECT_EQ(layout.SizeBytes(16), 0u);
  EXPECT_TRUE(layout.IsRowMajor() && layout.IsInjective());
  EXPECT_TRUE(Memory("row_major(64, 0)").IsRowMajor());
  EXPECT_EQ(MemLayout().SizeBits(5), 5u);  // rank 0: one element
}

TEST(MemLayoutTest, SwizzleByHand) {
  // 128-byte swizzle on rows of 64 f16: 16-byte chunk c of row r moves to c ^ (r % 8).
  const MemLayout layout = Memory("swizzle(row_major(16, 64), 4, 3, 3)");
  for (int64_t r = 0; r < 16; ++r) {
    for (int64_t c = 0; c < 64; ++c) {
      const int64_t chunk = c / 8 ^ r % 8;
      const int64_t expected = r * 128 + chunk * 16 + c % 8 * 2;
      EXPECT_EQ(layout.BitAddress(Ints{r, c}, 16, 5), static_cast<uint64_t>(expected * 8 + 5));
    }
  }
  EXPECT_EQ(layout.Alignment(), 1024);
  EXPECT_FALSE(layout.RowsAreContiguous());
}

TEST(MemLayoutTest, ASwizzleMovesBytesWhateverTheType) {
  // Bytes 0..2047 once as u8 and once as nibbles.
  const MemLayout bytes = Memory("swizzle(row_major(2048), 4, 3, 3)");
  const MemLayout nibbles = Memory("swizzle(row_major(4096), 4, 3, 3)");
  for (int64_t i = 0; i < 2048; ++i) {
    EXPECT_EQ(bytes.BitAddress(Ints{i}, 8, 4), nibbles.BitAddress(Ints{2 * i + 1}, 4, 0));
  }
}

TEST(MemLayoutTest, ChainedSwizzlesAreOneToOneWithinTheSize) {
  // 3-bit elements straddle bytes and chunks; the size is padded to the larger block.
  const MemLayout layout = Memory("swizzle(swizzle(row_major(700), 4, 2, 3), 5, 2, 4)");
  std::set<uint64_t> taken;
  for (int64_t i = 0; i < 700; ++i) {
    for (int bit = 0; bit < 3; ++bit) {
      const uint64_t at = layout.BitAddress(Ints{i}, 3, bit);
      EXPECT_LT(at, layout.SizeBits(3));
      EXPECT_TRUE(taken.insert(at).second);
    }
  }
  EXPECT_EQ(layout.SizeBytes(3), 384u);  // 263 bytes, blocks of 64 and then of 128
  EXPECT_EQ(layout.Alignment(), 2048);
}

TEST(MemLayoutTest, SlicesKeepTheForm) {
  for (const char* const text :
       {"row_major(8, 12)", "column_major(8, 12)", "swizzle(row_major(8, 12), 4, 1, 1)",
        "strided(shape=[8, 12], modes=[8, 3, 4], strides=[4, 32, 1])"}) {
    const MemLayout whole = Memory(text);
    const auto part = whole.Slice(Ints{3, 2}, Ints{4, 7});
    ASSERT_TRUE(part.ok());
    const auto again = part->Slice(Ints{1, 3}, Ints{2, 2});
    ASSERT_TRUE(again.ok());
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 7; ++j) {
        EXPECT_EQ(part->BitAddress(Ints{i, j}, 16, 0), whole.BitAddress(Ints{i + 3, j + 2}, 16, 0));
      }
    }
    EXPECT_EQ(again->BitAddress(Ints{1, 1}, 16, 0), whole.BitAddress(Ints{5, 6}, 16, 0));
    EXPECT_EQ(part->SizeBits(16), whole.SizeBits(16));
  }
  const auto affine = Memory("row_major(8, 12)").Slice(Ints{3, 2}, Ints{4, 7})->AsAffine();
  ASSERT_TRUE(affine.has_value());
  EXPECT_EQ(affine->offset, 38);
  EXPECT_EQ(affine->strides, (Ints{12, 1}));
  EXPECT_FALSE(Memory("row_major(8, 12)").Slice(Ints{0, 0}, Ints{8, 11})->IsRowMajor());
}

TEST(MemLayoutTest, Injective) {
  EXPECT_FALSE(Memory("strided(shape=[4, 4], strides=[0, 1])").IsInjective());
  EXPECT_FALSE(Memory("strided(shape=[4, 4], strides=[3, 1])").IsInjective());
  EXPECT_TRUE(Memory("strided(shape=[4, 3], strides=[3, 1])").IsInjective());
}

TEST(MemLayoutTest, PackedSlices) {
  const MemLayout whole = *Apply(Eval<MemLayoutFamily>("packed(spatial(4, 8) * local(4, 8), "
                                                       "lanes(f16))"),
                                 Ints{40, 100}, kU3);
  const auto part = whole.Slice(Ints{7, 30}, Ints{20, 50});
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->BitAddress(Ints{3, 11}, 3, 1), whole.BitAddress(Ints{10, 41}, 3, 1));
  EXPECT_EQ(part->InTile(Ints{0, 34}).tile, 1);  // columns of 64: 30 + 34
  EXPECT_EQ(whole.tiles(), (Ints{3, 2}));
}

TEST(MemLayoutTest, FamiliesApplyToAShape) {
  EXPECT_EQ(*Apply(Eval<MemLayoutFamily>("row_major"), Ints{3, 4}, kF16),
            Memory("row_major(3, 4)"));
  EXPECT_EQ(*Apply(Eval<MemLayoutFamily>("column_major"), Ints{3, 4}, kF16),
            Memory("column_major(3, 4)"));
  EXPECT_EQ(*Apply(Eval<MemLayoutFamily>("swizzle(row_major, 4, 3, 3)"), Ints{8, 64}, kF16),
            Memory("swizzle(row_major(8, 64), 4, 3, 3)"));
  EXPECT_EQ(ErrorOf(Apply(Eval<MemLayoutFamily>("row_major(3, 4)"), Ints{4, 3}, kF16)),
            &diag::kLayoutShape);
  const auto packed = Eval<MemLayoutFamily>("packed(spatial(32) * local(32), lanes(f16))");
  EXPECT_EQ(ErrorOf(Apply(packed, Ints{4, 3}, kU4)), &diag::kPackedRank);
  EXPECT_EQ(ErrorOf(Apply(packed, Ints{4}, kF8E7M0)), &diag::kLanesRange);
  EXPECT_TRUE(Apply(packed, Ints{4}, kU4).ok());
}

TEST(MemLayoutTest, TextRoundTrip) {
  for (const char* const text :
       {"row_major(3, 4)", "column_major(3, 4)", "row_major", "column_major",
        "strided(shape=[3, 4], strides=[5, 1])", "swizzle(row_major(8, 64), 4, 3, 3)",
        "strided(shape=[6, 8], modes=[6, 2, 4], strides=[4, 24, 1])",
        "swizzle(swizzle(row_major, 4, 2, 3), 5, 2, 4)", "row_major(0, 4)",
        "packed(layout(shape=[128], modes=[128], spatial=[], local=[0]) , contiguous)"}) {
    if (std::string_view(text).starts_with("packed")) continue;
    EXPECT_EQ(ToString(Eval<MemLayoutFamily>(text)), text);
  }
  const auto packed = Eval<MemLayoutFamily>("packed(spatial(4, 8) * local(2, 4), contiguous)");
  EXPECT_EQ(Eval<MemLayoutFamily>(ToString(packed)), packed);
}

TEST(MemLayoutTest, Refusals) {
  const int64_t huge = INT64_MAX;
  EXPECT_EQ(ErrorOf(MemLayout::RowMajor(Ints{huge, 2})), &diag::kLayoutTooLarge);
  EXPECT_EQ(ErrorOf(MemLayout::RowMajor(Ints{0, huge, huge})), &diag::kLayoutTooLarge);
  EXPECT_EQ(ErrorOf(MemLayout::RowMajor(Ints{-1})), &diag::kLayoutExtent);
  EXPECT_EQ(ErrorOf(MemLayout::RowMajor(Ints(9, 1))), &diag::kLayoutRank);
  EXPECT_EQ(ErrorOf(MemLayout::Strided(Ints{2}, Ints{1, 1})), &diag::kLayoutStrides);
  EXPECT_EQ(ErrorOf(MemLayout::Strided(Ints{2}, Ints{-1})), &diag::kLayoutStride);
  EXPECT_EQ(ErrorOf(MemLayout::Strided(Ints{3, 3}, Ints{huge, huge})), &diag::kLayoutTooLarge);
  EXPECT_EQ(ErrorOf(MemLayout::Strided(Ints{4}, Ints{3}, Ints{1})), &diag::kLayoutModes);
  EXPECT_EQ(ErrorOf(MemLayout::Strided(Ints{4}, Ints{4, 2}, Ints{1, 1})), &diag::kLayoutModesLeft);
  EXPECT_EQ(ErrorOf(MemLayout::Strided(Ints{4}, Ints{2, 2}, Ints{1})), &diag::kLayoutStrides);
  EXPECT_FALSE(MakeSwizzle(3, 3, 3).ok());
  EXPECT_FALSE(MakeSwizzle(4, 0, 3).ok());
  EXPECT_FALSE(MakeSwizzle(4, 3, 0).ok());
  EXPECT_FALSE(MakeSwizzle(4, 20, 20).ok());
  EXPECT_FALSE(MakeSwizzle(huge, huge, huge).ok());
  const MemLayout whole = Memory("row_major(4, 4)");
  EXPECT_EQ(ErrorOf(whole.Slice(Ints{0}, Ints{4})), &diag::kLayoutSliceRank);
  EXPECT_EQ(ErrorOf(whole.Slice(Ints{0, 1}, Ints{4, 4})), &diag::kLayoutSlice);
  EXPECT_EQ(ErrorOf(whole.Slice(Ints{0, huge}, Ints{4, huge})), &diag::kLayoutSlice);
  const BitLayout bits = *BitLayout::Contiguous(kU4, 32);
  EXPECT_EQ(ErrorOf(MemLayout::Packed(Reg("local(32)"), bits, Ints{4})), &diag::kPackedThreads);
  EXPECT_EQ(ErrorOf(MemLayout::Packed(Reg("spatial(32) * local(16)"), bits, Ints{4})),
            &diag::kPackedCount);
  EXPECT_EQ(
      ErrorOf(MemLayout::Packed(Reg("spatial(16) * local(32) * replicate(2)"), bits, Ints{4})),
      &diag::kPackedReplication);
  EXPECT_EQ(ErrorOf(MemLayout::Packed(Reg("spatial(65536) * local(32)"), bits, Ints{4})),
            &diag::kPackedTooLarge);
  const MemLayout packed = *MemLayout::Packed(Reg("spatial(32) * local(32)"), bits, Ints{4});
  EXPECT_EQ(ErrorOf(packed.WithSwizzle({})), &diag::kLayoutSwizzlePacked);
  EXPECT_EQ(ErrorOf(MemLayout::Packed(Reg("spatial(32) * local(32)"), bits,
                                      Ints{kMaxMemoryElements + 1})),
            &diag::kLayoutTooLarge);
}

}  // namespace
}  // namespace tarsia::mem_layout_test
