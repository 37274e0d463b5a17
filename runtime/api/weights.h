// The handle of packed weights, and what descriptions of weights have in common.
#ifndef TARSIA_RUNTIME_API_WEIGHTS_H_
#define TARSIA_RUNTIME_API_WEIGHTS_H_

#include <string>

#include "dtypes/dtype.h"
#include "dtypes/quantize.h"
#include "runtime/weights/packed_weights.h"
#include "tarsia/tarsia.h"

struct tarsia_weights {
  tarsia::PackedWeights packed;
  std::string layout_id, code_order, scale_order, zero_order;
};

namespace tarsia::api {

// Fail with INVALID_ARGUMENT; `name` is the member's.
tarsia_status ReadTypeCode(tarsia_dtype code, const char* name, DType* out);
tarsia_status ReadZeroPoint(tarsia_zero_point code, const char* name, ZeroPoint* out);

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_WEIGHTS_H_
