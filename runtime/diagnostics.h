// The diagnostics of runtime/.
#ifndef TARSIA_RUNTIME_DIAGNOSTICS_H_
#define TARSIA_RUNTIME_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "runtime/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_RUNTIME_DIAGNOSTICS_H_
