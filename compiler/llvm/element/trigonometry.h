// Sine and cosine of any f32 or f64.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_TRIGONOMETRY_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_TRIGONOMETRY_H_

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace tarsia::compiler {

// Each is a call of a function that is added to the module once.
llvm::Value* EmitSine(llvm::IRBuilderBase& builder, llvm::Value* x);
llvm::Value* EmitCosine(llvm::IRBuilderBase& builder, llvm::Value* x);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_TRIGONOMETRY_H_
