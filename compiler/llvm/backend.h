// From an LLVM module to PTX text. The only file that sees LLVM's pass builder and target machine:
// those headers cost seconds to compile.
#ifndef TARSIA_COMPILER_LLVM_BACKEND_H_
#define TARSIA_COMPILER_LLVM_BACKEND_H_

#include <string>

#include "compiler/target.h"
#include "support/result.h"
#include "support/stop.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace tarsia::compiler {

// Sets the module's triple and data layout; do this before anything asks for sizes or alignments.
void SetTriple(llvm::Module& module);

// Verifies the module, optimises it (which changes it) and prints PTX. Source lines (.loc) survive
// where the module's compile unit is of kind DebugDirectivesOnly; a fuller kind would mark the
// code `debug`, which makes ptxas optimise nothing.
// No contraction and no flushing of subnormals but where the instructions' own flags allow it.
// Errors: a module that does not verify, what LLVM cannot select. Thread-safe for modules of
// different contexts. Where LLVM gives up or has no memory, see isolation.h.
// `stop` is looked at between passes; then the error is of kind diag::kCompileStopped.
Result<std::string> EmitPtx(llvm::Module& module, Target target, StopFlag& stop);
inline Result<std::string> EmitPtx(llvm::Module& module, Target target) {
  StopFlag never;
  return EmitPtx(module, target, never);
}

// Takes a kernel of nothing through all of it, so that LLVM makes what it makes once for the
// process.
void MakeOnceForAll();

// The same passes without code generation, for looking at the optimised module.
Status Optimize(llvm::Module& module, Target target);

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_BACKEND_H_
