#include "compiler/tile/to_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compiler/tile/annotation.h"
#include "compiler/tile/variables.h"
#include "dtypes/convert.h"
#include "isa/validate.h"

namespace tarsia::compiler::tile {
namespace {

// An instruction before it is laid out in a kernel.
struct Draft {
  Opcode opcode{};
  std::vector<ExprId> results;
  std::vector<ExprId> slots;
  ExprId attr[kMaxAttrs];
  TypeExpr annotation;
  Location location;
};

class Writer {
 public:
  explicit Writer(const Form& form)
      : form_(form), variables_(AssignVariables(form)), number_(form.values.size(), kNone) {}

  Module Run() {
    module_.pool = form_.pool;
    module_.source_name = form_.source_name;
    module_.kernels.push_back(form_.header);
    for (const ValueId parameter : form_.regions[kBody].arguments) Number(parameter);
    WriteOps(kBody);
    return std::move(module_);
  }

 private:
  Kernel& kernel() { return module_.kernels[0]; }

  // ---- names -------------------------------------------------------------------------------

  // The number of a variable in the kernel, which it gets where it first occurs.
  ExprId Number(ValueId value) {
    uint32_t& number = number_[variables_.of[value]];
    if (number == kNone) number = AddName(form_.values[variables_.of[value]].name);
    return ExprId::Value(number);
  }

  uint32_t AddName(StringId wanted) {
    StringPool& strings = module_.pool.strings();
    const std::string base(strings[wanted]);
    StringId name = wanted;
    for (int i = 1; visible_.count(name) != 0; ++i) {
      name = strings.Intern(fmt::format("{}_{}", base, i));
    }
    visible_.insert(name);
    scope_.push_back(name);
    kernel().value_name_ids.push_back(name);
    kernel().value_names.push_back(strings[name]);
    return static_cast<uint32_t>(kernel().value_names.size() - 1);
  }

  void HideSince(size_t size) {
    for (; scope_.size() > size; scope_.pop_back()) visible_.erase(scope_.back());
  }

  ExprId Rename(ExprId id) {
    return Renamed(module_.pool, id, [this](ValueId value) { return Number(value); });
  }

  // ---- instructions ------------------------------------------------------------------------

  // Returns its index.
  size_t Add(const Draft& draft, const Operation* op) {
    Kernel& k = kernel();
    Inst inst;
    inst.opcode = draft.opcode;
    inst.results = static_cast<uint8_t>(draft.results.size());
    inst.slots = static_cast<uint8_t>(draft.slots.size());
    inst.first_arg = static_cast<uint32_t>(k.args.size());
    inst.type = module_.Intern(draft.annotation);
    k.args.insert(k.args.end(), draft.results.begin(), draft.results.end());
    k.args.insert(k.args.end(), draft.slots.begin(), draft.slots.end());
    for (size_t i = 0; i < kMaxAttrs; ++i) {
      if (draft.attr[i].none()) continue;
      inst.attrs = static_cast<uint8_t>(inst.attrs | 1u << i);
      k.args.push_back(draft.attr[i]);
    }
    const size_t count = k.args.size() - inst.first_arg;
    const bool known = op != nullptr && op->arg_locations.size() == count;
    for (size_t i = 0; i < count; ++i) {
      k.arg_locations.push_back(known ? op->arg_locations[i] : draft.location);
    }
    k.code.push_back(inst);
    k.code.back().end = k.code.back().else_begin = static_cast<uint32_t>(k.code.size());
    k.locations.push_back(draft.location);
    k.type_locations.push_back(op != nullptr ? op->type_location : Location());
    k.close_lines.push_back(op != nullptr ? op->close_line : 0);
    k.else_lines.push_back(op != nullptr ? op->else_line : 0);
    return k.code.size() - 1;
  }

  void WriteOps(RegionId region) {
    for (const OpId id : form_.regions[region].ops) {
      for (const uint32_t variable : variables_.declared_before[id]) Declare(variable, id);
      const Operation& op = form_.ops[id];
      if (op.HasRegions()) {
        WriteBlocks(op);
      } else {
        WriteSimple(op);
      }
    }
  }

  std::vector<ExprId> Slots(const Operation& op) {
    std::vector<ExprId> out;
    for (size_t i = 0; i < op.row().operands.size(); ++i) {
      const Operand& operand = op.operand[i];
      if (!operand.present()) break;
      out.push_back(operand.IsValue() ? Number(operand.value) : Rename(operand.expr));
      if (op.row().operands.items[i].kind == OperandKind::kElement) {
        out.push_back(Rename(operand.indices));
      }
    }
    return out;
  }

  // Operands before results: a result may be the first occurrence of its variable.
  Draft DraftOf(const Operation& op) {
    Draft out;
    out.opcode = op.opcode;
    out.slots = Slots(op);
    std::copy(std::begin(op.attr), std::end(op.attr), std::begin(out.attr));
    out.annotation = op.annotation;
    out.annotation.shape = Rename(op.annotation.shape);
    out.location = op.location;
    return out;
  }

  void WriteSimple(const Operation& op) {
    Draft draft = DraftOf(op);
    for (const ValueId result : op.results) draft.results.push_back(Number(result));
    Add(draft, &op);
  }

  void WriteBlocks(const Operation& op) {
    WriteCopies(CopiesOf(variables_, op.results, 0, op.inits), op.location);
    Draft draft = DraftOf(op);
    const size_t scope = scope_.size();
    if (op.opcode == Opcode::kFor) {
      draft.results.push_back(Number(form_.regions[op.region[0]].arguments[0]));
    }
    const size_t index = Add(draft, &op);
    WriteBlock(op, op.region[0]);
    const size_t first_end = kernel().code.size();
    if (op.region[1] != kNone) WriteBlock(op, op.region[1]);
    kernel().code[index].else_begin = static_cast<uint32_t>(first_end);
    kernel().code[index].end = static_cast<uint32_t>(kernel().code.size());
    HideSince(scope);
  }

  void WriteBlock(const Operation& op, RegionId region) {
    const size_t scope = scope_.size();
    WriteOps(region);
    const std::vector<ValueId>& yields = form_.regions[region].yields;
    WriteCopies(CopiesOf(variables_, op.results, 0, yields), op.location);
    HideSince(scope);
  }

  // ---- copies ------------------------------------------------------------------------------

  void WriteCopy(ExprId to, ExprId from, Location location) {
    Draft draft;
    draft.opcode = Opcode::kMov;
    draft.results = {to};
    draft.slots = {from};
    draft.location = location;
    Add(draft, nullptr);
  }

  // Makes simultaneous copies one after another. A variable is not written while another copy still
  // has to read it; in a cycle one variable is saved first.
  void WriteCopies(std::vector<Copy> copies, Location location) {
    std::vector<ExprId> from;
    for (const Copy& copy : copies) from.push_back(Number(copy.from));
    while (!copies.empty()) {
      size_t next = 0;
      while (next < copies.size() && IsRead(copies[next], copies, from)) ++next;
      if (next == copies.size()) {
        next = 0;
        const ExprId old = Number(copies[0].to);
        const ExprId saved = ExprId::Value(AddName(form_.values[copies[0].to].name));
        WriteCopy(saved, old, location);
        std::replace(from.begin(), from.end(), old, saved);
      }
      WriteCopy(Number(copies[next].to), from[next], location);
      copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(next));
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(next));
    }
  }

  // Whether another copy still reads what this one writes.
  bool IsRead(const Copy& copy, const std::vector<Copy>& copies, const std::vector<ExprId>& from) {
    const uint32_t number = number_[copy.to];
    if (number == kNone) return false;
    for (size_t i = 0; i < copies.size(); ++i) {
      if (copies[i].to != copy.to && from[i] == ExprId::Value(number)) return true;
    }
    return false;
  }

  // ---- declarations ------------------------------------------------------------------------

  // Gives a variable a first value, which nothing reads.
  void Declare(uint32_t variable, OpId before) {
    if (number_[variable] != kNone) return;
    const ConcreteType& type = form_.TypeOf(variable);
    Draft draft;
    draft.location = form_.ops[before].location;
    draft.opcode = type.kind == ValueKind::kScalar ? Opcode::kMov : Opcode::kFill;
    draft.slots = {SomeElement(type.dtype)};
    draft.annotation = AnnotationOf(type, module_.pool);
    draft.results = {Number(variable)};
    Add(draft, nullptr);
  }

  // Zero, or one in the types that have only powers of two.
  ExprId SomeElement(DType dtype) {
    if (dtype == kBoolType) return module_.pool.Bool(false);
    return module_.pool.Int(ParseValue(dtype, "0") ? 0 : 1);
  }

  const Form& form_;
  const Variables variables_;
  Module module_;
  std::vector<uint32_t> number_;  // by variable: in the kernel
  std::set<StringId> visible_;    // names
  std::vector<StringId> scope_;   // the same, in the order of their declaration
};

}  // namespace

Module ToModule(const Form& form) { return Writer(form).Run(); }

Result<Program> ToProgram(const Form& form, const TargetLimits& limits) {
  Diagnostics diagnostics;
  std::optional<ValidModule> valid = Validate(ToModule(form), diagnostics);
  std::optional<Program> program;
  if (valid) {
    program = Specialise(*valid, valid->module().Name(valid->module().kernels[0]), {}, limits,
                         diagnostics);
  }
  if (program) return *std::move(program);
  return diagnostics.list().front();
}

}  // namespace tarsia::compiler::tile
