#include "layout/access.h"

#include <algorithm>
#include <array>
#include <bit>

#include "layout/checked.h"
#include "layout/diagnostics.h"
#include "support/align.h"

namespace tarsia {
namespace {

// Whether each element of the register stream is moved whole; addresses are then kept for every
// element instead of every bit.
bool MovesWhole(const MemLayout& memory, int width, const BitLayout* bits) {
  const bool contiguous = bits == nullptr || bits->order() == BitOrder::kContiguous;
  // Powers of two fit units and swizzled chunks, all powers of two themselves.
  return contiguous && !memory.IsPacked() && std::has_single_bit(static_cast<unsigned>(width));
}

}  // namespace

Result<TileAccess> TileAccess::Make(const RegLayout& tile, const MemLayout& memory, int width,
                                    const BitLayout* bits) {
  if (width < 1 || width > 64) return MakeDiagnostic(diag::kAccessWidth, {}, width);
  if (tile.shape() != memory.shape()) {
    return MakeDiagnostic(diag::kAccessShape, {}, ToString(tile.shape()), ToString(memory.shape()));
  }
  if (bits != nullptr && (bits->count() != tile.slots() || bits->bits() != width)) {
    return MakeDiagnostic(diag::kAccessBits, {}, bits->count(), bits->bits(), tile.slots(), width);
  }
  if (memory.IsPacked() && memory.packed().bits.bits() != width) {
    return MakeDiagnostic(diag::kAccessBits, {}, memory.packed().bits.count(),
                          memory.packed().bits.bits(), tile.slots(), width);
  }
  TileAccess out;
  out.threads_ = tile.threads();
  out.width_ = width;
  out.stream_bits_ = tile.slots() * width;
  out.grain_ = MovesWhole(memory, width, bits) ? width : 1;
  const int64_t grains = out.stream_bits_ / out.grain_;
  if (tile.threads() * grains > kMaxLayoutCells) {
    return MakeDiagnostic(diag::kLayoutTooLarge, {}, ProductText(Extents{tile.threads(), grains}),
                          kMaxLayoutCells, "bits to look at");
  }
  out.addresses_.resize(static_cast<size_t>(tile.threads() * grains));
  Extents index(tile.shape().size());
  for (int64_t thread = 0; thread < tile.threads(); ++thread) {
    uint64_t* const row = &out.addresses_[static_cast<size_t>(thread * grains)];
    for (int64_t slot = 0; slot < tile.slots(); ++slot) {
      tile.Element(thread, slot, index);
      for (int bit = 0; bit < width; bit += out.grain_) {
        int64_t at = slot * width + bit;
        if (bits != nullptr && bits->order() != BitOrder::kContiguous) {
          const BitPlace place = bits->Place(slot, bit);
          at = int64_t{place.word} * 32 + place.bit;
        }
        row[at / out.grain_] = memory.BitAddress(index, width, bit);
      }
    }
  }
  return out;
}

int TileAccess::WidestVector(int max_bytes) const {
  for (int bytes = max_bytes; bytes >= 1; bytes /= 2) {
    const int64_t unit = int64_t{bytes} * 8;
    if (stream_bits_ % unit != 0) continue;
    // Grains within a unit must follow each other; an element wider than a unit is cut.
    const int64_t per_unit = std::max<int64_t>(unit / grain_, 1);
    if (unit % grain_ != 0 && grain_ % unit != 0) continue;
    bool fits = true;
    for (size_t i = 0; fits && i < addresses_.size(); ++i) {
      const auto in_unit = static_cast<int64_t>(i) % per_unit;
      if (in_unit == 0) {
        fits = addresses_[i] % static_cast<uint64_t>(unit) == 0;
      } else {
        fits = addresses_[i] == addresses_[i - 1] + static_cast<uint64_t>(grain_);
      }
    }
    if (fits) return bytes;
  }
  return 0;
}

int64_t TileAccess::Units(int bytes) const { return stream_bits_ / (int64_t{bytes} * 8); }

uint64_t TileAccess::Address(int64_t thread, int64_t unit, int bytes) const {
  const int64_t bit = unit * bytes * 8;
  const int64_t grains = stream_bits_ / grain_;
  const uint64_t address = addresses_[static_cast<size_t>(thread * grains + bit / grain_)];
  return (address + static_cast<uint64_t>(bit % grain_)) / 8;
}

namespace {

struct Lanes {
  std::array<uint64_t, kWarpThreads> bytes{};
  size_t count = 0;
  [[nodiscard]] std::span<const uint64_t> span() const { return {bytes.data(), count}; }
};

Lanes OfWarp(const TileAccess& access, int64_t warp, int64_t unit, int bytes) {
  Lanes out;
  const int64_t first = warp * kWarpThreads;
  const int64_t last = std::min(first + kWarpThreads, access.threads());
  for (int64_t thread = first; thread < last; ++thread) {
    out.bytes[out.count++] = access.Address(thread, unit, bytes);
  }
  return out;
}

// Sorted and without duplicates: the numbers of the blocks of `size` bytes that are touched.
std::vector<uint64_t> Blocks(std::span<const uint64_t> addresses, int bytes, uint64_t size) {
  std::vector<uint64_t> out;
  for (const uint64_t address : addresses) {
    const uint64_t last = (address + static_cast<uint64_t>(bytes) - 1) / size;
    for (uint64_t block = address / size; block <= last; ++block) out.push_back(block);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

int64_t Warps(const TileAccess& access) {
  return (access.threads() + kWarpThreads - 1) / kWarpThreads;
}

}  // namespace

size_t PhaseLanes(int bytes) {
  return static_cast<size_t>(kWarpThreads) / static_cast<size_t>(std::max(1, bytes / kBankBytes));
}

std::array<int64_t, kBanks> BankLoads(std::span<const uint64_t> addresses, int bytes) {
  std::array<int64_t, kBanks> load{};
  for (const uint64_t word : Blocks(addresses, bytes, kBankBytes)) ++load[word % kBanks];
  return load;
}

namespace {

// The distinct words of the busiest bank: the largest number of BankLoads, found without sorting,
// for the solver of layouts asks often.
int64_t BusiestBank(std::span<const uint64_t> addresses, int bytes) {
  const auto width = static_cast<uint64_t>(bytes);
  // Accesses of whole words that are aligned to their width take whole groups of banks.
  const bool whole =
      width > kBankBytes && std::has_single_bit(width) && width <= uint64_t{kBanks} * kBankBytes &&
      std::ranges::all_of(addresses, [&](uint64_t at) { return (at & (width - 1)) == 0; });
  const int shift = std::countr_zero(whole ? width : uint64_t{kBankBytes});
  const uint64_t mask = (uint64_t{kBanks} * kBankBytes >> shift) - 1;  // of the groups' numbers
  std::array<std::array<uint64_t, kWarpThreads>, kBanks> words;  // by bank, the first `count` of it
  std::array<size_t, kBanks> count{};
  size_t most = 0;
  for (const uint64_t address : addresses) {
    const uint64_t last = (address + width - 1) >> shift;
    for (uint64_t word = address >> shift; word <= last; ++word) {
      const size_t bank = word & mask;
      const auto end = words[bank].begin() + static_cast<std::ptrdiff_t>(count[bank]);
      if (std::find(words[bank].begin(), end, word) != end) continue;
      *end = word;
      most = std::max(most, ++count[bank]);
    }
  }
  return static_cast<int64_t>(most);
}

}  // namespace

int64_t WavefrontsOf(std::span<const uint64_t> addresses, int bytes) {
  const size_t phase = PhaseLanes(bytes);
  int64_t out = 0;
  for (size_t first = 0; first < addresses.size(); first += phase) {
    // A lane touches each bank once at most.
    out += BusiestBank(addresses.subspan(first, std::min(phase, addresses.size() - first)), bytes);
  }
  return out;
}

int64_t SectorsOf(std::span<const uint64_t> addresses, int bytes) {
  return static_cast<int64_t>(Blocks(addresses, bytes, kSectorBytes).size());
}

int64_t TileAccess::Wavefronts(int64_t warp, int64_t unit, int bytes) const {
  return WavefrontsOf(OfWarp(*this, warp, unit, bytes).span(), bytes);
}

int64_t TileAccess::Sectors(int64_t warp, int64_t unit, int bytes) const {
  return SectorsOf(OfWarp(*this, warp, unit, bytes).span(), bytes);
}

TileAccess::Cost TileAccess::SharedWavefronts(int bytes) const {
  Cost out;
  for (int64_t warp = 0; warp < Warps(*this); ++warp) {
    for (int64_t unit = 0; unit < Units(bytes); ++unit) {
      const Lanes addresses = OfWarp(*this, warp, unit, bytes);
      const auto words = static_cast<int64_t>(Blocks(addresses.span(), bytes, kBankBytes).size());
      ++out.accesses;
      out.actual += WavefrontsOf(addresses.span(), bytes);
      out.ideal += CeilDiv(words, kBanks);
    }
  }
  return out;
}

TileAccess::Cost TileAccess::GlobalSectors(int bytes) const {
  Cost out;
  for (int64_t warp = 0; warp < Warps(*this); ++warp) {
    for (int64_t unit = 0; unit < Units(bytes); ++unit) {
      const Lanes addresses = OfWarp(*this, warp, unit, bytes);
      const auto touched = static_cast<int64_t>(Blocks(addresses.span(), bytes, 1).size());
      ++out.accesses;
      out.actual += SectorsOf(addresses.span(), bytes);
      out.ideal += CeilDiv(touched, kSectorBytes);
    }
  }
  return out;
}

std::vector<uint64_t> TileAccess::WarpAddresses(int64_t warp, int64_t unit, int bytes) const {
  const Lanes addresses = OfWarp(*this, warp, unit, bytes);
  return {addresses.span().begin(), addresses.span().end()};
}

std::vector<uint64_t> TileAccess::MatrixRows(LdMatrix shape, int64_t warp, int64_t unit) const {
  const bool transposed = shape == LdMatrix::kTransposed;
  std::vector<uint64_t> out;
  for (int64_t row = 0; row < 8; ++row) {
    // Row r of a matrix is held by threads 4r to 4r + 3; transposed, by threads r / 2 + 4c.
    const int64_t lane = transposed ? row / 2 : row * 4;
    out.push_back(Address(warp * kWarpThreads + lane, unit * 2 + (transposed ? row % 2 : 0), 2));
  }
  return out;
}

TileAccess::Cost TileAccess::LdMatrixWavefronts(LdMatrix shape) const {
  Cost out;
  for (int64_t warp = 0; warp < Warps(*this); ++warp) {
    for (int64_t unit = 0; unit < Units(4); ++unit) {
      const std::vector<uint64_t> rows = MatrixRows(shape, warp, unit);
      ++out.accesses;
      out.actual += WavefrontsOf(rows, 16);
      out.ideal += CeilDiv(static_cast<int64_t>(Blocks(rows, 16, kBankBytes).size()), kBanks);
    }
  }
  return out;
}

TileAccess::LdMatrix TileAccess::LdMatrixShape() const {
  if (threads_ % kWarpThreads != 0 || stream_bits_ == 0 || stream_bits_ % 32 != 0) {
    return LdMatrix::kNo;
  }
  // A thread holds a pair of 16-bit units: row t / 4, columns 2 * (t % 4) and the next; the
  // transposed form swaps rows and columns.
  const auto rows_are_runs = [this](bool transposed) {
    for (int64_t thread = 0; thread < threads_; ++thread) {
      const int64_t warp = thread / kWarpThreads * kWarpThreads, lane = thread % kWarpThreads;
      for (int64_t unit = 0; unit < Units(2); ++unit) {
        const int64_t column = transposed ? lane / 4 : lane % 4 * 2 + unit % 2;
        const int64_t head_lane = transposed ? lane % 4 : lane / 4 * 4;
        const int64_t head_unit = transposed ? unit : unit / 2 * 2;
        const uint64_t head = Address(warp + head_lane, head_unit, 2);
        if (head % 16 != 0 ||
            Address(thread, unit, 2) != head + static_cast<uint64_t>(column) * 2) {
          return false;
        }
      }
    }
    return true;
  };
  if (width_ <= 32 && WidestVector(2) == 2) {
    if (rows_are_runs(false)) return LdMatrix::kPlain;
    if (width_ == 16 && rows_are_runs(true)) return LdMatrix::kTransposed;
  }
  return LdMatrix::kNo;
}

}  // namespace tarsia
