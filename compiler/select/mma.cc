#include "compiler/select/mma.h"

#include <array>
#include <string_view>
#include <utility>

#include "layout/text/fragments.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

constexpr int64_t kSwapped[] = {1, 0};

// How fragments lie in warps: a layout of fragments over warps, and by warp and fragment its slot.
struct Fragments {
  RegLayout outer;
  std::vector<int64_t> slot;  // warp * fragments + row-major number of the fragment; -1: not there

  [[nodiscard]] int64_t At(int64_t warp, int64_t row, int64_t column) const {
    const Extents& shape = outer.shape();
    return slot[Size((warp * shape[0] + row) * shape[1] + column)];
  }
};

std::optional<Fragments> Split(const RegLayout& layout, bool swaps, std::string_view name) {
  Result<RegLayout> tile = swaps ? Permute(layout, kSwapped) : Result<RegLayout>(layout);
  if (!tile.ok()) return std::nullopt;
  Result<RegLayout> outer = Divide(*tile, *FindFragment(name));
  if (!outer.ok()) return std::nullopt;
  Fragments out;
  out.outer = *std::move(outer);
  const int64_t count = Product(out.outer.shape());
  out.slot.assign(Size(out.outer.threads() * count), -1);
  std::array<int64_t, 2> at{};
  for (int64_t warp = 0; warp < out.outer.threads(); ++warp) {
    for (int64_t slot = 0; slot < out.outer.slots(); ++slot) {
      out.outer.Element(warp, slot, at);
      out.slot[Size(warp * count + at[0] * out.outer.shape()[1] + at[1])] = slot;
    }
  }
  return out;
}

struct Operands {
  Fragments left, right, sum;
};

// The same slots in all warps; empty if there are none.
std::optional<MmaStep> StepOf(const Operands& o, int64_t sum, int64_t k) {
  std::optional<MmaStep> step;
  for (int64_t warp = 0; warp < o.sum.outer.threads(); ++warp) {
    std::array<int64_t, 2> at{};
    o.sum.outer.Element(warp, sum, at);
    const int64_t left = o.left.At(warp, at[0], k);
    const int64_t right = o.right.At(warp, k, at[1]);
    if (left < 0 || right < 0) return std::nullopt;
    const MmaStep here = {left * 8, right * 4, sum * 4};
    if (step && (step->left != here.left || step->right != here.right)) return std::nullopt;
    step = here;
  }
  return step;
}

std::optional<MmaSelection> Select(const TileLayout& a, const TileLayout& b, const TileLayout& c,
                                   bool transposed) {
  auto left = Split((transposed ? b : a).reg(), transposed, "mma.m16n8k16.f16.a");
  if (!left) return std::nullopt;
  auto right = Split((transposed ? a : b).reg(), transposed, "mma.m16n8k16.f16.b");
  if (!right) return std::nullopt;
  auto sum = Split(c.reg(), transposed, "mma.m16n8k16.f16.c");
  if (!sum) return std::nullopt;
  const Operands o = {*std::move(left), *std::move(right), *std::move(sum)};
  const Extents& shape = o.sum.outer.shape();
  const int64_t depth = o.left.outer.shape()[1];
  if (o.left.outer.shape() != Extents{shape[0], depth} ||
      o.right.outer.shape() != Extents{depth, shape[1]} ||
      o.left.outer.threads() != o.sum.outer.threads() ||
      o.right.outer.threads() != o.sum.outer.threads()) {
    return std::nullopt;
  }
  MmaSelection out;
  out.transposed = transposed;
  if (a.empty() || b.empty()) return out;
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t slot = 0; slot < o.sum.outer.slots(); ++slot) {
      const auto step = StepOf(o, slot, k);
      if (!step) return std::nullopt;
      out.steps.push_back(*step);
    }
  }
  return out;
}

}  // namespace

bool HasMma(DType a, DType b, DType c) { return (a == kF16 || a == kBF16) && a == b && c == kF32; }

std::optional<MmaSelection> SelectMma(const TileLayout& a, const TileLayout& b,
                                      const TileLayout& c) {
  auto out = Select(a, b, c, false);
  return out ? out : Select(a, b, c, true);
}

}  // namespace tarsia::compiler
