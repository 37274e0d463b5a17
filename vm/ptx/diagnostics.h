// The diagnostics of vm/ptx/.
#ifndef TARSIA_VM_PTX_DIAGNOSTICS_H_
#define TARSIA_VM_PTX_DIAGNOSTICS_H_

#include <span>

#include "support/diagnostic.h"

namespace tarsia::ptx {
namespace diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "vm/ptx/diagnostics.def"
#undef DIAG

}  // namespace diag

// All rows, for registries.
std::span<const DiagInfo* const> PtxDiagnostics();

}  // namespace tarsia::ptx

#endif  // TARSIA_VM_PTX_DIAGNOSTICS_H_
