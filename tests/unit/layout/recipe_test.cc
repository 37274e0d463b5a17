// Recipes, run on the CPU: for every type, compute type, bit layout and form, all codes in all
// slots have the specified values; and the costs in the table of lanes.
#include "layout/recipe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "dtypes/convert.h"
#include "layout/diagnostics.h"

namespace tarsia::recipe_test {
namespace {

// The expected value of a code: (value + bias) * 2^-exponent, or its value, in double and rounded
// once.
uint64_t Wanted(const BitLayout& layout, int64_t slot, DType compute, RecipeForm form,
                uint64_t code) {
  double value = DecodeToDouble(layout.type(), code);
  if (form == RecipeForm::kUnpack) {
    const UnpackForm unpack = *layout.Unpack(slot, compute);
    if (unpack.bias != 0) value += unpack.bias;
    value = std::ldexp(value, -unpack.exponent);
  }
  return EncodeFromDouble(compute, value);
}

void ExpectRight(const BitLayout& layout, DType compute, RecipeForm form) {
  const auto recipe = MakeRecipe(layout, compute, form);
  ASSERT_TRUE(recipe.ok()) << ToString(layout);
  const auto count = static_cast<size_t>(layout.count());
  std::vector<uint64_t> codes(count);
  std::vector<uint32_t> words(static_cast<size_t>(layout.words()));
  std::vector<uint16_t> values(count);
  for (uint64_t first = 0; first <= CodeMask(layout.type()); ++first) {
    // Neighbours differ in all bits, so that leaks from one to the other are detected.
    for (size_t slot = 0; slot < count; ++slot) {
      const uint64_t code = slot % 2 == 0 ? first + slot : ~(first + slot);
      codes[slot] = code & CodeMask(layout.type());
    }
    layout.Pack(codes, words);
    RunRecipe(*recipe, words, values);
    for (size_t slot = 0; slot < count; ++slot) {
      const bool promised = std::isfinite(DecodeToDouble(layout.type(), codes[slot]));
      if (form == RecipeForm::kFiniteCast && !promised) continue;
      ASSERT_EQ(values[slot],
                Wanted(layout, static_cast<int64_t>(slot), compute, form, codes[slot]))
          << ToString(layout) << (form == RecipeForm::kUnpack ? " unpack to " : " cast to ")
          << DTypeName(compute) << ", slot " << slot << ", code " << codes[slot] << "\n"
          << ToString(*recipe);
    }
  }
}

TEST(RecipeTest, AllCodesInAllSlots) {
  for (const DTypeRow& row : AllDTypes()) {
    if (!LowPrecision(row.type)) continue;
    for (const DType compute : {kF16, kBF16}) {
      if (row.type.IsFloat() && row.type.exponent > compute.exponent) continue;
      for (const RecipeForm form :
           {RecipeForm::kUnpack, RecipeForm::kCast, RecipeForm::kFiniteCast}) {
        ExpectRight(*BitLayout::Lanes(row.type, 64, compute), compute, form);
        for (const int64_t count : {1, 2, 37, 64}) {
          ExpectRight(*BitLayout::Contiguous(row.type, count), compute, form);
        }
      }
    }
  }
}

struct CostRow {
  DType compute;
  int bits;
  int exponent;
  size_t cost;
};
#define LANE_COST(compute, bits, exponent, cost) {compute, bits, exponent, cost},
#define LANE(compute, bits, exponent, position, offset, ...)
constexpr CostRow kCosts[] = {
#include "layout/lanes.def"
};
#undef LANE
#undef LANE_COST

DType TypeOf(const CostRow& row) {
  for (const DTypeRow& type : AllDTypes()) {
    if (!LowPrecision(type.type) || type.type.bits != row.bits || type.type.HasNan()) continue;
    if (row.exponent == 0 ? type.type.IsUnsigned() : type.type.exponent == row.exponent) {
      return type.type;
    }
  }
  return {};
}

// `unpack` only moves codes to their target, except for whole bytes and for special values.
TEST(RecipeTest, CostsOfTheTable) {
  int rows = 0;
  for (const CostRow& row : kCosts) {
    const DType type = TypeOf(row);
    if (type.bits == 0) continue;  // of 8-bit floats some have no variant without NaN
    const Recipe unpack =
        *MakeRecipe(*BitLayout::Lanes(type, 32, row.compute), row.compute, RecipeForm::kUnpack);
    const Recipe cast =
        *MakeRecipe(*BitLayout::Lanes(type, 32, row.compute), row.compute, RecipeForm::kCast);
    size_t wanted = row.cost;
    if (type == kU8) wanted = row.compute == kF16 ? wanted - 8 : wanted + 32;
    if (type == kF7E5M1 && row.compute == kF16) wanted += 4 * 16;
    EXPECT_EQ(unpack.steps.size(), wanted) << DTypeName(type) << DTypeName(row.compute);
    EXPECT_LE(cast.steps.size(), unpack.steps.size() + 16) << DTypeName(type);
    ++rows;
  }
  EXPECT_GE(rows, 2 * 8 + 20 + 24);
}

// Nothing mends NaN: as many steps as for the type without NaN that has as many bits of each part.
TEST(RecipeTest, FiniteCastsCostWhatTypesWithoutNanCost) {
  const auto steps = [](DType type, DType compute, RecipeForm form) {
    return MakeRecipe(*BitLayout::Lanes(type, 32, compute), compute, form)->steps.size();
  };
  for (const DType compute : {kF16, kBF16}) {
    const size_t plain = steps(kF8E2M5, compute, RecipeForm::kCast);
    EXPECT_EQ(steps(kF8E2M5, compute, RecipeForm::kFiniteCast), plain);
    for (const DType type : {kF8E4M3FN, kF8E4M3, kF8E4M3FNUZ, kF8E3M4FN}) {
      EXPECT_LE(steps(type, compute, RecipeForm::kFiniteCast), plain) << DTypeName(type);
      EXPECT_GE(steps(type, compute, RecipeForm::kCast), plain + 32) << DTypeName(type);
    }
  }
}

TEST(RecipeTest, SignedTypesCostTheSame) {
  constexpr DType kUnsigned[] = {kU1, kU2, kU3, kU4, kU5, kU6, kU7, kU8};
  constexpr DType kSigned[] = {kI1, kI2, kI3, kI4, kI5, kI6, kI7, kI8};
  for (size_t i = 0; i < 8; ++i) {
    for (const DType compute : {kF16, kBF16}) {
      const auto cost = [&](DType type) {
        const BitLayout layout = *BitLayout::Lanes(type, 32, compute);
        return MakeRecipe(layout, compute, RecipeForm::kUnpack)->steps.size();
      };
      EXPECT_EQ(cost(kUnsigned[i]), cost(kSigned[i])) << i + 1;
    }
  }
}

TEST(RecipeTest, Refusals) {
  const BitLayout lanes = *BitLayout::Lanes(kU4, 32, kF16);
  EXPECT_EQ(MakeRecipe(lanes, kBF16, RecipeForm::kCast).error().info, &diag::kUnpackCompute);
  const BitLayout wide = *BitLayout::Contiguous(kF7E6M0, 8);
  EXPECT_EQ(MakeRecipe(wide, kF16, RecipeForm::kCast).error().info, &diag::kLanesRange);
  EXPECT_TRUE(MakeRecipe(BitLayout(), kF16, RecipeForm::kCast).ok());
}

TEST(RecipeTest, Text) {
  const BitLayout layout = *BitLayout::Lanes(kU8, 32, kF16);
  const Recipe recipe = *MakeRecipe(layout, kF16, RecipeForm::kCast);
  const std::string text = ToString(recipe);
  EXPECT_EQ(text.substr(0, text.find('\n')), "r8 = permute(r0, 0x64646464, 0x00004240)");
}

}  // namespace
}  // namespace tarsia::recipe_test
