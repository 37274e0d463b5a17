// The diagnostics of tools/.
#ifndef TARSIA_TOOLS_DIAGNOSTICS_H_
#define TARSIA_TOOLS_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "tools/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_TOOLS_DIAGNOSTICS_H_
