#include "runtime/graphs/plan_kernels.h"

#include <utility>

#include "isa/specialise.h"
#include "isa/text/parser.h"
#include "isa/validate.h"

namespace tarsia::runtime {

Machine MachineOf(std::string_view device) {
  const bool cpu = device.empty() ? !DefaultIsGpu().ok() : device == "cpu";
  return cpu ? Machine::kCpu : Machine::kGpu;
}

std::shared_ptr<const SourceFile> KernelSource(const Plan& plan) {
  return std::make_shared<SourceFile>("the plan", plan.Text());
}

std::optional<std::vector<PlanKernel>> LoadPlanKernels(const Plan& plan, const SourceFile& source,
                                                       Device& device, const LoadOptions& options,
                                                       Diagnostics& diagnostics) {
  std::vector<PlanKernel> out;
  if (plan.kernels.empty()) return out;
  auto module = Parse(source, diagnostics);
  auto valid = module ? Validate(*std::move(module), diagnostics) : std::nullopt;
  if (!valid) return std::nullopt;
  for (const KernelText& kernel : plan.kernels) {
    auto program = Specialise(*valid, kernel.name, {}, device.Limits(), diagnostics);
    if (!program) return std::nullopt;
    auto ready = device.Load(*program, options);
    if (!ready.ok()) {
      diagnostics.Add(ready.TakeError());
      return std::nullopt;
    }
    out.push_back({*std::move(program), *std::move(ready)});
  }
  return out;
}

}  // namespace tarsia::runtime
