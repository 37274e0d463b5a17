// The diagnostics of compiler/.
#ifndef TARSIA_COMPILER_DIAGNOSTICS_H_
#define TARSIA_COMPILER_DIAGNOSTICS_H_

#include <span>

#include "support/diagnostic.h"

namespace tarsia {
namespace diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "compiler/diagnostics.def"
#undef DIAG

}  // namespace diag

// All rows, for registries.
std::span<const DiagInfo* const> CompilerDiagnostics();

}  // namespace tarsia

#endif  // TARSIA_COMPILER_DIAGNOSTICS_H_
