// The diagnostics of runtime/.
#ifndef TARSIA_RUNTIME_DIAGNOSTICS_H_
#define TARSIA_RUNTIME_DIAGNOSTICS_H_

#include <span>

#include "support/diagnostic.h"

namespace tarsia {
namespace diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "runtime/diagnostics.def"
#undef DIAG

}  // namespace diag

// All rows, for registries.
std::span<const DiagInfo* const> RuntimeDiagnostics();

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_DIAGNOSTICS_H_
