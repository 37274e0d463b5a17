// Converts arguments of the C API to those of launches.
#ifndef TARSIA_RUNTIME_API_ARGS_H_
#define TARSIA_RUNTIME_API_ARGS_H_

#include <cstddef>

#include "launch/arguments.h"
#include "runtime/api/handles.h"

namespace tarsia::api {

// Checks number, kinds and types of the arguments; does not read through pointers.
tarsia_status ReadArgs(const tarsia_plan& plan, const tarsia_arg* args, size_t count,
                       launch::ArgumentList* out);

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_ARGS_H_
