// The diagnostics of vm/.
#ifndef TARSIA_VM_DIAGNOSTICS_H_
#define TARSIA_VM_DIAGNOSTICS_H_

#include <span>

#include "support/diagnostic.h"

namespace tarsia {
namespace diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "vm/diagnostics.def"
#undef DIAG

}  // namespace diag

// All rows, for registries.
std::span<const DiagInfo* const> VmDiagnostics();

}  // namespace tarsia

#endif  // TARSIA_VM_DIAGNOSTICS_H_
