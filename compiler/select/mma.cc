#include "compiler/select/mma.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "layout/text/fragments.h"
#include "support/align.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

constexpr int kNewest = std::numeric_limits<int>::max();

constexpr MmaForm kForms[] = {
#define MMA_FORM(a, b, c, fragments, instruction, sum, product, since, until, rate) \
  {{a, b, c}, fragments, instruction, sum, MmaProduct::product, since, until, rate},
#include "compiler/select/mma_forms.def"
#undef MMA_FORM
};

const RegLayout& Fragment(const MmaForm& form, std::string_view operand) {
  return *FindFragment("mma." + std::string(form.fragments) + std::string(operand));
}

// ---- the tiles of a warp -----------------------------------------------------------------------

// Warps along rows outermost; those of a missing dimension replicate.
Result<RegLayout> WarpGrid(int64_t rows, int64_t columns, int64_t row_warps, int64_t column_warps) {
  const Extents shape = {rows, columns};
  const Extents modes = {rows, columns};
  Extents spatial;
  spatial.push_back(rows > 1 || row_warps == 1 ? 0 : ~row_warps);
  spatial.push_back(columns > 1 || column_warps == 1 ? 1 : ~column_warps);
  Extents local;
  if (spatial[0] != 0) local.push_back(0);
  if (spatial[1] != 1) local.push_back(1);
  return RegLayout::Make(shape, modes, spatial, local);
}

Result<RegLayout> Tiled(const RegLayout& warps, int64_t rows, int64_t columns,
                        const RegLayout& fragment) {
  const Extents turns = {rows, columns};
  TARSIA_TRY(const RegLayout local, RegLayout::Local(turns));
  TARSIA_TRY(const RegLayout outer, Product(warps, local));
  return Product(outer, fragment);
}

// The extents that `warps` share, in units, as turns of each.
int64_t TurnsOf(int64_t extent, int64_t unit, int64_t warps) {
  return CeilDiv(std::max<int64_t>(1, CeilDiv(extent, unit)), warps);
}

// Of all warps along it, each with so many turns.
Result<RegLayout> BatchAxis(int64_t turns, int64_t warps) {
  TARSIA_TRY(const RegLayout spatial, RegLayout::Spatial(Extents{warps}));
  TARSIA_TRY(const RegLayout local, RegLayout::Local(Extents{turns}));
  return Product(spatial, local);
}

// ---- the layouts of a `dot` --------------------------------------------------------------------

constexpr int64_t kSwapped[] = {1, 0};
constexpr int64_t kSwappedInBatch[] = {0, 2, 1};
constexpr int64_t kBatchAxis[] = {0};

// The number of a fragment in its batch, its row and its column.
using FragmentIndex = std::array<int64_t, 3>;

// How fragments lie in warps: a layout of fragments over warps, with a batch axis, and by warp and
// fragment its slot.
struct Fragments {
  RegLayout outer;
  std::vector<int64_t> slot;  // warp * fragments + row-major number of the fragment; -1: not there

  [[nodiscard]] size_t Number(int64_t warp, const FragmentIndex& at) const {
    const Extents& shape = outer.shape();
    return Size(((warp * shape[0] + at[0]) * shape[1] + at[1]) * shape[2] + at[2]);
  }
  [[nodiscard]] int64_t At(int64_t warp, const FragmentIndex& at) const {
    return slot[Number(warp, at)];
  }
};

std::optional<Fragments> Split(const RegLayout& layout, bool swaps, const RegLayout& fragment) {
  const bool is_batch = layout.rank() == 3;
  if (!is_batch && layout.rank() != 2) return std::nullopt;
  Result<RegLayout> tile =
      swaps ? Permute(layout, SwappedAxes(layout.rank())) : Result<RegLayout>(layout);
  Result<RegLayout> unit = is_batch ? Unsqueeze(fragment, kBatchAxis) : Result<RegLayout>(fragment);
  if (!tile.ok() || !unit.ok()) return std::nullopt;
  Result<RegLayout> outer = Divide(*tile, *unit);
  if (outer.ok() && !is_batch) outer = Unsqueeze(*outer, kBatchAxis);
  if (!outer.ok()) return std::nullopt;
  Fragments out;
  out.outer = *std::move(outer);
  out.slot.assign(Size(out.outer.threads() * Product(out.outer.shape())), -1);
  FragmentIndex at{};
  for (int64_t warp = 0; warp < out.outer.threads(); ++warp) {
    for (int64_t slot = 0; slot < out.outer.slots(); ++slot) {
      out.outer.Element(warp, slot, at);
      out.slot[out.Number(warp, at)] = slot;
    }
  }
  return out;
}

struct Operands {
  const MmaForm* form = nullptr;
  Fragments left, right, sum;
};

// The same slots in all warps; empty if there are none.
std::optional<MmaStep> StepOf(const Operands& o, int64_t sum, int64_t k) {
  std::optional<MmaStep> step;
  for (int64_t warp = 0; warp < o.sum.outer.threads(); ++warp) {
    FragmentIndex at{};
    o.sum.outer.Element(warp, sum, at);
    const int64_t left = o.left.At(warp, {at[0], at[1], k});
    const int64_t right = o.right.At(warp, {at[0], k, at[2]});
    if (left < 0 || right < 0) return std::nullopt;
    const MmaStep here = {left * o.form->a().slots(), right * o.form->b().slots(),
                          sum * o.form->c().slots()};
    if (step && (step->left != here.left || step->right != here.right)) return std::nullopt;
    step = here;
  }
  return step;
}

std::optional<MmaSelection> Select(const MmaForm& form, bool transposed, const TileLayout& a,
                                   const TileLayout& b, const TileLayout& c) {
  auto left = Split((transposed ? b : a).reg(), transposed, form.a());
  if (!left) return std::nullopt;
  auto right = Split((transposed ? a : b).reg(), transposed, form.b());
  if (!right) return std::nullopt;
  auto sum = Split(c.reg(), transposed, form.c());
  if (!sum) return std::nullopt;
  const Operands o = {&form, *std::move(left), *std::move(right), *std::move(sum)};
  const Extents& shape = o.sum.outer.shape();
  const int64_t depth = o.left.outer.shape()[2];
  if (o.left.outer.shape() != Extents{shape[0], shape[1], depth} ||
      o.right.outer.shape() != Extents{shape[0], depth, shape[2]} ||
      o.left.outer.threads() != o.sum.outer.threads() ||
      o.right.outer.threads() != o.sum.outer.threads()) {
    return std::nullopt;
  }
  MmaSelection out;
  out.form = &form;
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

DotShape ShapeOfDot(const Extents& a, const Extents& b) {
  const size_t row = a.size() - 2;
  DotShape out{std::nullopt, a[row], b[row + 1], a[row + 1]};
  if (row == 1) out.batches = a[0];
  return out;
}

DotShape Transposed(const DotShape& shape) { return {shape.batches, shape.n, shape.m, shape.k}; }

std::span<const int64_t> SwappedAxes(int rank) {
  if (rank == 3) return kSwappedInBatch;
  return kSwapped;
}

const RegLayout& MmaForm::a() const { return Fragment(*this, ".a"); }
const RegLayout& MmaForm::b() const { return Fragment(*this, ".b"); }
const RegLayout& MmaForm::c() const { return Fragment(*this, ".c"); }

int64_t MmaForm::MultiplyAdds() const {
  // A complex product is four real ones.
  const int64_t real = product == MmaProduct::kComplex ? 4 : 1;
  return c().shape()[0] * c().shape()[1] * a().shape()[1] * real;
}

std::span<const MmaForm> AllMmaForms() { return kForms; }

std::vector<const MmaForm*> MmaFormsOf(const DotTypes& types, Target target) {
  const int capability = Row(target).capability;
  std::vector<const MmaForm*> out;
  for (const MmaForm& form : kForms) {
    if (form.types.a != types.a || form.types.b != types.b || form.types.c != types.c) continue;
    if (form.since <= capability && capability <= form.until) out.push_back(&form);
  }
  return out;
}

std::optional<MmaSelection> SelectMma(const DotTypes& types, Target target, const TileLayout& a,
                                      const TileLayout& b, const TileLayout& c) {
  for (const MmaForm* form : MmaFormsOf(types, target)) {
    if (auto out = Select(*form, false, a, b, c)) return out;
  }
  for (const MmaForm* form : MmaFormsOf({types.b, types.a, types.c}, target)) {
    if (auto out = Select(*form, true, a, b, c)) return out;
  }
  return std::nullopt;
}

Result<MmaLayouts> LayoutsOfMma(const MmaForm& form, const DotShape& shape,
                                const WarpSplit& warps) {
  const int64_t rows = TurnsOf(shape.m, form.c().shape()[0], warps.m);
  const int64_t columns = TurnsOf(shape.n, form.c().shape()[1], warps.n);
  const int64_t depth = TurnsOf(shape.k, form.a().shape()[1], 1);
  const int64_t batches = TurnsOf(shape.batches.value_or(1), 1, warps.batches);
  TARSIA_TRY(const RegLayout warps_a, WarpGrid(warps.m, 1, warps.m, warps.n));
  TARSIA_TRY(const RegLayout warps_b, WarpGrid(1, warps.n, warps.m, warps.n));
  TARSIA_TRY(const RegLayout warps_c, WarpGrid(warps.m, warps.n, warps.m, warps.n));
  TARSIA_TRY(RegLayout a, Tiled(warps_a, rows, depth, form.a()));
  TARSIA_TRY(RegLayout b, Tiled(warps_b, depth, columns, form.b()));
  TARSIA_TRY(RegLayout c, Tiled(warps_c, rows, columns, form.c()));
  MmaLayouts out;
  out.steps = batches * rows * columns * depth;
  if (!shape.batches) {
    out.a = TileLayout::Padded(std::move(a), {shape.m, shape.k});
    out.b = TileLayout::Padded(std::move(b), {shape.k, shape.n});
    out.c = TileLayout::Padded(std::move(c), {shape.m, shape.n});
    return out;
  }
  TARSIA_TRY(const RegLayout batch, BatchAxis(batches, warps.batches));
  TARSIA_TRY(a, Concat(batch, a));
  TARSIA_TRY(b, Concat(batch, b));
  TARSIA_TRY(c, Concat(batch, c));
  out.a = TileLayout::Padded(std::move(a), {*shape.batches, shape.m, shape.k});
  out.b = TileLayout::Padded(std::move(b), {*shape.batches, shape.k, shape.n});
  out.c = TileLayout::Padded(std::move(c), {*shape.batches, shape.m, shape.n});
  return out;
}

}  // namespace tarsia::compiler
