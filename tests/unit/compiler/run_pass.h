// A pass over LLVM IR, text in, text out.
#ifndef TARSIA_TESTS_UNIT_COMPILER_RUN_PASS_H_
#define TARSIA_TESTS_UNIT_COMPILER_RUN_PASS_H_

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace tarsia::compiler {

// The blocks of all functions of `text` after the pass; what is wrong with them, if that is not
// LLVM IR.
template <typename Pass>
std::string RunPass(Pass pass, const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (module == nullptr) return error.getMessage().str();
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(std::move(pass));
  std::string out;
  llvm::raw_string_ostream stream(out);
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    passes.run(function, functions);
    for (const llvm::BasicBlock& block : function) block.print(stream);
  }
  if (llvm::verifyModule(*module, &stream)) return "invalid: " + out;
  return out;
}

// How often `what` stands in `text`.
inline size_t CountOf(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace tarsia::compiler

#endif  // TARSIA_TESTS_UNIT_COMPILER_RUN_PASS_H_
