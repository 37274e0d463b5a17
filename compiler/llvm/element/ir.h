// Short names for building the IR of single elements.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_IR_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_IR_H_

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <bit>
#include <cstdint>

namespace tarsia::compiler {

using llvm::Value;

// A builder with the operations spelled for arithmetic on values and constants. Constants take the
// type of the value they stand beside. While an Ir is alive, the builder's fast-math flags are off,
// unless it is made with keep_flags.
class Ir {
 public:
  explicit Ir(llvm::IRBuilderBase& builder, bool keep_flags = false) : b(builder), guard_(builder) {
    if (!keep_flags) builder.clearFastMathFlags();
  }

  llvm::IRBuilderBase& b;

  [[nodiscard]] llvm::LLVMContext& context() const { return b.getContext(); }
  [[nodiscard]] llvm::IntegerType* IntType(unsigned bits) const { return b.getIntNTy(bits); }
  static unsigned Width(const Value* v) { return v->getType()->getScalarSizeInBits(); }

  // --- constants ---
  static llvm::Constant* Const(const Value* like, uint64_t bits) {
    return llvm::ConstantInt::get(like->getType(), bits);
  }
  static llvm::Constant* Float(llvm::Type* type, double value) {
    return llvm::ConstantFP::get(type, value);
  }
  static llvm::Constant* Float(const Value* like, double value) {
    return Float(like->getType(), value);
  }

  // --- integers ---
  Value* Add(Value* x, Value* y) { return b.CreateAdd(x, y); }
  Value* Add(Value* x, uint64_t y) { return y == 0 ? x : b.CreateAdd(x, Const(x, y)); }
  Value* Sub(Value* x, Value* y) { return b.CreateSub(x, y); }
  Value* Sub(Value* x, uint64_t y) { return y == 0 ? x : b.CreateSub(x, Const(x, y)); }
  Value* Mul(Value* x, Value* y) { return b.CreateMul(x, y); }
  Value* And(Value* x, Value* y) { return b.CreateAnd(x, y); }
  Value* And(Value* x, uint64_t y) { return b.CreateAnd(x, Const(x, y)); }
  Value* Or(Value* x, Value* y) { return b.CreateOr(x, y); }
  Value* Or(Value* x, uint64_t y) { return y == 0 ? x : b.CreateOr(x, Const(x, y)); }
  Value* Xor(Value* x, Value* y) { return b.CreateXor(x, y); }
  Value* Xor(Value* x, uint64_t y) { return y == 0 ? x : b.CreateXor(x, Const(x, y)); }
  // Shifts by less than the width.
  Value* Shl(Value* x, unsigned n) { return n == 0 ? x : b.CreateShl(x, Const(x, n)); }
  Value* Shr(Value* x, unsigned n) { return n == 0 ? x : b.CreateLShr(x, Const(x, n)); }
  Value* Sar(Value* x, unsigned n) { return n == 0 ? x : b.CreateAShr(x, Const(x, n)); }
  // Left by n, right by -n.
  Value* ShiftLeft(Value* x, int n) {
    return n >= 0 ? Shl(x, static_cast<unsigned>(n)) : Shr(x, static_cast<unsigned>(-n));
  }
  Value* Zext(Value* x, unsigned bits) { return b.CreateZExtOrTrunc(x, IntType(bits)); }
  Value* Sext(Value* x, unsigned bits) { return b.CreateSExtOrTrunc(x, IntType(bits)); }

  Value* Call(llvm::Intrinsic::ID id, Value* x, Value* y) {
    return b.CreateBinaryIntrinsic(id, x, y);
  }
  Value* Call(llvm::Intrinsic::ID id, Value* x) { return b.CreateUnaryIntrinsic(id, x); }
  Value* Umin(Value* x, uint64_t y) { return Call(llvm::Intrinsic::umin, x, Const(x, y)); }
  Value* Umax(Value* x, uint64_t y) { return Call(llvm::Intrinsic::umax, x, Const(x, y)); }
  Value* Smin(Value* x, int64_t y) {
    return Call(llvm::Intrinsic::smin, x, Const(x, static_cast<uint64_t>(y)));
  }
  Value* Smax(Value* x, int64_t y) {
    return Call(llvm::Intrinsic::smax, x, Const(x, static_cast<uint64_t>(y)));
  }
  // x - y, or 0 where that is negative.
  Value* SubSat(Value* x, uint64_t y) { return Call(llvm::Intrinsic::usub_sat, x, Const(x, y)); }
  Value* SubSat(uint64_t x, Value* y) { return Call(llvm::Intrinsic::usub_sat, Const(y, x), y); }

  Value* Eq(Value* x, uint64_t y) { return b.CreateICmpEQ(x, Const(x, y)); }
  Value* Ne(Value* x, uint64_t y) { return b.CreateICmpNE(x, Const(x, y)); }
  Value* Ult(Value* x, uint64_t y) { return b.CreateICmpULT(x, Const(x, y)); }
  Value* Ugt(Value* x, uint64_t y) { return b.CreateICmpUGT(x, Const(x, y)); }
  Value* Negative(Value* x) { return b.CreateICmpSLT(x, Const(x, 0)); }
  Value* Select(Value* condition, Value* x, Value* y) { return b.CreateSelect(condition, x, y); }
  Value* Select(Value* condition, Value* x, uint64_t y) {
    return Select(condition, x, Const(x, y));
  }
  Value* Select(Value* condition, uint64_t x, Value* y) {
    return Select(condition, Const(y, x), y);
  }

  // --- floats ---
  // The bits of a float as an integer, and back.
  Value* Bits(Value* x) { return b.CreateBitCast(x, IntType(Width(x))); }
  Value* AsHalf(Value* x) { return b.CreateBitCast(x, b.getHalfTy()); }
  Value* AsBfloat(Value* x) { return b.CreateBitCast(x, b.getBFloatTy()); }
  // An i32 as float, an i64 as double.
  Value* AsFloat(Value* x) {
    return b.CreateBitCast(x, Width(x) == 64 ? b.getDoubleTy() : b.getFloatTy());
  }
  Value* FAdd(Value* x, Value* y) { return b.CreateFAdd(x, y); }
  Value* FAdd(Value* x, double y) { return b.CreateFAdd(x, Float(x, y)); }
  Value* FSub(Value* x, Value* y) { return b.CreateFSub(x, y); }
  Value* FMul(Value* x, Value* y) { return b.CreateFMul(x, y); }
  Value* FMul(Value* x, double y) { return b.CreateFMul(x, Float(x, y)); }
  Value* FDiv(Value* x, Value* y) { return b.CreateFDiv(x, y); }
  Value* FNeg(Value* x) { return b.CreateFNeg(x); }
  Value* FAbs(Value* x) { return Call(llvm::Intrinsic::fabs, x); }
  Value* Fma(Value* x, Value* y, Value* z) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  }
  Value* Fma(Value* x, Value* y, double z) { return Fma(x, y, Float(x, z)); }
  Value* Fma(Value* x, double y, Value* z) { return Fma(x, Float(x, y), z); }
  Value* IsNan(Value* x) { return b.CreateFCmpUNO(x, x); }
  Value* Copysign(Value* magnitude, Value* sign) {
    return Call(llvm::Intrinsic::copysign, magnitude, sign);
  }

 private:
  llvm::IRBuilderBase::FastMathFlagGuard guard_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_IR_H_
