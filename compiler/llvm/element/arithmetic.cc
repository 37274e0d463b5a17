#include "compiler/llvm/element/arithmetic.h"

#include "compiler/llvm/element/approximate.h"
#include "compiler/llvm/element/element.h"
#include "compiler/llvm/element/ir.h"
#include "compiler/llvm/element/remainder.h"
#include "compiler/llvm/element/special_function.h"

namespace tarsia::compiler {
namespace {

// f16 and bf16 compute some operations in f32 and round again: for +, -, *, / and square root of
// p-bit operands a first rounding to 2p + 2 bits or more changes nothing (Figueroa 1995; 24 bits
// against 11 and 8), nor does it where the result is subnormal.
Value* Widen(Ir& ir, DType type, Value* x) {
  return IsHalf(type) ? ir.b.CreateFPExt(x, ir.b.getFloatTy()) : x;
}
Value* Narrow(Ir& ir, DType type, Value* x) {
  if (!IsHalf(type)) return x;
  return ir.b.CreateFPTrunc(x, type == kF16 ? ir.b.getHalfTy() : ir.b.getBFloatTy());
}

// --- integers ---

Value* Divide(Ir& ir, DType type, Value* a, Value* b) {
  Value* zero = ir.Eq(b, 0);
  Value* all_ones = Ir::Const(b, CodeMask(type));
  if (type.IsUnsigned()) {
    return ir.Select(zero, all_ones, ir.b.CreateUDiv(a, ir.Select(zero, 1, b)));
  }
  Value* minus_one = ir.Eq(b, CodeMask(type));
  Value* divisor = ir.Select(ir.b.CreateOr(zero, minus_one), 1, b);
  Value* quotient = ir.Select(minus_one, ir.b.CreateNeg(a), ir.b.CreateSDiv(a, divisor));
  return ir.Select(zero, all_ones, quotient);
}

Value* RemainderOfIntegers(Ir& ir, DType type, Value* a, Value* b) {
  Value* zero = ir.Eq(b, 0);
  if (type.IsUnsigned()) {
    return ir.Select(zero, a, ir.b.CreateURem(a, ir.Select(zero, 1, b)));
  }
  Value* trivial = ir.b.CreateOr(zero, ir.Eq(b, CodeMask(type)));
  Value* remainder = ir.b.CreateSRem(a, ir.Select(trivial, 1, b));  // 0 for a divisor of -1
  return ir.Select(zero, a, remainder);
}

Value* ShiftLeft(Ir& ir, DType type, Value* a, Value* count) {
  return ir.Select(ir.Ult(count, type.bits), ir.b.CreateShl(a, count), uint64_t{0});
}

Value* ShiftRight(Ir& ir, DType type, Value* a, Value* count) {
  if (type.IsSigned()) return ir.b.CreateAShr(a, ir.Umin(count, type.bits - 1u));
  return ir.Select(ir.Ult(count, type.bits), ir.b.CreateLShr(a, count), uint64_t{0});
}

Value* Extreme(Ir& ir, DType type, bool largest, Value* a, Value* b) {
  const llvm::Intrinsic::ID id = type.IsSigned()
                                     ? (largest ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                                     : (largest ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
  return ir.Call(id, a, b);
}

// --- floats ---

// PTX orders -0 below +0 in min and max and gives a NaN only for two of them. It has no such
// promise of order for f64, where the bits decide between equals.
Value* ExtremeOfFloats(Ir& ir, DType type, bool largest, Value* a, Value* b) {
  if (type != kF64)
    return ir.Call(largest ? llvm::Intrinsic::maxnum : llvm::Intrinsic::minnum, a, b);
  Value* less = largest ? ir.b.CreateFCmpOGT(a, b) : ir.b.CreateFCmpOLT(a, b);
  Value* chosen = ir.Select(ir.b.CreateOr(less, ir.IsNan(b)), a, b);
  Value* bits = largest ? ir.And(ir.Bits(a), ir.Bits(b)) : ir.Or(ir.Bits(a), ir.Bits(b));
  return ir.Select(ir.b.CreateFCmpOEQ(a, b), ir.AsFloat(bits), chosen);
}

Value* RoundToIntegral(Ir& ir, DType type, llvm::Intrinsic::ID id, Value* a) {
  if (type != kBF16) return ir.Call(id, a);
  return Narrow(ir, type, ir.Call(id, Widen(ir, type, a)));
}

Value* SquareRoot(Ir& ir, DType type, Value* a) {
  if (type == kF64) return ir.Call(llvm::Intrinsic::sqrt, a);
  return Narrow(ir, type, EmitSquareRoot(ir.b, type, Widen(ir, type, a)));
}

Value* Reciprocal(Ir& ir, DType type, Value* a) {
  if (type == kF64) return ir.FDiv(Ir::Float(a, 1), a);
  return Narrow(ir, type, EmitReciprocal(ir.b, type, Widen(ir, type, a)));
}

Value* DivideFloats(Ir& ir, DType type, Value* a, Value* b) {
  if (type == kF64) return ir.FDiv(a, b);
  Value* const x = Widen(ir, type, a);
  Value* const y = Widen(ir, type, b);
  return Narrow(ir, type,
                type == kF16 ? EmitQuotientOfHalves(ir.b, x, y) : EmitQuotient(ir.b, type, x, y));
}

struct Predicates {
  llvm::CmpInst::Predicate is_float;
  llvm::CmpInst::Predicate is_signed;
  llvm::CmpInst::Predicate is_unsigned;
};

Value* Compare(Ir& ir, const Predicates& predicates, DType type, Value* a, Value* b) {
  if (type.IsFloat()) {
    return ir.b.CreateFCmp(predicates.is_float, Widen(ir, type, a), Widen(ir, type, b));
  }
  return ir.b.CreateICmp(type.IsSigned() ? predicates.is_signed : predicates.is_unsigned, a, b);
}

// --- complex ---

struct Parts {
  Value* real;
  Value* imaginary;
};

llvm::Type* PartType(Ir& ir, DType type) {
  return type == kC32 ? ir.b.getHalfTy() : ir.b.getFloatTy();
}

Parts Split(Ir& ir, DType type, Value* x) {
  const unsigned half = type.bits / 2u;
  return {ir.b.CreateBitCast(ir.Zext(x, half), PartType(ir, type)),
          ir.b.CreateBitCast(ir.Zext(ir.Shr(x, half), half), PartType(ir, type))};
}

Value* Join(Ir& ir, DType type, const Parts& x) {
  Value* low = ir.Zext(ir.Bits(x.real), type.bits);
  return ir.Or(low, ir.Shl(ir.Zext(ir.Bits(x.imaginary), type.bits), type.bits / 2u));
}

// re = fma(-a.im, b.im, fma(a.re, b.re, c.re)), im = fma(a.im, b.re, fma(a.re, b.im, c.im)).
Value* FmaOfComplex(Ir& ir, DType type, Value* a_pair, Value* b_pair, Value* c_pair) {
  const Parts a = Split(ir, type, a_pair);
  const Parts b = Split(ir, type, b_pair);
  const Parts c = Split(ir, type, c_pair);
  Value* real = ir.Fma(a.real, b.real, c.real);
  Value* imaginary = ir.Fma(a.real, b.imaginary, c.imaginary);
  return Join(
      ir, type,
      {ir.Fma(ir.FNeg(a.imaginary), b.imaginary, real), ir.Fma(a.imaginary, b.real, imaginary)});
}

// --- the rows of isa.def ---

using UnaryEmitter = Value* (*)(Ir& ir, DType type, Value* a);
using BinaryEmitter = Value* (*)(Ir& ir, DType type, Value* a, Value* b);

template <Opcode op>
Value* Approximate(Ir& ir, DType type, Value* a) {
  Value* const x = Widen(ir, type, a);
  Value* result = type == kF64 ? nullptr : EmitSpecialFunction(ir.b, op, type, x);
  if (result == nullptr) result = EmitApproximation(ir.b, op, x);
  return Narrow(ir, type, result);
}

template <llvm::Intrinsic::ID id>
Value* Integral(Ir& ir, DType type, Value* a) {
  return RoundToIntegral(ir, type, id, a);
}

struct UnaryRow {
  Opcode op;
  UnaryEmitter integer;  // null where the row takes none
  UnaryEmitter real;
};
constexpr UnaryRow kUnary[] = {
    {Opcode::kNeg, [](Ir& ir, DType, Value* a) { return ir.b.CreateNeg(a); },
     [](Ir& ir, DType, Value* a) { return ir.FNeg(a); }},
    {Opcode::kAbs,
     [](Ir& ir, DType type, Value* a) {
       return type.IsUnsigned() ? a : ir.Call(llvm::Intrinsic::abs, a, ir.b.getFalse());
     },
     [](Ir& ir, DType, Value* a) { return ir.FAbs(a); }},
    {Opcode::kNot, [](Ir& ir, DType, Value* a) { return ir.b.CreateNot(a); }, nullptr},
    {Opcode::kPopc, [](Ir& ir, DType, Value* a) { return ir.Call(llvm::Intrinsic::ctpop, a); },
     nullptr},
    {Opcode::kClz,
     [](Ir& ir, DType, Value* a) { return ir.Call(llvm::Intrinsic::ctlz, a, ir.b.getFalse()); },
     nullptr},
    {Opcode::kSqrt, nullptr, SquareRoot},
    {Opcode::kRcp, nullptr, Reciprocal},
    {Opcode::kFloor, nullptr, Integral<llvm::Intrinsic::floor>},
    {Opcode::kCeil, nullptr, Integral<llvm::Intrinsic::ceil>},
    {Opcode::kRound, nullptr, Integral<llvm::Intrinsic::roundeven>},
    {Opcode::kTrunc, nullptr, Integral<llvm::Intrinsic::trunc>},
    {Opcode::kRsqrt, nullptr, Approximate<Opcode::kRsqrt>},
    {Opcode::kExp, nullptr, Approximate<Opcode::kExp>},
    {Opcode::kExp2, nullptr, Approximate<Opcode::kExp2>},
    {Opcode::kLog, nullptr, Approximate<Opcode::kLog>},
    {Opcode::kLog2, nullptr, Approximate<Opcode::kLog2>},
    {Opcode::kSin, nullptr, Approximate<Opcode::kSin>},
    {Opcode::kCos, nullptr, Approximate<Opcode::kCos>},
    {Opcode::kTanh, nullptr, Approximate<Opcode::kTanh>},
    {Opcode::kErf, nullptr, Approximate<Opcode::kErf>},
};

template <bool largest>
Value* IntegerExtreme(Ir& ir, DType type, Value* a, Value* b) {
  return Extreme(ir, type, largest, a, b);
}
template <bool largest>
Value* FloatExtreme(Ir& ir, DType type, Value* a, Value* b) {
  return ExtremeOfFloats(ir, type, largest, a, b);
}

template <llvm::Instruction::BinaryOps op>
Value* Plain(Ir& ir, DType, Value* a, Value* b) {
  return ir.b.CreateBinOp(op, a, b);
}

template <llvm::CmpInst::Predicate is_float, llvm::CmpInst::Predicate is_signed,
          llvm::CmpInst::Predicate is_unsigned>
Value* Comparison(Ir& ir, DType type, Value* a, Value* b) {
  return Compare(ir, {is_float, is_signed, is_unsigned}, type, a, b);
}

Value* RemainderOfFloats(Ir& ir, DType type, Value* a, Value* b) {
  return Narrow(ir, type, EmitRemainder(ir.b, Widen(ir, type, a), Widen(ir, type, b)));
}

struct BinaryRow {
  Opcode op;
  BinaryEmitter integer;  // and bool, where the row takes it
  BinaryEmitter real;     // null where the row takes none
};
using LlvmInst = llvm::Instruction;
using Cmp = llvm::CmpInst;
constexpr BinaryEmitter kEq = Comparison<Cmp::FCMP_OEQ, Cmp::ICMP_EQ, Cmp::ICMP_EQ>;
constexpr BinaryEmitter kNe = Comparison<Cmp::FCMP_UNE, Cmp::ICMP_NE, Cmp::ICMP_NE>;
constexpr BinaryEmitter kLt = Comparison<Cmp::FCMP_OLT, Cmp::ICMP_SLT, Cmp::ICMP_ULT>;
constexpr BinaryEmitter kLe = Comparison<Cmp::FCMP_OLE, Cmp::ICMP_SLE, Cmp::ICMP_ULE>;
constexpr BinaryEmitter kGt = Comparison<Cmp::FCMP_OGT, Cmp::ICMP_SGT, Cmp::ICMP_UGT>;
constexpr BinaryEmitter kGe = Comparison<Cmp::FCMP_OGE, Cmp::ICMP_SGE, Cmp::ICMP_UGE>;
constexpr BinaryRow kBinary[] = {
    {Opcode::kAdd, Plain<LlvmInst::Add>, Plain<LlvmInst::FAdd>},
    {Opcode::kSub, Plain<LlvmInst::Sub>, Plain<LlvmInst::FSub>},
    {Opcode::kMul, Plain<LlvmInst::Mul>, Plain<LlvmInst::FMul>},
    {Opcode::kDiv, Divide, DivideFloats},
    {Opcode::kRem, RemainderOfIntegers, RemainderOfFloats},
    {Opcode::kMin, IntegerExtreme<false>, FloatExtreme<false>},
    {Opcode::kMax, IntegerExtreme<true>, FloatExtreme<true>},
    {Opcode::kAnd, Plain<LlvmInst::And>, nullptr},
    {Opcode::kOr, Plain<LlvmInst::Or>, nullptr},
    {Opcode::kXor, Plain<LlvmInst::Xor>, nullptr},
    {Opcode::kShl, ShiftLeft, nullptr},
    {Opcode::kShr, ShiftRight, nullptr},
    {Opcode::kEq, kEq, kEq},
    {Opcode::kNe, kNe, kNe},
    {Opcode::kLt, kLt, kLt},
    {Opcode::kLe, kLe, kLe},
    {Opcode::kGt, kGt, kGt},
    {Opcode::kGe, kGe, kGe},
};

// The emitter of an operation for a type; null where the row of isa.def does not allow it.
template <typename Table>
auto Find(const Table& table, Opcode op, DType type) -> decltype(table[0].real) {
  for (const auto& row : table) {
    if (row.op == op) return type.IsFloat() ? row.real : row.integer;
  }
  return nullptr;
}

}  // namespace

llvm::Value* EmitUnary(llvm::IRBuilderBase& builder, Opcode op, DType type, llvm::Value* a) {
  Ir ir(builder, /*keep_flags=*/true);
  const UnaryEmitter emit = Find(kUnary, op, type);
  return emit != nullptr ? emit(ir, type, a) : nullptr;
}

llvm::Value* EmitBinary(llvm::IRBuilderBase& builder, Opcode op, DType type, llvm::Value* a,
                        llvm::Value* b) {
  Ir ir(builder, /*keep_flags=*/true);
  const BinaryEmitter emit = Find(kBinary, op, type);
  return emit != nullptr ? emit(ir, type, a, b) : nullptr;
}

llvm::Value* EmitFast(llvm::IRBuilderBase& builder, Opcode op, DType type,
                      llvm::ArrayRef<llvm::Value*> x) {
  Ir ir(builder);
  llvm::SmallVector<Value*, kMaxOperands> wide;
  for (Value* const operand : x) wide.push_back(Widen(ir, type, operand));
  return Narrow(ir, type, EmitFastForm(builder, op, wide));
}

llvm::Value* EmitFma(llvm::IRBuilderBase& builder, DType type, llvm::Value* a, llvm::Value* b,
                     llvm::Value* c) {
  Ir ir(builder);
  return type.IsComplex() ? FmaOfComplex(ir, type, a, b, c) : ir.Fma(a, b, c);
}

}  // namespace tarsia::compiler
