// Gated pairs of matrices that come apart, such as those of a gate and an up projection.
#ifndef TARSIA_RUNTIME_WEIGHTS_PAIR_H_
#define TARSIA_RUNTIME_WEIGHTS_PAIR_H_

#include "runtime/weights/packed_weights.h"

namespace tarsia {

// The columns of `first`, then those of `second`, packed again on all cores; as large as both.
// Errors: matrices that differ in more than their numbers, parts of matrices, no memory, cancelled.
Result<PackedWeights> PairOf(const PackedWeights& first, const PackedWeights& second,
                             const Progress& progress = {});

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_PAIR_H_
