#include "isa/bytecode/kernel_reader.h"

#include <algorithm>

#include "isa/bytecode/format.h"
#include "isa/limits.h"
#include "isa/names.h"

namespace tarsia::bytecode {

// ---- kernels -----------------------------------------------------------------------------

bool KernelReader::Read() {
  constexpr size_t kLeastKernel = 12;  // bytes of the shortest kernel
  uint32_t count = 0;
  if (!in_.Count(count, kLeastKernel, "kernels")) return false;
  bound_.assign(exprs_.string_count(), 0);
  kernel_names_.assign(exprs_.string_count(), 0);
  module_.kernels.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    kernel_ = &module_.kernels.emplace_back();
    if (!ReadKernelHead() || !ReadBody()) return false;
    LeaveScope(0);
    exprs_.ForgetValues();
  }
  return true;
}

bool KernelReader::ReadKernelHead() {
  kernel_->location = Here();
  if (!exprs_.Name(kernel_->name, kKernelName)) return false;
  if (kernel_names_[kernel_->name]++ != 0) return Repeated("kernel", kernel_->name);
  uint8_t flags = 0;
  if (!in_.U8(flags)) return false;
  if ((flags & ~(kFast | kHasRegisters)) != 0) {
    return in_.Fail(diag::kBytecodeForm, "a kernel has an unknown flag");
  }
  kernel_->fast = (flags & kFast) != 0;
  return ReadParameters() && header_.Constants(kernel_->constants, kConstantName) &&
         header_.Requires(kernel_->requires_) && ReadAssumes() && ReadGrid() &&
         ((flags & kHasRegisters) == 0 || ReadRegisters());
}

bool KernelReader::Repeated(std::string_view thing, StringId name) {
  return in_.Fail(diag::kBytecodeRepeated, thing, ExprReader::Shown(exprs_.text(name)));
}

bool KernelReader::ReadParameters() {
  uint32_t count = 0;
  if (!in_.Count(count, 3, "parameters")) return false;
  kernel_->params.resize(count);
  for (Parameter& param : kernel_->params) {
    uint8_t pointer = 0;
    param.location = Here();
    if (!in_.U8(pointer)) return false;
    if (pointer > 1) return in_.Fail(diag::kBytecodeForm, "a flag is neither 0 nor 1");
    param.is_pointer = pointer != 0;
    StringId name = 0;
    if (!exprs_.Expr(param.dtype) || !exprs_.Name(name, kValueName) || !NewValue(name))
      return false;
  }
  return true;
}

bool KernelReader::ReadAssumes() {
  uint32_t count = 0;
  if (!in_.Count(count, 2, "assumptions")) return false;
  kernel_->assumes.resize(count);
  for (Assume& assume : kernel_->assumes) {
    assume.location = Here();
    if (!exprs_.Expr(assume.condition) || !exprs_.Expr(assume.alignment, kOptionalExpr))
      return false;
  }
  return true;
}

bool KernelReader::ReadGrid() {
  uint32_t count = 0;
  kernel_->grid_location = kernel_->warps_location = Here();
  if (!in_.Count(count, 1, "dimensions")) return false;
  if (count > 3) return in_.Fail(diag::kBytecodeForm, "a grid has more than 3 dimensions");
  for (uint32_t i = 0; i < count; ++i) {
    if (!exprs_.Expr(kernel_->grid[i])) return false;
  }
  return exprs_.Expr(kernel_->warps, kOptionalExpr);
}

bool KernelReader::ReadRegisters() {
  lowest_ = std::max(lowest_, kSinceRegisters);
  kernel_->registers_location = Here();
  return exprs_.Expr(kernel_->registers);
}

// ---- values and scopes -------------------------------------------------------------------

bool KernelReader::NewValue(StringId name) {
  if (bound_[name] != 0) return Repeated("value", name);
  kernel_->value_names.push_back(exprs_.text(name));
  kernel_->value_name_ids.push_back(name);
  exprs_.AddVisible();
  const auto value = static_cast<uint32_t>(kernel_->value_names.size());
  bound_[name] = value;
  scope_.push_back(value - 1);
  return true;
}

void KernelReader::LeaveScope(size_t size) {
  while (scope_.size() > size) {
    const uint32_t value = scope_.back();
    bound_[kernel_->value_name_ids[value]] = 0;
    exprs_.Hide(value);
    scope_.pop_back();
  }
}

// ---- body --------------------------------------------------------------------------------

bool KernelReader::ReadBody() {
  uint32_t length = 0;
  if (!in_.Count(length, 1, "bytes of a body")) return false;
  const uint8_t* const section_end = in_.Limit(length);
  uint32_t values = 0;
  uint32_t insts = 0;
  uint32_t args = 0;
  const size_t params = kernel_->params.size();
  if (!in_.U32(values) || !in_.Count(insts, 2, "instructions") || !in_.U32(args)) return false;
  if (values < params || values - params > in_.left() / 2) {
    return in_.Fail(diag::kBytecodeCount, values, "values", in_.left());
  }
  // Only set flags take no byte, and an instruction of two bytes has at most four of them.
  if (args > in_.left() * 2) return in_.Fail(diag::kBytecodeCount, args, "arguments", in_.left());
  kernel_->code.reserve(insts);
  kernel_->args.reserve(args);
  kernel_->locations.reserve(insts);
  kernel_->value_names.reserve(values);
  kernel_->value_name_ids.reserve(values);
  blocks_.clear();
  blocks_.push_back({insts, 0, scope_.size()});
  for (uint32_t i = 0; i < insts; ++i) {
    while (blocks_.back().end == i && blocks_.size() > 1) LeaveBlock();
    if (!ReadInst(i)) return false;
  }
  if (kernel_->value_names.size() != values || kernel_->args.size() != args) {
    return in_.Fail(diag::kBytecodeForm, "a count of values or arguments is wrong");
  }
  if (!in_.AtEnd("the instructions")) return false;
  in_.Unlimit(section_end);
  return true;
}

void KernelReader::LeaveBlock() {
  LeaveScope(blocks_.back().scope);
  blocks_.pop_back();
}

bool KernelReader::ReadInst(uint32_t index) {
  kernel_->locations.push_back(Here());
  uint8_t code = 0;
  uint8_t form = 0;
  if (!in_.U8(code) || !in_.U8(form)) return false;
  const RowForm& row = rows_[code];
  if (!row.known) return in_.Fail(diag::kBytecodeCode, +code, "instruction");
  const bool has_fifth = (form & kHasFifth) != 0;
  const unsigned attrs = (form & kAttrMask) | (has_fifth ? 1u << kFifth : 0u);
  if (attrs >> row.attrs != 0 || ((form & kLacksLast) != 0 && !row.optional_last) ||
      ((form & kHasElse) != 0 && !row.is_if)) {
    return in_.Fail(diag::kBytecodeForm, "an instruction has flags that it cannot have");
  }
  lowest_.minor = std::max<uint16_t>(lowest_.minor, row.since);
  if (has_fifth) lowest_ = std::max(lowest_, kSinceFifth);
  if ((attrs & row.fast) != 0) lowest_ = std::max(lowest_, kSinceFast);
  if ((attrs & row.via) != 0) lowest_ = std::max(lowest_, kSinceVia);
  Inst& inst = kernel_->code.emplace_back();
  inst.opcode = row.opcode;
  inst.results = row.results;
  inst.slots = static_cast<uint8_t>(row.slots - ((form & kLacksLast) != 0 ? 1 : 0));
  inst.attrs = static_cast<uint8_t>(attrs);
  inst.first_arg = static_cast<uint32_t>(kernel_->args.size());
  inst.end = inst.else_begin = index + 1;
  if ((form & kHasType) != 0 && !exprs_.Type(inst.type)) return false;
  if (row.opens_block && !ReadExtent(index, form, inst)) return false;
  return ReadArgs(row, inst);
}

bool KernelReader::ReadExtent(uint32_t index, uint8_t form, Inst& inst) {
  uint32_t inside = 0;
  uint32_t before_else = 0;
  if (!in_.U32(inside)) return false;
  if (inside > blocks_.back().end - index - 1) {
    return in_.Fail(diag::kBytecodeForm, "a block ends after its enclosing block");
  }
  inst.end = inst.else_begin = index + 1 + inside;
  if ((form & kHasElse) == 0) return true;
  if (!in_.U32(before_else)) return false;
  if (before_else >= inside) {
    return in_.Fail(diag::kBytecodeForm, "an else block begins after its end");
  }
  inst.else_begin = index + 1 + before_else;
  return true;
}

// Operands see what was defined before the instruction, so results are defined after them.
bool KernelReader::ReadArgs(const RowForm& row, const Inst& inst) {
  struct New {
    bool is_new;
    uint32_t number;  // of the value, or of the name of the new one
  } results[kMaxResults];
  for (size_t i = 0; i < row.results; ++i) {
    uint32_t number = 0;
    if (!in_.U32(number)) return false;
    results[i] = {number == 0, number - 1};
    if (number == 0 && !exprs_.Name(results[i].number, kValueName)) return false;
    kernel_->args.emplace_back();
  }
  for (size_t i = 0; i < inst.slots; ++i) {
    ExprId slot;
    if (!exprs_.Expr(slot) || !CheckSlot(row.forms[i], slot)) return false;
    kernel_->args.push_back(slot);
  }
  for (size_t i = 0; i < row.attrs; ++i) {
    if ((inst.attrs >> i & 1) != 0 && !ReadAttribute(row.attr_kinds[i])) return false;
  }
  const size_t outer_scope = scope_.size();
  for (size_t i = 0; i < row.results; ++i) {
    uint32_t value = results[i].number;
    if (results[i].is_new) {
      if (!NewValue(value)) return false;
      value = static_cast<uint32_t>(kernel_->value_names.size() - 1);
    } else if (row.is_for) {
      return in_.Fail(diag::kBytecodeForm, "the counter of a loop is not a new value");
    } else if (!exprs_.CheckVisible(value)) {
      return false;
    }
    kernel_->args[inst.first_arg + i] = ExprId::Value(value);
  }
  return !row.opens_block || EnterBlock(inst, outer_scope);
}

bool KernelReader::EnterBlock(const Inst& inst, size_t outer_scope) {
  const int depth = blocks_.back().depth + 1;
  if (depth > kMaxBlockDepth) return in_.Fail(diag::kBytecodeDepth, "blocks", +kMaxBlockDepth);
  blocks_.push_back({inst.end, depth, outer_scope});
  if (inst.else_begin != inst.end) blocks_.push_back({inst.else_begin, depth, outer_scope});
  return true;
}

bool KernelReader::CheckSlot(SlotForm form, ExprId slot) {
  bool fits = true;
  switch (form) {
    case SlotForm::kAny:
      return true;
    case SlotForm::kValue:
      fits = slot.is_value();
      break;
    case SlotForm::kList:
      fits = module_.pool.kind(slot) == ExprKind::kList;
      break;
    case SlotForm::kText:
      fits = module_.pool.kind(slot) == ExprKind::kString;
      break;
  }
  return fits || in_.Fail(diag::kBytecodeForm, "an operand is of the wrong kind");
}

bool KernelReader::ReadAttribute(AttrKind kind) {
  ExprId value;
  uint8_t word = 0;
  switch (kind) {
    case AttrKind::kFlag:
      value = exprs_.Bool(true);
      break;
    case AttrKind::kInt:
      if (!exprs_.Expr(value)) return false;
      break;
    case AttrKind::kIntList:
      if (!exprs_.Expr(value) || !CheckSlot(SlotForm::kList, value)) return false;
      break;
    case AttrKind::kRounding:
    case AttrKind::kCache:
    case AttrKind::kVia:
      if (!in_.U8(word)) return false;
      if (word >= AttrWords(kind).size()) {
        return in_.Fail(diag::kBytecodeCode, +word, "word of an attribute");
      }
      value = ExprId::Small(word);
      break;
  }
  kernel_->args.push_back(value);
  return true;
}

}  // namespace tarsia::bytecode
