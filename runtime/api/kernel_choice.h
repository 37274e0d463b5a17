// Chooses a kernel of a module, its constants, and how it is compiled, for plans and code.
#ifndef TARSIA_RUNTIME_API_KERNEL_CHOICE_H_
#define TARSIA_RUNTIME_API_KERNEL_CHOICE_H_

#include <string>
#include <vector>

#include "isa/specialise.h"
#include "runtime/api/handles.h"

namespace tarsia::api {

tarsia_status ReadBindings(const tarsia_binding* bindings, size_t count, std::vector<Binding>* out);
// Names of passes to leave out.
tarsia_status ReadPasses(const char* const* names, size_t count, std::vector<std::string>* out);
// `wanted` may be null if there is only one.
tarsia_status FindKernelName(const tarsia_module& module, const char* wanted, std::string* out);
// Fails with one error of the program: as REJECTED with its place, unless the machine causes it.
tarsia_status RejectOne(const tarsia_module& module, Diagnostic error, tarsia_diagnostics** errors);

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_KERNEL_CHOICE_H_
