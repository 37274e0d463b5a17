// The diagnostics of vm/.
#ifndef TARSIA_VM_DIAGNOSTICS_H_
#define TARSIA_VM_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "vm/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_VM_DIAGNOSTICS_H_
