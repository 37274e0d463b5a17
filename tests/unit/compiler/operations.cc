#include "tests/unit/compiler/operations.h"

#include <cmath>
#include <string>

namespace tarsia::compiler {

Operation CastOperation(DType from, DType to, CastOptions options) {
  const std::string name = "cast_" + std::string(DTypeName(from)) + "_" +
                           std::string(DTypeName(to)) + "_" +
                           std::to_string(static_cast<int>(options.rounding)) +
                           std::to_string(static_cast<int>(options.overflow));
  return {name, {from, kU32}, to, [=](ElementEmitter& emitter, const std::vector<llvm::Value*>& x) {
            return emitter.Cast(x[0], from, to, options, x[1]);
          }};
}

bool CastAllowed(DType from, DType to, CastOptions options) {
  if (from.IsComplex() && !to.IsComplex()) return false;
  return options.overflow != Overflow::kWrap || (from.IsInteger() && to.IsInteger());
}

bool SameValue(DType type, uint64_t a, uint64_t b) {
  if (a == b) return true;
  if (type.IsComplex()) {
    const DType part = ComponentOf(type);
    const uint64_t mask = CodeMask(part);
    return SameValue(part, a & mask, b & mask) && SameValue(part, a >> part.bits, b >> part.bits);
  }
  const auto is_nan = [&](uint64_t code) {
    return type.HasNan() && std::isnan(DecodeToDouble(type, code));
  };
  return is_nan(a) && is_nan(b);
}

std::vector<const InstRow*> ElementwiseRows(DType type) {
  std::vector<const InstRow*> rows;
  for (const InstRow& row : AllInstructions()) {
    const bool elementwise = row.family == Family::kElementwise && row.Has(kPure) &&
                             row.opcode != Opcode::kSelect && row.opcode != Opcode::kFma;
    if (elementwise && Contains(row.operands[0].types, type)) rows.push_back(&row);
  }
  return rows;
}

Operation ElementwiseOperation(const InstRow& row, DType type) {
  const DType result = row.Has(kCompares) ? kBoolType : type;
  const Opcode op = row.opcode;
  return {"op_" + std::string(row.mnemonic) + "_" + std::string(DTypeName(type)),
          std::vector<DType>(row.operands.size(), type), result,
          [=](ElementEmitter& emitter, const std::vector<llvm::Value*>& x) {
            return x.size() == 1 ? emitter.Unary(op, type, x[0])
                                 : emitter.Binary(op, type, x[0], x[1]);
          }};
}

long double Truth(Opcode op, long double x) {
  if (op == Opcode::kRsqrt) return 1 / std::sqrt(x);
  if (op == Opcode::kExp) return std::exp(x);
  if (op == Opcode::kExp2) return std::exp2(x);
  if (op == Opcode::kLog) return std::log(x);
  if (op == Opcode::kLog2) return std::log2(x);
  if (op == Opcode::kSin) return std::sin(x);
  if (op == Opcode::kCos) return std::cos(x);
  if (op == Opcode::kTanh) return std::tanh(x);
  return std::erf(x);
}

Operation FastOperation(const InstRow& row, DType type) {
  Operation out = ElementwiseOperation(row, type);
  out.name = "fast_" + out.name;
  out.emit = [op = row.opcode, type](ElementEmitter& emitter, const std::vector<llvm::Value*>& x) {
    std::vector<Elements> operands;
    for (llvm::Value* const value : x) operands.push_back({value});
    return emitter.OnAll(op, type, operands, true)[0];
  };
  return out;
}

}  // namespace tarsia::compiler
