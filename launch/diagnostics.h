// The diagnostics of launch/.
#ifndef TARSIA_LAUNCH_DIAGNOSTICS_H_
#define TARSIA_LAUNCH_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "launch/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_LAUNCH_DIAGNOSTICS_H_
