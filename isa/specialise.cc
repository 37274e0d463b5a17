#include "isa/specialise.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "isa/broadcasts.h"
#include "isa/diagnostics.h"
#include "isa/fold.h"
#include "isa/prune.h"
#include "isa/validate/check_kernel.h"
#include "layout/text/eval.h"
#include "layout/text/expr_parser.h"

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
    BindConstants(bindings);
    if (wrong_binding_ || diagnostics_.count() != before) return std::nullopt;
    CheckRequirements();
    if (diagnostics_.count() != before) return std::nullopt;
    Substitute();
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
    program.constants_ = std::move(constants_);
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
    std::vector<std::string_view> names;
    for (const Kernel& kernel : source.kernels) names.push_back(source.Name(kernel));
    Diagnostic& error = diagnostics_.Error(diag::kUnknownKernel, Location(), name);
    error.help = DidYouMean(name, names);
    if (error.help.empty() && !names.empty()) {
      error.help = fmt::format("the kernels are {}", fmt::join(names, ", "));
    }
  }

  // ---- constants ---------------------------------------------------------------------------

  void BindConstants(const std::vector<Binding>& bindings) {
    const Kernel& k = kernel();
    std::vector<std::string_view> names;
    for (const Constant& c : k.constants) names.push_back(module_.pool.strings()[c.name]);
    std::vector<ExprId> given(k.constants.size());
    for (const Binding& binding : bindings) {
      const auto found = std::find(names.begin(), names.end(), binding.name);
      if (found == names.end()) {
        RefuseUnknown(binding, names);
        continue;
      }
      const auto i = static_cast<size_t>(found - names.begin());
      if (!given[i].none()) {
        Refuse(binding, MakeDiagnostic(diag::kRepeatedBinding, binding.location, binding.name));
        continue;
      }
      given[i] = ParseBinding(binding, k.constants[i]);
      if (given[i].none()) failed_.push_back(k.constants[i].name);
    }
    for (size_t i = 0; i < k.constants.size(); ++i) {
      if (!Failed(k.constants[i].name)) BindConstant(k.constants[i], given[i]);
    }
  }

  void Refuse(const Binding& binding, Diagnostic error) {
    wrong_binding_ = true;
    if (of_bindings_ != nullptr && binding.location.IsText()) {
      of_bindings_->Add(std::move(error));
    } else {
      error.location = Location();
      diagnostics_.Add(std::move(error));
    }
  }

  void RefuseUnknown(const Binding& binding, const std::vector<std::string_view>& names) {
    Diagnostic error = MakeDiagnostic(diag::kUnknownBinding, binding.location,
                                      module_.Name(kernel()), binding.name);
    error.help = DidYouMean(binding.name, names);
    if (error.help.empty()) {
      error.help =
          names.empty() ? "it has no constants" : fmt::format("it has {}", fmt::join(names, ", "));
    }
    Refuse(binding, std::move(error));
  }

  // An error in the text of a binding, whose location counts from the beginning of this text.
  void RefuseText(const Binding& binding, Diagnostic error) {
    error.message = fmt::format("`{}={}`: {}", binding.name, binding.text, error.message);
    if (error.location.line == 1) {
      error.location.line = binding.location.line;
      error.location.column +=
          binding.location.column + static_cast<uint32_t>(binding.name.size() + 1) - 1;
    } else {
      error.location = binding.location;
    }
    Refuse(binding, std::move(error));
  }

  ExprId ParseBinding(const Binding& binding, const Constant& constant) {
    Result<ExprId> value = ParseExpression(binding.text, module_.pool);
    if (!value.ok()) {
      RefuseText(binding, value.TakeError());
      return {};
    }
    class NoNames final : public TypeEnv {
      [[nodiscard]] std::optional<ExprType> NameType(StringId) const override {
        return std::nullopt;
      }
      [[nodiscard]] std::optional<ExprType> ValueType(uint32_t) const override {
        return std::nullopt;
      }
    };
    Result<ExprType> type = StaticType(module_.pool, *value, NoNames());
    if (!type.ok()) {
      RefuseText(binding, type.TakeError());
      return {};
    }
    const ExprType wanted = ExprTypeOf(constant.kind);
    if (*type == wanted) return *value;
    Refuse(binding, MakeDiagnostic(
                        diag::kConstantKind, binding.location, binding.name, binding.text,
                        kConstKindNames[static_cast<size_t>(constant.kind)], ExprTypeName(*type)));
    return {};
  }

  [[nodiscard]] bool Failed(StringId name) const {
    return std::find(failed_.begin(), failed_.end(), name) != failed_.end();
  }

  void BindConstant(const Constant& constant, ExprId value) {
    const std::string_view name = module_.pool.strings()[constant.name];
    const Location location = value.none() ? constant.DefaultLocation() : constant.location;
    if (value.none()) value = constant.default_value;
    if (value.none()) {
      diagnostics_.Error(diag::kUnboundConstant, constant.location, name, name).help =
          fmt::format("give it a value: {}=...", name);
      failed_.push_back(constant.name);
      return;
    }
    // Errors that follow from a constant without value are not reported.
    for (const StringId name_of_failed : failed_) {
      if (!Mentions(value, module_.pool.strings()[name_of_failed])) continue;
      failed_.push_back(constant.name);
      return;
    }
    value = folder_.Fold(value);
    // Layouts stay expressions, but they must have a value.
    Result<EvalValue> computed = Evaluate(module_.pool, value, EmptyEnv(), location);
    if (!computed.ok()) {
      Diagnostic error = computed.TakeError();
      error.message = fmt::format("constant `{}`: {}", name, error.message);
      diagnostics_.Add(std::move(error));
      failed_.push_back(constant.name);
      return;
    }
    folder_.Bind(constant.name, value);
    constants_.push_back({std::string(name), constant.kind, value});
  }

  void CheckRequirements() {
    for (const Require& require : kernel().requires_) {
      const ExprId condition = folder_.Fold(require.condition);
      Result<EvalValue> value = Evaluate(module_.pool, condition, EmptyEnv(), require.location);
      if (!value.ok()) {
        diagnostics_.Add(value.TakeError());
        continue;
      }
      const bool* holds = std::get_if<bool>(&*value);
      if (holds != nullptr && *holds) continue;
      const std::string_view message = module_.pool.strings()[require.message];
      Diagnostic& error = diagnostics_.Error(
          diag::kRequirement, require.location,
          message.empty() ? ToString(module_.pool, require.condition) : std::string(message));
      error.help = ConstantsIn(require.condition);
    }
  }

  // "K = 100, BK = 64", for the constants in an expression.
  std::string ConstantsIn(ExprId id) const {
    std::string out;
    for (const BoundConstant& constant : constants_) {
      if (!Mentions(id, constant.name)) continue;
      out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", constant.name,
                         ToString(module_.pool, constant.value));
    }
    return out;
  }

  bool Mentions(ExprId id, std::string_view name) const {
    if (module_.pool.kind(id) == ExprKind::kName && module_.pool.Text(id) == name) return true;
    const auto children = module_.pool.children(id);
    return std::any_of(children.begin(), children.end(),
                       [&](ExprId child) { return Mentions(child, name); });
  }

  // ---- substitution ------------------------------------------------------------------------

  void Substitute() {
    Kernel& k = kernel();
    k.constants.clear();
    k.requires_.clear();
    for (Parameter& param : k.params) param.dtype = folder_.Fold(param.dtype);
    for (Assume& assume : k.assumes) {
      assume.condition = folder_.Fold(assume.condition);
      assume.alignment = folder_.Fold(assume.alignment);
    }
    for (ExprId& extent : k.grid) extent = folder_.Fold(extent);
    k.warps = folder_.Fold(k.warps);
    k.registers = folder_.Fold(k.registers);
    for (ExprId& arg : k.args) arg = folder_.Fold(arg);
    for (Inst& inst : k.code) {
      TypeExpr type = module_.type(inst.type);
      type.dtype = folder_.Fold(type.dtype);
      type.shape = folder_.Fold(type.shape);
      type.layout = folder_.Fold(type.layout);
      type.bits = folder_.Fold(type.bits);
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
  Folder folder_{module_.pool};
  std::vector<BoundConstant> constants_;
  std::vector<StringId> failed_;  // constants that have no value
  bool wrong_binding_ = false;
};

std::optional<Program> Specialise(const ValidModule& module, std::string_view kernel,
                                  const std::vector<Binding>& bindings, const TargetLimits& limits,
                                  Diagnostics& diagnostics, Diagnostics* of_bindings) {
  return Specialiser(module, limits, diagnostics, of_bindings).Run(kernel, bindings);
}

}  // namespace tarsia
