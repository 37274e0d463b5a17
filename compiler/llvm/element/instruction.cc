#include "compiler/llvm/element/instruction.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include <vector>

namespace tarsia::compiler {

llvm::Value* EmitInstruction(llvm::IRBuilderBase& builder, const char* text,
                             const char* constraints, llvm::Type* result,
                             llvm::ArrayRef<llvm::Value*> operands) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* operand : operands) types.push_back(operand->getType());
  auto* const type = llvm::FunctionType::get(result, types, false);
  llvm::CallInst* const call =
      builder.CreateCall(llvm::InlineAsm::get(type, text, constraints, false), operands);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  return call;
}

}  // namespace tarsia::compiler
