#include "isa/specialise.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "isa/bind_constants.h"
#include "isa/broadcasts.h"
#include "isa/diagnostics.h"
#include "isa/graph/diagnostics.h"
#include "isa/prune.h"
#include "isa/validate/check_kernel.h"
#include "layout/text/eval.h"

namespace tarsia {

// One specialisation: a copy of one kernel, made concrete step by step.
class Specialiser {
 public:
  Specialiser(const ValidModule& valid, const TargetLimits& limits, Diagnostics& diagnostics,
              Diagnostics* of_bindings)
      : valid_(valid), limits_(limits), diagnostics_(diagnostics), of_bindings_(of_bindings) {}

  std::optional<Program> Run(std::string_view kernel_name, const std::vector<Binding>& bindings) {
    const size_t before = diagnostics_.count();
    if (!CopyKernel(kernel_name)) return std::nullopt;
    ConstantBinder binder(module_, "kernel", module_.Name(kernel()), diagnostics_, of_bindings_);
    if (!binder.Bind(kernel().constants, bindings)) return std::nullopt;
    binder.CheckRequirements(kernel().requires_);
    if (diagnostics_.count() != before) return std::nullopt;
    Substitute(binder.folder());
    Prune(module_, kernel());
    KernelFacts facts = CheckKernel(module_, kernel(), &limits_, diagnostics_);
    if (diagnostics_.count() == before && InsertBroadcasts(module_, kernel(), facts.types)) {
      facts = CheckKernel(module_, kernel(), &limits_, diagnostics_);
    }
    if (diagnostics_.count() != before) return Fail();
    Program program;
    program.warps_ = static_cast<int>(facts.warps.value_or(kDefaultWarps));
    program.registers_ = facts.registers;
    for (const ValueType& type : facts.types) program.types_.push_back(Concrete(type));
    auto scalars = std::make_shared<std::unordered_map<uint32_t, ScalarExpr>>();
    AddScalars(program.types_, *scalars);
    if (diagnostics_.count() != before) return Fail();
    program.scalars_ = std::move(scalars);
    program.constants_ = binder.TakeConstants();
    program.module_ = std::make_shared<const Module>(std::move(module_));
    program.resolved_ = Resolve(program);
    return program;
  }

 private:
  Kernel& kernel() { return module_.kernels[0]; }

  std::optional<Program> Fail() {
    diagnostics_.Sort();
    return std::nullopt;
  }

  bool CopyKernel(std::string_view name) {
    const std::optional<size_t> found = valid_.FindKernel(name);
    if (!found) {
      ReportUnknownKernel(name);
      return false;
    }
    module_ = valid_.module().Extract(*found);
    return true;
  }

  void ReportUnknownKernel(std::string_view name) {
    const Module& source = valid_.module();
    if (valid_.FindGraph(name)) {
      diagnostics_.Error(diag::kGraphNotKernel, Location(), name);
      return;
    }
    std::vector<std::string_view> names;
    for (const Kernel& kernel : source.kernels) names.push_back(source.Name(kernel));
    Diagnostic& error = diagnostics_.Error(diag::kUnknownKernel, Location(), name);
    error.help = DidYouMean(name, names);
    if (error.help.empty() && !names.empty()) {
      error.help = fmt::format("the kernels are {}", fmt::join(names, ", "));
    }
  }

  // ---- substitution ------------------------------------------------------------------------

  void Substitute(Folder& folder) {
    Kernel& k = kernel();
    k.constants.clear();
    k.requires_.clear();
    for (Parameter& param : k.params) param.dtype = folder.Fold(param.dtype);
    for (Assume& assume : k.assumes) {
      assume.condition = folder.Fold(assume.condition);
      assume.alignment = folder.Fold(assume.alignment);
    }
    for (ExprId& extent : k.grid) extent = folder.Fold(extent);
    k.warps = folder.Fold(k.warps);
    k.registers = folder.Fold(k.registers);
    for (ExprId& arg : k.args) arg = folder.Fold(arg);
    for (Inst& inst : k.code) {
      TypeExpr type = module_.type(inst.type);
      type.dtype = folder.Fold(type.dtype);
      type.shape = folder.Fold(type.shape);
      type.layout = folder.Fold(type.layout);
      type.bits = folder.Fold(type.bits);
      inst.type = module_.Intern(type);
    }
  }

  // ---- concrete types ----------------------------------------------------------------------

  ConcreteType Concrete(const ValueType& type) {
    ConcreteType out;
    out.kind = type.kind;
    out.space = type.space;
    out.dtype = module_.pool.AsDType(type.dtype).value_or(kI32);
    if (type.kind != ValueKind::kTile) return out;
    for (const ExprId extent : module_.pool.children(type.shape)) {
      out.shape.push_back(module_.pool.AsInt(extent).value_or(ConcreteType::kRuntimeExtent));
      out.shape_exprs.push_back(extent);
    }
    if (!type.layout.none()) ResolveLayout(type, out);
    return out;
  }

  void ResolveLayout(const ValueType& type, ConcreteType& out) {
    Result<EvalValue> value = Evaluate(module_.pool, type.layout, EmptyEnv());
    if (!value.ok()) {
      diagnostics_.Add(value.TakeError());
      return;
    }
    if (const auto* family = std::get_if<MemLayoutFamily>(&*value)) out.mem_layout = *family;
    if (const auto* layout = std::get_if<RegLayout>(&*value)) out.reg_layout = *layout;
    if (type.bits.none() || !out.reg_layout) return;
    Result<EvalValue> bits = Evaluate(module_.pool, type.bits, EmptyEnv());
    if (!bits.ok()) {
      diagnostics_.Add(bits.TakeError());
      return;
    }
    if (const auto* family = std::get_if<BitLayoutFamily>(&*bits)) {
      Result<BitLayout> layout = family->Apply(out.dtype, out.reg_layout->slots());
      if (layout.ok()) {
        out.bit_layout = *std::move(layout);
      } else {
        diagnostics_.Add(layout.TakeError());
      }
    }
  }

  // ---- scalar expressions ------------------------------------------------------------------

  using Scalars = std::unordered_map<uint32_t, ScalarExpr>;

  void AddScalars(const std::vector<ConcreteType>& types, Scalars& out) {
    const auto type_of = [&](uint32_t value) -> std::optional<DType> {
      if (value >= types.size() || types[value].kind != ValueKind::kScalar) return std::nullopt;
      return types[value].dtype;
    };
    const auto add = [&](ExprId id, Location location) {
      if (id.none() || out.count(id.raw()) != 0) return;
      auto made = ScalarExpr::Make(module_.pool, id, type_of);
      if (made) {
        out.emplace(id.raw(), *std::move(made));
      } else {
        diagnostics_.Error(diag::kExpressionKind, location, ToString(module_.pool, id, &kernel()),
                           "a number", "something else");
      }
    };
    for (const ExprId extent : kernel().grid) add(extent, kernel().grid_location);
    for (const Assume& assume : kernel().assumes) {
      add(assume.alignment.none() ? assume.condition : assume.alignment, assume.location);
    }
    for (const ConcreteType& type : types) {
      for (size_t d = 0; d < type.shape.size(); ++d) {
        if (type.shape[d] < 0) add(type.shape_exprs[d], Location());
      }
    }
    for (const Inst& inst : kernel().code) AddOperands(inst, add);
  }

  template <typename Add>
  void AddOperands(const Inst& inst, const Add& add) {
    const InstRow& row = Row(inst.opcode);
    const auto slots = kernel().Slots(inst);
    for (size_t i = 0; i < row.operands.size(); ++i) {
      const size_t slot = row.Slot(i);
      if (slot >= slots.size()) continue;
      const Location location = kernel().ArgLocation(inst, inst.results + slot);
      switch (row.operands[i].kind) {
        case OperandKind::kIndex:
        case OperandKind::kCondition:
        case OperandKind::kConstant:
          add(slots[slot], location);
          break;
        case OperandKind::kTileOrExpr:
        case OperandKind::kExpr:
          if (!slots[slot].is_value()) add(slots[slot], location);
          break;
        case OperandKind::kElement:
          for (const ExprId index : module_.pool.children(slots[slot + 1])) add(index, location);
          break;
        case OperandKind::kTile:
        case OperandKind::kOptionalTile:
        case OperandKind::kMemoryTile:
        case OperandKind::kSource:
        case OperandKind::kText:
          break;
      }
    }
  }

  const ValidModule& valid_;
  const TargetLimits& limits_;
  Diagnostics& diagnostics_;
  Diagnostics* const of_bindings_;
  Module module_;
};

std::optional<Program> Specialise(const ValidModule& module, std::string_view kernel,
                                  const std::vector<Binding>& bindings, const TargetLimits& limits,
                                  Diagnostics& diagnostics, Diagnostics* of_bindings) {
  return Specialiser(module, limits, diagnostics, of_bindings).Run(kernel, bindings);
}

}  // namespace tarsia
