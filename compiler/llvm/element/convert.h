// Conversions between any two element types, with one rounding; the rules are those of
// dtypes/convert.h.
#ifndef TARSIA_COMPILER_LLVM_ELEMENT_CONVERT_H_
#define TARSIA_COMPILER_LLVM_ELEMENT_CONVERT_H_

#include "compiler/llvm/element/element.h"

namespace tarsia::compiler {

struct CastRequest {
  llvm::Value* value = nullptr;
  DType from;
  DType to;
  CastOptions options;
  llvm::Value* random = nullptr;  // an i32; stochastic rounding only
};

// Whether the target converts pairs of codes of an 8-bit float: the formats of the OCP.
bool ConvertsPairs(Target target, DType type);
// The two codes in an i16 as two f16 in an i32. The target converts them.
llvm::Value* EmitDecodePair(llvm::IRBuilderBase& builder, DType type, llvm::Value* codes);
// The four codes of f8e4m3fn in an i32, none of them NaN, as two i32 of two f16.
std::vector<llvm::Value*> EmitDecodeFour(llvm::IRBuilderBase& builder, llvm::Value* codes);

// The real (0) or the imaginary part (1) of an element of a complex type, and an element made of
// both.
llvm::Value* EmitComponent(llvm::IRBuilderBase& builder, llvm::Value* complex, DType type,
                           int index);
llvm::Value* EmitComplex(llvm::IRBuilderBase& builder, llvm::Value* real, llvm::Value* imaginary,
                         DType type);

llvm::Value* EmitCast(llvm::IRBuilderBase& builder, Target target, const CastRequest& cast);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_CONVERT_H_
