// Why a launch after the first allocates nothing: addresses are remade in place, and the size of
// scratch is known beforehand.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "tests/unit/vm/host_testing.h"
#include "tests/unit/vm/run_testing.h"
#include "vm/host/dot.h"
#include "vm/host/reduce.h"
#include "vm/launch_context.h"
#include "vm/memory_view.h"

namespace tarsia::vm::launch_memory_test {
namespace {

// ---- addresses -----------------------------------------------------------------------------

// Compares dense maps with the layout that they replace.
TEST(AddressMap, DenseTilesAreWhereTheirLayoutSays) {
  host::Random random(1);
  for (int round = 0; round < 300; ++round) {
    MemLayoutFamily family;
    if (round % 2 == 1) family.kind = MemLayoutFamily::Kind::kColumnMajor;
    std::vector<int64_t> shape(static_cast<size_t>(random.Between(0, 5)));
    for (int64_t& extent : shape) extent = random.Between(0, 9) == 0 ? 0 : random.Between(1, 7);
    const DType type = round % 3 == 0 ? kU4 : kF16;
    const auto map = AddressMap::Make(family, shape, type);
    const auto layout = Apply(family, shape, type);
    ASSERT_TRUE(map.ok() && layout.ok());
    const auto affine = layout->AsAffine();
    ASSERT_TRUE(affine && (*map)->affine() != nullptr);
    EXPECT_EQ((*map)->shape(), shape);
    EXPECT_EQ((*map)->affine()->strides, affine->strides);
    EXPECT_EQ((*map)->affine()->offset, affine->offset);
    EXPECT_EQ((*map)->size_bytes(), layout->SizeBytes(type.bits));
  }
}

// The largest tensor, and larger ones, whose error is that of the layout.
TEST(AddressMap, LimitsAreThoseOfTheLayout) {
  const MemLayoutFamily family;
  const std::vector<std::vector<int64_t>> shapes = {{kMaxMemoryElements},
                                                    {kMaxMemoryElements + 1},
                                                    {kMaxMemoryElements / 2, 2},
                                                    {kMaxMemoryElements, 2},
                                                    {0, kMaxMemoryElements, 2},
                                                    {0, kMaxMemoryElements + 1},
                                                    {-1, 2}};
  for (const auto& shape : shapes) {
    const auto map = AddressMap::Make(family, shape, kU8);
    const auto layout = Apply(family, shape, kU8);
    ASSERT_EQ(map.ok(), layout.ok()) << shape[0];
    if (map.ok()) continue;
    EXPECT_EQ(map.error().message, layout.error().message);
  }
}

TEST(AddressMap, IsMadeAnewInPlaceUnlessSomebodyElseHasIt) {
  const MemLayoutFamily family;
  std::shared_ptr<AddressMap> map;
  const auto remake = [&](int64_t rows) {
    const std::array<int64_t, 2> shape = {rows, 8};
    return AddressMap::Remake(family, shape, kF32, map).ok();
  };
  ASSERT_TRUE(remake(3));
  const AddressMap* const first = map.get();
  ASSERT_TRUE(remake(5));
  EXPECT_EQ(map.get(), first);
  EXPECT_EQ(map->size_bytes(), 160u);
  const std::shared_ptr<const AddressMap> other = map;
  ASSERT_TRUE(remake(7));
  EXPECT_NE(map.get(), first);
  EXPECT_EQ(other->size_bytes(), 160u);
  EXPECT_EQ(map->size_bytes(), 224u);
  EXPECT_FALSE(remake(-1));
  EXPECT_EQ(map->size_bytes(), 224u);
}

// The maps of an agent's views before it runs.
TEST(AddressMap, IsReservedForDenseTilesAlone) {
  MemLayoutFamily family;
  const std::array<int64_t, 2> empty = {0, 0};
  const std::array<int64_t, 2> shape = {4, 6};
  std::shared_ptr<AddressMap> map = AddressMap::Reserve(family, empty, kU8);
  ASSERT_NE(map, nullptr);
  const AddressMap* const reserved = map.get();
  ASSERT_TRUE(AddressMap::Remake(family, shape, kU8, map).ok());
  EXPECT_EQ(map.get(), reserved);
  EXPECT_EQ(map->size_bytes(), 24u);
  family.swizzles.push_back(*MakeSwizzle(4, 1, 3));
  EXPECT_EQ(AddressMap::Reserve(family, empty, kU8), nullptr);
}

// ---- scratch -------------------------------------------------------------------------------

TEST(HostScratch, ProductsKeepToTheSizesNamed) {
  struct Types {
    DType a, b, acc;
  };
  for (const Types& types :
       {Types{kF16, kF16, kF32}, Types{kF32, kF32, kF32}, Types{kF8E4M3, kBF16, kF32},
        Types{kF16, kF8E4M3, kF32}, Types{kI8, kU4, kI32}, Types{kF64, kF64, kF64},
        Types{kC32, kC64, kC64}}) {
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{1, 64, 64}, {200, 3, 5}, {7, 70, 300}, {0, 3, 3}, {3, 3, 0}}) {
      const std::vector<uint64_t> a(static_cast<size_t>(m * k) + 8);
      const std::vector<uint64_t> b(static_cast<size_t>(k * n) + 8);
      std::vector<uint64_t> out(static_cast<size_t>(m * n) + 8);
      host::HostScratch scratch;
      scratch.Reserve(host::DotScratch(types.a, types.b, types.acc, m, n, k));
      const host::ScratchSizes before = scratch.sizes();
      const host::ScratchScope scope(scratch);
      host::Dot(types.a, types.b, types.acc, a.data(), b.data(), nullptr, out.data(), m, n, k);
      EXPECT_EQ(scratch.sizes().bytes, before.bytes) << DTypeName(types.a) << " " << m << " " << n;
    }
  }
}

TEST(HostScratch, ReductionsKeepToTheSizesNamed) {
  const std::vector<int64_t> shape = {3, 70, 2, 5, 9};
  const int64_t elements = 3 * 70 * 2 * 5 * 9;
  const std::vector<uint64_t> source(static_cast<size_t>(elements), 1);
  std::vector<uint64_t> out(static_cast<size_t>(elements));
  std::vector<int32_t> index(static_cast<size_t>(elements));
  for (const DType type : {kF16, kBF16, kF32, kF64, kI32}) {
    for (unsigned set = 1; set < 32; ++set) {
      std::vector<int64_t> axes;
      for (int64_t axis = 0; axis < 5; ++axis) {
        if ((set >> axis & 1) != 0) axes.push_back(axis);
      }
      for (const Opcode op : {Opcode::kReduceSum, Opcode::kReduceMax}) {
        host::HostScratch scratch;
        scratch.Reserve(host::ReduceScratch(op, type, shape, axes));
        const host::ScratchSizes before = scratch.sizes();
        const host::ScratchScope scope(scratch);
        host::ReduceAxes(op, type, source.data(), shape, axes, out.data());
        EXPECT_EQ(scratch.sizes().bytes, before.bytes) << DTypeName(type) << " " << set;
      }
    }
    for (int64_t axis = 0; axis < 5; ++axis) {
      host::HostScratch scratch;
      const std::array<int64_t, 1> axes = {axis};
      scratch.Reserve(host::ReduceScratch(Opcode::kReduceArgmin, type, shape, axes));
      const host::ScratchSizes before = scratch.sizes();
      const host::ScratchScope scope(scratch);
      int64_t outer = 1;
      for (int64_t d = 0; d < axis; ++d) outer *= shape[static_cast<size_t>(d)];
      const int64_t extent = shape[static_cast<size_t>(axis)];
      host::ReduceArg(Opcode::kReduceArgmin, type, source.data(), outer, extent,
                      elements / outer / extent, out.data(), index.data());
      EXPECT_EQ(scratch.sizes().bytes, before.bytes) << DTypeName(type) << " " << axis;
    }
  }
}

// Without a scope a thread uses its own scratch, also after a scope has ended.
TEST(HostScratch, AScopeLendsOne) {
  host::HostScratch& own = host::ThreadScratch();
  {
    host::HostScratch lent;
    const host::ScratchScope scope(lent);
    EXPECT_EQ(&host::ThreadScratch(), &lent);
  }
  EXPECT_EQ(&host::ThreadScratch(), &own);
}

// ---- contexts ------------------------------------------------------------------------------

TEST(LaunchContexts, AreFoundAgainAndDroppedBeyondTheirNumber) {
  const auto program = Compile("kernel k(%n: i32)\n{\n}\n");
  ASSERT_TRUE(program);
  const auto plan = Prepare(*program);
  ASSERT_TRUE(plan.ok());
  LaunchContexts contexts;
  auto first = contexts.Take(**plan);
  auto second = contexts.Take(**plan);
  EXPECT_NE(first, second);
  const LaunchContext* const known = first.get();
  contexts.Return(std::move(first));
  first = contexts.Take(**plan);
  EXPECT_EQ(first.get(), known);
  std::vector<std::unique_ptr<LaunchContext>> many;
  for (size_t i = 0; i < 2 * LaunchContexts::kKept; ++i) many.push_back(contexts.Take(**plan));
  for (auto& context : many) contexts.Return(std::move(context));
  EXPECT_EQ(many.back(), nullptr);
}

}  // namespace
}  // namespace tarsia::vm::launch_memory_test
