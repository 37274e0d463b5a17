// The handle of a plan of the quantised matmul.
#ifndef TARSIA_RUNTIME_API_MATMUL_H_
#define TARSIA_RUNTIME_API_MATMUL_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/matmul/matmul_plan.h"
#include "tarsia/tarsia.h"

struct tarsia_matmul_plan {
  explicit tarsia_matmul_plan(std::unique_ptr<const tarsia::runtime::MatmulPlan> made);

  std::unique_ptr<const tarsia::runtime::MatmulPlan> plan;
  std::string layout_id;
  std::vector<std::string> candidates;  // by range
};

namespace tarsia::api {

// Reads the weights of the caller's argument `problem`.
tarsia_status ReadLayerWeights(const tarsia_matmul& from, runtime::MatmulProblem* out);

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_MATMUL_H_
