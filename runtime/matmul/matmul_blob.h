// The plan of a quantised matmul as bytes: all that executing it needs, so that another process
// loads it without a compiler. The blob is one of plans/sealed_plan.h; its contents are the
// description of the product, the ranges of rows with their candidates, and the kernels of each.
#ifndef TARSIA_RUNTIME_MATMUL_MATMUL_BLOB_H_
#define TARSIA_RUNTIME_MATMUL_MATMUL_BLOB_H_

#include <memory>
#include <string>
#include <string_view>

#include "runtime/matmul/matmul_plan.h"

namespace tarsia::runtime {

// Errors: those of WriteKernel.
Result<std::string> EncodeMatmulPlan(const MatmulPlan& plan);
// Errors: those of OpenPlan, CheckMatmul, ReadKernel and the device. Thread-safe.
Result<std::unique_ptr<const MatmulPlan>> DecodeMatmulPlan(std::string_view bytes,
                                                           std::shared_ptr<Device> device);

}  // namespace tarsia::runtime

#endif  // TARSIA_RUNTIME_MATMUL_MATMUL_BLOB_H_
