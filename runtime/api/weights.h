// The handle of packed weights.
#ifndef TARSIA_RUNTIME_API_WEIGHTS_H_
#define TARSIA_RUNTIME_API_WEIGHTS_H_

#include <string>

#include "runtime/weights/packed_weights.h"
#include "tarsia/tarsia.h"

struct tarsia_weights {
  tarsia::PackedWeights packed;
  std::string layout_id, code_order, scale_order, zero_order;
};

#endif  // TARSIA_RUNTIME_API_WEIGHTS_H_
