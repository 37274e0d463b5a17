#include "compiler/passes/access_layouts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/select/access.h"
#include "layout/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

bool ArePowersOfTwo(const Extents& shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](int64_t extent) { return extent > 0 && (extent & (extent - 1)) == 0; });
}

// Gives the elements of a tile to the slots and threads, the innermost first.
class Dealer {
 public:
  Dealer(const Extents& shape, int64_t threads)
      : shape_(shape), threads_(threads), dealt_(shape.size(), 1) {}

  // At most `most` elements along a dimension, where the last ones end.
  int64_t ToSlots(int dim, int64_t most) { return Deal(dim, most, local_); }
  int64_t ToThreads(int dim, int64_t most) {
    const int64_t count = Deal(dim, std::min(most, threads_), spatial_);
    threads_ /= count;
    return count;
  }

  // The rest: to threads in the order of `dims`, then to slots; replicas in the threads that are
  // left.
  Result<TileLayout> Finish(const std::vector<int>& dims) {
    for (const int dim : dims) ToThreads(dim, threads_);
    if (threads_ > 1) spatial_.push_back({RegLayout::kReplication, threads_, 0});
    for (const int dim : dims) ToSlots(dim, shape_[Size(dim)]);
    TARSIA_TRY(RegLayout layout,
               RegLayout::FromDigits(shape_, Outwards(spatial_), Outwards(local_)));
    return TileLayout::Exact(std::move(layout));
  }

 private:
  int64_t Deal(int dim, int64_t most, std::vector<RegLayout::Digit>& digits) {
    int64_t& stride = dealt_[Size(dim)];
    const int64_t count = std::min(most, shape_[Size(dim)] / stride);
    if (count > 1) digits.push_back({dim, count, stride});
    stride *= std::max<int64_t>(1, count);
    return std::max<int64_t>(1, count);
  }

  static RegLayout::Digits Outwards(const std::vector<RegLayout::Digit>& inner_first) {
    RegLayout::Digits out;
    for (auto digit = inner_first.rbegin(); digit != inner_first.rend(); ++digit) {
      out.push_back(*digit);
    }
    return out;
  }

  const Extents& shape_;
  int64_t threads_;
  Extents dealt_;  // by dimension: elements that have a place
  std::vector<RegLayout::Digit> spatial_, local_;
};

// `fast`, then the others from the last to the first.
std::vector<int> Order(const Extents& shape, int fast) {
  std::vector<int> out = {fast};
  for (auto d = static_cast<int>(shape.size()); d-- > 0;) {
    if (d != fast) out.push_back(d);
  }
  return out;
}

}  // namespace

std::vector<TileLayout> LayoutsOfRuns(const AccessedMemory& memory, const Extents& shape,
                                      int64_t threads) {
  constexpr int64_t kWidestBits = 8 * kWidestAccess;
  const int fast = memory.fast >= 0 ? memory.fast : static_cast<int>(shape.size()) - 1;
  int64_t vector = 1;
  while (vector * 2 * memory.type.bits <= kWidestBits) vector *= 2;
  // As few codes as fill accesses of 16 bytes: 128 of 3 bits.
  const int64_t whole = kWidestBits / std::gcd<int64_t>(kWidestBits, memory.type.bits);
  std::vector<int64_t> runs = {whole, vector, std::min(vector, WidestRun(memory))};
  if (memory.type.bits < 8) {
    // As few as fill words; and no more than there are for each thread.
    runs.push_back(32 / std::gcd(32, memory.type.bits));
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    if (elements / threads < vector) runs.push_back(std::max<int64_t>(1, elements / threads));
  }
  std::vector<TileLayout> out;
  for (const int64_t run : runs) {
    for (const bool exact : {false, true}) {
      auto layout = BlockedLayout(shape, threads, run, fast, exact);
      if (layout.ok() && std::find(out.begin(), out.end(), *layout) == out.end()) {
        out.push_back(*std::move(layout));
      }
    }
  }
  return out;
}

std::vector<TileLayout> LayoutsDownRows(const Extents& shape, int64_t threads, int bits, int fast) {
  std::vector<TileLayout> out;
  if (!ArePowersOfTwo(shape) || shape.size() < 2 || bits < 8) return out;
  const int64_t extent = shape[Size(fast)];
  const int64_t vector = std::min(extent, kWidestAccess * 8 / bits);
  const int64_t across = std::min<int64_t>(extent / vector, kWarpThreads);
  const std::vector<int> order = Order(shape, fast);
  Dealer dealer(shape, threads);
  dealer.ToSlots(fast, vector);
  dealer.ToThreads(order[1], kWarpThreads / across);
  dealer.ToThreads(fast, across);
  auto layout = dealer.Finish(order);
  if (layout.ok()) out.push_back(*std::move(layout));
  return out;
}

std::vector<TileLayout> LayoutsOfSectors(const Extents& shape, int64_t threads, int bits,
                                         int fast) {
  std::vector<TileLayout> out;
  if (!ArePowersOfTwo(shape) || bits < 8) return out;
  const int64_t sector = kSectorBytes * 8 / bits;
  const int64_t vector = std::min(shape[Size(fast)], kWidestAccess * 8 / bits);
  const std::vector<int> order = Order(shape, fast);
  for (size_t i = 1; i < order.size(); ++i) {
    const int other = order[i];
    const int64_t lanes = std::max<int64_t>(1, kWarpThreads * vector / sector);
    for (const bool other_first : {false, true}) {
      Dealer dealer(shape, threads);
      // The lanes along the other dimension complete a sector of it.
      const int64_t within = std::max<int64_t>(1, sector / std::min(lanes, shape[Size(other)]));
      if (within == 1 && other_first) continue;
      if (other_first) dealer.ToSlots(other, within);
      dealer.ToSlots(fast, vector);
      if (!other_first) dealer.ToSlots(other, within);
      dealer.ToThreads(fast, std::max<int64_t>(1, sector / vector));
      dealer.ToThreads(other, threads);
      auto layout = dealer.Finish(order);
      if (layout.ok()) out.push_back(*std::move(layout));
    }
    // Elements one by one: a conversion moves as much along the other dimension at once.
    Dealer dealer(shape, threads);
    dealer.ToSlots(other, kWidestAccess * 8 / bits);
    dealer.ToThreads(fast, sector);
    dealer.ToThreads(other, threads);
    auto layout = dealer.Finish(order);
    if (layout.ok()) out.push_back(*std::move(layout));
  }
  return out;
}

}  // namespace tarsia::compiler
