#include "compiler/select/scratch.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compiler/select/access.h"
#include "compiler/select/warp_addresses.h"
#include "layout/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

using Side = ScratchEnd::Side;

// The shape with one dimension in groups, if there are to be any.
Extents Split(Extents shape, const ScratchGaps& gaps) {
  if (gaps.split < 0) return shape;
  const auto dim = Size(gaps.split);
  shape[dim] /= gaps.group;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, gaps.group);
  return shape;
}

// Of a shape that is split already.
ScratchOrder OrderOf(const Extents& shape, const ScratchGaps& gaps) {
  ScratchOrder out;
  out.strides.assign(shape.size(), 0);
  int64_t stride = 1;
  const auto take = [&](size_t dim, int64_t gap) {
    out.strides[dim] = stride;
    stride = stride * shape[dim] + gap;
  };
  const auto fast = Size(gaps.fast);
  if (gaps.split == gaps.fast) {
    take(fast + 1, gaps.inner);
    take(fast, gaps.outer);
  } else {
    take(gaps.split >= 0 && gaps.split < gaps.fast ? fast + 1 : fast, gaps.inner);
    if (gaps.split >= 0) take(Size(gaps.split) + 1, gaps.outer);
  }
  for (size_t d = shape.size(); d-- > 0;) {
    if (out.strides[d] == 0) take(d, 0);
  }
  out.elements = stride;
  return out;
}

}  // namespace

int64_t ChunkAlong(const TileLayout& layout, int dim) {
  if (layout.empty() || layout.reg().local().empty()) return 1;
  const RegLayout::Digit& inner = layout.reg().local().back();
  return inner.dim == dim && inner.stride == 1 ? inner.extent : 1;
}

int64_t RunAlong(const TileLayout& layout, int dim, int bytes) {
  const int64_t chunk = ChunkAlong(layout, dim);
  int64_t run = 1;
  const auto fits = [&](int64_t n) {
    if (n * bytes > kWidestAccess || chunk % n != 0) return false;
    if (layout.shape()[Size(dim)] % n != 0) return false;  // a run would be half padding
    return std::all_of(
        layout.reg().spatial().begin(), layout.reg().spatial().end(),
        [&](const RegLayout::Digit& digit) { return digit.dim != dim || digit.stride % n == 0; });
  };
  while (fits(run * 2)) run *= 2;
  return run;
}

ScratchEnd::ScratchEnd(TileLayout layout, int bytes) : tile_(std::move(layout)), bytes_(bytes) {
  for (int dim = 0; dim < tile_.rank(); ++dim) {
    ScratchSide side;
    side.run = RunAlong(tile_, dim, bytes);
    puts_.push_back(side);
    gets_.push_back(std::move(side));
  }
}

ScratchEnd::ScratchEnd(TileLayout layout, int bytes, Target target)
    : ScratchEnd(std::move(layout), bytes) {
  for (int dim = 0; dim < tile_.rank(); ++dim) {
    ScratchSide& get = gets_[Size(dim)];
    get.matrices = FindMatrixLoads(tile_, dim, bytes);
    if (HasMatrixStores(target) && get.matrices && StoresLikeLoads(tile_, *get.matrices)) {
      puts_[Size(dim)].matrices = get.matrices;
    }
  }
}

const ScratchSide& ScratchEnd::Along(int fast, Side side) const {
  return (side == Side::kPut ? puts_ : gets_)[Size(fast)];
}

int ScratchEnd::Unit(int fast, Side side) const {
  const ScratchSide& along = Along(fast, side);
  return along.matrices ? int{kWidestAccess} : static_cast<int>(along.run) * bytes_;
}

const TileLayout& ScratchEnd::Accessed(int fast, Side side) const {
  const ScratchSide& along = Along(fast, side);
  return along.matrices ? along.matrices->rows : tile_;
}

const TileLayout* ScratchEnd::Places(const ScratchGaps& gaps, Side side) {
  const TileLayout& accessed = Accessed(gaps.fast, side);
  if (gaps.split < 0) return &accessed;
  const int rows = Along(gaps.fast, side).matrices ? gaps.fast : -1;
  const auto [known, is_new] = places_.try_emplace({rows, gaps.split, gaps.group});
  std::optional<TileLayout>& places = known->second;
  if (is_new && !accessed.padded() && accessed.shape()[Size(gaps.split)] % gaps.group == 0) {
    places = ReshapedLayout(accessed, Split(accessed.shape(), gaps));
  }
  return places ? &*places : nullptr;
}

std::optional<ScratchEnd::Banks> ScratchEnd::BanksOf(const ScratchGaps& gaps, Side side) {
  const auto [known, is_new] = banks_.try_emplace({gaps, side});
  if (is_new) known->second = FindBanks(gaps, side);
  return known->second;
}

std::optional<ScratchEnd::Banks> ScratchEnd::FindBanks(const ScratchGaps& gaps, Side side) {
  const TileLayout* places = Places(gaps, side);
  if (places == nullptr) return std::nullopt;
  // One holder puts an element; one lane gives the address of each row of a matrix.
  const bool one_lane = side == Side::kPut || Along(gaps.fast, side).matrices.has_value();
  const WarpAddresses lanes =
      AddressesOf(*places, OrderOf(places->shape(), gaps).strides, bytes_ * 8, one_lane);
  const int unit = Unit(gaps.fast, side);
  return Banks{lanes.Wavefronts(unit), lanes.Phases(unit)};
}

ScratchSearch::ScratchSearch(ScratchEnd& from, ScratchEnd& to) : from_(from), to_(to) {
  way_ = WayAlong(from.tile().rank() - 1);
  for (int dim = from.tile().rank() - 2; dim >= 0; --dim) {
    const Way other = WayAlong(dim);
    if (other.puts + other.gets < Accesses()) way_ = other;
  }
}

ScratchSearch::Way ScratchSearch::WayAlong(int fast) const {
  Way out;
  out.fast = fast;
  out.puts = from_.Accesses(fast, Side::kPut);
  out.gets = to_.Accesses(fast, Side::kGet);
  return out;
}

// Takes the gaps if they are better than all before them.
ScratchSearch::Found ScratchSearch::Try(const ScratchGaps& gaps) {
  const auto putting = from_.BanksOf(gaps, Side::kPut);
  if (!putting) return Found::kNoPlaces;
  const auto getting = to_.BanksOf(gaps, Side::kGet);
  if (!getting) return Found::kNoPlaces;
  const int64_t wavefronts = way_.puts * putting->wavefronts + way_.gets * getting->wavefronts;
  if (wavefronts >= way_.wavefronts) return Found::kGoOn;
  way_.wavefronts = wavefronts;
  way_.gaps = gaps;
  way_.has_conflicts = wavefronts > way_.puts * putting->phases + way_.gets * getting->phases;
  return way_.has_conflicts ? Found::kGoOn : Found::kNoConflicts;
}

// Gaps after every row, or every second, fourth or eighth one: rows of less than all banks, which
// an access reads side by side, stay together, and those that another reads at one column part.
ScratchSearch::Found ScratchSearch::TryRows() {
  const int widest = std::max(from_.Unit(way_.fast, Side::kPut), to_.Unit(way_.fast, Side::kGet));
  const int64_t apart = widest > kBankBytes ? kWidestAccess : kBankBytes;
  const int64_t step = std::max<int64_t>(1, apart / from_.bytes());
  for (const int64_t gap : {0, 1, 2, 4}) {
    if (Try({.fast = way_.fast, .inner = gap * step}) == Found::kNoConflicts) {
      return Found::kNoConflicts;
    }
  }
  const int rank = from_.tile().rank();
  if (rank < 2) return Found::kGoOn;
  const int row = way_.fast + 1 == rank ? way_.fast - 1 : rank - 1;
  for (const int64_t group : {2, 4, 8}) {
    for (const int64_t gap : {1, 2, 4, 8}) {
      const ScratchGaps gaps{.fast = way_.fast, .split = row, .group = group, .outer = gap * step};
      const Found found = Try(gaps);
      if (found == Found::kNoConflicts) return found;
      if (found == Found::kNoPlaces) return Found::kGoOn;
    }
  }
  return Found::kGoOn;
}

// Threads that have more than one access side by side meet in banks; gaps between them help.
void ScratchSearch::TryRuns() {
  const int64_t unit = kWidestAccess / from_.bytes();
  const TileLayout& put = from_.Accessed(way_.fast, Side::kPut);
  const int64_t chunk = ChunkAlong(put, way_.fast);
  if (chunk <= from_.Along(way_.fast, Side::kPut).run || put.shape()[Size(way_.fast)] == chunk)
    return;
  for (const int64_t row : {int64_t{0}, unit}) {
    for (const int64_t between : {unit, 2 * unit, 4 * unit}) {
      const Found found = Try(
          {.fast = way_.fast, .split = way_.fast, .group = chunk, .inner = between, .outer = row});
      if (found != Found::kGoOn) return;
    }
  }
}

void ScratchSearch::SearchGaps() {
  if (TryRows() != Found::kNoConflicts) TryRuns();
}

int64_t ScratchSearch::Wavefronts() {
  const int first = way_.fast;
  SearchGaps();
  Way best = way_;
  for (int dim = from_.tile().rank() - 1; dim >= 0 && best.has_conflicts; --dim) {
    way_ = WayAlong(dim);
    if (dim == first || Accesses() >= best.wavefronts) continue;
    SearchGaps();
    if (way_.wavefronts < best.wavefronts) best = way_;
  }
  way_ = best;
  return way_.wavefronts;
}

ScratchPlan ScratchSearch::Plan() const {
  ScratchPlan plan;
  plan.fast = way_.fast;
  plan.put = from_.Along(way_.fast, Side::kPut);
  plan.get = to_.Along(way_.fast, Side::kGet);
  plan.put_places = *from_.Places(way_.gaps, Side::kPut);
  plan.get_places = *to_.Places(way_.gaps, Side::kGet);
  plan.order = OrderOf(plan.put_places.shape(), way_.gaps);
  return plan;
}

ScratchPlan PlanScratch(const TileLayout& from, const TileLayout& to, int bytes, Target target) {
  ScratchEnd put(from, bytes, target), get(to, bytes, target);
  ScratchSearch search(put, get);
  search.Wavefronts();
  return search.Plan();
}

}  // namespace tarsia::compiler
