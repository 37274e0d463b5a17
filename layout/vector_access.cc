#include "layout/vector_access.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "layout/access.h"
#include "layout/checked.h"
#include "layout/diagnostics.h"

namespace tarsia {
namespace {

constexpr int kWidest = 16;  // bytes
// More places than this are not tried one by one.
constexpr int64_t kMaxPlaces = int64_t{1} << 12;
// Odd, so that a multiple of it has no more factors of two than the other factor, and so large that
// no two elements of a tile are neighbours by accident.
constexpr int64_t kOpenStride = 1000003;

Status CheckFacts(const MemLayout& tensor, const AddressFacts& facts) {
  const auto rank = static_cast<size_t>(tensor.rank());
  for (const Extents* list : {&facts.index_multiples, &facts.stride_multiples}) {
    if (!list->empty() && list->size() != rank) {
      return MakeDiagnostic(diag::kAccessFacts, {}, list->size(), rank);
    }
    for (const int64_t multiple : *list) {
      if (multiple < 0) return MakeDiagnostic(diag::kLayoutExtent, {}, multiple, 0);
    }
  }
  if (facts.pointer_alignment < 1) {
    return MakeDiagnostic(diag::kLayoutExtent, {}, facts.pointer_alignment, 1);
  }
  return OkStatus();
}

// The tensor with each open stride replaced by a number that is divisible by no larger power of two
// than is known. A swizzle moves whole units of 16 bytes, so it does not change the result.
Result<MemLayout> WithOpenStrides(const MemLayout& tensor, const Extents& multiples) {
  if (std::all_of(multiples.begin(), multiples.end(), [](int64_t m) { return m == 0; })) {
    return tensor;
  }
  Extents strides;
  for (int dim = 0; dim < tensor.rank(); ++dim) {
    const bool plain = !tensor.IsPacked() && tensor.modes(dim).size() <= 1;
    if (!plain) return MakeDiagnostic(diag::kAccessOpenStride, {}, dim);
    const int64_t open = multiples[static_cast<size_t>(dim)];
    const int64_t known = tensor.modes(dim).empty() ? 0 : tensor.modes(dim)[0].stride;
    const auto stride =
        open == 0 ? std::optional(known) : CheckedMul(open, kOpenStride + 2 * int64_t{dim});
    if (!stride) return MakeDiagnostic(diag::kLayoutStride, {}, open);
    strides.push_back(*stride);
  }
  return MemLayout::Strided(tensor.shape(), strides);
}

// The places where a tile can begin in a dimension, as far as they matter, and the distance in
// elements from these to all others.
struct Places {
  Extents begins{0};
  int64_t apart = 0;  // elements of memory; 0: there are no others
};

Places PlacesOf(const MemLayout& tensor, int dim, int64_t extent, int64_t multiple) {
  Places out;
  const int64_t last = tensor.shape()[static_cast<size_t>(dim)] - extent;
  if (multiple == 0 || last < multiple) return out;
  // The part of the index that does more than shift all addresses.
  int64_t period = 1;
  if (tensor.IsPacked()) {
    period = tensor.packed().tile.shape()[static_cast<size_t>(dim)];
  } else if (!tensor.modes(dim).empty()) {
    const auto& modes = tensor.modes(dim);
    for (size_t m = 1; m < modes.size(); ++m) period *= modes[m].extent;
    const int64_t turns = multiple / std::gcd(multiple, period);  // of the outermost mode
    if (last / period >= turns) out.apart = modes[0].stride * turns;
  }
  for (int64_t begin = multiple; begin <= last && begin % period != 0; begin += multiple) {
    out.begins.push_back(begin);
  }
  return out;
}

// The largest power of two of bytes, up to kWidest, that divides `bits`; 0 if not even 1 does.
int BytesDividing(int64_t bits) {
  if (bits % 8 != 0) return 0;
  const int64_t bytes = bits / 8;
  if (bytes == 0) return kWidest;
  return static_cast<int>(std::min<int64_t>(bytes & -bytes, kWidest));
}

}  // namespace

Result<int> WidestAccess(const RegLayout& tile, const MemLayout& tensor, int bits,
                         const AddressFacts& facts) {
  TARSIA_CHECK(CheckFacts(tensor, facts));
  if (tile.rank() != tensor.rank()) {
    return MakeDiagnostic(diag::kAccessShape, {}, ToString(tile.shape()), ToString(tensor.shape()));
  }
  TARSIA_TRY(const MemLayout memory, WithOpenStrides(tensor, facts.stride_multiples));
  int widest = BytesDividing(facts.pointer_alignment * 8);
  std::vector<Extents> begins{{}};
  for (int dim = 0; dim < memory.rank(); ++dim) {
    const auto d = static_cast<size_t>(dim);
    const int64_t multiple = facts.index_multiples.empty() ? 0 : facts.index_multiples[d];
    const Places places = PlacesOf(memory, dim, tile.shape()[d], multiple);
    const auto count = static_cast<int64_t>(begins.size() * places.begins.size());
    if (count > kMaxPlaces) {
      return MakeDiagnostic(diag::kLayoutTooLarge, {}, count, kMaxPlaces, "places of the tile");
    }
    if (places.apart != 0) widest = std::min(widest, BytesDividing(places.apart * bits));
    std::vector<Extents> more;
    for (const Extents& begin : begins) {
      for (const int64_t next : places.begins) {
        more.push_back(begin);
        more.back().push_back(next);
      }
    }
    begins = std::move(more);
  }
  for (const Extents& begin : begins) {
    TARSIA_TRY(const MemLayout place, memory.Slice(begin, tile.shape()));
    TARSIA_TRY(const TileAccess access, TileAccess::Make(tile, place, bits));
    if (widest == 0) return 0;
    widest = access.WidestVector(widest);
  }
  return widest;
}

}  // namespace tarsia
