#include "layout/mem_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "layout/checked.h"
#include "layout/diagnostics.h"
#include "layout/packed_words.h"
#include "support/extents.h"

namespace tarsia {

using Mode = MemLayout::Mode;

namespace {

Status CheckMemoryShape(std::span<const int64_t> shape) {
  if (shape.size() > static_cast<size_t>(kMaxLayoutRank)) {
    return MakeDiagnostic(diag::kLayoutRank, {}, shape.size(), kMaxLayoutRank);
  }
  for (const int64_t extent : shape) {
    if (extent < 0) return MakeDiagnostic(diag::kLayoutExtent, {}, extent, 0);
    // Also where another extent is 0, so that strides stay within bounds.
    if (extent > kMaxMemoryElements) {
      return MakeDiagnostic(diag::kLayoutTooLarge, {}, extent, kMaxMemoryElements, "elements");
    }
  }
  if (!BoundedProduct(shape, kMaxMemoryElements)) {
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, ProductText(shape), kMaxMemoryElements,
                          "elements");
  }
  return OkStatus();
}

// Refuses strides whose largest offset exceeds the limit.
Status CheckReach(const std::vector<std::vector<Mode>>& dims) {
  int64_t reach = 0;
  for (const auto& modes : dims) {
    for (const Mode& mode : modes) {
      if (mode.stride < 0) return MakeDiagnostic(diag::kLayoutStride, {}, mode.stride);
      const auto span = CheckedMul(std::max<int64_t>(mode.extent - 1, 0), mode.stride);
      const auto sum = span ? CheckedAdd(reach, *span) : std::nullopt;
      if (!sum || *sum >= kMaxMemoryElements) {
        return MakeDiagnostic(
            diag::kLayoutTooLarge, {},
            fmt::format("a reach of {} + ({} - 1) * {}", reach, mode.extent, mode.stride),
            kMaxMemoryElements, "elements of memory");
      }
      reach = *sum;
    }
  }
  return OkStatus();
}

// Drops modes of extent 1 and merges neighbours that form one stride.
std::vector<Mode> Merged(const std::vector<Mode>& modes) {
  std::vector<Mode> out;
  for (const Mode& mode : modes) {
    if (mode.extent == 1) continue;
    if (!out.empty() && CheckedMul(mode.extent, mode.stride) == out.back().stride) {
      out.back() = {out.back().extent * mode.extent, mode.stride};
    } else {
      out.push_back(mode);
    }
  }
  return out;
}

Result<MemLayout> Dense(std::span<const int64_t> shape, bool last_fastest) {
  TARSIA_CHECK(CheckMemoryShape(shape));
  Extents strides(shape.size());
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t dim = last_fastest ? shape.size() - 1 - i : i;
    strides[dim] = stride;
    const auto next = CheckedMul(stride, std::max<int64_t>(shape[dim], 1));
    if (!next) {
      return MakeDiagnostic(diag::kLayoutTooLarge, {}, ProductText(shape), kMaxMemoryElements,
                            "elements");
    }
    stride = *next;
  }
  return MemLayout::Strided(shape, strides);
}

}  // namespace

Result<Swizzle> MakeSwizzle(int64_t base, int64_t bits, int64_t shift) {
  const bool fits = base >= 4 && bits >= 1 && shift >= 1 && base <= 32 && bits <= 32 &&
                    shift <= 32 && base + bits + shift <= 32;
  if (!fits) return MakeDiagnostic(diag::kLayoutSwizzle, {}, base, bits, shift);
  return Swizzle{static_cast<int>(base), static_cast<int>(bits), static_cast<int>(shift)};
}

Result<MemLayout> MemLayout::FromModes(std::span<const int64_t> shape,
                                       std::vector<std::vector<Mode>> dims) {
  TARSIA_CHECK(CheckMemoryShape(shape));
  TARSIA_CHECK(CheckReach(dims));
  MemLayout out;
  out.shape_.assign(shape.begin(), shape.end());
  out.whole_ = out.shape_;
  out.origin_.assign(shape.size(), 0);
  for (auto& modes : dims) modes = Merged(modes);
  out.dims_ = std::move(dims);
  return out;
}

Result<MemLayout> MemLayout::RowMajor(std::span<const int64_t> shape) { return Dense(shape, true); }

Result<MemLayout> MemLayout::ColumnMajor(std::span<const int64_t> shape) {
  return Dense(shape, false);
}

Result<MemLayout> MemLayout::Strided(std::span<const int64_t> shape,
                                     std::span<const int64_t> strides) {
  if (strides.size() != shape.size()) {
    return MakeDiagnostic(diag::kLayoutStrides, {}, strides.size(), shape.size());
  }
  std::vector<std::vector<Mode>> dims;
  for (size_t dim = 0; dim < shape.size(); ++dim) dims.push_back({{shape[dim], strides[dim]}});
  return FromModes(shape, std::move(dims));
}

Result<MemLayout> MemLayout::Strided(std::span<const int64_t> shape, std::span<const int64_t> modes,
                                     std::span<const int64_t> strides) {
  if (modes.size() > static_cast<size_t>(kMaxLayoutModes)) {
    return MakeDiagnostic(diag::kLayoutTooManyModes, {}, modes.size(), kMaxLayoutModes);
  }
  if (strides.size() != modes.size()) {
    return MakeDiagnostic(diag::kLayoutStrides, {}, strides.size(), modes.size());
  }
  TARSIA_CHECK(CheckMemoryShape(shape));
  std::vector<std::vector<Mode>> dims(shape.size());
  size_t next = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t reached = 1;
    while (reached != shape[dim] && next < modes.size()) {
      if (modes[next] < 0) return MakeDiagnostic(diag::kLayoutExtent, {}, modes[next], 0);
      const auto product = CheckedMul(reached, modes[next]);
      if (!product || *product > kMaxMemoryElements) break;
      reached = *product;
      dims[dim].push_back({modes[next], strides[next]});
      ++next;
      if (reached == 0) break;
    }
    if (reached != shape[dim]) {
      return MakeDiagnostic(diag::kLayoutModes, {}, tarsia::ToString(modes),
                            tarsia::ToString(shape), dim, shape[dim], reached);
    }
  }
  for (; next < modes.size(); ++next) {
    if (modes[next] != 1) {
      return MakeDiagnostic(diag::kLayoutModesLeft, {}, tarsia::ToString(modes),
                            tarsia::ToString(shape), next, modes[next]);
    }
  }
  return FromModes(shape, std::move(dims));
}

Result<MemLayout> MemLayout::WithSwizzle(Swizzle swizzle) const {
  if (IsPacked()) return MakeDiagnostic(diag::kLayoutSwizzlePacked, {});
  if (swizzles_.size() >= static_cast<size_t>(kMaxLayoutModes)) {
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, swizzles_.size() + 1, kMaxLayoutModes,
                          "swizzles");
  }
  TARSIA_TRY(swizzle, MakeSwizzle(swizzle.base, swizzle.bits, swizzle.shift));
  MemLayout out = *this;
  out.swizzles_.push_back(swizzle);
  return out;
}

Status CheckPacked(const RegLayout& tile, const BitLayout& bits) {
  if (tile.replication() != 1) {
    return MakeDiagnostic(diag::kPackedReplication, {}, tile.replication());
  }
  if (tile.threads() % 32 != 0) return MakeDiagnostic(diag::kPackedThreads, {}, tile.threads());
  if (tile.slots() != bits.count()) {
    return MakeDiagnostic(diag::kPackedCount, {}, tile.slots(), bits.count());
  }
  // The padding of the words is below 32 bits a thread, so this bounds the tile's bits too.
  if (tile.elements() * bits.bits() > kMaxPackedTileBits) {
    return MakeDiagnostic(diag::kPackedTooLarge, {}, tile.elements(), bits.bits(),
                          kMaxPackedTileBits);
  }
  return OkStatus();
}

namespace {

std::shared_ptr<const PackedTile> Tabulate(const RegLayout& tile, const BitLayout& bits) {
  auto out = std::make_shared<PackedTile>();
  out->tile = tile;
  out->bits = bits;
  out->tile_bits = tile.threads() * bits.words() * 32;
  std::vector<PackedWord> words;
  for (int64_t word = 0; word < bits.words(); ++word) {
    words.push_back(PlaceOfPackedWord(tile.threads(), bits.words(), word));
  }
  const int width = bits.bits();
  out->places.resize(static_cast<size_t>(tile.elements() * width));
  std::vector<uint8_t> complement(static_cast<size_t>(tile.elements()));
  const std::vector<uint32_t> elements = tile.LinearTable();
  bool any = false;
  for (int64_t thread = 0; thread < tile.threads(); ++thread) {
    for (int64_t slot = 0; slot < tile.slots(); ++slot) {
      const size_t element = elements[static_cast<size_t>(thread * tile.slots() + slot)];
      complement[element] = static_cast<uint8_t>(bits.Complement(slot));
      any = any || complement[element] != 0;
      for (int bit = 0; bit < width; ++bit) {
        const BitPlace place = bits.Place(slot, bit);
        const int64_t word = words[place.word].first + thread * words[place.word].piece;
        out->places[element * static_cast<size_t>(width) + static_cast<size_t>(bit)] =
            static_cast<uint32_t>(word * 32 + place.bit);
      }
    }
  }
  if (any) out->complement = std::move(complement);
  return out;
}

}  // namespace

Result<MemLayout> MemLayout::Packed(const RegLayout& tile, const BitLayout& bits,
                                    std::span<const int64_t> shape) {
  TARSIA_CHECK(CheckMemoryShape(shape));
  if (tile.shape().size() != shape.size()) {
    return MakeDiagnostic(diag::kPackedRank, {}, tile.rank(), shape.size());
  }
  MemLayout out;
  TARSIA_CHECK(CheckPacked(tile, bits));
  out.packed_ = Tabulate(tile, bits);
  out.shape_.assign(shape.begin(), shape.end());
  out.whole_ = out.shape_;
  out.origin_.assign(shape.size(), 0);
  Extents padded;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const int64_t extent = tile.shape()[dim];
    out.tiles_.push_back(shape[dim] / extent + (shape[dim] % extent != 0 ? 1 : 0));
    padded.push_back(out.tiles_.back() * extent);
  }
  if (!BoundedProduct(padded, kMaxMemoryElements)) {
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, ProductText(padded), kMaxMemoryElements,
                          "elements with padding");
  }
  return out;
}

int64_t MemLayout::elements() const {
  return std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
}

int64_t MemLayout::ElementOffset(std::span<const int64_t> index) const {
  int64_t offset = 0;
  for (size_t dim = 0; dim < dims_.size(); ++dim) {
    const std::vector<Mode>& modes = dims_[dim];
    int64_t i = index[dim] + origin_[dim];
    for (size_t m = modes.size(); m-- > 1;) {
      offset += i % modes[m].extent * modes[m].stride;
      i /= modes[m].extent;
    }
    if (!modes.empty()) offset += i * modes[0].stride;
  }
  return offset;
}

MemLayout::TileElement MemLayout::InTile(std::span<const int64_t> index) const {
  const Extents& extents = packed_->tile.shape();
  TileElement out;
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    const int64_t i = index[dim] + origin_[dim];
    out.tile = out.tile * tiles_[dim] + i / extents[dim];
    out.element = out.element * extents[dim] + i % extents[dim];
  }
  return out;
}

uint64_t MemLayout::BitAddress(std::span<const int64_t> index, int bits, int bit) const {
  if (IsPacked()) {
    const TileElement at = InTile(index);
    return static_cast<uint64_t>(at.tile * packed_->tile_bits) +
           packed_->places[static_cast<size_t>(at.element * bits + bit)];
  }
  const auto at = static_cast<uint64_t>(ElementOffset(index) * bits + bit);
  if (swizzles_.empty()) return at;
  uint64_t byte = at / 8;
  for (const Swizzle& swizzle : swizzles_) byte = swizzle.Apply(byte);
  return byte * 8 + at % 8;
}

uint64_t MemLayout::Complement(std::span<const int64_t> index) const {
  if (!IsPacked() || packed_->complement.empty()) return 0;
  return packed_->complement[static_cast<size_t>(InTile(index).element)];
}

std::vector<uint32_t> MemLayout::UsedBits(int64_t tile) const {
  std::vector<uint32_t> out(static_cast<size_t>(packed_->tile_bits / 32));
  const Extents& extents = packed_->tile.shape();
  Extents first(extents.size());
  for (size_t dim = extents.size(); dim-- > 0;) {
    first[dim] = tile % tiles_[dim] * extents[dim];
    tile /= tiles_[dim];
  }
  const int width = packed_->bits.bits();
  for (int64_t element = 0; element < packed_->tile.elements(); ++element) {
    int64_t rest = element;
    bool inside = true;
    for (size_t dim = extents.size(); dim-- > 0;) {
      inside = inside && first[dim] + rest % extents[dim] < whole_[dim];
      rest /= extents[dim];
    }
    for (int bit = 0; inside && bit < width; ++bit) {
      const uint32_t at = packed_->places[static_cast<size_t>(element * width + bit)];
      out[at / 32] |= uint32_t{1} << at % 32;
    }
  }
  return out;
}

uint64_t MemLayout::SizeBits(int bits) const {
  if (HasZero(whole_)) return 0;
  if (IsPacked()) {
    return static_cast<uint64_t>(Product(tiles_) * packed_->tile_bits);
  }
  int64_t last = 0;
  for (const auto& modes : dims_) {
    for (const Mode& mode : modes) last += (mode.extent - 1) * mode.stride;
  }
  uint64_t size = static_cast<uint64_t>(last + 1) * static_cast<uint64_t>(bits);
  for (const Swizzle& swizzle : swizzles_) {
    const auto block = static_cast<uint64_t>(swizzle.Block()) * 8;
    size = (size + block - 1) / block * block;
  }
  return size;
}

uint64_t MemLayout::SizeBytes(int bits) const {
  const uint64_t size = SizeBits(bits);
  return size / 8 + (size % 8 != 0 ? 1 : 0);
}

int64_t MemLayout::Alignment() const {
  if (IsPacked()) return 16;
  int64_t out = 1;
  for (const Swizzle& swizzle : swizzles_) out = std::max(out, swizzle.Period());
  return out;
}

std::optional<MemLayout::Affine> MemLayout::AsAffine() const {
  if (IsPacked() || !swizzles_.empty()) return std::nullopt;
  Affine out;
  for (size_t dim = 0; dim < dims_.size(); ++dim) {
    if (dims_[dim].size() > 1) return std::nullopt;
    const int64_t stride = dims_[dim].empty() ? 0 : dims_[dim][0].stride;
    out.strides.push_back(stride);
    out.offset += origin_[dim] * stride;
  }
  return out;
}

bool MemLayout::IsRowMajor() const {
  if (shape_ != whole_) return false;
  const std::optional<Affine> affine = AsAffine();
  if (!affine) return false;
  int64_t stride = 1;
  for (size_t dim = shape_.size(); dim-- > 0;) {
    if (shape_[dim] != 1 && affine->strides[dim] != stride) return false;
    stride *= std::max<int64_t>(shape_[dim], 1);
  }
  return true;
}

bool MemLayout::RowsAreContiguous() const {
  if (IsPacked() || !swizzles_.empty()) return false;
  if (shape_.empty() || shape_.back() <= 1) return true;
  return dims_.back().size() == 1 && dims_.back()[0].stride == 1;
}

bool MemLayout::IsInjective() const {
  if (IsPacked() || HasZero(whole_)) return true;
  std::vector<Mode> modes;
  for (const auto& dim : dims_) modes.insert(modes.end(), dim.begin(), dim.end());
  std::sort(modes.begin(), modes.end(),
            [](const Mode& a, const Mode& b) { return a.stride < b.stride; });
  int64_t span = 1;
  for (const Mode& mode : modes) {
    if (mode.stride < span) return false;
    span += (mode.extent - 1) * mode.stride;
  }
  return true;
}

Result<MemLayout> MemLayout::Slice(std::span<const int64_t> offsets,
                                   std::span<const int64_t> shape) const {
  if (offsets.size() != shape_.size() || shape.size() != shape_.size()) {
    return MakeDiagnostic(diag::kLayoutSliceRank, {}, offsets.size(), shape.size(), shape_.size());
  }
  MemLayout out = *this;
  for (size_t dim = 0; dim < shape_.size(); ++dim) {
    const std::optional<int64_t> end = CheckedAdd(offsets[dim], shape[dim]);
    if (offsets[dim] < 0 || shape[dim] < 0 || !end || *end > shape_[dim]) {
      return MakeDiagnostic(diag::kLayoutSlice, {}, offsets[dim], end.value_or(INT64_MAX), dim,
                            shape_[dim]);
    }
    out.shape_[dim] = shape[dim];
    out.origin_[dim] += offsets[dim];
  }
  return out;
}

bool operator==(const MemLayout& a, const MemLayout& b) {
  if (a.shape_ != b.shape_ || a.origin_ != b.origin_ || a.whole_ != b.whole_ ||
      a.dims_ != b.dims_ || a.swizzles_ != b.swizzles_ || a.IsPacked() != b.IsPacked()) {
    return false;
  }
  return a.packed_ == b.packed_ ||
         (a.packed_->tile == b.packed_->tile && a.packed_->bits == b.packed_->bits);
}

MemLayoutFamily MemLayoutFamily::Of(MemLayout layout) {
  MemLayoutFamily out;
  out.kind = Kind::kConcrete;
  out.concrete = std::move(layout);
  return out;
}

Result<MemLayout> Apply(const MemLayoutFamily& family, std::span<const int64_t> shape, DType type) {
  const auto swizzled = [&](Result<MemLayout> layout) -> Result<MemLayout> {
    for (const Swizzle& swizzle : family.swizzles) {
      if (!layout.ok()) return layout;
      layout = layout->WithSwizzle(swizzle);
    }
    return layout;
  };
  switch (family.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
      return swizzled(MemLayout::RowMajor(shape));
    case MemLayoutFamily::Kind::kColumnMajor:
      return swizzled(MemLayout::ColumnMajor(shape));
    case MemLayoutFamily::Kind::kPacked: {
      TARSIA_TRY(const BitLayout bits, family.bits.Apply(type, family.tile.slots()));
      return MemLayout::Packed(family.tile, bits, shape);
    }
    case MemLayoutFamily::Kind::kConcrete:
      break;
  }
  const MemLayout& concrete = family.concrete;
  if (!std::equal(shape.begin(), shape.end(), concrete.shape().begin(), concrete.shape().end())) {
    return MakeDiagnostic(diag::kLayoutShape, {}, ToString(concrete.shape()), ToString(shape));
  }
  if (concrete.IsPacked() && concrete.packed().bits.type() != type) {
    return MakeDiagnostic(diag::kPackedType, {}, DTypeName(concrete.packed().bits.type()),
                          DTypeName(type));
  }
  return concrete;
}

namespace {

// Wraps the text of a layout in its swizzles, the first one innermost.
std::string Swizzled(std::string text, const std::vector<Swizzle>& swizzles) {
  for (const Swizzle& swizzle : swizzles) {
    text = fmt::format("swizzle({}, {}, {}, {})", text, swizzle.base, swizzle.bits, swizzle.shift);
  }
  return text;
}

std::string Call(const char* name, std::span<const int64_t> extents) {
  const std::string list = ToString(extents);
  return fmt::format("{}({})", name, std::string_view(list).substr(1, list.size() - 2));
}

}  // namespace

std::string ToString(const MemLayout& layout) {
  if (layout.IsPacked()) {
    return fmt::format("packed({}, {})", ToString(layout.packed().tile),
                       ToString(layout.packed().bits));
  }
  const Extents& shape = layout.whole_;
  Extents modes, strides;
  bool plain = true;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    plain = plain && layout.dims_[dim].size() <= 1;
    for (const Mode& mode : layout.dims_[dim]) {
      modes.push_back(mode.extent);
      strides.push_back(mode.stride);
    }
  }
  if (!plain) {
    return Swizzled(fmt::format("strided(shape={}, modes={}, strides={})", ToString(shape),
                                ToString(modes), ToString(strides)),
                    layout.swizzles_);
  }
  // Rank 0 has no row_major text: without extents that is the family.
  for (const bool row_major : {true, false}) {
    const auto dense = Dense(shape, row_major);
    if (!shape.empty() && dense.ok() && dense->dims_ == layout.dims_) {
      return Swizzled(Call(row_major ? "row_major" : "column_major", shape), layout.swizzles_);
    }
  }
  strides.clear();
  for (const auto& dim : layout.dims_) strides.push_back(dim.empty() ? 0 : dim[0].stride);
  return Swizzled(fmt::format("strided(shape={}, strides={})", ToString(shape), ToString(strides)),
                  layout.swizzles_);
}

std::string ToString(const MemLayoutFamily& family) {
  switch (family.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
      return Swizzled("row_major", family.swizzles);
    case MemLayoutFamily::Kind::kColumnMajor:
      return Swizzled("column_major", family.swizzles);
    case MemLayoutFamily::Kind::kPacked:
      return fmt::format("packed({}, {})", ToString(family.tile), ToString(family.bits));
    case MemLayoutFamily::Kind::kConcrete:
      break;
  }
  return ToString(family.concrete);
}

}  // namespace tarsia
