#include "runtime/weights/shards.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/diagnostics.h"
#include "support/extents.h"

namespace tarsia {
namespace {

// A matrix of packed tiles within an image; `unit_k` rows of the weights are a row of it.
struct Tiles {
  const MemLayout* layout = nullptr;
  WeightPart part = WeightPart::kCodes;
  int64_t unit_k = 1;
};

std::vector<Tiles> TilesOf(const WeightInfo& info, const WeightPlaces& places) {
  std::vector<Tiles> out = {{&places.codes, WeightPart::kCodes, 1},
                            {&places.scales, WeightPart::kScales, info.group}};
  if (info.zero != ZeroPoint::kNone) {
    out.push_back({&places.zeros, WeightPart::kZeros, info.group});
  }
  return out;
}

bool SameKind(const WeightInfo& a, const WeightInfo& b) {
  return a.type == b.type && a.compute == b.compute && a.group == b.group &&
         a.scale_type == b.scale_type && a.zero == b.zero && a.zero_type == b.zero_type &&
         a.tensor_scale == b.tensor_scale && a.codebook == b.codebook && a.whole_k == b.whole_k &&
         a.whole_n == b.whole_n;
}

// Rows of different lists belong to different columns of x. Each piece with a list has all rows.
bool SameGather(const PackedWeights& a, const PackedWeights& b) {
  const auto x = a.part(WeightPart::kGather), y = b.part(WeightPart::kGather);
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

// The rectangle that a piece and the result share, in coordinates of the whole matrix.
Region Shared(const WeightInfo& a, const WeightInfo& b) {
  Region out;
  out.row = std::max(a.first_k, b.first_k);
  out.column = std::max(a.first_n, b.first_n);
  out.rows = std::min(a.first_k + a.k, b.first_k + b.k) - out.row;
  out.columns = std::min(a.first_n + a.n, b.first_n + b.n) - out.column;
  return out;
}

// Copies the tiles of a region, row of tiles by row of tiles.
void CopyTiles(const Tiles& from, const WeightInfo& from_info, const uint8_t* in, const Tiles& to,
               const WeightInfo& to_info, const Region& region, uint8_t* out) {
  const Extents& tile = from.layout->packed().tile.shape();
  const int64_t tile_bytes = from.layout->packed().tile_bits / 8;
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t rows = up(region.rows / from.unit_k, tile[0]);
  const int64_t columns = up(region.columns, tile[1]);
  const int64_t from_row = (region.row - from_info.first_k) / from.unit_k / tile[0];
  const int64_t to_row = (region.row - to_info.first_k) / to.unit_k / tile[0];
  const int64_t from_column = (region.column - from_info.first_n) / tile[1];
  const int64_t to_column = (region.column - to_info.first_n) / tile[1];
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t source = (from_row + i) * from.layout->tiles()[1] + from_column;
    const int64_t target = (to_row + i) * to.layout->tiles()[1] + to_column;
    std::memcpy(out + target * tile_bytes, in + source * tile_bytes, Size(columns * tile_bytes));
  }
}

Status CheckBounds(const WeightInfo& info) {
  TARSIA_TRY(const ShardGrain grain, GrainOf(info));
  const auto fits = [](int64_t first, int64_t extent, int64_t whole, int64_t unit) {
    return first % unit == 0 && (extent % unit == 0 || first + extent == whole);
  };
  if (!fits(info.first_k, info.k, info.whole_k, grain.k)) {
    return MakeDiagnostic(diag::kShardBounds, {}, "k", info.first_k, info.first_k + info.k,
                          grain.k);
  }
  if (!fits(info.first_n, info.n, info.whole_n, grain.n)) {
    return MakeDiagnostic(diag::kShardBounds, {}, "n", info.first_n, info.first_n + info.n,
                          grain.n);
  }
  return OkStatus();
}

}  // namespace

Result<ShardGrain> GrainOf(const WeightInfo& info) {
  TARSIA_TRY(const WeightPlaces places, PlaceWeights(info));
  ShardGrain out;
  for (const Tiles& tiles : TilesOf(info, places)) {
    const Extents& tile = tiles.layout->packed().tile.shape();
    out.k = std::lcm(out.k, tile[0] * tiles.unit_k);
    out.n = std::lcm(out.n, tile[1]);
  }
  return out;
}

Result<PackedWeights> CutWeights(std::span<const PackedWeights* const> pieces, int64_t first_k,
                                 int64_t first_n, int64_t k, int64_t n) {
  if (pieces.empty()) return MakeDiagnostic(diag::kShardMissing, {}, 0);
  WeightInfo info = pieces[0]->info();
  info.first_k = first_k;
  info.first_n = first_n;
  info.k = k;
  info.n = n;
  TARSIA_CHECK(PlaceWeights(info));
  TARSIA_CHECK(CheckBounds(info));
  info.finite = true;
  int64_t covered = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const WeightInfo& piece = pieces[i]->info();
    if (!SameKind(piece, info) || !SameGather(*pieces[i], *pieces[0])) {
      return MakeDiagnostic(diag::kShardOther, {}, i);
    }
    TARSIA_CHECK(CheckBounds(piece));
    const Region region = Shared(piece, info);
    if (region.rows <= 0 || region.columns <= 0) continue;
    covered += region.rows * region.columns;
    info.finite = info.finite && piece.finite;
    for (size_t before = 0; before < i; ++before) {
      const Region twice = Shared(piece, pieces[before]->info());
      if (twice.rows > 0 && twice.columns > 0) {
        return MakeDiagnostic(diag::kShardTwice, {}, before, i);
      }
    }
  }
  if (covered != k * n) return MakeDiagnostic(diag::kShardMissing, {}, k * n - covered);
  return PackedWeights::Assemble(
      info, pieces[0]->gather(), [&](const WeightPlaces& places, uint8_t* image, bool*) {
        const std::vector<Tiles> to = TilesOf(info, places);
        for (const PackedWeights* piece : pieces) {
          const Region region = Shared(piece->info(), info);
          if (region.rows <= 0 || region.columns <= 0) continue;
          const std::vector<Tiles> from = TilesOf(piece->info(), piece->places());
          for (size_t i = 0; i < to.size(); ++i) {
            CopyTiles(from[i], piece->info(), piece->part(from[i].part).data(), to[i], info, region,
                      image + places[to[i].part].offset);
          }
        }
        return OkStatus();
      });
}

Result<PackedWeights> ShardOf(std::span<const PackedWeights* const> pieces, bool along_k,
                              int64_t part, int64_t parts) {
  if (pieces.empty()) return MakeDiagnostic(diag::kShardMissing, {}, 0);
  const WeightInfo& info = pieces[0]->info();
  const int64_t whole = along_k ? info.whole_k : info.whole_n;
  if (parts < 1 || whole % parts != 0) {
    return MakeDiagnostic(diag::kShardParts, {}, whole, along_k ? "k" : "n", parts);
  }
  if (part < 0 || part >= parts) return MakeDiagnostic(diag::kShardPart, {}, part, parts);
  const int64_t extent = whole / parts;
  return along_k ? CutWeights(pieces, part * extent, 0, extent, info.whole_n)
                 : CutWeights(pieces, 0, part * extent, info.whole_k, extent);
}

Result<PackedWeights> ShardOf(const PackedWeights& whole, bool along_k, int64_t part,
                              int64_t parts) {
  const PackedWeights* const pieces[] = {&whole};
  return ShardOf(pieces, along_k, part, parts);
}

}  // namespace tarsia
