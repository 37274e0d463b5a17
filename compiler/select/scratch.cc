#include "compiler/select/scratch.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "compiler/select/access.h"
#include "compiler/select/warp_addresses.h"
#include "layout/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// A dimension and the elements that are left free after each whole row of it.
struct Nested {
  size_t dim = 0;
  int64_t gap = 0;
};

// Strides of a shape whose dimensions lie in one another: first those of `inner`, from the fastest
// on; then the others, from the last to the first.
ScratchOrder OrderWith(const Extents& shape, std::initializer_list<Nested> inner) {
  ScratchOrder out;
  out.strides.assign(shape.size(), 0);
  int64_t stride = 1;
  for (const Nested& nested : inner) {
    out.strides[nested.dim] = stride;
    stride = stride * shape[nested.dim] + nested.gap;
  }
  for (size_t d = shape.size(); d-- > 0;) {
    if (out.strides[d] != 0) continue;
    out.strides[d] = stride;
    stride *= shape[d];
  }
  out.elements = stride;
  return out;
}

// The bytes of an access of a thread.
int UnitOfSide(const ScratchSide& side, int bytes) {
  return side.matrices ? int{kWidestAccess} : static_cast<int>(side.run) * bytes;
}

// The best gaps for a plan whose accesses and places are known.
class GapSearch {
 public:
  GapSearch(const TileLayout& from, const TileLayout& to, int bytes, const ScratchPlan& plan)
      : put_(plan.put.Accesses(from)),
        get_(plan.get.Accesses(to)),
        put_unit_(UnitOfSide(plan.put, bytes)),
        get_unit_(UnitOfSide(plan.get, bytes)),
        bits_(bytes * 8) {}

  // Takes the order into the plan if it is better than all before it. Does nothing once there is
  // one without conflicts.
  void Try(const TileLayout& put, const TileLayout& get, ScratchOrder order, ScratchPlan& plan) {
    if (!has_conflicts_) return;
    // All slots access as the first one does. One lane gives the address of each row of a matrix.
    const bool one_lane = plan.get.matrices.has_value();
    const WarpAddresses putting = AddressesOf(put, order.strides, bits_, true);
    const int64_t puts = put_ * putting.Wavefronts(put_unit_);
    if (puts + get_ >= fewest_) return;  // a load has one wavefront at least
    const WarpAddresses getting = AddressesOf(get, order.strides, bits_, one_lane);
    const int64_t gets = get_ * getting.Wavefronts(get_unit_);
    if (puts + gets >= fewest_) return;
    fewest_ = puts + gets;
    has_conflicts_ = fewest_ > put_ * putting.Phases(put_unit_) + get_ * getting.Phases(get_unit_);
    plan.put.wavefronts = puts;
    plan.get.wavefronts = gets;
    plan.put_places = put;
    plan.get_places = get;
    plan.order = std::move(order);
  }

  [[nodiscard]] bool has_conflicts() const { return has_conflicts_; }

 private:
  const int64_t put_, get_;
  const int put_unit_, get_unit_, bits_;
  int64_t fewest_ = INT64_MAX;
  bool has_conflicts_ = true;
};

// The tile with one dimension in groups of `group` elements.
struct Grouped {
  TileLayout put, get;
  Extents shape;
};
std::optional<Grouped> InGroups(const TileLayout& put, const TileLayout& get, size_t dim,
                                int64_t group) {
  if (put.padded() || get.padded() || put.shape()[dim] % group != 0) return std::nullopt;
  Extents shape = put.shape();
  shape[dim] /= group;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, group);
  auto put_places = ReshapedLayout(put, shape);
  auto get_places = ReshapedLayout(get, shape);
  if (!put_places || !get_places) return std::nullopt;
  return Grouped{*std::move(put_places), *std::move(get_places), std::move(shape)};
}

// Gaps after every row, or every second, fourth or eighth one: rows of less than all banks, which
// an access reads side by side, stay together, and those that another reads at one column part.
void TryGapsOfRows(const TileLayout& put, const TileLayout& get, int bytes, GapSearch& search,
                   ScratchPlan& plan) {
  const auto fast = Size(plan.fast);
  const bool wide = std::max(UnitOfSide(plan.put, bytes), UnitOfSide(plan.get, bytes)) > kBankBytes;
  const int64_t step = std::max<int64_t>(1, (wide ? kWidestAccess : kBankBytes) / bytes);
  for (const int64_t gap : {0, 1, 2, 4}) {
    search.Try(put, get, OrderWith(put.shape(), {{fast, gap * step}}), plan);
  }
  if (put.rank() < 2) return;
  const size_t row = fast + 1 == Size(put.rank()) ? fast - 1 : Size(put.rank()) - 1;
  for (const int64_t group : {2, 4, 8}) {
    if (!search.has_conflicts()) return;
    const auto grouped = InGroups(put, get, row, group);
    if (!grouped) return;
    const size_t fast_there = fast < row ? fast : fast + 1;
    for (const int64_t gap : {1, 2, 4}) {
      const auto order = OrderWith(grouped->shape, {{fast_there, 0}, {row + 1, gap * step}});
      search.Try(grouped->put, grouped->get, order, plan);
    }
  }
}

// Threads that have more than one access side by side meet in banks; gaps between them help.
void TryGapsOfRuns(const TileLayout& put, const TileLayout& get, int bytes, GapSearch& search,
                   ScratchPlan& plan) {
  const auto fast = Size(plan.fast);
  const int64_t unit = kWidestAccess / bytes;
  const int64_t chunk = ChunkAlong(put, plan.fast);
  if (chunk <= plan.put.run || put.shape()[fast] == chunk || !search.has_conflicts()) return;
  const auto grouped = InGroups(put, get, fast, chunk);
  if (!grouped) return;
  for (const int64_t row : {int64_t{0}, unit}) {
    for (const int64_t between : {unit, 2 * unit, 4 * unit}) {
      const auto order = OrderWith(grouped->shape, {{fast + 1, between}, {fast, row}});
      search.Try(grouped->put, grouped->get, order, plan);
    }
  }
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

ScratchPlan PlanAccesses(const TileLayout& from, const TileLayout& to, int bytes, Target target) {
  ScratchPlan best;
  int64_t fewest = INT64_MAX;
  for (int dim = from.rank() - 1; dim >= 0; --dim) {
    ScratchPlan plan;
    plan.fast = dim;
    plan.put.run = RunAlong(from, dim, bytes);
    if (HasMatrixStores(target)) plan.put.matrices = FindMatrixStores(from, dim, bytes);
    if (plan.put.Accesses(from) + 1 >= fewest) continue;  // the loads are one at least
    plan.get.run = RunAlong(to, dim, bytes);
    plan.get.matrices = FindMatrixLoads(to, dim, bytes);
    const int64_t accesses = plan.put.Accesses(from) + plan.get.Accesses(to);
    if (accesses >= fewest) continue;
    fewest = accesses;
    best = std::move(plan);
  }
  return best;
}

void ChooseOrder(const TileLayout& from, const TileLayout& to, int bytes, ScratchPlan& plan) {
  const TileLayout put = plan.put.matrices ? plan.put.matrices->rows : from;
  const TileLayout get = plan.get.matrices ? plan.get.matrices->rows : to;
  GapSearch search(from, to, bytes, plan);
  TryGapsOfRows(put, get, bytes, search, plan);
  TryGapsOfRuns(put, get, bytes, search, plan);
}

ScratchPlan PlanScratch(const TileLayout& from, const TileLayout& to, int bytes, Target target) {
  ScratchPlan plan = PlanAccesses(from, to, bytes, target);
  ChooseOrder(from, to, bytes, plan);
  return plan;
}

}  // namespace tarsia::compiler
