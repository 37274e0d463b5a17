#include "tests/harness/program.h"

#include <algorithm>
#include <utility>

#include "isa/prune.h"
#include "isa/text/parser.h"
#include "isa/validate.h"
#include "layout/text/eval.h"
#include "tests/data/test_data.h"
#include "tests/harness/codec.h"

namespace tarsia::harness {
namespace {

// Knows only the scalar parameters.
class ScalarEnv final : public EvalEnv {
 public:
  ScalarEnv(const Program& program, const std::vector<uint64_t>& scalars) {
    for (uint32_t i = 0; i < program.kernel().params.size(); ++i) {
      const DType type = program.type(i).dtype;
      EvalValue value;
      if (program.kernel().params[i].is_pointer) {
        value = std::monostate();
      } else if (type.IsBool()) {
        value = scalars[i] != 0;
      } else if (type.IsInteger()) {
        value = DecodeInteger(type, scalars[i]);
      } else {
        value = Decode(type, scalars[i]);
      }
      values_.push_back(std::move(value));
    }
  }
  [[nodiscard]] const EvalValue* FindName(StringId) const override { return nullptr; }
  [[nodiscard]] const EvalValue* FindValue(uint32_t value) const override {
    return value < values_.size() ? &values_[value] : nullptr;
  }

 private:
  std::vector<EvalValue> values_;
};

std::optional<Shape> ShapeOf(const Program& program, const ConcreteType& type,
                             const ScalarEnv& env) {
  Shape shape = type.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != ConcreteType::kRuntimeExtent) continue;
    const auto value = Evaluate(program.pool(), type.shape_exprs[d], env);
    const int64_t* const extent = value.ok() ? std::get_if<int64_t>(&*value) : nullptr;
    if (extent == nullptr || *extent < 0) return std::nullopt;
    shape[d] = *extent;
  }
  return shape;
}

}  // namespace

SourceFile ReadExample(const std::string& name) {
  return {"examples/" + name, ReadTestFile(TestData("examples/" + name))};
}

Made MakeProgram(const SourceFile& source, std::string_view kernel,
                 const std::vector<Binding>& constants) {
  Made made;
  Diagnostics diagnostics;
  std::optional<Module> module = Parse(source, diagnostics);
  if (module) {
    std::string name(kernel);
    if (name.empty() && module->kernels.size() == 1) name = module->Name(module->kernels[0]);
    const std::optional<ValidModule> valid = Validate(*std::move(module), diagnostics);
    if (valid) made.program = Specialise(*valid, name, constants, {}, diagnostics);
  }
  if (!made.program) made.error = diagnostics.Render(source);
  if (!made.program && made.error.empty()) made.error = "no program, and no error either";
  return made;
}

Shape PointerView::shape() const { return {layout.shape().begin(), layout.shape().end()}; }

std::vector<PointerView> TopLevelViews(const Program& program,
                                       const std::vector<uint64_t>& scalars) {
  const Kernel& kernel = program.kernel();
  const ScalarEnv env(program, scalars);
  std::vector<PointerView> views;
  size_t block_end = 0;
  for (size_t i = 0; i < kernel.code.size(); ++i) {
    const Inst& inst = kernel.code[i];
    if (i < block_end) continue;
    if (Row(inst.opcode).Has(kOpensBlock) && !RunsItsBlock(program.pool(), kernel, inst)) {
      block_end = inst.end;
    }
    if (inst.opcode != Opcode::kView) continue;
    const ExprId source = kernel.Slots(inst)[0];
    if (!source.is_value() || program.type(source.value()).kind != ValueKind::kPointer) continue;
    const ConcreteType& type = program.type(kernel.Results(inst)[0].value());
    const std::optional<Shape> shape = ShapeOf(program, type, env);
    if (!shape) continue;
    auto layout = Apply(type.mem_layout, *shape, type.dtype);
    if (layout.ok()) views.push_back({source.value(), type.dtype, *std::move(layout)});
  }
  return views;
}

std::optional<uint32_t> FindParameter(const Program& program, std::string_view name) {
  for (uint32_t i = 0; i < program.kernel().params.size(); ++i) {
    if (program.kernel().ValueName(i) == name) return i;
  }
  return std::nullopt;
}

}  // namespace tarsia::harness
