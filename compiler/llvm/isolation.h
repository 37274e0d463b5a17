// Runs LLVM so that what fails inside of it ends one compilation, and neither the process nor the
// compilations beside it and after it.
//
// LLVM is built without exceptions. Where it gets no memory, or gives up for a reason of its own,
// the only way out is an exception through frames that do not clean up. So everything that such a
// compilation holds is abandoned: its context, module and passes stay in memory for ever, perhaps
// half made, and are never used again. For the same reason the other files of this folder are
// compiled without exceptions, too: when the exception passes their frames, these must not destroy
// what LLVM has not finished. The price is memory, a few megabytes each time memory has run out.
//
// LLVM must not fail while it holds a lock, which would never be released, or makes something for
// the whole process. What it makes once is made first, by compiling an empty kernel. After that,
// each compilation has a reserve that is given up when `operator new` fails for the first time, so
// that the request and those after it succeed until the next pass, where the compilation ends.
// Before the passes begin, the memory that a kernel is known to need is tested for.
#ifndef TARSIA_COMPILER_LLVM_ISOLATION_H_
#define TARSIA_COMPILER_LLVM_ISOLATION_H_

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "support/result.h"

namespace tarsia::compiler {

// Calls `body(data)` on this thread. Errors: LLVM got no memory, LLVM gave up (its reason), what
// AbandonCompilation was given. After an error nothing is to be read that `body` has touched. Not
// to be nested. Thread-safe.
Status RunIsolated(void (*body)(void* data), void* data);

template <typename Body>
Status RunIsolated(Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  return RunIsolated([](void* data) { (*static_cast<Plain*>(data))(); }, &body);
}

// Whether there are so many bytes of memory just now: an error for the kernel of that name if not.
Status LookForMemory(uint64_t bytes, std::string_view kernel);

// Leaves the RunIsolated that this thread is in, from within LLVM: from a callback of its passes,
// say. RunIsolated returns the error.
[[noreturn]] void AbandonCompilation(Diagnostic error);

// Between passes, where LLVM holds no lock: leaves the RunIsolated of this thread in this way if
// its reserve is given up.
void AbandonIfOutOfMemory();

}  // namespace tarsia::compiler

#endif  // TARSIA_COMPILER_LLVM_ISOLATION_H_
