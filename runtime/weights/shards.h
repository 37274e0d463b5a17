// Parts of packed matrices: cutting and joining copies ranges of the packed bytes and changes none,
// because parts begin and end with whole tiles of codes, of scales and of zero points.
#ifndef TARSIA_RUNTIME_WEIGHTS_SHARDS_H_
#define TARSIA_RUNTIME_WEIGHTS_SHARDS_H_

#include <cstdint>
#include <span>

#include "runtime/weights/packed_weights.h"

namespace tarsia {

// Parts along k and n begin at multiples of these.
struct ShardGrain {
  int64_t k = 1;
  int64_t n = 1;
};
Result<ShardGrain> GrainOf(const WeightInfo& info);

// The part of the whole matrix that begins at [first_k, first_n] and has k rows and n columns, from
// pieces that hold all of it. Errors: pieces of different matrices, an element that no piece holds,
// bounds that are no multiples of the grain.
Result<PackedWeights> CutWeights(std::span<const PackedWeights* const> pieces, int64_t first_k,
                                 int64_t first_n, int64_t k, int64_t n);

// Part `part` of `parts` equal ones of the whole matrix, of which `pieces` are parts.
Result<PackedWeights> ShardOf(std::span<const PackedWeights* const> pieces, bool along_k,
                              int64_t part, int64_t parts);
Result<PackedWeights> ShardOf(const PackedWeights& whole, bool along_k, int64_t part,
                              int64_t parts);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_WEIGHTS_SHARDS_H_
