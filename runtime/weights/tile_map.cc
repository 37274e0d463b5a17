#include "runtime/weights/tile_map.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "layout/packed_words.h"
#include "support/extents.h"

namespace tarsia {
namespace {

constexpr int64_t kWarp = kCodeLanes;
constexpr int64_t kRegionColumns = 512;

}  // namespace

TileMap::TileMap(const MemLayout& layout)
    : layout_(layout),
      bits_(layout.packed().bits.bits()),
      threads_(layout.packed().tile.threads()),
      slots_(layout.packed().tile.slots()),
      tile_rows_(layout.packed().tile.shape()[0]),
      tile_columns_(layout.packed().tile.shape()[1]),
      tiles_across_(std::max<int64_t>(1, kRegionColumns / tile_columns_)),
      stride_(tiles_across_ * tile_columns_ + kCacheLine) {
  MakeMoves();
  FindQuads();
  MakeEdges();
}

void TileMap::MakeMoves() {
  const PackedTile& packed = layout_.packed();
  std::vector<std::vector<CodeMove>> by_byte(4 * Size(packed.bits.words()));
  for (int64_t slot = 0; slot < slots_; ++slot) {
    for (int bit = 0; bit < bits_; ++bit) {
      const BitPlace place = packed.bits.Place(slot, bit);
      std::vector<CodeMove>& moves = by_byte[4 * place.word + place.bit / 8];
      const int shift = place.bit % 8 - bit;
      auto with = std::find_if(moves.begin(), moves.end(), [&](const CodeMove& move) {
        return move.slot == static_cast<uint32_t>(slot) && move.shift == shift;
      });
      if (with == moves.end()) {
        with = moves.insert(with, {static_cast<uint32_t>(slot), 0, static_cast<int8_t>(shift)});
      }
      with->mask = static_cast<uint8_t>(with->mask | 1 << place.bit % 8);
    }
  }
  first_move_.push_back(0);
  for (const std::vector<CodeMove>& moves : by_byte) {
    moves_.insert(moves_.end(), moves.begin(), moves.end());
    first_move_.push_back(static_cast<uint32_t>(moves_.size()));
  }
  for (int64_t word = 0; word < packed.bits.words(); word += pieces_.back().words) {
    const PackedWord place = PlaceOfPackedWord(threads_, packed.bits.words(), word);
    pieces_.push_back({word, place.piece, place.first});
  }
  const std::vector<uint32_t> table = packed.tile.LinearTable();
  places_.resize(table.size());
  for (int64_t thread = 0; thread < threads_; ++thread) {
    for (int64_t slot = 0; slot < slots_; ++slot) {
      const int64_t element = table[Size(thread * slots_ + slot)];
      const int64_t at = (thread / kWarp * slots_ + slot) * kWarp + thread % kWarp;
      places_[Size(at)] =
          static_cast<uint32_t>(element / tile_columns_ * stride_ + element % tile_columns_);
    }
  }
}

// In the fragments of `mma`, 4 neighbours in a warp have codes of one column, at equal distances.
void TileMap::FindQuads() {
  if (places_.empty()) return;
  quad_step_ = static_cast<int64_t>(places_[1]) - static_cast<int64_t>(places_[0]);
  for (size_t i = 0; i < places_.size(); i += Size(kWarp)) {
    const int64_t first = places_[i];
    for (int64_t t = 0; t < kWarp; ++t) {
      if (places_[i + Size(t)] == first + t % 4 * quad_step_ + t / 4) continue;
      quads_.clear();
      return;
    }
    quads_.push_back(places_[i]);
  }
}

void TileMap::MakeEdges() {
  const PackedTile& packed = layout_.packed();
  const int64_t words = packed.tile_bits / 32;
  if (!packed.complement.empty()) {
    complement_.assign(Size(words), 0);
    for (size_t element = 0; element < packed.complement.size(); ++element) {
      for (int bit = 0; bit < bits_; ++bit) {
        if ((packed.complement[element] >> bit & 1) == 0) continue;
        const uint32_t at = packed.places[element * Size(bits_) + Size(bit)];
        complement_[at / 32] |= uint32_t{1} << at % 32;
      }
    }
  }
  const Extents& tiles = layout_.tiles();
  if (tiles[0] == 0 || tiles[1] == 0) return;
  for (const int64_t last_row : {0, 1}) {
    for (const int64_t last_column : {0, 1}) {
      if ((last_row == 0 && tiles[0] == 1) || (last_column == 0 && tiles[1] == 1)) continue;
      const int64_t row = last_row != 0 ? tiles[0] - 1 : 0;
      const int64_t column = last_column != 0 ? tiles[1] - 1 : 0;
      std::vector<uint32_t> used = layout_.UsedBits(row * tiles[1] + column);
      const bool all =
          std::all_of(used.begin(), used.end(), [](uint32_t word) { return word == UINT32_MAX; });
      if (!all) used_[last_row][last_column] = std::move(used);
    }
  }
}

int64_t TileMap::RegionsAcross() const {
  return (layout_.tiles()[1] + tiles_across_ - 1) / tiles_across_;
}

int64_t TileMap::FirstTile(int64_t number) const {
  if (number == 0) return 0;
  const int64_t across = RegionsAcross();
  return number / across * layout_.tiles()[1] + number % across * tiles_across_;
}

Region TileMap::RegionOf(int64_t number) const {
  const int64_t across = RegionsAcross();
  Region out;
  out.row = number / across * tile_rows_;
  out.column = number % across * tiles_across_ * tile_columns_;
  out.rows = std::min(tile_rows_, layout_.shape()[0] - out.row);
  out.columns = std::min(tiles_across_ * tile_columns_, layout_.shape()[1] - out.column);
  return out;
}

const std::vector<uint32_t>& TileMap::Used(int64_t tile_row, int64_t tile_column) const {
  const Extents& tiles = layout_.tiles();
  return used_[tile_row == tiles[0] - 1 ? 1 : 0][tile_column == tiles[1] - 1 ? 1 : 0];
}

// Complements the bits that are stored so, and clears padding.
void TileMap::Mend(const std::vector<uint32_t>& used, uint8_t* tile) const {
  const int64_t words = layout_.packed().tile_bits / 32;
  for (int64_t i = 0; i < words; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, tile + 4 * i, 4);
    if (!complement_.empty()) word ^= complement_[Size(i)];
    if (!used.empty()) word &= used[Size(i)];
    std::memcpy(tile + 4 * i, &word, 4);
  }
}

// The codes of the threads of a warp, slot by slot.
void TileMap::Gather(const uint8_t* codes, int64_t warp, uint8_t* by_slot) const {
  if (!quads_.empty()) {
    GatherQuads(codes, {quads_.data() + warp * slots_, Size(slots_)}, quad_step_, by_slot);
    return;
  }
  const uint32_t* const from = places_.data() + warp * slots_ * kWarp;
  for (int64_t i = 0; i < slots_ * kWarp; ++i) by_slot[i] = codes[from[i]];
}

void TileMap::PackTile(const uint8_t* codes, const std::vector<uint32_t>& used, uint8_t* by_slot,
                       uint8_t* out) const {
  for (int64_t warp = 0; warp < threads_ / kWarp; ++warp) {
    Gather(codes, warp, by_slot);
    for (const Piece& piece : pieces_) {
      MakeWords(by_slot, moves_.data(), first_move_.data() + 4 * piece.word, piece.words,
                out + 4 * (piece.place + warp * kWarp * piece.words));
    }
  }
  if (!complement_.empty() || !used.empty()) Mend(used, out);
}

// The codes' bits of a word of a warp, whose words of the threads lie `step` words apart.
void TileMap::UnpackWord(const uint8_t* in, int64_t place, int64_t step, int64_t word,
                         uint8_t* by_slot) const {
  alignas(64) uint32_t lanes[kWarp];
  for (int64_t t = 0; t < kWarp; ++t) {
    const int64_t at = place + t * step;
    std::memcpy(&lanes[t], in + 4 * at, 4);
    if (!complement_.empty()) lanes[t] ^= complement_[Size(at)];
  }
  for (int64_t byte = 0; byte < 4; ++byte) {
    const size_t first = Size(4 * word + byte);
    for (uint32_t m = first_move_[first]; m < first_move_[first + 1]; ++m) {
      const CodeMove& move = moves_[m];
      uint8_t* const to = by_slot + move.slot * kWarp;
      const uint32_t mask = uint32_t{move.mask} << 8 * byte;
      // From the byte's place to the code's: right, but for codes that lie higher.
      const int64_t shift = 8 * byte + move.shift;
      for (int64_t t = 0; t < kWarp; ++t) {
        const uint32_t bits = lanes[t] & mask;
        to[t] = static_cast<uint8_t>(to[t] | (shift >= 0 ? bits >> shift : bits << -shift));
      }
    }
  }
}

void TileMap::UnpackTile(const uint8_t* in, uint8_t* by_slot, uint8_t* codes) const {
  for (int64_t warp = 0; warp < threads_ / kWarp; ++warp) {
    std::fill_n(by_slot, slots_ * kWarp, uint8_t{0});
    for (const Piece& piece : pieces_) {
      const int64_t place = piece.place + warp * kWarp * piece.words;
      for (int64_t w = 0; w < piece.words; ++w) {
        UnpackWord(in, place + w, piece.words, piece.word + w, by_slot);
      }
    }
    const uint32_t* const to = places_.data() + warp * slots_ * kWarp;
    for (int64_t i = 0; i < slots_ * kWarp; ++i) codes[to[i]] = by_slot[i];
  }
}

bool TileMap::PaddingIsZero(const uint8_t* in) const {
  const Extents& tiles = layout_.tiles();
  const int64_t words = layout_.packed().tile_bits / 32;
  for (int64_t row = 0; row < tiles[0]; ++row) {
    for (int64_t column = 0; column < tiles[1]; ++column) {
      const std::vector<uint32_t>& used = Used(row, column);
      if (used.empty()) continue;
      const uint8_t* const tile = in + (row * tiles[1] + column) * words * 4;
      for (int64_t i = 0; i < words; ++i) {
        uint32_t word = 0;
        std::memcpy(&word, tile + 4 * i, 4);
        if ((word & ~used[Size(i)]) != 0) return false;
      }
    }
  }
  return true;
}

void TileMap::PackRegion(int64_t number, const Fill& fill, uint8_t* out) const {
  const Region region = RegionOf(number);
  const auto buffer = std::make_unique_for_overwrite<uint8_t[]>(Size(tile_rows_ * stride_));
  const auto by_slot = std::make_unique_for_overwrite<uint8_t[]>(Size(slots_ * kWarp));
  if (region.rows != tile_rows_ || region.columns != tiles_across_ * tile_columns_) {
    std::fill_n(buffer.get(), tile_rows_ * stride_, uint8_t{0});
  }
  fill(region, buffer.get(), stride_);
  const int64_t tile_row = region.row / tile_rows_;
  for (int64_t x = 0; x < region.columns; x += tile_columns_) {
    const int64_t tile_column = (region.column + x) / tile_columns_;
    PackTile(buffer.get() + x, Used(tile_row, tile_column), by_slot.get(), out);
    out += layout_.packed().tile_bits / 8;
  }
}

PartPieces TileMap::Pieces(const Fill& fill) const {
  PartPieces out;
  out.count = Regions();
  out.across = std::max<int64_t>(1, RegionsAcross());
  out.offset = [this](int64_t number) {
    return static_cast<uint64_t>(FirstTile(number) * layout_.packed().tile_bits / 8);
  };
  out.make = [this, &fill](int64_t number, uint8_t* to) { PackRegion(number, fill, to); };
  return out;
}

bool TileMap::Unpack(const uint8_t* in, const Take& take, const Progress& progress) const {
  const int64_t tile_bytes = layout_.packed().tile_bits / 8;
  const auto unpack = [&](int64_t number) {
    const Region region = RegionOf(number);
    const auto buffer = std::make_unique_for_overwrite<uint8_t[]>(Size(tile_rows_ * stride_));
    const auto by_slot = std::make_unique_for_overwrite<uint8_t[]>(Size(slots_ * kWarp));
    const uint8_t* tile = in + FirstTile(number) * tile_bytes;
    for (int64_t x = 0; x < region.columns; x += tile_columns_, tile += tile_bytes) {
      UnpackTile(tile, by_slot.get(), buffer.get() + x);
    }
    take(region, buffer.get(), stride_);
  };
  return ParallelFor(Regions(), unpack, progress);
}

TileMap::Fill FillFrom(const uint8_t* codes, int64_t n) {
  return [codes, n](const Region& region, uint8_t* out, int64_t stride) {
    for (int64_t i = 0; i < region.rows; ++i) {
      std::memcpy(out + i * stride, codes + (region.row + i) * n + region.column,
                  Size(region.columns));
    }
  };
}

}  // namespace tarsia
