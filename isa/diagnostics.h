// The diagnostics of parser, validator and specialiser; see support/diagnostic.h.
#ifndef TARSIA_ISA_DIAGNOSTICS_H_
#define TARSIA_ISA_DIAGNOSTICS_H_

#include <span>

#include "support/diagnostic.h"

namespace tarsia {
namespace diag {
#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "isa/diagnostics.def"
#undef DIAG
}  // namespace diag

// Every row, for the registry.
std::span<const DiagInfo* const> IsaDiagnostics();

}  // namespace tarsia

#endif  // TARSIA_ISA_DIAGNOSTICS_H_
