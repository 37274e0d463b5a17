#include "vm/memory_view.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "dtypes/bits.h"
#include "dtypes/bulk.h"
#include "support/extents.h"
#include "vm/host/copy.h"

namespace tarsia::vm {
namespace {

constexpr int64_t kFar = int64_t{1} << 62;  // larger than any index of a tile
constexpr int64_t kMaxTableExtent = int64_t{1} << 16;

int64_t Saturate(__int128 x) {
  if (x > kFar) return kFar;
  if (x < -kFar) return -kFar;
  return static_cast<int64_t>(x);
}

// Sets the bits of one byte that `mask` names, while others may set its other bits.
void MergeByte(uint8_t* byte, uint8_t mask, uint8_t bits) {
  std::atomic_ref<uint8_t> target(*byte);
  uint8_t old = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(old, static_cast<uint8_t>((old & ~mask) | (bits & mask)),
                                       std::memory_order_relaxed)) {
  }
}

// WriteBits for bits that share bytes with others' (at most 64).
void MergeBits(uint8_t* base, uint64_t bit, int count, uint64_t value) {
  while (count > 0) {
    const int shift = static_cast<int>(bit % 8);
    const int take = std::min(8 - shift, count);
    const auto mask = static_cast<uint8_t>(((1u << take) - 1) << shift);
    const auto bits = static_cast<uint8_t>(value << shift);
    if (take == 8) {
      base[bit / 8] = bits;
    } else {
      MergeByte(base + bit / 8, mask, bits);
    }
    value >>= take;
    bit += static_cast<uint64_t>(take);
    count -= take;
  }
}

// PackBits where the first and the last byte may be shared with other writers.
void StoreBitRow(uint8_t* base, uint64_t bit, int width, int64_t n, const uint8_t* codes) {
  constexpr int64_t kChunk = 2048;  // codes; a multiple of 8, so that chunks keep their phase
  uint8_t packed[kChunk + 1];
  for (int64_t done = 0; done < n; done += kChunk) {
    const int64_t count = std::min(kChunk, n - done);
    const uint64_t begin = bit + static_cast<uint64_t>(done * width);
    const uint64_t end = begin + static_cast<uint64_t>(count * width);
    uint8_t* target = base + begin / 8;
    const uint64_t phase = begin % 8;
    const uint64_t bytes = BytesForBits(phase + (end - begin));
    packed[0] = packed[bytes - 1] = 0;
    PackBits(codes + done, width, Size(count), packed, phase);
    auto head = static_cast<uint8_t>(0xFFu << phase);
    const auto tail = static_cast<uint8_t>(end % 8 == 0 ? 0xFF : (1u << (end % 8)) - 1);
    if (bytes == 1) head = static_cast<uint8_t>(head & tail);
    uint64_t first = 0;
    uint64_t last = bytes;
    if (head != 0xFF) {
      MergeByte(target, head, packed[0]);
      first = 1;
    }
    if (bytes > 1 && tail != 0xFF) {
      MergeByte(target + bytes - 1, tail, packed[bytes - 1]);
      last = bytes - 1;
    }
    if (last > first) std::memcpy(target + first, packed + first, last - first);
  }
}

// The existing part of a box in an affine root as nested loops; neighbours that are contiguous on
// both sides are merged. Offsets and strides in elements.
struct Loops {
  int n = 0;
  int64_t count[kMaxRank];
  int64_t memory[kMaxRank];
  int64_t tile[kMaxRank];
  int64_t memory_begin = 0;
  int64_t tile_begin = 0;
};

Loops MakeLoops(const MemLayout::Affine& affine, const Box& box, const int64_t* tile_strides) {
  Loops out;
  out.memory_begin = affine.offset;
  for (int d = 0; d < box.rank; ++d) {
    const int64_t stride = affine.strides[Size(d)];
    out.memory_begin += (box.root[d] + box.first[d]) * stride;
    out.tile_begin += box.first[d] * tile_strides[d];
    const int64_t count = box.last[d] - box.first[d];
    if (count == 1) continue;
    if (out.n > 0 && out.memory[out.n - 1] == stride * count &&
        out.tile[out.n - 1] == tile_strides[d] * count) {
      out.count[out.n - 1] *= count;
      out.memory[out.n - 1] = stride;
      out.tile[out.n - 1] = tile_strides[d];
      continue;
    }
    out.count[out.n] = count;
    out.memory[out.n] = stride;
    out.tile[out.n] = tile_strides[d];
    ++out.n;
  }
  if (out.n == 0) {
    out.count[0] = out.memory[0] = out.tile[0] = 1;
    out.n = 1;
  }
  return out;
}

// Calls row(memory offset, tile offset) for each run of the innermost loop.
template <typename Row>
void ForRuns(const Loops& loops, const Row& row) {
  int64_t at[kMaxRank] = {};
  int64_t memory = loops.memory_begin;
  int64_t tile = loops.tile_begin;
  while (true) {
    row(memory, tile);
    int d = loops.n - 2;
    for (; d >= 0; --d) {
      memory += loops.memory[d];
      tile += loops.tile[d];
      if (++at[d] < loops.count[d]) break;
      memory -= loops.memory[d] * loops.count[d];
      tile -= loops.tile[d] * loops.count[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

std::span<const int64_t> Span(const int64_t* values, int n) { return {values, Size(n)}; }

void LoadAffine(const MemoryView& view, const Loops& loops, void* tile) {
  const int bits = view.map->bits();
  const uint8_t* base = view.base();
  if (bits >= 8) {
    const int bytes = bits / 8;
    host::CopyStrided(bytes, base + loops.memory_begin * bytes, Span(loops.memory, loops.n),
                      static_cast<uint8_t*>(tile) + loops.tile_begin * bytes,
                      Span(loops.tile, loops.n), Span(loops.count, loops.n));
    return;
  }
  auto* codes = static_cast<uint8_t*>(tile);
  const int inner = loops.n - 1;
  const int64_t n = loops.count[inner];
  const bool run = loops.memory[inner] == 1 && loops.tile[inner] == 1;
  ForRuns(loops, [&](int64_t memory, int64_t at) {
    if (run) {
      UnpackBits(base, static_cast<uint64_t>(memory * bits), bits, Size(n), codes + at);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto bit = static_cast<uint64_t>((memory + i * loops.memory[inner]) * bits);
      codes[at + i * loops.tile[inner]] = static_cast<uint8_t>(ReadBits(base, bit, bits));
    }
  });
}

void StoreAffine(const MemoryView& view, const Loops& loops, const void* tile) {
  const int bits = view.map->bits();
  uint8_t* base = view.base();
  if (bits >= 8) {
    const int bytes = bits / 8;
    host::CopyStrided(bytes, static_cast<const uint8_t*>(tile) + loops.tile_begin * bytes,
                      Span(loops.tile, loops.n), base + loops.memory_begin * bytes,
                      Span(loops.memory, loops.n), Span(loops.count, loops.n));
    return;
  }
  const auto* codes = static_cast<const uint8_t*>(tile);
  const int inner = loops.n - 1;
  const int64_t n = loops.count[inner];
  const bool run = loops.memory[inner] == 1 && loops.tile[inner] == 1;
  ForRuns(loops, [&](int64_t memory, int64_t at) {
    if (run) {
      StoreBitRow(base, static_cast<uint64_t>(memory * bits), bits, n, codes + at);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto bit = static_cast<uint64_t>((memory + i * loops.memory[inner]) * bits);
      MergeBits(base, bit, bits, codes[at + i * loops.tile[inner]]);
    }
  });
}

// Calls row(root index of its first element, tile offset, elements) for each row of the box along
// the last dimension.
template <typename Row>
void ForRows(const Box& box, const int64_t* tile_strides, const Row& row) {
  int64_t root[kMaxRank] = {};
  const int last = box.rank - 1;
  int64_t tile = 0;
  for (int d = 0; d < box.rank; ++d) {
    root[d] = box.root[d] + box.first[d];
    tile += box.first[d] * tile_strides[d];
  }
  const int64_t n = last < 0 ? 1 : box.last[last] - box.first[last];
  while (true) {
    row(root, tile, n);
    int d = last - 1;
    for (; d >= 0; --d) {
      tile += tile_strides[d];
      if (++root[d] < box.root[d] + box.last[d]) break;
      tile -= tile_strides[d] * (box.last[d] - box.first[d]);
      root[d] = box.root[d] + box.first[d];
    }
    if (d < 0) return;
  }
}

// The offset in elements of all dimensions but the last.
int64_t OuterOffset(const AddressMap& map, const int64_t* root) {
  int64_t offset = 0;
  for (int d = 0; d + 1 < map.rank(); ++d) offset += map.DimOffset(d, root[d]);
  return offset;
}

int64_t InnerOffset(const AddressMap& map, const int64_t* root, int64_t i) {
  const int last = map.rank() - 1;
  return last < 0 ? 0 : map.DimOffset(last, root[last] + i);
}

// Code bits through swizzles, byte by byte.
uint64_t ReadSwizzled(const AddressMap& map, const uint8_t* base, uint64_t bit) {
  uint64_t value = 0;
  for (int got = 0; got < map.bits();) {
    const int shift = static_cast<int>(bit % 8);
    const int take = std::min(8 - shift, map.bits() - got);
    const uint64_t part = base[map.SwizzleByte(bit / 8)] >> shift & ((1u << take) - 1);
    value |= part << got;
    got += take;
    bit += static_cast<uint64_t>(take);
  }
  return value;
}

void WriteSwizzled(const AddressMap& map, uint8_t* base, uint64_t bit, uint64_t value) {
  for (int done = 0; done < map.bits();) {
    const int take = std::min(8 - static_cast<int>(bit % 8), map.bits() - done);
    MergeBits(base, map.SwizzleByte(bit / 8) * 8 + bit % 8, take, value >> done);
    done += take;
    bit += static_cast<uint64_t>(take);
  }
}

// The number of elements from i on, of n, that are contiguous in memory up to the next 16-byte
// boundary; no swizzle separates them. `offset` is that of element i.
int64_t RunLength(const AddressMap& map, const int64_t* root, int64_t i, int64_t n, int64_t offset,
                  int bytes) {
  if (map.rank() == 0) return 1;
  const auto shift = std::countr_zero(static_cast<unsigned>(bytes));
  const int64_t room = std::max<int64_t>(1, (16 - (offset << shift) % 16) >> shift);
  return std::min({room, n - i, map.RunFrom(root[map.rank() - 1] + i)});
}

// move(memory, tile, run) moves a run of elements of at least 8 bits; bit(offset, tile) one below.
template <typename Move, typename Bits>
void ForStrided(const MemoryView& view, const Box& box, const int64_t* tile_strides,
                const Move& move, const Bits& bit) {
  const AddressMap& map = *view.map;
  const int bytes = map.bits() / 8;
  const int64_t step = box.rank == 0 ? 1 : tile_strides[box.rank - 1];
  ForRows(box, tile_strides, [&](const int64_t* root, int64_t tile, int64_t n) {
    const int64_t outer = OuterOffset(map, root);
    for (int64_t i = 0; i < n;) {
      const int64_t offset = outer + InnerOffset(map, root, i);
      if (bytes == 0) {
        bit(static_cast<uint64_t>(offset * map.bits()), tile + i * step);
        ++i;
        continue;
      }
      const int64_t run = step == 1 ? RunLength(map, root, i, n, offset, bytes) : 1;
      move(map.SwizzleByte(static_cast<uint64_t>(offset * bytes)), tile + i * step, run * bytes);
      i += run;
    }
  });
}

// memcpy of at most 16 bytes, mostly of 16.
void CopyRun(uint8_t* to, const uint8_t* from, int64_t bytes) {
  if (bytes == 16) {
    std::memcpy(to, from, 16);
  } else {
    std::memcpy(to, from, Size(bytes));
  }
}

void LoadStrided(const MemoryView& view, const Box& box, const int64_t* tile_strides, void* tile) {
  const uint8_t* base = view.base();
  auto* out = static_cast<uint8_t*>(tile);
  const int bytes = std::max(1, view.map->bits() / 8);
  ForStrided(
      view, box, tile_strides,
      [&](uint64_t byte, int64_t at, int64_t run) { CopyRun(out + at * bytes, base + byte, run); },
      [&](uint64_t bit, int64_t at) {
        out[at] = static_cast<uint8_t>(ReadSwizzled(*view.map, base, bit));
      });
}

void StoreStrided(const MemoryView& view, const Box& box, const int64_t* tile_strides,
                  const void* tile) {
  uint8_t* base = view.base();
  const auto* in = static_cast<const uint8_t*>(tile);
  const int bytes = std::max(1, view.map->bits() / 8);
  ForStrided(
      view, box, tile_strides,
      [&](uint64_t byte, int64_t at, int64_t run) { CopyRun(base + byte, in + at * bytes, run); },
      [&](uint64_t bit, int64_t at) { WriteSwizzled(*view.map, base, bit, in[at]); });
}

// The place of an element in the packed form: the first byte of the tile and the element's number
// in it.
struct PackedPlace {
  uint64_t byte = 0;
  int64_t element = 0;
};

// Calls visit(place, tile offset) for each existing element.
template <typename Visit>
void ForPacked(const MemoryView& view, const Box& box, const int64_t* tile_strides,
               const Visit& visit) {
  const MemLayout& layout = view.map->layout();
  const Extents& tile = layout.packed().tile.shape();
  const int last = box.rank - 1;
  ForRows(box, tile_strides, [&](const int64_t* root, int64_t at, int64_t n) {
    int64_t tiles = 0;
    int64_t element = 0;
    for (int d = 0; d < last; ++d) {
      tiles = tiles * layout.tiles()[Size(d)] + root[d] / tile[Size(d)];
      element = element * tile[Size(d)] + root[d] % tile[Size(d)];
    }
    if (last < 0) {
      visit(PackedPlace{0, 0}, at);
      return;
    }
    const int64_t width = tile[Size(last)];
    int64_t column = root[last] / width;
    int64_t within = root[last] % width;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t number = tiles * layout.tiles()[Size(last)] + column;
      visit(PackedPlace{static_cast<uint64_t>(number) * view.map->tile_bytes(),
                        element * width + within},
            at + i * tile_strides[last]);
      if (++within == width) {
        within = 0;
        ++column;
      }
    }
  });
}

void LoadPacked(const MemoryView& view, const Box& box, const int64_t* tile_strides, void* tile) {
  const CodePieces& pieces = view.map->pieces();
  const uint8_t* base = view.base();
  const DType type = view.map->type();
  if (type.bits > 8) {
    ForPacked(view, box, tile_strides, [&](PackedPlace place, int64_t at) {
      StoreContainer(type, tile, Size(at), pieces.Read(base + place.byte, place.element));
    });
    return;
  }
  auto* codes = static_cast<uint8_t*>(tile);
  if (!pieces.single()) {
    ForPacked(view, box, tile_strides, [&](PackedPlace place, int64_t at) {
      codes[at] = static_cast<uint8_t>(pieces.Read(base + place.byte, place.element));
    });
    return;
  }
  const CodePiece* all = pieces.begin(0);
  const auto mask = static_cast<uint32_t>(CodeMask(type));
  ForPacked(view, box, tile_strides, [&](PackedPlace place, int64_t at) {
    const CodePiece& piece = all[place.element];
    uint32_t word = 0;
    std::memcpy(&word, base + place.byte + size_t{piece.word} * 4, 4);
    codes[at] =
        static_cast<uint8_t>((word >> piece.shift & mask) ^ pieces.Complement(place.element));
  });
}

void StorePacked(const MemoryView& view, const Box& box, const int64_t* tile_strides,
                 const void* tile) {
  const CodePieces& pieces = view.map->pieces();
  uint8_t* base = view.base();
  const DType type = view.map->type();
  ForPacked(view, box, tile_strides, [&](PackedPlace place, int64_t at) {
    const uint64_t code = LoadContainer(type, tile, Size(at)) ^ pieces.Complement(place.element);
    const CodePiece* end = pieces.end(place.element);
    for (const CodePiece* piece = pieces.begin(place.element); piece != end; ++piece) {
      MergeBits(base + place.byte, uint64_t{piece->word} * 32 + piece->shift, piece->length,
                code >> piece->at);
    }
  });
}

}  // namespace

// Handles row- and column-major tiles without a swizzle, within the limits of their layouts,
// without making a layout. False for others.
bool AddressMap::SetDense(const MemLayoutFamily& family, std::span<const int64_t> shape,
                          DType type) {
  const bool last_fastest = family.kind == MemLayoutFamily::Kind::kRowMajor;
  if (!last_fastest && family.kind != MemLayoutFamily::Kind::kColumnMajor) return false;
  if (!family.swizzles.empty() || shape.size() > kMaxRank) return false;
  int64_t strides[kMaxRank];
  int64_t stride = 1;
  int64_t elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const size_t d = last_fastest ? shape.size() - 1 - i : i;
    if (shape[d] < 0) return false;
    strides[d] = shape[d] == 1 ? 0 : stride;
    elements *= shape[d];
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[d], 1), &stride)) return false;
    if (stride > kMaxMemoryElements) return false;
  }
  type_ = type;
  shape_.assign(shape.begin(), shape.end());
  size_bytes_ = BytesForBits(static_cast<uint64_t>(elements) * static_cast<uint64_t>(type.bits));
  if (!affine_) affine_.emplace();
  affine_->strides.assign(strides, strides + shape.size());
  return true;
}

Result<std::shared_ptr<AddressMap>> AddressMap::Make(const MemLayoutFamily& family,
                                                     std::span<const int64_t> shape, DType type) {
  std::shared_ptr<AddressMap> map(new AddressMap());
  if (map->SetDense(family, shape, type)) return map;
  TARSIA_TRY(map->layout_, Apply(family, shape, type));
  map->shape_ = map->layout_.shape();
  map->type_ = type;
  map->size_bytes_ = map->layout_.SizeBytes(type.bits);
  map->SetTables();
  return map;
}

std::shared_ptr<AddressMap> AddressMap::Reserve(const MemLayoutFamily& family,
                                                std::span<const int64_t> shape, DType type) {
  std::shared_ptr<AddressMap> map(new AddressMap());
  return map->SetDense(family, shape, type) ? map : nullptr;
}

Status AddressMap::Remake(const MemLayoutFamily& family, std::span<const int64_t> shape, DType type,
                          std::shared_ptr<AddressMap>& map) {
  const bool is_ours =
      map != nullptr && map.use_count() == 1 && map->affine_ && map->offsets_.empty();
  if (is_ours && map->SetDense(family, shape, type)) return OkStatus();
  TARSIA_TRY(map, Make(family, shape, type));
  return OkStatus();
}

void AddressMap::SetTables() {
  if (layout_.IsPacked()) {
    const PackedTile& tile = layout_.packed();
    tile_bytes_ = static_cast<uint64_t>(tile.tile_bits) / 8;
    const auto bits = Size(type_.bits);
    pieces_ = CodePieces(
        tile.tile.elements(), type_.bits,
        [&](int64_t element, int bit) -> uint64_t {
          return tile.places[Size(element) * bits + Size(bit)];
        },
        [&](int64_t element) -> uint64_t {
          return tile.complement.empty() ? 0 : tile.complement[Size(element)];
        });
    return;
  }
  affine_ = layout_.AsAffine();
  offsets_.resize(shape_.size());
  if (affine_) return;
  for (int d = 0; d < layout_.rank(); ++d) {
    const int64_t extent = shape_[Size(d)];
    if (extent > kMaxTableExtent) continue;
    std::vector<int64_t> table(Size(extent));
    for (int64_t i = 0; i < extent; ++i) table[Size(i)] = SlowDimOffset(d, i);
    offsets_[Size(d)] = std::move(table);
  }
  if (offsets_.empty()) return;
  const std::vector<int64_t>& last = offsets_.back();
  runs_.assign(last.size(), 1);
  for (size_t i = last.size(); i-- > 1;) {
    if (last[i] == last[i - 1] + 1) runs_[i - 1] = runs_[i] + 1;
  }
}

int64_t AddressMap::SlowDimOffset(int dim, int64_t i) const {
  const std::vector<MemLayout::Mode>& modes = layout_.modes(dim);
  int64_t offset = 0;
  for (auto mode = modes.rbegin(); mode != modes.rend(); ++mode) {
    offset += i % mode->extent * mode->stride;
    i /= mode->extent;
  }
  return offset;
}

MemoryView MakeView(Region* region, uint64_t offset, std::shared_ptr<const AddressMap> map) {
  MemoryView view;
  view.region = region;
  view.offset = offset;
  view.rank = map->rank();
  for (int d = 0; d < view.rank; ++d) {
    view.shape[d] = view.high[d] = map->shape()[Size(d)];
  }
  view.map = std::move(map);
  return view;
}

MemoryView SliceView(const MemoryView& source, const int64_t* start, const int64_t* shape) {
  MemoryView view = source;
  for (int d = 0; d < source.rank; ++d) {
    const __int128 origin = static_cast<__int128>(source.origin[d]) + start[d];
    view.origin[d] = Saturate(origin);
    view.shape[d] = shape[d];
    view.low[d] = std::max(source.low[d], view.origin[d]);
    view.high[d] = std::min(source.high[d], Saturate(origin + shape[d]));
  }
  return view;
}

std::optional<uint64_t> FirstByte(const MemoryView& view) {
  bool whole = true;
  for (int d = 0; d < view.rank; ++d) {
    whole = whole && view.origin[d] == 0 && view.shape[d] == view.map->shape()[Size(d)];
    const bool inside = view.low[d] == view.origin[d] && view.low[d] >= 0 &&
                        view.high[d] == view.origin[d] + view.shape[d];
    if (!inside) return std::nullopt;
  }
  if (whole) return view.offset;
  const MemLayout::Affine* affine = view.map->affine();
  if (affine == nullptr) return std::nullopt;
  int64_t offset = affine->offset;
  int64_t run = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    offset += view.origin[d] * affine->strides[Size(d)];
    if (view.shape[d] > 1 && affine->strides[Size(d)] != run) return std::nullopt;
    run *= view.shape[d];
  }
  const auto bits = static_cast<uint64_t>(offset) * static_cast<uint64_t>(view.map->bits());
  if (bits % 8 != 0) return std::nullopt;
  return view.offset + bits / 8;
}

Box ClipBox(const MemoryView& view, const int64_t* start, const int64_t* shape) {
  Box box;
  box.rank = view.rank;
  for (int d = 0; d < view.rank; ++d) {
    const __int128 root = static_cast<__int128>(view.origin[d]) + start[d];
    const __int128 first = std::max<__int128>(0, view.low[d] - root);
    const __int128 last = std::min<__int128>(shape[d], view.high[d] - root);
    if (first >= last) {
      box.empty = true;
      box.full = box.full && shape[d] == 0;
      return box;
    }
    box.root[d] = Saturate(root);
    box.first[d] = static_cast<int64_t>(first);
    box.last[d] = static_cast<int64_t>(last);
    if (first != 0 || last != shape[d]) box.full = false;
  }
  return box;
}

void LoadBoxStrided(const MemoryView& view, const Box& box, const int64_t* tile_strides,
                    void* tile) {
  if (box.empty) return;
  if (view.map->affine() != nullptr) {
    LoadAffine(view, MakeLoops(*view.map->affine(), box, tile_strides), tile);
  } else if (view.map->IsPacked()) {
    LoadPacked(view, box, tile_strides, tile);
  } else {
    LoadStrided(view, box, tile_strides, tile);
  }
}

void StoreBoxStrided(const MemoryView& view, const Box& box, const int64_t* tile_strides,
                     const void* tile) {
  if (box.empty) return;
  if (view.map->affine() != nullptr) {
    StoreAffine(view, MakeLoops(*view.map->affine(), box, tile_strides), tile);
  } else if (view.map->IsPacked()) {
    StorePacked(view, box, tile_strides, tile);
  } else {
    StoreStrided(view, box, tile_strides, tile);
  }
}

void LoadBox(const MemoryView& view, const Box& box, const int64_t* shape, void* tile) {
  int64_t strides[kMaxRank];
  RowMajorStrides({shape, Size(view.rank)}, strides);
  if (box.empty || !box.full) {
    const int64_t elements = Product({shape, Size(view.rank)});
    if (elements > 0) std::memset(tile, 0, Size(elements * ContainerBytes(view.map->type())));
  }
  LoadBoxStrided(view, box, strides, tile);
}

void StoreBox(const MemoryView& view, const Box& box, const int64_t* shape, const void* tile) {
  int64_t strides[kMaxRank];
  RowMajorStrides({shape, Size(view.rank)}, strides);
  StoreBoxStrided(view, box, strides, tile);
}

uint64_t ElementBit(const MemoryView& view, const int64_t* root, int bit) {
  const AddressMap& map = *view.map;
  if (const MemLayout::Affine* affine = map.affine(); affine != nullptr) {
    int64_t offset = affine->offset;
    for (int d = 0; d < view.rank; ++d) offset += root[d] * affine->strides[Size(d)];
    return view.offset * 8 + static_cast<uint64_t>(offset) * static_cast<uint64_t>(map.bits()) +
           static_cast<uint64_t>(bit);
  }
  return view.offset * 8 +
         map.layout().BitAddress(std::span<const int64_t>(root, Size(view.rank)), map.bits(), bit);
}

void VisitBits(const MemoryView& view, const Box& box,
               const std::function<void(uint64_t, uint64_t)>& visit) {
  if (box.empty) return;
  const AddressMap& map = *view.map;
  const auto bits = static_cast<uint64_t>(map.bits());
  int64_t strides[kMaxRank];
  RowMajorStrides({box.last, Size(view.rank)}, strides);
  if (map.affine() != nullptr) {
    const Loops loops = MakeLoops(*map.affine(), box, strides);
    const int inner = loops.n - 1;
    const uint64_t base = view.offset * 8;
    ForRuns(loops, [&](int64_t memory, int64_t) {
      const auto at = static_cast<uint64_t>(memory);
      const auto n = static_cast<uint64_t>(loops.count[inner]);
      if (loops.memory[inner] == 1) return visit(base + at * bits, n * bits);
      for (uint64_t i = 0; i < n; ++i) {
        visit(base + (at + i * static_cast<uint64_t>(loops.memory[inner])) * bits, bits);
      }
    });
    return;
  }
  VisitElements(box, box.last, [&](int64_t, const int64_t* root) {
    uint64_t begin = 0;
    uint64_t count = 0;
    for (int bit = 0; bit < map.bits(); ++bit) {
      const uint64_t address = ElementBit(view, root, bit);
      if (count == 0 || address != begin + count) {
        if (count != 0) visit(begin, count);
        begin = address;
        count = 0;
      }
      ++count;
    }
    visit(begin, count);
  });
}

}  // namespace tarsia::vm
