#include "compiler/llvm/code/index_arithmetic.h"

#include <algorithm>
#include <cstdint>

#include "layout/text/arithmetic.h"

namespace tarsia::compiler {
namespace {

constexpr int64_t kSaturation = int64_t{1} << 60;

// A divisor for which LLVM's division is defined whatever is divided.
bool NeverZeroNorMinusOne(const Facts& x) { return x.lo > 0 || x.hi < -1; }

bool FitsUnsigned(const Facts& x) { return x.lo >= 0 && x.hi <= UINT32_MAX; }
bool FitsSigned(const Facts& x) { return x.lo >= INT32_MIN && x.hi <= INT32_MAX; }

}  // namespace

// In 32 bits where both fit: a GPU divides 64 bits in a function of about 70 instructions.
llvm::Value* IndexArithmetic::DivideDefined(const IndexValue& x, const IndexValue& y, bool rest) {
  using Op = llvm::Instruction::BinaryOps;
  const bool is_unsigned = FitsUnsigned(x.facts) && FitsUnsigned(y.facts);
  const bool is_narrow = is_unsigned || (FitsSigned(x.facts) && FitsSigned(y.facts));
  llvm::Type* const type = is_narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  const Op op = is_unsigned ? (rest ? Op::URem : Op::UDiv) : (rest ? Op::SRem : Op::SDiv);
  llvm::Value* const out =
      b_.CreateBinOp(op, b_.CreateTrunc(x.value, type), b_.CreateTrunc(y.value, type));
  return b_.CreateIntCast(out, b_.getInt64Ty(), /*isSigned=*/!is_unsigned);
}

IndexValue IndexArithmetic::Constant(int64_t x) {
  return {b_.getInt64(static_cast<uint64_t>(x)), Facts::Exactly(x)};
}

llvm::Value* IndexArithmetic::Extend(llvm::Value* x, DType type) {
  return type.IsSigned() ? b_.CreateSExt(x, b_.getInt64Ty()) : b_.CreateZExt(x, b_.getInt64Ty());
}

IndexValue IndexArithmetic::Add(const IndexValue& x, const IndexValue& y) {
  if (x.facts == Facts::Exactly(0)) return y;
  if (y.facts == Facts::Exactly(0)) return x;
  return {b_.CreateAdd(x.value, y.value), x.facts + y.facts};
}

IndexValue IndexArithmetic::Subtract(const IndexValue& x, const IndexValue& y) {
  return {b_.CreateSub(x.value, y.value), x.facts - y.facts};
}

IndexValue IndexArithmetic::Multiply(const IndexValue& x, const IndexValue& y) {
  if (x.facts == Facts::Exactly(1)) return y;
  if (y.facts == Facts::Exactly(1)) return x;
  return {b_.CreateMul(x.value, y.value), x.facts * y.facts};
}

IndexArithmetic::Divisor IndexArithmetic::SafeDivisor(const IndexValue& y) {
  Divisor out;
  out.is_zero = b_.CreateICmpEQ(y.value, b_.getInt64(0));
  out.is_minus_one = b_.CreateICmpEQ(y.value, Constant(-1).value);
  llvm::Value* const other = b_.CreateOr(out.is_zero, out.is_minus_one);
  const int64_t least = y.facts.lo < -1 ? y.facts.lo : 1;
  out.safe = {b_.CreateSelect(other, b_.getInt64(1), y.value),
              Facts::Between(least, std::max<int64_t>(y.facts.hi, 1))};
  return out;
}

IndexValue IndexArithmetic::Divide(const IndexValue& x, const IndexValue& y) {
  if (x.facts.IsExact() && y.facts.IsExact()) return Constant(WrapDivide(x.facts.lo, y.facts.lo));
  const Facts facts = Quotient(x.facts, y.facts);
  if (NeverZeroNorMinusOne(y.facts)) return {DivideDefined(x, y, /*rest=*/false), facts};
  const Divisor by = SafeDivisor(y);
  llvm::Value* out = DivideDefined(x, by.safe, /*rest=*/false);
  out = b_.CreateSelect(by.is_minus_one, b_.CreateNeg(x.value), out);
  return {b_.CreateSelect(by.is_zero, Constant(-1).value, out), facts};
}

IndexValue IndexArithmetic::Modulo(const IndexValue& x, const IndexValue& y) {
  if (x.facts.IsExact() && y.facts.IsExact()) return Constant(WrapModulo(x.facts.lo, y.facts.lo));
  const Facts facts = Remainder(x.facts, y.facts);
  if (NeverZeroNorMinusOne(y.facts)) return {DivideDefined(x, y, /*rest=*/true), facts};
  const Divisor by = SafeDivisor(y);
  llvm::Value* out = DivideDefined(x, by.safe, /*rest=*/true);  // x % -1 = x % 1 = 0
  return {b_.CreateSelect(by.is_zero, x.value, out), facts};
}

IndexValue IndexArithmetic::CeilDivide(const IndexValue& x, const IndexValue& y) {
  const IndexValue quotient = Divide(x, y);
  const IndexValue rest = Modulo(x, y);
  llvm::Value* inexact = b_.CreateICmpNE(rest.value, b_.getInt64(0));
  llvm::Value* same_sign = b_.CreateICmpSGE(b_.CreateXor(x.value, y.value), b_.getInt64(0));
  llvm::Value* divides = b_.CreateICmpNE(y.value, b_.getInt64(0));
  llvm::Value* up = b_.CreateAnd(b_.CreateAnd(inexact, same_sign), divides);
  IndexValue out = Add(quotient, {b_.CreateZExt(up, b_.getInt64Ty()), Facts::Between(0, 1)});
  if (const auto* folded = llvm::dyn_cast<llvm::ConstantInt>(out.value)) {
    out.facts = Facts::Exactly(folded->getSExtValue());
  }
  return out;
}

// In 32 bits where both fit: values that are compared in 64 stay in two registers.
IndexValue IndexArithmetic::Choose(llvm::CmpInst::Predicate wins, const IndexValue& x,
                                   const IndexValue& y, const Facts& facts) {
  const bool is_narrow = FitsSigned(x.facts) && FitsSigned(y.facts);
  llvm::Type* const type = is_narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  llvm::Value* const a = b_.CreateTrunc(x.value, type);
  llvm::Value* const b = b_.CreateTrunc(y.value, type);
  llvm::Value* const out = b_.CreateSelect(b_.CreateICmp(wins, a, b), a, b);
  return {b_.CreateSExt(out, b_.getInt64Ty()), facts};
}

IndexValue IndexArithmetic::Min(const IndexValue& x, const IndexValue& y) {
  if (x.facts.hi <= y.facts.lo) return x;
  if (y.facts.hi <= x.facts.lo) return y;
  return Choose(llvm::CmpInst::ICMP_SLT, x, y, Smaller(x.facts, y.facts));
}

IndexValue IndexArithmetic::Max(const IndexValue& x, const IndexValue& y) {
  if (x.facts.lo >= y.facts.hi) return x;
  if (y.facts.lo >= x.facts.hi) return y;
  return Choose(llvm::CmpInst::ICMP_SGT, x, y, Larger(x.facts, y.facts));
}

IndexValue IndexArithmetic::Saturate(const IndexValue& x) {
  return Min(Max(x, Constant(-kSaturation)), Constant(kSaturation));
}

}  // namespace tarsia::compiler
