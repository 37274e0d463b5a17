#include "compiler/workspace.h"

#include "compiler/diagnostics.h"
#include "compiler/operands.h"
#include "layout/eval.h"

namespace tarsia::compiler {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 40;

// Scalar parameters as numbers.
class Arguments final : public EvalEnv {
 public:
  Arguments(const Program& program, const std::vector<uint64_t>& scalars) {
    for (uint32_t i = 0; i < program.kernel().params.size() && i < scalars.size(); ++i) {
      const DType type = program.type(i).dtype;
      const bool is_integer = type.IsInteger() || type.IsBool();
      values_.emplace_back(is_integer ? EvalValue(Number(type, scalars[i]))
                                      : EvalValue(DecodeToDouble(type, scalars[i])));
    }
  }
  [[nodiscard]] const EvalValue* FindName(StringId) const override { return nullptr; }
  [[nodiscard]] const EvalValue* FindValue(uint32_t value) const override {
    return value < values_.size() ? &values_[value] : nullptr;
  }

 private:
  static int64_t Number(DType type, uint64_t code) {
    code &= CodeMask(type);
    const bool negative = type.IsSigned() && type.bits < 64 && (code >> (type.bits - 1)) != 0;
    return static_cast<int64_t>(negative ? code | ~CodeMask(type) : code);
  }
  std::vector<EvalValue> values_;
};

}  // namespace

Result<uint64_t> WorkspaceBytes(const Program& program, const Workspace& workspace,
                                const std::vector<uint64_t>& scalars) {
  const ConcreteType& type = program.type(workspace.value);
  const Arguments arguments(program, scalars);
  Extents shape = type.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] >= 0) continue;
    TARSIA_TRY(const EvalValue extent, Evaluate(program.pool(), type.shape_exprs[d], arguments));
    const auto* number = std::get_if<int64_t>(&extent);
    shape[d] = number != nullptr ? *number : -1;
    if (shape[d] < 0 || shape[d] > kMaxExtent) {
      return MakeDiagnostic(diag::kWorkspaceExtent, {}, d,
                            program.kernel().ValueName(workspace.value), shape[d]);
    }
  }
  TARSIA_TRY(const MemLayout layout, Apply(type.mem_layout, shape, type.dtype));
  const uint64_t bytes = layout.SizeBytes(type.dtype.bits);
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

}  // namespace tarsia::compiler
