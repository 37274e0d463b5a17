// Runs a plan of the planner on a device: one allocation, inputs read into it, the steps one by
// one, outputs written from it.
#ifndef TARSIA_TOOLS_REDUCE_EXECUTION_H_
#define TARSIA_TOOLS_REDUCE_EXECUTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planner/plan.h"
#include "tools/handles.h"

namespace tarsia::tools {

struct ReduceFiles {
  std::map<std::string, std::string> inputs;   // a file for each input
  std::map<std::string, std::string> outputs;  // files for some outputs
};

class ReduceExecution {
 public:
  ReduceExecution(const Plan& plan, const ConcreteGraph& graph) : plan_(plan), graph_(graph) {}
  ReduceExecution(const ReduceExecution&) = delete;
  ReduceExecution& operator=(const ReduceExecution&) = delete;
  ~ReduceExecution();

  // Each returns an exit code; errors are printed. In this order. `device`: "" is the default one;
  // `threads`: 0 is all.
  int Prepare(const std::string& device, uint32_t compile_limit);
  int ReadInputs(const ReduceFiles& files);
  int Run(uint32_t threads);
  int WriteOutputs(const ReduceFiles& files);

  [[nodiscard]] std::string device() const { return tarsia_device_name(device_.get()); }
  [[nodiscard]] uint64_t nanoseconds() const { return nanoseconds_; }  // of all launches

 private:
  int Allocate();
  int ReadInput(const PlanBuffer& buffer, void* to, const std::string& spec);
  int RunStep(const PlanStep& step, uint32_t threads);
  [[nodiscard]] std::vector<tarsia_arg> ArgsOf(const PlanStep& step) const;

  const Plan& plan_;
  const ConcreteGraph& graph_;
  Handle<tarsia_device> device_;
  std::vector<Handle<tarsia_plan>> kernels_;
  std::vector<void*> workspaces_;  // by kernel; null where none is needed
  void* arena_ = nullptr;
  std::vector<void*> places_;  // by buffer
  std::vector<void*> owned_;
  uint64_t nanoseconds_ = 0;
};

}  // namespace tarsia::tools

#endif  // TARSIA_TOOLS_REDUCE_EXECUTION_H_
