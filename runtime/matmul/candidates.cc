#include "runtime/matmul/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "compiler/target.h"
#include "layout/access.h"
#include "layout/bit_layout.h"
#include "runtime/matmul/workspace.h"
#include "runtime/weights/packed_order.h"
#include "support/align.h"

namespace tarsia::runtime {
namespace {

// ---- which tiles ------------------------------------------------------------------------------

// By how many rows of x a kernel is chosen. The last range is open.
constexpr int64_t kRangeEnds[] = {8, 16, 32, 64, 128, 256, 512, 1024, 2048};

// Where a group is shorter than bk, there is a slice for each group, of which a thread joins those
// that it has; else there are `slices`, which the warps share.
struct Shape {
  int warps, bn, bk, slices;
};
constexpr Shape kShapes[] = {
    {4, 64, 64, 1},   {4, 64, 128, 1},  {4, 128, 64, 1},  {4, 256, 64, 1},
    {8, 128, 128, 1}, {8, 256, 64, 1},  {8, 256, 128, 1}, {16, 512, 64, 1},
    {8, 64, 256, 2},  {8, 128, 256, 2}, {16, 64, 512, 4},
};
// The bits of a row of x in a step of `mma`; a slice has at least the rows of w for them.
constexpr int kStepBits = 256;
// The bytes of a row of x in a turn of several slices: fewer have conflicts in shared memory.
constexpr int kLeastRowBytes = 128;
// Of gated pairs, whose turns have twice as many weights: here a warp has 32 columns, so that those
// of u5 and u7 are whole packed tiles.
constexpr Shape kGatedShape = {4, 128, 128, 1};
// Of products of two matrices of 16 bits.
constexpr MatmulTile kDense[] = {
    {128, 128, 64, 4, 3}, {128, 256, 64, 8, 3}, {64, 128, 64, 4, 3}, {64, 64, 64, 4, 4}};
constexpr int kRowsOfTiles[] = {8, 16, 32, 64};
// Of a wave, where each processor has one tile: columns and rows of a warp, slices of a turn, and
// the most of a block.
constexpr int kWaveColumns[] = {16, 32, 64};
constexpr int kWaveRows[] = {64, 128};
constexpr int kWaveSlices[] = {1, 2, 4, 8};
constexpr int64_t kMostWaveColumns = 512;
constexpr int64_t kLeastWaveWarps = 7;
constexpr int64_t kMostWaveWarps = 16;
constexpr int kMostWaveTileRows = 32;
// Bytes of weights on their way to a processor that has one tile: more did not help, and the turns
// that fill and empty the ring cost time.
constexpr int64_t kWaveInFlight = 35840;
constexpr int64_t kTurnsOfStage = 4;  // of the loop, at least, for each stage beyond kStages
// Rows of a turn, of which more are for long loops.
constexpr int kLongTurn = 512;
constexpr int64_t kShortLoop = 12;  // turns
// Sums of a thread that leave room for the rest. Of those that it joins it keeps half as many, or
// all in the simplest kernels, beside the double in a turn.
constexpr int kMostSums = 64;
// Columns that the compiler gives a warp of many sums.
constexpr int kWarpColumns = 32;
// Rows of a tile at most whose kernels keep nothing in local memory.
constexpr int kMostRowsWithoutSpills = 16;
// Columns of a tile with slices: with more, sums and their places take the registers of 16 warps.
constexpr int kMostSlicedColumns = 256;
// Stages of the ring: the more where fewer have less than kLeastInFlight on their way to a
// processor; the most where x has 8 bits, and so half of the bytes, or w 1, and in waves.
constexpr int kStages = 4;
constexpr int kMoreStages = 6;
constexpr int kMostStages = 8;
constexpr int64_t kLeastInFlight = 32768;
// Warps of a processor, of which each has so many registers.
constexpr int kWarpsOfFewRows = 16;  // m of a tile at most 16
constexpr int kWarpsOfManyRows = 8;

// ---- how long ---------------------------------------------------------------------------------

// Fitted to 1,464 times on an H200: 46 products of 12 layers, each by up to 30 candidates
// (bench/results/nvidia-h200/matmul-variants.json and matmul-tune.json). The chosen ones are in the
// mean 1.2% above the best. The terms overlap, so that no constant alone is a rate of the machine.
// Times are in microseconds.
constexpr double kLaunch = 1.9;
constexpr double kStream = 4.4;            // leaving sums and waiting for them
constexpr double kOrderedStream = 6.8;     // the same, in the order of the blocks
constexpr double kTurn = 0.004;            // of a block
constexpr double kLatency = 0.5;           // until the bytes that a processor waits for are there
constexpr double kIssue = 2600;            // instructions of warps in a microsecond of a processor
constexpr double kReachedApart = 0.92;     // of the copies' rate, where scales come with each turn
constexpr double kCacheRate = 6500e3;      // bytes of x in a microsecond, of all processors
constexpr double kProductsReached = 0.57;  // of the rate of `mma`
constexpr double kDenseReached = 0.45;     // of it, by a product of two matrices
constexpr double kFragments = 0.43;        // instructions for fragments of x, over those of w
constexpr double kCut = 2.5;               // over decoding packed tiles that are not cut
constexpr double kOverlap = 3.4;  // the p of the norm that joins memory, issue and products
// Fewer warps of a processor issue less in proportion.
constexpr double kWarpsThatIssue = 8;
// Short loops whose blocks can share a processor take so much more time: while blocks of the next
// launch wait beside them, some processors have two blocks of a launch, and others none.
constexpr double kShared = 1.2;
constexpr int kMostWarpsThatShare = 8;  // of a block
// Turns of a group, at most, that the compiler makes turns of one loop (docs/passes.md,
// `pipeline`).
constexpr int64_t kMostJoined = 8;

// The same to i8 (docs/dtypes.md); the zero points are in sums.
double DecodeCostToI8(const WeightInfo& w) {
  constexpr double kOfUnsigned[] = {0, 0.47, 0.44, 0.53, 0.38, 0.59, 0.56, 0.66, 0};
  return kOfUnsigned[w.type.bits] + (w.type.IsSigned() && w.type.bits < 8 ? 0.5 : 0);
}

// The same to f8e4m3fn: types with its exponent have a recipe, the others are cast one by one.
double DecodeCostToF8(const WeightInfo& w) {
  if (w.type.bits == 8) return 0;
  return w.type.exponent == kF8E4M3FN.exponent ? 0.6 : 8;
}

// Instructions of a thread to decode a weight (docs/layouts.md has the recipes).
double DecodeCost(const MatmulProblem& problem) {
  if (problem.activations() == kI8) return DecodeCostToI8(problem.weights);
  if (problem.activations() == kF8E4M3FN) return DecodeCostToF8(problem.weights);
  constexpr double kOfIntegers[] = {0, 0.95, 0.98, 1.09, 1.07, 1.32, 1.43, 1.55, 1.04};
  const WeightInfo& w = problem.weights;
  double cost = kOfIntegers[w.type.bits];
  if (problem.codebook) cost = 2.9;
  if (w.type.IsFloat()) cost = 1.8;
  if (w.type.IsFloat() && w.type.bits == 8 && !w.finite) cost = 3.8;
  if (w.zero != ZeroPoint::kNone) cost += 0.5;
  return cost;
}

// Whether codes are stored complemented: then the zeros that a copy writes beyond the last column
// are no codes of zeros, and codes of a tile that goes beyond it are decoded one by one.
bool IsComplemented(const WeightInfo& w) {
  constexpr int64_t kCodes = 32;  // it is the same for any number of them
  const auto codes = BitLayout::Lanes(w.type, kCodes, w.compute);
  return codes.ok() && codes->Complement(0) != 0;
}

// Rows of a packed tile; a group of fewer ones is decoded code by code.
int64_t TileRows(const WeightInfo& w) { return PackedTileRows(w.type, w.compute); }

class Ranking {
 public:
  Ranking(const MatmulProblem& problem, const DeviceModel& device, int64_t shared_bytes,
          const MatmulChoice& choice, int64_t m)
      : problem_(problem),
        device_(device),
        shared_bytes_(shared_bytes),
        choice_(choice),
        m_(std::max<int64_t>(m, 1)),
        complemented_(IsComplemented(problem.weights)) {}

  std::vector<MatmulCandidate> Run() {
    // Where sums of many slices, or of two halves, do not fit, tiles of fewer rows do.
    for (int least = 32; out_.empty() && least >= kRowsOfTiles[0]; least /= 2) {
      for (const int bm : kRowsOfTiles) {
        // One tile that has all rows is enough, and so are tiles of at least half of them.
        if (bm >= 2 * m_ && bm > 8) continue;
        if (bm < m_ && bm < least) continue;
        for (const Shape& shape : kShapes) AddFused(bm, shape);
        if (problem_.gated) AddFused(bm, kGatedShape);
        if (bm <= kMostWaveTileRows && XBytes() == 2) AddWave(bm);
      }
    }
    // Dequantised weights have 16 bits. They are rounded, so results differ from those of codes.
    const bool is_invariant = choice_.batch_invariant && !out_.empty();
    if (m_ >= 64 && XBytes() == 2 && !is_invariant) AddDense();
    std::erase_if(out_, [&](const MatmulCandidate& one) { return !HasRoom(one); });
    std::stable_sort(out_.begin(), out_.end(),
                     [](const auto& a, const auto& b) { return a.microseconds < b.microseconds; });
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool HasRoom(const MatmulCandidate& candidate) const {
    const MatmulWorkspace workspace = WorkspaceOf(problem_, candidate, m_);
    return workspace.zero <= MatmulWorkspace::kMostZero &&
           (choice_.workspace_limit == 0 || workspace.Bytes() <= choice_.workspace_limit);
  }

  [[nodiscard]] int Halves() const { return problem_.gated ? 2 : 1; }
  [[nodiscard]] int XBytes() const { return problem_.activations().bits / 8; }
  [[nodiscard]] int64_t TilesOf(const MatmulTile& tile) const {
    return CeilDiv<int64_t>(m_, tile.bm) * CeilDiv<int64_t>(problem_.columns(), tile.bn);
  }

  // Of the weights of a turn.
  [[nodiscard]] static int64_t CodeBytes(const MatmulTile& tile, int bits) {
    return int64_t{tile.bk} * tile.bn * bits / 8;
  }
  // Of a thread: in a turn, and from turn to turn.
  [[nodiscard]] static int TurnSums(const MatmulTile& tile) {
    return tile.bm * tile.bn / (tile.warps * 32) * std::max(tile.slices, 1);
  }
  [[nodiscard]] static int Sums(const MatmulTile& tile) { return TurnSums(tile) / tile.joined; }

  [[nodiscard]] int64_t SharedBytes(const MatmulTile& tile, int bits) const {
    const int64_t x = int64_t{XBytes()} * tile.bm * tile.bk;
    const int64_t w = CodeBytes(tile, bits) + int64_t{4} * tile.bn;
    return tile.stages * (x + w * Halves());
  }

  // The slices of a turn, each of one group; 0 if there is no such division.
  [[nodiscard]] int SlicesOf(const Shape& shape) const {
    const int64_t group = problem_.weights.group;
    const int64_t slices = group < shape.bk ? shape.bk / group : shape.slices;
    const int64_t slice = shape.bk / std::max<int64_t>(slices, 1);
    const bool divides =
        shape.bk % slices == 0 && group % slice == 0 &&
        std::max<int64_t>(group, shape.bk) % std::min<int64_t>(group, shape.bk) == 0;
    // A turn beyond the last row of w would need masks.
    const bool whole = problem_.weights.k % shape.bk == 0;
    const int64_t least = kStepBits / problem_.activations().bits;
    const bool no_conflict = slices == 1 || shape.bk * XBytes() >= kLeastRowBytes;
    return divides && whole && no_conflict && slice >= least ? static_cast<int>(slices) : 0;
  }

  [[nodiscard]] int TileColumns() const {
    const WeightInfo& w = problem_.weights;
    return static_cast<int>(PackedTileColumns(w.type, w.compute));
  }
  // Whether warps of so many columns share packed tiles: each decodes the codes of a tile, of which
  // it needs a part.
  [[nodiscard]] bool Cuts(int warps, int columns, int bn, int bk) const {
    return bk / CeilDiv(warps * columns, bn) % TileRows(problem_.weights) != 0;
  }

  // How many slices are of one thread, where a turn has so many slices and several groups: a warp
  // has 32 columns, or half of them where it would cut packed tiles with all; 1 if it would with
  // both.
  [[nodiscard]] int JoinedOf(const Shape& shape, int slices) const {
    for (const int columns : {kWarpColumns, kWarpColumns / 2}) {
      const int across = CeilDiv(shape.warps * columns, shape.bn);
      if (columns % TileColumns() != 0 || slices % across != 0) continue;
      if (!Cuts(shape.warps, columns, shape.bn, shape.bk)) return slices / across;
    }
    return 1;
  }

  // So many slices of a thread, where their sums are too many: more than half of the most where
  // nothing is to be in local memory, that half in blocks of many warps or beside the sums of other
  // warps, and the most where warps could not exchange weights. Joining them takes an instruction
  // more for each that is left.
  void Join(int slices, MatmulTile* tile) const {
    const int sums = TurnSums(*tile);
    const bool is_near =
        tile->warps > kWarpsOfManyRows || (tile->slices > slices && tile->bm > kRowsOfTiles[0]);
    const int most = tile->bm <= kMostRowsWithoutSpills ? kMostSums / 2 : kMostSums;
    if (sums > most || (sums == kMostSums / 2 && is_near) ||
        (sums == kMostSums && LacksRoomToExchange(*tile))) {
      tile->joined = slices;
    }
  }

  // Where warps would cut packed tiles, they exchange the decoded weights of a turn through shared
  // memory; without room for all of them it takes five times as many instructions
  // (bench/results/code.md).
  [[nodiscard]] bool LacksRoomToExchange(const MatmulTile& tile) const {
    const int64_t decoded = int64_t{tile.bk} * tile.bn * XBytes() * 17 / 16;  // with padding
    return Cuts(tile.warps, kWarpColumns, tile.bn, tile.bk) &&
           SharedBytes(tile, problem_.weights.type.bits) + decoded > shared_bytes_;
  }

  void AddFused(int bm, const Shape& shape) {
    const WeightInfo& w = problem_.weights;
    MatmulTile tile{bm, shape.bn, shape.bk, shape.warps, kStages};
    if (InFlight(tile) < kLeastInFlight) tile.stages = kMoreStages;
    const bool is_small = XBytes() == 1 || w.type.bits == 1;
    if (is_small && InFlight(tile) < kLeastInFlight) tile.stages = kMostStages;
    // A turn reads whole packed tiles, as far as a group has them.
    const int64_t rows = TileRows(w);
    // Sums of slices are added in an order that depends on the tile.
    const int slices = choice_.batch_invariant ? 0 : SlicesOf(shape);
    const bool by_groups = w.group >= shape.bk || (shape.bk == rows && slices == 0);
    if (shape.bk % rows != 0 || (slices == 0 && !by_groups)) return;
    // A block of few columns that has all of k reads all of x, which pays for few rows. So does a
    // warp of 16 columns with x of 8 bits: its fragments serve half as many products.
    const bool few_rows = bm == kRowsOfTiles[0];
    const bool is_wide = shape.bn > 64 && (XBytes() == 2 || shape.bn / shape.warps > 16);
    // Sums of groups need no slices.
    if (by_groups && shape.slices == 1 && (few_rows || is_wide) && Fits(tile)) {
      Add(tile, false);
    }
    if (slices == 0 || shape.bn > kMostSlicedColumns) return;
    tile.slices = slices;
    if (w.group < shape.bk) Join(JoinedOf(shape, slices), &tile);
    if (!Fits(tile)) return;
    if (shape.slices > 1 ? few_rows : !by_groups) Add(tile, false);
    if (StreamSpills(tile)) return;
    tile.stream = true;
    tile.blocks = device_.processors * BlocksOfStream(tile);
    // Nothing is divided where each block has whole tiles.
    if (TilesOf(tile) % tile.blocks == 0) return;
    tile.ordered = true;
    Add(tile, false);
    tile.ordered = false;
    if (!choice_.deterministic) Add(tile, false);
  }

  // Tiles of which each processor has one, as wide as the columns need: no block waits for another,
  // and all read the same rows of w at a time.
  void AddWave(int bm) {
    const WeightInfo& w = problem_.weights;
    for (const int columns : kWaveColumns) {
      const int64_t across =
          CeilDiv<int64_t>(problem_.columns(), int64_t{device_.processors} * columns);
      const int64_t bn = across * columns;
      if (columns % TileColumns() != 0 || bn > kMostWaveColumns) continue;
      // Each tile has whole sectors of zero points.
      if (w.zero == ZeroPoint::kInteger && bn % kSectorBytes != 0) continue;
      for (const int slices : kWaveSlices) {
        const int64_t warps = across * slices;
        if (warps < kLeastWaveWarps || warps > kMostWaveWarps) continue;
        if (slices > 1 && across >= kLeastWaveWarps) continue;
        for (const int rows : kWaveRows) {
          AddWave(bm, {static_cast<int>(warps), static_cast<int>(bn), rows * slices, slices});
        }
      }
    }
  }
  void AddWave(int bm, const Shape& shape) {
    const WeightInfo& w = problem_.weights;
    if (shape.bk % TileRows(w) != 0 || Cuts(shape.warps, TileColumns(), shape.bn, shape.bk)) return;
    if (shape.bk > kLongTurn && w.k / shape.bk < kShortLoop) return;
    MatmulTile tile{bm, shape.bn, shape.bk, shape.warps, kStages};
    const int64_t turn = CodeBytes(tile, w.type.bits) * Halves();
    tile.stages = static_cast<int>(std::clamp<int64_t>(
        std::min(CeilDiv(kWaveInFlight, turn) + 1, w.k / shape.bk / kTurnsOfStage), kStages,
        kMostStages));
    if (shape.slices > 1 || w.group < shape.bk) {
      // Warps that share columns pay for few rows.
      if (choice_.batch_invariant || (shape.slices > 1 && bm != kRowsOfTiles[0])) return;
      tile.slices = SlicesOf(shape);
      if (tile.slices % shape.slices != 0 || tile.slices == 0) return;
      Join(tile.slices / shape.slices, &tile);
    }
    if (WaveSpills(tile)) return;
    if (Fits(tile) && !Has(tile)) Add(tile, false);
  }
  [[nodiscard]] bool Has(const MatmulTile& tile) const {
    return std::ranges::any_of(
        out_, [&](const MatmulCandidate& one) { return !one.dequantises && one.tile == tile; });
  }
  [[nodiscard]] bool Fits(const MatmulTile& tile) const {
    const bool joins = tile.joined > 1;
    const int most = joins && problem_.gated ? kMostSums / 2 : kMostSums;
    const int most_of_turn = joins && tile.warps <= kWarpsOfManyRows ? 2 * kMostSums : kMostSums;
    return Sums(tile) * Halves() <= most && TurnSums(tile) <= most_of_turn &&
           SharedBytes(tile, problem_.weights.type.bits) <= shared_bytes_;
  }

  // Streams of which ptxas keeps numbers in local memory, where others without are predicted to
  // take at most 2% longer: what a block needs between tiles and what a turn needs, more than half
  // of the sums that others have, or the places of rings of many stages in blocks of four warps
  // or of large turns, exceed 255 registers.
  [[nodiscard]] bool StreamSpills(const MatmulTile& tile) const {
    const bool many = Sums(tile) > kMostSums / 2;
    if (many && tile.joined > 1) return true;
    if (XBytes() == 1) return false;  // which takes fewer registers
    if (tile.bm > kMostRowsWithoutSpills) {
      return many && tile.bm <= kMostWaveTileRows && tile.warps == 4;
    }
    const bool many_places =
        (tile.warps == 4 && tile.bn > 64) || (tile.slices > 1 && tile.bn * tile.bk > 1 << 14);
    const bool is_long = tile.stages > kStages || problem_.weights.type.bits == 1;
    return many || (tile.bm > kRowsOfTiles[0] && is_long && many_places);
  }

  // Of codes of one bit, whose decoding takes the most registers, in blocks of so many warps that a
  // thread has at most 168: sums of two halves of 16 slices.
  [[nodiscard]] bool WaveSpills(const MatmulTile& tile) const {
    return problem_.weights.type.bits == 1 && tile.warps > kWarpsOfManyRows &&
           (TurnSums(tile) + Sums(tile)) * Halves() >= kMostSums;
  }

  void AddDense() {
    for (MatmulTile tile : kDense) {
      if (Sums(tile) * Halves() > 2 * kMostSums) continue;
      if (SharedBytes(tile, 16) <= shared_bytes_) Add(tile, true);
    }
  }

  void Add(const MatmulTile& tile, bool dequantises) {
    out_.push_back({dequantises, tile, Predict(tile, dequantises)});
  }

  // Of a processor, at a time.
  [[nodiscard]] int Resident(const MatmulTile& tile, int bits) const {
    const int warps = tile.bm <= 16 ? kWarpsOfFewRows : kWarpsOfManyRows;
    const auto by_shared =
        static_cast<int>(shared_bytes_ / std::max<int64_t>(SharedBytes(tile, bits), 1));
    return std::max(1, std::min(warps / tile.warps, by_shared));
  }

  // Bytes on their way to a processor: of all stages but the one that computes, of the blocks that
  // a stream has there.
  [[nodiscard]] int64_t InFlight(const MatmulTile& tile) const {
    const int64_t w = CodeBytes(tile, problem_.weights.type.bits) + int64_t{2} * tile.bn;
    const int64_t turn = w * Halves() + int64_t{XBytes()} * tile.bm * tile.bk;
    return turn * BlocksOfStream(tile) * (tile.stages - 1);
  }
  [[nodiscard]] static int BlocksOfStream(const MatmulTile& tile) {
    return std::max(1, kWarpsOfManyRows / tile.warps);
  }

  // Of a thread for a weight.
  [[nodiscard]] double Instructions(const MatmulTile& tile) const {
    const WeightInfo& w = problem_.weights;
    // Codes are decoded one by one.
    const bool part = complemented_ && problem_.columns() % tile.bn != 0;
    if ((tile.slices == 0 && w.group < TileRows(w)) || part) return 14;
    const double slices = std::max(tile.slices, 1);
    // Rows of w, to one scaling of its sums. Sums in i32 are made f32 before.
    const double scaled = tile.slices == 0 ? static_cast<double>(w.group) : tile.bk / slices;
    const double for_sums = problem_.activations() == kI8 ? 2 : 1;
    const bool cuts = Cuts(tile.warps, TileColumns(), tile.bn, tile.bk);
    const double decode = DecodeCost(problem_) * (cuts ? kCut : 1);
    const double fragments = kFragments * tile.bm * tile.warps / (tile.bn * slices / tile.joined);
    const double joining = tile.joined > 1 ? tile.bm / (scaled * tile.joined) : 0;
    return decode + for_sums * tile.bm / scaled + fragments + joining;
  }

  [[nodiscard]] double Predict(const MatmulTile& tile, bool dequantises) const {
    const WeightInfo& w = problem_.weights;
    const int bits = dequantises ? 16 : w.type.bits;
    const auto k = static_cast<double>(w.k);
    const int64_t tiles = TilesOf(tile);
    const int resident = Resident(tile, bits);
    // Tiles of the processor that has the most, and how many of them it computes at a time.
    const double processors = device_.processors;
    const double mean = static_cast<double>(tiles) / processors;
    const double most = tile.stream ? mean : std::ceil(mean);
    const double at_once =
        tile.stream ? tile.blocks / processors : std::min<double>(resident, most);
    const double turns = most * k / tile.bk;
    // Of a warp in a turn.
    const double weights = static_cast<double>(tile.bn) * tile.bk * Halves() / (32.0 * tile.warps);
    const double per_weight = dequantises ? 0.3 : Instructions(tile);
    const double lack = std::max(1.0, kWarpsThatIssue / (tile.warps * std::max(at_once, 1.0)));
    const double issue = turns * weights * per_weight * tile.warps * lack / kIssue;
    const double products = 2.0 * turns * tile.bm * tile.bn * tile.bk * Halves() /
                            (device_.operations_per_us / processors *
                             (dequantises ? kDenseReached : kProductsReached) * 2.0 / XBytes());
    const auto numbers = k * static_cast<double>(w.n);
    const double rows = static_cast<double>(std::min<int64_t>(m_, tile.bm));
    const double read = numbers * bits / 8 *
                        (dequantises ? 1 : 1 + 16.0 / (w.type.bits * static_cast<double>(w.group)));
    const double read_x = static_cast<double>(tiles) * rows * k * XBytes();
    const double in_flight =
        at_once * (tile.stages - 1) * tile.bk * (tile.bn * Halves() * bits / 8.0 + rows * XBytes());
    const double busy = tile.stream ? processors : std::min(processors, static_cast<double>(tiles));
    // Where turns of a group are turns of one loop, and in streams, all of the rate is reached.
    const bool one_loop = tile.slices == 0 && w.group > tile.bk && w.group <= kMostJoined * tile.bk;
    const double reached = one_loop || tile.stream || dequantises ? 1 : kReachedApart;
    const double rate = std::min(device_.bytes_per_us * reached, busy * in_flight / kLatency);
    const double memory =
        read / rate * (tile.stream ? 1 : most / std::max(mean, 1.0)) + read_x / kCacheRate;
    double out = kLaunch + kTurn * turns / at_once +
                 std::pow(std::pow(memory, kOverlap) + std::pow(issue, kOverlap) +
                              std::pow(products, kOverlap),
                          1 / kOverlap);
    const bool shares = tile.warps <= kMostWarpsThatShare &&
                        compiler::BlocksInSharedMemory(shared_bytes_, SharedBytes(tile, bits)) >= 2;
    const bool is_short = w.k / tile.bk < kShortLoop && mean <= 1;
    if (shares && is_short && !tile.stream && !dequantises) out *= kShared;
    if (tile.stream) out += tile.ordered ? kOrderedStream : kStream;
    if (dequantises) out += kLaunch + numbers * (w.type.bits / 8.0 + 2) / device_.bytes_per_us;
    return out;
  }

  const MatmulProblem& problem_;
  const DeviceModel& device_;
  const int64_t shared_bytes_;
  const MatmulChoice& choice_;
  const int64_t m_;
  const bool complemented_;
  std::vector<MatmulCandidate> out_;
};

// The interpreter decodes a tile of weights once for all rows of a tile of x.
MatmulCandidate ForInterpreter(const MatmulProblem& problem, int64_t m) {
  MatmulCandidate out;
  out.tile = {16, 128, static_cast<int>(TileRows(problem.weights)), 1, 1};
  while (out.tile.bm < m && out.tile.bm < 64) out.tile.bm *= 2;
  return out;
}

}  // namespace

std::string MatmulCandidate::Text() const {
  std::string out = fmt::format("BM={} BN={} BK={} WARPS={} STAGES={}", tile.bm, tile.bn, tile.bk,
                                tile.warps, tile.stages);
  if (tile.slices > 0) out += fmt::format(" KS={}", tile.slices);
  if (tile.joined > 1) out += fmt::format(" KT={}", tile.joined);
  if (tile.stream) out += fmt::format(" STREAM=1 P={} ORDERED={}", tile.blocks, tile.ordered);
  return dequantises ? "dequantise, then " + out : out;
}

std::vector<MatmulCandidate> RankMatmul(const MatmulProblem& problem, const DeviceModel& device,
                                        int64_t shared_bytes, const MatmulChoice& choice,
                                        int64_t m) {
  if (device.interprets) return {ForInterpreter(problem, m)};
  return Ranking(problem, device, shared_bytes, choice, m).Run();
}

int64_t EndOfMatmulRange(int64_t m) {
  const auto* const end = std::lower_bound(std::begin(kRangeEnds), std::end(kRangeEnds), m);
  return end == std::end(kRangeEnds) ? std::numeric_limits<int64_t>::max() : *end;
}

}  // namespace tarsia::runtime
