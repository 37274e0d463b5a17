// Quantises a matrix of any size and packs it, on all cores; scales and codes are bit for bit those
// of the reference quantisers (dtypes/quantize.h).
#ifndef TARSIA_RUNTIME_WEIGHTS_QUANTISE_H_
#define TARSIA_RUNTIME_WEIGHTS_QUANTISE_H_

#include <functional>

#include "runtime/weights/float_matrix.h"
#include "runtime/weights/packed_weights.h"

namespace tarsia {

struct QuantiseWeights {
  QuantiseSpec spec;  // group 0 means k: a scale for each column
  DType compute = kF16;
  // f8e4m3fn scales always come with a scale of the tensor, absmax / (448 * the largest value), as
  // in NVFP4; other scales never do.
};

// Quantises, and calls `use` with the source, which lives as long as the call, and the progress of
// the second half. Errors: those of QuantiseGroups and of `use`.
Status Quantise(const FloatMatrix& w, const QuantiseWeights& request,
                const std::function<Status(const CodeSource&, const Progress&)>& use,
                const Progress& progress = {});

// Errors: those of Quantise and of PackedWeights::Pack.
Result<PackedWeights> QuantiseAndPack(const FloatMatrix& w, const QuantiseWeights& request,
                                      const Progress& progress = {});

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_QUANTISE_H_
