// The memory family.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "compiler/diagnostics.h"
#include "compiler/llvm/lower/indexed_window.h"
#include "compiler/llvm/lower/lower.h"
#include "compiler/llvm/lower/packed_copy.h"
#include "compiler/runtime_checks.h"
#include "compiler/select/access.h"
#include "compiler/select/read_only.h"
#include "isa/limits.h"
#include "layout/access.h"
#include "support/extents.h"

namespace tarsia::compiler {
namespace {

CachePolicy CacheOf(Emitter& e) { return static_cast<CachePolicy>(e.inst().cache); }

// Of the loads of memory operand `i`.
AccessPolicy PolicyOf(Emitter& e, size_t i) {
  return {CacheOf(e), IsReadOnly(e.program(), e.number(), e.inst().operand[i].value)};
}

// The alignment that the address of an element needs: the largest power of two, at most 16, that
// divides its bytes.
uint64_t AlignmentOf(DType type) {
  return type.bits % 8 != 0 ? 1 : Facts::Exactly(type.bits / 8).PowerOfTwo(16);
}

// ---- views -----------------------------------------------------------------------------------

std::vector<IndexValue> Extents64(Emitter& e, const ConcreteType& type) {
  std::vector<IndexValue> out;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (type.shape[d] >= 0) {
      out.push_back(e.index().Constant(type.shape[d]));
      continue;
    }
    IndexValue extent = e.scalars().Index(type.shape_exprs[d]);
    // The launch checks that, or CheckExtents.
    extent.facts.lo = std::max<int64_t>(0, extent.facts.lo);
    extent.facts.hi = std::max(extent.facts.lo, std::min(extent.facts.hi, kMaxExtent));
    out.push_back(extent);
  }
  return out;
}

Result<MemoryTile> WholeTileOf(Emitter& e, const ConcreteType& type) {
  return WholeTile(e.function().b(), e.index(), type, Extents64(e, type));
}

// Ends the block where an extent of a view or slice is outside of 0 to 2^40, as far as the launch
// does not check that.
Status CheckExtents(Emitter& e) {
  FunctionBuilder& f = e.function();
  const uint32_t result = e.inst().results[0];
  const ConcreteType& type = e.program().type(result);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (!e.checks().Checks(result, d)) continue;
    const IndexValue extent = e.scalars().Index(type.shape_exprs[d]);
    if (extent.facts.lo >= 0 && extent.facts.hi <= kMaxExtent) continue;
    ReportRecord record = e.NewRecord(ReportRecord::Kind::kViewExtent);
    record.type = kI64;
    record.shape = {1};
    record.dim = static_cast<int>(d);
    llvm::Value* fits = f.b().CreateICmpULE(extent.value, f.Int64(kMaxExtent));
    TARSIA_CHECK(e.reports().FailUnless(fits, std::move(record), extent.value));
  }
  return OkStatus();
}

void ViewPointer(Emitter& e, MemoryTile tile) {
  Arguments& arguments = e.arguments();
  const uint32_t parameter = e.inst().operand[0].value;
  uint64_t alignment = AlignmentOf(tile.type);
  if (tile.form == MemoryTile::Form::kPacked) alignment = 16;
  // Codes that share words are merged into whole ones.
  if (tile.type.IsSubByte() && e.memory_tiles().IsWritten(e.inst().results[0])) {
    alignment = std::max<uint64_t>(alignment, 4);
  }
  arguments.RequireAlignment(parameter, alignment);
  tile.base = arguments.Address(parameter);
  tile.alignment = arguments.Alignment(parameter);
  if (!tile.padded_to_words) tile.padded_to_words = tile.root_bytes.facts.IsMultipleOf(4);
  e.memory_tiles().Set(e.inst().results[0], std::move(tile));
}

// Where the bytes of a slice begin (i64, from the root), and whether they are one run (i1).
std::pair<IndexValue, llvm::Value*> RunOfSlice(Emitter& e, const MemoryTile& source) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  IndexArithmetic& index = e.index();
  llvm::Value* holds = f.Bool(source.form == MemoryTile::Form::kAffine && source.swizzles.empty());
  IndexValue offset = index.Constant(0);
  IndexValue run = index.Constant(1);
  for (int d = source.rank() - 1; d >= 0; --d) {
    const MemoryTile::Dim& dim = source.dims[Size(d)];
    const auto also = [&](llvm::Value* x) { holds = b.CreateAnd(holds, x); };
    also(b.CreateICmpEQ(dim.low.value, dim.origin.value));
    also(b.CreateICmpSGE(dim.low.value, f.Int64(0)));
    also(b.CreateICmpEQ(dim.high.value, index.Add(dim.origin, dim.extent).value));
    if (source.form != MemoryTile::Form::kAffine) continue;
    also(b.CreateOr(b.CreateICmpSLE(dim.extent.value, f.Int64(1)),
                    b.CreateICmpEQ(dim.stride.value, run.value)));
    offset = index.Add(offset, index.Multiply(dim.origin, dim.stride));
    run = index.Multiply(run, dim.extent);
  }
  const IndexValue bits = index.Multiply(offset, index.Constant(source.bits()));
  llvm::Value* whole = b.CreateICmpEQ(b.CreateAnd(bits.value, uint64_t{7}), f.Int64(0));
  IndexValue bytes{b.CreateAShr(bits.value, uint64_t{3}), {}};
  if (bits.facts.IsMultipleOf(8)) bytes.facts.multiple = bits.facts.multiple / 8;
  return {bytes, b.CreateAnd(holds, whole)};
}

Status ViewMemory(Emitter& e, MemoryTile tile) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const uint32_t value = e.inst().operand[0].value;
  const MemoryTile source = e.memory_tiles()[value];
  tile.base = source.base;
  tile.alignment = source.alignment;
  tile.padded_to_words = source.padded_to_words;
  if (!source.whole) {
    const auto [first, holds] = RunOfSlice(e, source);
    ReportRecord record = e.NewRecord(ReportRecord::Kind::kViewOfSlice);
    record.text = std::string(e.kernel().ValueName(value));
    TARSIA_CHECK(e.reports().FailUnless(holds, std::move(record)));
    llvm::Value* offset = first.value;
    if (tile.space == Space::kShared) offset = b.CreateTrunc(offset, f.I(32));
    tile.base = b.CreateAdd(tile.base, offset);
    tile.alignment = first.facts.PowerOfTwo(source.alignment);
  }
  e.memory_tiles().Set(e.inst().results[0], std::move(tile));
  return OkStatus();
}

// Each thread's bits under another type.
Status ViewRegisters(Emitter& e) {
  llvm::IRBuilder<>& b = e.function().b();
  RegisterTiles& tiles = e.register_tiles();
  const uint32_t from = e.inst().operand[0].value;
  const uint32_t to = e.inst().results[0];
  TARSIA_TRY(const BitLayout target, tiles.CodeBits(to));
  TARSIA_TRY(Slots words, tiles.ReadWords(from));
  words.resize(Size(target.words()), b.getInt32(0));
  return e.SetResultWords(0, words);
}

// ---- accesses -------------------------------------------------------------------------------

// The elements of memory operand `i` from its indices on.
AccessEmitter AccessOf(Emitter& e, size_t i, LayoutId layout) {
  return e.Access(e.OperandWindow(i, layout));
}

// ---- hints -------------------------------------------------------------------------------------

// Whether the element at one place lies in the sector that begins at another.
bool IsInSector(const Extents& begin, const Extents& at, int dim, int64_t elements) {
  for (size_t d = 0; d < at.size(); ++d) {
    const int64_t distance = at[d] - begin[d];
    if (d == Size(dim) ? distance < 0 || distance >= elements : distance != 0) return false;
  }
  return dim >= 0;
}

void PrefetchSector(Emitter& e, const Address& address, llvm::Value* condition) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {f.I(64)}, false);
  f.If(condition, [&] {
    b.CreateCall(type, llvm::InlineAsm::get(type, "prefetch.global.L2 [$0];", "l", true),
                 {e.memory().Sum(address)});
  });
}

// ---- asynchronous copies -----------------------------------------------------------------------

// One copy of 4, 8 or 16 bytes where `put` holds: zeros where `exists` does not hold. Copies of 16
// bytes take no line of the first-level cache. A copy has no cache policy: `cp.async` with one is
// an illegal instruction on Hopper (an H200 with driver 580).
void CopyAsync(Emitter& e, const Address& to, const Address& from, int bytes, llvm::Value* put,
               llvm::Value* exists) {
  FunctionBuilder& f = e.function();
  llvm::IRBuilder<>& b = f.b();
  const Address into = e.memory().WithinReach(to);
  const Address of = e.memory().WithinReach(from);
  std::vector<llvm::Value*> arguments = {into.base, of.base};
  std::vector<llvm::Type*> types = {f.I(32), f.I(64)};
  std::string text = std::string("cp.async") + (bytes == 16 ? ".cg" : ".ca") + ".shared.global " +
                     AddressText(0, into.offset) + ", " + AddressText(1, of.offset) + ", " +
                     std::to_string(bytes);
  std::string constraints = "r,l";
  const auto add = [&](const char* constraint, llvm::Value* argument) {
    constraints += constraint;
    arguments.push_back(argument);
    types.push_back(argument->getType());
  };
  // Nothing is read where the size is 0, but the address has to be valid.
  if (exists != nullptr) {
    text += ", $2";
    add(",r", b.CreateSelect(exists, f.Int32(bytes), f.Int32(0)));
  }
  text += ";";
  if (put != nullptr) {
    text = "@$" + std::to_string(arguments.size()) + " " + text;
    add(",b", put);
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
  TARSIA_TRY(MemoryTile tile, WholeTileOf(e, type));
  if (e.program().type(e.inst().operand[0].value).kind == ValueKind::kPointer) {
    ViewPointer(e, std::move(tile));
    return OkStatus();
  }
  return ViewMemory(e, std::move(tile));
}

LOWER(AllocShared) {
  FunctionBuilder& f = e.function();
  const uint32_t result = e.inst().results[0];
  TARSIA_TRY(MemoryTile tile, WholeTileOf(e, e.program().type(result)));
  const int64_t offset = e.inst().at.value_or(0);
  tile.base = f.b().CreateAdd(e.shared().Base(), f.Int32(offset));
  tile.alignment = Facts::Exactly(offset).PowerOfTwo(kSharedAlignment);
  tile.padded_to_words = true;
  e.memory_tiles().Set(result, std::move(tile));
  return OkStatus();
}

LOWER(AllocGlobal) {
  const uint32_t result = e.inst().results[0];
  const ConcreteType& type = e.program().type(result);
  TARSIA_TRY(MemoryTile tile, WholeTileOf(e, type));
  tile.base = e.arguments().NextWorkspace();
  tile.alignment = kWorkspaceAlignment;
  tile.padded_to_words = true;
  e.memory_tiles().Set(result, std::move(tile));
  return OkStatus();
}

LOWER(Slice) {
  IndexArithmetic& index = e.index();
  const uint32_t result = e.inst().results[0];
  TARSIA_CHECK(CheckExtents(e));
  MemoryTile tile = e.memory_tiles()[e.inst().operand[0].value];
  const std::vector<IndexValue> start = e.scalars().Indices(e.inst().operand[0]);
  const std::vector<IndexValue> extents = Extents64(e, e.program().type(result));
  for (size_t d = 0; d < tile.dims.size(); ++d) {
    MemoryTile::Dim& dim = tile.dims[d];
    dim.origin = index.Saturate(index.Add(dim.origin, index.Saturate(start[d])));
    dim.extent = extents[d];
    dim.low = index.Max(dim.low, dim.origin);
    dim.high = index.Min(dim.high, index.Add(dim.origin, extents[d]));
  }
  tile.whole = false;
  e.memory_tiles().Set(result, std::move(tile));
  return OkStatus();
}

LOWER(Load) {
  AccessEmitter access = AccessOf(e, 0, e.ResultLayout(0));
  const uint32_t result = e.inst().results[0];
  if (e.register_tiles().KeepsWords(result)) {
    TARSIA_TRY(const BitLayout bits, e.register_tiles().CodeBits(result));
    if (access.ReadsWordsOf(bits)) {
      return e.SetResultWords(0, access.LoadWords(PolicyOf(e, 0)));
    }
  }
  e.SetResult(0, access.Load(PolicyOf(e, 0)));
  return OkStatus();
}

// If the kernel writes the memory, only thread 0's value counts: other threads may read another
// one, and scalars have to be the same in all threads.
LOWER(LoadScalar) {
  llvm::IRBuilder<>& b = e.function().b();
  const Operand& source = e.inst().operand[0];
  const MemoryTile& memory = e.memory_tiles()[source.value];
  TARSIA_TRY(const LayoutId unit, e.LayoutOfOne(0));
  AccessEmitter access = AccessOf(e, 0, unit);
  llvm::Value* element = access.Load(PolicyOf(e, 0))[0];
  if (e.memory_tiles().IsWritten(source.value)) {
    const DType type = memory.type;
    element = FromCode(b, e.exchange().FromThreadZero(ToCode(b, element, type)), type);
  }
  e.scalars().Write(e.inst().results[0], element);
  return OkStatus();
}

LOWER(Store) {
  const Slots slots = e.TileOperand(1);
  AccessEmitter access = AccessOf(e, 0, e.OperandLayout(1));
  access.Store(slots, {CacheOf(e)});
  return OkStatus();
}

LOWER(CopyAsync) {
  const Operand& source = e.inst().operand[1];
  const LayoutId layout = e.AccessLayout();
  if (const auto pieces = CopiesOfPackedPieces(
          e.function(), e.layouts(), e.OperandWindow(0, layout), e.OperandWindow(1, layout))) {
    // Addresses as sums, without offsets of their own: ReduceAddressesPass finds those of a loop
    // that share a register, and ptxas puts what they differ by into the instructions.
    const auto sum = [&](const Address& address) { return Address{e.memory().Sum(address), 0}; };
    for (const PackedPieceCopy& copy : *pieces) {
      CopyAsync(e, sum(copy.to), sum(copy.from.at), static_cast<int>(kWidestAccess), copy.from.put,
                copy.from.exists);
    }
    return OkStatus();
  }
  AccessEmitter to = AccessOf(e, 0, layout);
  AccessEmitter from = AccessOf(e, 1, layout);
  const int64_t vector = std::min(to.width().vector, from.width().vector);
  const int64_t bits = vector * source.type.bits;
  const int unit = std::min(to.width().unit, from.width().unit);
  const bool one_copy = (bits == 32 || bits == 64 || bits == 128) && int64_t{unit} * 8 >= bits;
  if (!one_copy) {
    to.Store(from.Load(PolicyOf(e, 1)), {});
    return OkStatus();
  }
  for (int64_t slot = 0; slot < e.layouts()[layout].slots(); slot += vector) {
    llvm::Value* put = to.addresses().StoreMask(slot);
    CopyAsync(e, to.ByteAddress(slot), from.ByteAddress(slot), static_cast<int>(bits / 8), put,
              from.addresses().Exists(slot));
  }
  return OkStatus();
}

LOWER(CopyCommit) {
  e.function().Order("cp.async.commit_group;");
  return OkStatus();
}

LOWER(CopyWait) {
  // No kernel has so many groups in flight.
  const IndexValue pending = e.scalars().Index(e.inst().operand[0].expr);
  const int64_t groups = std::clamp<int64_t>(pending.facts.lo, 0, 1 << 20);
  e.function().Order("cp.async.wait_group " + std::to_string(groups) + ";");
  return OkStatus();
}

LOWER(Gather) {
  AccessEmitter access = e.Access(IndexedWindow(e, e.ResultLayout(0)));
  e.SetResult(0, access.Load({}));
  return OkStatus();
}

LOWER(Scatter) {
  const Slots slots = e.TileOperand(2);
  AccessEmitter access = e.Access(IndexedWindow(e, e.OperandLayout(2)));
  access.Store(slots, {});
  return OkStatus();
}

namespace {

// The pieces of packed tiles follow each other, so every second one begins a sector.
Status PrefetchPacked(Emitter& e) {
  FunctionBuilder& f = e.function();
  const auto pieces = PiecesOfPackedTiles(f, e.layouts(), e.OperandWindow(0, e.AccessLayout()));
  if (!pieces) return OkStatus();
  constexpr int64_t kPieces = kSectorBytes / kWidestAccess;
  llvm::Value* begins =
      f.b().CreateICmpEQ(f.b().CreateURem(f.Thread(), f.Int32(kPieces)), f.Int32(0));
  for (const PackedPiece& piece : *pieces) {
    PrefetchSector(e, piece.at, f.And(f.And(piece.put, piece.exists), begins));
  }
  return OkStatus();
}

}  // namespace

// One thread prefetches each sector, by the address of its first element. Packed tiles that are not
// whole are left out.
LOWER(Prefetch) {
  const Operand& source = e.inst().operand[0];
  const MemoryTile& memory = e.memory_tiles()[source.value];
  if (memory.form == MemoryTile::Form::kPacked) return PrefetchPacked(e);
  const LayoutId layout = e.AccessLayout();
  AccessEmitter access = AccessOf(e, 0, layout);
  const int64_t elements = kSectorBytes * 8 / memory.bits();
  std::optional<Extents> begin;
  for (int64_t slot = 0; slot < e.layouts()[layout].slots(); ++slot) {
    Extents at = e.layouts()[layout].SlotOffset(slot);
    if (begin && IsInSector(*begin, at, ContiguousDim(memory), elements)) continue;
    begin = std::move(at);
    llvm::Value* mask = access.addresses().StoreMask(slot);
    PrefetchSector(e, access.ByteAddress(slot), mask);
  }
  return OkStatus();
}

}  // namespace tarsia::compiler
