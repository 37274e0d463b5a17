// Every PTX that a test program makes goes through ptxas, where there is one: it must be taken,
// with no warning, and spill no more than a few registers. A test program collects what it makes
// and has it assembled at its end, many kernels in one call.
//
// TARSIA_ASSEMBLE says how much: `all` is everything for every target; `cover` (the default)
// everything for sm_90a, and for the others one in four, or in sixteen of what is the same text
// for sm_90a; `none`.
// TARSIA_LONG=1 is `all`.
#ifndef TARSIA_TESTS_HARNESS_ASSEMBLY_H_
#define TARSIA_TESTS_HARNESS_ASSEMBLY_H_

#include "compiler/compile.h"

namespace tarsia::harness {

// Remembers a kernel for the end of the tests. The same text twice counts once.
void Collect(const compiler::CompiledKernel& kernel, compiler::Target target);

// For programs that nobody wrote: their tiles may well take more registers than there are.
void AllowSpills();

// For tests about what ptxas takes: `cover` is everything too.
void AssembleEverything();

}  // namespace tarsia::harness

#endif  // TARSIA_TESTS_HARNESS_ASSEMBLY_H_
