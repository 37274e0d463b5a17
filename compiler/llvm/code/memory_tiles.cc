#include "compiler/llvm/code/memory_tiles.h"

#include <algorithm>

#include "support/extents.h"

namespace tarsia::compiler {
namespace {

// A number of elements as bytes, rounded up.
IndexValue BytesOf(llvm::IRBuilder<>& b, IndexArithmetic& index, const IndexValue& elements,
                   int element_bits) {
  const IndexValue bits = index.Multiply(elements, index.Constant(element_bits));
  IndexValue out = {b.CreateLShr(b.CreateAdd(bits.value, b.getInt64(7)), uint64_t{3}),
                    Facts::Between(0, INT64_MAX)};
  if (bits.facts.IsMultipleOf(8)) out.facts.multiple = bits.facts.multiple / 8;
  return out;
}

void MakeDense(llvm::IRBuilder<>& b, IndexArithmetic& index, bool row_major, MemoryTile& tile) {
  IndexValue stride = index.Constant(1);
  for (int i = 0; i < tile.rank(); ++i) {
    MemoryTile::Dim& dim = tile.dims[Size(row_major ? tile.rank() - 1 - i : i)];
    dim.stride = stride;
    stride = index.Multiply(stride, dim.root_extent);
  }
  tile.root_bytes = BytesOf(b, index, stride, tile.bits());
  // Swizzles move bytes within whole blocks.
  int64_t block = 1;
  for (const Swizzle& swizzle : tile.swizzles) block = std::max(block, swizzle.Block());
  if (block == 1) return;
  const auto bytes = static_cast<uint64_t>(block);
  llvm::Value* up = b.CreateAdd(tile.root_bytes.value, b.getInt64(bytes - 1));
  tile.root_bytes = {b.CreateAnd(up, ~(bytes - 1)), {0, INT64_MAX, bytes}};
}

void MakeConcrete(IndexArithmetic& index, const MemLayout& layout, MemoryTile& tile) {
  tile.swizzles = layout.swizzles();
  tile.root_bytes = index.Constant(static_cast<int64_t>(layout.SizeBytes(tile.bits())));
  bool affine = true;
  for (int d = 0; d < layout.rank(); ++d) affine = affine && layout.modes(d).size() <= 1;
  tile.form = affine ? MemoryTile::Form::kAffine : MemoryTile::Form::kModes;
  for (int d = 0; d < layout.rank() && affine; ++d) {
    const auto& modes = layout.modes(d);
    tile.dims[Size(d)].stride = index.Constant(modes.empty() ? 0 : modes[0].stride);
  }
  tile.layout = std::make_shared<const MemLayout>(layout);
}

// A tensor of any shape: the layout of one packed tile, and how many there are along each
// dimension.
Status MakePacked(llvm::IRBuilder<>& b, IndexArithmetic& index, const RegLayout& one,
                  const BitLayout& bits, MemoryTile& tile) {
  TARSIA_TRY(MemLayout layout, MemLayout::Packed(one, bits, one.shape()));
  tile.form = MemoryTile::Form::kPacked;
  IndexValue bytes = index.Constant(layout.packed().tile_bits / 8);
  for (int d = 0; d < one.rank(); ++d) {
    MemoryTile::Dim& dim = tile.dims[Size(d)];
    const int64_t extent = one.shape()[Size(d)];
    const IndexValue up = index.Add(dim.root_extent, index.Constant(extent - 1));
    dim.tiles = {
        b.CreateUDiv(up.value, b.getInt64(static_cast<uint64_t>(extent))),
        Both(Quotient(up.facts, Facts::Exactly(extent)), Facts::Between(0, INT64_MAX / 2))};
    bytes = index.Multiply(bytes, dim.tiles);
  }
  tile.root_bytes = bytes;
  tile.padded_to_words = true;  // packed tiles are whole words
  tile.layout = std::make_shared<const MemLayout>(std::move(layout));
  return OkStatus();
}

}  // namespace

Result<MemoryTile> WholeTile(llvm::IRBuilder<>& b, IndexArithmetic& index, const ConcreteType& type,
                             const std::vector<IndexValue>& extents) {
  MemoryTile tile;
  tile.space = type.space;
  tile.type = type.dtype;
  for (const IndexValue& extent : extents) {
    MemoryTile::Dim dim;
    dim.extent = dim.high = dim.root_extent = extent;
    dim.origin = dim.low = index.Constant(0);
    tile.dims.push_back(dim);
  }
  const MemLayoutFamily& family = type.mem_layout;
  switch (family.kind) {
    case MemLayoutFamily::Kind::kRowMajor:
    case MemLayoutFamily::Kind::kColumnMajor:
      tile.swizzles = family.swizzles;
      MakeDense(b, index, family.kind == MemLayoutFamily::Kind::kRowMajor, tile);
      return tile;
    case MemLayoutFamily::Kind::kPacked: {
      TARSIA_TRY(const BitLayout bits, family.bits.Apply(type.dtype, family.tile.slots()));
      TARSIA_CHECK(MakePacked(b, index, family.tile, bits, tile));
      return tile;
    }
    case MemLayoutFamily::Kind::kConcrete:
      break;
  }
  if (family.concrete.IsPacked()) {
    const PackedTile& packed = family.concrete.packed();
    TARSIA_CHECK(MakePacked(b, index, packed.tile, packed.bits, tile));
  } else {
    MakeConcrete(index, family.concrete, tile);
  }
  return tile;
}

bool MemoryTiles::IsWrittenInParts(uint32_t value, const MemoryTile& tile) const {
  const ResolvedCode& code = program_.resolved();
  const auto writes_whole_tiles = [&](size_t number) {
    const ResolvedInst& inst = code.instructions()[number];
    const AccessFacts* const facts = facts_.Find(number, 0);
    if (inst.opcode() != Opcode::kCopyAsync || facts == nullptr) return false;
    if (tile.form != MemoryTile::Form::kPacked) return false;
    const Extents& extents = tile.layout->packed().tile.shape();
    for (size_t d = 0; d < extents.size(); ++d) {
      const IndexFacts& along = facts->dims[d];
      if (along.count % extents[d] != 0) return false;
      if (!along.first.IsMultipleOf(static_cast<uint64_t>(extents[d]))) return false;
    }
    return true;
  };
  for (size_t i = 0; i < code.instructions().size(); ++i) {
    const ResolvedInst& inst = code.instructions()[i];
    if (!inst.row->WritesMemory()) continue;
    if (code.root(inst.operand[0].value) != code.root(value)) continue;
    if (!writes_whole_tiles(i)) return true;
  }
  return false;
}

}  // namespace tarsia::compiler
