// The functions of isa.def with an error of some units in the last place, by range reduction and
// polynomials: on f64, and those on f32 for which special_function.h has none (f16 and bf16 compute
// in f32).
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_APPROXIMATE_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_APPROXIMATE_H_

#include "isa/instruction.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace tarsia::compiler {

// log, log2, sin, cos or erf of an f32 or f64, or rsqrt, exp, exp2 or tanh of an f64. The error is
// within the ulp column of isa.def for every argument, subnormal results among them. Logarithms and
// erf of an f32 divide by the GPU's reciprocal.
llvm::Value* EmitApproximation(llvm::IRBuilderBase& builder, Opcode op, llvm::Value* x);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_APPROXIMATE_H_
