// Arguments of the C API as the interpreter takes them.
#ifndef TARSIA_RUNTIME_API_ARGS_H_
#define TARSIA_RUNTIME_API_ARGS_H_

#include <cstdint>

#include "runtime/api/handles.h"
#include "vm/interpreter.h"

namespace tarsia::api {

// Checks number, kinds and types of the arguments; what a pointer points to is not looked at.
tarsia_status ReadArgs(const tarsia_plan& plan, const tarsia_arg* args, size_t count,
                       vm::ArgumentList* out);
// The codes of the scalars, by parameter; 0 for pointers.
vm::CodeList Scalars(const vm::ArgumentList& args);

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_ARGS_H_
