// The diagnostics of dtypes/.
#ifndef TARSIA_DTYPES_DIAGNOSTICS_H_
#define TARSIA_DTYPES_DIAGNOSTICS_H_

#include <span>

#include "support/diagnostic.h"

namespace tarsia {
namespace diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "dtypes/diagnostics.def"
#undef DIAG

}  // namespace diag

// All rows, for registries.
std::span<const DiagInfo* const> DtypesDiagnostics();

}  // namespace tarsia

#endif  // TARSIA_DTYPES_DIAGNOSTICS_H_
