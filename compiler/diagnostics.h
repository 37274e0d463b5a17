// The diagnostics of compiler/.
#ifndef TARSIA_COMPILER_DIAGNOSTICS_H_
#define TARSIA_COMPILER_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "compiler/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_COMPILER_DIAGNOSTICS_H_
