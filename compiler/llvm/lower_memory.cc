// The memory family.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/llvm/lower.h"
#include "compiler/llvm/tile_access.h"
#include "isa/limits.h"
#include "layout/access.h"

namespace tarsia::compiler {
namespace {

size_t Size(int64_t x) { return static_cast<size_t>(x); }

Emitter::Cache CacheOf(Emitter& e) { return static_cast<Emitter::Cache>(e.inst().cache); }

// The power of two that a number of bytes is a multiple of: what an address of such elements
// needs.
uint64_t AlignmentOf(DType type) {
  return type.bits % 8 != 0 ? 1 : Facts::Exactly(type.bits / 8).PowerOfTwo(16);
}

// ---- views -----------------------------------------------------------------------------------

std::vector<IndexValue> Extents64(Emitter& e, const ConcreteType& type) {
  std::vector<IndexValue> out;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d] >= 0) {
      out.push_back(e.ConstantIndex(type.shape[d]));
      continue;
    }
    IndexValue extent = e.Index(type.shape_exprs[d]);
    // Whoever launches sees to that, or CheckExtents.
    extent.facts.lo = std::max<int64_t>(0, extent.facts.lo);
    extent.facts.hi = std::max(extent.facts.lo, std::min(extent.facts.hi, kMaxExtent));
    out.push_back(extent);
  }
  return out;
}

// Ends the block where an extent of a view or slice is outside of 0 to 2^40. Whoever launches has
// seen to those that depend on parameters alone.
Status CheckExtents(Emitter& e) {
  if (!e.ChecksExtents(e.inst())) return OkStatus();
  const ConcreteType& type = e.program().type(e.inst().results[0]);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d] >= 0 || e.DependsOnParametersAlone(type.shape_exprs[d])) continue;
    const IndexValue extent = e.Index(type.shape_exprs[d]);
    if (extent.facts.lo >= 0 && extent.facts.hi <= kMaxExtent) continue;
    ReportRecord record;
    record.kind = ReportRecord::Kind::kViewExtent;
    record.type = kI64;
    record.shape = {1};
    record.dim = static_cast<int>(d);
    TARSIA_CHECK(e.FailUnless(e.b().CreateICmpULE(extent.value, e.Int64(kMaxExtent)),
                              std::move(record), extent.value));
  }
  return OkStatus();
}

void ViewPointer(Emitter& e, MemoryTile tile) {
  const uint32_t parameter = e.inst().operand[0].value;
  uint64_t alignment = AlignmentOf(tile.type);
  if (tile.form == MemoryTile::Form::kPacked) alignment = 16;
  // Codes that share words are merged into whole ones.
  if (tile.type.IsSubByte() && e.IsWritten(e.inst().results[0])) {
    alignment = std::max<uint64_t>(alignment, 4);
  }
  e.RequireAlignment(parameter, alignment);
  tile.base = e.ParameterAddress(parameter);
  tile.alignment = e.PointerAlignment(parameter);
  if (!tile.padded_to_words) tile.padded_to_words = tile.root_bytes.facts.IsMultipleOf(4);
  e.SetMemory(e.inst().results[0], std::move(tile));
}

// Where the bytes of a slice begin (i64, from the root), and whether they are one run (i1).
std::pair<IndexValue, llvm::Value*> RunOfSlice(Emitter& e, const MemoryTile& source) {
  llvm::IRBuilder<>& b = e.b();
  llvm::Value* holds = e.Bool(source.form == MemoryTile::Form::kAffine && source.swizzles.empty());
  IndexValue offset = e.ConstantIndex(0);
  IndexValue run = e.ConstantIndex(1);
  for (int d = source.rank() - 1; d >= 0; --d) {
    const MemoryTile::Dim& dim = source.dims[Size(d)];
    const auto also = [&](llvm::Value* x) { holds = b.CreateAnd(holds, x); };
    also(b.CreateICmpEQ(dim.low.value, dim.origin.value));
    also(b.CreateICmpSGE(dim.low.value, e.Int64(0)));
    also(b.CreateICmpEQ(dim.high.value, e.Add(dim.origin, dim.extent).value));
    if (source.form != MemoryTile::Form::kAffine) continue;
    also(b.CreateOr(b.CreateICmpSLE(dim.extent.value, e.Int64(1)),
                    b.CreateICmpEQ(dim.stride.value, run.value)));
    offset = e.Add(offset, e.Multiply(dim.origin, dim.stride));
    run = e.Multiply(run, dim.extent);
  }
  const IndexValue bits = e.Multiply(offset, e.ConstantIndex(source.bits()));
  llvm::Value* whole = b.CreateICmpEQ(b.CreateAnd(bits.value, uint64_t{7}), e.Int64(0));
  IndexValue bytes{b.CreateAShr(bits.value, uint64_t{3}), {}};
  if (bits.facts.IsMultipleOf(8)) bytes.facts.multiple = bits.facts.multiple / 8;
  return {bytes, b.CreateAnd(holds, whole)};
}

Status ViewMemory(Emitter& e, MemoryTile tile) {
  llvm::IRBuilder<>& b = e.b();
  const uint32_t value = e.inst().operand[0].value;
  const MemoryTile source = e.Memory(value);
  tile.base = source.base;
  tile.alignment = source.alignment;
  tile.padded_to_words = source.padded_to_words;
  if (!source.whole) {
    const auto [first, holds] = RunOfSlice(e, source);
    ReportRecord record;
    record.kind = ReportRecord::Kind::kViewOfSlice;
    record.text = std::string(e.kernel().ValueName(value));
    TARSIA_CHECK(e.FailUnless(holds, std::move(record)));
    llvm::Value* offset = first.value;
    if (tile.space == Space::kShared) offset = b.CreateTrunc(offset, e.I(32));
    tile.base = b.CreateAdd(tile.base, offset);
    tile.alignment = first.facts.PowerOfTwo(source.alignment);
  }
  e.SetMemory(e.inst().results[0], std::move(tile));
  return OkStatus();
}

// Each thread's bits under another type.
Status ViewRegisters(Emitter& e) {
  const uint32_t from = e.inst().operand[0].value;
  const uint32_t to = e.inst().results[0];
  TARSIA_TRY(const BitLayout source, e.CodeBits(from));
  TARSIA_TRY(const BitLayout target, e.CodeBits(to));
  Slots words;
  if (e.KeepsWords(from)) {
    words = e.ReadWords(from);
  } else {
    Slots codes = e.ReadTile(from);
    for (llvm::Value*& code : codes) code = ToCode(e.b(), code, source.type());
    words = WordsOfCodes(e, source, codes);
  }
  words.resize(Size(target.words()), e.Int32(0));
  Slots out;
  for (int64_t slot = 0; slot < target.count(); ++slot) {
    out.push_back(FromCode(e.b(), CodeOfWords(e, target, slot, words), target.type()));
  }
  e.SetResult(0, out, words);
  return OkStatus();
}

// ---- gather and scatter ------------------------------------------------------------------------

// For each slot of a tile the index that names it along the axis, as i64.
Slots AxisIndices(Emitter& e, LayoutId tile, int axis) {
  const DType type = e.inst().operand[1].type;
  const LayoutId vector = e.inst_layouts().operand[1];
  const Slots indices = e.TileOperand(1);
  std::map<int64_t, size_t> slot_of;
  for (size_t slot = 0; slot < indices.size(); ++slot) {
    slot_of[e.Layout(vector).SlotOffset(static_cast<int64_t>(slot))[0]] = slot;
  }
  Slots out;
  for (int64_t slot = 0; slot < e.Layout(tile).slots(); ++slot) {
    llvm::Value* index = indices[slot_of[e.Layout(tile).SlotOffset(slot)[Size(axis)]]];
    index = type.IsSigned() ? e.b().CreateSExt(index, e.I(64)) : e.b().CreateZExt(index, e.I(64));
    const Facts facts = Facts::OfType(type);
    out.push_back(e.Saturate({index, facts}).value);
  }
  return out;
}

std::vector<IndexValue> Zeros(Emitter& e, int rank) {
  return std::vector<IndexValue>(Size(rank), e.ConstantIndex(0));
}

// ---- hints -------------------------------------------------------------------------------------

// Whether an element lies in a sector that begins at another one.
bool IsInSector(const Extents& begin, const Extents& at, int dim, int64_t elements) {
  for (size_t d = 0; d < at.size(); ++d) {
    const int64_t distance = at[d] - begin[d];
    if (d == Size(dim) ? distance < 0 || distance >= elements : distance != 0) return false;
  }
  return dim >= 0;
}

void PrefetchSector(Emitter& e, const Address& address, llvm::Value* condition) {
  llvm::IRBuilder<>& b = e.b();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {e.I(64)}, false);
  e.If(condition, [&] {
    b.CreateCall(type, llvm::InlineAsm::get(type, "prefetch.global.L2 [$0];", "l", true),
                 {b.CreateAdd(address.base, e.Int64(address.offset))});
  });
}

// ---- asynchronous copies -----------------------------------------------------------------------

void CopyEngine(Emitter& e, const Address& to, const Address& from, int bytes, llvm::Value* put,
                llvm::Value* exists) {
  llvm::IRBuilder<>& b = e.b();
  const auto whole = [&](const Address& address) {
    return b.CreateAdd(address.base,
                       llvm::ConstantInt::get(address.base->getType(),
                                              static_cast<uint64_t>(address.offset), true));
  };
  llvm::Value* size =
      exists == nullptr ? e.Int32(bytes) : b.CreateSelect(exists, e.Int32(bytes), e.Int32(0));
  // Nothing is read where the size is 0, but an address has to be one.
  std::vector<llvm::Value*> arguments = {whole(to), whole(from), size};
  std::vector<llvm::Type*> types = {e.I(32), e.I(64), e.I(32)};
  std::string text = std::string("cp.async") + (bytes == 16 ? ".cg" : ".ca") +
                     ".shared.global [$0], [$1], " + std::to_string(bytes) + ", $2;";
  std::string constraints = "r,l,r";
  if (put != nullptr) {
    text = "@$3 " + text;
    constraints += ",b";
    arguments.push_back(put);
    types.push_back(put->getType());
  }
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  b.CreateCall(type, llvm::InlineAsm::get(type, text, constraints + ",~{memory}", true), arguments);
}

}  // namespace

LOWER(View) {
  const uint32_t result = e.inst().results[0];
  const ConcreteType& type = e.program().type(result);
  if (IsRegisterTile(type)) return ViewRegisters(e);
  TARSIA_CHECK(CheckExtents(e));
  TARSIA_TRY(MemoryTile tile, e.WholeTile(type, Extents64(e, type)));
  if (e.program().type(e.inst().operand[0].value).kind == ValueKind::kPointer) {
    ViewPointer(e, std::move(tile));
    return OkStatus();
  }
  return ViewMemory(e, std::move(tile));
}

LOWER(AllocShared) {
  const uint32_t result = e.inst().results[0];
  const ConcreteType& type = e.program().type(result);
  TARSIA_TRY(MemoryTile tile, e.WholeTile(type, Extents64(e, type)));
  const SharedTile* place = e.shared().Find(result);
  const auto offset = static_cast<int64_t>(place->offset);
  if (place->reused) {
    if (e.uses_async_copies()) {
      e.CallIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_all, {}, {});
    }
    e.Barrier();
  }
  tile.base = e.b().CreateAdd(e.SharedBase(), e.Int32(offset));
  tile.alignment = Facts::Exactly(offset).PowerOfTwo(kSharedAlignment);
  tile.padded_to_words = true;
  e.SetMemory(result, std::move(tile));
  return OkStatus();
}

LOWER(AllocGlobal) {
  const uint32_t result = e.inst().results[0];
  const ConcreteType& type = e.program().type(result);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d] < 0 && !e.DependsOnParametersAlone(type.shape_exprs[d])) {
      return MakeDiagnostic(diag::kWorkspaceSize, e.InstLocation(), e.kernel().ValueName(result));
    }
  }
  TARSIA_TRY(MemoryTile tile, e.WholeTile(type, Extents64(e, type)));
  tile.base = e.WorkspaceAddress(result);
  tile.alignment = kWorkspaceAlignment;
  tile.padded_to_words = true;
  e.SetMemory(result, std::move(tile));
  return OkStatus();
}

LOWER(Slice) {
  const uint32_t result = e.inst().results[0];
  TARSIA_CHECK(CheckExtents(e));
  MemoryTile tile = e.Memory(e.inst().operand[0].value);
  const std::vector<IndexValue> start = e.Indices(e.inst().operand[0]);
  const std::vector<IndexValue> extents = Extents64(e, e.program().type(result));
  for (size_t d = 0; d < tile.dims.size(); ++d) {
    MemoryTile::Dim& dim = tile.dims[d];
    dim.origin = e.Saturate(e.Add(dim.origin, e.Saturate(start[d])));
    dim.extent = extents[d];
    dim.low = e.Max(dim.low, dim.origin);
    dim.high = e.Min(dim.high, e.Add(dim.origin, extents[d]));
  }
  tile.whole = false;
  e.SetMemory(result, std::move(tile));
  return OkStatus();
}

LOWER(Load) {
  const Operand& source = e.inst().operand[0];
  TileAccess access(e, e.Memory(source.value), e.inst_layouts().result[0], e.Indices(source));
  const Slots slots = access.Load(CacheOf(e));
  TARSIA_TRY(const BitLayout bits, e.CodeBits(e.inst().results[0]));
  e.SetResult(0, slots, access.WordsOf(bits));
  return OkStatus();
}

// Memory that others may change while we look is looked at by one thread, for control flow to stay
// uniform.
LOWER(LoadScalar) {
  const Operand& source = e.inst().operand[0];
  const MemoryTile& memory = e.Memory(source.value);
  const Extents ones(Size(memory.rank()), 1);
  TARSIA_TRY(TileLayout layout, BlockedLayout(ones, e.threads(), 1, memory.rank() - 1));
  const LayoutId unit = e.AddLayout(std::move(layout));
  TileAccess access(e, memory, unit, e.Indices(source));
  llvm::Value* element = access.Load(CacheOf(e))[0];
  if (e.IsWritten(source.value)) {
    const DType type = memory.type;
    element = FromCode(e.b(), e.FromThreadZero(ToCode(e.b(), element, type)), type);
  }
  e.WriteScalar(e.inst().results[0], element);
  return OkStatus();
}

LOWER(Store) {
  const Operand& target = e.inst().operand[0];
  const Slots slots = e.TileOperand(1);
  TileAccess access(e, e.Memory(target.value), e.inst_layouts().operand[1], e.Indices(target));
  access.Store(slots, CacheOf(e));
  return OkStatus();
}

LOWER(CopyAsync) {
  const Operand& target = e.inst().operand[0];
  const Operand& source = e.inst().operand[1];
  const LayoutId layout = e.inst_layouts().moved;
  TileAccess to(e, e.Memory(target.value), layout, e.Indices(target));
  TileAccess from(e, e.Memory(source.value), layout, e.Indices(source));
  const int64_t vector = std::min(to.vector(), from.vector());
  const int64_t bits = vector * source.type.bits;
  const bool engine =
      (bits == 32 || bits == 64 || bits == 128) && to.unit() * 8 >= bits && from.unit() * 8 >= bits;
  if (!engine) {
    to.Store(from.Load(CacheOf(e)), Emitter::Cache::kDefault);
    return OkStatus();
  }
  for (int64_t slot = 0; slot < e.Layout(layout).slots(); slot += vector) {
    llvm::Value* put = e.And(to.Exists(slot), e.IsElement(layout, slot));
    put = e.And(put, e.IsFirstHolder(layout));
    CopyEngine(e, to.ByteAddress(slot), from.ByteAddress(slot), static_cast<int>(bits / 8), put,
               from.Exists(slot));
  }
  return OkStatus();
}

LOWER(CopyCommit) {
  e.CallIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
  return OkStatus();
}

LOWER(CopyWait) {
  // More groups than any kernel has in flight are none to wait for.
  const IndexValue pending = e.Index(e.inst().operand[0].expr);
  const int64_t groups = std::clamp<int64_t>(pending.facts.lo, 0, 1 << 20);
  e.CallIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {}, {e.Int32(groups)});
  return OkStatus();
}

LOWER(Gather) {
  const MemoryTile& memory = e.Memory(e.inst().operand[0].value);
  const auto axis = static_cast<int>(e.inst().axis);
  const LayoutId layout = e.inst_layouts().result[0];
  TileAccess access(e, memory, layout, Zeros(e, memory.rank()));
  access.SetAxis(axis, AxisIndices(e, layout, axis));
  e.SetResult(0, access.Load(Emitter::Cache::kDefault));
  return OkStatus();
}

LOWER(Scatter) {
  const MemoryTile& memory = e.Memory(e.inst().operand[0].value);
  const auto axis = static_cast<int>(e.inst().axis);
  const LayoutId layout = e.inst_layouts().operand[2];
  const Slots slots = e.TileOperand(2);
  TileAccess access(e, memory, layout, Zeros(e, memory.rank()));
  access.SetAxis(axis, AxisIndices(e, layout, axis));
  access.Store(slots, Emitter::Cache::kDefault);
  return OkStatus();
}

// One thread names each sector, by its first element. Codes of packed tiles have no such order.
LOWER(Prefetch) {
  const Operand& source = e.inst().operand[0];
  const MemoryTile& memory = e.Memory(source.value);
  if (memory.form == MemoryTile::Form::kPacked) return OkStatus();
  const LayoutId layout = e.inst_layouts().moved;
  TileAccess access(e, memory, layout, e.Indices(source));
  const int64_t elements = kSectorBytes * 8 / memory.bits();
  std::optional<Extents> begin;
  for (int64_t slot = 0; slot < e.Layout(layout).slots(); ++slot) {
    Extents at = e.Layout(layout).SlotOffset(slot);
    if (begin && IsInSector(*begin, at, access.ContiguousDim(), elements)) continue;
    begin = std::move(at);
    llvm::Value* named = e.And(access.Exists(slot), e.IsElement(layout, slot));
    PrefetchSector(e, access.ByteAddress(slot), e.And(named, e.IsFirstHolder(layout)));
  }
  return OkStatus();
}

}  // namespace tarsia::compiler
