#include "isa/validate/tile_layouts.h"

#include <fmt/format.h>

#include <utility>

#include "isa/validate/value_types.h"

namespace tarsia {

bool TileLayouts::Check(const Inst& inst, const ValueType& type) {
  if (type.layout.none() && type.bits.none()) return true;
  const Location location = context_.kernel().TypeLocation(inst);
  if (type.space == Space::kRegister) {
    return CheckRegister(type, location) && CheckBits(type, location);
  }
  if (!type.bits.none()) {
    context_.Error(diag::kLayoutNotHere, location, "a bit layout", "a tile in memory");
    return false;
  }
  return CheckMemory(type, location);
}

bool TileLayouts::CheckRegister(const ValueType& type, Location location) {
  if (type.layout.none()) return true;
  if (expressions_.TypeOf(type.layout, location) == ExprType::kMemLayout) {
    context_.Error(diag::kLayoutNotHere, location, "a memory layout", "a register tile");
    return false;
  }
  const size_t before = context_.error_count();
  const EvalValue* value = expressions_.TryEvaluate(type.layout, location);
  if (context_.error_count() != before) return false;
  const RegLayout* layout = value != nullptr ? std::get_if<RegLayout>(value) : nullptr;
  if (layout == nullptr) return true;
  if (SurelyExceeds(context_.pool(), type.shape, layout->shape())) {
    context_.Error(diag::kTileLayoutShape, location, ToString(layout->shape()),
                   context_.Text(type.shape));
    return false;
  }
  if (warps_ && layout->threads() != *warps_ * 32) {
    Diagnostic& error =
        context_.Error(diag::kLayoutThreads, location, layout->threads(), *warps_ * 32);
    if (context_.kernel().warps_location.IsText()) {
      error.notes.push_back({context_.kernel().warps_location, "the number of warps"});
    }
    error.help = "`replicate(k)` spreads a layout over more threads; `warps` sets their number";
    return false;
  }
  return true;
}

bool TileLayouts::CheckBits(const ValueType& type, Location location) {
  if (type.bits.none()) return true;
  if (type.layout.none()) {
    context_.Error(diag::kLayoutNotHere, location, "a bit layout",
                   "a tile without register layout");
    return false;
  }
  const size_t before = context_.error_count();
  const EvalValue* value = expressions_.TryEvaluate(type.bits, location);
  const EvalValue* reg = expressions_.TryEvaluate(type.layout, location);
  if (context_.error_count() != before) return false;
  const auto dtype = context_.pool().AsDType(type.dtype);
  const auto* family = value != nullptr ? std::get_if<BitLayoutFamily>(value) : nullptr;
  const auto* layout = reg != nullptr ? std::get_if<RegLayout>(reg) : nullptr;
  if (family == nullptr || layout == nullptr || !dtype) return true;
  if ((family->type && *family->type != *dtype) ||
      (family->count && *family->count != layout->slots())) {
    context_.Error(diag::kBitsShape, location, family->count.value_or(layout->slots()),
                   DTypeName(family->type.value_or(*dtype)), layout->slots(), DTypeName(*dtype));
    return false;
  }
  Result<BitLayout> bits = family->Apply(*dtype, layout->slots());
  if (bits.ok()) return true;
  Diagnostic error = bits.TakeError();
  error.location = location;
  context_.Add(std::move(error));
  return false;
}

bool TileLayouts::CheckMemory(const ValueType& type, Location location) {
  if (type.layout.none()) return true;
  if (expressions_.TypeOf(type.layout, location) == ExprType::kRegLayout) {
    context_.Error(diag::kLayoutNotHere, location, "a register layout", "a tile in memory");
    return false;
  }
  const size_t before = context_.error_count();
  const EvalValue* value = expressions_.TryEvaluate(type.layout, location);
  if (context_.error_count() != before) return false;
  const ExprPool& pool = context_.pool();
  const auto* family = value != nullptr ? std::get_if<MemLayoutFamily>(value) : nullptr;
  const auto dtype = pool.AsDType(type.dtype);
  if (family == nullptr || !dtype) return true;
  std::vector<int64_t> shape;
  for (const ExprId extent : pool.children(type.shape)) {
    const auto e = pool.AsInt(extent);
    if (!e) return true;  // decided at launch
    shape.push_back(*e);
  }
  Result<MemLayout> layout = Apply(*family, shape, *dtype);
  if (layout.ok()) return true;
  Diagnostic error = layout.TakeError();
  error.location = location;
  context_.Add(std::move(error));
  return false;
}

bool TileLayouts::Agree(const Inst& inst, ExprId a, const std::string& what_a, ExprId b,
                        const std::string& what_b, Location location) {
  if (a.none() || b.none() || a == b) return true;
  const EvalValue* x = expressions_.TryEvaluate(a, location);
  const EvalValue* y = expressions_.TryEvaluate(b, location);
  if (x == nullptr || y == nullptr || *x == *y) return true;
  Diagnostic& error = context_.Error(diag::kLayoutsDiffer, location, Row(inst.opcode).mnemonic,
                                     what_a, what_b, context_.Text(a), context_.Text(b));
  NoteWhereWritten(inst, a, error);
  if (IsWrittenAt(inst, b)) {
    NoteAt(context_.kernel().TypeLocation(inst), b, error);
  } else {
    NoteWhereWritten(inst, b, error);
  }
  return false;
}

bool TileLayouts::IsWrittenAt(const Inst& inst, ExprId layout) {
  if (inst.type == kNoTypeId) return false;
  const ExprId written = context_.module().type(inst.type).layout;
  return !written.none() && context_.Fold(written) == layout;
}

void TileLayouts::NoteAt(Location location, ExprId layout, Diagnostic& error) {
  if (location == error.location) return;  // it is shown there
  error.notes.push_back({location, fmt::format("`{}` is written here", context_.Text(layout))});
}

void TileLayouts::NoteWhereWritten(const Inst& inst, ExprId layout, Diagnostic& error) {
  const Kernel& kernel = context_.kernel();
  for (auto i = static_cast<size_t>(&inst - kernel.code.data()); i-- > 0;) {
    if (!IsWrittenAt(kernel.code[i], layout)) continue;
    NoteAt(kernel.TypeLocation(kernel.code[i]), layout, error);
    return;
  }
}

}  // namespace tarsia
