// The diagnostics of ptx/.
#ifndef TARSIA_PTX_TABLE_DIAGNOSTICS_H_
#define TARSIA_PTX_TABLE_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::ptx::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "ptx/table/diagnostics.def"
#undef DIAG

}  // namespace tarsia::ptx::diag

#endif  // TARSIA_PTX_TABLE_DIAGNOSTICS_H_
