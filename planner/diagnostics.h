// The diagnostics of planner/.
#ifndef TARSIA_PLANNER_DIAGNOSTICS_H_
#define TARSIA_PLANNER_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "planner/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_PLANNER_DIAGNOSTICS_H_
