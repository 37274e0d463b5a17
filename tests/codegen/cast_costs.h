// What a weight of each type costs, and the packed order of a type: what counts of machine code are
// held against.
#ifndef TARSIA_TESTS_CODEGEN_CAST_COSTS_H_
#define TARSIA_TESTS_CODEGEN_CAST_COSTS_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::harness {

// Instructions that cast a weight, of the table in docs/dtypes.md as of 2026-11-22, to f16; to bf16
// for the types whose exponent f16 does not have. A later table may only be lower. `unpack` leaves
// out the last of them, one for two weights, unless it is left out of the cast, too.
struct CastCost {
  const char* type;
  double instructions;
  const char* to = "f16";
  double correction = 0.5;
  [[nodiscard]] double Unpacked() const { return instructions - correction; }
};
inline constexpr CastCost kCastCosts[] = {
    {"u1", 1.03},
    {"u2", 1.06},
    {"u3", 1.16},
    {"u4", 1.12},
    {"u5", 1.34},
    {"u6", 1.44},
    {"u7", 1.53},
    {"u8", 1.00},
    {"i1", 1.03},
    {"i2", 1.06},
    {"i3", 1.16},
    {"i4", 1.12},
    {"i5", 1.34},
    {"i6", 1.44},
    {"i7", 1.53},
    {"i8", 1.00},
    {"f3e1m1", 1.84},
    {"f3e2m0", 1.69},
    {"f4e1m2", 1.38},
    {"f4e2m1", 1.88},
    {"f4e3m0", 2.12},
    {"f5e1m3", 2.09},
    {"f5e2m2", 2.12},
    {"f5e3m1", 2.09},
    {"f5e4m0", 1.84},
    {"f6e1m4", 1.88},
    {"f6e2m3", 1.94},
    {"f6e3m2", 1.81},
    {"f6e4m1", 1.69},
    {"f6e5m0", 1.06, "f16", 0},
    {"f7e1m5", 2.41},
    {"f7e2m4", 2.03},
    {"f7e3m3", 1.97},
    {"f7e4m2", 2.03},
    {"f7e5m1", 3.16, "f16", 0},
    {"f8e1m6", 2.25},
    {"f8e2m5", 2.25},
    {"f8e3m4", 6.25},
    {"f8e4m3", 5.75},
    {"f8e5m2", 3.25, "f16", 0},
    {"f8e3m4fn", 4.25},
    {"f8e4m3fn", 3.75},
    {"f8e5m2fn", 4.25, "f16", 0},
    {"f8e3m4fnuz", 4.75},
    {"f8e4m3fnuz", 4.25},
    {"f8e5m2fnuz", 5.75, "f16", 0},
    {"f8e4m3b11fnuz", 4.25},
    {"f7e6m0", 1.97, "bf16"},
    {"f8e6m1", 2.25, "bf16"},
    {"f8e7m0", 1.75, "bf16"},
};

// Costs that one test has, because one run of each tool makes the code of all: those of a width and
// a type of activations.
struct CastFamily {
  std::string name;
  std::vector<CastCost> costs;
};
inline std::vector<CastFamily> FamiliesOf(std::span<const CastCost> costs) {
  std::vector<CastFamily> out;
  for (const CastCost& cost : costs) {
    const std::string_view type = cost.type;
    const bool has_width = type[1] >= '1' && type[1] <= '8';
    const std::string width = has_width ? std::string("bits") + type[1] : std::string(type);
    const std::string name = width + "_" + cost.to;
    auto family = std::ranges::find(out, name, &CastFamily::name);
    if (family == out.end()) family = out.insert(out.end(), {name, {}});
    family->costs.push_back(cost);
  }
  return out;
}

// The packed tile of weights of so many bits (docs/layouts.md) and its rows.
struct PackedTile {
  const char* fragments;
  int64_t rows;
};
inline PackedTile TileFor(int bits) {
  if (bits == 6) return {"1, 8", 128};
  return bits % 2 == 1 && bits != 1 ? PackedTile{"2, 8", 128} : PackedTile{"1, 4", 64};
}
inline std::string PackOf(const PackedTile& tile, std::string_view type) {
  return fmt::format("packed(permute(local({}) * mma.m16n8k16.{}.a, [1, 0]), lanes({}))",
                     tile.fragments, type, type);
}

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_CODEGEN_CAST_COSTS_H_
