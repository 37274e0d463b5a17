// Recipes, run on the CPU: for every type, compute type, bit layout and form, all codes in all
// slots have the specified values; and the costs in the table of lanes.
#include "layout/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dtypes/convert.h"
#include "layout/diagnostics.h"

namespace tarsia::recipe_test {
namespace {

constexpr DType kComputes[] = {kF16, kBF16, kI8, kF8E4M3FN};
constexpr RecipeForm kForms[] = {RecipeForm::kUnpack, RecipeForm::kCast, RecipeForm::kFiniteCast};

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
  if (compute == kI8) value = std::min(value, 127.0);
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
    for (const DType compute : kComputes) {
      if (!CheckUnpack(row.type, compute).ok()) continue;
      for (const RecipeForm form : kForms) {
        const BitLayout lanes = *BitLayout::Lanes(row.type, 64, compute);
        if (HasRecipe(lanes, compute, form)) ExpectRight(lanes, compute, form);
        if (compute.bits < 16) continue;
        for (const int64_t count : {1, 2, 37, 64}) {
          ExpectRight(*BitLayout::Contiguous(row.type, count), compute, form);
        }
      }
    }
  }
}

// Nothing computes with f8e4m3fn: a cast to it has a recipe where the codes' values are those of
// their bits. Codes in another order have none.
TEST(RecipeTest, CastsToEightBits) {
  for (const DTypeRow& row : AllDTypes()) {
    for (const DType compute : {kI8, kF8E4M3FN}) {
      if (!CheckUnpack(row.type, compute).ok()) continue;
      const BitLayout lanes = *BitLayout::Lanes(row.type, 32, compute);
      EXPECT_TRUE(HasRecipe(lanes, compute, RecipeForm::kUnpack)) << row.name;
      const bool cast = compute == kI8 || row.type.exponent == 4;
      EXPECT_EQ(HasRecipe(lanes, compute, RecipeForm::kCast), cast) << row.name;
      for (const RecipeForm form : kForms) {
        EXPECT_FALSE(HasRecipe(*BitLayout::Contiguous(row.type, 32), compute, form)) << row.name;
      }
    }
  }
  EXPECT_FALSE(HasRecipe(*BitLayout::Lanes(kU4, 32, kF16), kF32, RecipeForm::kCast));
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
    size_t wanted = row.cost;
    if (type == kU8 && row.compute == kF16) wanted -= 8;
    if (type == kU8 && row.compute == kBF16) wanted += 32;
    if (type == kF7E5M1 && row.compute == kF16) wanted += 4 * 16;
    EXPECT_EQ(unpack.steps.size(), wanted) << DTypeName(type) << DTypeName(row.compute);
    ++rows;
    const BitLayout lanes = *BitLayout::Lanes(type, 32, row.compute);
    if (!HasRecipe(lanes, row.compute, RecipeForm::kCast)) continue;
    const Recipe cast = *MakeRecipe(lanes, row.compute, RecipeForm::kCast);
    EXPECT_LE(cast.steps.size(), unpack.steps.size() + 16) << DTypeName(type);
  }
  EXPECT_GE(rows, 3 * 8 + 20 + 24 + 3 + 14);
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
    for (const DType compute : {kF16, kBF16, kI8}) {
      // i8 in lanes of 8 bits is what it is.
      if (compute == kI8 && kSigned[i] == kI8) continue;
      const auto cost = [&](DType type) {
        const BitLayout layout = *BitLayout::Lanes(type, 32, compute);
        return MakeRecipe(layout, compute, RecipeForm::kUnpack)->steps.size();
      };
      EXPECT_EQ(cost(kUnsigned[i]), cost(kSigned[i])) << i + 1;
    }
  }
}

// Integers that a byte holds need nothing but their target: a mask and a magic number for four.
TEST(RecipeTest, WholeBytes) {
  const auto steps = [](DType type, DType compute, RecipeForm form) {
    return MakeRecipe(*BitLayout::Lanes(type, 32, compute), compute, form)->steps.size();
  };
  EXPECT_EQ(steps(kI8, kI8, RecipeForm::kCast), 0U);
  EXPECT_EQ(steps(kF8E4M3FN, kF8E4M3FN, RecipeForm::kCast), 0U);
  EXPECT_EQ(steps(kU8, kI8, RecipeForm::kUnpack), 8U);
  EXPECT_EQ(steps(kU8, kI8, RecipeForm::kCast), 2 * 8U);
  EXPECT_EQ(steps(kU4, kI8, RecipeForm::kCast), 4 + 8U);
  EXPECT_EQ(steps(kI4, kI8, RecipeForm::kCast), 4 + 3 * 8U);
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
