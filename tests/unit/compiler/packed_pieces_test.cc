// Which piece of which packed tile a thread moves, by hand.
#include <gtest/gtest.h>

#include <optional>
#include <variant>

#include "compiler/llvm/lower/packed_copy.h"
#include "layout/mem_layout.h"
#include "layout/text/eval.h"

namespace tarsia::compiler::packed_pieces_test {
namespace {

// A tile of 64 x 16 codes of 4 bits is 512 bytes: 32 pieces.
PackedTile TileOf(const char* type) {
  const auto tile = EvaluateText("permute(local(1, 4) * mma.m16n8k16.f16.a, [1, 0])");
  const auto bits = BitLayout::Lanes(*FindDType(type), 32, kF16);
  EXPECT_TRUE(tile.ok() && bits.ok());
  const auto packed = MemLayout::Packed(std::get<RegLayout>(*tile), *bits, Extents{64, 16});
  EXPECT_TRUE(packed.ok());
  return packed->packed();
}

using Place = PackedPieces::Place;

// Of codes of 4 bits.
std::optional<PackedPieces> PiecesOf(const Extents& box, int64_t threads, bool rows,
                                     PackedPieces::Order order = PackedPieces::Order::kByWarps) {
  return PackedPieces::Of(TileOf("u4"), box, threads, rows, order);
}

TEST(PackedPieces, FollowEachOtherFromTileToTile) {
  const auto pieces = PiecesOf({128, 48}, 128, false);
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->pieces(), 32);
  EXPECT_EQ(pieces->total(), 6 * 32);
  EXPECT_EQ(pieces->grid(), (Extents{2, 3}));
  EXPECT_EQ(pieces->Turns(), 2);
  EXPECT_EQ(pieces->PlaceOf(0), (Place{{0, 0}, 0}));
  EXPECT_EQ(pieces->PlaceOf(31), (Place{{0, 0}, 31}));
  EXPECT_EQ(pieces->PlaceOf(32), (Place{{0, 1}, 0}));
  EXPECT_EQ(pieces->PlaceOf(95), (Place{{0, 2}, 31}));
  EXPECT_EQ(pieces->PlaceOf(96), (Place{{1, 0}, 0}));
  EXPECT_EQ(pieces->PlaceOf(191), (Place{{1, 2}, 31}));
}

TEST(PackedPieces, OfARowOfTilesFollowEachOther) {
  const auto pieces = PiecesOf({128, 48}, 128, true);
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->pieces(), 96);
  EXPECT_EQ(pieces->grid(), (Extents{2, 1}));
  EXPECT_EQ(pieces->PlaceOf(95), (Place{{0, 0}, 95}));
  EXPECT_EQ(pieces->PlaceOf(96), (Place{{1, 0}, 0}));
}

// Two rows of 128 pieces. Each of the two warps has a row, 32 pieces in a turn.
TEST(PackedPieces, OfAWarpFollowEachOther) {
  const auto pieces = PiecesOf({128, 64}, 64, true);
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->Turns(), 4);
  EXPECT_EQ(pieces->Step(), 32);
  EXPECT_EQ(pieces->First(0), 0);
  EXPECT_EQ(pieces->First(31), 31);
  EXPECT_EQ(pieces->First(32), 128);
  EXPECT_EQ(pieces->First(63), 159);
  EXPECT_TRUE(pieces->ComeApart());
}

// Of three warps, the second would pass into the next row of 96 pieces; and of 64 threads, half
// would have nothing in the last turn.
TEST(PackedPieces, OfABlockFollowEachOtherWhereThoseOfAWarpDoNot) {
  const auto pieces = PiecesOf({128, 48}, 96, true);
  ASSERT_TRUE(pieces);
  EXPECT_EQ(pieces->Turns(), 2);
  EXPECT_EQ(pieces->Step(), 96);
  EXPECT_EQ(pieces->First(95), 95);
  EXPECT_EQ(PiecesOf({192, 48}, 64, true)->Step(), 64);
  EXPECT_EQ(PiecesOf({128, 64}, 64, true, PackedPieces::Order::kByBlock)->Step(), 64);
}

// Of 64 threads, the upper 32 begin in the second tile of a row of three: in the next turn they are
// in the next row. Rows of 96 pieces that follow each other: of 128 threads, the upper 64 pass into
// the third row in the second turn.
TEST(PackedPieces, ComeApartWhereNoThreadLeavesItsRow) {
  const auto apart = [](int64_t rows_of_w, int64_t threads, bool rows) {
    return PiecesOf({rows_of_w, 48}, threads, rows)->ComeApart();
  };
  EXPECT_TRUE(apart(128, 32, false));
  EXPECT_TRUE(apart(128, 64, false));
  EXPECT_TRUE(apart(128, 96, false));
  EXPECT_FALSE(apart(192, 64, false));
  EXPECT_TRUE(apart(128, 96, true));
  EXPECT_TRUE(apart(128, 128, true));
  EXPECT_FALSE(apart(192, 128, true));
}

TEST(PackedPieces, NeedWholeTilesOfWholePieces) {
  EXPECT_FALSE(PiecesOf({96, 16}, 128, false));
  EXPECT_FALSE(PiecesOf({64, 24}, 128, false));
  EXPECT_FALSE(PiecesOf({0, 16}, 128, false));
  EXPECT_EQ(
      PackedPieces::Of(TileOf("u1"), {64, 16}, 128, false, PackedPieces::Order::kByBlock)->total(),
      8);
}

}  // namespace
}  // namespace tarsia::compiler::packed_pieces_test
