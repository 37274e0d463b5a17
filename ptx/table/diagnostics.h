// The diagnostics of ptx/.
#ifndef TARSIA_PTX_TABLE_DIAGNOSTICS_H_
#define TARSIA_PTX_TABLE_DIAGNOSTICS_H_

#include <span>

#include "support/diagnostic.h"

namespace tarsia::ptx {
namespace diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "ptx/table/diagnostics.def"
#undef DIAG

}  // namespace diag

// All rows, for registries.
std::span<const DiagInfo* const> PtxDiagnostics();

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_TABLE_DIAGNOSTICS_H_
