// If ptxas is available, it assembles all PTX that a test program makes: it must accept it without
// a warning and spill no more than a few registers. A test program collects its PTX and has it
// assembled at its end, many kernels in one call.
//
// TARSIA_ASSEMBLE selects how much: `all` is everything for every target; `cover` (the default) is
// everything for sm_90a, and for the other targets one in four, or one in sixteen of the texts that
// equal those for sm_90a; `none`. TARSIA_LONG=1 is `all`.
#ifndef TARSIA_TESTS_HARNESS_ASSEMBLY_H_
#define TARSIA_TESTS_HARNESS_ASSEMBLY_H_

#include "compiler/compile.h"

namespace tarsia::harness {

// Remembers a kernel for the end of the tests. The same text twice counts once.
void Collect(const compiler::CompiledKernel& kernel, compiler::Target target);

// For generated programs, whose tiles may need more registers than there are.
void AllowSpills();
// For programs whose tiles leave registers to spare: not one may spill.
void ForbidSpills();

// While one lives, kernels are not remembered: for tests that make more than ptxas can take.
class NotAssembled {
 public:
  explicit NotAssembled(bool applies = true);
  ~NotAssembled();
  NotAssembled(const NotAssembled&) = delete;
  NotAssembled& operator=(const NotAssembled&) = delete;

 private:
  bool applies_;
};

// For tests about what ptxas accepts: `cover` then means everything.
void AssembleEverything();

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_ASSEMBLY_H_
