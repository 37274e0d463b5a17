// Derivatives as programs: replaces each `grad` and `vjp` of a graph by the operations that compute
// it, in reverse mode. The result is a graph like any other: it prints as text, is planned under a
// limit, and can be differentiated again.
//
// Nothing is stored for the way back: what a derivative needs of the graph it refers to, and the
// planner keeps it or computes it again.
#ifndef TARSIA_ISA_GRADIENT_EXPAND_H_
#define TARSIA_ISA_GRADIENT_EXPAND_H_

#include <optional>

#include "isa/graph/specialise.h"
#include "support/diagnostic.h"

namespace tarsia {

struct GradientOptions {
  // Derivatives of squared distances may be a * sum(d) - dot(d, b) in place of sum(d * (a - b)):
  // products of matrices, with an error relative to |a| and |b| in place of |a - b|.
  bool fast = false;
};

// The graph itself if it has no derivatives. Otherwise a graph without them that has the same
// inputs and outputs, with the same axes in memory, and only statements that an output needs. An
// output that is a derivative keeps its name. Errors: an operation without derivative between x and
// y, and a y that depends on x only through values whose derivative is 0. Empty exactly after an
// error. Thread-safe.
std::optional<ConcreteGraph> ExpandGradients(const ConcreteGraph& graph,
                                             const GradientOptions& options,
                                             Diagnostics& diagnostics);

}  // namespace tarsia

#endif  // TARSIA_ISA_GRADIENT_EXPAND_H_
