#include "compiler/tile/build.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "compiler/tile/carried.h"

namespace tarsia::compiler::tile {
namespace {

class Builder {
 public:
  explicit Builder(const Program& program)
      : program_(program),
        kernel_(program.kernel()),
        current_(program.types().size(), kNone),
        defined_(program.types().size()) {}

  Form Run() {
    CopyHeader();
    form_.types = program_.types();
    AddRegion(kNone, kNone);
    for (uint32_t i = 0; i < kernel_.params.size(); ++i) {
      form_.regions[kBody].arguments.push_back(Define(i, kernel_.params[i].location));
    }
    AddOps(kBody, 0, kernel_.code.size());
    RemoveUnusedCarried(form_);
    return std::move(form_);
  }

 private:
  void CopyHeader() {
    form_.pool = program_.pool();
    form_.source_name = program_.source_name();
    form_.header.name = kernel_.name;
    form_.header.location = kernel_.location;
    form_.header.params = kernel_.params;
    form_.header.assumes = kernel_.assumes;
    std::copy(std::begin(kernel_.grid), std::end(kernel_.grid), std::begin(form_.header.grid));
    form_.header.warps = kernel_.warps;
    form_.header.registers = kernel_.registers;
    form_.header.fast = kernel_.fast;
    form_.header.close_line = kernel_.close_line;
    form_.header.grid_location = kernel_.grid_location;
    form_.header.warps_location = kernel_.warps_location;
    form_.header.registers_location = kernel_.registers_location;
  }

  RegionId AddRegion(OpId owner, RegionId parent) {
    form_.regions.push_back({owner, parent, {}, {}, {}});
    return static_cast<RegionId>(form_.regions.size() - 1);
  }

  // A new value of a variable, which it has from now on.
  ValueId Define(uint32_t variable, Location location) {
    const auto value = static_cast<ValueId>(form_.values.size());
    form_.values.push_back({variable, variable, kernel_.value_name_ids[variable], location});
    current_[variable] = value;
    if (std::exchange(defined_[variable], 1) != 0) return value;
    // Extents that depend on scalars mean the values that these have here.
    for (ExprId& extent : form_.types[variable].shape_exprs) extent = Rename(extent);
    return value;
  }

  ExprId Rename(ExprId id) {
    return Renamed(form_.pool, id,
                   [this](uint32_t variable) { return ExprId::Value(current_[variable]); });
  }

  void AddOps(RegionId region, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i = kernel_.code[i].end) AddOp(region, i);
  }

  void AddOp(RegionId region, size_t i) {
    const auto id = static_cast<OpId>(form_.ops.size());
    form_.ops.push_back(Head(i));
    form_.regions[region].ops.push_back(id);
    const Inst& inst = kernel_.code[i];
    const bool opens = Row(inst.opcode).Has(kOpensBlock);
    if (opens && inst.opcode != Opcode::kIf) return AddLoop(region, id, i);
    RenameOperands(id);
    if (opens) return AddIf(region, id, i);
    const auto results = kernel_.Results(inst);
    for (size_t r = 0; r < results.size(); ++r) {
      form_.ops[id].results.push_back(Define(results[r].value(), kernel_.ArgLocation(inst, r)));
    }
  }

  void RenameOperands(OpId id) {
    RenameUses(form_.pool, form_.ops[id],
               [this](uint32_t variable) { return ExprId::Value(current_[variable]); });
  }

  // Everything but results and regions; its operands are still variables.
  Operation Head(size_t i) const {
    const Inst& inst = kernel_.code[i];
    const ResolvedInst& resolved = program_.instructions()[i];
    Operation op;
    op.opcode = inst.opcode;
    op.type = resolved.type;
    std::copy(std::begin(resolved.operand), std::end(resolved.operand), std::begin(op.operand));
    for (Operand& operand : op.operand) {
      if (operand.IsValue()) operand.expr = ExprId();
    }
    const auto& attrs = op.row().attrs;
    for (size_t a = 0; a < attrs.size(); ++a) {
      if ((inst.attrs >> a & 1) != 0) op.attr[a] = kernel_.AttrOf(inst, attrs.items[a]);
    }
    op.annotation = program_.module().type(inst.type);
    op.location = kernel_.LocationOf(inst);
    if (i < kernel_.type_locations.size()) op.type_location = kernel_.type_locations[i];
    if (i < kernel_.close_lines.size()) op.close_line = kernel_.close_lines[i];
    if (i < kernel_.else_lines.size()) op.else_line = kernel_.else_lines[i];
    const int args = inst.results + inst.slots + std::popcount(inst.attrs);
    for (int a = 0; a < args && !kernel_.arg_locations.empty(); ++a) {
      op.arg_locations.push_back(kernel_.ArgLocation(inst, static_cast<size_t>(a)));
    }
    return op;
  }

  // The variables from outside that are assigned in the blocks of an instruction.
  std::vector<uint32_t> AssignedIn(size_t i) const {
    std::vector<uint32_t> out;
    for (size_t j = i + 1; j < kernel_.code[i].end; ++j) {
      for (const ExprId result : kernel_.Results(kernel_.code[j])) {
        if (current_[result.value()] != kNone) out.push_back(result.value());
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  [[nodiscard]] std::vector<ValueId> Current(const std::vector<uint32_t>& variables) const {
    std::vector<ValueId> out;
    for (const uint32_t variable : variables) out.push_back(current_[variable]);
    return out;
  }

  std::vector<ValueId> DefineAll(const std::vector<uint32_t>& variables, Location location) {
    std::vector<ValueId> out;
    for (const uint32_t variable : variables) out.push_back(Define(variable, location));
    return out;
  }

  // Bounds are computed once, outside of the region; the condition of a `while` is inside.
  void AddLoop(RegionId parent, OpId id, size_t i) {
    const Inst& inst = kernel_.code[i];
    const Location location = form_.ops[id].location;
    const bool counts = inst.opcode == Opcode::kFor;
    const std::vector<uint32_t> carried = AssignedIn(i);
    const RegionId region = AddRegion(id, parent);
    form_.ops[id].region[0] = region;
    form_.ops[id].inits = Current(carried);
    if (counts) RenameOperands(id);
    std::vector<ValueId> arguments;
    if (counts) {
      arguments.push_back(Define(kernel_.Results(inst)[0].value(), kernel_.ArgLocation(inst, 0)));
    }
    const std::vector<ValueId> carried_arguments = DefineAll(carried, location);
    arguments.insert(arguments.end(), carried_arguments.begin(), carried_arguments.end());
    form_.regions[region].arguments = std::move(arguments);
    if (!counts) RenameOperands(id);
    AddOps(region, i + 1, inst.end);
    if (!form_.Ends(region)) form_.regions[region].yields = Current(carried);
    form_.ops[id].results = DefineAll(carried, location);
  }

  void AddIf(RegionId parent, OpId id, size_t i) {
    const Inst& inst = kernel_.code[i];
    const std::vector<uint32_t> carried = AssignedIn(i);
    const std::vector<ValueId> before = Current(carried);
    const size_t begin[] = {i + 1, inst.else_begin};
    const size_t end[] = {inst.else_begin, inst.end};
    bool reached = false;
    for (size_t arm = 0; arm < 2; ++arm) {
      for (size_t c = 0; c < carried.size(); ++c) current_[carried[c]] = before[c];
      const RegionId region = AddRegion(id, parent);
      form_.ops[id].region[arm] = region;
      AddOps(region, begin[arm], end[arm]);
      if (form_.Ends(region)) continue;
      form_.regions[region].yields = Current(carried);
      reached = true;
    }
    for (size_t c = 0; c < carried.size(); ++c) current_[carried[c]] = before[c];
    if (reached) form_.ops[id].results = DefineAll(carried, form_.ops[id].location);
  }

  const Program& program_;
  const Kernel& kernel_;
  Form form_;
  std::vector<ValueId> current_;  // by variable
  std::vector<uint8_t> defined_;  // by variable: it has had a value
};

}  // namespace

Form Build(const Program& program) { return Builder(program).Run(); }

}  // namespace tarsia::compiler::tile
