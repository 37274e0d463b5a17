#include "layout/reg_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "layout/checked.h"
#include "layout/diagnostics.h"
#include "support/extents.h"

namespace tarsia {

using Digit = RegLayout::Digit;
using Digits = RegLayout::Digits;

// Makes layouts of digits; the only place that canonicalises and checks the limits.
class RegLayoutBuilder {
 public:
  // The callers ensure that `spatial` and `local` together factor every dimension of `shape`.
  static Result<RegLayout> Build(Extents shape, Digits spatial, Digits local) {
    if (shape.size() > static_cast<size_t>(kMaxLayoutRank)) {
      return MakeDiagnostic(diag::kLayoutRank, {}, shape.size(), kMaxLayoutRank);
    }
    Merge(spatial);
    Merge(local);
    if (spatial.size() + local.size() > static_cast<size_t>(kMaxLayoutModes)) {
      return MakeDiagnostic(diag::kLayoutTooManyModes, {}, spatial.size() + local.size(),
                            kMaxLayoutModes);
    }
    const int64_t threads = Count(spatial, kMaxLayoutThreads);
    const int64_t slots = Count(local, kMaxLayoutSlots);
    if (threads < 0) return TooLarge(spatial, kMaxLayoutThreads, "threads");
    if (slots < 0) return TooLarge(local, kMaxLayoutSlots, "slots");
    if (threads * slots > kMaxLayoutCells) {
      return MakeDiagnostic(diag::kLayoutTooLarge, {}, fmt::format("{} * {}", threads, slots),
                            kMaxLayoutCells, "threads times slots");
    }
    RegLayout out;
    out.shape_ = std::move(shape);
    out.spatial_ = std::move(spatial);
    out.local_ = std::move(local);
    out.threads_ = threads;
    out.slots_ = slots;
    out.elements_ = Product(out.shape_);
    return out;
  }

  // Drops digits of extent 1 and merges neighbours where the stride of the outer digit is the
  // extent times the stride of the inner one. (For replications that is 0 = k * 0.)
  static void Merge(Digits& digits) {
    size_t kept = 0;
    for (const Digit digit : digits) {
      if (digit.extent == 1) continue;
      Digit* const last = kept == 0 ? nullptr : &digits[kept - 1];
      if (last != nullptr && last->dim == digit.dim &&
          last->stride == digit.extent * digit.stride) {
        // Saturating is enough: Count refuses values near the limit.
        int64_t extent = 0;
        if (__builtin_mul_overflow(last->extent, digit.extent, &extent)) extent = INT64_MAX;
        *last = {digit.dim, extent, digit.stride};
      } else {
        digits[kept++] = digit;
      }
    }
    digits.resize(kept);
  }

 private:
  // The product of the extents, or -1 if it is above the limit.
  static int64_t Count(const Digits& digits, int64_t limit) {
    int64_t product = 1;
    for (const Digit& digit : digits) {
      if (__builtin_mul_overflow(product, digit.extent, &product) || product > limit) return -1;
    }
    return product;
  }

  static Diagnostic TooLarge(const Digits& digits, int64_t limit, const char* what) {
    Extents extents;
    for (const Digit& digit : digits) extents.push_back(digit.extent);
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, ProductText(extents), limit, what);
  }
};

namespace {

Status CheckExtents(std::span<const int64_t> extents) {
  for (const int64_t extent : extents) {
    if (extent < 1) return MakeDiagnostic(diag::kLayoutExtent, {}, extent, 1);
  }
  return OkStatus();
}

Status CheckShape(std::span<const int64_t> shape) {
  if (shape.size() > static_cast<size_t>(kMaxLayoutRank)) {
    return MakeDiagnostic(diag::kLayoutRank, {}, shape.size(), kMaxLayoutRank);
  }
  TARSIA_CHECK(CheckExtents(shape));
  if (!BoundedProduct(shape, kMaxLayoutCells)) {
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, ProductText(shape), kMaxLayoutCells,
                          "elements");
  }
  return OkStatus();
}

// Assigns the modes to the dimensions: the digit of each mode.
Status DigitsOfModes(std::span<const int64_t> shape, std::span<const int64_t> modes,
                     Digits& digits) {
  for (size_t mode = 0; mode < modes.size(); ++mode) digits.push_back({});
  size_t next = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const size_t first = next;
    int64_t reached = 1;
    while (reached < shape[dim] && next < modes.size()) {
      // Both are at most kMaxLayoutCells: CheckShape and the break below.
      if (modes[next] > kMaxLayoutCells) break;
      reached *= modes[next++];
      if (reached > kMaxLayoutCells) break;
    }
    if (reached != shape[dim]) {
      return MakeDiagnostic(diag::kLayoutModes, {}, ToString(modes), ToString(shape), dim,
                            shape[dim], reached);
    }
    int64_t stride = 1;
    for (size_t mode = next; mode-- > first;) {
      digits[mode] = {static_cast<int>(dim), modes[mode], stride};
      stride *= modes[mode];
    }
  }
  for (; next < modes.size(); ++next) {
    if (modes[next] != 1) {
      return MakeDiagnostic(diag::kLayoutModesLeft, {}, ToString(modes), ToString(shape), next,
                            modes[next]);
    }
  }
  return OkStatus();
}

// The digits that a list of mode numbers (and replications) names; marks the modes as used.
Status Select(std::span<const int64_t> list, const Digits& digits, bool local, uint64_t& used,
              Digits& out) {
  for (const int64_t entry : list) {
    if (entry < 0) {
      if (local) return MakeDiagnostic(diag::kLayoutLocalReplication, {});
      if (~entry < 1) return MakeDiagnostic(diag::kLayoutExtent, {}, ~entry, 1);
      out.push_back({RegLayout::kReplication, ~entry, 0});
      continue;
    }
    if (entry >= static_cast<int64_t>(digits.size())) {
      return MakeDiagnostic(diag::kLayoutModeUnknown, {}, entry, digits.size());
    }
    const auto mode = static_cast<size_t>(entry);
    if ((used >> mode & 1) != 0) {
      // If this list does not have the mode, `spatial`, which comes first, has it.
      const bool here = std::find(out.begin(), out.end(), digits[mode]) != out.end();
      return MakeDiagnostic(diag::kLayoutModeTwice, {}, entry, digits[mode].extent,
                            !here   ? "in spatial and in local"
                            : local ? "both times in local"
                                    : "both times in spatial");
    }
    used |= uint64_t{1} << mode;
    out.push_back(digits[mode]);
  }
  return OkStatus();
}

enum class Order { kFirstSlowest, kFirstFastest };

// One mode per dimension, all in one list.
Result<RegLayout> Primitive(std::span<const int64_t> extents, bool local, Order order) {
  TARSIA_CHECK(CheckShape(extents));
  Digits digits;
  for (size_t i = 0; i < extents.size(); ++i) {
    const size_t dim = order == Order::kFirstSlowest ? i : extents.size() - 1 - i;
    digits.push_back({static_cast<int>(dim), extents[dim], 1});
  }
  Extents shape(extents.begin(), extents.end());
  if (local) return RegLayoutBuilder::Build(std::move(shape), {}, std::move(digits));
  return RegLayoutBuilder::Build(std::move(shape), std::move(digits), {});
}

}  // namespace

Result<RegLayout> RegLayout::Make(std::span<const int64_t> shape, std::span<const int64_t> modes,
                                  std::span<const int64_t> spatial,
                                  std::span<const int64_t> local) {
  if (modes.size() > static_cast<size_t>(kMaxLayoutModes)) {
    return MakeDiagnostic(diag::kLayoutTooManyModes, {}, modes.size(), kMaxLayoutModes);
  }
  TARSIA_CHECK(CheckShape(shape));
  TARSIA_CHECK(CheckExtents(modes));
  Digits digits, spatial_digits, local_digits;
  TARSIA_CHECK(DigitsOfModes(shape, modes, digits));
  static_assert(kMaxLayoutModes <= 64, "the modes fit a mask");
  uint64_t used = 0;
  TARSIA_CHECK(Select(spatial, digits, false, used, spatial_digits));
  TARSIA_CHECK(Select(local, digits, true, used, local_digits));
  const auto missing = static_cast<size_t>(std::countr_one(used));
  if (missing < modes.size()) {
    return MakeDiagnostic(diag::kLayoutModeMissing, {}, missing, modes[missing]);
  }
  return RegLayoutBuilder::Build({shape.begin(), shape.end()}, std::move(spatial_digits),
                                 std::move(local_digits));
}

Result<RegLayout> RegLayout::Local(std::span<const int64_t> extents) {
  return Primitive(extents, true, Order::kFirstSlowest);
}

Result<RegLayout> RegLayout::Spatial(std::span<const int64_t> extents) {
  return Primitive(extents, false, Order::kFirstSlowest);
}

Result<RegLayout> RegLayout::ColumnLocal(std::span<const int64_t> extents) {
  return Primitive(extents, true, Order::kFirstFastest);
}

Result<RegLayout> RegLayout::ColumnSpatial(std::span<const int64_t> extents) {
  return Primitive(extents, false, Order::kFirstFastest);
}

Result<RegLayout> RegLayout::Replicate(int64_t count) {
  TARSIA_CHECK(CheckExtents({&count, 1}));
  return RegLayoutBuilder::Build({}, {Digit{kReplication, count, 0}}, {});
}

namespace {

// Modes in the order of the dimensions, then outermost (largest stride) first.
RegLayout::Written WrittenAs(Extents shape, const Digits& spatial, const Digits& local) {
  RegLayout::Written out;
  out.shape = std::move(shape);
  Digits modes;
  for (const auto* list : {&spatial, &local}) {
    for (const Digit& digit : *list) {
      if (digit.dim != RegLayout::kReplication) modes.push_back(digit);
    }
  }
  std::sort(modes.begin(), modes.end(), [](const Digit& a, const Digit& b) {
    return a.dim != b.dim ? a.dim < b.dim : a.stride > b.stride;
  });
  for (const Digit& mode : modes) out.modes.push_back(mode.extent);
  const auto number = [&](const Digit& digit) {
    if (digit.dim == RegLayout::kReplication) return ~digit.extent;
    return static_cast<int64_t>(std::find(modes.begin(), modes.end(), digit) - modes.begin());
  };
  for (const Digit& digit : spatial) out.spatial.push_back(number(digit));
  for (const Digit& digit : local) out.local.push_back(number(digit));
  return out;
}

}  // namespace

RegLayout::Written RegLayout::Write() const { return WrittenAs(shape_, spatial_, local_); }

Result<RegLayout> RegLayout::FromDigits(std::span<const int64_t> shape, const Digits& spatial,
                                        const Digits& local) {
  const auto wide = [](const Digits& digits) {
    Digits out;
    for (const Digit& digit : digits) {
      if (digit.extent != 1) out.push_back(digit);
    }
    return out;
  };
  const Digits threads = wide(spatial), slots = wide(local);
  const Written written = WrittenAs({shape.begin(), shape.end()}, threads, slots);
  TARSIA_TRY(RegLayout out, Make(written.shape, written.modes, written.spatial, written.local));
  TARSIA_TRY(const RegLayout meant, RegLayoutBuilder::Build(written.shape, threads, slots));
  if (out == meant) return out;
  return MakeDiagnostic(diag::kLayoutDigits, {}, ToString(written.modes), ToString(shape));
}

namespace {

// All counts of a layout are below 2^24, so the faster 32-bit division is enough; most divisors are
// powers of two.
static_assert(kMaxLayoutCells < (int64_t{1} << 31));
int64_t Quotient(int64_t a, int64_t b) {
  const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  return (y & (y - 1)) == 0 ? x >> std::countr_zero(y) : x / y;
}
int64_t Remainder(int64_t a, int64_t b) {
  const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  return (y & (y - 1)) == 0 ? x & (y - 1) : x % y;
}

}  // namespace

void RegLayout::Element(int64_t thread, int64_t slot, std::span<int64_t> index) const {
  std::fill(index.begin(), index.end(), 0);
  const auto add = [index](const Digits& list, int64_t number) {
    for (size_t i = list.size(); i-- > 0;) {
      const Digit& digit = list[i];
      if (digit.dim != kReplication) {
        index[static_cast<size_t>(digit.dim)] += Remainder(number, digit.extent) * digit.stride;
      }
      number = Quotient(number, digit.extent);
    }
  };
  add(spatial_, thread);
  add(local_, slot);
}

Holder RegLayout::LocateFirst(std::span<const int64_t> index) const {
  const auto number = [&](const Digits& list) {
    int64_t out = 0;
    for (const Digit& digit : list) {
      out *= digit.extent;
      if (digit.dim == kReplication) continue;
      const auto dim = static_cast<size_t>(digit.dim);
      int64_t value = index[dim];
      if (digit.stride != 1) value = Quotient(value, digit.stride);
      // The outermost mode of a dimension needs no remainder.
      if (digit.stride * digit.extent != shape_[dim]) value = Remainder(value, digit.extent);
      out += value;
    }
    return out;
  };
  return {number(spatial_), number(local_)};
}

std::vector<Holder> RegLayout::Locate(std::span<const int64_t> index) const {
  std::vector<Holder> out;
  const bool replicated = threads_ * slots_ != elements_;
  out.reserve(replicated ? static_cast<size_t>(replication()) : 1);
  out.push_back(LocateFirst(index));
  if (!replicated) return out;
  // From the outermost replication to the innermost, so that threads come out ascending; in place,
  // from the last holder to the first.
  int64_t weight = threads_;
  for (const Digit& digit : spatial_) {
    weight = Quotient(weight, digit.extent);
    if (digit.dim != kReplication) continue;
    const auto count = static_cast<size_t>(digit.extent), before = out.size();
    out.resize(before * count);
    for (size_t i = before; i-- > 0;) {
      const Holder from = out[i];
      for (size_t k = count; k-- > 0;) {
        out[i * count + k] = {from.thread + static_cast<int64_t>(k) * weight, from.slot};
      }
    }
  }
  return out;
}

namespace {

Extents RowMajorStrides(std::span<const int64_t> shape) {
  Extents strides(shape.size());
  tarsia::RowMajorStrides(shape, strides.data());
  return strides;
}

// The row-major element number that each number of a list contributes.
std::vector<uint32_t> Offsets(const Digits& list, const Extents& strides) {
  std::vector<uint32_t> out{0};
  for (const Digit& digit : list) {
    const int64_t step = digit.dim == RegLayout::kReplication
                             ? 0
                             : digit.stride * strides[static_cast<size_t>(digit.dim)];
    std::vector<uint32_t> more;
    more.reserve(out.size() * static_cast<size_t>(digit.extent));
    for (const uint32_t offset : out) {
      for (int64_t i = 0; i < digit.extent; ++i) {
        more.push_back(offset + static_cast<uint32_t>(i * step));
      }
    }
    out = std::move(more);
  }
  return out;
}

}  // namespace

std::vector<uint32_t> RegLayout::LinearTable() const {
  const Extents strides = RowMajorStrides(shape_);
  const std::vector<uint32_t> threads = Offsets(spatial_, strides);
  const std::vector<uint32_t> slots = Offsets(local_, strides);
  std::vector<uint32_t> out;
  out.reserve(threads.size() * slots.size());
  for (const uint32_t thread : threads) {
    for (const uint32_t slot : slots) out.push_back(thread + slot);
  }
  return out;
}

namespace {

// The digits of a list with every stride scaled by the extent of its dimension.
Digits Scaled(const Digits& list, std::span<const int64_t> scale) {
  Digits out = list;
  for (Digit& digit : out) {
    if (digit.dim != RegLayout::kReplication) digit.stride *= scale[static_cast<size_t>(digit.dim)];
  }
  return out;
}

Digits Join(const Digits& a, const Digits& b) {
  Digits out = a;
  out.append(b.begin(), b.end());
  return out;
}

// Shapes of the two operands of a product or division; a shape of rank 0 is extended to the other
// rank.
struct ShapePair {
  Extents a, b;
};
Result<ShapePair> FitRanks(const RegLayout& a, const RegLayout& b) {
  ShapePair out{a.shape(), b.shape()};
  if (out.a.empty()) out.a.assign(out.b.size(), 1);
  if (out.b.empty()) out.b.assign(out.a.size(), 1);
  if (out.a.size() != out.b.size()) {
    return MakeDiagnostic(diag::kLayoutRanksDiffer, {}, ToString(out.a), out.a.size(),
                          ToString(out.b), out.b.size());
  }
  return out;
}

// The shape c with c * b = a.
Result<Extents> DivideShapes(const ShapePair& shapes) {
  Extents out(shapes.a.size());
  for (size_t dim = 0; dim < out.size(); ++dim) {
    if (shapes.a[dim] % shapes.b[dim] != 0) {
      return MakeDiagnostic(diag::kLayoutNotDivisible, {}, ToString(shapes.a), ToString(shapes.b),
                            shapes.a[dim], shapes.b[dim], dim);
    }
    out[dim] = shapes.a[dim] / shapes.b[dim];
  }
  return out;
}

std::string Describe(const Digit* digit) {
  if (digit == nullptr) return "nothing";
  if (digit->dim == RegLayout::kReplication) return fmt::format("~{}", digit->extent);
  return fmt::format("{} of stride {} in dimension {}", digit->extent, digit->stride, digit->dim);
}

Diagnostic NoQuotient(const char* list, const char* where, const Digit* a, const Digit* b) {
  return MakeDiagnostic(diag::kLayoutNoQuotient, {}, list, where, Describe(a), Describe(b));
}

// The number of digits at the end of a and b that agree. Both are canonical, so if a ends in b, all
// digits of b but its first are digits of a as they are; the first may be the inner part of one.
size_t CommonSuffix(const Digits& a, const Digits& b) {
  size_t out = 0;
  while (out < a.size() && out < b.size() && a[a.size() - 1 - out] == b[b.size() - 1 - out]) ++out;
  return out;
}

bool IsInnerPart(const Digit& part, const Digit& whole) {
  return whole.dim == part.dim && whole.stride == part.stride && whole.extent % part.extent == 0;
}

bool EndsIn(const Digits& a, const Digits& b) {
  const size_t same = CommonSuffix(a, b);
  if (same == b.size()) return true;
  return same + 1 == b.size() && same < a.size() && IsInnerPart(b[0], a[a.size() - 1 - same]);
}

// a without the suffix b.
Result<Digits> DropSuffix(Digits a, const Digits& b, const char* list) {
  const size_t same = CommonSuffix(a, b);
  const bool ends = EndsIn(a, b);
  a.resize(a.size() - same);
  if (same == b.size()) return a;
  const Digit& next = b[b.size() - 1 - same];
  if (!ends) return NoQuotient(list, "ends in", a.empty() ? nullptr : &a.back(), &next);
  a.back() = {next.dim, a.back().extent / next.extent, next.stride * next.extent};
  return a;
}

// a without the prefix b (its strides already scaled to a's); the last digit of b may be the
// outer part of one of a.
Result<Digits> DropPrefix(const Digits& a, const Digits& b, const char* list) {
  size_t next = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const Digit* first = next < a.size() ? &a[next] : nullptr;
    if (first != nullptr && *first == b[i]) {
      ++next;
      continue;
    }
    const bool part = i + 1 == b.size() && first != nullptr && first->dim == b[i].dim &&
                      first->extent % b[i].extent == 0 &&
                      first->stride * (first->extent / b[i].extent) == b[i].stride;
    if (!part) return NoQuotient(list, "continues with", first, &b[i]);
    Digits out(a.begin() + next, a.end());
    out.front() = {b[i].dim, first->extent / b[i].extent, first->stride};
    return out;
  }
  return Digits(a.begin() + next, a.end());
}

void Unscale(Digits& list, std::span<const int64_t> scale) {
  for (Digit& digit : list) {
    if (digit.dim != RegLayout::kReplication) digit.stride /= scale[static_cast<size_t>(digit.dim)];
  }
}

// Which dimensions a list names, each at most once.
Result<std::vector<bool>> Dims(std::span<const int64_t> dims, size_t rank) {
  std::vector<bool> named(rank);
  for (const int64_t dim : dims) {
    if (dim < 0 || dim >= static_cast<int64_t>(rank)) {
      return MakeDiagnostic(diag::kLayoutDim, {}, dim, rank);
    }
    if (named[static_cast<size_t>(dim)]) return MakeDiagnostic(diag::kLayoutDimTwice, {}, dim);
    named[static_cast<size_t>(dim)] = true;
  }
  return named;
}

// The digits with dimension d renamed to to[d].
Digits Renamed(const Digits& list, std::span<const int> to) {
  Digits out = list;
  for (Digit& digit : out) {
    if (digit.dim != RegLayout::kReplication) digit.dim = to[static_cast<size_t>(digit.dim)];
  }
  return out;
}

}  // namespace

Result<RegLayout> Product(const RegLayout& a, const RegLayout& b) {
  TARSIA_TRY(const ShapePair shapes, FitRanks(a, b));
  Extents shape = shapes.a;
  for (size_t dim = 0; dim < shape.size(); ++dim) shape[dim] *= shapes.b[dim];
  if (!BoundedProduct(shape, kMaxLayoutCells)) {
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, ProductText(shape), kMaxLayoutCells,
                          "elements");
  }
  return RegLayoutBuilder::Build(std::move(shape), Join(Scaled(a.spatial(), shapes.b), b.spatial()),
                                 Join(Scaled(a.local(), shapes.b), b.local()));
}

Result<RegLayout> Divide(const RegLayout& a, const RegLayout& b) {
  TARSIA_TRY(const ShapePair shapes, FitRanks(a, b));
  TARSIA_TRY(Extents shape, DivideShapes(shapes));
  TARSIA_TRY(Digits spatial, DropSuffix(a.spatial(), b.spatial(), "spatial"));
  TARSIA_TRY(Digits local, DropSuffix(a.local(), b.local(), "local"));
  Unscale(spatial, shapes.b);
  Unscale(local, shapes.b);
  return RegLayoutBuilder::Build(std::move(shape), std::move(spatial), std::move(local));
}

bool Divides(const RegLayout& a, const RegLayout& b) {
  const Extents& shape = b.shape();
  if (!a.shape().empty() && !shape.empty()) {
    if (a.shape().size() != shape.size()) return false;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (a.shape()[dim] % shape[dim] != 0) return false;
    }
  } else if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; })) {
    return false;
  }
  return EndsIn(a.spatial(), b.spatial()) && EndsIn(a.local(), b.local());
}

Result<RegLayout> LeftDivide(const RegLayout& a, const RegLayout& b) {
  TARSIA_TRY(const ShapePair shapes, FitRanks(a, b));
  TARSIA_TRY(Extents shape, DivideShapes(shapes));
  TARSIA_TRY(Digits spatial, DropPrefix(a.spatial(), Scaled(b.spatial(), shape), "spatial"));
  TARSIA_TRY(Digits local, DropPrefix(a.local(), Scaled(b.local(), shape), "local"));
  return RegLayoutBuilder::Build(std::move(shape), std::move(spatial), std::move(local));
}

Result<RegLayout> Reduce(const RegLayout& a, std::span<const int64_t> dims, bool keepdims) {
  TARSIA_TRY(const std::vector<bool> reduced, Dims(dims, a.shape().size()));
  Extents shape;
  std::vector<int> to(a.shape().size());
  for (size_t dim = 0; dim < to.size(); ++dim) {
    to[dim] = static_cast<int>(shape.size());
    if (!reduced[dim]) {
      shape.push_back(a.shape()[dim]);
    } else if (keepdims) {
      shape.push_back(1);
    }
  }
  const auto is_reduced = [&](const Digit& digit) {
    return digit.dim != RegLayout::kReplication && reduced[static_cast<size_t>(digit.dim)];
  };
  Digits spatial = a.spatial();
  for (Digit& digit : spatial) {
    if (is_reduced(digit)) digit = {RegLayout::kReplication, digit.extent, 0};
  }
  Digits local = a.local();
  local.resize(
      static_cast<size_t>(std::remove_if(local.begin(), local.end(), is_reduced) - local.begin()));
  return RegLayoutBuilder::Build(std::move(shape), Renamed(spatial, to), Renamed(local, to));
}

Result<RegLayout> Permute(const RegLayout& a, std::span<const int64_t> order) {
  const size_t rank = a.shape().size();
  const Result<std::vector<bool>> named = Dims(order, rank);
  if (!named.ok() || order.size() != rank) {
    return MakeDiagnostic(diag::kLayoutOrder, {}, ToString(order), rank);
  }
  Extents shape(rank);
  std::vector<int> to(rank);
  for (size_t dim = 0; dim < rank; ++dim) {
    const auto from = static_cast<size_t>(order[dim]);
    shape[dim] = a.shape()[from];
    to[from] = static_cast<int>(dim);
  }
  return RegLayoutBuilder::Build(std::move(shape), Renamed(a.spatial(), to),
                                 Renamed(a.local(), to));
}

namespace {

// The digits of a list as those of one row-major dimension, neighbours joined across dimensions.
Digits Linear(const Digits& list, const Extents& strides) {
  Digits out = list;
  for (Digit& digit : out) {
    if (digit.dim == RegLayout::kReplication) continue;
    digit.stride *= strides[static_cast<size_t>(digit.dim)];
    digit.dim = 0;
  }
  RegLayoutBuilder::Merge(out);
  return out;
}

// Cuts a linear digit at the dimensions of `shape`; appends the pieces.
Status Cut(Digit digit, const Extents& old_shape, std::span<const int64_t> shape, Digits& out) {
  const Extents strides = RowMajorStrides(shape);
  Digits pieces;  // innermost first
  for (size_t dim = shape.size(); dim-- > 0 && digit.extent > 1;) {
    const int64_t end = strides[dim] * shape[dim];
    if (digit.stride >= end) continue;
    const int64_t room = end / digit.stride;
    const int64_t piece = std::min(digit.extent, room);
    if (digit.stride % strides[dim] != 0 || end % digit.stride != 0 || room % piece != 0 ||
        digit.extent % piece != 0) {
      return MakeDiagnostic(diag::kLayoutReshapeSplit, {}, ToString(old_shape), ToString(shape),
                            digit.extent, digit.stride, dim, room);
    }
    pieces.push_back({static_cast<int>(dim), piece, digit.stride / strides[dim]});
    digit.extent /= piece;
    digit.stride *= piece;
  }
  for (size_t i = pieces.size(); i-- > 0;) out.push_back(pieces[i]);
  return OkStatus();
}

Result<Digits> Recut(const Digits& list, const Extents& old_shape, std::span<const int64_t> shape) {
  Digits out;
  for (const Digit& digit : Linear(list, RowMajorStrides(old_shape))) {
    if (digit.dim == RegLayout::kReplication) {
      out.push_back(digit);
    } else {
      TARSIA_CHECK(Cut(digit, old_shape, shape, out));
    }
  }
  return out;
}

}  // namespace

Result<RegLayout> Reshape(const RegLayout& a, std::span<const int64_t> shape) {
  TARSIA_CHECK(CheckShape(shape));
  const int64_t elements = Product(shape);
  if (elements != a.elements()) {
    return MakeDiagnostic(diag::kLayoutReshapeSize, {}, ToString(a.shape()), ToString(shape),
                          a.elements(), elements);
  }
  TARSIA_TRY(Digits spatial, Recut(a.spatial(), a.shape(), shape));
  TARSIA_TRY(Digits local, Recut(a.local(), a.shape(), shape));
  return RegLayoutBuilder::Build({shape.begin(), shape.end()}, std::move(spatial),
                                 std::move(local));
}

Result<RegLayout> Flatten(const RegLayout& a) {
  const int64_t elements = a.elements();
  return Reshape(a, {&elements, 1});
}

Result<RegLayout> Squeeze(const RegLayout& a, std::span<const int64_t> dims) {
  TARSIA_TRY(const std::vector<bool> dropped, Dims(dims, a.shape().size()));
  Extents shape;
  for (size_t dim = 0; dim < a.shape().size(); ++dim) {
    if (!dropped[dim]) {
      shape.push_back(a.shape()[dim]);
    } else if (a.shape()[dim] != 1) {
      return MakeDiagnostic(diag::kLayoutSqueeze, {}, dim, a.shape()[dim]);
    }
  }
  return Reshape(a, shape);
}

Result<RegLayout> Unsqueeze(const RegLayout& a, std::span<const int64_t> dims) {
  const size_t rank = a.shape().size() + dims.size();
  if (rank > static_cast<size_t>(kMaxLayoutRank)) {
    return MakeDiagnostic(diag::kLayoutRank, {}, rank, kMaxLayoutRank);
  }
  TARSIA_TRY(const std::vector<bool> added, Dims(dims, rank));
  Extents shape;
  auto next = a.shape().begin();
  for (size_t dim = 0; dim < rank; ++dim) shape.push_back(added[dim] ? 1 : *next++);
  return Reshape(a, shape);
}

Result<RegLayout> Concat(const RegLayout& a, const RegLayout& b) {
  Extents shape = a.shape();
  shape.insert(shape.end(), b.shape().begin(), b.shape().end());
  TARSIA_CHECK(CheckShape(shape));
  std::vector<int> to(b.shape().size());
  std::iota(to.begin(), to.end(), a.rank());
  return RegLayoutBuilder::Build(std::move(shape), Join(a.spatial(), Renamed(b.spatial(), to)),
                                 Join(a.local(), Renamed(b.local(), to)));
}

std::string ToString(std::span<const int64_t> values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ", ", values[i]);
  }
  return out + "]";
}

std::string ProductText(std::span<const int64_t> values) {
  return fmt::format("{}", fmt::join(values, " * "));
}

std::string ToString(const RegLayout& layout) {
  const RegLayout::Written written = layout.Write();
  std::string spatial;
  for (const int64_t entry : written.spatial) {
    if (!spatial.empty()) spatial += ", ";
    spatial += entry < 0 ? fmt::format("~{}", ~entry) : fmt::format("{}", entry);
  }
  return fmt::format("layout(shape={}, modes={}, spatial=[{}], local={})", ToString(written.shape),
                     ToString(written.modes), spatial, ToString(written.local));
}

}  // namespace tarsia
