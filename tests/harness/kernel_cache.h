// Programs compiled for a target, once in a process for each text: tests launch one program many
// times. Every PTX that is made here is handed to the assembly of tests/harness/assembly.h.
#ifndef TARSIA_TESTS_HARNESS_KERNEL_CACHE_H_
#define TARSIA_TESTS_HARNESS_KERNEL_CACHE_H_

#include <memory>
#include <string>

#include "compiler/compile.h"
#include "isa/program.h"
#include "vm/ptx/emulator.h"

namespace tarsia::harness {

struct CachedKernel {
  std::string error;  // rendered: the compiler refuses the program
  compiler::CompiledKernel kernel;
  std::shared_ptr<const ptx::Module> module;  // null: the emulator cannot read it
  std::string unread;                         // and why not
  std::string body;  // the PTX but for the lines that name its version and target
};

// Single-threaded, as tests are.
std::shared_ptr<const CachedKernel> CompileCached(const Program& program, const SourceFile& source,
                                                  compiler::Target target);

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_KERNEL_CACHE_H_
