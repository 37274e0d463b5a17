// The exact remainder of floats.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_REMAINDER_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_REMAINDER_H_

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace tarsia::compiler {

// a - b * trunc(a / b), exact (C's fmod), of two f32 or two f64: a call of a function that is added
// to the module once. NaN for infinite a, zero b, or a NaN.
llvm::Value* EmitRemainder(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_REMAINDER_H_
