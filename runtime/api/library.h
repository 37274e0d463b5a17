// The standard library, for the C API.
#ifndef TARSIA_RUNTIME_API_LIBRARY_H_
#define TARSIA_RUNTIME_API_LIBRARY_H_

#include <string_view>

#include "runtime/library.h"
#include "tarsia/tarsia.h"

namespace tarsia::api {

using runtime::FindLibraryModule;
using runtime::LibraryModule;
using runtime::LibraryModules;

// Fails with NOT_FOUND and suggests the nearest name.
tarsia_status UnknownLibraryModule(std::string_view name);

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_LIBRARY_H_
