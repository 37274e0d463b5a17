#include "layout/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "dtypes/dtype.h"
#include "layout/diagnostics.h"

namespace tarsia {
namespace {

constexpr int kChunk = 16;  // bytes
constexpr int kAtomRows = 8;
constexpr int kStep = 32;                         // bytes of k that one instruction takes
constexpr int kSwizzles[] = {128, 64, 32, 0};     // the widest first
constexpr int64_t kMaxOffset = int64_t{1} << 18;  // what the descriptor's fields hold

// Bytes of a row of the atom.
int64_t RowBytes(int swizzle) { return swizzle == 0 ? kChunk : swizzle; }

// The `bits` of the swizzle in memory layouts; 0: no swizzle.
int SwizzleBits(int swizzle) {
  return swizzle == 0 ? 0 : swizzle == 32 ? 1 : swizzle == 64 ? 2 : 3;
}

Status CheckTile(const WgmmaTile& tile) {
  const bool known =
      std::find(std::begin(kSwizzles), std::end(kSwizzles), tile.swizzle) != std::end(kSwizzles);
  if (!known) return MakeDiagnostic(diag::kWgmmaSwizzle, {}, tile.swizzle);
  if (tile.bits != 8 && tile.bits != 16 && tile.bits != 32) {
    return MakeDiagnostic(diag::kWgmmaWidth, {}, tile.bits);
  }
  if (tile.major == WgmmaMajor::kMn && tile.bits != 16) {
    return MakeDiagnostic(diag::kWgmmaMajor, {}, tile.bits);
  }
  const int64_t run = RowBytes(tile.swizzle) * 8 / tile.bits;
  const int64_t step = kStep * 8 / tile.bits;
  const bool k_major = tile.major == WgmmaMajor::kK;
  const int64_t mn_unit = k_major ? kAtomRows : std::max<int64_t>(run, kAtomRows);
  const int64_t k_unit = k_major ? std::max(run, step) : step;
  if (tile.mn < 1 || tile.mn % mn_unit != 0) {
    return MakeDiagnostic(diag::kWgmmaExtent, {}, "m (or n)", tile.mn, mn_unit);
  }
  if (tile.k < 1 || tile.k % k_unit != 0) {
    return MakeDiagnostic(diag::kWgmmaExtent, {}, "k", tile.k, k_unit);
  }
  const int64_t extent = std::max(tile.mn, tile.k);
  if (extent > kMaxMemoryElements) {
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, extent, kMaxMemoryElements, "elements");
  }
  return OkStatus();
}

}  // namespace

Result<MemLayout> WgmmaLayout(const WgmmaTile& tile) {
  TARSIA_CHECK(CheckTile(tile));
  const int64_t run = RowBytes(tile.swizzle) * 8 / tile.bits;  // elements of an atom's row
  // Along the major dimension: runs, then adjacent atoms; across it: rows of atoms.
  const bool k_major = tile.major == WgmmaMajor::kK;
  const int64_t along = k_major ? tile.k : tile.mn, across = k_major ? tile.mn : tile.k;
  const bool along_first = tile.k_first == k_major;
  const Extents shape = tile.k_first ? Extents{tile.k, tile.mn} : Extents{tile.mn, tile.k};
  const int64_t beside = across * run;
  Result<MemLayout> out =
      along_first
          ? MemLayout::Strided(shape, Extents{along / run, run, across}, Extents{beside, 1, run})
          : MemLayout::Strided(shape, Extents{across, along / run, run}, Extents{run, beside, 1});
  if (!out.ok() || tile.swizzle == 0) return out;
  return out->WithSwizzle({4, SwizzleBits(tile.swizzle), 3});
}

namespace {

// The parts of a dotted name.
std::vector<std::string_view> Parts(std::string_view name) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at <= name.size();) {
    const size_t dot = std::min(name.find('.', at), name.size());
    out.push_back(name.substr(at, dot - at));
    at = dot + 1;
  }
  return out;
}

// Removes a word and a number from the front of `text`.
bool Eat(std::string_view& text, std::string_view word, int64_t& number) {
  if (!text.starts_with(word)) return false;
  const char* const begin = text.data() + word.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::optional<Result<MemLayout>> FindWgmmaLayout(std::string_view name) {
  const std::vector<std::string_view> parts = Parts(name);
  if (parts.size() != 4 || parts[0] != "wgmma") return std::nullopt;
  WgmmaTile tile;
  std::string_view shape = parts[1], form = parts[3];
  if (Eat(shape, "m", tile.mn)) {
    if (!Eat(shape, "k", tile.k)) return std::nullopt;
  } else {
    tile.k_first = true;
    if (!Eat(shape, "k", tile.k) || !Eat(shape, "n", tile.mn)) return std::nullopt;
  }
  int64_t swizzle = 0;
  if (Eat(form, "mn", swizzle)) {
    tile.major = WgmmaMajor::kMn;
  } else if (!Eat(form, "k", swizzle)) {
    return std::nullopt;
  }
  const std::optional<DType> type = FindDType(parts[2]);
  if (!shape.empty() || !form.empty() || !type) return std::nullopt;
  tile.bits = type->bits;
  tile.swizzle = static_cast<int>(std::min<int64_t>(swizzle, 1 << 20));
  return WgmmaLayout(tile);
}

uint64_t WgmmaDescriptor::Encode(uint32_t address) const {
  const auto field = [](uint64_t bytes) { return (bytes & 0x3FFFF) >> 4; };
  const uint64_t mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return field(address) | field(static_cast<uint64_t>(leading)) << 16 |
         field(static_cast<uint64_t>(stride)) << 32 | mode << 62;
}

namespace {

// A matrix in shared memory, indexed by m (or n) and k.
struct Operand {
  const MemLayout& memory;
  int bits;
  int k_dim;
  int64_t mn, k;

  [[nodiscard]] std::array<int64_t, 2> Index(int64_t i, int64_t kk) const {
    return k_dim == 0 ? std::array{kk, i} : std::array{i, kk};
  }
  // In bytes, with and without the swizzles.
  [[nodiscard]] int64_t Address(int64_t i, int64_t kk) const {
    return static_cast<int64_t>(memory.BitAddress(Index(i, kk), bits, 0) / 8);
  }
  [[nodiscard]] int64_t Linear(int64_t i, int64_t kk) const {
    return memory.ElementOffset(Index(i, kk)) * bits / 8;
  }
};

// The address at which the instruction reads an element of a step, before the swizzle.
int64_t ReadAddress(const WgmmaDescriptor& d, int bits, int64_t i, int64_t k) {
  const int64_t chunk = kChunk * 8 / bits, row = RowBytes(d.swizzle), run = row * 8 / bits;
  if (d.major == WgmmaMajor::kK) {
    const int64_t rows = i % kAtomRows * row + i / kAtomRows * d.stride;
    if (d.swizzle != 0) return rows + k * bits / 8;
    return rows + k / chunk * d.leading + k % chunk * bits / 8;
  }
  const int64_t columns = k % kAtomRows * row + i % run * bits / 8;
  if (d.swizzle != 0) return columns + i / run * d.leading + k / kAtomRows * d.stride;
  return columns + i / run * d.stride + k / kAtomRows * d.leading;
}

int64_t Swizzled(int64_t address, int swizzle) {
  if (swizzle == 0) return address;
  return static_cast<int64_t>(
      Swizzle{4, SwizzleBits(swizzle), 3}.Apply(static_cast<uint64_t>(address)));
}

// The descriptor of this form; its strides follow from the first elements that use them.
WgmmaDescriptor Candidate(const Operand& x, WgmmaMajor major, int swizzle) {
  WgmmaDescriptor out;
  out.major = major;
  out.swizzle = swizzle;
  const int64_t run = RowBytes(swizzle) * 8 / x.bits, step = kStep * 8 / x.bits;
  // A stride that no element uses stays 0.
  const auto at = [&](int64_t i, int64_t k) { return i < x.mn && k < x.k ? x.Linear(i, k) : 0; };
  const int64_t origin = x.Linear(0, 0);
  const auto apart = [&](int64_t i, int64_t k) {
    return i < x.mn && k < x.k ? at(i, k) - origin : 0;
  };
  if (major == WgmmaMajor::kK) {
    out.stride = apart(kAtomRows, 0);
    out.leading = swizzle == 0 ? apart(0, run) : kChunk;
  } else {
    (swizzle == 0 ? out.stride : out.leading) = apart(run, 0);
    (swizzle == 0 ? out.leading : out.stride) = apart(0, kAtomRows);
  }
  for (int64_t k = 0; k < x.k; k += step) out.steps.push_back(x.Linear(0, k));
  return out;
}

// An element that does not lie where the instruction reads it.
struct Stray {
  std::array<int64_t, 2> index{};
  int64_t found = 0;
  int64_t wanted = 0;
};

// The number of elements that lie where they should; sets `stray` to the first one that does not.
int64_t Fitting(const Operand& x, const WgmmaDescriptor& d, std::optional<Stray>& stray) {
  const int64_t step = kStep * 8 / x.bits;
  int64_t fitting = 0;
  for (int64_t i = 0; i < x.mn; ++i) {
    for (int64_t k = 0; k < x.k; ++k) {
      const int64_t begin = d.steps[static_cast<size_t>(k / step)];
      const int64_t wanted = Swizzled(begin + ReadAddress(d, x.bits, i, k % step), d.swizzle);
      const int64_t found = x.Address(i, k);
      if (wanted == found) {
        ++fitting;
      } else if (!stray) {
        stray = Stray{x.Index(i, k), found, wanted};
      }
    }
  }
  return fitting;
}

Status CheckOperand(const MemLayout& memory, int bits, int k_dim, Operand& x) {
  if (memory.rank() != 2 || memory.IsPacked() || k_dim < 0 || k_dim > 1) {
    return MakeDiagnostic(diag::kWgmmaOperand, {}, ToString(memory.shape()));
  }
  if (bits != 8 && bits != 16 && bits != 32) return MakeDiagnostic(diag::kWgmmaWidth, {}, bits);
  x.k = memory.shape()[static_cast<size_t>(k_dim)];
  x.mn = memory.shape()[static_cast<size_t>(1 - k_dim)];
  const int64_t step = kStep * 8 / bits;
  if (x.k < 1 || x.k % step != 0) return MakeDiagnostic(diag::kWgmmaExtent, {}, "k", x.k, step);
  if (x.mn < 1 || x.mn % kAtomRows != 0) {
    return MakeDiagnostic(diag::kWgmmaExtent, {}, "m (or n)", x.mn, kAtomRows);
  }
  if (x.mn > kMaxLayoutCells || x.k > kMaxLayoutCells / x.mn) {
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, fmt::format("{} * {}", x.mn, x.k),
                          kMaxLayoutCells, "elements");
  }
  return OkStatus();
}

bool FieldsHold(const WgmmaDescriptor& d) {
  return d.leading % kChunk == 0 && d.stride % kChunk == 0 && d.leading >= 0 && d.stride >= 0 &&
         d.leading < kMaxOffset && d.stride < kMaxOffset &&
         std::all_of(
             d.steps.begin(), d.steps.end(), [](int64_t step) { return step % kChunk == 0; });
}

}  // namespace

Result<WgmmaDescriptor> DescribeForWgmma(const MemLayout& memory, int bits, int k_dim) {
  Operand x{memory, bits, k_dim, 0, 0};
  TARSIA_CHECK(CheckOperand(memory, bits, k_dim, x));
  WgmmaDescriptor closest;
  std::optional<Stray> why;
  int64_t most = -1;
  bool beyond = false;  // a descriptor fits except for the size of its fields
  for (const WgmmaMajor major : {WgmmaMajor::kK, WgmmaMajor::kMn}) {
    if (major == WgmmaMajor::kMn && bits != 16) continue;
    for (const int swizzle : kSwizzles) {
      const int64_t run = RowBytes(swizzle) * 8 / bits;
      if (major == WgmmaMajor::kMn && x.mn % run != 0) continue;
      const WgmmaDescriptor candidate = Candidate(x, major, swizzle);
      std::optional<Stray> stray;
      const int64_t fitting = Fitting(x, candidate, stray);
      if (!stray && FieldsHold(candidate)) return candidate;
      beyond = beyond || !stray;
      if (!stray || fitting <= most) continue;
      most = fitting;
      closest = candidate;
      why = stray;
    }
  }
  if (beyond || !why) return MakeDiagnostic(diag::kWgmmaFields, {}, kChunk, kMaxOffset);
  return MakeDiagnostic(diag::kWgmmaNoDescriptor, {},
                        closest.major == WgmmaMajor::kK ? "K-major" : "MN-major", closest.swizzle,
                        why->index[0], why->index[1], why->found, why->wanted);
}

}  // namespace tarsia
