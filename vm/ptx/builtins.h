// Functions that PTX calls and CUDA provides: vprintf and __assertfail.
#ifndef TARSIA_VM_PTX_BUILTINS_H_
#define TARSIA_VM_PTX_BUILTINS_H_

#include "vm/ptx/warp.h"

namespace tarsia::ptx {

// int vprintf(const char* format, void* arguments): appends to the launch's output.
Step Vprintf(Warp& warp, const Inst& inst, const CallSite& site);

// void __assertfail(const char* message, const char* file, unsigned line, const char* function,
// size_t char_size): a finding, and the launch ends.
Step AssertFail(Warp& warp, const Inst& inst, const CallSite& site);

}  // namespace tarsia::ptx

#endif  // TARSIA_VM_PTX_BUILTINS_H_
