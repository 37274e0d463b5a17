// The diagnostics of dtypes/.
#ifndef TARSIA_DTYPES_DIAGNOSTICS_H_
#define TARSIA_DTYPES_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "dtypes/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_DTYPES_DIAGNOSTICS_H_
