#include "isa/broadcasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <utility>

#include "isa/renumber.h"

namespace tarsia {
namespace {

// Writes the code of a kernel again, with new instructions before those that need them.
class Inserter {
 public:
  Inserter(Module& module, Kernel& kernel, const std::vector<ValueType>& types)
      : module_(module), kernel_(kernel), types_(types) {}

  bool Run() {
    if (std::none_of(kernel_.code.begin(), kernel_.code.end(),
                     [this](const Inst& inst) { return Repeats(inst); })) {
      return false;
    }
    names_.insert(kernel_.value_name_ids.begin(), kernel_.value_name_ids.end());
    const std::vector<uint32_t> begin = Rewrite();
    for (const uint32_t i : own_) {
      out_.code[i].end = begin[out_.code[i].end];
      out_.code[i].else_begin = begin[out_.code[i].else_begin];
    }
    kernel_.code = std::move(out_.code);
    kernel_.args = std::move(out_.args);
    kernel_.locations = std::move(out_.locations);
    kernel_.arg_locations = std::move(out_.arg_locations);
    kernel_.type_locations = std::move(out_.type_locations);
    kernel_.close_lines = std::move(out_.close_lines);
    kernel_.else_lines = std::move(out_.else_lines);
    RenumberValues(module_, kernel_);
    return true;
  }

 private:
  // The shape of the result if the operand in a slot has to be repeated; else none.
  [[nodiscard]] ExprId ShapeToHave(const Inst& inst, ExprId slot) const {
    if (Row(inst.opcode).family != Family::kElementwise || inst.results == 0) return {};
    if (!slot.is_value() || types_[slot.value()].kind != ValueKind::kTile) return {};
    const ExprId shape = types_[kernel_.Results(inst)[0].value()].shape;
    return types_[slot.value()].shape == shape ? ExprId() : shape;
  }

  [[nodiscard]] bool Repeats(const Inst& inst) const {
    const auto slots = kernel_.Slots(inst);
    return std::any_of(slots.begin(), slots.end(),
                       [&](ExprId slot) { return !ShapeToHave(inst, slot).none(); });
  }

  // Returns where each instruction, with what is inserted before it, begins in the new code; and
  // where that ends.
  std::vector<uint32_t> Rewrite() {
    std::vector<uint32_t> begin;
    for (size_t i = 0; i < kernel_.code.size(); ++i) {
      begin.push_back(static_cast<uint32_t>(out_.code.size()));
      const Inst& inst = kernel_.code[i];
      std::vector<ExprId> args(kernel_.args.begin() + inst.first_arg,
                               kernel_.args.begin() + inst.first_arg + inst.results + inst.slots +
                                   std::popcount(inst.attrs));
      for (size_t slot = inst.results; slot < size_t{inst.results} + inst.slots; ++slot) {
        const ExprId shape = ShapeToHave(inst, args[slot]);
        if (!shape.none()) args[slot] = Repeated(i, slot, shape);
      }
      Copy(i, args);
    }
    begin.push_back(static_cast<uint32_t>(out_.code.size()));
    return begin;
  }

  void Copy(size_t i, const std::vector<ExprId>& args) {
    own_.push_back(static_cast<uint32_t>(out_.code.size()));
    const Inst& inst = kernel_.code[i];
    out_.code.push_back(inst);
    out_.code.back().first_arg = static_cast<uint32_t>(out_.args.size());
    out_.args.insert(out_.args.end(), args.begin(), args.end());
    CopyRange(kernel_.arg_locations, inst.first_arg, args.size(), out_.arg_locations);
    CopyRange(kernel_.locations, i, 1, out_.locations);
    CopyRange(kernel_.type_locations, i, 1, out_.type_locations);
    CopyRange(kernel_.close_lines, i, 1, out_.close_lines);
    CopyRange(kernel_.else_lines, i, 1, out_.else_lines);
  }

  // Arrays that a module from bytecode lacks are empty.
  template <typename T>
  static void CopyRange(const std::vector<T>& from, size_t begin, size_t count,
                        std::vector<T>& to) {
    if (from.empty()) return;
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(begin);
    to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(count));
  }

  // ---- new instructions --------------------------------------------------------------------

  // A value with the elements of argument `arg` of instruction `i`, repeated to the shape.
  ExprId Repeated(size_t i, size_t arg, ExprId shape) {
    const Inst& inst = kernel_.code[i];
    ExprId value = kernel_.args[inst.first_arg + arg];
    const StringId name = kernel_.value_name_ids[value.value()];
    const size_t rank = module_.pool.children(types_[value.value()].shape).size();
    std::vector<ExprId> axes;
    for (size_t d = rank; d < module_.pool.children(shape).size(); ++d) {
      axes.push_back(module_.pool.Int(static_cast<int64_t>(d - rank)));
    }
    if (!axes.empty()) {
      value = Add(i, arg, Opcode::kUnsqueeze, value, name, module_.pool.List(axes), {});
    }
    TypeExpr type;
    type.shape = shape;
    return Add(i, arg, Opcode::kBroadcast, value, name, {}, type);
  }

  // An instruction at the place of argument `arg` of instruction `i`. Returns its result.
  ExprId Add(size_t i, size_t arg, Opcode opcode, ExprId operand, StringId name, ExprId attr,
             const TypeExpr& type) {
    Inst inst;
    inst.opcode = opcode;
    inst.results = 1;
    inst.slots = 1;
    inst.attrs = attr.none() ? 0 : 1;
    inst.first_arg = static_cast<uint32_t>(out_.args.size());
    inst.type = module_.Intern(type);
    inst.end = inst.else_begin = static_cast<uint32_t>(out_.code.size() + 1);
    const ExprId result = NewValue(name);
    out_.code.push_back(inst);
    out_.args.insert(out_.args.end(), {result, operand});
    if (!attr.none()) out_.args.push_back(attr);
    if (!kernel_.arg_locations.empty()) {
      out_.arg_locations.resize(out_.args.size(),
                                kernel_.arg_locations[kernel_.code[i].first_arg + arg]);
    }
    CopyRange(kernel_.locations, i, 1, out_.locations);
    if (!kernel_.type_locations.empty()) out_.type_locations.emplace_back();
    if (!kernel_.close_lines.empty()) out_.close_lines.push_back(0);
    if (!kernel_.else_lines.empty()) out_.else_lines.push_back(0);
    return result;
  }

  ExprId NewValue(StringId like) {
    StringPool& strings = module_.pool.strings();
    const std::string base(strings[like]);
    StringId name = like;
    for (int i = 1; !names_.insert(name).second; ++i) {
      name = strings.Intern(fmt::format("{}_{}", base, i));
    }
    kernel_.value_names.push_back(strings[name]);
    kernel_.value_name_ids.push_back(name);
    return ExprId::Value(static_cast<uint32_t>(kernel_.value_names.size() - 1));
  }

  Module& module_;
  Kernel& kernel_;
  const std::vector<ValueType>& types_;
  Kernel out_;                 // the new code and the arrays that are parallel to it
  std::vector<uint32_t> own_;  // the instructions of the kernel in the new code
  std::set<StringId> names_;   // of all values
};

}  // namespace

bool InsertBroadcasts(Module& module, Kernel& kernel, const std::vector<ValueType>& types) {
  return Inserter(module, kernel, types).Run();
}

}  // namespace tarsia
