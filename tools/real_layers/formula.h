// The direct formula that results are compared with.
#ifndef TARSIA_TOOLS_REAL_LAYERS_FORMULA_H_
#define TARSIA_TOOLS_REAL_LAYERS_FORMULA_H_

#include <cstdint>
#include <vector>

#include "tools/real_layers/layers.h"

namespace tarsia::real_layers {

struct Verdict {
  double against_full = 0;   // relative to the norm of the full-precision result
  double largest_error = 0;  // against the formula
  double largest_bound = 0;
  double worst_share = 0;  // the largest fraction of its bound that an element uses; at most 1
};

// y = x * ((code value - zero) * scale) in double. An element may differ by
// (4 sqrt(K) + 8) * 2^-24 * sum |x| |w|, for the sum in f32, and half a unit of f16.
Verdict Judge(const Job& job, const std::vector<uint16_t>& result);

}  // namespace tarsia::real_layers

#endif  // TARSIA_TOOLS_REAL_LAYERS_FORMULA_H_
