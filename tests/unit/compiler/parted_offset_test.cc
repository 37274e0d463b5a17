// compiler/select/parted_offset.h against the places of the elements, one by one.
#include "compiler/select/parted_offset.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/tile_layout.h"
#include "layout/text/eval.h"

namespace tarsia::compiler::parted_offset_test {
namespace {

RegLayout Tile(const std::string& text) {
  Result<EvalValue> value = EvaluateText(text);
  EXPECT_TRUE(value.ok()) << text;
  return std::get<RegLayout>(*value);
}

using Modes = std::vector<MemLayout::Mode>;

// Of each slot of each thread.
void CheckPlaces(const StridedBytes& memory, const RegLayout& reg) {
  const TileLayout tile = TileLayout::Exact(reg);
  for (int64_t thread = 0; thread < tile.threads(); ++thread) {
    const Extents first = tile.ThreadOffset(thread);
    for (int64_t slot = 0; slot < tile.slots(); ++slot) {
      const Extents offset = tile.SlotOffset(slot);
      Extents at = first;
      for (size_t d = 0; d < at.size(); ++d) at[d] += offset[d];
      const int64_t of_slot = memory.Of(offset);
      const int64_t within = of_slot % memory.Period();
      const int64_t parted =
          memory.swizzles.empty()
              ? memory.Of(first) + of_slot
              : (memory.Swizzled(memory.Of(first)) ^ memory.Swizzled(within)) + of_slot - within;
      ASSERT_EQ(parted, memory.Swizzled(memory.Of(at))) << thread << ':' << slot;
    }
  }
}

TEST(PartedOffset, HoldsForRowsOfASwizzledTile) {
  const StridedBytes memory{{Modes{{64, 128}}, Modes{{64, 2}}}, {Swizzle{4, 3, 3}}};
  for (const char* const text : {"local(4, 1) * spatial(16, 8) * local(1, 8)",
                                 "local(4, 4) * replicate(4) * mma.m16n8k16.f16.a",
                                 "spatial(4, 1) * local(1, 8) * spatial(16, 2) * local(1, 4)"}) {
    const RegLayout tile = Tile(text);
    EXPECT_TRUE(OffsetsArePartedIn(memory, tile)) << text;
    CheckPlaces(memory, tile);
  }
}

TEST(PartedOffset, HoldsForDimensionsInModes) {
  // Chunks of 16 elements, with a gap after each.
  const StridedBytes memory{{Modes{{32, 160}}, Modes{{4, 40}, {16, 2}}}, {}};
  const RegLayout tile = Tile("local(8, 1) * spatial(4, 8) * local(1, 8)");
  EXPECT_TRUE(OffsetsArePartedIn(memory, tile));
  CheckPlaces(memory, tile);
}

// Three threads of 12 elements in chunks of 16: the second one's elements are in two chunks.
TEST(PartedOffset, DoesNotHoldWhereAChunkEndsWithinAThread) {
  const StridedBytes memory{{Modes{{4, 40}, {16, 2}}}, {}};
  EXPECT_FALSE(OffsetsArePartedIn(memory, Tile("spatial(4) * local(12)")));
}

// Rows of 72 bytes: a row's number sets bits that the column's sets, too.
TEST(PartedOffset, DoesNotHoldWhereBitsMeetInASwizzle) {
  const Modes rows{{8, 72}}, columns{{36, 2}};
  const RegLayout tile = Tile("spatial(8, 4) * local(1, 9)");
  EXPECT_FALSE(OffsetsArePartedIn({{rows, columns}, {Swizzle{4, 1, 1}}}, tile));
  EXPECT_FALSE(OffsetsArePartedIn({{rows, columns}, {Swizzle{4, 1, 1}}},
                                  Tile("local(8, 4) * spatial(1, 9)")));
  EXPECT_TRUE(OffsetsArePartedIn({{rows, columns}, {}}, tile));
}

}  // namespace
}  // namespace tarsia::compiler::parted_offset_test
