// Complex numbers as pairs of real ones. What computes with complex numbers becomes what computes
// with their real and imaginary parts, each a value of its own, so that planners and derivatives
// need no rule for them.
#ifndef TARSIA_ISA_REWRITE_COMPLEX_PARTS_H_
#define TARSIA_ISA_REWRITE_COMPLEX_PARTS_H_

#include <optional>

#include "isa/graph/specialise.h"
#include "support/diagnostic.h"

namespace tarsia {

// The graph itself if it has no complex numbers. Otherwise a graph with the same inputs and outputs
// in which complex values are inputs, of which only `real` and `imag` are taken, and outputs, each
// the result of a `complex` that nothing else reads. Thread-safe.
//
// A product of c32, its quotient and absolute value are computed in f32 and rounded once; the
// quotient and the absolute value of c64 in f64, so that squares do not overflow.
std::optional<ConcreteGraph> SplitComplex(const ConcreteGraph& graph, Diagnostics& diagnostics);

}  // namespace tarsia

#endif  // TARSIA_ISA_REWRITE_COMPLEX_PARTS_H_
