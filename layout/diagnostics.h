// The diagnostics of layouts and of evaluation; see support/diagnostic.h. Those of the lexer and
// the expression parser are in layout/text/diagnostics.h.
#ifndef TARSIA_LAYOUT_DIAGNOSTICS_H_
#define TARSIA_LAYOUT_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "layout/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_LAYOUT_DIAGNOSTICS_H_
