// Arithmetic on indices: integers of 64 bits that are the same in all threads, with what is known
// of them (compiler/facts/facts.h).
#ifndef TARSIA_COMPILER_LLVM_CODE_INDEX_ARITHMETIC_H_
#define TARSIA_COMPILER_LLVM_CODE_INDEX_ARITHMETIC_H_

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "compiler/facts/facts.h"

namespace tarsia::compiler {

struct IndexValue {
  llvm::Value* value = nullptr;  // i64
  Facts facts;
};

class IndexArithmetic {
 public:
  explicit IndexArithmetic(llvm::IRBuilder<>& builder) : b_(builder) {}

  IndexValue Constant(int64_t x);
  // An integer of a type, extended to 64 bits.
  llvm::Value* Extend(llvm::Value* x, DType type);

  // Results wrap.
  IndexValue Add(const IndexValue& x, const IndexValue& y);
  IndexValue Subtract(const IndexValue& x, const IndexValue& y);
  IndexValue Multiply(const IndexValue& x, const IndexValue& y);
  // Rounded to zero; x / 0 = -1 and x % 0 = x.
  IndexValue Divide(const IndexValue& x, const IndexValue& y);
  IndexValue Modulo(const IndexValue& x, const IndexValue& y);
  // Rounded up; -1 for y = 0.
  IndexValue CeilDivide(const IndexValue& x, const IndexValue& y);
  IndexValue Min(const IndexValue& x, const IndexValue& y);
  IndexValue Max(const IndexValue& x, const IndexValue& y);
  // Within +-2^60, so that sums of a few cannot overflow; no index of a tile comes near.
  IndexValue Saturate(const IndexValue& x);

 private:
  // A divisor that may be 0 or -1, for which LLVM's division is not defined.
  struct Divisor {
    llvm::Value* is_zero = nullptr;
    llvm::Value* is_minus_one = nullptr;
    IndexValue safe;  // 1 instead of both
  };
  Divisor SafeDivisor(const IndexValue& y);
  // x if it wins the comparison with y, else y.
  IndexValue Choose(llvm::CmpInst::Predicate wins, const IndexValue& x, const IndexValue& y,
                    const Facts& facts);
  // The quotient or the rest, for a divisor for which it is defined.
  llvm::Value* DivideDefined(const IndexValue& x, const IndexValue& y, bool rest);

  llvm::IRBuilder<>& b_;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_INDEX_ARITHMETIC_H_
