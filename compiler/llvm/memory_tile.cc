// Tiles in memory: from a type and extents to strides, bounds and sizes.
#include <algorithm>

#include "compiler/llvm/emitter.h"

namespace tarsia::compiler {
namespace {

size_t Size(int64_t x) { return static_cast<size_t>(x); }

// Dense strides; `fast` says which dimension is the fastest.
void DenseStrides(Emitter& e, MemoryTile& tile, bool row_major) {
  IndexValue stride = e.ConstantIndex(1);
  for (int i = 0; i < tile.rank(); ++i) {
    MemoryTile::Dim& dim = tile.dims[Size(row_major ? tile.rank() - 1 - i : i)];
    dim.stride = stride;
    stride = e.Multiply(stride, dim.root_extent);
  }
  // Of bits, rounded up to bytes, then to whole blocks of the swizzles.
  const IndexValue bits = e.Multiply(stride, e.ConstantIndex(tile.bits()));
  llvm::IRBuilder<>& b = e.b();
  tile.root_bytes = {b.CreateLShr(b.CreateAdd(bits.value, e.Int64(7)), uint64_t{3}),
                     Facts::Between(0, INT64_MAX)};
  if (bits.facts.IsMultipleOf(8)) tile.root_bytes.facts.multiple = bits.facts.multiple / 8;
  int64_t block = 1;
  for (const Swizzle& swizzle : tile.swizzles) block = std::max(block, swizzle.Block());
  if (block == 1) return;
  llvm::Value* up = b.CreateAdd(tile.root_bytes.value, e.Int64(block - 1));
  tile.root_bytes = {b.CreateAnd(up, ~static_cast<uint64_t>(block - 1)),
                     {0, INT64_MAX, static_cast<uint64_t>(block)}};
}

Status ConcreteTile(Emitter& e, const ConcreteType& type, MemoryTile& tile) {
  const MemLayout& layout = type.mem_layout.concrete;
  tile.swizzles = layout.swizzles();
  tile.root_bytes = e.ConstantIndex(static_cast<int64_t>(layout.SizeBytes(type.dtype.bits)));
  bool affine = true;
  for (int d = 0; d < layout.rank(); ++d) affine = affine && layout.modes(d).size() <= 1;
  tile.form = affine ? MemoryTile::Form::kAffine : MemoryTile::Form::kModes;
  for (int d = 0; d < layout.rank() && affine; ++d) {
    const auto& modes = layout.modes(d);
    tile.dims[Size(d)].stride = e.ConstantIndex(modes.empty() ? 0 : modes[0].stride);
  }
  tile.layout = std::make_shared<const MemLayout>(layout);
  return OkStatus();
}

// Any shape: the map of one packed tile, and how many there are along each dimension.
Status PackedTileOf(Emitter& e, MemoryTile& tile, const RegLayout& one, const BitLayout& bits) {
  TARSIA_TRY(MemLayout layout, MemLayout::Packed(one, bits, one.shape()));
  tile.form = MemoryTile::Form::kPacked;
  llvm::IRBuilder<>& b = e.b();
  IndexValue number = e.ConstantIndex(layout.packed().tile_bits / 8);
  for (int d = 0; d < one.rank(); ++d) {
    MemoryTile::Dim& dim = tile.dims[Size(d)];
    const int64_t extent = one.shape()[Size(d)];
    llvm::Value* up = b.CreateAdd(dim.root_extent.value, e.Int64(extent - 1));
    dim.tiles = {b.CreateUDiv(up, e.Int64(extent)), Facts::Between(0, INT64_MAX / 2)};
    number = e.Multiply(number, dim.tiles);
  }
  tile.root_bytes = number;
  tile.padded_to_words = true;  // packed tiles are whole words
  tile.layout = std::make_shared<const MemLayout>(std::move(layout));
  return OkStatus();
}

}  // namespace

Result<MemoryTile> Emitter::WholeTile(const ConcreteType& type, std::vector<IndexValue> extents) {
  MemoryTile tile;
  tile.space = type.space;
  tile.type = type.dtype;
  for (const IndexValue& extent : extents) {
    MemoryTile::Dim dim;
    dim.extent = dim.high = dim.root_extent = extent;
    dim.origin = dim.low = ConstantIndex(0);
    tile.dims.push_back(dim);
  }
  const MemLayoutFamily& family = type.mem_layout;
  switch (family.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
    case MemLayoutFamily::Kind::kColumnMajor:
      tile.swizzles = family.swizzles;
      DenseStrides(*this, tile, family.kind == MemLayoutFamily::Kind::kRowMajor);
      return tile;
    case MemLayoutFamily::Kind::kPacked: {
      TARSIA_TRY(const BitLayout bits, family.bits.Apply(type.dtype, family.tile.slots()));
      TARSIA_CHECK(PackedTileOf(*this, tile, family.tile, bits));
      return tile;
    }
    case MemLayoutFamily::Kind::kConcrete:
      break;
  }
  if (family.concrete.IsPacked()) {
    const PackedTile& packed = family.concrete.packed();
    TARSIA_CHECK(PackedTileOf(*this, tile, packed.tile, packed.bits));
    return tile;
  }
  TARSIA_CHECK(ConcreteTile(*this, type, tile));
  return tile;
}

std::vector<IndexValue> Emitter::Indices(const Operand& operand) {
  std::vector<IndexValue> out;
  for (const ExprId index : program_.pool().children(operand.indices)) out.push_back(Index(index));
  return out;
}

}  // namespace tarsia::compiler
