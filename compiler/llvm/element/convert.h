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

llvm::Value* EmitCast(llvm::IRBuilderBase& builder, Target target, const CastRequest& cast);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ELEMENT_CONVERT_H_
