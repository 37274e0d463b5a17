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

ScratchEnd::ScratchEnd(TileLayout layout, int bytes, Target target)
    : tile_(std::move(layout)), bytes_(bytes) {
  for (int dim = 0; dim < tile_.rank(); ++dim) {
    ScratchSide side;
    side.run = RunAlong(tile_, dim, bytes);
    ScratchSide& put = puts_.emplace_back(side);
    side.matrices = FindMatrixLoads(tile_, dim, bytes);
    if (HasMatrixStores(target) && side.matrices && StoresLikeLoads(tile_, *side.matrices)) {
      put.matrices = side.matrices;
    }
    gets_.push_back(std::move(side));
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
  int64_t fewest = INT64_MAX;
  for (int dim = from.tile().rank() - 1; dim >= 0; --dim) {
    const int64_t puts = from.Accesses(dim, Side::kPut), gets = to.Accesses(dim, Side::kGet);
    if (puts + gets >= fewest) continue;
    fewest = puts + gets;
    puts_ = puts;
    gets_ = gets;
    fast_ = dim;
  }
}

// Takes the gaps if they are better than all before them.
ScratchSearch::Found ScratchSearch::Try(const ScratchGaps& gaps) {
  const auto putting = from_.BanksOf(gaps, Side::kPut);
  if (!putting) return Found::kNoPlaces;
  const auto getting = to_.BanksOf(gaps, Side::kGet);
  if (!getting) return Found::kNoPlaces;
  const int64_t wavefronts = puts_ * putting->wavefronts + gets_ * getting->wavefronts;
  if (wavefronts >= fewest_) return Found::kGoOn;
  fewest_ = wavefronts;
  best_ = gaps;
  return wavefronts > puts_ * putting->phases + gets_ * getting->phases ? Found::kGoOn
                                                                        : Found::kNoConflicts;
}

// Gaps after every row, or every second, fourth or eighth one: rows of less than all banks, which
// an access reads side by side, stay together, and those that another reads at one column part.
ScratchSearch::Found ScratchSearch::TryRows() {
  const int widest = std::max(from_.Unit(fast_, Side::kPut), to_.Unit(fast_, Side::kGet));
  const int64_t apart = widest > kBankBytes ? kWidestAccess : kBankBytes;
  const int64_t step = std::max<int64_t>(1, apart / from_.bytes());
  for (const int64_t gap : {0, 1, 2, 4}) {
    if (Try({.fast = fast_, .inner = gap * step}) == Found::kNoConflicts) {
      return Found::kNoConflicts;
    }
  }
  const int rank = from_.tile().rank();
  if (rank < 2) return Found::kGoOn;
  const int row = fast_ + 1 == rank ? fast_ - 1 : rank - 1;
  for (const int64_t group : {2, 4, 8}) {
    for (const int64_t gap : {1, 2, 4}) {
      const ScratchGaps gaps{.fast = fast_, .split = row, .group = group, .outer = gap * step};
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
  const TileLayout& put = from_.Accessed(fast_, Side::kPut);
  const int64_t chunk = ChunkAlong(put, fast_);
  if (chunk <= from_.Along(fast_, Side::kPut).run || put.shape()[Size(fast_)] == chunk) return;
  for (const int64_t row : {int64_t{0}, unit}) {
    for (const int64_t between : {unit, 2 * unit, 4 * unit}) {
      const Found found =
          Try({.fast = fast_, .split = fast_, .group = chunk, .inner = between, .outer = row});
      if (found != Found::kGoOn) return;
    }
  }
}

int64_t ScratchSearch::Wavefronts() {
  if (TryRows() != Found::kNoConflicts) TryRuns();
  return fewest_;
}

ScratchPlan ScratchSearch::Plan() const {
  ScratchPlan plan;
  plan.fast = fast_;
  plan.put = from_.Along(fast_, Side::kPut);
  plan.get = to_.Along(fast_, Side::kGet);
  plan.put_places = *from_.Places(best_, Side::kPut);
  plan.get_places = *to_.Places(best_, Side::kGet);
  plan.order = OrderOf(plan.put_places.shape(), best_);
  return plan;
}

ScratchPlan PlanScratch(const TileLayout& from, const TileLayout& to, int bytes, Target target) {
  ScratchEnd put(from, bytes, target), get(to, bytes, target);
  ScratchSearch search(put, get);
  search.Wavefronts();
  return search.Plan();
}

}  // namespace tarsia::compiler
