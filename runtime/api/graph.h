// Plans of graphs behind the C API.
#ifndef TARSIA_RUNTIME_API_GRAPH_H_
#define TARSIA_RUNTIME_API_GRAPH_H_

#include <memory>
#include <string>
#include <vector>

#include "planner/plan.h"
#include "runtime/api/handles.h"
#include "runtime/devices/device.h"
#include "runtime/graphs/plan_kernels.h"

struct tarsia_graph_plan {
  tarsia::ConcreteGraph graph;
  tarsia::Plan plan;
  std::string name;
  std::string shared_axis;
  // Empty until LoadGraphPlan:
  std::shared_ptr<tarsia::runtime::Device> device;
  std::shared_ptr<const tarsia::SourceFile> source;  // the text of the kernels
  std::vector<tarsia::runtime::PlanKernel> kernels;
};

namespace tarsia::api {

// The two halves of tarsia_graph_plan_create, whose options and errors these are: the plan, and
// what it needs to run.
tarsia_status MakeGraphPlan(const tarsia_module& module, const tarsia_graph_plan_options& options,
                            std::unique_ptr<tarsia_graph_plan>* out, tarsia_diagnostics** errors);
tarsia_status LoadGraphPlan(const tarsia_graph_plan_options& options, tarsia_graph_plan* plan,
                            tarsia_diagnostics** errors);

}  // namespace tarsia::api

#endif  // TARSIA_RUNTIME_API_GRAPH_H_
