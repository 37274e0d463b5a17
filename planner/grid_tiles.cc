#include "planner/grid_tiles.h"

#include <algorithm>
#include <bit>

#include "planner/emit_solve.h"
#include "planner/reducer.h"

namespace tarsia {
namespace {

constexpr int64_t kGridTile = 64;   // elements of the results of a block that reduces
constexpr int64_t kMapTile = 2048;  // of a block that does not
constexpr int64_t kAxisTile = 64;
// Of blocks with `topk`: the elements of a state, which is in shared memory twice, and its rows.
constexpr int64_t kChosenElements = 512;
constexpr int64_t kMostChosenRows = 16;

int64_t TileOf(int64_t extent, int64_t most) {
  const auto whole =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(extent, 1))));
  return std::min(whole, most);
}

// Whether every tensor that the kernel reads has the axis: then tiles along it share nothing.
bool IsShared(const KernelRequest& request, uint32_t axis) {
  return std::all_of(request.known.begin(), request.known.end(), [&](const auto& entry) {
    const auto& axes = entry.second.axes;
    return axes.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end();
  });
}

// Of these reductions, those that could be products of matrices if tiles are large enough.
std::vector<size_t> ProductsOf(const Meaning& meaning, std::vector<size_t> nodes) {
  const auto has_more = [&](uint32_t v, uint32_t w) {  // axes than w
    const auto& axes = meaning.value(v).axes;
    return std::any_of(axes.begin(), axes.end(), [&](uint32_t axis) {
      return meaning.axis(axis).extent > 1 && !meaning.HasAxis(w, axis);
    });
  };
  const auto is_none = [&](size_t n) {
    const auto& reads = meaning.ReadsOf(n);
    return !SumsProducts(*meaning.ReductionOf(n)) || !has_more(reads[0], reads[1]) ||
           !has_more(reads[1], reads[0]);
  };
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), is_none), nodes.end());
  return nodes;
}

}  // namespace

int64_t MostChosen(const Meaning& meaning, const KernelRequest& request,
                   const std::set<size_t>& wanted) {
  int64_t out = 0;
  const auto add = [&](size_t n) {
    const Reduction& reduction = *meaning.ReductionOf(n);
    if (reduction.kind != ReducerKind::kTopK) return;
    out = std::max(out, meaning.axis(reduction.chosen).extent);
  };
  for (const size_t n : wanted) add(n);
  for (const KernelReduction& reduction : request.reductions) add(reduction.node);
  return out;
}

// As square as possible, so that what is loaded is used often.
std::vector<int64_t> TilesOfGrid(const Meaning& meaning, const KernelRequest& request,
                                 const std::set<size_t>& wanted) {
  if (IsOfPanels(request.kind)) return TilesOfPanels(meaning, request);
  const size_t rank = request.axes.size();
  std::vector<size_t> reductions(wanted.begin(), wanted.end());
  for (const KernelReduction& reduction : request.reductions) reductions.push_back(reduction.node);
  const std::vector<size_t> products = ProductsOf(meaning, std::move(reductions));
  const auto is_batch = [&](uint32_t axis) {  // of matrices
    return std::any_of(products.begin(), products.end(), [&](size_t n) {
      const auto& reads = meaning.ReadsOf(n);
      return meaning.HasAxis(reads[0], axis) && meaning.HasAxis(reads[1], axis);
    });
  };
  std::vector<int64_t> tiles(rank, 1);
  std::vector<int64_t> most(rank);
  for (size_t i = 0; i < rank; ++i) {
    const uint32_t axis = request.axes[i];
    const bool last = i + 1 == rank;
    const bool maps = wanted.empty() && request.reductions.empty();
    const int64_t cap = maps && last ? kMapTile : kAxisTile;
    const bool one = products.empty() ? !last && IsShared(request, axis) && !maps : is_batch(axis);
    most[i] = one ? 1 : TileOf(meaning.axis(axis).extent, cap);
    const auto range = request.ranges.find(axis);
    if (range != request.ranges.end()) most[i] = std::min(most[i], range->second);
    if (meaning.IsChosen(axis) && MostChosen(meaning, request, wanted) > 0)
      tiles[i] = most[i] = meaning.axis(axis).extent;
  }
  const bool lone = wanted.empty() && request.reductions.empty();
  // Two axes that take turns at 64 elements would have few lanes each; they get more. The sums of
  // products of matrices have no lanes besides.
  const auto cut = std::count_if(most.begin(), most.end(), [](int64_t m) { return m > 1; });
  const int64_t of_several = !products.empty() ? kGridTile * kAxisTile : kGridTile * 8;
  int64_t room = lone ? kMapTile : cut > 1 ? of_several : kGridTile;
  if (const int64_t chosen = MostChosen(meaning, request, wanted); chosen > 0) {
    room = std::clamp<int64_t>(kChosenElements / chosen, 1, kMostChosenRows);
  }
  for (bool grew = true; grew && room > 1;) {
    grew = false;
    for (size_t i = rank; i-- > 0 && room > 1;) {
      if (tiles[i] >= most[i]) continue;
      tiles[i] *= 2;
      room /= 2;
      grew = true;
    }
  }
  return tiles;
}

}  // namespace tarsia
