// The functions that PTX calls and CUDA provides (table/builtins.def).
#ifndef TARSIA_PTX_EXEC_BUILTINS_H_
#define TARSIA_PTX_EXEC_BUILTINS_H_

#include "ptx/machine/warp.h"

namespace tarsia::ptx {

// int vprintf(const char* format, void* arguments): appends to the launch's output.
Step Vprintf(Warp& warp, const Inst& inst, const CallSite& site);

// void __assertfail(const char* message, const char* file, unsigned line, const char* function,
// size_t char_size): a finding, and the launch ends.
Step AssertFail(Warp& warp, const Inst& inst, const CallSite& site);

// void* malloc(size_t bytes): of the heap of the device; null if there is no room.
Step Malloc(Warp& warp, const Inst& inst, const CallSite& site);

// void free(void* block): null, or what malloc gave and was not freed.
Step Free(Warp& warp, const Inst& inst, const CallSite& site);

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_EXEC_BUILTINS_H_
