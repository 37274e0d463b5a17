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
// Contracts and flushes subnormals only where the flags of the instructions allow it.
// Errors: a module that does not verify, what LLVM cannot select. Thread-safe for modules of
// different contexts. Where LLVM gives up or has no memory, see isolation.h.
// `stop` is checked between passes; if it says so, the error is diag::kCompileStopped.
Result<std::string> EmitPtx(llvm::Module& module, Target target, StopFlag& stop);
inline Result<std::string> EmitPtx(llvm::Module& module, Target target) {
  StopFlag never;
  return EmitPtx(module, target, never);
}

// Compiles an empty kernel, so that LLVM makes what it makes once for the process. Do this before
// anything else.
void MakeOnceForAll();

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_BACKEND_H_
