#include "isa/bytecode/header_reader.h"

#include <algorithm>

namespace tarsia::bytecode {

bool HeaderReader::Constants(std::vector<Constant>& constants, NameUse use) {
  uint32_t count = 0;
  if (!in_.Count(count, 4, "constants")) return false;
  constants.resize(count);
  for (Constant& constant : constants) {
    if (!ReadConstant(constant, use)) return false;
  }
  return NamesDiffer(constants);
}

bool HeaderReader::ReadConstant(Constant& constant, NameUse use) {
  uint8_t kind = 0;
  constant.location = Here();
  if (!exprs_.Name(constant.name, use) || !in_.U8(kind)) return false;
  if (kind >= std::size(kConstKindNames)) {
    return in_.Fail(diag::kBytecodeCode, +kind, "kind of constant");
  }
  constant.kind = static_cast<ConstKind>(kind);
  if (!exprs_.Expr(constant.default_value, kOptionalExpr) ||
      !exprs_.Expr(constant.candidates, kOptionalExpr)) {
    return false;
  }
  const ExprKind candidates = module_.pool.kind(constant.candidates);
  return candidates == ExprKind::kNone || candidates == ExprKind::kList ||
         in_.Fail(diag::kBytecodeForm, "the candidates of a constant are not a list");
}

bool HeaderReader::NamesDiffer(const std::vector<Constant>& constants) {
  std::vector<StringId> names;
  names.reserve(constants.size());
  for (const Constant& constant : constants) names.push_back(constant.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ||
         in_.Fail(diag::kBytecodeRepeated, "constant", ExprReader::Shown(exprs_.text(*twice)));
}

bool HeaderReader::Requires(std::vector<Require>& requirements) {
  uint32_t count = 0;
  if (!in_.Count(count, 2, "requirements")) return false;
  requirements.resize(count);
  for (Require& require : requirements) {
    require.location = Here();
    if (!exprs_.Expr(require.condition) || !exprs_.String(require.message)) return false;
  }
  return true;
}

}  // namespace tarsia::bytecode
