// The arguments of the kernel (compiler/entry.h) as LLVM values.
#ifndef TARSIA_COMPILER_LLVM_CODE_ARGUMENTS_H_
#define TARSIA_COMPILER_LLVM_CODE_ARGUMENTS_H_

#include <algorithm>
#include <cstdint>

#include "compiler/llvm/code/function_builder.h"

namespace tarsia::compiler {

class Arguments {
 public:
  // Changes the required alignments of pointers in `entry`.
  Arguments(FunctionBuilder& function, CompiledKernel& entry) : f_(function), entry_(entry) {}

  // i64 address of a pointer parameter, and the bytes that it is a multiple of.
  llvm::Value* Address(uint32_t parameter) { return f_.Argument(parameter); }
  [[nodiscard]] uint64_t Alignment(uint32_t parameter) const {
    return entry_.parameters[parameter].alignment;
  }
  void RequireAlignment(uint32_t parameter, uint64_t bytes) {
    uint32_t& alignment = entry_.parameters[parameter].alignment;
    alignment = std::max(alignment, static_cast<uint32_t>(bytes));
  }

  // i64 address of the memory of the next alloc.global in the order of the text.
  llvm::Value* NextWorkspace() {
    return f_.Argument(FirstOf(KernelParameter::Kind::kWorkspace) + workspaces_++);
  }
  // i64 address of the report buffer, for kernels that have one.
  llvm::Value* ReportBuffer() { return f_.Argument(FirstOf(KernelParameter::Kind::kReport)); }

 private:
  [[nodiscard]] size_t FirstOf(KernelParameter::Kind kind) const {
    const auto& parameters = entry_.parameters;
    const auto at = std::find_if(parameters.begin(), parameters.end(),
                                 [&](const KernelParameter& one) { return one.kind == kind; });
    return static_cast<size_t>(at - parameters.begin());
  }

  FunctionBuilder& f_;
  CompiledKernel& entry_;
  size_t workspaces_ = 0;
};

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_CODE_ARGUMENTS_H_
