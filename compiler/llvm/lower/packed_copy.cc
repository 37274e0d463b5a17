#include "compiler/llvm/lower/packed_copy.h"

#include <algorithm>
#include <utility>

#include "compiler/llvm/code/packed_map.h"
#include "compiler/llvm/code/tile_addresses.h"
#include "compiler/select/access.h"

namespace tarsia::compiler {

std::optional<PackedPieces> PackedPieces::Of(const PackedTile& tile, const Extents& box,
                                             int64_t threads, bool rows, Order order) {
  PackedPieces out;
  const int64_t bytes = tile.tile_bits / 8;
  if (bytes % kWidestAccess != 0) return std::nullopt;
  out.threads_ = threads;
  out.pieces_ = out.total_ = bytes / kWidestAccess;
  for (size_t d = 0; d < box.size(); ++d) {
    const int64_t extent = tile.tile.shape()[d];
    if (box[d] % extent != 0) return std::nullopt;
    out.grid_.push_back(box[d] / extent);
    out.total_ *= box[d] / extent;
  }
  if (out.total_ == 0) return std::nullopt;
  if (rows) out.pieces_ *= std::exchange(out.grid_.back(), 1);
  out.by_warps_ = order == Order::kByWarps && out.total_ % threads == 0;
  out.by_warps_ = out.by_warps_ && out.ComeApart();
  return out;
}

PackedPieces::Place PackedPieces::PlaceOf(int64_t number) const {
  Place out{Extents(grid_.size()), number % pieces_};
  number /= pieces_;
  for (size_t d = grid_.size(); d-- > 0; number /= grid_[d]) out.tile[d] = number % grid_[d];
  return out;
}

bool PackedPieces::ComeApart() const {
  for (int64_t thread = 0; thread < threads_; ++thread) {
    const Place first = PlaceOf(First(thread));
    for (int64_t turn = 0; turn < Turns(); ++turn) {
      const int64_t number = First(thread) + turn * Step();
      if (number >= total_) break;
      Place sum = PlaceOf(turn * Step());
      sum.piece += first.piece;
      for (size_t d = 0; d < grid_.size(); ++d) sum.tile[d] += first.tile[d];
      if (sum != PlaceOf(number)) return false;
    }
  }
  return true;
}

namespace {

// Code for the places of a thread's pieces in one of the memories.
class PieceAddresses {
 public:
  PieceAddresses(FunctionBuilder& function, Layouts& layouts, const TileWindow& window)
      : f_(function),
        b_(function.b()),
        window_(window),
        tile_(window.memory.layout->packed()),
        addresses_(function, layouts, window) {
    PackedMap map(f_, window.memory);
    Slots root;
    for (const IndexValue& index : window.root) root.push_back(index.value);
    first_ = map.TileByte(root);
    llvm::Value* stride = f_.Int64(tile_.tile_bits / 8);
    strides_.assign(window.memory.dims.size(), nullptr);
    for (size_t d = strides_.size(); d-- > 0;) {
      strides_[d] = stride;
      stride = b_.CreateMul(stride, window.memory.dims[d].tiles.value);
    }
  }

  // Of the piece at `tile` (i64 by dimension) and `piece` (i64) of a thread, and so much further.
  Address Of(const Slots& tile, llvm::Value* piece, const PackedPieces::Place& further) {
    llvm::Value* byte = b_.CreateAdd(first_, b_.CreateMul(piece, f_.Int64(kWidestAccess)));
    int64_t constant = further.piece * kWidestAccess;
    for (size_t d = 0; d < strides_.size(); ++d) {
      byte = b_.CreateAdd(byte, b_.CreateMul(tile[d], strides_[d]));
      if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(strides_[d])) {
        constant += further.tile[d] * known->getSExtValue();
      } else {
        byte = b_.CreateAdd(byte, b_.CreateMul(f_.Int64(further.tile[d]), strides_[d]));
      }
    }
    Address out = addresses_.AddressOf(byte);
    out.offset += constant;
    return out;
  }

  // Of that tile: i1, null for always.
  llvm::Value* Exists(const Slots& tile, const PackedPieces::Place& further) {
    llvm::Value* out = nullptr;
    for (size_t d = 0; d < strides_.size(); ++d) {
      const auto dim = static_cast<int>(d);
      const int64_t extent = tile_.tile.shape()[d];
      llvm::Value* number = b_.CreateAdd(tile[d], f_.Int64(further.tile[d]));
      llvm::Value* index =
          b_.CreateAdd(window_.root[d].value, b_.CreateMul(number, f_.Int64(extent)));
      const MemoryTile::Dim& bounds = window_.memory.dims[d];
      if (!window_.IsAboveLow(dim)) out = f_.And(out, b_.CreateICmpSGE(index, bounds.low.value));
      if (!window_.IsBelowHigh(dim)) out = f_.And(out, b_.CreateICmpSLT(index, bounds.high.value));
    }
    return out;
  }

 private:
  FunctionBuilder& f_;
  llvm::IRBuilder<>& b_;
  const TileWindow& window_;
  const PackedTile& tile_;
  TileAddresses addresses_;
  llvm::Value* first_ = nullptr;  // i64: the byte of the window's first tile
  Slots strides_;                 // i64: bytes between tiles, by dimension
};

// Whether the window begins at a tile, and all of a tile exists or nothing of it.
bool HasWholeTiles(const TileWindow& window) {
  const PackedTile& packed = window.memory.layout->packed();
  for (size_t d = 0; d < window.root.size(); ++d) {
    const auto extent = static_cast<uint64_t>(packed.tile.shape()[d]);
    const MemoryTile::Dim& dim = window.memory.dims[d];
    const auto at = static_cast<int>(d);
    if (!window.root[d].facts.IsMultipleOf(extent)) return false;
    if (window.IsInside(at)) continue;
    // Zeros are not the codes of zeros there.
    if (!packed.complement.empty()) return false;
    if (!window.IsAboveLow(at) && !dim.low.facts.IsMultipleOf(extent)) return false;
    if (!window.IsBelowHigh(at) && !dim.high.facts.IsMultipleOf(extent)) return false;
  }
  return true;
}

bool IsInside(const TileWindow& window) {
  for (size_t d = 0; d < window.root.size(); ++d) {
    if (!window.IsInside(static_cast<int>(d))) return false;
  }
  return true;
}

// A number (i32) in digits, the last one fastest; i64 each.
Slots Digits(FunctionBuilder& f, llvm::Value* number, const Extents& extents) {
  llvm::IRBuilder<>& b = f.b();
  Slots out(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    llvm::Value* extent = f.Int32(extents[d]);
    out[d] = b.CreateZExt(b.CreateURem(number, extent), f.I(64));
    number = b.CreateUDiv(number, extent);
  }
  return out;
}

// Nothing if the window has other tiles, or parts of tiles.
std::optional<PackedPieces> WholePieces(FunctionBuilder& function, const TileWindow& window,
                                        PackedPieces::Order order) {
  if (window.memory.form != MemoryTile::Form::kPacked || window.axis >= 0) return std::nullopt;
  if (!HasWholeTiles(window)) return std::nullopt;
  const bool rows =
      !window.root.empty() && window.IsInside(static_cast<int>(window.root.size()) - 1);
  return PackedPieces::Of(window.memory.layout->packed(), window.tile.shape(), function.threads(),
                          rows, order);
}

// Those of a thread, turn by turn.
std::vector<PackedPiece> PiecesOfThread(FunctionBuilder& function, Layouts& layouts,
                                        const TileWindow& window, const PackedPieces& pieces) {
  llvm::IRBuilder<>& b = function.b();
  PieceAddresses addresses(function, layouts, window);
  Extents extents = pieces.grid();
  extents.push_back(pieces.pieces());
  const bool apart = pieces.ComeApart();
  llvm::Value* const warp = b.CreateUDiv(function.Thread(), function.Int32(kWarpThreads));
  llvm::Value* const start =
      b.CreateAdd(function.Thread(), b.CreateMul(warp, function.Int32(pieces.BetweenWarps())));
  std::vector<PackedPiece> out;
  for (int64_t turn = 0; turn < pieces.Turns(); ++turn) {
    const int64_t first = turn * pieces.Step();
    llvm::Value* number = apart ? start : b.CreateAdd(start, function.Int32(first));
    Slots tile = Digits(function, number, extents);
    llvm::Value* piece = tile.back();
    tile.pop_back();
    const PackedPieces::Place further = pieces.PlaceOf(apart ? first : 0);
    PackedPiece& next = out.emplace_back();
    next.at = addresses.Of(tile, piece, further);
    next.exists = addresses.Exists(tile, further);
    if ((turn + 1) * function.threads() > pieces.total()) {
      next.put = b.CreateICmpULT(start, function.Int32(pieces.total() - first));
    }
  }
  return out;
}

}  // namespace

std::optional<std::vector<PackedPiece>> PiecesOfPackedTiles(FunctionBuilder& function,
                                                            Layouts& layouts,
                                                            const TileWindow& window) {
  // Where tiles do not exist, all pieces of a turn are often left out.
  const auto pieces = WholePieces(function, window, PackedPieces::Order::kByBlock);
  if (!pieces) return std::nullopt;
  return PiecesOfThread(function, layouts, window, *pieces);
}

std::optional<std::vector<PackedPieceCopy>> CopiesOfPackedPieces(FunctionBuilder& function,
                                                                 Layouts& layouts,
                                                                 const TileWindow& to,
                                                                 const TileWindow& from) {
  constexpr auto kOrder = PackedPieces::Order::kByWarps;
  if (!WholePieces(function, to, kOrder) || !IsInside(to)) return std::nullopt;
  const auto pieces = WholePieces(function, from, kOrder);
  if (!pieces || *to.memory.layout != *from.memory.layout) return std::nullopt;
  const std::vector<PackedPiece> targets = PiecesOfThread(function, layouts, to, *pieces);
  const std::vector<PackedPiece> sources = PiecesOfThread(function, layouts, from, *pieces);
  std::vector<PackedPieceCopy> out;
  for (size_t i = 0; i < sources.size(); ++i) out.push_back({targets[i].at, sources[i]});
  return out;
}

}  // namespace tarsia::compiler
