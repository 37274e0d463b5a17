#include "compiler/llvm/code/tile_addresses.h"

#include <algorithm>
#include <numeric>

#include "support/extents.h"

namespace tarsia::compiler {

namespace {

// If all strides are known.
std::optional<StridedBytes> StridesOf(const MemoryTile& memory) {
  if (memory.form == MemoryTile::Form::kPacked || memory.bits() % 8 != 0) return std::nullopt;
  StridedBytes out;
  out.swizzles = memory.swizzles;
  for (int d = 0; d < memory.rank(); ++d) {
    const IndexValue& stride = memory.dims[Size(d)].stride;
    if (memory.form == MemoryTile::Form::kModes) {
      out.dims.push_back(memory.layout->modes(d));
    } else if (stride.facts.IsExact()) {
      out.dims.push_back({{1, stride.facts.lo}});
    } else {
      return std::nullopt;
    }
    for (MemLayout::Mode& mode : out.dims.back()) mode.stride *= memory.bits() / 8;
  }
  return out;
}

// Whether what the window's first element adds to an offset stays apart from the rest.
bool BeginsApart(const TileWindow& window, const StridedBytes& memory) {
  for (int d = 0; d < window.memory.rank(); ++d) {
    const Facts& root = window.root[Size(d)].facts;
    if (root == Facts::Exactly(0)) continue;
    const int64_t inner = memory.Inner(d);
    const int64_t block = memory.Along(d, inner);  // bytes
    const int64_t blocks = block == 0 ? 1 : memory.Period() / std::gcd(memory.Period(), block);
    if (!root.IsMultipleOf(static_cast<uint64_t>(inner * blocks))) return false;
  }
  return true;
}

// Nothing where the sum of strides does as well, or where offsets do not come apart.
std::optional<StridedBytes> PartedOffsets(const TileWindow& window) {
  const MemoryTile& memory = window.memory;
  const bool plain = memory.form == MemoryTile::Form::kAffine && memory.swizzles.empty();
  if (plain || window.axis >= 0 || window.tile.empty()) return std::nullopt;
  std::optional<StridedBytes> out = StridesOf(memory);
  if (!out || !BeginsApart(window, *out) || !OffsetsArePartedIn(*out, window.tile.reg())) {
    return std::nullopt;
  }
  return out;
}

// Whether no carry reaches a block (a power of two) when what the thread adds to an index and what
// the slot adds to it are added.
bool PartsInBlocks(const RegLayout& tile, int dim, int64_t block) {
  int64_t bits = 0;
  const auto is_apart = [&](const RegLayout::Digit& digit) {
    if (digit.dim != dim || digit.stride % block == 0) return true;
    const bool powers =
        (digit.extent & (digit.extent - 1)) == 0 && (digit.stride & (digit.stride - 1)) == 0;
    const int64_t own = (digit.extent - 1) * digit.stride & (block - 1);
    const bool apart = powers && (bits & own) == 0;
    bits |= own;
    return apart;
  };
  return std::all_of(tile.spatial().begin(), tile.spatial().end(), is_apart) &&
         std::all_of(tile.local().begin(), tile.local().end(), is_apart);
}

}  // namespace

TileAddresses::TileAddresses(FunctionBuilder& function, Layouts& layouts, const TileWindow& window)
    : f_(function),
      b_(function.b()),
      layouts_(layouts),
      window_(window),
      memory_(window.memory),
      of_thread_(window.memory.dims.size()) {
  if (ConstantsMayFollow()) parted_ = PartedOffsets(window);
}

// ---- indices and masks -------------------------------------------------------------------------

TileAddresses::Coordinate TileAddresses::CoordinateOf(int64_t slot, int dim) {
  if (dim == window_.axis) {
    llvm::Value* origin = memory_.dims[Size(dim)].origin.value;
    return {b_.CreateAdd(origin, window_.axis_indices[Size(slot)]), 0};
  }
  llvm::Value*& of_thread = of_thread_[Size(dim)];
  if (of_thread == nullptr) {
    llvm::Value* thread = b_.CreateZExt(layouts_.ThreadIndex(window_.layout, dim), f_.I(64));
    of_thread = b_.CreateAdd(window_.root[Size(dim)].value, thread);
  }
  return {of_thread, window_.tile.SlotOffset(slot)[Size(dim)]};
}

llvm::Value* TileAddresses::RootIndex(int64_t slot, int dim) {
  const Coordinate at = CoordinateOf(slot, dim);
  return b_.CreateAdd(at.value, f_.Int64(at.constant));
}

std::vector<llvm::Value*> TileAddresses::RootIndices(int64_t slot) {
  std::vector<llvm::Value*> out;
  for (int d = 0; d < memory_.rank(); ++d) out.push_back(RootIndex(slot, d));
  return out;
}

// What the thread and the slot add to the window's first index is compared in 32 bits, with one
// value for all slots. Slots whose blocks are the same share the comparison.
TileAddresses::Bound TileAddresses::BoundAt(const IndexValue& root_index, int dim) {
  IndexArithmetic index(b_);
  const RegLayout& tile = window_.tile.reg();
  IndexValue at = index.Subtract(root_index, window_.root[Size(dim)]);
  const Facts narrow = Facts::OfType(kI32);
  if (at.facts.lo < narrow.lo || at.facts.hi > narrow.hi) {
    at = index.Max(index.Min(at, index.Constant(tile.shape()[Size(dim)])), index.Constant(0));
  }
  const auto block = static_cast<int64_t>(at.facts.PowerOfTwo(uint64_t{1} << 30));
  return {b_.CreateTrunc(at.value, f_.I(32)), PartsInBlocks(tile, dim, block) ? block : 1, {}};
}

llvm::Value* TileAddresses::IsFrom(const IndexValue& root_index, int64_t slot, int dim,
                                   std::map<int, Bound>& bounds) {
  const auto known = bounds.find(dim);
  Bound& bound = known != bounds.end()
                     ? known->second
                     : bounds.emplace(dim, dim == window_.axis ? Bound() : BoundAt(root_index, dim))
                           .first->second;
  if (dim == window_.axis) {
    llvm::Value*& is_from = bound.is_from[slot];
    if (is_from == nullptr) is_from = b_.CreateICmpSGE(RootIndex(slot, dim), root_index.value);
    return is_from;
  }
  const int64_t of_slot = window_.tile.SlotOffset(slot)[Size(dim)] & -bound.block;
  llvm::Value*& is_from = bound.is_from[of_slot];
  if (is_from == nullptr) {
    llvm::Value* thread =
        b_.CreateAnd(layouts_.ThreadIndex(window_.layout, dim), f_.Int32(-bound.block));
    is_from = b_.CreateICmpSGE(f_.Plus(thread, of_slot), bound.index);
  }
  return is_from;
}

llvm::Value* TileAddresses::Exists(int64_t slot) {
  llvm::Value* out = nullptr;
  for (int d = 0; d < memory_.rank(); ++d) {
    const MemoryTile::Dim& dim = memory_.dims[Size(d)];
    if (!window_.IsAboveLow(d)) out = f_.And(out, IsFrom(dim.low, slot, d, lows_));
    if (!window_.IsBelowHigh(d)) {
      out = f_.And(out, b_.CreateNot(IsFrom(dim.high, slot, d, highs_)));
    }
  }
  return out;
}

llvm::Value* TileAddresses::LoadMask(int64_t slot) {
  return f_.And(Exists(slot), layouts_.IsElement(window_.layout, slot));
}

llvm::Value* TileAddresses::StoreMask(int64_t slot) {
  llvm::Value* mask = LoadMask(slot);
  return f_.And(mask, layouts_.IsFirstHolder(window_.layout));
}

// ---- offsets in elements --------------------------------------------------------------------

// A value, and a constant for what is known of strides. The value of slots that differ only by
// constants is one.
llvm::Value* TileAddresses::LinearOffset(int64_t slot, int64_t* constant) {
  llvm::Value* out = linear_;
  const auto add = [&](llvm::Value* part) {
    out = out == nullptr ? part : b_.CreateAdd(out, part);
  };
  if (out == nullptr) {
    for (int d = 0; d < memory_.rank(); ++d) {
      if (d == window_.axis) continue;
      add(b_.CreateMul(CoordinateOf(slot, d).value, memory_.dims[Size(d)].stride.value));
    }
    if (out == nullptr) out = f_.Int64(0);
    linear_ = out;
  }
  for (int d = 0; d < memory_.rank(); ++d) {
    const IndexValue& stride = memory_.dims[Size(d)].stride;
    if (d == window_.axis) {
      add(b_.CreateMul(CoordinateOf(slot, d).value, stride.value));
      continue;
    }
    const int64_t offset = window_.tile.SlotOffset(slot)[Size(d)];
    if (stride.facts.IsExact()) {
      *constant += offset * stride.facts.lo;
    } else if (offset != 0) {
      llvm::Value*& part = strides_[{d, offset}];
      if (part == nullptr) part = b_.CreateMul(stride.value, f_.Int64(offset));
      add(part);
    }
  }
  return out;
}

llvm::Value* TileAddresses::ModesOffset(const Slots& indices) {
  llvm::Value* out = f_.Int64(0);
  for (int d = 0; d < memory_.rank(); ++d) {
    llvm::Value* index = indices[Size(d)];
    const auto& modes = memory_.layout->modes(d);
    for (auto mode = modes.rbegin(); mode != modes.rend(); ++mode) {
      llvm::Value* extent = f_.Int64(mode->extent);
      llvm::Value* digit = mode + 1 == modes.rend() ? index : b_.CreateURem(index, extent);
      out = b_.CreateAdd(out, b_.CreateMul(digit, f_.Int64(mode->stride)));
      index = b_.CreateUDiv(index, extent);
    }
  }
  return out;
}

// ---- addresses ------------------------------------------------------------------------------

llvm::Value* TileAddresses::Swizzled(llvm::Value* byte) {
  for (const Swizzle& swizzle : memory_.swizzles) {
    const uint64_t mask = ((uint64_t{1} << swizzle.bits) - 1) << (swizzle.base + swizzle.shift);
    const auto shift = static_cast<uint64_t>(swizzle.shift);
    byte = b_.CreateXor(byte, b_.CreateLShr(b_.CreateAnd(byte, mask), shift));
  }
  return byte;
}

// Whether the part of an address that is no constant is an address already: in shared memory an
// instruction adds its constant without wrapping.
bool TileAddresses::ConstantsMayFollow() const {
  if (memory_.space != Space::kShared) return true;
  const auto& root = window_.root;
  return window_.axis < 0 &&
         std::all_of(root.begin(), root.end(), [](const IndexValue& i) { return i.facts.lo >= 0; });
}

Address TileAddresses::AddressOf(llvm::Value* byte) {
  if (memory_.space == Space::kShared) byte = b_.CreateTrunc(byte, f_.I(32));
  return {b_.CreateAdd(memory_.base, byte), 0};
}

Address TileAddresses::AddressOf(llvm::Value* byte, int64_t constant) {
  if (!ConstantsMayFollow()) return AddressOf(b_.CreateAdd(byte, f_.Int64(constant)));
  return {AddressOf(byte).base, constant};
}

// The offset in bytes of the element at these indices, before swizzles.
llvm::Value* TileAddresses::BytesAt(const Slots& indices) {
  llvm::Value* out = f_.Int64(0);
  if (memory_.form == MemoryTile::Form::kModes) {
    out = ModesOffset(indices);
  } else {
    for (size_t d = 0; d < indices.size(); ++d) {
      out = b_.CreateAdd(out, b_.CreateMul(indices[d], memory_.dims[d].stride.value));
    }
  }
  return b_.CreateMul(out, f_.Int64(memory_.bits() / 8));
}

Address TileAddresses::PartedAddress(const StridedBytes& memory, int64_t slot) {
  if (first_ == nullptr) {
    Slots root, thread;
    for (int d = 0; d < memory_.rank(); ++d) {
      root.push_back(window_.root[Size(d)].value);
      thread.push_back(b_.CreateZExt(layouts_.ThreadIndex(window_.layout, d), f_.I(64)));
    }
    first_ = AddressOf(BytesAt(root)).base;
    thread_ = Swizzled(BytesAt(thread));
    if (memory_.space == Space::kShared) thread_ = b_.CreateTrunc(thread_, f_.I(32));
  }
  const int64_t bytes = memory.Of(window_.tile.SlotOffset(slot));
  const int64_t within = memory.swizzles.empty() ? 0 : bytes % memory.Period();
  const int64_t toggled = memory.Swizzled(within);
  llvm::Value*& address = parted_addresses_[toggled];
  if (address == nullptr) {
    auto* const constant =
        llvm::ConstantInt::get(thread_->getType(), static_cast<uint64_t>(toggled));
    address = b_.CreateAdd(first_, b_.CreateXor(thread_, constant));
  }
  return {address, bytes - within};
}

TileAddresses::Place TileAddresses::PlaceOf(int64_t slot) {
  if (parted_) return {PartedAddress(*parted_, slot), {}, nullptr};
  int64_t constant = 0;
  llvm::Value* offset = memory_.form == MemoryTile::Form::kAffine ? LinearOffset(slot, &constant)
                                                                  : ModesOffset(RootIndices(slot));
  if (memory_.bits() % 8 == 0) return PlaceOfBytes(offset, constant);
  // Whole bytes that only the slot adds are left to the access.
  const bool apart = memory_.swizzles.empty() && constant * memory_.bits() % 8 == 0;
  const int64_t bytes = apart ? constant * memory_.bits() / 8 : 0;
  if (!apart) offset = b_.CreateAdd(offset, f_.Int64(constant));
  llvm::Value* bit = b_.CreateMul(offset, f_.Int64(memory_.bits()));
  llvm::Value* byte = b_.CreateAShr(bit, uint64_t{3});
  const Address first = AddressOf(Swizzled(byte), bytes);
  const Address next = memory_.swizzles.empty()
                           ? Address{first.base, first.offset + 1}
                           : AddressOf(Swizzled(b_.CreateAdd(byte, f_.Int64(1))), 0);
  return {first, next, b_.CreateTrunc(b_.CreateAnd(bit, uint64_t{7}), f_.I(32))};
}

// Of elements of whole bytes.
TileAddresses::Place TileAddresses::PlaceOfBytes(llvm::Value* offset, int64_t constant) {
  const int64_t bytes = memory_.bits() / 8;
  const bool plain = memory_.form == MemoryTile::Form::kAffine && memory_.swizzles.empty();
  if (plain && offset == linear_ && ConstantsMayFollow()) {
    if (address_ == nullptr) address_ = AddressOf(b_.CreateMul(offset, f_.Int64(bytes))).base;
    return {{address_, constant * bytes}, {}, nullptr};
  }
  llvm::Value* byte = b_.CreateMul(offset, f_.Int64(bytes));
  if (memory_.swizzles.empty()) return {AddressOf(byte, constant * bytes), {}, nullptr};
  byte = Swizzled(b_.CreateAdd(byte, f_.Int64(constant * bytes)));
  return {AddressOf(byte, 0), {}, nullptr};
}

}  // namespace tarsia::compiler
