// Describes a plan: for people, and as JSON.
#ifndef TARSIA_TOOLS_REDUCE_EXPLAIN_H_
#define TARSIA_TOOLS_REDUCE_EXPLAIN_H_

#include <string>

#include "planner/plan.h"

namespace tarsia::tools {

// One line: the peak, the kernels, the steps and the operations.
std::string PlanSummary(const Plan& plan, const ConcreteGraph& graph);
// The kernels with their tiles and costs, the splits, and the buffers with their places in the
// arena over the steps.
std::string ExplainPlan(const Plan& plan, const ConcreteGraph& graph);

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_EXPLAIN_H_
