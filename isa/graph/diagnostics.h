// The diagnostics of graphs; see support/diagnostic.h.
#ifndef TARSIA_ISA_GRAPH_DIAGNOSTICS_H_
#define TARSIA_ISA_GRAPH_DIAGNOSTICS_H_

#include "support/diagnostic.h"

namespace tarsia::diag {

#define DIAG(name, id, format, help) inline constexpr DiagInfo name{id, format, help};
#include "isa/graph/diagnostics.def"
#undef DIAG

}  // namespace tarsia::diag

#endif  // TARSIA_ISA_GRAPH_DIAGNOSTICS_H_
