#include "compiler/llvm/lower/combine.h"

#include <cmath>

#include "dtypes/convert.h"

namespace tarsia::compiler {

Opcode JoinOf(Opcode combines) {
  if (combines == Opcode::kReduceSum || combines == Opcode::kScanSum) return Opcode::kAdd;
  if (combines == Opcode::kReduceProd || combines == Opcode::kScanProd) return Opcode::kMul;
  if (combines == Opcode::kReduceMin || combines == Opcode::kScanMin) return Opcode::kMin;
  if (combines == Opcode::kReduceMax || combines == Opcode::kScanMax) return Opcode::kMax;
  return combines == Opcode::kReduceAny ? Opcode::kOr : Opcode::kAnd;
}

DType JoinedIn(Opcode combines, DType type) {
  const Opcode join = JoinOf(combines);
  const bool adds = join == Opcode::kAdd || join == Opcode::kMul;
  return adds && (type == kF16 || type == kBF16) ? kF32 : type;
}

uint64_t ExtremeCode(DType type, bool greatest) {
  if (type.IsFloat()) {
    return EncodeFromDouble(type, greatest ? HUGE_VAL : -HUGE_VAL);
  }
  const uint64_t all = CodeMask(type);
  if (type.IsUnsigned()) return greatest ? all : 0;
  return greatest ? all >> 1 : (all >> 1) + 1;
}

uint64_t EmptyCode(Opcode combines, DType type) {
  const Opcode join = JoinOf(combines);
  if (join == Opcode::kMul) return EncodeFromDouble(type, 1.0);
  if (join == Opcode::kMin) return ExtremeCode(type, true);
  if (join == Opcode::kMax) return ExtremeCode(type, false);
  return join == Opcode::kAnd ? 1 : 0;
}

llvm::Value* KeyOf(llvm::IRBuilder<>& b, llvm::Value* code, DType type) {
  if (!type.IsFloat()) return code;
  const unsigned bits = code->getType()->getIntegerBitWidth();
  llvm::Value* sign = b.CreateAShr(code, static_cast<uint64_t>(bits - 1));
  return b.CreateXor(code, b.CreateAnd(sign, CodeMask(type) >> 1));
}

}  // namespace tarsia::compiler
