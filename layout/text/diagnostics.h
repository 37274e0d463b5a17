// The diagnostics of lexer and expression parser; see support/diagnostic.h.
#ifndef TARSIA_LAYOUT_TEXT_DIAGNOSTICS_H_
#define TARSIA_LAYOUT_TEXT_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "layout/text/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_LAYOUT_TEXT_DIAGNOSTICS_H_
